//! What formats cannot hold.

use candor_core::frame::{CAN_ERR_FLAG, CAN_MAX_DLEN, Frame, RawId};

use crate::record::{is_well_formed, well_formed};
use crate::{Counts, Direction, Record};

/// The class of an error frame of which a format keeps only that there was one: `CAN_ERR_BUSERROR`.
const ERROR_MARK: u32 = CAN_ERR_FLAG | 0x80;

/// Error frames in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// With class and bytes.
    Whole,
    /// Only that there was one.
    Mark,
    /// Not at all.
    No,
}

/// Directions in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Received, sent or unknown.
    Optional,
    /// Received or sent.
    Always,
}

/// Buses in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusNames {
    /// By name.
    Names,
    /// By number up to 255. `can0` has this one, `can1` the next.
    Numbers(u16),
}

/// What a format can hold, besides CC, CAN FD and remote frames with their lengths and bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Error frames.
    pub errors: Errors,
    /// Directions.
    pub directions: Directions,
    /// Buses.
    pub buses: BusNames,
    /// Resolution of times in ns.
    pub step_ns: i64,
}

impl Limits {
    /// Holds everything that a [`Record`] has.
    pub const ALL: Self =
        Self { errors: Errors::Whole, directions: Directions::Optional, buses: BusNames::Names, step_ns: 1 };

    /// Changes a record to what the format can hold, and counts what is lost. False if the frame cannot be held at all.
    #[inline]
    pub fn fit(&self, record: &mut Record, lost: &mut Counts) -> bool {
        if !is_well_formed(&record.frame) {
            lost.add("malformed frames, without identifier bits, flags or bytes that no format has");
            record.frame = well_formed(&record.frame);
        }
        let frame = &mut record.frame;
        if frame.id.is_err() {
            match self.errors {
                Errors::Whole => {}
                Errors::No => {
                    lost.add("error frames left out");
                    return false;
                }
                Errors::Mark => {
                    let mark = error_mark();
                    if *frame != mark {
                        lost.add("error frames without their class and bytes");
                        *frame = mark;
                    }
                }
            }
        }
        match (self.directions, record.direction) {
            // These formats have directions of frames on the bus.
            (Directions::Always, _) if record.frame.id.is_err() => record.direction = None,
            (Directions::Always, None) => {
                record.direction = Some(Direction::Received);
                lost.add("frames without a direction, written as received");
            }
            _ => {}
        }
        if self.step_ns > 1 && record.at_ns % self.step_ns != 0 {
            lost.add("times cut to 1 us");
            record.at_ns = record.at_ns.div_euclid(self.step_ns).saturating_mul(self.step_ns);
        }
        true
    }
}

/// What is read of an error frame of which a format keeps only that there was one.
pub(crate) fn error_mark() -> Frame {
    Frame::classic(RawId(ERROR_MARK), &[0; CAN_MAX_DLEN]).unwrap_or(Frame::EMPTY)
}

/// Of writers whose times have no sign.
pub(crate) const BEFORE_ZERO: &str = "times before the zero of the clock, written as zero";
