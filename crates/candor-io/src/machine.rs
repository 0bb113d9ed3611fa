//! `/proc` and `/sys`, with a root directory that tests replace.

mod process;

pub use process::{Capability, Limit, Policy, Process, Thread};

use std::fs;
use std::path::{Path, PathBuf};

use candor_core::realtime::{self, Cpu};

use crate::version::version;

/// Access to `/proc` and `/sys`.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    #[must_use]
    pub fn here() -> Self {
        Self::at(Path::new("/"))
    }

    /// A fake root for tests.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The trimmed text of a file; `None` if it cannot be read.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok().map(|text| text.trim().to_owned())
    }

    /// The number in a file; `None` if it cannot be read or parsed.
    #[must_use]
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// Major and minor version of the kernel; `None` if unknown.
    #[must_use]
    pub fn kernel_version(&self) -> Option<(u32, u32)> {
        let (major, minor, _patch) = version(&self.text("/proc/sys/kernel/osrelease")?)?;
        Some((major, minor))
    }

    /// True if the path exists.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Sorted names in a directory; empty if it cannot be read.
    #[must_use]
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        candor_core::order::sort(&mut names);
        names
    }

    /// The last component of the target of a link, such as the driver of a device.
    #[must_use]
    pub fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    #[must_use]
    pub fn online_cpus(&self) -> Vec<Cpu> {
        self.cpus("/sys/devices/system/cpu/online")
    }

    /// A file with a processor list; empty if it cannot be read.
    #[must_use]
    pub fn cpus(&self, path: &str) -> Vec<Cpu> {
        self.text(path).and_then(|text| realtime::cpu_list(&text)).unwrap_or_default()
    }
}
