//! Processes that play buses, where they can be commanded.
//!
//! They own no jobs and so have no list, only a socket, `NETNS-PID.wire`. One that a killed process left is removed by whoever
//! opens the directory next.

use std::fs;
use std::path::PathBuf;

use super::{RunDir, process_exists};
use crate::error::GatewayError;

pub(super) const EXTENSION: &str = "wire";

/// A process that plays buses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// The process.
    pub pid: u32,
    /// Its socket, which only its user can open.
    pub socket: PathBuf,
}

/// Where this process may put its socket; `None` where this user has no place for it.
#[must_use]
pub fn socket_for_wire() -> Option<PathBuf> {
    let run_dir = RunDir::open_where_possible(&mut |_nothing_of_ours| {}).ok()??;
    Some(run_dir.socket_for_wire(std::process::id()))
}

/// All that run in this network namespace, as far as this user may know.
///
/// # Errors
/// [`GatewayError`] if the run directory cannot be read.
pub fn wires() -> Result<Vec<Wire>, GatewayError> {
    let look = RunDir::look(&mut |_nothing_of_ours| {})?;
    let wires: Vec<Wire> = look.open.iter().flat_map(of_dir).collect();
    match look.denied.into_iter().next() {
        Some(error) if wires.is_empty() => Err(GatewayError::OwnersUnknown(error)),
        _ => Ok(wires),
    }
}

fn of_dir(run_dir: &RunDir) -> Vec<Wire> {
    let Ok(files) = fs::read_dir(&run_dir.path) else { return Vec::new() };
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|extension| extension == EXTENSION);
    let paths = files.flatten().map(|file| file.path()).filter(is_socket);
    let alive = |socket: PathBuf| {
        let pid = run_dir.pid_of(&socket).filter(|&pid| process_exists(pid))?;
        Some(Wire { pid, socket })
    };
    let mut wires: Vec<Wire> = paths.filter_map(alive).collect();
    wires.sort_by_key(|wire| wire.pid);
    wires
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_of_the_living_are_found_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let open = || RunDir::open_at(folder.path().join("candor"), &mut |_| {}).unwrap();
        let run_dir = open();
        let (mine, dead) = (run_dir.socket_for_wire(std::process::id()), run_dir.socket_for_wire(u32::MAX));
        let others = run_dir.path.join(format!("1-{}.wire", std::process::id()));
        for path in [&mine, &dead, &others] {
            fs::write(path, "").unwrap();
        }
        let found = [Wire { pid: std::process::id(), socket: mine.clone() }];
        assert_eq!(of_dir(&run_dir), found);
        drop(run_dir);
        assert_eq!(of_dir(&open()), found);
        assert!(mine.exists() && !dead.exists() && others.exists(), "another namespace's is not ours to judge");
    }
}
