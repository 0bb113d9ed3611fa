use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::plan::{Bus, Engine, Selection};
use candor_core::arbitrary;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_MAX_DLEN};
use candor_core::rule::Verdict;

pub(in crate::safety) fn bus(name: &str) -> Bus {
    Bus::on(name)
}

/// A route that carries what the filter takes, as it is.
pub(in crate::safety) fn route(name: &str, from: usize, to: usize, filter: Filter) -> Route {
    let selections = vec![Selection { filter, id: None }];
    Route { selections, ..Route::new(name.into(), BusIndex(from), BusIndex(to)) }
}

/// A kernel gateway of these routes between the buses a, b, c ….
pub(in crate::safety) fn plan(buses: usize, routes: Vec<Route>) -> Plan {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let buses = names[..buses].iter().map(|name| bus(name)).collect();
    Plan {
        engine: Engine::Kernel,
        realtime: candor_core::realtime::Realtime::default(),
        buses,
        routes,
        egress: Vec::new(),
    }
}

fn pattern() -> impl Strategy<Value = PayloadPattern> {
    (select([0, 3, 7, 8, 40].as_slice()), any::<bool>()).prop_map(|(byte, compares)| {
        let mut pattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
        pattern.mask[byte] = u8::from(compares);
        pattern
    })
}

proptest! {
    /// Of every frame that a job sends its kind is in the set, and it is in there once.
    #[test]
    fn edges_carry_what_the_jobs_send(
        mut frame in arbitrary::wire_frame(),
        error in prop::bool::weighted(0.1),
        filter in arbitrary::filter(),
        formats in select([Formats::Any, Formats::Only(FrameFormat::Classic), Formats::Only(FrameFormat::Fd)].as_slice()),
        payload in prop::collection::vec(pattern(), 0..3),
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
        // The other way round: some length and some content of this kind get through.
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
