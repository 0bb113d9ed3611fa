//! Replays the corpus of the fuzz target `wire_device`.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

mod driver;

use std::fs;
use std::num::NonZeroU8;

use candor_core::frame::{Frame, RawId};
use candor_wire::invariants;
use candor_wire::model::{GsUsb, Ucan, gs_usb};
use driver::Driver;
use driver::gs_usb::{GsUsbDriver, MODE_BERR_REPORTING, MODE_FD};
use driver::ucan::UcanDriver;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/wire_device");

#[test]
fn corpus_holds_the_invariants() {
    let mut replayed = 0;
    for entry in fs::read_dir(FOLDER).unwrap() {
        invariants::check(&fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed >= 8, "only {replayed} files");
}

/// Notices of the bus, as encoded in `candor_wire::invariants`.
const SENT: u8 = 128;
const FAILED: u8 = 129;
const RECEIVED: u8 = 130;
const STATE: u8 = 131;
const BUS_ERROR: u8 = 132;
const LOST_ARBITRATION: u8 = 133;
const OVERFLOW: u8 = 134;
/// Error states of channel 0.
const PASSIVE: u8 = 2 << 2;
const BUS_OFF: u8 = 3 << 2;
const ACTIVE: u8 = 0;

/// The fuzzer starts with dialogues of the fake drivers. When a driver changes, the new seeds are in the directory that
/// the message names.
#[test]
fn seeds_are_dialogues_of_fake_drivers() {
    let fresh = tempfile::tempdir().unwrap().keep();
    let mut differ = Vec::new();
    for (name, bytes) in seeds() {
        if fs::read(format!("{FOLDER}/{name}")).ok().as_ref() != Some(&bytes) {
            fs::write(fresh.join(&name), bytes).unwrap();
            differ.push(name);
        }
    }
    assert!(differ.is_empty(), "{differ:?} have changed; copy them from {} to {FOLDER}", fresh.display());
    fs::remove_dir(fresh).unwrap();
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = vec![("nothing".to_owned(), Vec::new())];
    let stuttering = [[RECEIVED, 0]; 3].concat();
    let bus = [SENT, 1, SENT, 0, FAILED, 2, RECEIVED, 0, LOST_ARBITRATION, 0, BUS_ERROR, 0, STATE, PASSIVE];
    let bus_off = [STATE, PASSIVE, STATE, BUS_OFF, SENT, 0];
    let back = [STATE, ACTIVE, RECEIVED, 0, OVERFLOW, 0, RECEIVED, 0];
    for (name, notices) in
        [("bus", &bus[..]), ("bus-off", &[&bus_off[..], &back].concat()), ("full", &stuttering.repeat(20))]
    {
        let mut driver = open_ucan();
        for id in 0..3 {
            driver.send(0, &frame(id));
        }
        seeds.push((format!("ucan-{name}"), scenario(0b111, &mut driver.host.written, notices)));

        let channels = NonZeroU8::new(2).unwrap();
        let options = gs_usb::Options { channels, depth: 10, fd: true, serial: String::new() };
        let mut driver = GsUsbDriver::probe(GsUsb::new(options), 4);
        driver.open(0, MODE_FD | MODE_BERR_REPORTING).unwrap();
        driver.open(1, 0).unwrap();
        for id in 0..3 {
            driver.send(0, &frame(id));
        }
        driver.send(0, &Frame::fd(RawId(4), 1, &[4; 64]).unwrap());
        let mut bytes = scenario(0b010, &mut driver.host.written, notices);
        driver.close(0);
        driver.close(1);
        bytes.extend(invariants::stream_steps(&driver.host.written));
        seeds.push((format!("gs-usb-{name}"), bytes));
    }
    let mut driver = open_ucan();
    driver.send(0, &frame(1));
    driver.close();
    seeds.push(("ucan-down".to_owned(), scenario(0b111, &mut driver.host.written, &[])));
    seeds
}

fn open_ucan() -> UcanDriver {
    let mut driver = UcanDriver::probe(Ucan::new(NonZeroU8::new(4).unwrap(), String::new()), 4);
    driver.set_bit_timing().unwrap();
    driver.open(0).unwrap();
    driver
}

fn frame(id: u32) -> Frame {
    Frame::classic(RawId(id), &[1, 2, 3]).unwrap()
}

/// The bytes written so far, then notices.
fn scenario(model: u8, written: &mut Vec<u8>, notices: &[u8]) -> Vec<u8> {
    let mut bytes = vec![model];
    bytes.extend(invariants::stream_steps(&std::mem::take(written)));
    bytes.extend_from_slice(notices);
    bytes
}
