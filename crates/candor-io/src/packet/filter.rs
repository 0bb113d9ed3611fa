//! Classic BPF programs at a socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::socket;

/// `BPF_MAXINSNS`: instructions of one program.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// `BPF_LD | …`.
    pub code: u16,
    /// Instructions to pass over if a comparison holds.
    pub if_true: u8,
    /// Instructions to pass over if it does not.
    pub if_false: u8,
    /// The operand.
    pub operand: u32,
}

const _: () = assert!(size_of::<Instruction>() == size_of::<libc::sock_filter>());

/// `ld [type]; jeq #PACKET_OUTGOING`: what goes out comes to the next instruction, the rest to the one behind it. The type is
/// `SKF_AD_PKTTYPE` of the ancillary data.
pub(super) const IF_OUTGOING: [Instruction; 2] = [
    Instruction { code: 0x20, if_true: 0, if_false: 0, operand: 0xFFFF_F000 + 4 },
    Instruction { code: 0x15, if_true: 0, if_false: 1, operand: PACKET_OUTGOING },
];
const PACKET_OUTGOING: u32 = 4;

/// `ret #all`.
pub(super) const TAKE: Instruction = Instruction { code: 0x06, if_true: 0, if_false: 0, operand: u32::MAX };
/// `ret #0`.
pub(super) const PASS_OVER: Instruction = Instruction { code: 0x06, if_true: 0, if_false: 0, operand: 0 };

/// Gives a socket another filter in one step; an empty one takes everything.
pub(super) fn replace(fd: &OwnedFd, instructions: &[Instruction]) -> io::Result<()> {
    if !instructions.is_empty() {
        return attach(fd, instructions);
    }
    match socket::set_int(fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0) {
        // There is none.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        detached => detached,
    }
}

/// Gives a socket without a filter one (`SO_ATTACH_FILTER`); an empty one takes everything. The kernel checks it.
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
