//! Kernel release, and known properties of it.

use std::fmt;
use std::fs;
use std::io;

use candor_io::version::{Version, version};

use crate::system_error::SystemError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningKernel {
    release: String,
    /// `None` if the release has no version.
    version: Option<Version>,
    /// A release candidate has new features, but not all fixes of its version.
    is_candidate: bool,
}

/// The first stable releases in which a CRC8 with positions from the end stays inside the frame; since 7.0 all do.
///
/// # Source
/// CVE-2026-31570, fixed by mainline commit
/// [`b9c310d72783`](https://git.kernel.org/torvalds/c/b9c310d72783).
const RELATIVE_CRC8: [Version; 7] =
    [(5, 10, 253), (5, 15, 203), (6, 1, 168), (6, 6, 131), (6, 12, 80), (6, 18, 21), (6, 19, 11)];

/// The first release with CAN FD in can-gw.
///
/// # Source
/// Mainline commit [`456a8a646b25`](https://git.kernel.org/torvalds/c/456a8a646b25): can-gw revision 20190810 of Linux 5.4
/// introduces `CGW_FLAGS_CAN_FD`.
const FD_JOBS: (u32, u32) = (5, 4);

/// The first release known to convert the time of reception that a forwarded frame keeps to the clock of the qdisc `fq`
/// (measured: 7.0 drops such frames, 7.2 sends them).
///
/// # Source
/// `fq_skb_tstamp_to_mono()` of
/// [`net/sched/sch_fq.c`](https://elixir.bootlin.com/linux/latest/source/net/sched/sch_fq.c).
const FQ_CONVERTS_STAMPS: (u32, u32) = (7, 2);

/// The first release in which `mirred` sends CAN frames: what the stack needs to know about them is in an extension of the
/// buffer, which copies keep.
///
/// # Source
/// [`include/net/can.h`](https://github.com/torvalds/linux/blob/v7.0/include/net/can.h) of Linux 7.0.
const REDIRECTS_FRAMES: (u32, u32) = (7, 0);

/// Release and version from `/proc`.
pub fn running_kernel() -> Result<RunningKernel, SystemError> {
    RunningKernel::read().map_err(SystemError::while_doing("Reading the kernel's version from /proc"))
}

/// True if the qdisc `fq` of this kernel drops forwarded frames that keep the time of their reception.
#[must_use]
pub fn fq_drops_kept_timestamps() -> bool {
    running_kernel().map_or(true, |kernel| kernel.fq_drops_stamps())
}

impl RunningKernel {
    fn read() -> io::Result<Self> {
        let word = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        Ok(Self::from_words(word("osrelease")?.trim(), word("version")?.trim()))
    }

    fn from_words(release: &str, build: &str) -> Self {
        // Debian's release is a name such as 6.1.0-52-amd64; the version is in the build text.
        let source = build.split_once("Debian ").map_or(release, |(_, version)| version);
        let is_candidate = source.contains("-rc") || source.contains("~rc");
        Self { release: release.to_owned(), version: version(source), is_candidate }
    }

    /// True if it is known to compute a CRC8 with positions from the end inside the frame.
    pub fn computes_relative_crc8(&self) -> bool {
        let Some((major, minor, patch)) = self.version.filter(|_| !self.is_candidate) else { return false };
        major >= 7 || RELATIVE_CRC8.iter().any(|&(x, y, first)| (x, y) == (major, minor) && patch >= first)
    }

    /// True if can-gw has jobs for FD frames. Earlier kernels store the flag and create a job for classic frames.
    pub fn has_fd_jobs(&self) -> bool {
        self.version.is_some_and(|(major, minor, _)| (major, minor) >= FD_JOBS)
    }

    /// True if a filter can redirect CAN frames.
    pub fn redirects_frames(&self) -> bool {
        self.version.is_some_and(|(major, minor, _)| (major, minor) >= REDIRECTS_FRAMES)
    }

    /// True if the qdisc `fq` takes a kept timestamp for a transmit time far in the future, and drops the frame.
    pub fn fq_drops_stamps(&self) -> bool {
        self.version.is_none_or(|(major, minor, _)| (major, minor) < FQ_CONVERTS_STAMPS)
    }
}

impl fmt::Display for RunningKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.release.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernels_that_are_known_to_be_fixed_are_trusted() {
        let debian = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-10-02)";
        let old_debian = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.158-1 (2025-11-09)";
        for (release, build, trusted) in [
            ("6.1.0-52-amd64", debian, true),
            ("6.1.0-41-amd64", old_debian, false),
            ("6.1.0-52-amd64", "#1 SMP", false),
            ("6.1.168", "#1 SMP", true),
            ("6.1.167", "#1 SMP", false),
            ("6.12.80+deb13-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.80-1 (2026-04-20)", true),
            ("6.8.0-90-generic", "#91-Ubuntu SMP", false),
            ("6.17.300", "#1 SMP", false),
            ("5.4.400", "#1 SMP", false),
            ("7.0.0", "#1 SMP", true),
            ("7.0.0-rc4", "#1 SMP", false),
            ("7.2", "#1 SMP", true),
            ("strange", "", false),
        ] {
            let kernel = RunningKernel::from_words(release, build);
            assert_eq!(kernel.computes_relative_crc8(), trusted, "{kernel:?}");
        }
    }

    #[test]
    fn fd_jobs_came_with_5_4() {
        for (release, there) in
            [("4.19.0-27-amd64", false), ("5.3.18", false), ("5.4.0-rc1", true), ("6.1.176", true), ("strange", false)]
        {
            assert_eq!(RunningKernel::from_words(release, "#1 SMP").has_fd_jobs(), there, "{release}");
        }
    }

    #[test]
    fn fq_sends_frames_with_kept_timestamps_since_7_2() {
        for (release, drops) in [
            ("6.1.0-56-amd64", true),
            ("7.0.13+deb14-amd64", true),
            ("7.2.12+deb14-amd64", false),
            ("7.3.4+deb13-amd64", false),
            ("strange", true),
        ] {
            assert_eq!(RunningKernel::from_words(release, "#1 SMP").fq_drops_stamps(), drops, "{release}");
        }
    }

    #[test]
    fn this_kernel_has_a_version() {
        assert!(RunningKernel::read().unwrap().version.is_some());
    }
}
