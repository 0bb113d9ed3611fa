//! `serve` and `work`: the links that `candor run` asks for.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::panic;
use std::process::{Child, ChildStdin, Command as Program, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use candor_cli::link::{Command, MAX_LINE_BYTES, Start};
use candor_cli::{Exit, Outcome, render};
use candor_core::causes::in_full;
use caps::CapSet;
use clap::Parser as _;

use crate::bus::Bus;
use crate::file::Arguments;
use crate::link::{self, Identity};
use crate::reports::{Outlet, Reports};

/// Pauses before the worker is started again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Pause before a link is tried again that could not start, for example because its address is in use.
const RETRY: Duration = Duration::from_secs(2);
/// How often an end of the worker is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// The next command; `None` at the end, and after a line that is none.
fn next(input: &mut impl BufRead) -> Option<Command> {
    let mut line = Vec::new();
    let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    input.take(most).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// Passes commands on to a worker, and starts it again with the same links when it has crashed.
pub(crate) fn serve() -> Outcome {
    give_up_privileges()?;
    let (sender, commands) = mpsc::channel();
    thread::Builder::new().name("commands".into()).spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Some(command) = next(&mut input) {
            if sender.send(command).is_err() {
                break;
            }
        }
    })?;
    let mut links: BTreeMap<String, Start> = BTreeMap::new();
    let mut worker: Option<Worker> = None;
    let (mut pause, mut next_start) = (FIRST_PAUSE, Instant::now());
    loop {
        match commands.recv_timeout(LOOK) {
            Ok(command) => {
                if let Some(worker) = &mut worker {
                    worker.tell(&command);
                }
                match command {
                    Command::Start(start) => drop(links.insert(start.link.clone(), start)),
                    Command::Stop(link) => drop(links.remove(&link)),
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The gateway has ended. The worker finds the end of its input, too.
            Err(RecvTimeoutError::Disconnected) => {
                if let Some(worker) = worker {
                    worker.end();
                }
                return Ok(Exit::Fine);
            }
        }
        if let Some(status) = worker.as_mut().and_then(|worker| worker.child.try_wait().ok().flatten()) {
            let lasted = worker.take().is_some_and(|worker| worker.since.elapsed() > LONGEST_PAUSE);
            pause = if lasted { FIRST_PAUSE } else { pause };
            Outlet::Gateway.tell("", &format!("ended ({status}) and starts again in {pause:?}"), true);
            next_start = Instant::now() + pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if worker.is_none() && Instant::now() >= next_start && !links.is_empty() {
            let mut new = Worker::start()?;
            links.values().for_each(|start| new.tell(&Command::Start(start.clone())));
            worker = Some(new);
        }
    }
}

/// Whatever `candor run` had is not for a program that talks to the network.
fn give_up_privileges() -> Result<(), Box<dyn std::error::Error>> {
    candor_io::process::forgo_new_privileges()?;
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        caps::clear(None, set)?;
    }
    Ok(())
}

struct Worker {
    child: Child,
    input: ChildStdin,
    since: Instant,
}

impl Worker {
    fn start() -> io::Result<Self> {
        let mut child = Program::new("/proc/self/exe").arg("work").stdin(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, input, since: Instant::now() })
    }

    fn tell(&mut self, command: &Command) {
        // One that has ended is started again, and then told all links.
        let _ = self.input.write_all(render::line(command).as_bytes());
    }

    fn end(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end && child.try_wait().is_ok_and(|status| status.is_none()) {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A thread for each link.
pub(crate) fn work() -> Outcome {
    // One link cannot go on without the others, because a panic ends the program.
    panic::set_hook(Box::new(|panic| {
        Outlet::Gateway.tell("", &format!("This is an error in candor-link, please report it. {panic}"), true);
    }));
    // Otherwise that of the file in /proc that it was started from.
    nix::sys::prctl::set_name(c"candor-link")?;
    let identity = Identity::random()?;
    let mut running: BTreeMap<String, Running> = BTreeMap::new();
    let mut input = BufReader::new(io::stdin());
    while let Some(command) = next(&mut input) {
        match command {
            Command::Start(start) => {
                if let Some(before) = running.remove(&start.link) {
                    before.end();
                }
                running.insert(start.link.clone(), Running::start(start, identity.clone())?);
            }
            Command::Stop(link) => {
                if let Some(link) = running.remove(&link) {
                    link.end();
                }
            }
        }
    }
    running.into_values().for_each(Running::end);
    Ok(Exit::Fine)
}

struct Running {
    stop: UnixStream,
    thread: JoinHandle<()>,
}

impl Running {
    fn start(start: Start, identity: Identity) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        stopped.set_read_timeout(Some(RETRY))?;
        let thread = thread::Builder::new().name(start.link.chars().take(15).collect());
        let thread = thread.spawn(move || keep(&start, &identity, &stopped))?;
        Ok(Self { stop, thread })
    }

    fn end(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

/// Runs a link until it is stopped; one that cannot start is tried again.
fn keep(start: &Start, identity: &Identity, mut stopped: &UnixStream) {
    let outlet = Outlet::Gateway;
    let args = match Arguments::try_parse_from(&start.arguments) {
        Ok(Arguments { link }) => link,
        Err(why) => return outlet.tell(&start.link, &why.to_string(), true),
    };
    let mut last = String::new();
    loop {
        let bus = Bus::can(args.interface.as_deref().unwrap_or_default());
        let done = bus.map_err(Into::into).and_then(|bus| {
            let reports = Reports::new(outlet, &start.link);
            link::run(&args, start.tls.as_ref(), bus, reports, identity.clone(), stopped.as_fd())
        });
        match done {
            Ok(()) => return,
            Err(error) => {
                let text = in_full(&error);
                if text != last {
                    outlet.tell(&start.link, &text, true);
                    last = text;
                }
            }
        }
        // Returns at once when the link is stopped.
        match stopped.read(&mut [0]) {
            Err(error) if crate::progress::is_later(&error) => {}
            _ => return,
        }
    }
}
