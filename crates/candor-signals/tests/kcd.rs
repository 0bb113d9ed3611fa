//! What the reader of KCD files understands, and what it says about odd ones.

use std::time::Duration;

use candor_signals::{ByteOrder, Database, Effect, Kind, NamedValue, Refusal, SendMode, kcd};

const CAR: &str = include_str!("car.kcd");

/// A file with these elements in a bus.
fn read(messages: &str) -> Database {
    let start =
        "<NetworkDefinition xmlns=\"http://kayak.2codeornot2code.org/1.0\"><Node id='1' name='A'/><Bus name='B'>";
    kcd::read(format!("{start}\n{messages}\n</Bus></NetworkDefinition>").as_bytes())
}

/// Line, code and effect of each oddity.
fn oddities(database: &Database) -> Vec<(u32, &'static str, Effect)> {
    database.oddities.iter().map(|one| (one.line, one.kind.code(), one.effect())).collect()
}

#[test]
fn reads_messages_signals_and_groups() {
    let database = kcd::read(CAR.as_bytes());
    assert_eq!(database.oddities, []);
    assert_eq!(database, candor_signals::read(CAR.as_bytes()));
    assert_eq!(database.nodes, ["ESP", "TCU"]);
    let (message, signal) = database.signal("ABS1.VehSpd").unwrap();
    assert_eq!((message.id.unwrap().to_string(), message.len, message.line), ("123".into(), 8, 10));
    assert_eq!(
        (message.senders.as_slice(), message.signals.len()),
        (["ESP".to_owned(), "TCU".to_owned()].as_slice(), 2)
    );
    assert_eq!(message.comment, "Speed <exact>.");
    assert_eq!((message.timing.cycle, message.timing.send_mode()), (Some(Duration::from_millis(20)), None));
    assert_eq!((signal.start, signal.bits, signal.order, signal.kind), (7, 16, ByteOrder::Big, Kind::Unsigned));
    assert_eq!((signal.factor.to_string(), signal.offset.to_string()), ("0.01".into(), "-0.001".into()));
    assert_eq!((signal.min.unwrap().to_string(), signal.max.unwrap().to_string()), ("0".into(), "300".into()));
    assert_eq!((signal.unit.as_str(), signal.receivers.as_slice()), ("°", ["TCU".to_owned()].as_slice()));
    assert_eq!((signal.comment.as_str(), signal.line), ("of the car", 16));
    assert_eq!(signal.values, [NamedValue { raw: 65_535, name: "init".into() }]);
    let braking = database.signal("ABS1.Braking").unwrap().1;
    assert_eq!((braking.start, braking.bits, braking.min), (23, 1, None));
}

#[test]
fn a_signal_of_several_groups_is_one() {
    let database = kcd::read(CAR.as_bytes());
    let (message, gear) = database.signal("TCU.Gear").unwrap();
    assert_eq!(message.id.unwrap().to_string(), "18FECA15");
    // The end of Torque.
    assert_eq!((message.len, message.timing.send_mode()), (6, Some(SendMode::Direct)));
    let names: Vec<_> = message.signals.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["Page", "Gear", "Torque"]);
    assert_eq!((message.signals[0].is_switch, message.signals[0].comment.as_str()), (true, "selects"));
    let present = gear.present.as_ref().unwrap();
    assert_eq!((present.switch, present.ranges.as_slice()), (0, [(0, 0), (2, 2)].as_slice()));
    assert_eq!((gear.kind, gear.values.len(), gear.values[0].raw), (Kind::Signed, 2, -1));
    assert_eq!(database.signal("TCU.Torque").unwrap().1.kind, Kind::Float32);
}

#[test]
fn a_signal_that_differs_between_groups_is_refused() {
    let database = read(
        "<Message id='0x1' name='M' length='4'><Multiplex name='X' offset='0' length='8'>
           <MuxGroup count='0'><Signal name='S' offset='8' length='8'/></MuxGroup>
           <MuxGroup count='1'><Signal name='S' offset='16' length='8'/></MuxGroup>
           <MuxGroup><Signal name='T' offset='16' length='8'/></MuxGroup>
         </Multiplex><Multiplex name='Y' offset='24' length='8'>
           <MuxGroup count='5'><Signal name='U' offset='8' length='8'/></MuxGroup>
         </Multiplex></Message>",
    );
    let refused = |line, code| (line, code, Effect::SignalRefused);
    let noted = (7, "overlap", Effect::Noted);
    assert_eq!(oddities(&database), [refused(4, "same-signal-name"), refused(5, "attribute"), noted]);
    let switch = database.signal("M.U").unwrap().1.present.as_ref().unwrap().switch;
    assert_eq!(database.messages[0].signals[switch].name, "Y");
}

#[test]
fn what_is_odd_has_its_line_and_does_not_hide_the_rest() {
    let database = read(
        "<Message id='0x800' name='Wide' length='9' format='standard'><Producer><NodeRef id='7'/></Producer></Message>
         <Message id='0x20000000' name='Wider' format='extended'/>
         <Message name='None'/>
         <Message id='1' interval='often' length='many' format='short' name='Words'>
           <Signal name='Where'/>
           <Signal name='Order' offset='0' endianess='middle'/>
           <Signal name='Length' offset='0' length='-1'/>
           <Signal name='Type' offset='0'><Value type='text'/></Signal>
           <Signal name='Slope' offset='0'><Value slope='x'/></Signal>
           <Signal offset='0'/>
           <Signal name='Good' offset='0' length='8'><LabelSet><Label name='a' value='b'/></LabelSet></Signal>
         </Message>",
    );
    let mut found = oddities(&database);
    found.sort_by_key(|one| (one.0, one.1));
    let refused = |line, code| (line, code, Effect::SignalRefused);
    assert_eq!(
        found,
        [
            (2, "length", Effect::Noted),
            (2, "not-extended", Effect::Noted),
            (2, "unknown-node", Effect::Ignored),
            (3, "id-too-wide", Effect::MessageRefused),
            (4, "no-id", Effect::MessageRefused),
            (5, "attribute", Effect::Ignored),
            (5, "attribute", Effect::Ignored),
            (5, "attribute", Effect::Ignored),
            refused(6, "attribute"),
            refused(7, "attribute"),
            refused(8, "attribute"),
            refused(9, "attribute"),
            refused(10, "number"),
            refused(11, "attribute"),
            (12, "attribute", Effect::Ignored),
        ]
    );
    assert_eq!(database.message("Wide").unwrap().id.unwrap().to_string(), "00000800");
    assert!(database.signal("Words.Good").is_ok());
    let signal = &database.message("Words").unwrap().signals[0];
    let refusal = Refusal::Attribute { expected: "the offset in bits", found: "nothing".into() };
    assert_eq!(signal.refusal, Some(refusal));
}

#[test]
fn the_length_is_that_of_the_signals_if_none_is_given() {
    let signal = |order, offset: u16, length: u16| {
        let text = format!("<Signal name='S' offset='{offset}' length='{length}' endianess='{order}'/>");
        read(&format!("<Message id='1' name='M' length='auto'>{text}</Message>")).messages[0].len
    };
    assert_eq!((signal("little", 0, 8), signal("little", 1, 8), signal("little", 505, 7)), (1, 2, 64));
    assert_eq!((signal("big", 0, 8), signal("big", 1, 8), signal("big", 65_535, 65_535)), (1, 2, 16_384));
    assert_eq!(read("<Message id='1' name='M'/>").messages[0].len, 0);
}

#[test]
fn messages_of_all_buses_are_read() {
    let database = read(
        "<Message id='1' name='A' length='1'/></Bus><Bus name='C'><Message id='1' name='B' length='1'/>
         <Message id='2' name='A' length='1'/>",
    );
    let noted = |line, code| (line, code, Effect::Noted);
    assert_eq!(oddities(&database), [noted(2, "same-id"), noted(3, "same-message-name")]);
    assert_eq!(database.messages.len(), 3);
}

#[test]
fn namespaces_count() {
    let read = |text: &str| kcd::read(text.as_bytes());
    let uri = "http://kayak.2codeornot2code.org/1.0";
    let prefixed = format!(
        "<k:NetworkDefinition xmlns:k='{uri}'><k:Bus><k:Message id='1' name='A'/><Message id='2' name='B'/></k:Bus></k:NetworkDefinition>"
    );
    let database = read(&prefixed);
    assert_eq!((database.messages.len(), database.oddities.len()), (1, 0));
    let foreign = format!(
        "<NetworkDefinition xmlns='{uri}'><Bus><Message id='1' name='A'/><Message xmlns='x' id='2' name='B'/></Bus></NetworkDefinition>"
    );
    assert_eq!(read(&foreign).messages.len(), 1);
    let none = read("<NetworkDefinition><Bus><Message id='1' name='A'/></Bus></NetworkDefinition>");
    assert_eq!((none.messages.len(), oddities(&none)), (1, vec![(1, "namespace", Effect::Noted)]));
}

#[test]
fn other_files_are_named_with_what_to_do() {
    let cantools = ": convert it with `cantools convert FILE OUT.dbc`";
    let canmatrix = ": convert it with `canconvert FILE OUT.dbc` of canmatrix";
    for (bytes, what, help) in [
        (b"\xEF\xBB\xBF<?xml version='1.0'?><AUTOSAR/>".as_slice(), "an ARXML file", cantools),
        (b"<fx:FIBEX/>", "a FIBEX file", canmatrix),
        (b"<html/>", "XML, but not a KCD file", ""),
        (b"FormatVersion=6.0 // a comment\n", "a SYM file", cantools),
        (b"\xFF\xFE<\0", "a text in UTF-16", ""),
    ] {
        let database = candor_signals::read(bytes);
        assert_eq!((database.messages.len(), database.oddities.len()), (0, 1));
        let text = database.refusal().unwrap().kind.to_string();
        assert_eq!(text, format!("this is {what}; candor reads DBC and KCD files{help}"));
    }
    assert_eq!(candor_signals::read(b"\xEF\xBB\xBFBO_ 1 M: 8 A\n").messages.len(), 1);
}

#[test]
fn a_file_that_is_not_well_formed_has_no_messages() {
    let bomb =
        "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>\n<NetworkDefinition>&b;</NetworkDefinition>";
    for text in [&CAR[..CAR.len() - 10], &CAR.replace("</Message>", ""), bomb, "<NetworkDefinition>\0"] {
        let database = candor_signals::read(text.as_bytes());
        assert_eq!((database.messages.len(), database.oddities.len()), (0, 1), "{text}");
        assert_eq!(database.refusal().unwrap().kind.code(), "not-well-formed");
    }
}

#[test]
fn deep_elements_are_refused_and_need_no_stack() {
    let deep = format!("<NetworkDefinition>{}", "<a>".repeat(3_000_000));
    assert_eq!(candor_signals::read(deep.as_bytes()).refusal().unwrap().kind.code(), "not-well-formed");
}
