mod egress;
mod realtime;
mod routes;
mod wire;

use proptest::prelude::*;

use super::*;
use crate::plan::{Engine, Formats, Route, Selection};
use crate::testing::{BUSES, check_cases, findings, loaded, pieces, underlined, with_route};
use candor_core::diagnostic::{Position, Severity};
use candor_core::frame::FrameFormat;

/// The files of the directory `examples`.
pub(crate) const EXAMPLES: [&str; 17] = [
    include_str!("../../../../examples/01-forward.toml"),
    include_str!("../../../../examples/02-filter.toml"),
    include_str!("../../../../examples/03-modify.toml"),
    include_str!("../../../../examples/04-checksum.toml"),
    include_str!("../../../../examples/05-fd.toml"),
    include_str!("../../../../examples/06-both-ways.toml"),
    include_str!("../../../../examples/07-lists.toml"),
    include_str!("../../../../examples/08-other-identifiers.toml"),
    include_str!("../../../../examples/09-payload.toml"),
    include_str!("../../../../examples/10-classic-and-fd.toml"),
    include_str!("../../../../examples/11-default-deny.toml"),
    include_str!("../../../../examples/12-realtime.toml"),
    include_str!("../../../../examples/13-wire.toml"),
    include_str!("../../../../examples/14-egress.toml"),
    include_str!("../../../../examples/15-tree.toml"),
    include_str!("../../../../examples/kvaser-kernel.toml"),
    include_str!("../../../../examples/kvaser-read-write.toml"),
];

#[test]
fn examples_have_no_findings() {
    for text in EXAMPLES {
        assert_eq!(findings(text), [], "{text}");
    }
}

fn only_route(lines: &str) -> Route {
    loaded(&with_route(lines)).routes()[0].clone()
}

/// A file with the engine `"auto"`, two buses and a route with these lines.
fn auto(lines: &str) -> String {
    format!("engine = \"auto\"\n{}", with_route(lines))
}

fn codes(text: &str) -> Vec<&'static str> {
    findings(text).iter().map(|finding| finding.code).collect()
}

#[test]
fn underlines_errors_in_routes() {
    check_cases(include_str!("tests/routes.txt"), with_route, findings);
    check_cases(include_str!("tests/auto.txt"), auto, findings);
}

#[test]
fn underlines_errors_in_files() {
    let route = "[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"";
    let file = |text: &str| {
        let text = text.replace("{file}", "{buses}\n{route}");
        format!("{}\n", text.replace("{buses}", BUSES.trim_end()).replace("{route}", route)).replace("\n\n", "\n")
    };
    check_cases(include_str!("tests/files.txt"), file, findings);
}

#[test]
fn comments_have_at_most_200_characters() {
    let comment = "ü".repeat(200);
    assert_eq!(only_route(&format!("comment = \"{comment}\"")).notes, [("comment", comment.clone())]);
    let text = with_route(&format!("comment = \"{comment}!\""));
    assert_eq!(underlined(&text, &findings(&text)), [("E0309", &*format!("\"{comment}!\""))]);
}

#[test]
fn rejects_interface_names_that_the_kernel_rejects() {
    let long = "a".repeat(16);
    for name in ["", ".", "..", "can/0", "can 0", "can:0", long.as_str()] {
        let text = with_route("").replace("can0", name);
        assert_eq!(codes(&text), ["E0303"], "{name}");
    }
    assert_eq!(findings(&with_route("").replace("can0", &"a".repeat(15))), []);
}

#[test]
fn bit_rates_need_units() {
    let bad = ["\"500kbps\"", "\"500\"", "500000", "\"999bit/s\"", "\"2Mbit/s\"", "\"900Mbit/s\""];
    for (rate, code) in bad.map(|rate| (rate, "E0302")).into_iter().chain([("true", "E0202")]) {
        let text = with_route("").replace("\"can0\"", &format!("\"can0\"\nbitrate = {rate}"));
        assert_eq!(underlined(&text, &findings(&text)), [(code, rate)]);
    }
    let data = |rate| codes(&with_route("").replace("\"can0\"", &format!("\"can0\"\ndata-bitrate = \"{rate}\"")));
    assert_eq!((data("20Mbit/s"), data("21Mbit/s")), (vec![], vec!["E0302"]));
}

#[test]
fn syntax_errors_neither_hide_nor_cause_other_errors() {
    let cases: &[(&str, &[&str])] = &[
        ("engine = kernel\n[bus.a]\ninterface = \"x/y\"\n", &["E0205", "E0101", "E0303"]),
        ("[bus.a\ninterface = \"can0\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n", &["E0101"]),
        (
            "[bus.a]\ninterface = \"can0\n[[route]]\nname = \"r\"\nhop-limit = 9\n",
            &["E0101", "E0203", "E0203", "E0308"],
        ),
        ("garbage }}{{ ]]", &["E0101"]),
        (
            "[[route]]\nname = \"r\"\nname = \"q\"\nfrom = \"a\"\nto = \"a\"\n[bus.a]\ninterface=\"c\"\n",
            &["E0102", "E0402"],
        ),
        ("a\0b = 1\n", &["E0101"]),
        ("[bus.a]\ninterface = \"can0\"\nhop-limit =", &["E0205", "E0201", "E0101"]),
    ];
    for (text, expected) in cases {
        assert_eq!(codes(text), *expected, "{text}\n{:#?}", findings(text));
    }
}

#[test]
fn duplicate_keys_show_both_places() {
    let text = "[[route]]\nname = \"a\"\nset = { id = \"1\", id = \"2\" }\nname = \"b\"\n[bus.x]\n[bus.x]\n";
    let found: Vec<_> = findings(text)
        .into_iter()
        .filter(|finding| finding.code == code::DUPLICATE_KEY)
        .map(|finding| (finding.primary.span.start, finding.secondary[0].span.start))
        .collect();
    let at = |part: &str| text.match_indices(part).map(|(at, _)| at).collect::<Vec<_>>();
    let (ids, names, headers) = (at("id ="), at("name ="), at("[bus.x]"));
    assert_eq!(found, [(ids[1], ids[0]), (names[1], names[0]), (headers[1] + "[bus.".len(), headers[0])]);
}

#[test]
fn reads_carriage_returns_and_byte_order_marks() {
    let text = with_route("hop-limit = 9");
    let line = |text: &str| Position::of(text, findings(text)[0].primary.span.start);
    for other in [text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        assert_eq!(findings(&other).len(), 1, "{:?}", findings(&other));
        assert_eq!(line(&other), line(&text));
    }
}

#[test]
fn rejects_hostile_files_quickly() {
    let kib = |kib: usize, part: &str| part.repeat(kib * 1024 / part.len());
    let numbered = |count: usize, part: fn(usize) -> String| (0..count).map(part).collect::<String>();
    let cases = [
        (kib(9 * 1024, "# comment\n"), code::FILE_TOO_LARGE),
        (kib(8 * 1024 - 1, "}\n"), code::FILE_TOO_LARGE),
        (kib(8 * 1024 - 1, "[[route]]\n"), code::FILE_TOO_LARGE),
        (kib(1024, "["), code::LINE_TOO_LONG),
        (format!("a = {}", kib(4, "[")[..4000].to_owned()), code::SYNTAX),
        (kib(200, "a = [\n"), code::SYNTAX),
        (kib(200, "a = {\n"), code::SYNTAX),
        (kib(3, "a."), code::TOO_DEEP),
        (kib(3, "'\"'.\"'\"."), code::TOO_DEEP),
        (kib(200, "x = 1\n"), code::DUPLICATE_KEY),
        ((0..20_000).map(|key| format!("x{key} = 1\n")).collect(), code::TOO_MANY),
        ((0..10_000).map(|bus| format!("[bus.b{bus}]\ninterface = \"c{bus}\"\n")).collect(), code::NO_ROUTE),
        (format!("{BUSES}{}", kib(200, "[[route]]\nfrom = \"x\"\nto = \"y\"\n")), code::TOO_MANY),
        (kib(200, "}\n"), code::SYNTAX),
        (kib(200, "[[route]]\n"), code::TOO_MANY),
        (kib(200, "[route]\n"), code::TOO_MANY),
        // Each of these would take long if every finding went through the whole file again.
        (
            numbered(20_000, |bus| format!("[bus.b{bus}]\ninterface = \"c{bus}\"\n")) + &kib(2, "interface = \"x\"\n"),
            code::DUPLICATE_KEY,
        ),
        (
            numbered(20_000, |bus| format!("[bus.b{bus}]\ninterface = \"c{bus}\"\nbitrate = \"1M\"\n"))
                + &numbered(10_000, |route| {
                    let (from, to) = (route, route + 10_000);
                    format!("[[route]]\nname = \"{route}\"\nfrom = \"b{from}\"\nto = \"b{to}\"\nframes = \"fd\"\n")
                }),
            "W0605",
        ),
    ];
    for (text, code) in cases {
        let findings = findings(&text);
        assert!(findings.iter().any(|finding| finding.code == code), "{}: {:?}", &text[..20], findings[0]);
        assert!(findings.len() <= candor_core::diagnostic::MAX_FINDINGS + 1);
    }
}

#[test]
fn warnings_do_not_displace_errors() {
    let route = |index| format!("[[route]]\nname = \"r{index}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123:7FF\"\n");
    let loose: String = (0..300).map(route).collect();
    let warnings = load(format!("{BUSES}{loose}").as_bytes()).unwrap().warnings;
    assert_eq!(warnings.len(), candor_core::diagnostic::MAX_FINDINGS + 1);
    assert!(warnings.iter().all(|finding| finding.severity == Severity::Warning));
    let errors = load(format!("{BUSES}{loose}hop-limit = 9\n").as_bytes()).unwrap_err();
    assert_eq!(errors.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["E0308", "E0107"]);
}

#[test]
fn many_findings_of_one_code_do_not_hide_another_code() {
    let route = |name: &str, more: &str| format!("[[route]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{more}");
    let loose: String = (0..2000).map(|at| route(&format!("r{at}"), "match = \"123:7FF\"\n")).collect();
    let last = route("last", "match = \"456\"\nframes = \"classic\"\nhop-limit = 2\nkeep-timestamp = true\n");
    let warnings = load(format!("{BUSES}{loose}{last}").as_bytes()).unwrap().warnings;
    let count = |code| warnings.iter().filter(|finding| finding.code == code).count();
    assert_eq!(warnings.len(), candor_core::diagnostic::MAX_FINDINGS + 1);
    assert_eq!([count(code::HOP_LIMIT_IS_IDLE), count(code::KEEPS_TIMESTAMP)], [1, 1]);
    assert!(count(code::LOOSE_FILTER).abs_diff(count(code::SAME_ROUTE)) <= 1);
    let more = warnings.last().unwrap();
    let left_out = format!("not listed: {} of W0501, {} of W0503", 2000 - count("W0501"), 1999 - count("W0503"));
    assert_eq!((more.code, more.help.as_deref()), (code::TOO_MANY_WARNINGS, Some(&*left_out)));
}

#[test]
fn unlisted_notes_are_a_note() {
    let route = |at| {
        let more = format!("match = \"{at:08X}\"\nframes = \"classic\"\nkeep-timestamp = true\n");
        format!("[[route]]\nname = \"r{at}\"\nfrom = \"a\"\nto = \"b\"\n{more}")
    };
    let notes: String = (0..300).map(route).collect();
    let findings = load(format!("{BUSES}{notes}").as_bytes()).unwrap().warnings;
    assert_eq!(findings.len(), candor_core::diagnostic::MAX_FINDINGS + 1);
    assert!(findings.iter().all(|finding| finding.severity == Severity::Note));
    assert_eq!(findings.last().unwrap().code, code::TOO_MANY_NOTES);
}

#[test]
fn shows_where_text_is_not_utf8() {
    let findings = load(b"engine = \"kernel\"\nname = \"\xff\"\n").unwrap_err();
    assert_eq!((findings[0].code, findings[0].primary.span.clone()), (code::NOT_UTF8, 26..27));
    assert_eq!(findings[0].severity, Severity::Error);
}

#[test]
fn defaults_equal_those_of_cangw() {
    let plan = loaded(&with_route(""));
    let route = &plan.routes()[0];
    assert_eq!(plan.engine(), Engine::Kernel);
    assert_eq!((route.selections.as_slice(), route.formats), ([Selection::ALL].as_slice(), Formats::Any));
    assert!(route.modifications.is_empty() && route.hop_limit.is_none());
}

#[test]
fn digits_determine_the_operand_for_the_identifier() {
    let cases = [
        ("and = { id = \"7FF\" }", 0x7FF),
        ("and = { id = \"1FFFFFFF\" }", 0x9FFF_FFFF),
        ("and = { id = \"C00007FF\" }", 0xC000_07FF),
        ("and = { id = \"FFFFFFFF\" }", 0xFFFF_FFFF),
        ("or = { id = \"1\" }", 1),
        ("or = { id = \"00000001\" }", 0x8000_0001),
        ("xor = { id = \"7FF\" }", 0x7FF),
        ("xor = { id = \"1FFFFFFF\" }", 0x1FFF_FFFF),
        ("xor = { id = \"80000000\" }", 0x8000_0000),
        ("set = { id = \"456\" }", 0x456),
        ("set = { id = \"12345678\" }", 0x9234_5678),
        ("set = { id = \"40000123\" }", 0x4000_0123),
    ];
    for (line, operand) in cases {
        let modifications = only_route(line).modifications;
        let sent = [modifications.and, modifications.or, modifications.xor, modifications.set];
        assert_eq!(sent.iter().find_map(|operand| operand.id), Some(operand), "{line}");
    }
}

#[test]
fn short_data_leaves_other_bytes_unchanged() {
    let lines = |frames: &str| format!("frames = \"{frames}\"\nand = {{ data = \"0F\" }}\nor = {{ data = \"80 01\" }}");
    let fd = only_route(&lines("fd")).modifications;
    assert_eq!(fd.and.data.map(|data| (data[0], data[1], data[63])), Some((0x0F, 0xFF, 0xFF)));
    assert_eq!(fd.or.data.map(|data| (data[0], data[1], data[2])), Some((0x80, 0x01, 0)));
    let classic = only_route(&lines("classic")).modifications;
    assert_eq!(classic.and.data.map(|data| (data[7], data[8])), Some((0xFF, 0)));
    let any = only_route("and = { data = \"0F\" }");
    assert_eq!(any.modifications.and.data.map(|data| data[63]), Some(0xFF));
}

#[test]
fn checksums_alone_get_a_modification_without_effect() {
    let route = only_route("checksum-xor = { from = 0, to = 6, result = 7 }");
    assert_eq!(route.modifications.or.data, Some([0; 64]));
    assert!(
        route.modifications.and.is_empty() && route.modifications.xor.is_empty() && route.modifications.set.is_empty()
    );
    let route = only_route("set = { id = \"1\" }\nchecksum-xor = { from = 0, to = 6, result = 7 }");
    assert!(route.modifications.or.is_empty());
}

#[test]
fn keeps_the_order_of_buses_and_routes() {
    let text = "[bus.z]\ninterface = \"can1\"\n[bus.a]\ninterface = \"can0\"\n\
                [[route]]\nname = \"y\"\nfrom = \"z\"\nto = \"a\"\nframes = \"fd\"\n\
                [[route]]\nname = \"b\"\nfrom = \"a\"\nto = \"z\"\n";
    let plan = loaded(text);
    assert_eq!(plan.buses().iter().map(|bus| bus.name.as_str()).collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(plan.routes().iter().map(|route| route.name.as_str()).collect::<Vec<_>>(), ["y", "b"]);
    assert_eq!(plan.routes()[0].formats, Formats::Only(FrameFormat::Fd));
}

proptest! {
    #[test]
    fn invariants_hold_for_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        invariants::check(&bytes);
    }

    #[test]
    fn invariants_hold_for_text_of_pieces(
        pieces in prop::collection::vec(prop::sample::select(pieces(include_str!("tests/pieces.txt"))), 0..60),
    ) {
        invariants::check(pieces.concat().as_bytes());
    }

    #[test]
    fn invariants_hold_for_changed_examples(
        example in 0..EXAMPLES.len(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..6),
    ) {
        let mut bytes = EXAMPLES[example].as_bytes().to_vec();
        for (place, byte, insert) in changes {
            let place = place.index(bytes.len());
            if insert { bytes.insert(place, byte) } else { bytes[place] = byte }
        }
        invariants::check(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        invariants::check(&bytes);
    }
}

#[test]
fn many_warnings_do_not_hide_an_error() {
    let mut text = String::from(BUSES);
    for number in 0..1200 {
        text += &format!("[[route]]\nname = \"r{number}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123:7FF\"\n");
    }
    text += "[[route]]\nname = \"self\"\nfrom = \"a\"\nto = \"a\"\n";
    assert!(codes(&text).contains(&"E0402"), "{:?}", codes(&text).last());
}

#[test]
fn empty_sections_count_as_missing() {
    for text in ["bus = {}\nroute = []\n", "route = []\n[bus.a]\ninterface = \"can0\"\n"] {
        assert!(codes(text).contains(&"E0205"), "{text}");
        invariants::check(text.as_bytes());
    }
}

#[test]
fn missing_value_is_a_single_finding() {
    for key in ["match", "name", "to"] {
        let cut =
            |line: &str| if line.starts_with(&format!("{key} =")) { format!("{key} =\n") } else { format!("{line}\n") };
        let text: String = with_route("match = \"123\"").lines().map(cut).collect();
        assert_eq!(codes(&text), ["E0101"], "{text}");
    }
}
