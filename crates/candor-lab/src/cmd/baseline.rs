//! `candor-lab baseline`: the system calls of an engine without rules.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use candor_cli::{Exit, Outcome, render};
use candor_config::engine::Sender;
use candor_io::can::Loopback;
use candor_io::signal::{self, EndingSignals};
use candor_lab::baseline::{self, Way};
use candor_lab::tester;
use candor_netlink::client::Client;

use crate::cli::BaselineArgs;

/// A long interval, so that nothing else runs during a measurement. The end of the loop interrupts it.
const LOOK: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &BaselineArgs) -> Outcome {
    let BaselineArgs { engine, from, to, echo } = args;
    let mut client = Client::open()?;
    let (near, far) = (tester::find(&mut client, from)?, tester::find(&mut client, to)?);
    let ring_echoes_right = *echo == far.echoes;
    if engine.sender() == Sender::Mmap && !ring_echoes_right {
        let (does, remedy) = if far.echoes { ("echoes", "add") } else { ("suppresses echoes", "omit") };
        return Err(format!("A transmit ring always {does} on {to}: {remedy} --echo").into());
    }
    let loopback = if *echo { Loopback::On } else { Loopback::Off };
    let forward = baseline::open(*engine, Way { from: near.index, to: far.index, loopback, ring_echoes_right })
        .map_err(|error| {
            format!("Cannot open {engine} from {from} to {to}: {error}; see candor engines for its requirements")
        })?;
    let signals = EndingSignals::block()?;
    let (sender, ended) = mpsc::channel();
    thread::Builder::new().name(format!("loop-{from}")).spawn(move || {
        let _receiver_is_dropped = sender.send(forward());
        signal::nudge();
    })?;
    render::out(&format!("ready: {engine} without rules, {from} to {to}\n"))?;
    loop {
        // The loop needs no cleanup: it ends with the process.
        if signals.wait(LOOK)?.is_some() {
            return Ok(Exit::Fine);
        }
        if let Ok(error) = ended.try_recv() {
            return Err(format!("Forwarding from {from} to {to} ended: {error}").into());
        }
    }
}
