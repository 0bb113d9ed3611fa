//! The driver gs_usb and an emulated device.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

mod driver;

use std::num::NonZeroU8;

use candor_bus::{BusNs, Counters, ErrorKind, ErrorState};
use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_BRS, Frame, RawId};
use candor_wire::model::{GsUsb, gs_usb};
use candor_wire::{Channel, Notice, Part, Request};
use driver::gs_usb::{GsUsbDriver, MODE_BERR_REPORTING, MODE_FD, MODE_LISTEN_ONLY};
use driver::{Driver, Heard, frame, state, words};

fn device(channels: u8, depth: u8, fd: bool) -> GsUsbDriver {
    let channels = NonZeroU8::new(channels).unwrap();
    let model = GsUsb::new(gs_usb::Options { channels, depth, fd, serial: "wire0".into() });
    GsUsbDriver::probe(model, 64)
}

fn opened(mode: u32) -> GsUsbDriver {
    let mut driver = device(1, 10, mode & MODE_FD != 0);
    driver.open(0, mode).unwrap();
    driver.host.requests();
    driver
}

fn poll_all(driver: &mut GsUsbDriver) -> Vec<Heard> {
    std::iter::from_fn(|| Some(driver.poll()).filter(|heard| !heard.is_empty())).flatten().collect()
}

#[test]
fn interface_up_starts_its_channel_at_the_configured_rate() {
    let mut driver = device(3, 10, true);
    driver.open(1, MODE_FD).unwrap();
    let requests = driver.host.requests();
    let [Request::Start { channel, timing, listen_only: false, one_shot: false }] = requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!(channel, Channel(1));
    assert_eq!(timing.nominal.bits_per_second(), 500_000);
    assert_eq!(timing.data.unwrap().bits_per_second(), 2_000_000);
    driver.open(0, 0).unwrap();
    let requests = driver.host.requests();
    assert!(matches!(requests[..], [Request::Start { channel: Channel(0), timing, .. }] if timing.data.is_none()));
    driver.close(1);
    assert_eq!(driver.host.requests(), [Request::Stop { channel: Channel(1) }]);
}

#[test]
fn frames_of_all_kinds_are_echoed_with_bus_time() {
    let mut driver = opened(MODE_FD);
    let mut raw_dlc = frame(0x123, &[1, 2, 3, 4, 5, 6, 7, 8]);
    raw_dlc.len8_dlc = 13;
    let mut remote = frame(0x7FF | CAN_RTR_FLAG, &[]);
    remote.len = 5;
    let frames = [
        frame(0x123, &[1, 2, 3]),
        frame(CAN_EFF_FLAG | 0x1234_5678, &[]),
        remote,
        raw_dlc,
        Frame::fd(RawId(0x456), CANFD_BRS, &[7; 64]).unwrap(),
        Frame::fd(RawId(0x456), 0, &[8; 12]).unwrap(),
    ];
    for (frame, slot) in frames.iter().zip(0..) {
        assert_eq!(driver.send(0, frame), Some(slot));
    }
    assert_eq!(driver.poll(), [], "no answer before transmission");
    let tags = driver.host.sends();
    assert_eq!(tags.iter().map(|(_, frame)| *frame).collect::<Vec<_>>(), frames);
    for (&sent, at_us) in tags.iter().zip(1000..) {
        driver.host.sent(0, sent, at_us);
    }
    let echoes: Vec<Heard> = (0..6).map(|slot| Heard::Echo(0, slot, Some(1000 + slot))).collect();
    assert_eq!(driver.poll(), echoes);
    assert_eq!(driver.taken(), 0);
    for frame in frames {
        driver.host.received(0, frame, 0x1_0000_0007); // beyond 32 bits of microseconds
        assert_eq!(driver.poll(), [Heard::Received(0, frame, Some(7))]);
    }
}

#[test]
fn channels_share_posted_transfers() {
    let mut driver = device(3, 10, false);
    for channel in 0..3 {
        driver.open(channel, 0).unwrap();
    }
    let sent = frame(0x100, &[1]);
    driver.send(2, &sent);
    let tag = driver.host.sends()[0];
    driver.host.received(0, sent, 5);
    driver.host.received(1, sent, 5);
    driver.host.sent(2, tag, 5);
    let heard = [Heard::Received(0, sent, Some(5)), Heard::Received(1, sent, Some(5)), Heard::Echo(2, 0, Some(5))];
    assert_eq!(driver.poll(), heard);
    driver.close(0);
    driver.host.received(0, sent, 6);
    driver.host.received(1, sent, 6);
    assert_eq!(driver.poll(), [Heard::Received(1, sent, Some(6))], "a channel that is down receives nothing");
}

#[test]
fn aborted_frame_fails_its_transfer_and_frees_its_slot() {
    let mut driver = opened(0);
    for id in 0..10 {
        driver.send(0, &frame(id, &[]));
    }
    assert_eq!(driver.send(0, &frame(10, &[])), None);
    let tags = driver.host.sends();
    driver.host.failed(0, tags[3].0);
    driver.host.failed(0, tags[3].0);
    assert_eq!(driver.poll(), [Heard::Dropped(0, 3)]);
    assert_eq!((driver.taken(), driver.tx_dropped(0)), (9, 1));
    assert_eq!(driver.send(0, &frame(10, &[])), Some(3));
    assert_eq!(driver.poll(), [], "the slot is free on both sides");
    assert_eq!(driver.host.sends()[0].1, frame(10, &[]));
}

#[test]
fn latest_state_is_kept_when_queue_is_full() {
    let mut driver = opened(0);
    for id in 0..30 + 64 {
        driver.host.received(0, frame(id, &[]), 1);
    }
    for transmit in 96..116 {
        let state_now = if transmit % 2 == 0 { ErrorState::Warning } else { ErrorState::Active };
        driver.host.notice(state(state_now, transmit));
    }
    assert_eq!(driver.host.device.statistics().waiting_most, 65, "twenty states occupy one entry");
    let heard = poll_all(&mut driver);
    assert_eq!(heard.len(), 95);
    assert_eq!(heard[94], Heard::Error(0, 0x2000_0004, [0, 0x40, 0, 0, 0, 0, 115, 0]));
}

#[test]
fn interface_down_cancels_its_frames() {
    let mut driver = opened(0);
    driver.send(0, &frame(1, &[]));
    driver.send(0, &frame(2, &[]));
    let tags = driver.host.sends();
    driver.close(0);
    let cancel = |index: usize| Request::Cancel { channel: Channel(0), tag: tags[index].0 };
    assert_eq!(driver.host.requests(), [cancel(0), cancel(1), Request::Stop { channel: Channel(0) }]);
    // The first was being transmitted.
    driver.host.sent(0, tags[0], 77);
    driver.open(0, 0).unwrap();
    assert_eq!(driver.poll(), []);
    driver.send(0, &frame(3, &[]));
    driver.host.sent(0, tags[1], 78);
    assert_eq!(driver.poll(), [], "an old tag is ignored");
}

#[test]
fn states_and_recovery_are_reported_once() {
    let mut driver = opened(0);
    let mut tell = |state| {
        driver.host.notice(state);
        let ids: Vec<(u32, u8)> = driver
            .poll()
            .iter()
            .map(|heard| match heard {
                Heard::Error(0, id, data) => (*id & 0x1FF, data[1]),
                other => panic!("{other:?}"),
            })
            .collect();
        (ids, driver.host.requests())
    };
    assert_eq!(tell(state(ErrorState::Warning, 96)), (vec![(0x004, 0x08)], vec![]));
    assert_eq!(tell(state(ErrorState::Warning, 104)), (vec![], vec![]));
    assert_eq!(tell(state(ErrorState::Passive, 128)), (vec![(0x004, 0x20)], vec![]));
    let restart = vec![Request::Restart { channel: Channel(0) }];
    assert_eq!(tell(state(ErrorState::BusOff, 256)), (vec![(0x040, 0)], restart));
    assert_eq!(tell(state(ErrorState::Active, 0)), (vec![(0x100, 0)], vec![]));
}

#[test]
fn newer_drivers_query_state_and_counters() {
    let mut driver = opened(0);
    assert_eq!(driver.host.control_in(0xC1, 14, 0, 0, 12).unwrap(), [0; 12]);
    driver.host.notice(state(ErrorState::Passive, 136));
    driver.poll();
    assert_eq!(driver.host.control_in(0xC1, 14, 0, 0, 12).unwrap(), [2, 0, 0, 0, 0, 0, 0, 0, 136, 0, 0, 0]);
    driver.close(0);
    assert_eq!(driver.host.control_in(0xC1, 14, 0, 0, 12).unwrap()[0], 4, "stopped");
    assert_eq!(driver.host.control_in(0xC1, 14, 1, 0, 12), Err(-32), "no such channel");
}

#[test]
fn bus_errors_are_reported_with_berr_reporting() {
    let counters = Counters { transmit: 8, receive: 0 };
    let error =
        Notice::BusError { channel: Channel(0), kind: ErrorKind::Ack, part: Part::Sender, counters, at: BusNs(0) };
    let lost = Notice::LostArbitration { channel: Channel(0), bit: 3, at: BusNs(0) };
    let mut quiet = opened(0);
    quiet.host.notice(error);
    quiet.host.notice(lost);
    assert_eq!(quiet.poll(), []);
    let mut verbose = opened(MODE_BERR_REPORTING);
    verbose.host.notice(error);
    verbose.host.notice(lost);
    let heard = [
        Heard::Error(0, 0x2000_00A8, [0, 0, 0x80, 0x19, 0, 0, 8, 0]),
        Heard::Error(0, 0x2000_0002, [3, 0, 0, 0, 0, 0, 0, 0]),
    ];
    assert_eq!(verbose.poll(), heard);
}

#[test]
fn frames_beyond_the_queue_are_counted_and_reported() {
    let mut driver = opened(0);
    for id in 0..30 + 64 + 5 {
        driver.host.received(0, frame(id, &[]), 1);
    }
    assert_eq!(driver.host.device.statistics().dropped, 5);
    let heard = poll_all(&mut driver);
    assert_eq!(heard.len(), 95);
    assert_eq!(heard.last(), Some(&Heard::Overflow(0)), "reported with the last frame before the loss");
    assert_eq!(driver.host.device.statistics().waiting_most, 64);
    driver.host.notice(Notice::Overflow { channel: Channel(0) });
    assert_eq!(driver.poll(), [], "gs_usb has no message for this");
    driver.host.received(0, frame(1, &[]), 1);
    assert_eq!(driver.poll().last(), Some(&Heard::Overflow(0)));
}

#[test]
fn interface_up_again_has_an_empty_queue() {
    let mut driver = opened(0);
    for dropped in [1, 2, 3] {
        let before = driver.host.device.statistics().dropped;
        driver.host.notice(Notice::Overflow { channel: Channel(0) });
        for id in 0..30 + 64 + dropped {
            driver.host.received(0, frame(id, &[]), 1);
        }
        assert_eq!(driver.host.device.statistics().dropped - before, u64::from(dropped));
        driver.host.answers();
        driver.close(0);
        driver.host.notice(Notice::Overflow { channel: Channel(0) }); // of a channel that is down
        assert_eq!(driver.host.device.statistics().waiting, 0);
        driver.open(0, 0).unwrap();
    }
    driver.host.received(0, frame(1, &[]), 1);
    assert_eq!(driver.poll(), [Heard::Received(0, frame(1, &[]), Some(1))]);
}

#[test]
fn plugs_reduce_depth_until_interface_goes_down() {
    let mut driver = device(1, 2, false);
    for _ in 0..2 {
        driver.open(0, 0).unwrap();
        driver.host.requests();
        for _ in 0..8 {
            driver.send(0, &gs_usb::plug()).unwrap();
        }
        assert_eq!(driver.poll(), []);
        assert_eq!(driver.host.requests(), [], "no plug reaches the bus");
        driver.send(0, &gs_usb::plug()).unwrap();
        driver.send(0, &frame(1, &[])).unwrap();
        assert_eq!(driver.host.sends().len(), 2, "one more plug is a frame");
        assert_eq!(driver.send(0, &frame(2, &[])), None, "two slots are left");
        driver.close(0);
        assert_eq!(driver.taken(), 0);
    }
}

#[test]
fn invalid_requests_stall() {
    let mut driver = device(1, 10, false);
    let host = &mut driver.host;
    assert_eq!(host.control_out(0x41, 2, 0, 0, &words(&[1, 0])), Err(-32), "start without bit timing");
    assert_eq!(host.control_out(0x41, 1, 0, 0, &words(&[69, 70, 20, 10, 0])), Err(-32), "brp 0");
    assert_eq!(host.control_out(0x41, 1, 1, 0, &words(&[69, 70, 20, 10, 1])), Err(-32), "channel 1 of 1");
    assert_eq!(host.control_out(0x41, 1, 0, 0, &words(&[69, 70, 20, 10])), Err(-32), "missing word");
    assert_eq!(host.control_out(0x41, 10, 0, 0, &words(&[14, 15, 10, 5, 1])), Err(-32), "no FD");
    assert_eq!(host.control_in(0xC1, 11, 0, 0, 72), Err(-32), "no FD");
    assert_eq!(host.control_in(0xC0, 5, 1, 0, 12), Err(-32), "to the device");
    assert_eq!(host.control_in(0xA1, 5, 1, 0, 12), Err(-32), "class request");
    assert_eq!(host.control_out(0x41, 7, 0, 0, &words(&[1])), Err(-32), "identify is not offered");
    host.control_out(0x41, 1, 0, 0, &words(&[69, 70, 20, 10, 1])).unwrap();
    assert_eq!(host.control_out(0x41, 2, 0, 0, &words(&[1, 2])), Err(-32), "loopback is not offered");
    assert_eq!(host.control_out(0x41, 2, 0, 0, &words(&[1, MODE_FD])), Err(-32), "no FD");
    assert_eq!(host.control_out(0x41, 2, 0, 0, &words(&[2, 0])), Err(-32), "no such mode");
    assert_eq!(host.control_out_raw([0x00, 9, 1, 0, 0, 0, 0, 0], &[0; 4]), Err(-32), "data beyond wLength");
    assert_eq!(host.requests(), []);
    assert_eq!(driver.host.control_in(0xC1, 4, 0, 0, 8).unwrap().len(), 8, "truncated to the room");
}

#[test]
fn unsendable_frames_are_refused_at_once() {
    let mut driver = device(1, 10, true);
    driver.send(0, &frame(1, &[]));
    assert_eq!(driver.poll(), [Heard::Dropped(0, 0)], "the channel is down");
    driver.open(0, MODE_LISTEN_ONLY).unwrap();
    driver.send(0, &frame(1, &[]));
    assert_eq!(driver.poll(), [Heard::Dropped(0, 0)], "listen only");
    driver.close(0);
    driver.open(0, 0).unwrap();
    driver.host.requests();
    driver.send(0, &Frame::fd(RawId(1), 0, &[]).unwrap());
    assert_eq!(driver.poll(), [Heard::Dropped(0, 0)], "not opened for CAN FD");
    assert_eq!(driver.host.requests(), []);
    assert_eq!(driver.host.device.statistics().refused, 3);
}

#[test]
fn more_frames_than_slots_are_refused() {
    let mut driver = opened(0);
    let send = |driver: &mut GsUsbDriver, slot: u8| {
        let message = [&[slot, 0, 0, 0, 0x23, 1, 0, 0, 0, 0, 0, 0][..], &[0; 8]].concat();
        driver.host.bulk_out(&message);
        driver.host.answers().first().map(|answer| answer.status)
    };
    for slot in 100..110 {
        assert_eq!(send(&mut driver, slot), None, "held");
    }
    assert_eq!(send(&mut driver, 110), Some(-71));
}

#[test]
fn transfer_with_too_little_room_fails_without_loss() {
    let mut driver = opened(0);
    driver.close(0);
    driver.host.control_out(0x41, 2, 0, 0, &[1, 0, 0, 0, 0x10, 0, 0, 0]).unwrap();
    driver.host.received(0, frame(9, &[1, 2]), 4);
    let small = driver.host.post(23);
    let big = driver.host.post(24);
    let answers = driver.host.answers();
    assert_eq!((answers[0].seqnum, answers[0].status, answers[0].data.len()), (small, -75, 0));
    assert_eq!((answers[1].seqnum, answers[1].status, answers[1].data.len()), (big, 0, 24));
}

#[test]
fn configuration_and_unplug_stop_all_channels() {
    for unplug in [false, true] {
        let mut driver = device(2, 10, false);
        driver.open(0, 0).unwrap();
        driver.open(1, 0).unwrap();
        driver.send(1, &frame(1, &[])).unwrap();
        driver.host.requests();
        driver.host.received(0, frame(2, &[]), 1);
        assert_eq!(driver.host.held(), 1);
        if unplug {
            driver.host.device.unplug(&mut driver.host.requests);
        } else {
            driver.host.set_configuration(1);
        }
        assert_eq!([0, 1].map(|channel| Request::Stop { channel: Channel(channel) }), driver.host.requests()[..]);
        assert!(driver.host.device.health().iter().all(|health| !health.is_started));
        driver.host.received(0, frame(2, &[]), 1);
        assert_eq!(driver.poll(), []);
        assert_eq!(driver.host.held(), 0, "no transfer stays pending");
    }
}
