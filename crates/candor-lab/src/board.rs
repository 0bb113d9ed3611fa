//! A board reached by `ssh`. candor is copied there, runs there, and is removed afterwards.
//!
//! ```text
//!  tester ══ ssh (master) ══ sshd ── sh ── candor-lab hold: removes the directory with candor at the end
//!         ── the same connection ─── candor-lab supervise: runs and stops the gateway of a cell
//! ```
//!
//! Both watch their standard input. When the connection is lost or silent for too long, they clean up, so nothing stays on
//! the board even if the tester or the cable fails.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use candor_io::process;
use object::elf;
use tempfile::TempDir;

use crate::device::{self, Lines, lines_of};
use crate::experiment::{Ssh, name_of};
use crate::supervisor::{Line, wait_for_end};

/// Includes the time to type a password.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection to a board with candor on it. Dropping it removes candor from the board.
#[derive(Debug)]
pub struct Board {
    master: Child,
    lines: Lines,
    line: Line,
    /// `ssh`, the options of the connection, and the host.
    reach: Vec<String>,
    program: String,
    host: String,
    _folder: TempDir,
}

#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    #[error("Cannot start ssh; install OpenSSH's client")]
    NoSsh(#[source] io::Error),
    #[error("{} cannot be copied to a board: {why}; set candor = \"FILE\" in [ssh] to a static candor", path.display())]
    Program { path: PathBuf, why: String },
    #[error("ssh cannot reach {host} ({status}); does `ssh {host} true` work?")]
    Unreachable { host: String, status: String },
    #[error(
        "{host} is a {machine} machine, and {} is for {program_is_for}; build one with `cargo build --release --package candor \
         --target {}` and set candor = \"FILE\" in [ssh]",
        path.display(),
        target_of(machine)
    )]
    Architecture { host: String, machine: String, path: PathBuf, program_is_for: &'static str },
    #[error(
        "candor does not run on {host} ({status}); does its temporary directory ($TMPDIR, /tmp) allow programs to run, and has it {} MB \
         free?",
        bytes / 1_000_000 + 1
    )]
    DoesNotRun { host: String, status: String, bytes: usize },
    #[error("cannot check {host} ({status}); its message is above{}", if *sudo { "; does `sudo -n true` work there?" } else { "" })]
    CannotLook { host: String, status: ExitStatus, sudo: bool },
}

impl Board {
    /// Connects and copies the static programs candor-lab and candor. Messages of `ssh` go to standard error.
    pub fn reach(ssh: &Ssh, lab: &Path) -> Result<Self, BoardError> {
        let host = ssh.host.clone();
        let wrong = |why: String| BoardError::Program { path: lab.to_owned(), why };
        let (bytes, program) =
            fs::read(lab).and_then(|bytes| Ok((bytes, File::open(lab)?))).map_err(|error| wrong(error.to_string()))?;
        let architecture = Architecture::of(&bytes).ok_or_else(|| wrong("it is not a Linux program".to_owned()))?;
        if architecture.needs_libraries {
            return Err(wrong("it needs shared libraries, which may be missing there".to_owned()));
        }
        let gateway = device::gateway_program(lab);
        let gateway = File::open(&gateway).map_err(|error| format!("{error}: {}", gateway.display())).map_err(wrong)?;
        let name = name_of(&bytes);
        let folder = tempfile::Builder::new().prefix("candor-ssh-").tempdir().map_err(BoardError::NoSsh)?;
        let socket = folder.path().join("s").display().to_string();
        // ssh uses the first of repeated options, so those of the plan come first.
        let mut reach = vec!["ssh".to_owned()];
        reach.extend(ssh.options.iter().cloned());
        for option in ["ServerAliveInterval=5", "ServerAliveCountMax=3", "ControlPersist=no"] {
            reach.extend(["-o".to_owned(), option.to_owned()]);
        }
        reach.extend(["-S".to_owned(), socket]);
        let mut command = Command::new(&reach[0]);
        command.args(&reach[1..]).arg("-M").arg(&host).arg(deployment(&name));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut master = process::end_with_parent(&mut command).spawn().map_err(BoardError::NoSsh)?;
        let lines = lines_of(master.stdout.take());
        reach.extend(["-o", "BatchMode=yes", "-o", "ControlMaster=no"].map(str::to_owned));
        reach.push(host.clone());
        let next_line = || lines.recv_timeout(PATIENCE).ok();
        let board = loop {
            match next_line() {
                Some(line) if line.starts_with("board ") => break Some(line),
                // Login banners.
                Some(_other) => {}
                None => break None,
            }
        };
        let place = board.as_deref().and_then(|line| line["board ".len()..].split_once(' '));
        let (Some((machine, place)), Some(mut to_board)) = (place, master.stdin.take()) else {
            return Err(BoardError::Unreachable { host, status: end_of(&mut master) });
        };
        if !architecture.runs_on(machine) {
            drop(to_board);
            wait_for_end(&mut master, &lines);
            let (machine, path) = (machine.to_owned(), lab.to_owned());
            return Err(BoardError::Architecture { host, machine, path, program_is_for: architecture.name });
        }
        let to = |name: &str| format!("{place}/{name}");
        let program_there = to(&format!("candor-lab-{name}"));
        let is_sent = send(&reach, program, &program_there)
            && send(&reach, gateway, &to("candor"))
            && to_board.write_all(b"\n").is_ok();
        if !is_sent || next_line().as_deref() != Some(&format!("holds {name}")) {
            drop(to_board);
            let status = end_of(&mut master);
            return Err(BoardError::DoesNotRun { host, status, bytes: bytes.len() });
        }
        let line = Line::new(to_board, true);
        let sudo = if ssh.sudo { "sudo -n " } else { "" };
        let program = format!("{sudo}{}", quoted(&program_there));
        Ok(Self { master, lines, line, reach, program, host, _folder: folder })
    }

    /// Command that starts a [supervisor](crate::supervisor) on the board.
    pub fn supervisor(&self) -> Vec<String> {
        self.command(&["supervise"])
    }

    fn command(&self, arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
        let command = format!("exec {} {}", self.program, arguments.join(" "));
        self.reach.iter().cloned().chain([command]).collect()
    }

    /// Runs `candor-lab preflight` there with these arguments. Returns what the board lacks, one sentence each.
    pub fn look(&self, arguments: &[String]) -> Result<Vec<String>, BoardError> {
        let arguments: Vec<&str> = ["preflight"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let command = self.command(&arguments);
        let run = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let run = run.map_err(BoardError::NoSsh)?;
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let lacking: Vec<_> = text.lines().map(str::to_owned).collect();
        match run.status.code() {
            Some(0) => Ok(Vec::new()),
            // sudo also exits with 1 if it needs a password.
            Some(1) if !lacking.is_empty() => Ok(lacking),
            _ => {
                let sudo = self.program.starts_with("sudo");
                Err(BoardError::CannotLook { host: self.host.clone(), status: run.status, sudo })
            }
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.line.end();
        wait_for_end(&mut self.master, &self.lines);
    }
}

/// Shell command for the board: make a directory, report the machine, wait for a line after both programs have been
/// [received](reception), and run `candor-lab hold`. The directory is removed on any failure.
fn deployment(name: &str) -> String {
    shell(&format!(
        "umask 077; d=$(mktemp -d \"${{TMPDIR:-/tmp}}/candor.XXXXXX\") || exit 1; trap 'rm -rf -- \"$d\"' EXIT; \
         echo \"board $(uname -m) $d\"; read -r sent && \"$d/candor-lab-{name}\" hold \"$d\""
    ))
}

/// Shell command for the board: receive a program until the end of the input. Each has an input of its own, because
/// `head -c` of some boards takes more bytes from a pipe than it prints.
fn reception(path: &str) -> String {
    let path = quoted(path);
    shell(&format!("umask 077; cat > {path} && chmod 700 {path}"))
}

/// The login shell need not be a POSIX shell.
fn shell(script: &str) -> String {
    format!("exec sh -c {}", quoted(script))
}

/// Copies a program by a connection that exists.
fn send(reach: &[String], program: File, path: &str) -> bool {
    let mut command = Command::new(&reach[0]);
    command.args(&reach[1..]).arg(reception(path)).stdin(program);
    process::end_with_parent(&mut command).status().is_ok_and(|status| status.success())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Exit status of a process whose standard output has ended.
fn end_of(child: &mut Child) -> String {
    drop(child.stdin.take());
    match child.try_wait() {
        Ok(None) => {
            std::thread::sleep(Duration::from_millis(500));
            let is_hanging = matches!(child.try_wait(), Ok(None));
            if is_hanging {
                let _gone = child.kill();
            }
            let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            if is_hanging { format!("no answer in {} s", PATIENCE.as_secs()) } else { status }
        }
        Ok(Some(status)) => status.to_string(),
        Err(error) => error.to_string(),
    }
}

/// From the header of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Architecture {
    name: &'static str,
    /// Prefixes of `uname -m`.
    machines: &'static [&'static str],
    needs_libraries: bool,
}

impl Architecture {
    /// `None` if it is not an ELF file, or for another architecture.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (name, machines): (_, &[&str]) = match elf_machine(bytes)? {
            elf::EM_386 => ("i686", &["i386", "i486", "i586", "i686", "x86_64"]),
            elf::EM_AARCH64 => ("aarch64", &["aarch64"]),
            elf::EM_ARM => ("arm", &["arm"]),
            elf::EM_MIPS => ("mips", &["mips"]),
            elf::EM_PPC => ("ppc", &["ppc"]),
            elf::EM_PPC64 => ("ppc64", &["ppc64"]),
            elf::EM_RISCV => ("riscv", &["riscv"]),
            elf::EM_X86_64 => ("x86_64", &["x86_64"]),
            _ => return None,
        };
        Some(Self { name, machines, needs_libraries: needs_libraries(bytes) })
    }

    fn runs_on(self, machine: &str) -> bool {
        self.machines.iter().any(|known| machine.starts_with(known))
    }
}

/// `e_machine` has the same offset in 32-bit and 64-bit files.
fn elf_machine(bytes: &[u8]) -> Option<elf::Machine> {
    let machine = bytes.get(18..20)?.try_into().ok()?;
    let is_elf = bytes.get(..4)? == elf::ELFMAG;
    match elf::DataEncoding(*bytes.get(5)?) {
        elf::ELFDATA2LSB if is_elf => Some(elf::Machine(u16::from_le_bytes(machine))),
        elf::ELFDATA2MSB if is_elf => Some(elf::Machine(u16::from_be_bytes(machine))),
        _ => None,
    }
}

/// True if the program has an interpreter (`PT_INTERP`).
fn needs_libraries(bytes: &[u8]) -> bool {
    use object::read::elf::{ElfFile32, ElfFile64, ProgramHeader as _};

    if let Ok(file) = ElfFile64::<object::Endianness>::parse(bytes) {
        return file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == elf::PT_INTERP);
    }
    ElfFile32::<object::Endianness>::parse(bytes).is_ok_and(|file| {
        file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == elf::PT_INTERP)
    })
}

/// Rust target of a static program for `uname -m`.
fn target_of(machine: &str) -> String {
    match machine {
        "armv7l" => "armv7-unknown-linux-musleabihf".to_owned(),
        "armv6l" => "arm-unknown-linux-musleabihf".to_owned(),
        "riscv64" => "riscv64gc-unknown-linux-musl".to_owned(),
        other => format!("{other}-unknown-linux-musl"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    #[test]
    fn quotes_words_for_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        let run = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted("$(x) 'y' \"z\""))).output().unwrap();
        assert_eq!(run.stdout, b"$(x) 'y' \"z\"");
    }

    /// The shell scripts of the deployment, with another script in place of candor-lab.
    #[test]
    fn deployment_removes_its_folder_on_any_failure() {
        let lab = b"#!/bin/sh\necho holds $(cat \"$2/candor\")\nread line\n";
        let gateway = b"gateway";
        for (sent, is_held) in [(&[&lab[..], gateway][..], true), (&[lab], false), (&[&lab[..10]], false), (&[], false)]
        {
            let outer = tempfile::tempdir().unwrap();
            // Special characters for a shell, and a file that a wrongly quoted `rm` would remove.
            let folder = outer.path().join("it's $HOME; b c");
            let neighbour = outer.path().join("it's");
            fs::create_dir(&folder).unwrap();
            fs::write(&neighbour, "").unwrap();
            let run = |script: &str| {
                let mut command = Command::new("sh");
                command.args(["-c", script]).env("TMPDIR", &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
                command.spawn().unwrap()
            };
            let mut child = run(&deployment("x"));
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            let board = lines.next().unwrap();
            let place = board.strip_prefix(&format!("board {} ", std::env::consts::ARCH)).expect(&board);
            for (bytes, name) in sent.iter().zip(["candor-lab-x", "candor"]) {
                let mut receiver = run(&reception(&format!("{place}/{name}")));
                receiver.stdin.take().unwrap().write_all(bytes).unwrap();
                assert!(receiver.wait().unwrap().success());
            }
            let mut to_board = child.stdin.take().unwrap();
            if is_held {
                to_board.write_all(b"\n").unwrap();
            }
            drop(to_board);
            assert_eq!(lines.next().as_deref(), is_held.then_some("holds gateway"));
            child.wait().unwrap();
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{place}");
            assert!(neighbour.exists(), "{place}");
        }
    }

    #[test]
    fn unsuitable_programs_are_refused_before_connecting() {
        let ssh = Ssh { host: "nowhere".to_owned(), options: Vec::new(), candor: None, sudo: false };
        let why = |path: &str| Board::reach(&ssh, Path::new(path)).unwrap_err().to_string();
        assert!(why("/etc/hostname").contains("not a Linux program"), "{}", why("/etc/hostname"));
        assert!(why("/nonexistent").contains("candor = \"FILE\""));
        assert!(why("/bin/sh").contains("libraries"), "{}", why("/bin/sh"));
    }

    fn elf(machine: elf::Machine, order: elf::DataEncoding) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(&elf::ELFMAG);
        bytes[5] = order.0;
        let machine = if order == elf::ELFDATA2LSB { machine.0.to_le_bytes() } else { machine.0.to_be_bytes() };
        bytes[18..20].copy_from_slice(&machine);
        bytes
    }

    #[test]
    fn architecture_matches_uname() {
        for (machine, order, runs_on, does_not) in [
            (elf::EM_X86_64, elf::ELFDATA2LSB, "x86_64", "aarch64"),
            (elf::EM_ARM, elf::ELFDATA2LSB, "armv7l", "aarch64"),
            (elf::EM_PPC, elf::ELFDATA2MSB, "ppc", "x86_64"),
            (elf::EM_386, elf::ELFDATA2LSB, "i686", "armv7l"),
        ] {
            let architecture = Architecture::of(&elf(machine, order)).unwrap();
            assert!(architecture.runs_on(runs_on) && !architecture.runs_on(does_not), "{architecture:?}");
        }
        assert_eq!(Architecture::of(b"#!/bin/sh"), None);
        assert_eq!(Architecture::of(&elf(elf::Machine(0xFFFF), elf::ELFDATA2LSB)), None);
        assert!(Architecture::of(&fs::read("/bin/sh").unwrap()).unwrap().needs_libraries);
    }

    #[test]
    fn targets_are_named_as_in_cargo() {
        assert_eq!(target_of("aarch64"), "aarch64-unknown-linux-musl");
        assert_eq!(target_of("armv7l"), "armv7-unknown-linux-musleabihf");
    }
}
