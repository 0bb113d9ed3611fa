//! Actions: what a filter does with a frame beyond naming its class.

use super::discipline::ByteRate;
use super::handle::Handle;

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `gact`: only the verdict.
    Gact {
        /// What happens next.
        verdict: Verdict,
    },
    /// `mirred`: out of, or into, another interface.
    Mirred {
        /// Name of the interface.
        interface: String,
        /// How.
        how: Mirred,
        /// What happens next with the frame itself.
        verdict: Verdict,
    },
    /// A kind that candor does not know, as it was read.
    Other {
        /// The kernel's name of it.
        kind: String,
        /// What stood in `TCA_ACT_OPTIONS`.
        options: Vec<u8>,
    },
    /// `police`: a limit without a queue.
    Police(Police),
    /// `skbedit`: what the frame is known by further on.
    Skbedit {
        /// Its priority; `1:2` names a class of discipline `1:`.
        priority: Option<Handle>,
        /// Its mark.
        mark: Option<u32>,
        /// What happens next.
        verdict: Verdict,
    },
}

/// What becomes of a frame after an action (`TC_ACT_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `continue` (`TC_ACT_UNSPEC`): the next filter is asked.
    Continue,
    /// `drop` (`TC_ACT_SHOT`); the sender hears of it.
    Drop,
    /// `pass` (`TC_ACT_OK`): no further filter is asked.
    Pass,
    /// `pipe` (`TC_ACT_PIPE`): the next action of the filter.
    Pipe,
    /// `reclassify` (`TC_ACT_RECLASSIFY`): all filters again.
    Reclassify,
    /// `stolen` (`TC_ACT_STOLEN`): taken; the sender thinks it left.
    Stolen,
}

/// Where `mirred` puts a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mirred {
    /// `egress mirror`: a copy leaves there.
    EgressMirror,
    /// `egress redirect`: it leaves there instead.
    EgressRedirect,
    /// `ingress mirror`: a copy comes in there.
    IngressMirror,
    /// `ingress redirect`: it comes in there instead.
    IngressRedirect,
}

/// Parameters of `police`. At least one of the two limits is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Police {
    /// Limit in bytes.
    pub bytes: Option<PoliceBytes>,
    /// Limit in frames (Linux 5.13).
    pub frames: Option<PoliceFrames>,
    /// What becomes of frames above the limit.
    pub exceed: Verdict,
    /// What becomes of the others.
    pub conform: Verdict,
}

/// Limit in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceBytes {
    /// The rate.
    pub rate: ByteRate,
    /// What may come at once.
    pub burst_bytes: u32,
    /// Longer frames are above the limit.
    pub mtu_bytes: u32,
}

/// Limit in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceFrames {
    /// Frames per second.
    pub per_second: u64,
    /// How many may come at once.
    pub burst_frames: u64,
}
