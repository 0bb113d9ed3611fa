//! Messages of `tc` (iproute2 6.1) for a command, as captured, their value, and the messages of candor for this value.
//!
//! `golden.hex` has the command, the bytes of tc, and those of candor where they differ: candor sends only the rate table that
//! the kernel requires, no unused size tables, and no `NLA_F_NESTED` except for ets.
#![cfg(target_endian = "little")]

use crate::canonical::Part;

use super::*;

#[test]
fn tc_captures_decode_and_encode_as_recorded() {
    let names = InterfaceNames::from_iter([(InterfaceIndex::new(1).unwrap(), "lo".to_owned())]);
    let mut values = String::new();
    for capture in include_str!("golden.hex").split("# ").skip(1) {
        let mut lines = capture.lines();
        let command = lines.next().unwrap();
        let bytes = |line: &str| from_hex(line.split_once(' ').unwrap().1);
        let tc = bytes(lines.next().unwrap());
        let (value, shown) = decoded(command, &tc, &names);
        let ours = encoded(&value, &names);
        assert_eq!(hex(&ours), hex(&lines.next().map_or(tc, bytes)), "{command}");
        assert_eq!(decoded(command, &ours, &names).0, value, "{command}");
        values += &format!("{command}\n    {shown}\n");
    }
    insta::assert_snapshot!(values);
}

fn encoded(value: &Part, names: &InterfaceNames) -> Vec<u8> {
    let interface = InterfaceIndex::new(1).unwrap();
    let message = match value {
        Part::Class(class) => class_message(interface, class, Mode::Make),
        Part::Filter(filter) => filter_message(interface, filter, names, None, Mode::Make),
        Part::Qdisc(qdisc) => qdisc_message(interface, qdisc, Mode::Make),
    };
    message.unwrap().payload().to_vec()
}

/// The value, and its text for the snapshot.
fn decoded(command: &str, payload: &[u8], names: &InterfaceNames) -> (Part, String) {
    let message = |kind| Message { kind, flags: 0, sequence: 0, payload };
    match command.split(' ').nth(1).unwrap() {
        "class" => {
            let class = list::listed_class(&message(RTM_NEWTCLASS)).unwrap().unwrap().class;
            (Part::Class(class.clone()), format!("{class:?}"))
        }
        "filter" => {
            let parent = Handle(u32::from_ne_bytes(payload[12..16].try_into().unwrap()));
            let note = list::filter(&message(RTM_NEWTFILTER), parent, names).unwrap();
            let FilterNote::Filter(ListedFilter { filter, .. }) = note else { panic!("{note:?}") };
            (Part::Filter(filter.clone()), format!("{filter:?}"))
        }
        _ => {
            let qdisc = list::qdisc(&message(RTM_NEWQDISC)).unwrap().unwrap().qdisc;
            (Part::Qdisc(qdisc.clone()), format!("{qdisc:?}"))
        }
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
