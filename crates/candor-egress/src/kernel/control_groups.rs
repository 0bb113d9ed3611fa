//! Looks up the control groups of this machine.
//!
//! Systemd is not involved: the directory of a unit has its name, in any slice.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::control_group::{GroupId, GroupName};
use candor_io::control_group as kernel;

const MOUNTS: &str = "/proc/self/mountinfo";
/// Exists in every group except the root.
const NOT_IN_ROOT: &str = "cgroup.type";

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("Several units are named {unit}: select one with cgroup = {}", quoted(paths))]
    Ambiguous { unit: String, paths: Vec<String> },
    #[error("cgroup v2 is not mounted: sudo mount -t cgroup2 none /sys/fs/cgroup")]
    NotMounted,
    #[error("{} is not the root cgroup: start candor outside of the container", mount.display())]
    NotRoot { mount: PathBuf },
    #[error("Cannot search for control groups in {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

fn quoted(paths: &[String]) -> String {
    paths.iter().map(|path| format!("\"{path}\"")).collect::<Vec<_>>().join(", ")
}

#[derive(Clone, Debug, Default)]
pub struct ControlGroups {
    /// Last directories of units: a restarted unit has a new group of the same path, and a full search takes time.
    units: BTreeMap<String, PathBuf>,
}

impl ControlGroups {
    /// Looks up a group; `None` if it does not exist now.
    pub fn group_id(&mut self, name: &GroupName) -> Result<Option<GroupId>, FindError> {
        let mounts = fs::read_to_string(MOUNTS).map_err(|source| unreadable(Path::new(MOUNTS), source))?;
        let mount = mounted(&mounts).ok_or(FindError::NotMounted)?;
        if mount.join(NOT_IN_ROOT).exists() {
            return Err(FindError::NotRoot { mount });
        }
        let found = match name {
            GroupName::Path(path) => Some(below(&mount, path)),
            GroupName::Unit(unit) => self.unit(&mount, unit)?,
        };
        let Some(directory) = found.filter(|directory| directory.is_dir()) else { return Ok(None) };
        let level = directory.strip_prefix(&mount).map_or(0, |path| path.components().count());
        let id = match kernel::id(&directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            id => id.map_err(|source| unreadable(&directory, source))?,
        };
        // Deeper than a path can be long.
        Ok(u16::try_from(level).ok().map(|level| GroupId { level, id }))
    }

    fn unit(&mut self, mount: &Path, unit: &str) -> Result<Option<PathBuf>, FindError> {
        if let Some(known) = self.units.get(unit).filter(|path| path.is_dir()) {
            return Ok(Some(known.clone()));
        }
        let mut found = called(mount, unit)?;
        if found.len() > 1 {
            let path = |path: &PathBuf| format!("/{}", path.strip_prefix(mount).unwrap_or(path).display());
            return Err(FindError::Ambiguous { unit: unit.to_owned(), paths: found.iter().map(path).collect() });
        }
        let found = found.pop();
        if let Some(path) = &found {
            self.units.insert(unit.to_owned(), path.clone());
        }
        Ok(found)
    }
}

fn unreadable(path: &Path, source: io::Error) -> FindError {
    FindError::Unreadable { path: path.to_owned(), source }
}

/// The mount point of the root of cgroup v2.
fn mounted(mounts: &str) -> Option<PathBuf> {
    let mount = |line: &str| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, mount) = (fields.next()?, fields.next()?);
        (kind.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(unescaped(mount)))
    };
    mounts.lines().find_map(mount)
}

/// Resolves `\040` and the like, as `/proc` escapes spaces.
fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (escape, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(escape, character);
    }
    plain
}

/// Resolves a path from the cgroup root or the file system root.
fn below(mount: &Path, path: &str) -> PathBuf {
    let path = Path::new(path);
    if path.starts_with(mount) { path.to_owned() } else { mount.join(path.strip_prefix("/").unwrap_or(path)) }
}

/// The directories of a unit. Systemd puts `_` before names that look like controller files.
fn called(mount: &Path, unit: &str) -> Result<Vec<PathBuf>, FindError> {
    let escaped = format!("_{unit}");
    let (mut found, mut next) = (Vec::new(), vec![mount.to_owned()]);
    while let Some(directory) = next.pop() {
        let entries = match fs::read_dir(&directory) {
            // Gone meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound && directory != mount => continue,
            entries => entries.map_err(|source| unreadable(&directory, source))?,
        };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let (name, path) = (entry.file_name(), entry.path());
            if name == *unit || name == *escaped {
                found.push(path.clone());
            }
            next.push(path);
        }
    }
    candor_core::order::sort(&mut found);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_mount_of_the_root() {
        let hybrid = "30 23 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
                      31 30 0:27 /a /other rw - cgroup2 cgroup2 rw\n\
                      32 30 0:27 / /sys/fs/cgroup/my\\040own rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
                      33 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        assert_eq!(mounted(hybrid), Some("/sys/fs/cgroup/my own".into()));
        assert_eq!(mounted("33 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"), None);
    }

    #[test]
    fn paths_start_at_either_root() {
        let mount = Path::new("/sys/fs/cgroup");
        assert_eq!(below(mount, "/a/b"), Path::new("/sys/fs/cgroup/a/b"));
        assert_eq!(below(mount, "/sys/fs/cgroup/a/b"), Path::new("/sys/fs/cgroup/a/b"));
        assert_eq!(below(mount, "/sys/fs/cgroups"), Path::new("/sys/fs/cgroup/sys/fs/cgroups"));
    }

    #[test]
    fn finds_the_directory_of_a_unit() {
        let root = tempfile::tempdir().unwrap();
        for path in ["system.slice/a.service/inner", "user.slice/user-7.slice/a.service", "system.slice/_io.service"] {
            fs::create_dir_all(root.path().join(path)).unwrap();
        }
        fs::write(root.path().join("b.service"), "").unwrap();
        let called = |unit| {
            let found = called(root.path(), unit).unwrap();
            found.iter().map(|path| path.strip_prefix(root.path()).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(called("a.service"), ["system.slice/a.service", "user.slice/user-7.slice/a.service"]);
        assert_eq!(called("io.service"), ["system.slice/_io.service"]);
        assert_eq!(called("b.service"), [""; 0]);
        let error = ControlGroups::default().unit(root.path(), "a.service").unwrap_err();
        assert_eq!(
            error.to_string(),
            "Several units are named a.service: select one with cgroup = \"/system.slice/a.service\", \
             \"/user.slice/user-7.slice/a.service\""
        );
    }

    #[test]
    fn remembers_the_directory_of_a_unit() {
        let root = tempfile::tempdir().unwrap();
        let first = root.path().join("system.slice/a.service");
        fs::create_dir_all(&first).unwrap();
        let mut groups = ControlGroups::default();
        assert_eq!(groups.unit(root.path(), "a.service").unwrap(), Some(first.clone()));
        // A later unit of the same name is another one.
        let second = root.path().join("user.slice/a.service");
        fs::create_dir_all(&second).unwrap();
        assert_eq!(groups.unit(root.path(), "a.service").unwrap(), Some(first.clone()));
        fs::remove_dir(&first).unwrap();
        assert_eq!(groups.unit(root.path(), "a.service").unwrap(), Some(second.clone()));
        fs::remove_dir(&second).unwrap();
        assert_eq!(groups.unit(root.path(), "a.service").unwrap(), None);
    }
}
