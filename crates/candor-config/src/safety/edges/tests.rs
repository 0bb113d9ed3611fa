use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::testing::{pattern, plan, route};
use candor_core::arbitrary;
use candor_core::filter::CAN_INV_FILTER;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_MAX_DLEN, RawId};
use candor_core::rule::Verdict;

fn patterns() -> impl Strategy<Value = PayloadPattern> {
    (select([0, 3, 7, 8, 40].as_slice()), any::<bool>())
        .prop_map(|(byte, compares)| pattern(byte, u8::from(compares), 0))
}

/// The kinds of a route for CAN XL frames are those whose first word its jobs compare.
#[test]
fn edges_contain_words_of_xl_frames() {
    let filters = [(0, 0), (0x123, 0xC000_07FF), (0x05_0123, 0x00FF_07FF), (0x123 | CAN_INV_FILTER, 0x7FF)];
    for (id, mask) in filters {
        let plan = plan(2, vec![Route { formats: Formats::Xl, ..route("r", 0, 1, Filter { id, mask }) }]);
        let (edges, jobs) = (Edges::of(&plan), crate::lower(&plan));
        for word in [0x123, 0x124, 0x05_0123, 0x06_0123, 0x05_0124] {
            let kind = |xl: u64| Cube::one(u64::from(word) | xl);
            let times = |kind: Cube| edges.all()[0].well_formed().filter(|cube| kind.is_within(*cube)).count();
            let takes = jobs.iter().any(|job| job.filter.normalise().matches(RawId(word)));
            assert_eq!((times(kind(XL)), times(kind(0))), (usize::from(takes), 0), "{id:X}:{mask:X} {word:X}");
        }
    }
}

proptest! {
    /// The kind of every frame that a job sends is in the set exactly once.
    #[test]
    fn edges_contain_the_frames_that_jobs_send(
        mut frame in arbitrary::wire_frame(),
        error in prop::bool::weighted(0.1),
        filter in arbitrary::filter(),
        formats in select([Formats::Any, Formats::Xl, Formats::Only(FrameFormat::Classic), Formats::Only(FrameFormat::Fd)].as_slice()),
        payload in prop::collection::vec(patterns(), 0..3),
        send_as in option::of(select([SendAs::Classic, SendAs::Fd { bit_rate_switch: false }].as_slice())),
    ) {
        if error && frame.format == FrameFormat::Classic {
            frame.id.0 = frame.id.0 & CAN_EFF_MASK | CAN_ERR_FLAG;
        }
        let route = Route { formats, payload: payload.clone(), send_as, ..route("r", 0, 1, filter) };
        let plan = plan(2, vec![route]);
        let fd = if frame.format == FrameFormat::Fd { FD } else { 0 };
        let kind = Cube::one(u64::from(frame.id.0) | fd);
        let edges = Edges::of(&plan);
        let times = edges.all()[0].well_formed().filter(|cube| kind.is_within(*cube)).count();
        let jobs = crate::lower(&plan);
        let sends = |frame: &candor_core::frame::Frame| jobs.iter().any(|job| {
            let takes = job.filter.normalise().matches(frame.id) && job.takes(frame);
            takes && job.apply(frame).1 == Verdict::Send
        });
        if sends(&frame) {
            prop_assert_eq!(times, 1);
        }
        // Conversely, frames of this kind with some length and content are sent.
        let contents = [0, 8, 48].map(|len: u8| {
            let mut data = [0; CANFD_MAX_DLEN];
            for pattern in &payload {
                for (byte, value) in data.iter_mut().zip(pattern.value) {
                    *byte |= value;
                }
            }
            candor_core::frame::Frame { len: len.min(if fd == 0 { 8 } else { 64 }), len8_dlc: 0, data, ..frame }
        });
        prop_assert_eq!(times == 1, contents.iter().any(sends));
    }
}
