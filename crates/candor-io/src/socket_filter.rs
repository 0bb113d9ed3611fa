//! Classic BPF programs of sockets.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::socket;

/// `BPF_MAXINSNS`: maximum instructions per program.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// `BPF_LD | …`.
    pub code: u16,
    /// Instructions to skip if the comparison is true.
    pub if_true: u8,
    /// Instructions to skip if it is false.
    pub if_false: u8,
    pub operand: u32,
}

const _: () = assert!(size_of::<Instruction>() == size_of::<libc::sock_filter>());

/// `ld [type]; jeq #PACKET_OUTGOING`: outgoing packets continue, others skip one instruction. The type is
/// `SKF_AD_PKTTYPE` of the ancillary data.
pub(crate) const IF_OUTGOING: [Instruction; 2] = [
    Instruction { code: 0x20, if_true: 0, if_false: 0, operand: 0xFFFF_F000 + 4 },
    Instruction { code: 0x15, if_true: 0, if_false: 1, operand: PACKET_OUTGOING },
];
const PACKET_OUTGOING: u32 = 4;

/// `ret #all`.
pub(crate) const TAKE: Instruction = Instruction { code: 0x06, if_true: 0, if_false: 0, operand: u32::MAX };
/// `ret #0`.
pub(crate) const PASS_OVER: Instruction = Instruction { code: 0x06, if_true: 0, if_false: 0, operand: 0 };

/// Replaces the filter atomically; empty accepts everything.
pub(crate) fn replace(fd: &OwnedFd, instructions: &[Instruction]) -> io::Result<()> {
    if !instructions.is_empty() {
        return attach(fd, instructions);
    }
    match socket::set_int(fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0) {
        // No filter was attached.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        detached => detached,
    }
}

/// Attaches the first filter (`SO_ATTACH_FILTER`); empty accepts everything. The kernel validates it.
pub(crate) fn attach(fd: &OwnedFd, instructions: &[Instruction]) -> io::Result<()> {
    if instructions.is_empty() {
        return Ok(());
    }
    if instructions.len() > MAX_INSTRUCTIONS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).map_err(io::Error::other)?,
        filter: instructions.as_ptr().cast_mut().cast(),
    };
    let len = socket::socklen::<libc::sock_fprog>();
    let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: the program is live and as long as said; it points to the borrowed instructions, which have the layout of
    // struct sock_filter and which the kernel only copies. The descriptor is open as long as it is borrowed.
    socket::check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const program).cast(), len) })?;
    Ok(())
}
