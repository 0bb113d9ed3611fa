//! Processes and their memory, from `/proc`.

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
        all.extend(parse_stat(pid, &stat));
    }
    Ok(all)
}

/// `/proc/PID/stat`; its second field may contain anything, even parentheses.
fn parse_stat(pid: u32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut number = || fields.next()?.parse().ok();
    Some(Process { pid, state, parent: number()?, group: number()? })
}

/// Resident memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    pub all: u64,
    /// Without pages of files: heap, stacks, rings. Pages of the program file are mapped when code first runs, 16 at a
    /// time, up to the size of the file.
    pub own: u64,
}

/// `Rss` of `/proc/PID/smaps`. It is counted on each call, unlike the number in `status`, which lags behind.
///
/// # Kernel
/// `CONFIG_PROC_PAGE_MONITOR`; CAP_SYS_PTRACE for processes of other users.
pub fn resident(pid: u32) -> io::Result<Resident> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    parse_smaps(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/smaps has an unknown format")))
}

/// Each mapping has a line with address and name, followed by lines with its properties.
fn parse_smaps(text: &str) -> Option<Resident> {
    let mut resident = Resident::default();
    let mut is_file = None;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        if first == "Rss:" {
            let bytes = words.next()?.parse::<u64>().ok()?.checked_mul(1024)?;
            resident.all += bytes;
            if !is_file? {
                resident.own += bytes;
            }
        } else if !first.ends_with(':') {
            // Address, permissions, offset, device, inode, name: rings are `socket:[…]`, the heap is `[heap]` or has no
            // name.
            is_file = Some(words.nth(4).is_some_and(|name| name.starts_with('/')));
        }
    }
    is_file.map(|_some| resident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_may_contain_anything() {
        let odd = Process { pid: 12, state: 'S', parent: 34, group: 56 };
        assert_eq!(parse_stat(12, "12 (a) Z 7 (b)) S 34 56 12"), Some(odd));
        assert_eq!(parse_stat(12, "12 (a"), None);
        assert_eq!(parse_stat(12, ""), None);
    }

    #[test]
    fn this_process_is_listed() {
        let this = all().unwrap().into_iter().find(|one| one.pid == std::process::id()).unwrap();
        assert_eq!(this.parent, std::os::unix::process::parent_id());
        assert!(!this.is_dead());
    }

    #[test]
    fn separates_file_pages() {
        let text = "55d0-55e0 r-xp 00001000 fe:01 1234   /usr/bin/candor\nSize: 64 kB\nRss:                  64 kB\nPss: 3 kB\nVmFlags: rd ex\n\
                    55e0-55f0 rw-p 00000000 00:00 0      [heap]\nRss:  8 kB\n\
                    7f00-7f10 rw-s 00000000 00:08 999    socket:[999]\nRss:  16 kB\n\
                    7f10-7f20 rw-p 00000000 00:00 0 \nRss:  4 kB\n";
        assert_eq!(parse_smaps(text), Some(Resident { all: 92 * 1024, own: 28 * 1024 }));
        assert_eq!(parse_smaps(""), None);
        assert_eq!(parse_smaps("Rss: 4 kB\n"), None);
        let mine = resident(std::process::id()).unwrap();
        assert!(mine.own > 0 && mine.all > mine.own, "{mine:?}");
    }
}
