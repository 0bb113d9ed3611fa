//! Static analysis of a plan: loops, duplicates, collisions and malformed frames.
//!
//! ```text
//!  Plan ──▶ Edges (matched frames, source, destination, changes: as sets of bits) ──▶ [Hazard]
//!             ├─ single        one route by itself            ├─ circulation    rings through vxcan pairs
//!             ├─ overlap       two routes and one frame       └─ amplification  all paths through the buses
//! ```
//!
//! Identifiers are analysed exactly: a filter is a set of cubes (some bits fixed, the others free); AND, OR, XOR and SET
//! keep, flip or fix each bit, so the image of a cube is a cube. Content is not: a route with `payload` counts as one that
//! sends some frames. Every analysis has a budget, so no file takes long; [`Hazard::NotCompared`] reports that it was
//! exceeded. `docs/safety.md` explains each hazard.

mod amplification;
pub mod border;
mod change;
mod circulation;
mod composed;
mod cube;
mod depth;
mod edges;
mod effect;
mod index;
mod kind;
mod overlap;
mod paths;
mod single;

pub use amplification::{Amplification, amplification};
pub use kind::Kind;

use crate::plan::{BusIndex, Plan, RouteIndex};
use edges::Edges;
use index::Budget;
use paths::Paths;

/// Something that a gateway does and that was probably not intended. Of two routes, `route` is the later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// A received frame reaches a bus twice, by two paths, or returns to its own bus; then `other` is empty.
    ArrivesAgain { routes: Vec<RouteIndex>, other: Vec<RouteIndex>, bus: BusIndex, example: Kind },
    /// A composed frame, by its place in the plan, comes back on these routes as one that it is composed of.
    ComposedOfItself { frame: usize, routes: Vec<RouteIndex> },
    /// Frames loop forever. `frame` is received by the first route; `is_certain`: independent of its length and content.
    Circulates { routes: Vec<RouteIndex>, frame: Kind, is_certain: bool },
    /// The route matches only FD frames from a bus without them.
    FdFromClassicBus(RouteIndex),
    /// The route sends FD frames to a bus without them.
    FdToClassicBus(RouteIndex),
    /// The hop limit has no effect, because the frames reach no other route.
    HopLimitIsIdle(RouteIndex),
    /// Routes from several buses forward any identifiers to one bus: all that overlap an earlier route, and the one that
    /// the first of them overlaps.
    IdentifiersMeet { routes: Vec<RouteIndex>, first: RouteIndex, sent: Kind },
    /// Frames keep their receive timestamp, which some qdiscs take for the time to send them.
    KeepsTimestamp(RouteIndex),
    /// Frames are deleted because of their length, in bytes. `came` is the shortest one affected.
    LengthDeletes { route: RouteIndex, came: u8, becomes: u8, is_all: bool },
    /// Frames may loop forever along some of these routes; the analysis would take too long.
    MayCirculate { routes: Vec<RouteIndex> },
    /// A frame gets an identifier that is not valid on a bus.
    MalformedId { route: RouteIndex, taken: Kind, sent: Kind, what: Malformed },
    /// The hop limit is above the default of the module; `limit` is the smallest sufficient `max_hops`.
    NeedsMaxHops { route: RouteIndex, limit: u8 },
    /// The route matches no frame.
    NoFrame(RouteIndex),
    /// The file is too large to compare all its routes.
    NotCompared,
    /// FD frames are sent with a length, in bytes, that CAN FD does not have. `came` is the shortest one affected.
    OddLength { route: RouteIndex, came: u8, becomes: u8 },
    /// Two routes match the same frames between the same buses and modify them identically.
    Repeated { route: RouteIndex, first: RouteIndex },
    /// Different messages are sent to one bus with one identifier that the routes name or create.
    SameIdentifier { route: RouteIndex, first: RouteIndex, sent: Kind },
    /// A route sends the identifier of a composed frame to its bus; `is_meant`: it names or makes it.
    SentBesideComposed { route: RouteIndex, frame: usize, is_meant: bool },
    /// Two routes send a received frame to one bus with one identifier, modified differently.
    SentInTwoForms { route: RouteIndex, first: RouteIndex, example: Kind },
    /// Two routes send a received frame to one bus, modified identically.
    SentTwice { route: RouteIndex, first: RouteIndex, share: Share, example: Kind },
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

/// Known overlap of two routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// All frames of the earlier route.
    AllOfFirst,
    /// All frames of the later route.
    AllOfThis,
    Some,
}

/// Returns the hazards of a plan, grouped by kind of analysis.
pub fn hazards(plan: &Plan) -> Vec<Hazard> {
    let (edges, paths, mut hazards) = (Edges::of(plan), Paths::of(plan), Vec::new());
    let mut budgets = [const { Budget::new(Budget::USUAL) }; 4];
    let [overlap, circulation, amplification, composed] = &mut budgets;
    single::find(plan, &edges, &mut hazards);
    overlap::find(plan, &edges, overlap, &mut hazards);
    let in_rings = circulation::find(plan, &edges, &paths, circulation, &mut hazards);
    amplification::find(plan, &edges, &paths, &in_rings, amplification, &mut hazards);
    composed::find(plan, &edges, &paths, composed, &mut hazards);
    if budgets.iter().any(Budget::is_spent) {
        hazards.push(Hazard::NotCompared);
    }
    hazards
}

#[cfg(test)]
pub(crate) mod tests;
