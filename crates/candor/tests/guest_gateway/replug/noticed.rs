//! What else is noticed when interfaces come and go: what was missed, who else was there first, what drops frames by now.

use candor_egress::discipline::{Discipline, Etf};
use candor_io::process;

use super::*;
use crate::queues;

/// With `CLOCK_TAI`, the only one that it takes.
const ETF: Etf = Etf { delta_ns: 0, clock_id: 11, deadline_mode: false, offload: false, skip_sock_check: false };

/// While candor stands still, the kernel tells it of more than its socket has room for.
#[test]
#[ignore = "runs in a guest"]
fn what_happened_while_nobody_listened_is_noticed() {
    const STORM: usize = 400;

    let Some(_machine) = require(NEEDS) else { return };
    for (engine, text) in ways() {
        let mut place = Place::new();
        let candor = run(&text, engine, place.run_dir.path()).start();
        process::pause(candor.pid()).unwrap();
        for _ in 0..STORM {
            drop(Bus::new("storm"));
        }
        delete(&place.right);
        place.right = Bus::new("right");
        process::resume(candor.pid()).unwrap();
        while candor.notice() != "Interface t-right is back; its routes continue" {}
        wait_until_up(&candor, "t-right");
        assert!(passes(&place.left, &place.right), "{engine}");
        // From then on it is told again.
        delete(&place.right);
        assert!(candor.notice().starts_with("Interface t-right (bus \"right\") is gone"), "{engine}");
        assert!(candor.end(Signal::Terminate).status.success());
    }
}

/// A candor that waits for an interface, and another one that somebody starts as soon as it is there.
#[test]
#[ignore = "runs in a guest"]
fn two_candors_for_one_interface_that_came_back_do_not_double_frames() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ["kernel", "read-write"] {
        let mut place = Place::new();
        let text = gateway(&[]);
        let first = run(&text, engine, place.run_dir.path()).start();
        process::pause(first.pid()).unwrap();
        // All of them, or the routes that stay would be known already.
        for (bus, name) in [
            (&mut place.left, "left"),
            (&mut place.right, "right"),
            (&mut place.third, "third"),
            (&mut place.fourth, "fourth"),
        ] {
            delete(bus);
            *bus = Bus::new(name);
        }
        let second = run(&text, engine, place.run_dir.path()).start();
        process::resume(first.pid()).unwrap();
        let ended = first.wait();
        assert_eq!(ended.status.code(), Some(2), "{engine}: {ended:?}");
        let said = format!("is already run by another candor (process {})", second.pid());
        assert!(ended.errors.contains(&said), "{engine}: {}", ended.errors);
        assert!(passes(&place.left, &place.right), "{engine}: lost or doubled");
        place.other_goes_on(engine);
        assert!(second.end(Signal::Terminate).status.success());
        assert_eq!(place.jobs(), []);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_queueing_discipline_that_drops_is_told_whenever_it_comes() {
    let Some(_machine) = require(NEEDS) else { return };
    let set_etf = |bus: &Bus| queues::set_root(bus.index, Discipline::Etf(ETF));
    let text = gateway(&[]);
    for engine in ["kernel", "read-write"] {
        let mut place = Place::new();
        let candor = run(&text, engine, place.run_dir.path()).start();
        let is_told = || assert!(candor.notice().starts_with("t-right has the qdisc etf"), "{engine}");
        set_etf(&place.right);
        is_told();
        // What comes again is told again, here and at an interface that came back.
        queues::delete_root(place.right.index);
        look();
        set_etf(&place.right);
        is_told();
        delete(&place.right);
        assert!(candor.notice().starts_with("Interface t-right (bus \"right\") is gone"), "{engine}");
        place.right = Bus::new("right");
        while candor.notice() != "Interface t-right is back; its routes continue" {}
        wait_until_up(&candor, "t-right");
        set_etf(&place.right);
        is_told();
        look();
        assert_eq!(candor.notice_now(), None, "{engine}: told once");
        assert!(candor.end(Signal::Terminate).status.success());
    }
}
