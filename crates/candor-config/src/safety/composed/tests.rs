use crate::config::{Read, load_for};
use crate::testing::underlined;

const CAR: &[u8] = b"BO_ 291 ABS1: 8 N\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|0] \"\" N\n";
const BODY: &[u8] = b"BO_ 512 Dash: 8 N\n SG_ Speed : 0|16@1+ (0.1,0) [0|0] \"\" N
BO_ 513 Lamp: 8 N\n SG_ Speed : 0|16@1+ (0.1,0) [0|0] \"\" N\n";

const HEAD: &str = "[database]\na = \"car.dbc\"\nb = \"body.dbc\"\nd = \"body.dbc\"
[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"
[bus.c]\ninterface = \"vxcan0\"\nvxcan-peer = \"d\"\n[bus.d]\ninterface = \"vxcan1\"
";
const DASH: &str = "[[frame]]\nmessage = \"Dash\"\nto = \"b\"\nsignals = { Speed = { from = \"a.ABS1.VehSpd\" } }\n";

/// Frame `Dash` on bus `b`, composed of ABS1 on bus `a`, and these lines. Codes and places of the findings about frames.
fn found(lines: &str) -> Vec<(&'static str, String)> {
    let text = format!("{HEAD}{DASH}{lines}");
    let read: &mut Read<'_> = &mut |path| Ok(if path == "car.dbc" { CAR.to_vec() } else { BODY.to_vec() });
    let loaded = load_for(text.as_bytes(), None, read).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}"));
    let mut findings = underlined(&text, &loaded.warnings);
    findings.retain(|(code, _)| *code != "W0502");
    findings.into_iter().map(|(code, place)| (code, place.to_owned())).collect()
}

fn route(from: &str, to: &str, lines: &str) -> String {
    format!("[[route]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{lines}\n")
}

#[test]
fn a_route_with_the_identifier_of_a_composed_frame() {
    assert_eq!(found(""), []);
    // The frames of the other bus, and those that the composed one is made of.
    assert_eq!(found(&route("a", "b", "match = \"123\"")), []);
    assert_eq!(found(&route("b", "a", "match = \"200\"")), []);
    assert_eq!(found(&route("a", "b", "match = \"200\"")), [("W0603", "\"200\"".into())]);
    assert_eq!(found(&route("a", "b", "match = \"123\"\nto-id = \"200\"")), [("W0603", "\"200\"".into())]);
    assert_eq!(found(&route("a", "b", "match = \"100..2FF\"")), [("N0604", "\"100..2FF\"".into())]);
    assert_eq!(found(&route("a", "b", "match = \"100..2FF\"\ndeny = [\"200\"]")), []);
    assert_eq!(
        found(&route("a", "b", "match = \"100..2FF\"\ndeny = [\"@sent\"]\n[ids]\nsent = [\"200\", \"201\"]")),
        []
    );
}

#[test]
fn a_frame_that_comes_back_as_its_source() {
    let back = "match = \"200\"\nto-id = \"123\"\n";
    assert_eq!(found(&route("b", "a", back)), []);
    assert_eq!(found(&route("b", "a", &format!("{back}echo = true"))), [("W0609", "[[frame]]".into())]);
    // Through the pair, and by a second frame that is composed of the first one.
    let away = route("b", "c", "match = \"200\"");
    let lamp = "[[frame]]\nmessage = \"Lamp\"\nto = \"b\"\nsignals = { Speed = { from = \"d.Dash.Speed\" } }\n";
    let back = |lines: &str| route("b", "a", &format!("match = \"201\"\nto-id = \"123\"\n{lines}"));
    assert_eq!(found(&format!("{away}{lamp}{}", back(""))), []);
    assert_eq!(found(&format!("{lamp}{}", back("echo = true"))), []);
    let both = [("W0609", "[[frame]]".into()), ("W0609", "[[frame]]".into())];
    assert_eq!(found(&format!("{away}{lamp}{}", back("echo = true"))), both);
}
