//! `candor-lab baseline`: an engine's system calls without rules.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use candor_config::engine::Sender;
use candor_io::can::Loopback;
use candor_io::signal::{self, EndingSignals};
use candor_lab::baseline::{self, Way};
use candor_lab::tester;
use candor_netlink::client::Client;

use crate::cli::BaselineArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

/// The loop tells when it ends; whoever measures it wants nothing else to run.
const LOOK: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &BaselineArgs) -> Outcome {
    let BaselineArgs { engine, from, to, echo } = args;
    let mut client = Client::open()?;
    let (near, far) = (tester::find(&mut client, from)?, tester::find(&mut client, to)?);
    let ring_echoes_right = *echo == far.echoes;
    if engine.sender() == Sender::Mmap && !ring_echoes_right {
        let (does, remedy) = if far.echoes { ("echoes", "give") } else { ("does not echo", "leave out") };
        return Err(format!("A transmit ring {does} on {to}, whatever one asks for: {remedy} --echo").into());
    }
    let loopback = if *echo { Loopback::On } else { Loopback::Off };
    let forward = baseline::open(*engine, Way { from: near.index, to: far.index, loopback, ring_echoes_right })
        .map_err(|error| {
            format!("Cannot open {engine} from {from} to {to}: {error}; candor engines says what it needs")
        })?;
    let signals = EndingSignals::block()?;
    let (tell, ended) = mpsc::channel();
    thread::Builder::new().name(format!("loop-{from}")).spawn(move || {
        let _nobody_hears_it_after_the_end = tell.send(forward());
        signal::nudge();
    })?;
    render::out(&format!("ready: {engine} without rules, {from} to {to}\n"))?;
    loop {
        // The loop has nothing to leave behind: it ends with the process.
        if signals.wait(LOOK)?.is_some() {
            return Ok(Exit::Fine);
        }
        if let Ok(error) = ended.try_recv() {
            return Err(format!("Forwarding from {from} to {to} ended: {error}").into());
        }
    }
}
