//! Events that candor missed, another candor for the same interface, and qdiscs that drop frames.

use candor_egress::discipline::Discipline;

use super::*;
use crate::hazards::ETF;
use crate::queues;

/// While candor is stopped, there are more events than its socket holds.
#[test]
#[ignore = "runs in a guest"]
fn notices_changes_after_lost_events() {
    const STORM: usize = 400;

    for (engine, text) in setups() {
        let Some(mut place) = scene() else { return };
        let candor = place.start(&text, engine);
        process::pause(candor.pid()).unwrap();
        for _ in 0..STORM {
            drop(Bus::new("storm"));
        }
        place.replace("right");
        process::resume(candor.pid()).unwrap();
        candor.notice_with("Interface t-right is back; its routes continue");
        wait_until_up(&candor, "t-right");
        assert!(place.passes("left", "right"), "{engine}");
        // Further events arrive.
        place.unplug("right");
        assert!(candor.notice().starts_with("Interface t-right (bus \"right\") is gone"), "{engine}");
        candor.stop();
    }
}

/// One candor waits for an interface, and another one starts as soon as it is back.
#[test]
#[ignore = "runs in a guest"]
fn two_candors_do_not_double_frames_of_a_replaced_interface() {
    for engine in ["kernel", "read-write"] {
        let Some(mut place) = scene() else { return };
        let text = gateway(&[]);
        let first = place.start(&text, engine);
        process::pause(first.pid()).unwrap();
        // All interfaces, or the second candor is refused for the other routes.
        ["left", "right", "third", "fourth"].into_iter().for_each(|bus| place.replace(bus));
        let second = place.start(&text, engine);
        process::resume(first.pid()).unwrap();
        let error = format!("is already run by another candor (process {})", second.pid());
        first.wait().assert_refused(&[&error]);
        assert!(place.passes("left", "right"), "{engine}: lost or doubled");
        place.other_route_passes(engine);
        second.stop();
        assert_eq!(place.jobs(), []);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn reports_a_qdisc_that_drops_frames() {
    let text = gateway(&[]);
    for engine in ["kernel", "read-write"] {
        let Some(mut place) = scene() else { return };
        let candor = place.start(&text, engine);
        let set_etf = |place: &Scenario| {
            queues::set_root(place.index("right"), Discipline::Etf(ETF));
            assert!(candor.notice().starts_with("t-right has the qdisc etf"), "{engine}");
        };
        set_etf(&place);
        // It is reported again after its removal, and on a replaced interface.
        queues::delete_root(place.index("right"));
        look();
        set_etf(&place);
        place.unplug("right");
        assert!(candor.notice().starts_with("Interface t-right (bus \"right\") is gone"), "{engine}");
        place.plug_in("right");
        candor.notice_with("Interface t-right is back; its routes continue");
        wait_until_up(&candor, "t-right");
        set_etf(&place);
        look();
        assert_eq!(candor.notice_now(), None, "{engine}: reported twice");
        candor.stop();
    }
}
