use crate::config::{Key, Loaded, load_with};
use crate::plan::Plan;
use crate::testing::{BUSES, underlined};
use candor_core::diagnostic::Diagnostic;
use candor_core::frame::Frame;
use candor_core::ruleset::{Routed, RuleSet};
use candor_secoc::{Protection, Scheme};

fn key(path: &str) -> Result<Key, String> {
    match path {
        "a.key" => Ok(Key::new([7; 16])),
        "b.key" => Ok(Key::new([8; 16])),
        _ => Err("others can read or change it (mode 644)".to_owned()),
    }
}

fn load(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    load_with(text.as_bytes(), None, &mut crate::config::no_files, &mut { key })
}

/// Routes with these names and further lines.
fn file(routes: &[(&str, &str)]) -> String {
    let route =
        |(name, lines): &(&str, &str)| format!("[[route]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{lines}\n");
    format!("engine = \"auto\"\n{BUSES}{}", routes.iter().map(route).collect::<String>())
}

fn plan(routes: &[(&str, &str)]) -> Plan {
    let text = file(routes);
    load(&text).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}")).plan
}

/// Sends frames through a plan.
fn sent(plan: &Plan, frames: &[String]) -> Vec<String> {
    let rules = RuleSet::compile(&crate::lower(plan), plan.buses().len());
    let send = |text: &String| {
        let frame: Frame = text.parse().unwrap();
        let mut out = "-".to_owned();
        rules.from_bus(plan.routes()[0].from).outcomes(&frame, |_, routed| {
            if let Routed::Send { frame, .. } = routed {
                out = frame.to_string();
            }
        });
        out
    };
    frames.iter().map(send).collect()
}

fn secured(scheme: &Scheme, path: &str, id: &str, value: u64) -> String {
    let mut bytes = [1, 2, 3, 4, 0, 0, 0, 0];
    let bytes = &mut bytes[..scheme.len];
    if scheme.payload.is_empty() {
        bytes.fill(0);
    }
    assert!(Protection::new(scheme, &key(path).unwrap()).unwrap().secure(bytes, value));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{id}#{hex}")
}

const SYNC: (&str, &str) = ("sync", "match = \"00F\"\ncheck = { secoc = \"sync\", key = \"a.key\" }");
const STEERING: (&str, &str) =
    ("steering", "match = \"131\"\ncheck = { secoc = \"P03\", key = \"a.key\", sync = \"sync\", strip = true }");

#[test]
fn authentic_frames_are_stripped() {
    let scheme = Scheme::profile_1(0x131, 4, 32);
    let check = "match = \"131\"\ncheck = { secoc = \"P01\", key = \"a.key\", strip = true }";
    let frames: Vec<_> = [0, 1, 1].map(|value| secured(&scheme, "a.key", "131", value)).into();
    assert_eq!(sent(&plan(&[("r", check)]), &frames), ["131#01020304", "131#01020304", "-"]);
    let forged = [secured(&scheme, "b.key", "131", 0), "131#01020304".to_owned()];
    assert_eq!(sent(&plan(&[("r", check)]), &forged), ["-", "-"]);
    // What is not authentic is counted only.
    let pass = check.replace("strip = true", "on-bad = \"pass\"");
    assert_eq!(sent(&plan(&[("r", &pass)]), &forged[..1]), [forged[0].as_str()]);
}

#[test]
fn frames_are_secured_and_secured_again() {
    let scheme = Scheme::profile_1(0x131, 4, 32);
    let protect = "match = \"131\"\nprotect = { secoc = \"P01\", key = \"b.key\" }";
    let expected: Vec<_> = [0, 1].map(|value| secured(&scheme, "b.key", "131", value)).into();
    assert_eq!(sent(&plan(&[("r", protect)]), &vec!["131#01020304".to_owned(); 2]), expected);
    let again = format!("{protect}\ncheck = {{ secoc = \"P01\", key = \"a.key\", data-id = 0x999 }}");
    let scheme = Scheme::profile_1(0x999, 4, 32);
    let frames: Vec<_> = [5, 6].map(|value| secured(&scheme, "a.key", "131", value)).into();
    assert_eq!(sent(&plan(&[("r", &again)]), &frames), expected);
    // Without a Data-ID, with another start, and 4 bytes of the MAC.
    let other = "match = \"131\"\nprotect = { secoc = \"P01\", key = \"b.key\", data-id = [], start = \"12FF\", mac-bits = 32, payload = 3 }";
    let mut scheme = Scheme::profile_1(0, 3, 32);
    (scheme.data_id, scheme.mac.1, scheme.len) = (Vec::new(), 32, 8);
    let mut bytes = [1, 2, 3, 0, 0, 0, 0, 0];
    assert!(Protection::new(&scheme, &key("b.key").unwrap()).unwrap().secure(&mut bytes, 0x12FF));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(sent(&plan(&[("r", other)]), &["131#010203".to_owned()]), [format!("131#{hex}")]);
}

#[test]
fn routes_follow_a_sync_frame_wherever_it_is_in_the_file() {
    let sync = |value| secured(&Scheme::sync(0xF), "a.key", "00F", value);
    let steering = |value| secured(&Scheme::profile_3(0x131, 4), "a.key", "131", value);
    let frames = [
        steering(1 << 28 | 2 << 8),
        sync(1 << 20 | 2),
        steering(1 << 28 | 2 << 8),
        steering(1 << 28 | 2 << 8),
        sync(1 << 20 | 1),
    ];
    let expected = ["-", &frames[1], "131#01020304", "-", "-"];
    for routes in [[SYNC, STEERING], [STEERING, SYNC]] {
        assert_eq!(sent(&plan(&routes), &frames), expected);
    }
    let counted = plan(&[SYNC, STEERING]);
    sent(&counted, &frames);
    let verdicts = counted.routes()[1].verdicts();
    assert!(["no-sync", "ok", "repeated"].iter().all(|name| verdicts.contains(&(name, 1))), "{verdicts:?}");
    // A reload keeps the state, also that of a new follower's sync frame.
    let (running, mut new) = (plan(&[SYNC, STEERING]), plan(&[SYNC, STEERING]));
    assert_eq!(sent(&running, &frames), expected);
    new.go_on_from(&running);
    assert_eq!(sent(&new, &frames), ["-", &frames[1], "-", "-", "-"]);
    let whole = ("steering", &*STEERING.1.replace(", strip = true", ""));
    let mut new = plan(&[SYNC, whole]);
    new.go_on_from(&running);
    assert_eq!(sent(&new, &frames[2..3]), [frames[2].as_str()]);
}

fn found(routes: &[(&str, &str)]) -> Vec<String> {
    let text = file(routes);
    let findings = load(&text).map_or_else(|findings| findings, |loaded| loaded.warnings);
    underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect()
}

#[test]
fn a_key_in_the_file_is_not_repeated() {
    for key in [
        "000102030405060708090A0B0C0D0E0F",
        "0x000102030405060708090a0b0c0d0e0f",
        "00 01 02 03 04 05 06 07 08:09:0A:0B:0C:0D:0E:0F",
    ] {
        let text = file(&[("r", &format!("match = \"131\"\ncheck = {{ secoc = \"P01\", key = \"{key}\" }}"))]);
        let findings = load(&text).unwrap_err();
        assert_eq!(underlined(&text, &findings), [("E0428", &*format!("\"{key}\""))]);
        assert!(!format!("{findings:?}").to_lowercase().contains("0e"), "{findings:?}");
    }
}

#[test]
fn lengths_of_frames_fit_the_route() {
    let of = |lines: &str| found(&[("r", &format!("match = \"131\"\n{lines}"))]);
    let long = "{ secoc = \"P01\", key = \"a.key\", len = 12 }";
    assert_eq!(of(&format!("frames = \"classic\"\ncheck = {long}")), ["E0427 12"]);
    assert_eq!(of(&format!("frames = \"classic\"\nprotect = {long}")), ["E0427 12"]);
    assert_eq!(of(&format!("check = {long}\nguard = {{ len = 8 }}")), ["E0430 8"]);
    assert_eq!(of(&format!("check = {long}\nguard = {{ len = 12 }}")), Vec::<String>::new());
}

#[test]
fn mistakes_are_named() {
    let of = |lines: &str| found(&[("r", &format!("match = \"131\"\n{lines}")), SYNC]);
    assert_eq!(of("check = { secoc = \"P01\", key = \"a.key\" }"), Vec::<String>::new());
    assert_eq!(of("check = { secoc = \"P01\", key = \"open.key\" }"), ["E0428 \"open.key\""]);
    assert_eq!(of("check = { secoc = \"P01\" }"), ["E0427 { secoc = \"P01\" }"]);
    assert_eq!(of("check = { secoc = \"P09\", key = \"a.key\" }"), ["E0427 \"P09\""]);
    assert_eq!(of("check = { secoc = \"P01\", key = \"a.key\", sync = \"x\" }"), ["E0427 \"x\""]);
    let unused = "{ secoc = \"P01\", key = \"a.key\", sync = \"sync\" }";
    assert_eq!(of(&format!("protect = {unused}")), [format!("E0427 {unused}")]);
    let missing = "{ secoc = \"P03\", key = \"a.key\" }";
    assert_eq!(of(&format!("check = {missing}")), [format!("E0427 {missing}")]);
    assert_eq!(of("check = { secoc = \"P01\", key = \"a.key\", e2e = \"P01\" }"), ["E0427 \"P01\""]);
    assert_eq!(of("check = { e2e = \"P01\", data-id = 1, key = \"a.key\" }"), ["E0427 \"a.key\""]);
    assert_eq!(of("check = { e2e = \"P01\", data-id = 1, strip = true }"), ["E0427 true"]);
    assert_eq!(of("check = { secoc = \"P01\", key = \"a.key\", data-id = 0x12345 }"), ["E0427 0x12345"]);
    assert_eq!(of("protect = { secoc = \"P01\", key = \"a.key\", counter = \"follow\" }"), ["E0427 \"follow\""]);
    let sync = "{ secoc = \"sync\", key = \"a.key\" }";
    assert_eq!(of(&format!("protect = {sync}")), [format!("E0427 {sync}")]);
    assert_eq!(of("both-ways = true\ncheck = { secoc = \"P01\", key = \"a.key\" }"), ["E0410 true"]);
    let stripped = "check = { secoc = \"P01\", key = \"a.key\", on-bad = \"pass\", strip = true }";
    assert_eq!(of(stripped), ["E0427 \"pass\""]);
    let laundered = "check = { secoc = \"P01\", key = \"a.key\", on-bad = \"pass\" }\nprotect = { secoc = \"P01\", key = \"b.key\" }";
    assert_eq!(of(laundered), ["E0427 \"pass\""]);
    let short = "{ secoc = \"P01\", key = \"a.key\", len = 3 }";
    assert_eq!(of(&format!("check = {short}")), [format!("E0427 {short}")]);
    let extended = "{ secoc = \"P01\", key = \"a.key\" }";
    assert_eq!(found(&[("r", &format!("match = \"00000131\"\ncheck = {extended}"))]), [format!("E0427 {extended}")]);
    // Nothing of a key is in a plan that is printed.
    let text = format!("{:?}", plan(&[SYNC, STEERING]));
    assert!(!text.contains("[7, 7"), "{text}");
}
