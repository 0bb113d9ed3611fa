//! Static analysis of a plan: loops, duplicates, collisions and malformed frames.
//!
//! ```text
//!  Plan ──▶ Edges (which frames, from where to where, what becomes of them: sets of bits) ──▶ [Hazard]
//!             ├─ single        one route by itself            ├─ circulation    rings through vxcan pairs
//!             ├─ overlap       two routes and one frame       └─ amplification  all ways through the buses
//! ```
//!
//! Identifiers are treated exactly: a filter is a set of cubes (some bits fixed, the others free), AND, OR, XOR and SET
//! keep, flip or fix each bit, and the image of a cube under them is a cube. Content is not: a route with `payload` is
//! taken as one that sends some frames. Every analysis has a budget, so that no file keeps candor
//! busy; where it ends, [`Hazard::NotCompared`] says so. `docs/safety.md` says what each hazard means.

mod amplification;
mod change;
mod circulation;
mod cube;
mod depth;
mod edges;
mod effect;
mod index;
mod kind;
mod overlap;
mod single;
mod ways;

pub use amplification::{Amplification, amplification};
pub use kind::Kind;

use crate::plan::{BusIndex, Plan, RouteIndex};
use edges::Edges;
use index::Budget;
use ways::Ways;

/// Something that a gateway may do that was not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// One frame comes to a bus more than once, by a way of several routes.
    ArrivesAgain {
        /// The way.
        routes: Vec<RouteIndex>,
        /// The other way; none if the bus is where the frame came from.
        other: Vec<RouteIndex>,
        /// The bus.
        bus: BusIndex,
        /// A frame, as it comes in.
        example: Kind,
    },
    /// Frames go round for ever.
    Circulates {
        /// The ring.
        routes: Vec<RouteIndex>,
        /// A frame on the way of the first.
        frame: Kind,
        /// True if the frame loops whatever its length and content.
        is_certain: bool,
    },
    /// Only FD frames from a bus that has none.
    FdFromClassicBus {
        /// Are taken by this route.
        route: RouteIndex,
    },
    /// FD frames to a bus that takes none.
    FdToClassicBus {
        /// Are sent by this route.
        route: RouteIndex,
    },
    /// The hop limit changes nothing, because the frames meet no further route.
    HopLimitIsIdle {
        /// Of this route.
        route: RouteIndex,
    },
    /// Routes from several buses pass on to one bus whatever identifiers they find, and nothing keeps these apart.
    IdentifiersMeet {
        /// All routes but the first whose identifiers meet those of an earlier one.
        routes: Vec<RouteIndex>,
        /// The route that the first of them meets.
        first: RouteIndex,
        /// An identifier.
        sent: Kind,
    },
    /// Frames keep the time stamp of their reception, which some qdiscs take for the time to send them.
    KeepsTimestamp {
        /// On this route.
        route: RouteIndex,
    },
    /// Frames are deleted because of what becomes of their length.
    LengthDeletes {
        /// By this route.
        route: RouteIndex,
        /// The shortest length that is affected, in bytes.
        came: u8,
        becomes: u8,
        /// True if frames of every length are deleted.
        is_all: bool,
    },
    /// Frames may go round for ever; it would take too long to know.
    MayCirculate {
        /// Along some of these routes.
        routes: Vec<RouteIndex>,
    },
    /// A frame gets an identifier that no bus can carry.
    MalformedId {
        /// By this route.
        route: RouteIndex,
        /// Such a frame.
        taken: Kind,
        /// Sent frame.
        sent: Kind,
        /// The defect.
        what: Malformed,
    },
    /// The hop limit is above the default of the module.
    NeedsMaxHops {
        /// Of this route.
        route: RouteIndex,
        /// Smallest sufficient `max_hops`.
        limit: u8,
    },
    /// No frame is taken.
    NoFrame {
        /// By this route.
        route: RouteIndex,
    },
    /// The file is too large to compare all its routes.
    NotCompared,
    /// FD frames leave with a length that FD does not have.
    OddLength {
        /// By this route.
        route: RouteIndex,
        /// The shortest length that is affected, in bytes.
        came: u8,
        becomes: u8,
    },
    /// Two routes take the same frames between the same buses and change them alike.
    Repeated {
        /// The later one.
        route: RouteIndex,
        /// The earlier one.
        first: RouteIndex,
    },
    /// Different messages leave on one bus with one identifier, which the routes name or make.
    SameIdentifier {
        /// By this route.
        route: RouteIndex,
        /// And by this earlier one.
        first: RouteIndex,
        /// An identifier.
        sent: Kind,
    },
    /// Some frames are sent to one bus by two routes, with one identifier and changed in two ways.
    SentInTwoForms {
        /// The later one.
        route: RouteIndex,
        /// The earlier one.
        first: RouteIndex,
        /// A frame, as it comes in.
        example: Kind,
    },
    /// Some frames are sent to one bus by two routes, changed alike.
    SentTwice {
        /// The later one.
        route: RouteIndex,
        /// The earlier one.
        first: RouteIndex,
        /// Number of frames in common.
        share: Share,
        /// A frame, as it comes in.
        example: Kind,
    },
}

/// Defect of a `can_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// `CAN_ERR_FLAG`: it is an error message frame.
    Error,
    /// More than 11 bits without `CAN_EFF_FLAG`.
    HighBits,
    /// `CAN_RTR_FLAG` in an FD frame.
    RemoteFd,
}

/// Overlap of two routes, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// All frames of the earlier route.
    AllOfFirst,
    /// All frames of the later route.
    AllOfThis,
    /// Some.
    Some,
}

/// Returns the hazards of a plan, grouped by kind of analysis.
#[must_use]
pub fn hazards(plan: &Plan) -> Vec<Hazard> {
    let (edges, ways, mut hazards) = (Edges::of(plan), Ways::of(plan), Vec::new());
    let mut budgets = [const { Budget::new(Budget::USUAL) }; 3];
    let [overlap, circulation, amplification] = &mut budgets;
    single::look(plan, &edges, &mut hazards);
    overlap::look(plan, &edges, overlap, &mut hazards);
    let in_rings = circulation::look(plan, &edges, &ways, circulation, &mut hazards);
    amplification::look(plan, &edges, &ways, &in_rings, amplification, &mut hazards);
    if budgets.iter().any(Budget::is_spent) {
        hazards.push(Hazard::NotCompared);
    }
    hazards
}

#[cfg(test)]
pub(crate) mod tests;
