//! `--netns`: entering another network namespace.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use candor_io::errno::EINVAL;
use candor_io::netns;

use crate::cli::NetnsArgs;

/// The directory of `ip netns`.
const NAMES: &str = "/run/netns";

#[derive(Debug, thiserror::Error)]
#[error("{}", self.message())]
pub(crate) struct NetnsError {
    which: Which,
    /// Names in [`NAMES`].
    known: Vec<String>,
    source: io::Error,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Which {
    Name(String),
    Path(PathBuf),
    Process(u32),
}

/// Enters the namespace of `--netns`, if there is one. Call this before the process opens a socket or starts a thread.
pub(crate) fn enter(args: &NetnsArgs) -> Result<(), NetnsError> {
    let Some(text) = &args.which else { return Ok(()) };
    let which = Which::parse(text);
    let entered = File::open(which.path()).and_then(|namespace| netns::enter(&namespace));
    entered.map_err(|source| NetnsError { which, known: names(), source })
}

impl Which {
    /// A number is a PID, and text with a slash is a path.
    fn parse(text: &str) -> Self {
        match text.parse() {
            Ok(pid) => Self::Process(pid),
            Err(_) if text.contains('/') => Self::Path(text.into()),
            Err(_) => Self::Name(text.to_owned()),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Name(name) => Path::new(NAMES).join(name),
            Self::Path(path) => path.clone(),
            Self::Process(pid) => format!("/proc/{pid}/ns/net").into(),
        }
    }
}

fn names() -> Vec<String> {
    let files = fs::read_dir(NAMES).into_iter().flatten().flatten();
    let mut names: Vec<_> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    candor_core::order::sort(&mut names);
    names
}

impl NetnsError {
    fn message(&self) -> String {
        let which = match &self.which {
            Which::Name(name) => name.clone(),
            Which::Path(path) => path.display().to_string(),
            Which::Process(pid) => format!("of process {pid}"),
        };
        match (self.source.kind(), &self.which) {
            (ErrorKind::PermissionDenied, _) => format!(
                "cannot enter network namespace {which}: CAP_SYS_ADMIN is missing; run it as root: sudo candor …"
            ),
            (ErrorKind::NotFound, Which::Name(name)) if self.known.is_empty() => {
                format!("no network namespace {name}; create it: sudo ip netns add {name}")
            }
            (ErrorKind::NotFound, Which::Name(name)) => {
                format!("no network namespace {name}; existing ones: {}", self.known.join(", "))
            }
            (ErrorKind::NotFound, Which::Process(pid)) => {
                format!("no process {pid} (for a namespace with this name: --netns {NAMES}/{pid})")
            }
            _ if self.source.raw_os_error() == Some(EINVAL) => format!("{which} is not a network namespace"),
            _ => format!("cannot enter network namespace {which}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_processes_and_paths() {
        assert_eq!(Which::parse("red"), Which::Name("red".into()));
        assert_eq!(Which::parse("12"), Which::Process(12));
        assert_eq!(Which::parse("./12"), Which::Path("./12".into()));
        assert_eq!(Which::parse("red").path(), Path::new("/run/netns/red"));
        assert_eq!(Which::parse("12").path(), Path::new("/proc/12/ns/net"));
    }

    #[test]
    fn every_failure_has_its_message() {
        let said = |text: &str, known: &[&str], source: io::Error| {
            let known = known.iter().map(|&name| name.to_owned()).collect();
            NetnsError { which: Which::parse(text), known, source }.to_string()
        };
        let missing = || io::Error::from(ErrorKind::NotFound);
        assert!(said("red", &[], missing()).ends_with("sudo ip netns add red"));
        assert!(said("red", &["blue", "green"], missing()).ends_with("existing ones: blue, green"));
        assert!(said("12", &[], missing()).starts_with("no process 12"));
        assert!(said("red", &[], ErrorKind::PermissionDenied.into()).contains("CAP_SYS_ADMIN"));
        assert_eq!(said("/a/b", &[], io::Error::from_raw_os_error(EINVAL)), "/a/b is not a network namespace");
        assert!(said("/a/b", &[], missing()).starts_with("cannot enter network namespace /a/b"));
    }
}
