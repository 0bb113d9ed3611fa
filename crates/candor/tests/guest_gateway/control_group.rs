//! Control groups that a test creates and enters.

use std::io;

use candor_egress::control_group::{ControlGroup, GroupId, program};
use candor_io::{bpf, control_group, guest};

use crate::prelude::{Path, PathBuf, fs};

const ROOT: &str = "/sys/fs/cgroup";
/// Exists if control groups of version 2 are mounted.
const PROCESSES: &str = "cgroup.procs";

/// The reason why BPF filters cannot use control groups here. Mounts them if necessary.
pub(crate) fn missing() -> Option<String> {
    if !Path::new(ROOT).join(PROCESSES).exists()
        && let Err(error) = guest::mount("cgroup2", ROOT)
    {
        return Some(format!("control groups cannot be mounted: {error}"));
    }
    let group = ControlGroup { name: None, id: Some(GroupId { level: 1, id: 1 }) };
    match bpf::load_classifier(c"candor_probe", &program(&[group])) {
        Ok(_) => None,
        Err(error) => Some(format!("a program cannot be loaded: {} {}", error.errno, error.log)),
    }
}

/// A group below the root, removed with this value.
#[derive(Debug)]
pub(crate) struct Group {
    directory: PathBuf,
}

impl Group {
    /// Creates its parents too, which stay.
    pub(crate) fn new(path: &str) -> Self {
        let directory = Path::new(ROOT).join(path.trim_start_matches('/'));
        fs::create_dir_all(&directory).unwrap();
        Self { directory }
    }

    /// The numbers of the groups on its path, from the root.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let mut above: Vec<_> = self.directory.ancestors().take_while(|path| path.starts_with(ROOT)).collect();
        above.reverse();
        above.into_iter().map(|path| control_group::id(path).unwrap()).collect()
    }

    pub(crate) fn inside<T>(&self, work: impl FnOnce() -> T) -> T {
        go(&self.directory).unwrap();
        let done = work();
        go(Path::new(ROOT)).unwrap();
        done
    }
}

fn go(to: &Path) -> io::Result<()> {
    fs::write(to.join(PROCESSES), std::process::id().to_string())
}

impl Drop for Group {
    fn drop(&mut self) {
        // The first failure of a test counts.
        let _ = go(Path::new(ROOT));
        let _ = fs::remove_dir(&self.directory);
    }
}
