//! `[link.NAME]` of a running gateway: the pair of interfaces of each link, and `candor-link`, which has the other ends.
//!
//! `candor-link` is started before this process gives up its privileges, as a user without any. It starts itself again after a
//! crash. What it says is bounded, because it talks to the network.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command as Program, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use candor_cli::link::{Command, Event, MAX_LINE_BYTES, Pem, Start, State};
use candor_cli::{key_file, link::Report as Told, render};
use candor_config::plan::{LINK_END, Plan};
use candor_core::causes::in_full;
use candor_io::process::effective_user;
use candor_io::signal;
use candor_netlink::client::{Client, Errno, NetlinkError};
use candor_netlink::link;
use nix::unistd::User;

use super::report::Report;

/// The program, next to this one.
const PROGRAM: &str = "candor-link";
/// Its user, which the package makes; otherwise the one that owns nothing.
const USERS: [&str; 2] = ["candor-link", "nobody"];
/// Events that wait for the supervisor; more are not told.
const MOST_EVENTS: usize = 100;
/// After each line, so that a flood does not take the processor.
const PAUSE: Duration = Duration::from_millis(2);
/// How long the program may take to end.
const END: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("cannot start {}{}", .program.display(), advice(.source))]
    Program { program: PathBuf, source: io::Error },
    #[error("link {link}: {why}")]
    File { link: String, why: String },
    #[error("cannot make the interfaces {names:?} of link {link}{}", interface_advice(.source))]
    Interfaces { link: String, names: [String; 2], source: NetlinkError },
    #[error(
        "interface {interface} of link {link} exists and is no end of a vxcan pair; remove it, or add `interface` to the link"
    )]
    Taken { link: String, interface: String },
    #[error(
        "the file had no link when candor started, and {PROGRAM} is started with the privileges of the start; restart candor"
    )]
    NoProgram,
    #[error("{PROGRAM} has ended, and only a restart of candor starts it again")]
    Ended,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; links need this program: install it next to candor",
        _ => "",
    }
}

fn interface_advice(error: &NetlinkError) -> &'static str {
    match error.errno() {
        Some(Errno::EOPNOTSUPP) => "; load the module: sudo modprobe vxcan",
        Some(Errno::EPERM) => {
            "; CAP_NET_ADMIN is needed, or make them before: sudo ip link add NAME type vxcan peer name NAME-net"
        }
        _ => "",
    }
}

/// `candor-link` as a process.
#[derive(Debug)]
pub(super) struct LinkProgram {
    child: Child,
}

impl LinkProgram {
    /// Starts the program if the plan has links.
    pub(super) fn start(plan: &Plan) -> Result<Option<Self>, LinkError> {
        if plan.links().is_empty() {
            return Ok(None);
        }
        let own = std::env::current_exe().unwrap_or_default();
        let program = own.with_file_name(PROGRAM);
        let mut command = Program::new(&program);
        // Its own process group gets no Ctrl-C of the terminal: it ends when its input does.
        command.arg("serve").env_clear().current_dir("/").process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        if effective_user() == 0 {
            let user = USERS.into_iter().find_map(|name| User::from_name(name).ok().flatten());
            let (uid, gid) = user.map_or((NOBODY, NOBODY), |user| (user.uid.as_raw(), user.gid.as_raw()));
            command.uid(uid).gid(gid);
        }
        let child = command.spawn().map_err(|source| LinkError::Program { program, source })?;
        Ok(Some(Self { child }))
    }
}

/// Without a list of users.
const NOBODY: u32 = 65_534;

/// A link as `candor-link` runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    interface: String,
    start: Start,
}

/// The links of a plan.
#[derive(Debug)]
pub(super) struct Links<'a> {
    report: &'a Report,
    /// Where paths of the file start.
    folder: PathBuf,
    program: Option<Running>,
    running: Vec<Wanted>,
    /// Interfaces that this process has made.
    made: Vec<String>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    heard: Arc<Mutex<Heard>>,
    reader: JoinHandle<()>,
}

/// What `candor-link` has said.
#[derive(Debug, Default)]
struct Heard {
    states: BTreeMap<String, State>,
    events: VecDeque<Event>,
    has_ended: bool,
}

impl<'a> Links<'a> {
    /// Makes the interfaces and starts the links.
    pub(super) fn start(
        plan: &Plan,
        file: &Path,
        program: Option<LinkProgram>,
        report: &'a Report,
    ) -> Result<Self, LinkError> {
        let program = program.map(Running::new).transpose()?;
        let folder = file.parent().unwrap_or_else(|| Path::new("")).to_owned();
        let mut links = Self { report, folder, program, running: Vec::new(), made: Vec::new() };
        links.change(plan)?;
        Ok(links)
    }

    /// Starts the new and changed links of another plan; those that it does not have stay until [`settle`](Self::settle). Returns the
    /// ones before, for [`back`](Self::back).
    pub(super) fn change(&mut self, plan: &Plan) -> Result<Before, LinkError> {
        if self.program.as_ref().is_some_and(|program| program.heard().has_ended) && !plan.links().is_empty() {
            self.report.message(&in_full(&LinkError::Ended), true);
        }
        let wanted: Result<Vec<_>, _> = plan.links().iter().map(|link| self.wanted(plan, link)).collect();
        let before = Before(self.running.clone());
        let done = wanted.and_then(|wanted| self.change_to(wanted));
        match done {
            Ok(()) => Ok(before),
            Err(error) => {
                self.back(before);
                Err(error)
            }
        }
    }

    fn wanted(&self, plan: &Plan, link: &candor_config::plan::Link) -> Result<Wanted, LinkError> {
        let bus = plan.bus(link.bus);
        let tls = link.tls.as_ref().map(|tls| key_file::pem(&self.folder, tls)).transpose();
        let tls: Option<Pem> = tls.map_err(|why| LinkError::File { link: bus.name.clone(), why })?;
        let start = Start { link: bus.name.clone(), arguments: link.arguments(plan), tls };
        Ok(Wanted { interface: bus.interface.clone(), start })
    }

    fn change_to(&mut self, wanted: Vec<Wanted>) -> Result<(), LinkError> {
        if wanted.is_empty() {
            return Ok(());
        }
        let mut client = None;
        for one in wanted {
            if self.running.contains(&one) {
                continue;
            }
            let Some(program) = &mut self.program else { return Err(LinkError::NoProgram) };
            if program.heard().has_ended {
                return Err(LinkError::Ended);
            }
            let client = match &mut client {
                Some(client) => client,
                none => none.insert(Client::open().map_err(|source| interfaces_of(&one, source))?),
            };
            if make(client, &one)? {
                self.made.push(one.interface.clone());
            }
            program.tell(&Command::Start(one.start.clone()));
            self.running.retain(|before| before.start.link != one.start.link);
            self.running.push(one);
        }
        Ok(())
    }

    /// Ends links that the plan does not have, and removes interfaces that nothing uses any more.
    pub(super) fn settle(&mut self, plan: &Plan) {
        let is_there = |one: &Wanted| plan.links().iter().any(|link| plan.bus(link.bus).name == one.start.link);
        self.keep(is_there);
    }

    /// Goes back to the links before a change that was refused.
    pub(super) fn back(&mut self, Before(before): Before) {
        if let Err(error) = self.change_to(before.clone()) {
            self.report.message(&format!("Cannot restore the links: {}", in_full(&error)), true);
        }
        self.keep(|one| before.contains(one));
    }

    fn keep(&mut self, is_there: impl Fn(&Wanted) -> bool) {
        let (stay, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.running).into_iter().partition(is_there);
        self.running = stay;
        for one in &gone {
            if let Some(program) = &mut self.program {
                program.tell(&Command::Stop(one.start.link.clone()));
                program.heard().states.remove(&one.start.link);
            }
        }
        let used = |interface: &String| self.running.iter().any(|one| one.interface == *interface);
        let (stay, unused) = std::mem::take(&mut self.made).into_iter().partition(used);
        self.made = stay;
        remove(&unused);
    }

    /// Tells what has happened.
    pub(super) fn look(&self) {
        let Some(program) = &self.program else { return };
        let events = std::mem::take(&mut program.heard().events);
        for Event { link, text, is_warning } in events {
            // It may have bytes of a peer.
            let text = render::visible(&text.chars().take(500).collect::<String>());
            let known = self.running.iter().any(|one| one.start.link == link);
            let name = if known { format!("Link {link}") } else { PROGRAM.to_owned() };
            self.report.message(&format!("{name}: {text}"), is_warning);
        }
    }

    /// The state of each link; one that has told nothing is not up.
    pub(super) fn states(&self) -> Vec<State> {
        let Some(program) = &self.program else { return Vec::new() };
        let heard = program.heard();
        let state = |one: &Wanted| {
            let link = &one.start.link;
            heard.states.get(link).cloned().unwrap_or_else(|| State { link: link.clone(), ..State::default() })
        };
        self.running.iter().map(state).collect()
    }
}

/// Links that ran before a change.
#[derive(Debug)]
pub(super) struct Before(Vec<Wanted>);

impl Drop for Links<'_> {
    fn drop(&mut self) {
        for state in self.states() {
            let waiting = ("waiting", state.waiting_frames);
            let unsent = state.dropped_frames.iter().map(|(reason, frames)| (reason.as_str(), *frames));
            let unsent: Vec<_> = unsent.chain([waiting]).filter(|(_, frames)| *frames > 0).collect();
            if !unsent.is_empty() {
                let all: Vec<_> = unsent.iter().map(|(reason, frames)| format!("{frames} {reason}")).collect();
                self.report.message(&format!("Link {}: frames not sent: {}", state.link, all.join(", ")), true);
            }
        }
        if let Some(program) = self.program.take() {
            program.end();
        }
        remove(&self.made);
    }
}

impl Running {
    fn new(LinkProgram { mut child }: LinkProgram) -> Result<Self, LinkError> {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (output, into) = (child.stdout.take(), Arc::clone(&heard));
        let read = move || output.into_iter().for_each(|output| listen(output, &into));
        let refused = |source| LinkError::Program { program: PROGRAM.into(), source };
        let reader = thread::Builder::new().name("links".into()).stack_size(128 << 10).spawn(read).map_err(refused)?;
        Ok(Self { child, heard, reader })
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that has ended was told.
    fn tell(&mut self, command: &Command) {
        if let Some(input) = &mut self.child.stdin {
            let _ = input.write_all(render::line(command).as_bytes());
        }
    }

    /// The end of its output is the end of the program; a system call filter may forbid to wait for the process.
    fn end(self) {
        let Self { mut child, reader, .. } = self;
        drop(child.stdin.take());
        let end = Instant::now() + END;
        while !reader.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.try_wait();
    }
}

fn listen(output: ChildStdout, heard: &Mutex<Heard>) {
    let mut output = BufReader::new(output);
    let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = output.by_ref().take(most).read_until(b'\n', &mut line);
        let told = match read {
            Ok(0) | Err(_) => None,
            Ok(_) => serde_json::from_slice::<Told>(&line).ok(),
        };
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ended = told.is_none();
        match told {
            Some(Told::State(state)) => drop(heard.states.insert(state.link.clone(), state)),
            Some(Told::Event(event)) if heard.events.len() < MOST_EVENTS => heard.events.push_back(event),
            Some(Told::Event(_)) => {}
            None => {
                for state in heard.states.values_mut() {
                    (state.is_up, state.peer, state.waiting_frames) = (false, None, 0);
                }
                let text = "ended, and the links with it; restart candor".to_owned();
                heard.events.push_back(Event { link: String::new(), text, is_warning: true });
                heard.has_ended = true;
            }
        }
        drop(heard);
        signal::nudge();
        if has_ended {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn interfaces_of(one: &Wanted, source: NetlinkError) -> LinkError {
    LinkError::Interfaces { link: one.start.link.clone(), names: ends(&one.interface), source }
}

/// Both ends of the pair.
fn ends(interface: &str) -> [String; 2] {
    [interface.to_owned(), format!("{interface}{LINK_END}")]
}

/// Makes the pair of a link, and sets it up; true if it was not there.
fn make(client: &mut Client, one: &Wanted) -> Result<bool, LinkError> {
    let refused = |source| interfaces_of(one, source);
    let names = ends(&one.interface);
    let [bus, net] = names.each_ref().map(|name| link::by_name(client, name));
    let (found, is_new) = match (bus.map_err(refused)?, net.map_err(refused)?) {
        (None, None) => {
            link::create_vxcan(client, names.each_ref().map(String::as_str)).map_err(refused)?;
            (names.each_ref().map(|name| link::by_name(client, name)), true)
        }
        (Some(bus), Some(net)) if [&bus, &net].iter().all(|end| end.kind.as_deref() == Some("vxcan")) => {
            ([Ok(Some(bus)), Ok(Some(net))], false)
        }
        (Some(_), _) => {
            return Err(LinkError::Taken { link: one.start.link.clone(), interface: one.interface.clone() });
        }
        (None, Some(_)) => {
            let [_, interface] = names;
            return Err(LinkError::Taken { link: one.start.link.clone(), interface });
        }
    };
    for end in found {
        if let Some(end) = end.map_err(refused)?.filter(|end| !end.up) {
            link::set_up(client, end.index).map_err(refused)?;
        }
    }
    Ok(is_new)
}

/// Removes pairs. What is not there any more is fine.
fn remove(interfaces: &[String]) {
    if interfaces.is_empty() {
        return;
    }
    let Ok(mut client) = Client::open() else { return };
    for interface in interfaces {
        if let Ok(Some(end)) = link::by_name(&mut client, interface) {
            let _ = link::delete(&mut client, end.index);
        }
    }
}
