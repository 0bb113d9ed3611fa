//! The driver against a model of the controller: which registers it writes, and what it makes of those it reads.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod model;

use candor_sja1000::{BitTiming, Registers, Silent, Sja1000, Wiring};
use model::Controller;

const CLOCK_HZ: u32 = 8_000_000;

fn timing() -> BitTiming {
    BitTiming::of(1_000_000, CLOCK_HZ).unwrap()
}

fn started() -> (Controller, Sja1000<Controller>) {
    let chip = Controller::new();
    let driver = Sja1000::start(chip.clone(), timing(), Wiring::TRANSCEIVER).unwrap();
    (chip, driver)
}

/// `struct can_frame`.
fn frame(id: u32, len: u8, raw_dlc: u8, data: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&id.to_ne_bytes());
    (bytes[4], bytes[7]) = (len, raw_dlc);
    bytes[8..8 + data.len()].copy_from_slice(data);
    bytes
}

/// Frames as `struct can_frame` and in the registers, by hand from the data sheet (sections 6.4.13 and 6.4.14).
fn both() -> Vec<([u8; 16], Vec<u8>)> {
    vec![
        (frame(0x123, 2, 0, &[0x11, 0x22]), vec![0x02, 0x24, 0x60, 0x11, 0x22]),
        (frame(0x7FF, 0, 0, &[]), vec![0x00, 0xFF, 0xE0]),
        (frame(0, 8, 0, &[1, 2, 3, 4, 5, 6, 7, 8]), vec![0x08, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (frame(0x9234_5678, 1, 0, &[0xAB]), vec![0x81, 0x91, 0xA2, 0xB3, 0xC0, 0xAB]),
        (frame(0x9FFF_FFFF, 0, 0, &[]), vec![0x80, 0xFF, 0xFF, 0xFF, 0xF8]),
        // Remote frames have a length, but no data.
        (frame(0x4000_0321, 5, 0, &[]), vec![0x45, 0x64, 0x20]),
        (frame(0xC000_0001, 8, 0, &[]), vec![0xC8, 0, 0, 0, 0x08]),
        // A raw DLC of 13 means 8 bytes.
        (frame(0x456, 8, 13, &[9; 8]), vec![0x0D, 0x8A, 0xC0, 9, 9, 9, 9, 9, 9, 9, 9]),
    ]
}

#[test]
fn start_sets_up_every_register_and_connects() {
    let (chip, _driver) = started();
    chip.look(|chip| {
        assert_eq!(chip.mode, 0x00, "connected");
        assert_eq!(chip.divider, 0xC7, "PeliCAN, comparator bypassed");
        assert_eq!(chip.timing, [0x00, 0x14], "8 quanta of 125 ns, sampled after 6");
        assert_eq!(chip.output, 0x1A);
        assert_eq!(chip.acceptance, [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], "compares no bit");
        assert_eq!(chip.enable, 0x2F, "frames, room, errors, overruns; not each bit error");
    });
}

#[test]
fn bit_timings() {
    let registers = |rate| BitTiming::of(rate, CLOCK_HZ).map(|timing| (timing.register_0(), timing.register_1()));
    assert_eq!(registers(1_000_000), Some((0x00, 0x14)));
    assert_eq!(registers(500_000), Some((0x00, 0x1C)), "16 quanta, sampled after 14");
    assert_eq!(registers(250_000), Some((0x01, 0x1C)));
    assert_eq!(registers(125_000), Some((0x03, 0x1C)));
    assert_eq!(registers(10_000), Some((0x27, 0x2F)), "20 quanta of 5 µs, sampled after 17");
    for impossible in [0, 3_000, 2_000_000, 999_999] {
        assert_eq!(registers(impossible), None, "{impossible}");
    }
}

#[test]
fn frames_are_received_in_order() {
    let (chip, mut driver) = started();
    assert_eq!(driver.receive(), None);
    for (kernel, registers) in both() {
        chip.arrive(&registers);
        assert!(driver.interrupts().has_received());
        assert_eq!(driver.receive(), Some(kernel), "{registers:02X?}");
        assert!(!chip.interrupts());
    }
    let two = &both()[..2];
    two.iter().for_each(|(_, registers)| chip.arrive(registers));
    assert_eq!([driver.receive(), driver.receive(), driver.receive()], [Some(two[0].0), Some(two[1].0), None]);
}

#[test]
fn frames_are_sent_as_they_are() {
    let (chip, mut driver) = started();
    for (kernel, registers) in both() {
        assert!(driver.has_room());
        driver.send(&kernel);
        assert_eq!(chip.look(|chip| chip.sent.pop()), Some(registers));
        let events = driver.interrupts();
        assert!(events.has_room() && !events.has_received() && driver.interrupts().is_empty());
    }
}

#[test]
fn lengths_and_identifiers_that_no_frame_has_do_not_reach_the_bus() {
    let (chip, mut driver) = started();
    driver.send(&frame(0x0000_1FFF, 99, 0, &[1, 2]));
    assert_eq!(chip.look(|chip| chip.sent.pop().unwrap()[..4].to_vec()), [0x08, 0xFF, 0xE0, 1]);
    driver.send(&frame(0x123, 3, 12, &[1, 2, 3]));
    assert_eq!(chip.look(|chip| chip.sent.pop().unwrap()[0]), 3, "a raw DLC needs 8 bytes");
}

#[test]
fn room_returns_when_the_frame_is_on_the_bus() {
    let (chip, mut driver) = started();
    chip.look(|chip| chip.slow = true);
    driver.send(&both()[0].0);
    assert!(!driver.has_room() && driver.interrupts().is_empty());
    chip.complete();
    assert!(driver.has_room() && driver.interrupts().has_room());
}

#[test]
fn overrun_is_reported_and_the_fifo_stays_usable() {
    let (chip, mut driver) = started();
    let (kernel, registers) = &both()[2];
    for _ in 0..7 {
        chip.arrive(registers); // 11 of 64 bytes
    }
    let events = driver.interrupts();
    assert!(events.has_overrun() && events.has_received());
    let mut received = 0;
    while let Some(frame) = driver.receive() {
        assert_eq!(frame, *kernel);
        received += 1;
    }
    assert_eq!(received, 5);
    // Without the command, the next overrun raises no interrupt.
    driver.clear_overrun();
    (0..6).for_each(|_| chip.arrive(registers));
    assert!(driver.interrupts().has_overrun());
}

#[test]
fn recovers_from_bus_off() {
    let (chip, mut driver) = started();
    assert!(!driver.is_bus_off());
    chip.leave();
    assert!(driver.interrupts().has_errors() && driver.is_bus_off());
    chip.look(|chip| chip.errors = [7, 127]);
    assert_eq!(driver.error_counters(), [7, 127]);
    driver.recover().unwrap();
    assert!(!driver.is_bus_off());
    driver.send(&both()[0].0);
    assert_eq!(chip.look(|chip| chip.sent.len()), 1);
}

#[test]
fn waits_for_a_controller_that_completes_a_frame_first() {
    let chip = Controller::new();
    chip.look(|chip| (chip.mode, chip.stubborn) = (0x00, 20));
    assert!(Sja1000::start(chip.clone(), timing(), Wiring::TRANSCEIVER).is_ok());
    chip.look(|chip| chip.stubborn = u32::MAX);
    let driver = Sja1000::start(chip.clone(), timing(), Wiring::TRANSCEIVER);
    assert_eq!(driver.err(), Some(Silent));
}

#[test]
fn a_bus_without_a_controller_is_silent() {
    for level in [0x00, 0xFF] {
        struct Nothing(u8);
        impl Registers for Nothing {
            fn read(&mut self, _register: u8) -> u8 {
                self.0
            }
            fn write(&mut self, _register: u8, _value: u8) {}
        }
        assert_eq!(Sja1000::start(Nothing(level), timing(), Wiring::TRANSCEIVER).err(), Some(Silent));
    }
}

#[test]
fn stop_leaves_the_bus_and_forgets() {
    let (chip, driver) = started();
    chip.arrive(&both()[0].1);
    let mut registers = driver.stop().unwrap();
    assert_eq!((registers.read(0) & 1, registers.read(3), chip.interrupts()), (1, 0, false));
    let mut driver = Sja1000::start(registers, timing(), Wiring::TRANSCEIVER).unwrap();
    assert_eq!(driver.receive(), None, "nothing is left from before");
}
