use candor_config::config;

use super::*;

fn plan(route: &str) -> Plan {
    let text = format!(
        "engine = \"auto\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{route}\n"
    );
    config::load(text.as_bytes()).unwrap_or_else(|findings| panic!("{text}: {findings:?}")).plan
}

fn examples(route: &str, most: usize) -> Vec<String> {
    let plan = plan(route);
    let forwarder = Forwarder::new(&plan, RouteIndex(0));
    forwarder.examples(most).iter().map(Frame::to_string).collect()
}

#[test]
fn examples_pass_filters_patterns_and_guards() {
    assert_eq!(examples("match = \"123\"", 4), ["123#0000000000000000"]);
    assert_eq!(
        examples("match = \"120..12F\"", 3),
        ["120#0000000000000000", "127#0000000000000000", "12F#0000000000000000"]
    );
    assert_eq!(examples("match = \"12345678\"\nguard = { len = 3 }", 1), ["12345678#000000"]);
    assert_eq!(examples("match = \"123\"\npayload = \"?? 5A\"", 1), ["123#005A000000000000"]);
    assert_eq!(
        examples("match = \"123\"\nframes = \"fd\"\nguard = { len = 12 }", 1),
        ["123##4000000000000000000000000"]
    );
    let all = examples("", 2);
    assert_eq!((all[0].as_str(), all.len()), ("000#0000000000000000", 2));
}

#[test]
fn numbers_are_in_bytes_that_nothing_changes() {
    let numbering = |route: &str| {
        let plan = plan(route);
        let forwarder = Forwarder::new(&plan, RouteIndex(0));
        Numbering::of(&forwarder, &forwarder.examples(4))
    };
    assert_eq!(numbering("match = \"123\"").unwrap().at, [0, 1]);
    let set = numbering("match = \"123\"\nand = { data = \"00FFFFFFFFFFFFFF\" }");
    assert_eq!(set.map(|numbering| numbering.at), Some(vec![1, 2]));
    assert_eq!(numbering("match = \"123\"\npayload = \"01\"\nguard = { len = 2 }").unwrap().room(), 256);
    assert_eq!(numbering("match = \"123\"\nguard = { len = 0 }"), None);
    let both = Numbering { at: vec![2, 4] };
    let frame = both.number(&"123#0011223344".parse().unwrap(), 0xABCD);
    assert_eq!((frame.to_string().as_str(), both.read(&frame)), ("123#0011AB33CD", Some(0xABCD)));
}
