//! The first process of a guest: sets up the machine and the topology, runs one command, and powers off.
//!
//! It is idle while the command is quiet: when instructions are counted, everything that runs is measured. It only
//! reads pipes, waits for children, and forwards output.

mod outlet;
mod topology;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};

use candor_io::guest;
use candor_io::process::{self, Patience, Reaped};
use candor_netlink::client::NetlinkError;

use crate::channel::{Message, is_file_name};
use crate::job::{HOME, JOB_PATH, Job, MODULES_PATH, ModuleFile, ModuleIndex, OUT, Topology};
use outlet::Outlet;
use topology::Wire;

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("Cannot start {program}: {source}")]
    Command { program: String, source: io::Error },
    #[error("Cannot use {path} in the guest: {source}")]
    File { path: String, source: io::Error },
    #[error("The command left a file with a line break or another control character in its name: {0:?}")]
    FileName(String),
    #[error("{what}: {source}")]
    Kernel { what: String, source: io::Error },
    #[error("Cannot set up the interface {interface}: {source}")]
    Link { interface: String, source: NetlinkError },
    #[error("Interface {0} does not exist")]
    NoInterface(String),
    #[error("Interface {0} is up but does not become operational")]
    NotOperational(String),
    #[error("candor-lab wire failed; its message is above")]
    NoWire,
}

pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new(JOB_PATH).exists()
}

pub fn is_modprobe() -> bool {
    let called = std::env::args_os().next();
    called.is_some_and(|name| Path::new(&name).ends_with("modprobe")) && Path::new(MODULES_PATH).exists()
}

/// Does the job and powers off. Returns only if that fails.
pub fn run() -> io::Result<()> {
    match prepare() {
        Ok((job, outlet)) => {
            let last = match work(&job, &outlet) {
                Ok(status) => Message::Exit(status),
                Err(InitError::Command { program, source }) => no_command(&program, &source, &outlet),
                Err(error) => Message::Failed(error.to_string()),
            };
            outlet.send(last);
            outlet.close();
        }
        // Only the console is left.
        Err(error) => eprintln!("candor: {error}"),
    }
    guest::power_off()
}

/// Loads a module on behalf of the kernel: `modprobe -q -- NAME`.
pub fn modprobe() -> Result<(), InitError> {
    let index: ModuleIndex = read_json(MODULES_PATH)?;
    for wanted in std::env::args().skip(1).filter(|argument| !argument.starts_with('-')) {
        let files = index.to_load(&wanted);
        if files.is_empty() {
            let source = io::ErrorKind::NotFound.into();
            return Err(InitError::Kernel { what: format!("No module {wanted}"), source });
        }
        files.into_iter().try_for_each(load)?;
    }
    Ok(())
}

fn prepare() -> Result<(Job, Outlet), InitError> {
    for (kind, target) in [
        ("devtmpfs", "/dev"),
        ("devpts", "/dev/pts"),
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/run"),
    ] {
        let failed = || kernel(&format!("Cannot mount {target}"));
        fs::create_dir_all(target).map_err(failed())?;
        guest::mount(kind, target).map_err(failed())?;
    }
    let job: Job = read_json(JOB_PATH)?;
    let outlet = Outlet::open(job.testbed)?;
    Ok((job, outlet))
}

fn work(job: &Job, outlet: &Outlet) -> Result<u8, InitError> {
    job.modules.iter().try_for_each(load)?;
    topology::set_up(job.topology, job.bare_metal)?;
    let wire = (job.topology == Topology::Wire).then(|| Wire::start(&job.wire_adapters, outlet)).transpose()?;
    let mut command = command(job)?;
    outlet.send(Message::Started);
    let (child, readers) = start(job, &mut command, outlet)?;
    drop(command);
    let status = wait_for(child)?;
    let can_be_believed = wire.map_or(Ok(true), Wire::end)?;
    // Remaining processes would keep the pipes open.
    guest::kill_all_others().map_err(kernel("Cannot kill the processes that the command left"))?;
    for reader in readers {
        // A reader ends with its pipe and does not panic.
        let _ = reader.join();
    }
    send_files(Path::new(OUT), "", outlet)?;
    Ok(match exit_code(status) {
        0 => u8::from(!can_be_believed),
        status => status,
    })
}

/// Starts the command on the terminal if the job has one, else with readers of its output.
fn start(job: &Job, command: &mut Command, outlet: &Outlet) -> Result<(u32, Vec<JoinHandle<()>>), InitError> {
    if job.terminal.is_some() {
        process::lead_terminal(command);
    } else {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let failed = |source| InitError::Command { program: job.command[0].clone(), source };
    let mut child = command.spawn().map_err(failed)?;
    let readers = [
        child.stdout.take().map(|pipe| pass_on(pipe, outlet.clone(), Message::Stdout)),
        child.stderr.take().map(|pipe| pass_on(pipe, outlet.clone(), Message::Stderr)),
    ];
    Ok((child.id(), readers.into_iter().flatten().collect()))
}

fn command(job: &Job) -> Result<Command, InitError> {
    let program = job
        .command
        .first()
        .ok_or_else(|| InitError::Command { program: String::new(), source: io::ErrorKind::InvalidInput.into() })?;
    let environment: &BTreeMap<String, String> = &job.environment;
    // In the guest's PATH, not in that of init.
    let found = match environment.get("PATH") {
        Some(path) if !program.contains('/') => {
            path.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
        }
        _ => None,
    };
    let mut command = Command::new(found.unwrap_or_else(|| program.into()));
    command.args(&job.command[1..]).env_clear().envs(environment).current_dir(HOME);
    if let Some(size) = job.terminal {
        fs::create_dir_all("/dev/pts").and_then(|()| guest::mount("devpts", "/dev/pts")).map_err(kernel("/dev/pts"))?;
        let terminal = outlet::terminal(job.testbed, size)?;
        let another = || terminal.try_clone().map_err(kernel("Cannot use the terminal"));
        command.stdin(another()?).stdout(another()?).stderr(another()?);
    }
    Ok(command)
}

/// Waits for one child; reaps orphans meanwhile.
fn wait_for(pid: u32) -> Result<ExitStatus, InitError> {
    loop {
        match process::reap(Patience::Wait).map_err(kernel("Cannot wait for the command"))? {
            Reaped::Child(child, status) if child == pid => return Ok(status),
            Reaped::NoChildren => {
                let source = io::ErrorKind::NotFound.into();
                return Err(InitError::Kernel { what: "The command is gone".to_owned(), source });
            }
            Reaped::Child(..) | Reaped::NothingYet => {}
        }
    }
}

/// A missing command is the caller's mistake, so it is reported as shells do.
fn no_command(program: &str, source: &io::Error, outlet: &Outlet) -> Message {
    let (text, status) = match source.kind() {
        io::ErrorKind::NotFound => {
            let text = format!("no program {program} in the guest; --program and --copy add programs");
            (text, 127)
        }
        _ => (format!("cannot start {program}: {source}{}", start_hint(program, source)), 126),
    };
    outlet.send(Message::Stderr(format!("candor: {text}\n").into_bytes()));
    Message::Exit(status)
}

fn start_hint(program: &str, source: &io::Error) -> String {
    const ENOEXEC: i32 = 8;
    let name = program.trim_start_matches("./");
    match source.kind() {
        io::ErrorKind::PermissionDenied => format!("; make it executable: chmod +x {name}"),
        _ if source.raw_os_error() == Some(ENOEXEC) => {
            format!("; a script needs a first line such as #!/bin/sh, or its shell: --copy {name} -- sh {name}")
        }
        _ => String::new(),
    }
}

/// As in shells: 128 + signal.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(255);
    u8::try_from(code).unwrap_or(255)
}

fn pass_on(mut pipe: impl Read + Send + 'static, outlet: Outlet, kind: fn(Vec<u8>) -> Message) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            outlet.send(kind(buffer[..count].to_vec()));
        }
    })
}

/// Sends the files of a directory recursively, in order of their names.
fn send_files(folder: &Path, prefix: &str, outlet: &Outlet) -> Result<(), InitError> {
    const PIECE_BYTES: u64 = 128 * 1024;
    let failed = |path: &Path| file(&path.to_string_lossy());
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).map_err(failed(folder))?.collect();
    let mut entries = entries.map_err(failed(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if !is_file_name(&name) {
            return Err(InitError::FileName(name));
        }
        let kind = entry.file_type().map_err(failed(&path))?;
        if kind.is_dir() {
            send_files(&path, &format!("{name}/"), outlet)?;
        } else if kind.is_file() {
            let mut file = fs::File::open(&path).map_err(failed(&path))?;
            let mut sent = false;
            loop {
                let mut bytes = Vec::new();
                (&mut file).take(PIECE_BYTES).read_to_end(&mut bytes).map_err(failed(&path))?;
                if bytes.is_empty() && sent {
                    break;
                }
                outlet.send(Message::File { name: name.clone(), bytes });
                sent = true;
            }
        }
    }
    Ok(())
}

fn load(ModuleFile { path, parameters }: &ModuleFile) -> Result<(), InitError> {
    let bytes = fs::read(path).map_err(file(path))?;
    let with = if parameters.is_empty() { String::new() } else { format!(" with {parameters}") };
    guest::load_module(&bytes, parameters).map_err(kernel(&format!("Cannot load the kernel module {path}{with}")))
}

fn read_json<T: serde::de::DeserializeOwned>(path: &str) -> Result<T, InitError> {
    let bytes = fs::read(path).map_err(file(path))?;
    serde_json::from_slice(&bytes).map_err(io::Error::from).map_err(file(path))
}

fn file(path: &str) -> impl FnOnce(io::Error) -> InitError + use<> {
    let path = path.to_owned();
    move |source| InitError::File { path, source }
}

fn kernel(what: &str) -> impl FnOnce(io::Error) -> InitError + use<> {
    let what = what.to_owned();
    move |source| InitError::Kernel { what, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_cannot_start_get_a_remedy() {
        let hint = |errno| start_hint("./k.sh", &io::Error::from_raw_os_error(errno));
        assert!(hint(8).ends_with("--copy k.sh -- sh k.sh"));
        assert!(hint(13).ends_with("chmod +x k.sh"));
        assert_eq!(hint(12), "");
    }
}
