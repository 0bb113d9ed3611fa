//! Transmit timestamps: before and after the queue, and their numbers.

use std::thread;

use candor_io::can::{SendStage, SendStamp};

use crate::prelude::*;
use crate::queues;

const DELAY: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);

fn send(socket: &CanSocket, frame: &Frame) -> std::io::Result<()> {
    socket.send_now(&bytes_of(frame))
}

fn stamps(socket: &CanSocket) -> Vec<SendStamp> {
    let mut all = Vec::new();
    socket.read_send_stamps(|stamp| all.push(stamp)).unwrap();
    all
}

fn of(all: &[SendStamp], stage: SendStage) -> impl Iterator<Item = &SendStamp> {
    all.iter().filter(move |stamp| stamp.stage == stage)
}

#[test]
#[ignore = "runs in a guest"]
fn stamps_a_frame_before_and_after_the_queue() {
    let Some(scene) = Scenario::new(VCAN, ["left"]) else { return };
    queues::delay(scene.index("left"), DELAY, 50);
    let socket = scene.sender("left");
    socket.stamp_sending().unwrap();
    for number in 0..5 {
        send(&socket, &numbered(number)).unwrap();
    }
    thread::sleep(20 * DELAY);
    let all = stamps(&socket);
    for stage in [SendStage::Queued, SendStage::HandedOver] {
        assert!(of(&all, stage).map(|stamp| stamp.number).eq(0..5), "{all:?}");
    }
    for (queued, handed) in of(&all, SendStage::Queued).zip(of(&all, SendStage::HandedOver)) {
        let waited = handed.at.0 - queued.at.0;
        assert!(u128::try_from(waited).unwrap() >= DELAY.as_nanos(), "{waited} ns: {all:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_refused_frame_has_a_number() {
    let Some(scene) = Scenario::new(VCAN, ["left"]) else { return };
    queues::delay(scene.index("left"), LONG, 2);
    let socket = scene.sender("left");
    socket.stamp_sending().unwrap();
    let taken: Vec<bool> = (0..4).map(|number| send(&socket, &numbered(number)).is_ok()).collect();
    assert!(taken.contains(&false), "a queue of two took four");
    queues::delete_root(scene.index("left"));
    drop(stamps(&socket));
    send(&socket, &numbered(4)).unwrap();
    thread::sleep(DELAY);
    let all = stamps(&socket);
    assert_eq!(of(&all, SendStage::HandedOver).map(|stamp| stamp.number).collect::<Vec<_>>(), [4]);
}
