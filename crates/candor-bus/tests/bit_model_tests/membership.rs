//! Nodes that come and go, and nodes that only listen.

use crate::bit_model::{Bus, Config, Disturbance, ErrorKind, What};
use crate::watch::{bus, counts, delivered, errors, frame, starts, times};

const ABSENT: Config = Config {
    present: false,
    order: crate::bit_model::Order::Fifo,
    depth: 4,
    one_shot: false,
    listen_only: false,
    counters: crate::bit_model::Counters { tec: 0, rec: 0 },
    on_bus_off: crate::bit_model::OnBusOff::Keep,
    rec_credit: crate::bit_model::RecCredit::AckSlot,
};

#[test]
fn a_node_joins_after_eleven_recessive_bits() {
    // On an idle bus: bits 5..=15.
    let mut quiet = Bus::new([Config::default(), ABSENT]);
    quiet.switch_on(5, 1);
    quiet.submit(5, 1, 0, frame("123#"));
    let log = quiet.run_until(100);
    assert_eq!(times(&log, &What::Joined), [(16, 1)]);
    assert_eq!(starts(&log), [(1, 16)]);
    // In 123#: the last dominant bit is the ACK slot, 36; 37..=47 are eleven, and 47 is the end of the intermission.
    let mut busy = Bus::new([Config::default(), Config::default(), ABSENT]);
    busy.submit(0, 0, 0, frame("123#"));
    busy.submit(0, 0, 1, frame("123#"));
    busy.switch_on(10, 2);
    let log = busy.run_until(100);
    assert_eq!(times(&log, &What::Joined), [(48, 2)]);
    let receivers: Vec<Vec<usize>> = delivered(&log).into_iter().map(|delivery| delivery.4).collect();
    assert_eq!(receivers, [vec![1], vec![1, 2]]);
}

#[test]
fn a_node_without_power_takes_no_frames_and_acknowledges_none() {
    let mut bus = Bus::new([Config::default(), ABSENT]);
    bus.submit(0, 0, 0, frame("123#"));
    bus.submit(0, 1, 8, frame("123#"));
    let log = bus.run_until(50);
    assert_eq!(times(&log, &What::Refused { tag: 8 }), [(0, 1)]);
    assert_eq!(errors(&log), [(0, 36, ErrorKind::Ack)]);
}

#[test]
fn a_sender_that_loses_its_power_leaves_ones() {
    // Off from bit 20 of 123#55 on: bits 19 to 23 are five ones, 24 is the sixth. Nobody sends the frame again.
    let mut bus = bus(2);
    bus.submit(0, 0, 0, frame("123#55"));
    bus.switch_off(20, 0);
    let log = bus.run_until(500);
    assert_eq!(errors(&log), [(1, 24, ErrorKind::Stuff)]);
    assert_eq!(times(&log, &What::SwitchedOff), [(20, 0)]);
    assert_eq!((starts(&log).len(), delivered(&log).len()), (1, 0));
}

#[test]
fn a_receiver_that_loses_its_power_before_the_slot_does_not_acknowledge() {
    for (off, kind) in [(36, Some(ErrorKind::Ack)), (37, None)] {
        let mut bus = bus(2);
        bus.submit(0, 0, 0, frame("123#"));
        bus.switch_off(off, 1);
        assert_eq!(errors(&bus.run_until(46)).first().map(|error| error.2), kind);
    }
}

#[test]
fn power_resets_the_counters() {
    let mut bus = bus(1);
    bus.submit(0, 0, 0, frame("123#"));
    bus.switch_off(60, 0);
    bus.switch_on(70, 0);
    bus.run_until(60);
    assert_eq!(bus.counters(0).tec, 8);
    let log = bus.run_until(200);
    assert_eq!(bus.counters(0).tec, 0);
    assert_eq!(starts(&log), []);
    assert_eq!(times(&log, &What::Joined), [(81, 0)]);
}

#[test]
fn a_listener_takes_frames_and_acknowledges_none() {
    let listener = Config { listen_only: true, ..Config::default() };
    let mut pair = Bus::new([Config::default(), listener]);
    pair.submit(0, 0, 0, frame("123#"));
    assert_eq!(errors(&pair.run_until(37)), [(0, 36, ErrorKind::Ack)]);
    let mut three = Bus::new([Config::default(), listener, Config::default()]);
    three.submit(0, 0, 0, frame("123#"));
    three.submit(0, 1, 7, frame("001#"));
    let log = three.run_until(100);
    assert_eq!(delivered(&log), [(0, 0, 0, 45, vec![1, 2])]);
    assert_eq!(times(&log, &What::Refused { tag: 7 }), [(0, 1)]);
}

#[test]
fn a_listener_with_an_error_of_its_own_disturbs_nobody() {
    let listener = Config { listen_only: true, ..Config::default() };
    let mut bus = Bus::new([Config::default(), listener, Config::default()]);
    bus.submit(0, 0, 0, frame("123#"));
    bus.submit(100, 0, 1, frame("123#"));
    bus.disturb(Disturbance::Misread { frame: 0, bit: 20, node: 1 });
    let log = bus.run_until(200);
    let receivers: Vec<Vec<usize>> = delivered(&log).into_iter().map(|delivery| delivery.4).collect();
    assert_eq!(receivers, [vec![2], vec![1, 2]]);
    assert_eq!(counts(&log, 1), []);
}
