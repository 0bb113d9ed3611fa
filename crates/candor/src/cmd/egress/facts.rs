//! Properties of an interface on this machine, for the traps that depend on them.

use candor_core::frame::CANFD_MTU;
use candor_egress::lint::Facts;
use candor_io::machine::Machine;
use candor_netlink::link::Link;

use crate::cmd::driver::{frames_ahead, recovers_itself};

/// Share of a queued frame in the send buffer of its socket: `truesize` of an skb with a small payload. Since Linux
/// 6.3 its data comes from `skb_small_head_cache`, before that from `kmalloc-512`; the skb itself is 256 bytes.
const fn truesize_bytes(kernel: Option<(u32, u32)>) -> u64 {
    match kernel {
        Some((major, minor)) if major > 6 || (major == 6 && minor >= 3) => 960,
        _ => 768,
    }
}

/// As [`truesize_bytes`], of the kernel that runs.
pub(in crate::cmd) fn frame_truesize_bytes(machine: &Machine) -> u64 {
    truesize_bytes(machine.kernel_version())
}

pub(in crate::cmd) fn of(machine: &Machine, link: &Link) -> Facts {
    let can = link.can.unwrap_or_default();
    let is_controller = link.kind.as_deref() == Some("can");
    Facts {
        bitrate: can.bitrate,
        has_fd: Some(usize::try_from(link.mtu).is_ok_and(|mtu| mtu >= CANFD_MTU)),
        queue_frames: Some(link.tx_queue_len),
        driver_frames: frames_ahead(machine, &link.name).and_then(|frames| u32::try_from(frames).ok()),
        socket_frames: socket_frames(machine),
        restarts: is_controller.then(|| can.restart_ms.is_some() || recovers_itself(machine, &link.name)),
        kernel: machine.kernel_version(),
        is_compiled: false,
    }
}

/// Frames that fit into the default send buffer of a socket. A sender blocks only when there is no room at all,
/// so the last frame may begin in it.
fn socket_frames(machine: &Machine) -> Option<u32> {
    let bytes = machine.number("/proc/sys/net/core/wmem_default")?;
    u32::try_from(u64::try_from(bytes).ok()?.div_ceil(frame_truesize_bytes(machine))).ok()
}
