//! The processes of this machine, from `/proc`.

use std::{fs, io};

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    state: char,
}

impl Process {
    /// Whether it has ended, and only its parent has not asked how.
    pub(crate) const fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// All that this process may see.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // A process that has gone meanwhile has no file any more.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        all.extend(parse(pid, &stat));
    }
    Ok(all)
}

/// From `/proc/PID/stat`, whose second field may hold anything, parentheses too.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut number = || fields.next()?.parse().ok();
    Some(Process { pid, state, parent: number()?, group: number()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_do_not_confuse() {
        let odd = Process { pid: 12, state: 'S', parent: 34, group: 56 };
        assert_eq!(parse(12, "12 (a) Z 7 (b)) S 34 56 12"), Some(odd));
        assert_eq!(parse(12, "12 (a"), None);
        assert_eq!(parse(12, ""), None);
    }

    #[test]
    fn this_process_is_there() {
        let this = all().unwrap().into_iter().find(|one| one.pid == std::process::id()).unwrap();
        assert_eq!(this.parent, std::os::unix::process::parent_id());
        assert!(!this.is_dead());
    }
}
