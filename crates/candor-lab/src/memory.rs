//! Processes and their memory, from `/proc`.

use std::{fs, io};

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
    parse(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/smaps cannot be understood")))
}

/// Each mapping has a line with address and name, followed by lines with its properties.
fn parse(text: &str) -> Option<Resident> {
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
    fn resident_pages_are_of_files_or_not() {
        let text = "55d0-55e0 r-xp 00001000 fe:01 1234   /usr/bin/candor\nSize: 64 kB\nRss:                  64 kB\nPss: 3 kB\nVmFlags: rd ex\n\
                    55e0-55f0 rw-p 00000000 00:00 0      [heap]\nRss:  8 kB\n\
                    7f00-7f10 rw-s 00000000 00:08 999    socket:[999]\nRss:  16 kB\n\
                    7f10-7f20 rw-p 00000000 00:00 0 \nRss:  4 kB\n";
        assert_eq!(parse(text), Some(Resident { all: 92 * 1024, own: 28 * 1024 }));
        assert_eq!(parse(""), None);
        assert_eq!(parse("Rss: 4 kB\n"), None);
        let mine = resident(std::process::id()).unwrap();
        assert!(mine.own > 0 && mine.all > mine.own, "{mine:?}");
    }
}
