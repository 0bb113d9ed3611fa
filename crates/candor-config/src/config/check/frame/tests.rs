use std::time::Duration;

use crate::config::{Read, load_for};
use crate::plan::{ComposedFrame, Plan};
use crate::testing::underlined;
use candor_core::diagnostic::Diagnostic;
use candor_core::frame::{FrameFormat, RawId};
use candor_signals::SendMode;
use candor_signals::compose::{
    Activity, Composer, Conversion, Filter, InvalidAction, Other, SignalInput, Time, TimeoutAction, Trigger,
};

const CAR: &[u8] = b"BO_ 291 ABS1: 8 N
 SG_ VehSpd : 7|16@0+ (0.01,0) [0|0] \"km/h\" N
 SG_ Gear : 16|4@1+ (1,0) [0|0] \"\" N
 SG_ Fresh : 20|1@1+ (1,0) [0|0] \"\" N
 SG_ Ratio : 32|32@1- (1,0) [0|0] \"\" N
BO_ 292 ABS2: 8 N
 SG_ Yaw : 0|8@1- (0.5,0) [0|0] \"\" N
BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;
BA_DEF_DEF_ \"GenMsgCycleTime\" 0;
BA_ \"GenMsgCycleTime\" BO_ 291 10;
VAL_ 291 Gear 0 \"PARK\" 1 \"DRIVE\" 15 \"SNA\" ;
SIG_VALTYPE_ 291 Ratio : 1;
";
const BODY: &[u8] = b"BO_ 2566834685 Dash: 8 N
 SG_ Speed : 0|16@1+ (0.1,0) [0|0] \"km/h\" N
 SG_ Gear : 16|4@1+ (1,0) [0|0] \"\" N
 SG_ Over : 18|4@1+ (1,0) [0|0] \"\" N
 SG_ Fresh : 22|1@1+ (1,0) [0|0] \"\" N
 SG_ Mode M : 24|4@1+ (1,0) [0|0] \"\" N
 SG_ First m1 : 32|8@1+ (1,0) [0|0] \"\" N
 SG_ Second m2 : 40|8@1+ (1,0) [0|0] \"\" N
BO_ 512 Long: 10 N
 SG_ S : 0|8@1+ (1,0) [0|0] \"mph\" N
BO_ 513 Periodic: 2 N
 SG_ S : 0|8@1+ (1,0) [0|0] \"\" N
BA_DEF_ BO_ \"GenMsgSendType\" ENUM \"cyclic\",\"spontaneous\",\"NoMsgSendType\";
BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;
BA_DEF_ SG_ \"GenSigStartValue\" INT 0 65535;
BA_DEF_DEF_ \"GenMsgSendType\" \"spontaneous\";
BA_DEF_DEF_ \"GenMsgCycleTime\" 0;
BA_ \"GenMsgSendType\" BO_ 513 0;
BA_ \"GenMsgSendType\" BO_ 512 2;
BA_ \"GenMsgCycleTime\" BO_ 513 50;
BA_ \"GenSigStartValue\" SG_ 2566834685 Speed 65535;
VAL_ 2566834685 Gear 3 \"P\" 4 \"D\" 15 \"INVALID\" ;
";

fn read(path: &str) -> Result<Vec<u8>, String> {
    Ok(if path == "car.dbc" { CAR.to_vec() } else { BODY.to_vec() })
}

/// A frame `Dash`, with these lines before and after `[frame.signals]`.
fn file(keys: &str, signals: &str) -> String {
    format!(
        "[database]\na = \"car.dbc\"\nb = \"body.dbc\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
         [[frame]]\nmessage = \"Dash\"\nto = \"b\"\n{keys}\n[frame.signals]\n{signals}\n"
    )
}

fn loaded(text: &str) -> Plan {
    let read: &mut Read<'_> = &mut read;
    load_for(text.as_bytes(), None, read).unwrap_or_else(|findings| panic!("{text}: {findings:#?}")).plan
}

fn findings(text: &str) -> Vec<Diagnostic> {
    load_for(text.as_bytes(), None, &mut read).map_or_else(|findings| findings, |loaded| loaded.warnings)
}

fn frame(keys: &str, signals: &str) -> ComposedFrame {
    loaded(&file(keys, signals)).frames()[0].clone()
}

fn signal(frame: &ComposedFrame) -> &SignalInput {
    frame.composition.inputs[0].signal().unwrap()
}

#[test]
fn a_message_and_its_start_values() {
    let dash = frame("unused = \"ones\"", "Gear = { value = \"D\" }\nMode = { value = 2 }");
    assert_eq!((&*dash.name, &*dash.message, dash.id), ("Dash", "Dash", RawId(0x98FE_C9FD)));
    assert_eq!((dash.format, dash.sources.len(), dash.signals.len()), (FrameFormat::Classic, 0, 0));
    // Speed is 65535; Gear, Over and Mode; First is not selected, so its bits are unused ones.
    assert_eq!(*dash.composition.initial, [0xFF, 0xFF, 0x80, 0xF2, 0xFF, 0, 0xFF, 0xFF]);
    assert_eq!(dash.composition.send.mode, SendMode::Direct);

    let of = |message: &str| {
        let text = file("", "").replace("\"Dash\"", &format!("\"{message}\""));
        loaded(&text).frames()[0].clone()
    };
    let periodic = of("Periodic").composition.send;
    assert_eq!((periodic.mode, periodic.cycle), (SendMode::Periodic, Some(Duration::from_millis(50))));
    let long = of("Long");
    // NoMsgSendType says nothing.
    assert_eq!(long.composition.send.mode, SendMode::Direct);
    assert_eq!((long.format, long.composition.initial.len(), long.bit_rate_switch), (FrameFormat::Fd, 12, true));
}

#[test]
fn sources_are_converted_and_watched() {
    let dash = frame(
        "name = \"n\"\nsend = \"mixed\"\ncycle = \"100ms\"\nmin-delay = \"5ms\"\nrepeat = 2\nrepeat-after = \"10ms\"\n\
         fast-cycle = \"20ms\"\nfast-while = \"Gear != P\"\noffset = \"1s\"\ndelay-all = true",
        "Speed = { from = \"a.ABS1.VehSpd\", initial = 0, timeout = \"300ms\", on-timeout = \"substitute:50 [km/h]\", sends = \"always\", required = true, deadband = \"0.5 [km/h]\" }\n\
         Gear = { from = \"a.ABS1.Gear\", map = { PARK = \"P\", 1 = \"D\" }, other = \"INVALID\", invalid = \"SNA\", repeats = false }",
    );
    assert_eq!((&*dash.name, dash.sources.len(), dash.sources[0].id), ("n", 1, RawId(0x123)));
    let send = &dash.composition.send;
    assert_eq!((send.mode, send.repetitions, send.delays_all), (SendMode::Mixed, 2, true));
    let fast = send.fast.as_ref().unwrap();
    assert_eq!((fast.cycle, fast.active), (Duration::from_millis(20), Activity::Differs(3)));
    let [speed, gear] = &dash.composition.inputs[..] else { panic!("{dash:?}") };
    assert_eq!((speed.filter, speed.trigger, speed.required), (Filter::Deadband(50), Trigger::Always, true));
    let timeout = speed.timeout.as_ref().unwrap();
    assert_eq!((timeout.first, &timeout.action), (Some(timeout.later), &TimeoutAction::Substitute(500)));
    assert_eq!(gear.signal().unwrap().invalid.unwrap().action, InvalidAction::Ignore);
    let table = Conversion::Table { rows: [(0, 3), (1, 4)].into(), other: Other::Bits(15) };
    assert_eq!((&gear.signal().unwrap().conversion, gear.repeats), (&table, false));
    // 90 km/h, DRIVE.
    let mut composer = Composer::new(dash.composition.clone(), Time::from_nanos(0)).unwrap();
    let sent = composer.received(Time::from_nanos(1), 0, &[0x23, 0x28, 1, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(sent.payload[..3], [0x84, 3, 4]);
}

#[test]
fn limits_are_raw_values() {
    let filter =
        |keys: &str| frame("", &format!("Speed = {{ from = \"a.ABS2.Yaw\", {keys} }}")).composition.inputs[0].filter;
    assert_eq!(filter("within = \"-10..20\""), Filter::Within { min: -20, max: 40 });
    assert_eq!(filter("outside = \"0..0.7\""), Filter::Outside { min: 0, max: 1 });
    assert_eq!(filter("one-of = 10"), Filter::OneEvery { period: 10, offset: 0 });
    let fresh = frame("", "Speed = { from = \"a.ABS1.VehSpd\", updated-by = \"Fresh\", update-bit = \"Fresh\" }");
    assert!(signal(&fresh).updated.is_some() && signal(&fresh).update.is_some());
}

#[test]
fn groups_follow_each_other() {
    let signals = "Speed = { from = \"a.ABS1.VehSpd\", group = \"g\" }\nMode = { from = \"a.ABS2.Yaw\" }\n\
                   Gear = { from = \"a.ABS1.Gear\", group = \"g\" }";
    let names: Vec<_> = frame("", signals).signals.iter().map(|signal| signal.name.clone()).collect();
    assert_eq!(names, ["Mode", "Speed", "Gear"]);
}

#[test]
fn mistakes_are_named() {
    let from = |keys: &str| format!("Speed = {{ from = \"a.ABS1.VehSpd\", {keys} }}");
    let cases = [
        ("send = \"direkt\"", String::new(), "E0319", "\"direkt\""),
        ("send = \"periodic\"", String::new(), "E0425", "\"periodic\""),
        ("send = \"direct\"\ncycle = \"10ms\"", String::new(), "E0425", "\"10ms\""),
        ("cycle = 10", String::new(), "E0202", "10"),
        ("cycle = \"10us\"", String::new(), "E0312", "\"10us\""),
        ("repeat = 3", String::new(), "E0425", "3"),
        ("fast-cycle = \"10ms\"", String::new(), "E0425", "\"10ms\""),
        ("fast-while = \"Gear\"", String::new(), "E0423", "\"Gear\""),
        ("fast-while = \"Gear == X\"\nfast-cycle = \"10ms\"", String::new(), "E0424", "X"),
        ("bit-rate-switch = true", String::new(), "E0406", "true"),
        ("", "Spd = { value = 1 }".to_owned(), "E0422", "Spd"),
        ("", "Speed = { value = 6554 }".to_owned(), "E0424", "6554"),
        ("", "Speed = { value = \"1 [mph]\" }".to_owned(), "E0424", "1 [mph]"),
        ("", "Speed = {}".to_owned(), "E0203", "Speed"),
        ("", "Speed = { value = 1, timeout = \"1s\" }".to_owned(), "E0410", "\"1s\""),
        ("", "Speed = { from = \"a.ABS1.VehSpd\", value = 1 }".to_owned(), "E0410", "1"),
        ("", "Speed = { from = \"c.ABS1.VehSpd\" }".to_owned(), "E0401", "\"c.ABS1.VehSpd\""),
        ("", "Speed = { from = \"a.ABS1.Spd\" }".to_owned(), "E0422", "ABS1.Spd"),
        ("", "Speed = { from = \"b.Dash.Over\" }".to_owned(), "E0425", ""),
        ("", "Gear = { value = 1 }\nOver = { value = 1 }".to_owned(), "E0424", "Over"),
        ("", "First = { value = 1 }".to_owned(), "E0425", "First"),
        ("", from("on-timeout = \"stop\""), "E0425", "\"stop\""),
        ("", from("timeout = \"1s\", on-timeout = \"halt\""), "E0319", "\"halt\""),
        ("", from("timeout = \"1s\", on-timeout = \"substitute:x\""), "E0424", "x"),
        ("", from("timeout = \"5ms\""), "W0516", "\"5ms\""),
        ("", from("within = \"5\""), "E0424", "\"5\""),
        ("", from("within = \"5..4\""), "E0424", "\"5..4\""),
        ("", from("within = \"1..2\", deadband = 1"), "E0410", "1"),
        ("", from("within = \"1..2\", group = \"g\""), "E0425", "\"1..2\""),
        ("", from("other = 1"), "E0425", "1"),
        ("", from("on-invalid = \"ignore\""), "E0425", "\"ignore\""),
        ("", from("map = { 1 = 2, 1.0 = 3 }").replace("1.0", "\"1.0\""), "E0424", "\"1.0\""),
        ("", from("update-bit = \"Gear\""), "E0422", "\"Gear\""),
        ("", from("update-bit = \"Fresh\"") + "\nFresh = { value = 1 }", "E0424", "\"Fresh\""),
        ("", "Speed = { from = \"a.ABS1.Ratio\", deadband = 1 }".to_owned(), "E0424", "1"),
        ("", from("group = \"g\"") + "\nGear = { from = \"a.ABS2.Yaw\", group = \"g\" }", "E0425", "\"g\""),
    ];
    for (keys, signals, code, place) in cases {
        let text = file(keys, &signals);
        let mut found = findings(&text);
        // Most of these files use one bus.
        found.retain(|finding| finding.code != "W0502");
        let underlined = underlined(&text, &found);
        let is_as_expected = underlined
            .iter()
            .map(|(code, place)| (*code, if code == &"E0425" && place.starts_with("[[") { "" } else { place }))
            .collect::<Vec<_>>();
        assert_eq!(is_as_expected, [(code, place)], "{keys} {signals}");
    }
    let text =
        file("", "Speed = { from = \"a.ABS1.VehSpd\" }").replace("\"Dash\"", "\"Long\"").replace("Speed =", "S =");
    assert_eq!(underlined(&text, &findings(&text)), [("W0517", "\"a.ABS1.VehSpd\"")]);
    let text =
        file("", "") + &file("", "").split_once("[[frame]]").map(|(_, frame)| format!("[[frame]]{frame}")).unwrap();
    let found = findings(&text);
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["W0502", "E0425", "E0404"]);
    // The socket that sends a frame does not receive it.
    let chain = "[[frame]]\nmessage = \"ABS2\"\nto = \"a\"\n[frame.signals]\nYaw = { from = \"b.Dash.Gear\" }\n";
    let text = file("", "Speed = { from = \"a.ABS1.VehSpd\" }") + chain;
    assert_eq!(findings(&text).iter().map(|finding| finding.code).collect::<Vec<_>>(), ["E0425"]);
    // The thread that sends them has a priority, whatever the engine is.
    let text = format!("[realtime]\nsched = \"fifo:80\"\n{}", file("", "Speed = { from = \"a.ABS1.VehSpd\" }"));
    assert_eq!(findings(&text), []);
    // Without the other sections.
    let text = file("", "").replace("[database]\na = \"car.dbc\"\nb = \"body.dbc\"\n", "");
    assert_eq!(underlined(&text, &findings(&text)), [("W0502", "a"), ("E0422", "\"Dash\"")]);
}

#[test]
fn one_thread_waits_for_a_limited_number_of_buses() {
    let buses =
        |count: usize| (0..count).map(|at| format!("[bus.n{at}]\ninterface = \"vcan{at}\"\n")).collect::<String>();
    let routes = |count: usize| {
        let route = |at: usize| {
            format!("[[route]]\nname = \"r{at}\"\nfrom = \"n0\"\nto = \"n{at}\"\nmatch = \"123\"\ncycle = \"10ms\"\n")
        };
        (1..count).map(route).collect::<String>()
    };
    let found = |count: usize| {
        let text = format!("engine = \"auto\"\n{}{}", buses(count), routes(count));
        let errors = findings(&text).into_iter().filter(|finding| finding.code.starts_with('E'));
        errors.map(|error| (error.code, text[error.primary.span].to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(found(64), []);
    assert_eq!(found(65), [("E0425", "[[route]]".to_owned())]);
}

#[test]
fn watched_signals_have_a_place_each() {
    let with = |watch: &str| {
        format!("engine = \"auto\"\n[database]\nb = \"body.dbc\"\n[bus.b]\ninterface = \"can1\"\nwatch = {watch}\n")
    };
    let plan = loaded(&with("[\"Dash.Second\", \"Dash\", \"Long.S\"]"));
    let [dash, long] = plan.watched() else { panic!("{:?}", plan.watched()) };
    let names: Vec<_> = dash.signals.iter().map(|signal| signal.name.as_str()).collect();
    assert_eq!(names, ["Second", "Speed", "Gear", "Over", "Fresh", "Mode", "First"]);
    assert_eq!(
        (dash.name.as_str(), long.name.as_str(), long.signals[0].from.as_str()),
        ("b.Dash", "b.Long", "b.Long.S")
    );
    assert!(plan.frames().is_empty() && plan.only_composes() && plan.uses(dash.to));
    // Mode 1 selects First, mode 2 Second, which keeps its value.
    let mut composer = Composer::new(dash.composition.clone(), Time::from_nanos(0)).unwrap();
    for (at, payload) in [[0, 0, 0x34, 2, 0, 7, 0, 0], [1, 0, 0x34, 1, 9, 0, 0, 0]].iter().enumerate() {
        assert!(composer.received(Time::from_nanos(1 + at as u64), 0, payload).is_none());
    }
    let bits: Vec<_> = composer.statuses().map(|status| status.bits.unwrap()).collect();
    assert_eq!(bits, [7, 1, 4, 0xD, 0, 1, 9]);
    let found = |watch: &str| {
        let text = with(watch);
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    assert_eq!(found("[\"Dash.Secnd\", \"Nothing\"]"), ["E0422 \"Dash.Secnd\"", "E0422 \"Nothing\""]);
    assert_eq!(found("[]"), ["E0205 "]);
}

#[test]
fn what_was_probably_not_meant() {
    let found = |keys: &str, signals: &str| {
        let text = file(keys, signals);
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    let speed = "Speed = { from = \"a.ABS1.VehSpd\" }";
    assert_eq!(found("timeout = \"1s\"", speed), ["E0201 timeout"]);
    let fast = |slow: &str| format!("send = \"mixed\"\n{slow}\nfast-cycle = \"20ms\"\nfast-while = \"Gear == D\"");
    assert_eq!(found(&fast("cycle = \"10ms\""), speed), ["E0425 \"20ms\""]);
    assert_eq!(found(&fast("cycle = \"100ms\""), speed), Vec::<String>::new());
    // Without a cycle the condition has no effect.
    let direct = "send = \"direct\"\nfast-cycle = \"20ms\"\nfast-while = \"Gear == D\"";
    assert_eq!(found(direct, speed), ["E0425 \"Gear == D\""]);
    assert_eq!(found("", "Gear = { value = 2.4 }"), ["W0502 a", "W0519 2.4"]);
    assert_eq!(found("", "Speed = { from = \"a.ABS1.VehSpd\", initial = \"0.25\" }"), ["W0519 \"0.25\""]);
}

#[test]
fn sources_are_checked() {
    let check = |name: &str, keys: &str| format!("[frame.check]\n{name} = {{ {keys} }}");
    let p01 = "e2e = \"P01\", data-id = 0x123";
    let dash = frame(&check("\"a.ABS1\"", p01), "Speed = { from = \"a.ABS2.Yaw\" }\nGear = { from = \"a.ABS1.Gear\" }");
    assert_eq!(dash.told, [("check", "a.ABS1: E2E P01; bad frames are dropped".to_owned())]);
    assert_eq!(dash.sources.iter().map(|source| source.id.0).collect::<Vec<_>>(), [292, 291]);
    assert!(dash.checks[0].is_none());
    let seen = candor_core::job::Seen { id: RawId(291), at: candor_core::job::RealtimeNs::UNKNOWN };
    let verdict = |first: u8| dash.checks[1].as_ref().unwrap().change(seen, &mut [first, 0, 0, 0, 0, 0, 0, 0]);
    use candor_core::rule::Verdict::{Delete, Send};
    // A golden vector.
    assert_eq!((verdict(0xCC), verdict(0xCC), verdict(0xCD)), (Send, Delete, Delete));
    let (message, counted) = dash.verdicts().next().unwrap();
    assert_eq!((message, counted.iter().map(|(_, frames)| frames).sum::<u64>()), ("a.ABS1", 3));

    let found = |name: &str, keys: &str| {
        let text = file(&check(name, keys), "Speed = { from = \"a.ABS1.VehSpd\" }");
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    assert_eq!(found("\"a.ABS1\"", p01), Vec::<String>::new());
    assert_eq!(found("\"c.ABS1\"", p01), ["E0401 \"c.ABS1\""]);
    assert_eq!(found("\"a.ABS3\"", p01), ["E0422 \"a.ABS3\""]);
    assert_eq!(found("\"a.ABS2\"", p01), ["E0425 \"a.ABS2\""]);
    assert_eq!(found("\"a.ABS1\"", "e2e = \"P01\", data-id = 1, len = 7"), ["E0427 7"]);
    assert_eq!(found("\"a.ABS1\"", &format!("{p01}, on-bad = \"substitute:00\"")), ["E0427 \"substitute:00\""]);
    assert_eq!(found("\"a.ABS1\"", "secoc = \"P01\", key = \"a.key\""), ["E0427 \"P01\""]);
}

#[test]
fn a_frame_has_a_counter_of_its_own() {
    let protect = |keys: &str| format!("protect = {{ {keys} }}");
    let dash = frame(&protect("e2e = \"P01\", data-id = 0x123"), "");
    let mut payload = [0; 8];
    let seen = candor_core::job::Seen { id: dash.id, at: candor_core::job::RealtimeNs::UNKNOWN };
    assert_eq!(dash.protect.unwrap().change(seen, &mut payload), candor_core::rule::Verdict::Send);
    // A golden vector.
    assert_eq!(payload, [0xCC, 0, 0, 0, 0, 0, 0, 0]);
    let found = |keys: &str| {
        let text = file(&protect(keys), "Speed = { from = \"a.ABS1.VehSpd\" }");
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    assert_eq!(found("e2e = \"P01\", data-id = 1, counter = \"follow\""), ["E0427 \"follow\""]);
    assert_eq!(found("checksum = \"xor\", at = 2, len = 7"), ["E0427 7"]);
    assert_eq!(found("secoc = \"P01\", key = \"a\""), ["E0427 \"P01\""]);
    // Speed is in bytes 0 and 1.
    assert_eq!(found("e2e = \"P01\", data-id = 1"), ["E0427 Speed"]);
    assert_eq!(found("checksum = \"xor\", at = 1"), ["E0427 Speed"]);
    assert_eq!(found("checksum = \"xor\", at = 2"), Vec::<String>::new());
}

#[test]
fn times_of_the_databases_are_compared_as_well() {
    const CAR: &str = "BO_ 291 ABS1: 8 N\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" N\n
BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;\nBA_ \"GenMsgCycleTime\" BO_ 291 100;\nBA_ \"GenSigTimeoutTime_N\" SG_ 291 S 50;\n";
    const BODY: &str = "BO_ 512 Dash: 8 N\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" N
BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;\nBA_DEF_ BO_ \"GenMsgCycleTimeFast\" INT 0 65535;
BA_ \"GenMsgCycleTime\" BO_ 512 100;\nBA_ \"GenMsgCycleTimeFast\" BO_ 512 200;\n";
    let found = |keys: &str| {
        let text = file("", "S = { from = \"a.ABS1.S\" }").replace("to = \"b\"\n", &format!("to = \"b\"\n{keys}\n"));
        let read: &mut Read<'_> = &mut |path| Ok(if path == "car.dbc" { CAR.into() } else { BODY.into() });
        let findings = load_for(text.as_bytes(), None, read).map_or_else(|findings| findings, |loaded| loaded.warnings);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    assert_eq!(found(""), ["W0516 S"]);
    assert_eq!(found("fast-while = \"S == 1\""), ["E0425 \"S == 1\"", "W0516 S"]);
}

#[test]
fn exclusive_routes_take_the_frames_of_signals() {
    let found = |lines: &str| {
        let text = format!(
            "engine = \"auto\"\n[database]\na = \"car.dbc\"\nb = \"body.dbc\"\n[bus.b]\ninterface = \"can1\"\n\
             [bus.a]\ninterface = \"can0\"\n{lines}"
        );
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    let route =
        |id: &str| format!("[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"{id}\"\nexclusive = true\n");
    assert_eq!(found(&format!("watch = \"ABS1\"\n{}", route("123"))), ["W0513 true"]);
    assert_eq!(found(&format!("watch = \"ABS1\"\n{}", route("124"))), Vec::<String>::new());
    let frame = "[[frame]]\nmessage = \"Dash\"\nto = \"b\"\nsignals = { Speed = { from = \"a.ABS1.VehSpd\" } }\n";
    assert_eq!(found(&format!("{}{frame}", route("120..12F"))), ["W0513 true"]);
}
