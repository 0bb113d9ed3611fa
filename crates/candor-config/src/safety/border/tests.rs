use proptest::prelude::*;

use super::*;
use crate::lower;
use crate::plan::Route;
use crate::safety::tests::random_cases;
use crate::testing::{loaded, plan, route, with_route};
use candor_core::arbitrary;
use candor_core::frame::{CAN_EFF_MASK, FrameFormat};
use candor_core::oracle;

fn of(lines: &str) -> Crossing {
    let plan = loaded(&with_route(lines));
    crossings(&plan, BusIndex(0)).list.remove(0)
}

#[test]
fn identifiers_are_those_that_are_sent() {
    let crossing = of("match = [\"100..102\"]\nto-id = \"200..\"");
    let ids = |set: &KindSet| set.identifiers(10).unwrap().iter().map(|id| id.bits()).collect::<Vec<_>>();
    assert_eq!(ids(&crossing.taken), [0x100, 0x101, 0x102]);
    assert_eq!(ids(&crossing.sent), [0x200, 0x201, 0x202]);
    assert_eq!(crossing.sent.identifiers(2), None);
    assert!(crossing.sent.has(RawId(0x201)) && !crossing.sent.has(RawId(0x101)));
}

#[test]
fn unrestricted_routes_send_any_identifier() {
    let crossing = of("");
    assert!(crossing.sent.has_any_identifier() && crossing.sent.has_long_frames());
    assert_eq!(crossing.sent.identifiers(4096), None);
    assert_eq!(crossing.sent.count(4096), (1 << 11) + (1 << 29));
    assert!(crossing.sent.extended(0x03FF_0000, 0x00EE_0000).is_some());
    let narrow = of("match = \"12345678\"\nframes = \"classic\"");
    assert!(!narrow.sent.has_any_identifier() && !narrow.sent.has_long_frames());
    assert!(narrow.sent.extended(0x03FF_0000, 0x00EE_0000).is_none());
    assert_eq!(narrow.sent.common(&crossing.sent).unwrap().to_string(), "12345678");
}

#[test]
fn frames_cross_a_vxcan_pair_on_two_routes() {
    let plan = loaded(
        "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"vx0\"\nvxcan-peer = \"c\"\n[bus.c]\ninterface = \"vx1\"\n\
         [bus.d]\ninterface = \"can1\"\n\
         [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"1??\"\n\
         [[route]]\nname = \"s\"\nfrom = \"c\"\nto = \"d\"\nmatch = \"120\"\n"
            .replace("1??", "100:C0000700")
            .as_str(),
    );
    let found = crossings(&plan, BusIndex(0));
    let last = found.list.iter().find(|crossing| crossing.to == BusIndex(3)).unwrap();
    assert_eq!(last.routes, [RouteIndex(0), RouteIndex(1)]);
    assert_eq!(last.sent.identifiers(10).unwrap(), [RawId(0x120)]);
}

proptest! {
    #![proptest_config(random_cases(300))]

    #[test]
    fn what_the_oracle_sends_is_in_the_set(filter in arbitrary::filter(), job in arbitrary::job(2), frame in arbitrary::any_frame()) {
        let mut modifications = job.modifications;
        for operand in [&mut modifications.and, &mut modifications.or, &mut modifications.xor, &mut modifications.set] {
            operand.len = None;
        }
        let (id, is_fd) = (frame.id, frame.format == FrameFormat::Fd);
        // Only well-formed frames are received.
        prop_assume!(!id.is_err() && (id.is_eff() || id.0 & CAN_EFF_MASK <= CAN_SFF_MASK) && !(is_fd && id.is_rtr()));
        let plan = plan(2, vec![Route { modifications, ..route("r", 0, 1, filter) }]);
        let found = crossings(&plan, BusIndex(0));
        for sent in oracle::deliver(&lower(&plan), BusIndex(0), &frame) {
            prop_assert!(found.list.iter().any(|crossing| crossing.sent.has(sent.frame.id)), "{:?}", sent.frame.id);
        }
    }
}
