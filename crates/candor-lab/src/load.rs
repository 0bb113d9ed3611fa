//! Loads on the gateway's machine as separate processes, and the machine's activity counters.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use candor_io::errno::ENOBUFS;
use candor_io::process;

use crate::device::{Lines, lines_of};
use crate::experiment::load::Load;

/// As in hackbench.
const MESSAGE_BYTES: usize = 100;
const TIMER: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a load as a process; none for [`Load::None`].
    pub fn start(lab: &Path, load: Load) -> io::Result<Option<Self>> {
        if load == Load::None {
            return Ok(None);
        }
        let mut command = Command::new(lab);
        command.args(["load"]).args(load.to_string().split(' ')).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = process::end_with_parent(&mut command).spawn()?;
        let lines: Lines = lines_of(child.stdout.take());
        let running = Self(child);
        match lines.recv_timeout(PATIENCE) {
            Ok(line) if line == "ready" => Ok(Some(running)),
            other => Err(io::Error::other(format!("the load {load} did not start: {other:?}"))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its children end with it.
        if self.0.kill().is_ok() {
            let _ended = self.0.wait();
        }
    }
}

/// Generates load until the process is killed. `ready` is called when it runs.
pub fn be(load: Load, lab: &Path, ready: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match load {
        Load::None => {}
        Load::Cpu(pairs) => {
            let relays = (0..pairs.get()).map(|_| pair(lab)).collect::<io::Result<Vec<_>>>()?;
            ready()?;
            return wait_for_any(relays.into_iter().flatten().collect());
        }
        Load::Ethernet(bytes) => return datagrams(bytes.get() as usize, ready),
        Load::Memory(mebibytes) => {
            let mut memory = vec![0_u8; mebibytes.get() as usize * (1 << 20)];
            ready()?;
            let mut round = 0_u8;
            loop {
                round = round.wrapping_add(1);
                // One byte of each cache line.
                memory.iter_mut().step_by(64).for_each(|byte| *byte = round);
                std::hint::black_box(&memory);
            }
        }
        Load::Timers(timers) => {
            for number in 0..timers.get() {
                thread::Builder::new().name(format!("timer-{number}")).stack_size(64 << 10).spawn(|| {
                    loop {
                        thread::sleep(TIMER);
                    }
                })?;
            }
        }
    }
    ready()?;
    loop {
        thread::park();
    }
}

/// Copies messages from standard input to standard output until its end.
pub fn relay() -> io::Result<()> {
    let mut message = [0; MESSAGE_BYTES];
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    loop {
        match input.read_exact(&mut message) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            outcome => outcome?,
        }
        output.write_all(&message)?;
        output.flush()?;
    }
}

/// Two processes that pass a message to and fro.
fn pair(lab: &Path) -> io::Result<[Child; 2]> {
    let ((from_one, to_other), (from_other, mut to_one)) = (io::pipe()?, io::pipe()?);
    to_one.write_all(&[0; MESSAGE_BYTES])?;
    let start = |input: io::PipeReader, output: io::PipeWriter| {
        let mut command = Command::new(lab);
        command.args(["relay"]).stdin(input).stdout(output);
        process::end_with_parent(&mut command).spawn()
    };
    Ok([start(from_other, to_other)?, start(from_one, to_one)?])
}

/// If one process ends, the load is no longer as specified.
fn wait_for_any(mut relays: Vec<Child>) -> io::Result<()> {
    match relays.first_mut() {
        Some(relay) => {
            let status = relay.wait()?;
            Err(io::Error::other(format!("a process of the load ended ({status})")))
        }
        None => Ok(()),
    }
}

/// Sends datagrams over the loopback device as fast as possible.
fn datagrams(bytes: usize, ready: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    thread::Builder::new().name("receiver".to_owned()).spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while receiver.recv(&mut buffer).is_ok() {}
    })?;
    let datagram = vec![0x5A; bytes];
    ready()?;
    loop {
        match sender.send(&datagram) {
            Err(error) if error.raw_os_error() != Some(ENOBUFS) => return Err(error),
            _ => {}
        }
    }
}

/// Counters of the machine since boot, which show the effect of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity(BTreeMap<String, u64>);

impl Activity {
    /// Context switches, interrupts and forks (`/proc/stat`), softirqs of receiving and timers (`/proc/softirqs`).
    pub fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::parse(&read("/proc/stat"), &read("/proc/softirqs"))
    }

    fn parse(stat: &str, softirqs: &str) -> Self {
        let first_number = |line: &str| line.split_whitespace().nth(1).and_then(|number| number.parse().ok());
        let sum = |line: &str| line.split_whitespace().skip(1).filter_map(|number| number.parse::<u64>().ok()).sum();
        let mut counts = BTreeMap::new();
        for (key, name) in [("ctxt", "context_switches"), ("intr", "interrupts"), ("processes", "forks")] {
            let line = stat.lines().find(|line| line.split_whitespace().next() == Some(key));
            if let Some(count) = line.and_then(first_number) {
                counts.insert(name.to_owned(), count);
            }
        }
        for (key, name) in [("NET_RX:", "net_rx_softirqs"), ("TIMER:", "timer_softirqs")] {
            if let Some(line) = softirqs.lines().find(|line| line.trim_start().starts_with(key)) {
                counts.insert(name.to_owned(), sum(line));
            }
        }
        Self(counts)
    }

    pub fn per_second_since(&self, before: &Self, time: Duration) -> BTreeMap<String, u64> {
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = |(name, now): (&String, &u64)| {
            let added = now.saturating_sub(before.0.get(name).copied().unwrap_or_default());
            (name.clone(), added.saturating_mul(1000) / milliseconds)
        };
        self.0.iter().map(rate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_activity_counters() {
        let stat = "cpu  1 2 3\ncpu0 1 2 3\nintr 500 1 2\nctxt 1000\nbtime 5\nprocesses 7\n";
        let softirqs = "        CPU0  CPU1\n  TIMER:   3  4\n NET_TX: 9 9\n NET_RX:  10  20\n";
        let activity = Activity::parse(stat, softirqs);
        let later = Activity::parse(&stat.replace("1000", "4000"), &softirqs.replace("20\n", "120\n"));
        let rates = later.per_second_since(&activity, Duration::from_millis(500));
        assert_eq!(rates["context_switches"], 6000);
        assert_eq!((rates["net_rx_softirqs"], rates["timer_softirqs"], rates["interrupts"]), (200, 0, 0));
    }

    #[test]
    fn no_load_starts_no_process() {
        assert!(Running::start(Path::new("/nonexistent"), Load::None).unwrap().is_none());
        assert!(Running::start(Path::new("/nonexistent"), "cpu".parse().unwrap()).is_err());
    }
}
