//! A board that `ssh` reaches: candor goes there, runs there, and is gone in the end.
//!
//! ```text
//!  tester ══ ssh (master) ══ sshd ── sh ── candor-lab hold: has the folder with candor, and removes it
//!         ── the same connection ─── candor-lab keep: has the gateway of a cell, and ends it
//! ```
//!
//! Both look at their standard input: when the connection is gone, or nothing has come over it for some time, they end what they
//! have. So nothing stays on a board, whatever becomes of the tester or of the cable.

mod architecture;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::experiment::{Ssh, name_of};
use candor_io::process;
use tempfile::TempDir;

use crate::device::{self, Lines, lines_of};
use crate::supervisor::{Line, wait_for_end};
use architecture::Architecture;

/// How long the board may take for a login that somebody types a password for, and for what candor asks of it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A board that has candor as long as this lives.
#[derive(Debug)]
pub struct Board {
    master: Child,
    lines: Lines,
    line: Line,
    /// `ssh` and the options of everything that goes over the connection, the board's name included.
    reach: Vec<String>,
    /// What runs candor there.
    program: String,
    host: String,
    /// Holds the socket of the connection.
    _folder: TempDir,
}

/// A board that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// There is no `ssh`.
    #[error("Cannot start ssh; install OpenSSH's client")]
    NoSsh(#[source] io::Error),
    /// The program for it cannot be read, or is none.
    #[error("{} cannot go to a board: {why}; name a static candor for it with candor = \"FILE\" below [ssh]", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// No connection, or no shell in the end of it.
    #[error("ssh has not reached {host} ({status}); does `ssh {host} true` work?")]
    Unreachable {
        /// The board.
        host: String,
        /// What became of `ssh`.
        status: String,
    },
    /// Another processor than the program is for.
    #[error(
        "{host} is a machine of type {machine}, and {} is for {program_is_for}; build one with `cargo build --release --package candor \
         --target {}` and name it with candor = \"FILE\" below [ssh]",
        path.display(),
        architecture::target_of(machine)
    )]
    Architecture {
        /// The board.
        host: String,
        /// `uname -m` there.
        machine: String,
        /// The program.
        path: PathBuf,
        /// What it runs on.
        program_is_for: &'static str,
    },
    /// It came there and does not run.
    #[error(
        "candor does not run on {host} ({status}); do programs run from its folder for temporary files ($TMPDIR, /tmp), and is there \
         room for {} MB?",
        bytes / 1_000_000 + 1
    )]
    DoesNotRun {
        /// The board.
        host: String,
        /// How it ended.
        status: String,
        /// Its size.
        bytes: usize,
    },
    /// A command there came to nothing.
    #[error("candor cannot look at {host} ({status}); what the board says of it stands above{}", if *sudo { "; does `sudo -n true` work there?" } else { "" })]
    CannotLook {
        /// The board.
        host: String,
        /// How it ended.
        status: ExitStatus,
        /// Whether `sudo` was to help.
        sudo: bool,
    },
}

impl Board {
    /// Connects, and brings the static programs candor-lab and candor there.
    ///
    /// # Errors
    /// [`BoardError`]; what `ssh` says is on standard error.
    pub fn reach(ssh: &Ssh, lab: &Path) -> Result<Self, BoardError> {
        let host = ssh.host.clone();
        let wrong = |why: String| BoardError::Program { path: lab.to_owned(), why };
        let bytes = fs::read(lab).map_err(|error| wrong(error.to_string()))?;
        let architecture = Architecture::of(&bytes).ok_or_else(|| wrong("it is no program of Linux".to_owned()))?;
        if architecture.needs_libraries {
            return Err(wrong("it needs libraries, which may be missing there".to_owned()));
        }
        let gateway = device::gateway_program(lab);
        let gateway = fs::read(&gateway).map_err(|error| format!("{error}: {}", gateway.display())).map_err(wrong)?;
        let name = name_of(&bytes);
        let folder = tempfile::Builder::new().prefix("candor-ssh-").tempdir().map_err(BoardError::NoSsh)?;
        let socket = folder.path().join("s").display().to_string();
        // Of options that are given twice ssh takes the first, so those of the plan come first.
        let mut reach = vec!["ssh".to_owned()];
        reach.extend(ssh.options.iter().cloned());
        for option in ["ServerAliveInterval=5", "ServerAliveCountMax=3", "ControlPersist=no"] {
            reach.extend(["-o".to_owned(), option.to_owned()]);
        }
        reach.extend(["-S".to_owned(), socket]);
        let mut command = Command::new(&reach[0]);
        command.args(&reach[1..]).arg("-M").arg(&host).arg(deployment(&name, bytes.len(), gateway.len()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut master = process::end_with_parent(&mut command).spawn().map_err(BoardError::NoSsh)?;
        let lines = lines_of(&mut master);
        reach.extend(["-o", "BatchMode=yes", "-o", "ControlMaster=no"].map(str::to_owned));
        reach.push(host.clone());
        let told = || lines.recv_timeout(PATIENCE).ok();
        let board = loop {
            match told() {
                Some(line) if line.starts_with("board ") => break Some(line),
                // What a login prints on the way.
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
        let is_sent = to_board.write_all(&bytes).and_then(|()| to_board.write_all(&gateway)).is_ok();
        if !is_sent || told().as_deref() != Some(&format!("holds {name}")) {
            drop(to_board);
            let status = end_of(&mut master);
            return Err(BoardError::DoesNotRun { host, status, bytes: bytes.len() });
        }
        let line = Line::new(to_board, true);
        let sudo = if ssh.sudo { "sudo -n " } else { "" };
        let program = format!("{sudo}{}", quoted(&format!("{place}/candor-lab-{name}")));
        Ok(Self { master, lines, line, reach, program, host, _folder: folder })
    }

    /// What starts a [supervisor](crate::supervisor) there.
    #[must_use]
    pub fn supervisor(&self) -> Vec<String> {
        self.command(&["supervise"])
    }

    fn command(&self, arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
        let command = format!("exec {} {}", self.program, arguments.join(" "));
        self.reach.iter().cloned().chain([command]).collect()
    }

    /// What the board lacks, a sentence each: what `candor-lab look` with these arguments says there.
    ///
    /// # Errors
    /// [`BoardError::CannotLook`].
    pub fn look(&self, arguments: &[String]) -> Result<Vec<String>, BoardError> {
        let arguments: Vec<&str> = ["preflight"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let command = self.command(&arguments);
        let run = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let run = run.map_err(BoardError::NoSsh)?;
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let lacking: Vec<_> = text.lines().map(str::to_owned).collect();
        match run.status.code() {
            Some(0) => Ok(Vec::new()),
            // 1 is also what sudo ends with that wants a password.
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

/// What a shell does there: it makes a folder, tells what the machine is, takes the program, and lets it hold the folder. Whatever
/// fails, the folder is removed.
fn deployment(name: &str, bytes: usize, gateway_bytes: usize) -> String {
    let script = format!(
        "umask 077; d=$(mktemp -d \"${{TMPDIR:-/tmp}}/candor.XXXXXX\") || exit 1; trap 'rm -rf -- \"$d\"' EXIT; \
         echo \"board $(uname -m) $d\"; p=$d/candor-lab-{name}; g=$d/candor; head -c {bytes} > \"$p\"; \
         head -c {gateway_bytes} > \"$g\"; [ $(wc -c < \"$p\") = {bytes} ] && [ $(wc -c < \"$g\") = {gateway_bytes} ] && \
         chmod 700 \"$p\" \"$g\" && \"$p\" hold \"$d\""
    );
    // The login shell may be any.
    format!("exec sh -c {}", quoted(&script))
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How a process ended whose output has.
fn end_of(child: &mut Child) -> String {
    drop(child.stdin.take());
    match child.try_wait() {
        Ok(None) => {
            // It hangs, or is about to end.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_stay_whole() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        let run = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted("$(x) 'y' \"z\""))).output().unwrap();
        assert_eq!(run.stdout, b"$(x) 'y' \"z\"");
    }

    /// The shell's part, with a program that is a script.
    #[test]
    fn a_deployment_leaves_nothing_whatever_comes() {
        let program = b"#!/bin/sh\necho holds it \"$2\"\nread line\n";
        let both = [&program[..], b"gateway"].concat();
        for (sent, said) in [(&both[..], true), (&program[..], false), (&program[..10], false), (&b""[..], false)] {
            let outer = tempfile::tempdir().unwrap();
            // What a shell would take apart, beside something that it would then remove.
            let folder = outer.path().join("it's $HOME; b c");
            let neighbour = outer.path().join("it's");
            fs::create_dir(&folder).unwrap();
            fs::write(&neighbour, "").unwrap();
            let mut child = Command::new("sh")
                .args(["-c", &deployment("x", program.len(), "gateway".len())])
                .env("TMPDIR", &folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(sent).unwrap();
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.starts_with(&format!("board {} ", std::env::consts::ARCH)), "{text}");
            assert_eq!(text.contains("holds it"), said, "{text}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{text}");
            assert!(neighbour.exists(), "{text}");
        }
    }

    #[test]
    fn programs_that_cannot_go_to_a_board_are_refused_first() {
        let ssh = Ssh { host: "nowhere".to_owned(), options: Vec::new(), candor: None, sudo: false };
        let why = |path: &str| Board::reach(&ssh, Path::new(path)).unwrap_err().to_string();
        assert!(why("/etc/hostname").contains("no program of Linux"), "{}", why("/etc/hostname"));
        assert!(why("/nonexistent").contains("candor = \"FILE\""));
        assert!(why("/bin/sh").contains("libraries"), "{}", why("/bin/sh"));
    }
}
