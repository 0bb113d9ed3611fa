//! What the memory of a ring looks like (`linux/if_packet.h`).

/// `ETH_P_CAN`, which libc lacks.
pub(super) const ETH_P_CAN: libc::c_int = 0x000C;
/// For experiments on Ethernet (IEEE 802): no CAN driver gives it to a frame.
pub(super) const ETH_P_NOBODY: libc::c_int = 0x88B5;
/// `PACKET_IGNORE_OUTGOING`, since 4.20.
pub(super) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// `PACKET_VNET_HDR`: a header stands in front of each frame.
pub(super) const PACKET_VNET_HDR: libc::c_int = 15;
/// `struct virtio_net_hdr` (`linux/virtio_net.h`).
pub(super) const VIRTIO_HEADER_BYTES: usize = 10;
/// Its field `hdr_len`, in the byte order of the machine: so much of the frame is copied.
pub(super) const VIRTIO_COPIED: std::ops::Range<usize> = 2..4;

/// `TP_STATUS_KERNEL`, and for sending `TP_STATUS_AVAILABLE`: the slot is the kernel's to fill, or ours to fill.
pub(super) const FREE: u32 = 0;
/// `TP_STATUS_USER`: a received frame is in the slot.
pub(super) const USER: u32 = 1;
/// `TP_STATUS_LOSING`: frames were lost since the statistics were read last.
pub(super) const LOSING: u32 = 1 << 2;
/// `TP_STATUS_SEND_REQUEST`: a frame to be sent is in the slot.
pub(super) const SEND_REQUEST: u32 = 1;
/// `TP_STATUS_WRONG_FORMAT`: the kernel does not send the frame in the slot.
pub(super) const WRONG_FORMAT: u32 = 1 << 2;

const _: () = assert!(size_of::<libc::tpacket2_hdr>() == 32 && align_of::<libc::tpacket2_hdr>() == 4);

/// Where the kernel looks for a frame to send: behind the header, aligned to 16 (`TPACKET2_HDRLEN` less an address).
pub(super) const SEND_OFFSET: usize = 32;

/// Slots of this size fill a page without a rest and hold an FD frame behind header and address (152 bytes).
pub(super) const SLOT_BYTES: usize = 256;

/// The size of a ring: whole blocks of one page, so many that at least the wanted slots fit.
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
