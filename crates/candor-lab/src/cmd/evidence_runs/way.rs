//! A route from an untrusted to a trusted bus, and the frames that it forwards.

use std::path::Path;

use candor_config::plan::{Formats, Plan, Route, RouteIndex};
use candor_core::frame::{Frame, RawId};
use candor_lab::border::example::{Forwarder, Numbering};

use super::traffic::{Due, On};

/// Identifiers of the run of several.
const IDENTIFIERS: usize = 4;

/// A path, with all that its runs need.
#[derive(Debug)]
pub(super) struct Way<'a> {
    pub(super) file: &'a Path,
    pub(super) plan: &'a Plan,
    pub(super) route: &'a Route,
    /// The first is the example frame.
    pub(super) frames: Vec<Frame>,
    /// The example frame as it leaves.
    pub(super) leaves: Frame,
    pub(super) numbering: Option<Numbering>,
    pub(super) forwarder: Forwarder<'a>,
}

impl<'a> Way<'a> {
    pub(super) fn of(file: &'a Path, plan: &'a Plan, index: RouteIndex) -> Result<Self, &'static str> {
        let (route, forwarder) = (plan.route(index), Forwarder::new(plan, index));
        let frames = forwarder.examples(IDENTIFIERS);
        let leaves = frames.first().and_then(|frame| forwarder.forward(frame)).ok_or(match route {
            Route { formats: Formats::Xl, .. } => "the laboratory sends no CAN XL frames",
            Route { checks, .. } if !checks.is_empty() => {
                "no frame was found that passes its checks: frames with a checksum, a counter or a MAC are not made up"
            }
            _ => "no data frame was found that it forwards",
        })?;
        let numbering = Numbering::of(&forwarder, &frames);
        Ok(Self { file, plan, route, frames, leaves, numbering, forwarder })
    }

    /// Frames in turn, numbered if they can be.
    pub(super) fn numbered(&self, frames: &[Frame], period: i64, count: u32) -> Vec<Due> {
        let due = |(number, frame): (u32, &Frame)| {
            let numbered = self.numbering.as_ref().map(|numbering| numbering.number(frame, number));
            Due { at_ns: i64::from(number) * period, on: On::Untrusted, frame: numbered.unwrap_or(*frame) }
        };
        (0..count).zip(frames.iter().cycle()).map(due).collect()
    }
}

/// `123`, or `12345678` for 29 bits.
pub(super) fn id_text(id: RawId) -> String {
    if id.is_eff() { format!("{:08X}", id.bits()) } else { format!("{:03X}", id.bits()) }
}
