//! What the reader of DBC files understands, and what it says about odd ones.

use std::time::Duration;

use candor_signals::{ByteOrder, Database, Effect, FindError, Kind, Refusal, SendMode, dbc};

const CAR: &str = include_str!("car.dbc");

fn read(text: &str) -> Database {
    dbc::read(text.as_bytes())
}

/// Line, code and effect of each oddity.
fn oddities(text: &str) -> Vec<(u32, &'static str, Effect)> {
    read(text).oddities.iter().map(|one| (one.line, one.kind.code(), one.effect())).collect()
}

#[test]
fn reads_messages_signals_and_attributes() {
    let database = read(CAR);
    assert_eq!(database.oddities, []);
    assert_eq!(database.nodes, ["ESP", "TCU", "DASH"]);
    let (message, signal) = database.signal("ABS1.VehSpd").unwrap();
    assert_eq!((message.id.unwrap().to_string(), message.len, message.line), ("123".into(), 8, 13));
    assert_eq!(message.senders, ["ESP", "TCU"]);
    assert_eq!(message.comment, "Speed;\nand more \"text\".");
    assert_eq!(message.timing.cycle, Some(Duration::from_millis(20)));
    assert_eq!(message.timing.fast_cycle, Some(Duration::from_millis(5)));
    assert_eq!(message.timing.min_delay, Some(Duration::from_millis(2)));
    assert_eq!(message.timing.start_delay, Some(Duration::from_millis(7)));
    assert_eq!(message.timing.repetitions, Some(3));
    assert_eq!(message.format.as_deref(), Some("StandardCAN_FD"));
    assert_eq!((signal.start, signal.bits, signal.order, signal.kind), (7, 16, ByteOrder::Big, Kind::Unsigned));
    assert_eq!((signal.start_value, signal.inactive_value), (Some(65_535), Some(0)));
    assert_eq!((signal.min.unwrap().to_string(), signal.max.unwrap().to_string()), ("0".into(), "300".into()));
    assert_eq!((signal.unit.as_str(), signal.receivers.as_slice()), ("°", ["DASH".to_owned()].as_slice()));
    let torque = database.signal("Transmission_Status_With_A_Long_Name.Torque").unwrap().1;
    assert_eq!((torque.kind, torque.min), (Kind::Float32, None));
    let gear = database.signal("Transmission_Status_With_A_Long_Name.Gear").unwrap().1;
    let names: Vec<_> = gear.values.iter().map(|one| (one.raw, one.name.as_str())).collect();
    assert_eq!(names, [(-1, "R"), (0, "N"), (1, "D")]);
    assert_eq!(gear.present.as_ref().unwrap().ranges, [(0, 0), (2, 2)]);
}

#[test]
fn the_least_timeout_counts() {
    let text = "BU_: A B\nBO_ 1 M: 8 A\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" B\n SG_ T : 8|8@1+ (1,0) [0|0] \"\" B\n\
        BA_REL_ \"GenSigTimeoutTime\" BU_SG_REL_ A SG_ 1 S 300;\nBA_REL_ \"GenSigTimeoutTime\" BU_SG_REL_ B SG_ 1 S 0;\n\
        BA_ \"GenSigTimeoutTime_B\" SG_ 1 S 200;\nBA_REL_ \"Other\" BU_BO_REL_ A 1 5;\n";
    let database = read(text);
    assert_eq!(database.oddities, []);
    let timeouts: Vec<_> = database.messages[0].signals.iter().map(|signal| signal.timeout).collect();
    assert_eq!(timeouts, [Some(Duration::from_millis(200)), None]);
}

#[test]
fn enumerations_are_read_by_their_text() {
    let modes: Vec<_> = read(CAR).messages.iter().map(|one| one.timing.send_mode()).collect();
    assert_eq!(modes, [Some(SendMode::Mixed), Some(SendMode::None)]);
}

#[test]
fn names_that_are_not_there_get_a_suggestion() {
    let database = read(CAR);
    let error = |name| database.signal(name).unwrap_err().to_string();
    assert_eq!(error("ABS2.VehSpd"), "There is no message ABS2; did you mean ABS1?");
    assert_eq!(error("ABS1.VehSpeed"), "Message ABS1 has no signal VehSpeed; did you mean VehSpd?");
    assert_eq!(error("ABS1.Radio"), "Message ABS1 has no signal Radio");
    assert_eq!(error("VehSpd"), "A signal is written as Message.Signal");
}

#[test]
fn a_name_of_two_messages_is_refused_only_when_it_is_used() {
    let text = "BO_ 1 M: 8 A\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" B\nBO_ 2 M: 8 A\nBO_ 2 N: 8 A\n";
    assert_eq!(oddities(text), [(3, "same-message-name", Effect::Noted), (4, "same-id", Effect::Noted)]);
    assert!(matches!(read(text).signal("M.S"), Err(FindError::Ambiguous { first: 1, second: 3, count: 2, .. })));
}

#[test]
fn signals_without_a_meaning_are_refused_and_the_others_are_not() {
    let text = "BO_ 1 M: 2 A
 SG_ Wide : 0|65@1+ (1,0) [0|0] \"\" B
 SG_ None : 0|0@1+ (1,0) [0|0] \"\" B
 SG_ Outside : 9|8@1+ (1,0) [0|0] \"\" B
 SG_ Twice : 0|4@1+ (1,0) [0|0] \"\" B
 SG_ Twice : 4|4@1+ (1,0) [0|0] \"\" B
 SG_ Muxed m1 : 8|1@1+ (1,0) [0|0] \"\" B
 SG_ Real : 0|8@1+ (1,0) [0|0] \"\" B
 SG_ Fine : 8|8@1+ (1E+50,0) [0|0] \"\" B
 SG_ Good : 8|8@1+ (0.1,0) [0|25.5] \"\" B
SIG_VALTYPE_ 1 Real : 1;
";
    let refused = |line, code| (line, code, Effect::SignalRefused);
    assert_eq!(
        oddities(text),
        [
            refused(2, "width"),
            refused(3, "width"),
            refused(4, "outside-frame"),
            refused(6, "same-signal-name"),
            refused(7, "no-switch"),
            refused(8, "float-width"),
            refused(9, "number"),
        ]
    );
    let database = read(text);
    assert!(database.signal("M.Good").is_ok() && database.signal("M.Twice").is_ok());
    let refusal = Refusal::OutsideFrame { needs: 3, len: 2 };
    assert_eq!(database.signal("M.Outside"), Err(FindError::Refused { name: "M.Outside".into(), reason: refusal }));
}

#[test]
fn multiplexers_that_are_not_clear_are_refused() {
    let signal = |name: &str, mark: &str| format!(" SG_ {name} {mark} : 0|4@1+ (1,0) [0|0] \"\" B\n");
    let two = format!("BO_ 1 M: 8 A\n{}{}{}", signal("A", "M"), signal("B", "M"), signal("C", "m1"));
    assert_eq!(oddities(&two).iter().filter(|one| one.1 == "several-switches").count(), 1);
    let circle = format!("BO_ 1 M: 8 A\n{}{}", signal("A", "m0M"), signal("B", "m0M"));
    let circle = format!("{circle}SG_MUL_VAL_ 1 A B 0-0;\nSG_MUL_VAL_ 1 B A 0-0;\n");
    assert_eq!(oddities(&circle).iter().filter(|one| one.1 == "switch-circle").count(), 2);
    assert_eq!(candor_signals::MessageCodec::new(&read(&circle).messages[0]).signals().len(), 0);
}

#[test]
fn a_statement_that_cannot_be_read_does_not_hide_the_next() {
    let text = "BO_ 1 M: 8 A
 SG_ Bad : 0|8@2+ (1,0) [0|0] \"\" B
 SG_ Good : 0|8@1+ (.5,0) [0|127.5] \"\" B
CM_ SG_ 1 \"no name\";
CM_ \"no semicolon\"
VAL_ 1 Good 0 \"zero\"
VAL_ 1 Missing 0 \"zero\" ;
VAL_ 7 Good 0 \"zero\" ;
BA_DEF_ BO_ \"GenMsgSendType\" ENUM \"A\",\"B\";
BA_ \"GenMsgSendType\" BO_ 1 7;
what is this
and this
BO_ 4096 Wide: 8 B
BO_ 3758096384 Wider: 8 B
BO_ 2 2M: 9 B
";
    assert_eq!(
        oddities(text),
        [
            (2, "syntax", Effect::Ignored),
            (4, "syntax", Effect::Ignored),
            (5, "no-semicolon", Effect::Noted),
            (6, "no-semicolon", Effect::Noted),
            (7, "unknown-signal", Effect::Ignored),
            (8, "unknown-message", Effect::Ignored),
            (10, "unknown-choice", Effect::Ignored),
            (11, "syntax", Effect::Ignored),
            (13, "no-extended-bit", Effect::Noted),
            (14, "id-too-wide", Effect::MessageRefused),
            (15, "digit-first", Effect::Noted),
            (15, "length", Effect::Noted),
        ]
    );
    let database = read(text);
    assert_eq!(database.signal("M.Good").unwrap().1.values.len(), 1);
    assert_eq!(database.message("Wide").unwrap().id.unwrap().to_string(), "00001000");
}

#[test]
fn values_that_do_not_fit_are_noted() {
    let text = "BO_ 1 M: 8 A
 SG_ A : 0|8@1+ (1,0) [0|256] \"\" B
 SG_ B : 4|8@1- (0,0) [0|0] \"\" B
 SG_ C : 16|8@1+ (1,0) [5|1] \"\" B
VAL_ 1 A 256 \"never\" ;
BA_ \"GenSigStartValue\" SG_ 1 B -129;
";
    let noted = |line, code| (line, code, Effect::Noted);
    let mut found = oddities(text);
    found.sort_by_key(|one| (one.0, one.1));
    assert_eq!(
        found,
        [
            noted(2, "range-too-wide"),
            noted(2, "value-outside"),
            noted(3, "factor-zero"),
            noted(3, "overlap"),
            noted(3, "start-outside"),
            noted(4, "range-reversed"),
        ]
    );
}
