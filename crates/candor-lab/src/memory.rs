//! How much memory a process has, page by page.

use std::{fs, io};

/// Bytes of memory that a process has resident (`Rss` of `/proc/PID/smaps_rollup`).
///
/// Unlike the number in `status` it is counted anew at each call, and not kept in parts that lag behind.
///
/// # Kernel
/// Since 4.14, with `CONFIG_PROC_PAGE_MONITOR`; for processes of others CAP_SYS_PTRACE.
///
/// # Errors
/// If the process is gone, or may not be looked at.
pub fn resident_bytes(pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    parse(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/smaps_rollup has no Rss")))
}

fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_pages_are_found() {
        let text = "55d0-7ffc ---p 00000000 00:00 0    [rollup]\nRss:                1708 kB\nPss:     300 kB\n";
        assert_eq!(parse(text), Some(1708 * 1024));
        assert_eq!(parse("Pss: 1 kB\n"), None);
        assert_eq!(parse("Rss: x kB\n"), None);
        assert!(resident_bytes(std::process::id()).unwrap() > 0);
    }
}
