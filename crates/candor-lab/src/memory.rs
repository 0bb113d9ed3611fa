//! How much memory a process has, page by page.

use std::{fs, io};

/// What a process has resident, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Everything.
    pub all: u64,
    /// Without pages of files: heap, stacks, rings. Pages of files are those of the program, and of the system's cache: they come when
    /// code is run for the first time, 16 at once, and never more than the file has.
    pub own: u64,
}

/// What a process has resident (`Rss` of `/proc/PID/smaps`).
///
/// Unlike the number in `status` it is counted anew at each call, and not kept in parts that lag behind.
///
/// # Kernel
/// `CONFIG_PROC_PAGE_MONITOR`; for processes of others CAP_SYS_PTRACE.
///
/// # Errors
/// If the process is gone, or may not be looked at.
pub fn resident(pid: u32) -> io::Result<Resident> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    parse(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/smaps cannot be understood")))
}

/// Each mapping has a line with its place and its name, and below that lines with what it holds.
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
            // Place, rights, offset, device, inode, name: rings are `socket:[…]`, the heap is `[heap]` or has no name.
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
