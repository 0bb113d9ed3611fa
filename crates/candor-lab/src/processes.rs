//! Processes of this machine, from `/proc`.

use std::{fs, io};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    state: char,
}

impl Process {
    /// Ended but perhaps not reaped.
    pub(crate) const fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // The process has ended.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        all.extend(parse(pid, &stat));
    }
    Ok(all)
}

/// `/proc/PID/stat`; its second field may contain anything, even parentheses.
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
