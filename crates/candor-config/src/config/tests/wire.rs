//! `[wire]`.

use std::num::NonZeroU8;
use std::time::Duration;

use super::*;
use crate::wire::{Wire, WireBus, WireModel, WireOrder};
use candor_core::units::BitRate;

const BUS: &str = "[wire.bus.b0]\nbitrate = \"500kbit/s\"\ninterfaces = [\"can0\", \"can1\"]\n";

/// Words of faults that are known here: those that begin with an `x`.
fn wire(text: &str) -> Result<Option<(Wire, Vec<String>)>, Vec<&'static str>> {
    let fault = |text: &str| if text.starts_with('x') { Ok(text.to_owned()) } else { Err("no x".to_owned()) };
    load_wire(text.as_bytes(), fault).map_err(|findings| findings.iter().map(|finding| finding.code).collect())
}

fn kbit(kbit: u32) -> BitRate {
    BitRate::from_bits_per_second(kbit * 1000).unwrap()
}

#[test]
fn everything_that_is_written_is_there() {
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
fn what_is_no_bus_is_refused() {
    for (text, expected) in [
        ("[wire]\n", code::NO_BUS),
        ("[wire.bus.b0]\ninterfaces = [\"a\"]\n", code::MISSING_KEY),
        ("[wire.bus.b0]\nbitrate = \"500kbit/s\"\n", code::MISSING_KEY),
        ("[wire.bus.b0]\nbitrate = \"500\"\ninterfaces = [\"a\"]\n", code::BIT_RATE),
        (
            "[wire.bus.b0]\nbitrate = \"500kbit/s\"\ndata-bitrate = \"125kbit/s\"\ninterfaces = [\"a\"]\n",
            code::BIT_RATE,
        ),
        ("[wire.bus.b0]\nbitrate = \"500kbit/s\"\ninterfaces = []\n", code::INTERFACE),
        ("[wire.bus.b0]\nbitrate = \"500kbit/s\"\ninterfaces = [\"a\", \"a\"]\n", code::SHARED_INTERFACE),
        ("[wire.bus.\"b 0\"]\nbitrate = \"500kbit/s\"\ninterfaces = [\"a\"]\n", code::NAME),
        ("wire = 1\n", code::WRONG_TYPE),
    ] {
        assert_eq!(wire(text), Err(vec![expected]), "{text}");
    }
    let twice = format!("{BUS}{}", BUS.replace("b0", "b1"));
    assert_eq!(wire(&twice), Err(vec![code::SHARED_INTERFACE, code::SHARED_INTERFACE]));
}

#[test]
fn what_cannot_be_played_is_refused() {
    for (keys, expected) in [
        ("model = \"kvaser\"", code::WIRE_WORD),
        ("order = \"random\"", code::WIRE_WORD),
        ("depth = 0", code::RANGE),
        ("depth = 256", code::RANGE),
        ("seed = -1", code::RANGE),
        ("late = \"1\"", code::DURATION),
        ("faults = [\"x\", \"y\"]", code::FAULT),
        ("faults = \"x\"", code::WRONG_TYPE),
        ("force-rates = 1", code::WRONG_TYPE),
        ("adapters = \"can0\"", code::WRONG_TYPE),
        ("adapters = [\"can0\"]", code::WRONG_TYPE),
        ("adapters = [[\"can0\", \"can7\"]]", code::INTERFACE),
        ("adapters = [[\"can0\"], [\"can0\"]]", code::SHARED_INTERFACE),
        ("colour = \"red\"", code::UNKNOWN_KEY),
    ] {
        assert_eq!(wire(&format!("[wire]\n{keys}\n{BUS}")), Err(vec![expected]), "{keys}");
    }
}

/// One file for both: the buses need no gateway, a gateway needs no buses, but what is there must be right.
#[test]
fn a_gateway_and_its_buses_do_not_disturb_each_other() {
    let gateway = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
                   [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n";
    assert_eq!(wire(gateway), Ok(None));
    let alone = load(gateway.as_bytes()).unwrap();
    let both = load(format!("{gateway}{BUS}").as_bytes()).unwrap();
    assert_eq!((alone.plan, alone.warnings), (both.plan, both.warnings));
    let codes = |text: &str| load(text.as_bytes()).unwrap_err().iter().map(|finding| finding.code).collect::<Vec<_>>();
    assert_eq!(codes(&format!("{gateway}[wire]\n")), [code::NO_BUS]);
    assert_eq!(codes(BUS), [code::NO_ROUTE]);
    // A route to nowhere is the gateway's matter.
    assert!(wire(&format!("{BUS}{}", gateway.replace("to = \"b\"", "to = \"c\""))).unwrap().is_some());
}
