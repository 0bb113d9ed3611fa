//! Paths of the control sockets: `/run/candor-wire/NETNS-PID`, or the same directory in `$XDG_RUNTIME_DIR`.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use candor_io::lock;

const PRIVATE: u32 = 0o700;

/// A running `candor-lab wire` of this network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) pid: u32,
    pub(super) socket: PathBuf,
}

/// The socket path for this process; creates its directory.
pub(super) fn own() -> io::Result<PathBuf> {
    let (folders, name) = (folders(), name(std::process::id())?);
    let made = folders.iter().map(|folder| {
        fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(folder)?;
        Ok(folder.join(&name))
    });
    let mut first = None;
    for result in made {
        match result {
            Ok(path) => return Ok(path),
            Err(error) => first.get_or_insert(error),
        };
    }
    Err(first.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

/// Running processes, by process id. Removes sockets of processes that were killed.
pub(super) fn all() -> io::Result<Vec<Wire>> {
    let mut wires = Vec::new();
    for folder in folders() {
        match in_folder(&folder, namespace()?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => wires.extend(found?),
        }
    }
    wires.sort_by_key(|wire| wire.pid);
    Ok(wires)
}

fn in_folder(folder: &Path, namespace: u64) -> io::Result<Vec<Wire>> {
    let mut wires = Vec::new();
    for file in fs::read_dir(folder)? {
        let socket = file?.path();
        let name = socket.file_name().and_then(|name| name.to_str());
        let pid = name.and_then(|name| name.strip_prefix(&format!("{namespace}-"))?.parse().ok());
        let Some(pid) = pid else { continue };
        if Path::new("/proc").join(format!("{pid}")).exists() {
            wires.push(Wire { pid, socket });
        } else {
            let _no_permission = fs::remove_file(socket);
        }
    }
    Ok(wires)
}

fn folders() -> Vec<PathBuf> {
    if let Some(configured) = std::env::var_os("CANDOR_RUN_DIR") {
        return vec![PathBuf::from(configured).join("wire")];
    }
    let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    [Some("/run/candor-wire".into()), of_user.map(|path| path.join("candor-wire"))].into_iter().flatten().collect()
}

fn name(pid: u32) -> io::Result<String> {
    Ok(format!("{}-{pid}", namespace()?))
}

fn namespace() -> io::Result<u64> {
    lock::inode(Path::new("/proc/thread-self/ns/net"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_sockets_of_running_processes() {
        let folder = tempfile::tempdir().unwrap();
        let path = |namespace: u64, pid: u32| folder.path().join(format!("{namespace}-{pid}"));
        let (own, dead, other) = (path(7, std::process::id()), path(7, u32::MAX), path(1, std::process::id()));
        for path in [&own, &dead, &other] {
            fs::write(path, "").unwrap();
        }
        let found = in_folder(folder.path(), 7).unwrap();
        assert_eq!(found, [Wire { pid: std::process::id(), socket: own.clone() }]);
        assert!(own.exists() && !dead.exists() && other.exists(), "another namespace's socket stays");
    }
}
