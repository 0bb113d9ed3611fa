//! BPF programs of sockets.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::{bpf, socket};

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

/// Attaches an eBPF program that takes the packets of sockets of this machine, or all others.
///
/// # Kernel
/// Linux 5.1 (`sk` of `struct __sk_buff`); needs CAP_BPF.
///
/// # Errors
/// `EPERM` without it, `ENOSYS` without eBPF.
pub(crate) fn attach_by_sender(fd: &OwnedFd, takes_local: bool) -> io::Result<()> {
    /// `offsetof(struct __sk_buff, sk)`.
    const SK: i16 = 168;
    const LOAD_LONG: u8 = 0x79;
    const MOVE: u8 = 0xB7;
    const JUMP_IF_EQUAL: u8 = 0x15;
    const EXIT: u8 = 0x95;
    /// Destination register 0; source register 1, where programs have their packet.
    const FROM_PACKET: u8 = if cfg!(target_endian = "little") { 0x10 } else { 0x01 };
    let instruction = |code: u8, registers: u8, offset: i16, value: i32| {
        let ([low, high], [a, b, c, d]) = (offset.to_ne_bytes(), value.to_ne_bytes());
        [code, registers, low, high, a, b, c, d]
    };
    // The number of bytes that are taken.
    let (local, other) = if takes_local { (-1, 0) } else { (0, -1) };
    let program = [
        instruction(LOAD_LONG, FROM_PACKET, SK, 0),
        instruction(JUMP_IF_EQUAL, 0, 2, 0),
        instruction(MOVE, 0, 0, local),
        instruction(EXIT, 0, 0, 0),
        instruction(MOVE, 0, 0, other),
        instruction(EXIT, 0, 0, 0),
    ];
    let program = bpf::load_socket_filter(c"candor_senders", &program).map_err(|refused| refused.errno)?;
    socket::set_int(fd, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, program.as_raw_fd())
}

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
