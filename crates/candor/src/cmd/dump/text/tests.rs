use std::sync::Arc;

use candor_signals::dbc;

use super::*;

const MULTIPLEXED: &[u8] = b"BO_ 512 Mux: 8 X\n SG_ Page M : 0|8@1+ (1,0) [0|0] \"\" X\n \
SG_ First m0 : 8|8@1- (0.5,-10) [0|0] \"Nm\" X\n SG_ Second m1 : 8|16@1+ (1,0) [0|0] \"1/min\" X\n\
VAL_ 512 Page 0 \"Torque \x1b[31m\" 1 \"Speed\" ;\n";

fn buses() -> [Bus; 2] {
    let powertrain = include_bytes!("../../../../../../examples/powertrain.dbc");
    let bus = |name: &str, interface: &str, databases: &[&[u8]]| Bus {
        name: name.to_owned(),
        interface: interface.to_owned(),
        databases: databases.iter().map(|text| Arc::new(dbc::read(text))).collect(),
        wanted: Vec::new(),
    };
    [bus("powertrain", "can0", &[powertrain, MULTIPLEXED]), bus("body", "can1", &[])]
}

const BASE_NS: i64 = 1_790_000_000_123_456_789;

fn printer(from_zero: bool, decodes: bool, has_colour: bool) -> Printer {
    Printer {
        from_zero,
        has_colour,
        decoder: decodes.then(Decoder::default),
        width: "powertrain".len(),
        first_ns: None,
    }
}

/// Frames, one every 1.5 ms, on one bus after another.
fn printed(printer: &mut Printer, frames: &[&str]) -> String {
    let (buses, mut text) = (buses(), String::new());
    for (at, frame) in (0..).zip(frames) {
        let frame = Any::Can(frame.parse().unwrap());
        let at_ns = BASE_NS + 1_500_000 * i64::from(at);
        let number = usize::from(at % 2 == 1);
        printer.print(&mut text, &buses[number], &Received { at_ns, is_local: at % 4 == 1, number, frame });
    }
    text
}

const FRAMES: [&str; 9] = [
    "123#138801",
    "12345678#1122334455667788",
    "123#",
    "123#R4",
    "123#1122334455667788_F",
    "123##7112233445566778899AABBCC",
    "200##1AA",
    "7FF##2",
    "20000088#0000840A00000801",
];

#[test]
fn each_format_has_its_line() {
    let mut text = String::new();
    for from_zero in [false, true] {
        let frames = if from_zero { &FRAMES[..3] } else { &FRAMES[..] };
        text += &format!("{}\n", printed(&mut printer(from_zero, false, false), frames));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn xl_frames_have_their_fields() {
    let mut bytes = 0x5_0123_u32.to_ne_bytes().to_vec();
    bytes.extend([0x81, 3]);
    bytes.extend(4_u16.to_ne_bytes());
    bytes.extend(0x1234_5678_u32.to_ne_bytes());
    bytes.extend([0xAA, 0xBB, 0xCC, 0xDD]);
    // As long as a classic frame.
    assert_eq!(bytes.len(), 16);
    let frame = Any::read(&bytes).unwrap();
    let received = Received { at_ns: BASE_NS, is_local: false, number: 1, frame };
    let buses = buses();
    let mut text = String::new();
    printer(false, true, false).print(&mut text, &buses[1], &received);
    log(&mut text, &buses[1], &received);
    insta::assert_snapshot!(text);
    for end in 0..bytes.len() {
        let _any = Any::read(&bytes[..end]);
    }
}

#[test]
fn signals_stay_in_their_columns() {
    let buses = buses();
    let frames = [
        "123#138801",
        "123#138801",
        "123#000000",
        "321#0",
        "321#0300FF0F",
        "321#030000FF",
        "200#001E",
        "123#11",
        "200#01FFFF",
        "20000040#0000000000000000",
        "200#0200",
        "321#R3",
    ];
    let frames = frames.map(|frame| if frame == "321#0" { "321#0600FE0F" } else { frame });
    let mut text = printed(&mut printer(true, true, false), &frames);
    // All of the first bus, where the messages are.
    let mut printer = printer(true, true, false);
    for frame in frames {
        let frame = Any::Can(frame.parse().unwrap());
        printer.print(&mut text, &buses[0], &Received { at_ns: BASE_NS, is_local: false, number: 0, frame });
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_terminal_has_colours() {
    let mut printer = printer(true, true, true);
    let text = printed(&mut printer, &["123#138801", "123#138801", "20000040#0000000000000000"]);
    insta::assert_snapshot!(text.replace('\u{1b}', "ESC"));
}

#[test]
fn log_has_the_format_of_candump() {
    let buses = buses();
    let mut text = String::new();
    for frame in FRAMES {
        let frame = Any::Can(frame.parse().unwrap());
        log(&mut text, &buses[0], &Received { at_ns: BASE_NS, is_local: true, number: 0, frame });
    }
    insta::assert_snapshot!(text);
}
