//! Where the frames of a band wait.

use super::units::FRAME_BYTES;
use crate::discipline::{ByteRate, Discipline, Sfq, Tbf};
use crate::filter::{Classifier, ETH_P_ALL, Filter, Flow, FlowKey};
use crate::handle::Handle;
use crate::policy::{Band, Fair, FrameRate, Full, MOST_FRAMES_OF_A_SENDER, Queue};
use crate::tree::{Qdisc, Tree};

/// Slots of the hash of `sfq`, and so of the filter that fills them.
const FLOWS: u32 = 1024;

/// Whether what a frame counts as makes a difference.
pub(super) fn needs_frames(band: &Band) -> bool {
    band.rate.is_some() || band.share.is_some() || band.queue.fair() != Fair::No
}

/// Puts what a band needs below a class; its disciplines have this number and the next.
pub(super) fn add(tree: &mut Tree, parent: Handle, number: u16, band: &Band) {
    let outer = Handle::new(number, 0);
    let (parent, handle) = match band.rate {
        Some(rate) => {
            let discipline = Discipline::Tbf(shaper(rate, band.queue));
            tree.qdiscs.push(Qdisc { handle: outer, parent, stab: None, discipline });
            (Handle::new(number, 1), Handle::new(number + 1, 0))
        }
        None => (parent, outer),
    };
    let limit_frames = Some(band.queue.frames());
    let discipline = match (band.queue.fair(), band.queue.full()) {
        (Fair::No, Full::Refuse) => Discipline::Pfifo { limit_frames },
        (Fair::No, Full::DropOldest) => Discipline::PfifoHeadDrop { limit_frames },
        (fair, _) => {
            tree.filters.push(turns(handle, fair));
            Discipline::Sfq(taking_turns(band.queue))
        }
    };
    tree.qdiscs.push(Qdisc { handle, parent, stab: None, discipline });
}

/// The kernel's timer is late by some microseconds, and a bucket that holds no more than a frame forgets by how much: 1000
/// frames/s became 999. So much time is remembered.
const REMEMBERED_US: u64 = 50;

/// One frame at once, and then the rate. Its own limit is that of the queue that the kernel makes with it, before the band's
/// own takes the place.
fn shaper(rate: FrameRate, queue: Queue) -> Tbf {
    let bytes_per_second = u64::from(rate.frames_per_second()) * u64::from(FRAME_BYTES);
    // Never two frames at once.
    let remembered = (bytes_per_second * REMEMBERED_US / 1_000_000).min(u64::from(FRAME_BYTES / 2));
    Tbf {
        rate: ByteRate(bytes_per_second),
        burst_bytes: FRAME_BYTES + u32::try_from(remembered).unwrap_or_default(),
        limit_bytes: queue.frames().saturating_mul(FRAME_BYTES),
        peak: None,
    }
}

fn taking_turns(queue: Queue) -> Sfq {
    Sfq {
        limit_frames: Some(queue.frames() * MOST_FRAMES_OF_A_SENDER),
        quantum_bytes: Some(FRAME_BYTES),
        perturb_s: Some(0),
        divisor: Some(FLOWS),
        flows: Some(MOST_FRAMES_OF_A_SENDER),
        depth_frames: Some(queue.frames()),
        head_drop: queue.full() == Full::DropOldest,
    }
}

/// `sfq` knows no CAN sender by itself; this filter tells it.
fn turns(parent: Handle, fair: Fair) -> Filter {
    let key = match fair {
        Fair::PerMark => FlowKey::Mark,
        Fair::PerUser => FlowKey::SocketUser,
        Fair::No | Fair::PerSocket => FlowKey::Source,
    };
    let flow = Flow { keys: vec![key], hashed: true, base: None, divisor: Some(FLOWS), perturb_s: 0 };
    let classifier = Classifier::Flow(flow);
    Filter { parent, preference: 1, protocol: ETH_P_ALL, handle: 1, classifier, class: None, actions: Vec::new() }
}
