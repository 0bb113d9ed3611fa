//! Actions: what a filter does with a frame beyond naming its class.

use super::discipline::ByteRate;
use super::handle::Handle;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `gact`: only the verdict.
    Gact { verdict: Verdict },
    /// `mirred`: out of, or into, another interface.
    Mirred { interface: String, how: Mirred, verdict: Verdict },
    /// A kind that candor does not know, as it was read.
    Other { kind: String, options: Vec<u8> },
    /// `police`: a limit without a queue.
    Police(Police),
    /// `skbedit`: what the frame is known by further on.
    Skbedit {
        /// Its priority; `1:2` names a class of discipline `1:`.
        priority: Option<Handle>,
        mark: Option<u32>,
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
    pub bytes: Option<PoliceBytes>,
    /// Limit in frames (Linux 5.13).
    pub frames: Option<PoliceFrames>,
    pub exceed: Verdict,
    pub conform: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceBytes {
    pub rate: ByteRate,
    pub burst_bytes: u32,
    /// Longer frames are above the limit.
    pub mtu_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceFrames {
    pub per_second: u64,
    pub burst_frames: u64,
}
