//! The interfaces and control groups of a machine, real or in a test.

use std::io;
use std::path::PathBuf;

use crate::control_group::{GroupName, Place};
use crate::netlink::TcError;
use crate::steps::Step;
use crate::tree::Tree;

/// A machine with interfaces that come and go.
pub trait Machine {
    /// What an interface is worked on with.
    type Kernel: Kernel;

    /// The interface of this name and its number, by which one can see that it is another one than before.
    ///
    /// # Errors
    /// Whatever the kernel refuses with.
    fn open(&mut self, name: &str) -> Result<Option<(u32, Self::Kernel)>, TcError>;

    /// Which control group this is; `None` if there is none now.
    ///
    /// # Errors
    /// [`FindError`].
    fn place(&mut self, name: &GroupName) -> Result<Option<Place>, FindError>;
}

/// One interface, as far as it has to be known here.
pub trait Kernel {
    /// What it has.
    ///
    /// # Errors
    /// Whatever the kernel refuses with.
    fn found(&mut self) -> Result<Tree, TcError>;

    /// Makes one change.
    ///
    /// # Errors
    /// Whatever the kernel refuses with; then nothing has changed.
    fn carry_out(&mut self, step: &Step) -> Result<(), TcError>;
}

/// Why nobody can say which group it is.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// More than one directory is called as the unit.
    #[error("There are several units {unit}: write which one is meant as one of cgroup = {}", quoted(paths))]
    Ambiguous {
        /// Its name.
        unit: String,
        /// The groups.
        paths: Vec<String>,
    },
    /// Only version 1, or nothing.
    #[error("There are no control groups of version 2 here: mount them, sudo mount -t cgroup2 none /sys/fs/cgroup")]
    NotMounted,
    /// A container or another namespace of control groups, from which the way to the root of all cannot be seen.
    #[error("{} is not the root of all control groups: start candor outside of the container", mount.display())]
    NotRoot {
        /// Where they are mounted.
        mount: PathBuf,
    },
    /// The kernel cannot be asked.
    #[error("Cannot look for control groups in {}", path.display())]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn quoted(paths: &[String]) -> String {
    paths.iter().map(|path| format!("\"{path}\"")).collect::<Vec<_>>().join(", ")
}
