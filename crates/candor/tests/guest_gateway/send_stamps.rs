//! Stamps of frames on their way out: what waits in a queue, and which number a frame has.

use std::thread;
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, SendStage, SendStamp};

use crate::frames::{numbered, sender_on};
use crate::queues;
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const DELAY: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);

fn send(socket: &CanSocket, frame: &Frame) -> std::io::Result<()> {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    socket.send_now(&bytes[..len])
}

fn stamps(socket: &CanSocket, stage: SendStage) -> Vec<SendStamp> {
    let mut all = Vec::new();
    socket.read_send_stamps(|stamp| all.push(stamp)).unwrap();
    all.retain(|stamp| stamp.stage == stage);
    all
}

#[test]
#[ignore = "runs in a guest"]
fn a_frame_has_a_stamp_before_the_queue_and_one_behind_it() {
    let Some(_machine) = require(NEEDS) else { return };
    let bus = Bus::new("left");
    queues::delay(bus.index, DELAY, 50);
    let socket = sender_on(bus.index);
    socket.stamp_sending().unwrap();
    for number in 0..5 {
        send(&socket, &numbered(number)).unwrap();
    }
    thread::sleep(20 * DELAY);
    let mut all = Vec::new();
    socket.read_send_stamps(|stamp| all.push(stamp)).unwrap();
    let of = |stage| all.iter().filter(move |stamp| stamp.stage == stage);
    for stage in [SendStage::Queued, SendStage::HandedOver] {
        assert!(of(stage).map(|stamp| stamp.number).eq(0..5), "{all:?}");
    }
    for (queued, handed) in of(SendStage::Queued).zip(of(SendStage::HandedOver)) {
        let waited = handed.at.0 - queued.at.0;
        assert!(u128::try_from(waited).unwrap() >= DELAY.as_nanos(), "{waited} ns: {all:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_frame_that_was_refused_has_a_number_too() {
    let Some(_machine) = require(NEEDS) else { return };
    let bus = Bus::new("left");
    queues::delay(bus.index, LONG, 2);
    let socket = sender_on(bus.index);
    socket.stamp_sending().unwrap();
    let taken: Vec<bool> = (0..4).map(|number| send(&socket, &numbered(number)).is_ok()).collect();
    assert!(taken.contains(&false), "a queue of two took four");
    queues::delete_root(bus.index);
    drop(stamps(&socket, SendStage::Queued));
    send(&socket, &numbered(4)).unwrap();
    thread::sleep(DELAY);
    assert_eq!(stamps(&socket, SendStage::HandedOver).iter().map(|stamp| stamp.number).collect::<Vec<_>>(), [4]);
}
