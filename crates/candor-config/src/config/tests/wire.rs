//! `[wire]`.

use std::num::NonZeroU8;
use std::time::Duration;

use super::*;
use crate::wire::{Wire, WireBus, WireModel, WireOrder};
use candor_core::units::BitRate;

const BUS: &str = "[wire.bus.b0]\nbitrate = \"500kbit/s\"\ninterfaces = [\"can0\", \"can1\"]\n";

/// Accepts texts that start with an `x`.
fn fault(text: &str) -> Result<String, String> {
    if text.starts_with('x') { Ok(text.to_owned()) } else { Err("no x".to_owned()) }
}

fn wire(text: &str) -> Result<Option<(Wire, Vec<String>)>, Vec<&'static str>> {
    load_wire(text.as_bytes(), fault).map_err(|findings| findings.iter().map(|finding| finding.code).collect())
}

fn kbit(kbit: u32) -> BitRate {
    BitRate::from_bits_per_second(kbit * 1000).unwrap()
}

#[test]
fn reads_all_keys() {
    let text = "[wire]\nadapters = [[\"can2\", \"can0\"], [\"can1\"], []]\nmodel = \"ucan\"\ndepth = 3\norder = \"lowest-id\"\nforce-rates = true\nseed = 7\nlate = \"2ms\"\n\
                log = \"a.log\"\npcapng = \"a.pcapng\"\nfaults = [\"x 1\", \"x 2\"]\n[wire.bus.b-1]\nbitrate = \"125kbit/s\"\n\
                data-bitrate = \"1Mbit/s\"\ninterfaces = [\"can2\"]\n";
    let (found, faults) = wire(&format!("{text}{BUS}")).unwrap().unwrap();
    let bus = |name: &str, bitrate, data_bitrate, interfaces: &[&str]| WireBus {
        name: name.to_owned(),
        bitrate,
        data_bitrate,
        interfaces: interfaces.iter().map(|&name| name.to_owned()).collect(),
    };
    let expected = Wire {
        buses: vec![bus("b-1", kbit(125), Some(kbit(1000)), &["can2"]), bus("b0", kbit(500), None, &["can0", "can1"])],
        adapters: vec![vec!["can2".to_owned(), "can0".to_owned()], vec!["can1".to_owned()]],
        model: Some(WireModel::Ucan),
        depth: NonZeroU8::new(3),
        order: Some(WireOrder::LowestId),
        force_rates: true,
        seed: Some(7),
        late: Some(Duration::from_millis(2)),
        log: Some("a.log".to_owned()),
        pcapng: Some("a.pcapng".to_owned()),
    };
    assert_eq!(found, expected);
    assert_eq!(faults, ["x 1", "x 2"]);
    let (plain, faults) = wire(BUS).unwrap().unwrap();
    assert_eq!((plain.model, plain.depth, plain.seed, plain.force_rates), (None, None, None, false));
    assert!(faults.is_empty());
}

#[test]
fn underlines_errors_in_software_buses() {
    let file = |text: &str| format!("{text}\n");
    check_cases(include_str!("wire.txt"), file, |text| load_wire(text.as_bytes(), fault).unwrap_err());
    let twice = format!("{BUS}{}", BUS.replace("b0", "b1"));
    assert_eq!(wire(&twice), Err(vec![code::SHARED_INTERFACE, code::SHARED_INTERFACE]));
}

/// Neither needs the other, but both must be valid.
#[test]
fn gateway_and_software_buses_share_a_file() {
    let gateway = &with_route("");
    assert_eq!(wire(gateway), Ok(None));
    let alone = load(gateway.as_bytes()).unwrap();
    let both = load(format!("{gateway}{BUS}").as_bytes()).unwrap();
    assert_eq!((alone.plan, alone.warnings), (both.plan, both.warnings));
    assert_eq!(codes(&format!("{gateway}[wire]\n")), [code::NO_BUS]);
    assert_eq!(codes(BUS), [code::NO_ROUTE]);
    // An unknown bus of a route is not an error here.
    assert!(wire(&format!("{BUS}{}", gateway.replace("to = \"b\"", "to = \"c\""))).unwrap().is_some());
}
