//! Memory layout of rings (`linux/if_packet.h`).

/// `ETH_P_CAN`, which libc lacks.
pub(super) const ETH_P_CAN: libc::c_int = 0x000C;
/// Local experimental ethertype (IEEE 802), which no CAN driver uses.
pub(super) const ETH_P_NOBODY: libc::c_int = 0x88B5;
/// `PACKET_IGNORE_OUTGOING`, since 4.20.
pub(super) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// `PACKET_VNET_HDR`: each frame has a `struct virtio_net_hdr`.
pub(super) const PACKET_VNET_HDR: libc::c_int = 15;
/// `struct virtio_net_hdr` (`linux/virtio_net.h`).
pub(super) const VIRTIO_HEADER_BYTES: usize = 10;
/// Field `hdr_len` in host byte order: bytes to copy.
pub(super) const VIRTIO_COPIED: std::ops::Range<usize> = 2..4;

/// `TP_STATUS_KERNEL` of receive rings, `TP_STATUS_AVAILABLE` of transmit rings.
pub(super) const FREE: u32 = 0;
/// `TP_STATUS_USER`: the slot has a received frame.
pub(super) const USER: u32 = 1;
/// `TP_STATUS_LOSING`: frames were lost since the statistics were last read.
pub(super) const LOSING: u32 = 1 << 2;
/// `TP_STATUS_SEND_REQUEST`: the slot has a frame to send.
pub(super) const SEND_REQUEST: u32 = 1;
/// `TP_STATUS_WRONG_FORMAT`: the kernel refused the frame.
pub(super) const WRONG_FORMAT: u32 = 1 << 2;

const _: () = assert!(size_of::<libc::tpacket2_hdr>() == 32 && align_of::<libc::tpacket2_hdr>() == 4);

/// Offset of the frame to send: after the header, aligned to 16 (`TPACKET2_HDRLEN` without the address).
pub(super) const SEND_OFFSET: usize = 32;

/// Divides a page evenly and holds an FD frame with header and address (152 bytes).
pub(super) const SLOT_BYTES: usize = 256;

/// The smallest ring of whole pages with at least this many slots.
pub(super) fn request(slots: usize) -> std::io::Result<libc::tpacket_req> {
    // SAFETY: sysconf() takes an integer and touches no memory.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(std::io::Error::other)?;
    let in_block = page / SLOT_BYTES;
    let blocks = slots.next_power_of_two().div_ceil(in_block).max(1);
    let number = |number: usize| u32::try_from(number).map_err(std::io::Error::other);
    Ok(libc::tpacket_req {
        tp_block_size: number(page)?,
        tp_block_nr: number(blocks)?,
        tp_frame_size: number(SLOT_BYTES)?,
        tp_frame_nr: number(blocks * in_block)?,
    })
}
