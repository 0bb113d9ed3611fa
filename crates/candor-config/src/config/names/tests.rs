use crate::config::{Read, load_for};
use crate::placement::{Because, KernelAbilities, Placement, Side};
use crate::plan::{Plan, RouteIndex};
use crate::testing::underlined;
use candor_core::diagnostic::Diagnostic;
use candor_core::frame::{Frame, RawId};
use candor_core::rule::Verdict;

const DBC: &[u8] = b"BO_ 291 ABS1: 8 N
 SG_ VehSpd : 7|16@0+ (0.01,0) [0|0] \"km/h\" N
 SG_ Gear : 16|4@1+ (1,0) [0|0] \"\" N
 SG_ Mode M : 24|8@1+ (1,0) [0|0] \"\" N
 SG_ First m1 : 32|8@1+ (1,0) [0|0] \"\" N
 SG_ Second m2 : 36|8@1+ (1,0) [0|0] \"\" N
 SG_ Over : 18|8@1+ (1,0) [0|0] \"\" N
VAL_ 291 Gear 0 \"PARK\" 1 \"DRIVE\" ;
BO_ 2566840149 EEC1: 8 N
 SG_ Torque : 0|8@1+ (1,-125) [0|0] \"%\" N
BO_ 513 AB: 8 N
BO_ 1073741824 NoId: 8 N
 SG_ S : 0|8@1+ (1,0) [0|0] \"\" N
BO_ 512 ABC: 8 N
 SG_ S : 0|8@1+ (1,0) [0|0] \"\" N
";

/// The message ABS1 as it is in [`DBC`].
const KCD: &[u8] = br#"<NetworkDefinition xmlns="http://kayak.2codeornot2code.org/1.0"><Bus name="B">
<Message id="0x123" name="ABS1" length="8">
<Signal name="VehSpd" offset="0" length="16" endianess="big"><Value slope="0.01"/></Signal></Message></Bus></NetworkDefinition>"#;

fn read(path: &str) -> Result<Vec<u8>, String> {
    match path {
        "car.dbc" => Ok(DBC.to_vec()),
        "empty.dbc" => Ok(Vec::new()),
        "car.kcd" => Ok(KCD.to_vec()),
        "car.arxml" => Ok(b"<?xml version='1.0'?>\n<AUTOSAR/>".to_vec()),
        _ => Err("No such file".to_owned()),
    }
}

fn file(lines: &str) -> String {
    format!(
        "engine = \"auto\"\n[database]\na = \"car.dbc\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
         [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{lines}\n"
    )
}

fn loaded(lines: &str) -> Plan {
    let read: &mut Read<'_> = &mut read;
    load_for(file(lines).as_bytes(), None, read).unwrap_or_else(|findings| panic!("{lines}: {findings:#?}")).plan
}

fn findings(text: &str) -> Vec<Diagnostic> {
    load_for(text.as_bytes(), None, &mut read).map_or_else(|findings| findings, |loaded| loaded.warnings)
}

fn sent(plan: &Plan, id: u32, payload: &[u8]) -> Option<Vec<u8>> {
    let frame = Frame::classic(RawId(id), payload).unwrap();
    let jobs = crate::lower(plan);
    let mut jobs = jobs.iter().filter(|job| job.filter.normalise().matches(frame.id) && job.takes(&frame));
    let (sent, verdict) = jobs.next()?.apply(&frame);
    assert!(jobs.next().is_none() && verdict == Verdict::Send);
    Some(sent.payload().to_vec())
}

#[test]
fn names_are_identifiers() {
    assert_eq!(crate::lower(&loaded("match = \"ABS1\"")), crate::lower(&loaded("match = \"123\"")));
    let names = loaded("match = [\"ABS1\", \"EEC1\", \"200..2FF\"]\ndeny = \"ABS1\"");
    assert_eq!(crate::lower(&names), crate::lower(&loaded("match = [\"18FEDF55\", \"200..2FF\"]")));
    assert_eq!(crate::lower(&loaded("match = \"ABC\"")), crate::lower(&loaded("match = \"200\"")));
    assert_eq!(names.databases(names.routes()[0].from).len(), 1);
}

#[test]
fn conditions_are_payloads() {
    let fast = loaded("match = \"ABS1.VehSpd > 50 [km/h] && ABS1.Gear == DRIVE\"");
    let payload = |speed: u16, gear: u8| [&speed.to_be_bytes()[..], &[gear, 0, 0, 0, 0, 0]].concat();
    for (speed, gear) in [(5000, 1), (5001, 1), (5001, 0), (0xFFFF, 1), (0, 1)] {
        let wanted = (speed > 5000 && gear == 1).then(|| payload(speed, gear));
        assert_eq!(sent(&fast, 0x123, &payload(speed, gear)), wanted, "{speed}");
    }
    assert_eq!(sent(&fast, 0x124, &payload(6000, 1)), None);
    // One of several.
    let either = loaded("match = [\"ABS1.VehSpd > 50\", \"ABS1.Gear == DRIVE\"]");
    assert!(sent(&either, 0x123, &payload(0, 1)).is_some() && sent(&either, 0x123, &payload(0, 0)).is_none());
}

#[test]
fn constants_are_modifications_and_the_rest_is_computed() {
    let side = |plan: &Plan| {
        let placement = Placement::of(plan, KernelAbilities::NEWEST).unwrap();
        (placement.side(RouteIndex(0)), placement.because(RouteIndex(0)))
    };
    let constant = loaded("match = \"ABS1\"\nchange = { \"ABS1.VehSpd\" = \"90\", \"ABS1.Gear\" = \"DRIVE\" }");
    assert_eq!(side(&constant), (Side::Kernel, None));
    assert_eq!(sent(&constant, 0x123, &[0xFF; 8]).unwrap(), [0x23, 0x28, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    let computed = loaded("match = \"ABS1\"\nchange = { \"ABS1.VehSpd\" = \"x * 1.02\" }");
    assert_eq!(side(&computed), (Side::User, Some(Because::Signals)));
    assert_eq!(sent(&computed, 0x123, &[0x13, 0x88, 7]).unwrap(), [0x13, 0xEC, 7]);
    // Other messages of the route, and a constant of a multiplexed signal, are not for the kernel.
    let range = loaded("match = \"100..1FF\"\nchange = { \"ABS1.Gear\" = \"DRIVE\" }");
    assert_eq!(side(&range).0, Side::User);
    assert_eq!(sent(&range, 0x123, &[0, 0, 0xF0]).unwrap(), [0, 0, 0xF1]);
    assert_eq!(sent(&range, 0x124, &[0, 0, 0xF0]).unwrap(), [0, 0, 0xF0]);
    let lines = "match = \"ABS1\"\nchange = { \"ABS1.First\" = \"1\", \"ABS1.Second\" = \"2\" }";
    let multiplexed = loaded(lines);
    assert_eq!(side(&multiplexed).0, Side::User);
    assert_eq!(sent(&multiplexed, 0x123, &[0, 0, 0, 1, 0xFF, 0xFF]).unwrap(), [0, 0, 0, 1, 1, 0xFF]);
    assert_eq!(sent(&multiplexed, 0x123, &[0, 0, 0, 2, 0xFF, 0xFF]).unwrap(), [0, 0, 0, 2, 0x2F, 0xF0]);
    // Checksums come after the signals.
    let lines =
        "match = \"ABS1\"\nchange = { \"ABS1.VehSpd\" = \"x + 1\" }\nchecksum-xor = { from = 0, to = 6, result = 7 }";
    assert_eq!(
        sent(&loaded(&format!("frames = \"classic\"\n{lines}")), 0x123, &[0, 0, 0, 0, 0, 0, 0, 9]).unwrap()[7],
        100
    );
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("match = \"ABS2\"", "E0422", "\"ABS2\""),
        ("match = \"ABS1.VehSpd > 5 && EEC1.Torque > 3\"", "E0423", " EEC1.Torque > 3"),
        ("match = [\"ABS1.VehSpd > 5\", \"EEC1.Torque > 3\"]", "E0423", "\"EEC1.Torque > 3\""),
        (
            "match = [\"ABS1.VehSpd > 5\", { id = \"00000123\", mask = \"C00007FF\" }]",
            "E0423",
            "{ id = \"00000123\", mask = \"C00007FF\" }",
        ),
        ("match = [\"ABS1.VehSpd > 5\", \"123\"]", "E0423", "123"),
        ("match = \"AB\"", "E0422", "\"AB\""),
        ("deny = \"ABS1.VehSpd > 5\"", "E0423", "\"ABS1.VehSpd > 5\""),
        ("match = \"ABS1\"\nchange = { \"ABS1.Gear\" = [\"1\", \"2\"] }", "E0202", "[\"1\", \"2\"]"),
        ("frames = \"xl\"\nmatch = \"ABS1.VehSpd > 5\"", "E0410", "\"ABS1.VehSpd > 5\""),
        ("match = \"NoId\"", "E0422", "\"NoId\""),
        ("change = { \"NoId.S\" = \"1\" }", "E0422", "\"NoId.S\""),
        ("match = \"ABS1.Spd > 5\"", "E0423", "ABS1.Spd > 5"),
        ("match = \"ABS1.VehSpd > 5\"\npayload = \"01\"", "E0410", "\"01\""),
        ("match = \"ABS1\"\nchange = { \"ABS1.Spd\" = \"x\" }", "E0422", "\"ABS1.Spd\""),
        ("match = \"ABS1\"\nchange = { \"ABS1.VehSpd\" = \"x * y\" }", "E0424", "y"),
        ("match = \"ABS1\"\nchange = { \"ABS1.VehSpd\" = \"5 [mph]\" }", "E0424", "5 [mph]"),
        ("match = \"ABS1\"\nchange = { \"EEC1.Torque\" = \"x\" }", "E0424", "\"EEC1.Torque\""),
        ("match = \"ABS1\"\nchange = { \"ABS1.Gear\" = \"1\", \"ABS1.Over\" = \"2\" }", "E0424", "\"ABS1.Over\""),
        (
            "match = \"ABS1\"\nchange = { \"ABS1.Gear\" = \"1\" }\nand = { data = \"00\" }\nframes = \"classic\"",
            "E0410",
            "{ data = \"00\" }",
        ),
        ("match = \"ABS1\"\nchange = { \"ABS1.Gear\" = 1 }", "E0202", "1"),
        ("both-ways = true\nmatch = \"ABS1\"\nchange = { \"ABS1.Gear\" = \"1\" }", "E0410", "true"),
    ];
    for (lines, code, place) in cases {
        let text = file(lines);
        let found = findings(&text);
        assert_eq!(underlined(&text, &found), [(code, place)], "{lines}");
    }
    for (path, code) in [("missing.dbc", "E0421"), ("empty.dbc", "E0421"), ("car.arxml", "E0421")] {
        let text = file("match = \"ABS1\"").replace("car.dbc", path);
        assert_eq!(underlined(&text, &findings(&text)), [(code, format!("{path:?}").as_str())]);
    }
    let text = file("").replace("a = \"car.dbc\"", "c = \"car.dbc\"");
    assert_eq!(underlined(&text, &findings(&text)), [("E0401", "c")]);
    // Without a database, a name is no filter.
    let text = file("match = \"ABS1\"").replace("[database]\na = \"car.dbc\"\n", "");
    assert_eq!(underlined(&text, &findings(&text)), [("E0304", "S")]);
}

#[test]
fn routes_that_compute_differently_are_no_duplicates() {
    let two = |one: &str, other: &str| {
        let second = format!("[[route]]\nname = \"s\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"ABS1\"\n{other}");
        let text = file(&format!("match = \"ABS1\"\n{one}\n{second}"));
        findings(&text).iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    let change = |text: &str| format!("change = {{ \"ABS1.VehSpd\" = \"{text}\" }}");
    assert_eq!(two(&change("x + 1"), &change("x + 1")), ["W0503"]);
    for other in [change("x + 2"), String::new()] {
        assert_eq!(two(&change("x + 1"), &other), ["W0602"]);
    }
}

#[test]
fn names_of_two_databases_are_ambiguous() {
    let text = file("match = \"ABS1\"").replace("a = \"car.dbc\"", "a = [\"car.dbc\", \"car.dbc\"]");
    assert_eq!(underlined(&text, &findings(&text)), [("E0422", "\"ABS1\"")]);
}

#[test]
fn a_message_of_another_bus() {
    // GW repeats ABS1 on bus b; ESP sends it on bus a only. Both send Other.
    const A: &str = "BU_: ESP GW\nBO_ 291 ABS1: 8 ESP\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" GW\nBO_ 292 Other: 8 GW\n";
    const B: &str = "BU_: GW DASH\nBO_ 291 ABS1: 8 GW\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" DASH\nBO_ 292 Other: 8 DASH\n
BO_ 512 Dash: 8 GW\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" DASH\n";
    let found = |lines: &str| {
        let head = "engine = \"auto\"\n[database]\na = \"a.dbc\"\nb = \"b.dbc\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n";
        let text = format!("{head}{lines}");
        let read: &mut Read<'_> = &mut |path| Ok(if path == "a.dbc" { A.into() } else { B.into() });
        let loaded = load_for(text.as_bytes(), None, read).unwrap_or_else(|findings| panic!("{text}: {findings:#?}"));
        let codes = underlined(&text, &loaded.warnings).into_iter().map(|(code, place)| (code, place.to_owned()));
        codes.collect::<Vec<_>>()
    };
    let route = |from: &str, to: &str, lines: &str| {
        format!("[[route]]\nname = \"r\"\nfrom = \"{from}\"\nto = \"{to}\"\nmatch = {lines}\n")
    };
    assert_eq!(found(&route("a", "b", "\"ABS1\"")), []);
    assert_eq!(found(&route("b", "a", "\"ABS1\"")), [("W0518", "\"ABS1\"".into())]);
    assert_eq!(found(&route("b", "a", "\"ABS1.S > 5\"")), [("W0518", "\"ABS1.S > 5\"".into())]);
    assert_eq!(found(&route("b", "a", "[\"123\", \"Dash\"]")), [("W0518", "\"123\"".into())]);
    assert_eq!(found(&route("b", "a", "\"Other\"")), []);
    assert_eq!(found(&route("b", "a", "\"100..12F\"")), []);
    let frame = |from: &str| {
        let head = "[[frame]]\nmessage = \"Dash\"\nto = \"b\"\nsend = \"direct\"\nsignals = { S = { from = ";
        format!("{head}\"{from}\" }} }}\n")
    };
    assert_eq!(found(&frame("a.ABS1.S")), []);
    assert_eq!(found(&frame("b.ABS1.S")), [("W0502", "a".into()), ("W0518", "\"b.ABS1.S\"".into())]);
}

#[test]
fn a_kcd_file_names_what_a_dbc_file_does() {
    let lines = "match = \"ABS1.VehSpd > 50\"\nchange = { \"ABS1.VehSpd\" = \"x * 2\" }";
    let text = file(lines).replace("car.dbc", "car.kcd");
    let of_kcd = load_for(text.as_bytes(), None, &mut read).unwrap().plan;
    for speed in [0, 5000, 5001, 6000, 60_000u16] {
        let payload = [&speed.to_be_bytes()[..], &[1, 2, 3, 4, 5, 6]].concat();
        assert_eq!(sent(&of_kcd, 0x123, &payload), sent(&loaded(lines), 0x123, &payload), "{speed}");
        assert_eq!(sent(&of_kcd, 0x123, &payload).is_some(), speed > 5000);
    }
}

#[test]
fn a_file_of_another_format_says_what_to_do() {
    let found = findings(&file("match = \"ABS1\"").replace("car.dbc", "car.arxml"));
    let expected = "`car.arxml` has no message: line 2: this is an ARXML file; candor reads DBC and KCD files: convert it with \
                    `cantools convert FILE OUT.dbc`";
    assert_eq!(found[0].message, expected);
}
