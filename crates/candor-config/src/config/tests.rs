mod egress;
mod realtime;
mod routes;
mod wire;

use proptest::prelude::*;

use super::*;
use crate::plan::{Engine, Formats, Selection};
use candor_core::diagnostic::{Diagnostic, Position, Severity};
use candor_core::frame::FrameFormat;

/// The files of the folder `examples`.
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

const BUSES: &str = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n";

/// A file with two buses and one route with these further lines.
fn with_route(lines: &str) -> String {
    format!("{BUSES}[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{lines}\n")
}

fn findings(text: &str) -> Vec<Diagnostic> {
    match load(text.as_bytes()) {
        Ok(loaded) => loaded.warnings,
        Err(findings) => findings,
    }
}

/// Code and underlined text of every finding.
fn underlined(text: &str) -> Vec<(&'static str, &str)> {
    findings(text).iter().map(|finding| (finding.code, &text[finding.primary.span.clone()])).collect()
}

fn only_route(lines: &str) -> crate::plan::Route {
    let text = with_route(lines);
    load(text.as_bytes()).unwrap_or_else(|findings| panic!("{lines}: {findings:#?}")).plan.routes()[0].clone()
}

#[test]
fn the_examples_are_valid_and_without_warnings() {
    for text in EXAMPLES {
        assert_eq!(findings(text), [], "{text}");
    }
}

#[test]
fn mistakes_in_a_route_are_found_where_they_are() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("match = \"800\"", &[("E0304", "800")]),
        ("match = \"123:1FFFFFFF\"", &[("E0304", "1FFFFFFF")]),
        ("match = \"12345678:7FF\"", &[("E0304", "7FF")]),
        ("match = \"123:7FF\"", &[("W0501", "\"123:7FF\"")]),
        ("match = \"100-1FF\"", &[("E0304", "100-1FF")]),
        ("match = \"any\"", &[("E0304", "any")]),
        ("match = \"0~0\"", &[("W0505", "\"0~0\"")]),
        ("frames = \"clasic\"", &[("E0305", "\"clasic\"")]),
        ("hop-limit = 0", &[("E0308", "0")]),
        ("hop-limit = 7", &[("E0308", "7")]),
        ("hop-limit = \"1\"", &[("E0202", "\"1\"")]),
        ("hop-limit = 99999999999999999999", &[("E0202", "99999999999999999999")]),
        ("echo = 1", &[("E0202", "1")]),
        ("hop_limit = 1", &[("E0201", "hop_limit")]),
        ("comment = 1", &[("E0202", "1")]),
        ("comment = \"a\\nb\"", &[("E0309", "\"a\\nb\"")]),
        ("and = {}", &[("E0206", "{}")]),
        ("and = { id = \"800\" }", &[("E0307", "\"800\"")]),
        ("and = { id = \"1234\" }", &[("E0307", "\"1234\"")]),
        ("and = { id = \"0x7FF\" }", &[("E0307", "x")]),
        ("and = { id = 0x7ff }", &[("E0202", "0x7ff")]),
        ("set = { id = \"20000123\" }", &[("E0307", "\"20000123\"")]),
        ("set = { id = \"40000800\" }", &[("E0307", "\"40000800\"")]),
        ("set = { len = 8 }", &[("E0405", "8")]),
        ("set = { data = \"1122334455667788\" }", &[("E0405", "\"1122334455667788\"")]),
        ("or = { data = \"112233445566778899\" }", &[("E0405", "\"112233445566778899\"")]),
        ("or = { flags = \"01\" }", &[("E0405", "\"01\"")]),
        ("frames = \"classic\"\nor = { flags = \"01\" }", &[("E0406", "\"01\"")]),
        ("frames = \"classic\"\nset = { data = \"11\" }", &[("E0406", "\"11\"")]),
        ("frames = \"classic\"\nset = { len = 16 }", &[("E0308", "16")]),
        ("frames = \"fd\"\nset = { len = 9 }", &[("E0308", "9")]),
        ("frames = \"fd\"\nset = { len = 65 }", &[("E0308", "65")]),
        ("frames = \"classic\"\nor = { data = \"112233445566778899\" }", &[("E0406", "\"112233445566778899\"")]),
        ("or = { data = \"112\" }", &[("E0306", "\"112\"")]),
        ("or = { data = \"1x\" }", &[("E0306", "x")]),
        ("or = { data = \"\" }", &[("E0406", "\"\"")]),
        ("checksum-xor = { from = 0, to = 8, result = -9 }", &[("E0308", "8"), ("E0308", "-9")]),
        ("frames = \"fd\"\nchecksum-xor = { from = 0, to = 64, result = -64 }", &[("E0308", "64")]),
        ("checksum-xor = { from = 0, to = 6 }", &[("E0203", "checksum-xor")]),
        ("checksum-crc8 = { from = 0, to = 6, result = 7 }", &[("E0407", "{ from = 0, to = 6, result = 7 }")]),
        ("checksum-crc8 = { from = 0, to = -2, result = -1, polynomial = \"1D\" }", &[("W0504", "-2")]),
        ("checksum-crc8 = { from = 0, to = 6, result = 7, polynomial = \"1D\", profile = {} }", &[("E0407", "{}")]),
        ("checksum-crc8 = { from = 0, to = 6, result = 7, table = \"00\" }", &[("E0306", "\"00\"")]),
    ];
    for (lines, expected) in cases {
        assert_eq!(underlined(&with_route(lines)), *expected, "{lines}");
    }
}

#[test]
fn comments_have_at_most_200_characters() {
    let comment = "ü".repeat(200);
    assert_eq!(only_route(&format!("comment = \"{comment}\"")).comment, Some(comment.clone()));
    let text = with_route(&format!("comment = \"{comment}!\""));
    assert_eq!(underlined(&text), [("E0309", &*format!("\"{comment}!\""))]);
}

#[test]
fn mistakes_in_a_file_are_found_where_they_are() {
    let route = "[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n";
    let file = |head: &str, tail: &str| format!("{head}{BUSES}{route}{tail}");
    let cases: &[(String, &[(&str, &str)])] = &[
        (String::new(), &[("E0204", ""), ("E0205", "")]),
        (BUSES.to_owned(), &[("E0205", "")]),
        (route.to_owned(), &[("E0204", ""), ("E0401", "\"a\""), ("E0401", "\"b\"")]),
        (file("engine = \"kernal\"\n", ""), &[("E0301", "\"kernal\"")]),
        (file("engin = \"kernel\"\n", ""), &[("E0201", "engin")]),
        (file("", "[bus.c]\ninterface = \"can1\"\n"), &[("W0502", "c"), ("E0403", "\"can1\"")]),
        (file("", "[bus.c]\n"), &[("E0203", "c"), ("W0502", "c")]),
        (file("", "[[route]]\nname = \"r\"\nfrom = \"b\"\nto = \"a\"\n"), &[("E0404", "\"r\"")]),
        (file("", "[[route]]\nname = \"q\"\nfrom = \"b\"\nto = \"b\"\n"), &[("E0402", "\"b\"")]),
        (file("", "[[route]]\nname = \"q\"\nfrom = \"b\"\nto = \"can0\"\n"), &[("E0401", "\"can0\"")]),
        (file("", "[[route]]\nname = \"q\"\nfrom = \"a\"\nto = \"b\"\n"), &[("W0503", "[[route]]")]),
        (file("", "[[route]]\nname = \"back\"\nfrom = \"b\"\nto = \"a\"\n"), &[]),
        (file("", "[[route]]\nname = \"\"\nfrom = \"b\"\nto = \"a\"\n"), &[("E0309", "\"\"")]),
        (file("", "[[route]]\n"), &[("E0203", "[[route]]"), ("E0203", "[[route]]"), ("E0203", "[[route]]")]),
        (
            file("engine = \"read-write\"\n", "hop-limit = 2\nkeep-timestamp = true\n"),
            &[("E0408", "2"), ("E0408", "true")],
        ),
        (file("engine = \"read-write\"\n", "hop-limit = 1\nkeep-timestamp = false\n"), &[]),
        (
            file(
                "engine = \"read-write\"\n",
                "[bus.c]\ninterface = \"can2\"\n[[route]]\nname = \"q\"\nfrom = \"c\"\nto = \"b\"\necho = true\n",
            ),
            &[("E0409", "true")],
        ),
        (file("bus = 1\n", ""), &[("E0202", "1"), ("E0101", "bus"), ("E0101", "bus")]),
        (
            "[bus]\ninterface = \"can0\"\n[route]\nname = \"r\"\n".to_owned(),
            &[("E0202", "interface"), ("E0202", "[route]"), ("E0203", "[route]"), ("E0203", "[route]")],
        ),
        (
            file("", "hop-limit = 9\n[route]\nname = \"s\"\nto = \"a\"\nfrom = \"c\"\n"),
            &[("E0308", "9"), ("E0202", "[route]"), ("E0401", "\"c\"")],
        ),
        (file("[route]\nnam = \"s\"\nfrom = \"b\"\nto = \"a\"\n", ""), &[("E0202", "[route]"), ("E0201", "nam")]),
        ("[bus]\na = \"can0\"\n[bus.b]\ninterface = \"can1\"\n".to_owned() + route, &[("E0202", "\"can0\"")]),
    ];
    for (text, expected) in cases {
        assert_eq!(underlined(text), *expected, "{text}");
    }
}

#[test]
fn names_of_interfaces_are_those_the_kernel_accepts() {
    let long = "a".repeat(16);
    for name in ["", ".", "..", "can/0", "can 0", "can:0", long.as_str()] {
        let text = with_route("").replace("can0", name);
        assert_eq!(findings(&text).iter().map(|finding| finding.code).collect::<Vec<_>>(), ["E0303"], "{name}");
    }
    assert_eq!(findings(&with_route("").replace("can0", &"a".repeat(15))), []);
}

#[test]
fn bit_rates_have_units() {
    for (rate, code) in [("\"500kbps\"", "E0302"), ("\"500\"", "E0302"), ("500000", "E0302"), ("true", "E0202")] {
        let text = with_route("").replace("\"can0\"", &format!("\"can0\"\nbitrate = {rate}"));
        assert_eq!(underlined(&text), [(code, rate)]);
    }
}

#[test]
fn syntax_errors_do_not_hide_other_mistakes_nor_make_new_ones() {
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
        let codes: Vec<_> = findings(text).iter().map(|finding| finding.code).collect();
        assert_eq!(codes, *expected, "{text}\n{:#?}", findings(text));
    }
}

#[test]
fn a_key_that_is_there_twice_shows_both_places() {
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
fn files_of_other_systems_are_read() {
    let text = with_route("hop-limit = 9");
    let line = |text: &str| Position::of(text, findings(text)[0].primary.span.start);
    for other in [text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        assert_eq!(findings(&other).len(), 1, "{:?}", findings(&other));
        assert_eq!(line(&other), line(&text));
    }
}

#[test]
fn hostile_files_are_refused_at_once() {
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
fn warnings_never_push_errors_out_of_the_list() {
    let route = |index| format!("[[route]]\nname = \"r{index}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123:7FF\"\n");
    let loose: String = (0..300).map(route).collect();
    let warnings = load(format!("{BUSES}{loose}").as_bytes()).unwrap().warnings;
    assert_eq!(warnings.len(), candor_core::diagnostic::MAX_FINDINGS + 1);
    assert!(warnings.iter().all(|finding| finding.severity == Severity::Warning));
    let errors = load(format!("{BUSES}{loose}hop-limit = 9\n").as_bytes()).unwrap_err();
    assert_eq!(errors.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["E0308", "E0107"]);
}

#[test]
fn no_number_of_findings_hides_another_kind() {
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
fn notes_that_are_not_listed_are_no_warning() {
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
fn what_is_no_text_says_where() {
    let findings = load(b"engine = \"kernel\"\nname = \"\xff\"\n").unwrap_err();
    assert_eq!((findings[0].code, findings[0].primary.span.clone()), (code::NOT_UTF8, 26..27));
    assert_eq!(findings[0].severity, Severity::Error);
}

#[test]
fn defaults_are_those_of_cangw() {
    let text = with_route("");
    let plan = load(text.as_bytes()).unwrap().plan;
    let route = &plan.routes()[0];
    assert_eq!(plan.engine(), Engine::Kernel);
    assert_eq!((route.selections.as_slice(), route.formats), ([Selection::ALL].as_slice(), Formats::Any));
    assert!(route.modifications.is_empty() && route.hop_limit.is_none());
}

#[test]
fn identifiers_become_the_operand_their_digits_say() {
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
fn short_data_leaves_the_other_bytes_alone() {
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
fn a_checksum_alone_gets_a_modification_that_changes_nothing() {
    let route = only_route("checksum-xor = { from = 0, to = 6, result = 7 }");
    assert_eq!(route.modifications.or.data, Some([0; 64]));
    assert!(
        route.modifications.and.is_empty() && route.modifications.xor.is_empty() && route.modifications.set.is_empty()
    );
    let route = only_route("set = { id = \"1\" }\nchecksum-xor = { from = 0, to = 6, result = 7 }");
    assert!(route.modifications.or.is_empty());
}

#[test]
fn buses_and_routes_keep_the_order_of_the_file() {
    let text = "[bus.z]\ninterface = \"can1\"\n[bus.a]\ninterface = \"can0\"\n\
                [[route]]\nname = \"y\"\nfrom = \"z\"\nto = \"a\"\nframes = \"fd\"\n\
                [[route]]\nname = \"b\"\nfrom = \"a\"\nto = \"z\"\n";
    let plan = load(text.as_bytes()).unwrap().plan;
    assert_eq!(plan.buses().iter().map(|bus| bus.name.as_str()).collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(plan.routes().iter().map(|route| route.name.as_str()).collect::<Vec<_>>(), ["y", "b"]);
    assert_eq!(plan.routes()[0].formats, Formats::Only(FrameFormat::Fd));
}

/// Pieces that gateway files are made of, right and wrong.
const PIECES: [&str; 73] = [
    "[bus.a]\n",
    "[bus.b]\n",
    "[bus]\n",
    "[[route]]\n",
    "[route]\n",
    "[ids]\n",
    "x = ",
    "\"@x\"",
    "errors = ",
    "allow = ",
    "deny = ",
    "payload = ",
    "mux = ",
    "start-bit = ",
    "bits = ",
    "byte-order = ",
    "values = ",
    "both-ways = ",
    "back-to-incoming = ",
    "send-as = ",
    "to-id = ",
    "uid = ",
    "restart-after = ",
    "vxcan-peer = ",
    "raw-id = ",
    "raw-len = ",
    "mask = ",
    "\"100..1FF\"",
    "\"500..\"",
    "\"01 ??\"",
    "\"auto\"",
    "\"00000123\"",
    "[",
    "]",
    "engine = ",
    "interface = ",
    "bitrate = ",
    "name = ",
    "from = ",
    "to = ",
    "match = ",
    "frames = ",
    "and = ",
    "set = ",
    "checksum-xor = ",
    "checksum-crc8 = ",
    "profile = ",
    "echo = ",
    "hop-limit = ",
    "{ ",
    " }",
    "id = ",
    "data = ",
    "len = ",
    "result = ",
    "polynomial = ",
    ", ",
    "\n",
    "\"a\"",
    "\"b\"",
    "\"can0\"",
    "\"123:7FF\"",
    "\"500kbit/s\"",
    "\"fd\"",
    "\"kernel\"",
    "\"\"\"",
    "'",
    "7",
    "-1",
    "true",
    ".",
    "\u{1F697}",
    "\0",
];

proptest! {
    #[test]
    fn any_bytes_keep_the_promises(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        promises::hold(&bytes);
    }

    #[test]
    fn any_text_of_pieces_keeps_the_promises(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        promises::hold(pieces.concat().as_bytes());
    }

    #[test]
    fn broken_examples_keep_the_promises(
        example in 0..EXAMPLES.len(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..6),
    ) {
        let mut bytes = EXAMPLES[example].as_bytes().to_vec();
        for (place, byte, insert) in changes {
            let place = place.index(bytes.len());
            if insert { bytes.insert(place, byte) } else { bytes[place] = byte }
        }
        promises::hold(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        promises::hold(&bytes);
    }
}

#[test]
fn no_number_of_warnings_hides_an_error() {
    let mut text = String::from("[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n");
    for number in 0..1200 {
        text += &format!("[[route]]\nname = \"r{number}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123:7FF\"\n");
    }
    text += "[[route]]\nname = \"self\"\nfrom = \"a\"\nto = \"a\"\n";
    let findings = load(text.as_bytes()).unwrap_err();
    assert!(findings.iter().any(|finding| finding.code == "E0402"), "{:?}", findings.last());
}

#[test]
fn empty_sections_are_no_sections() {
    for text in ["bus = {}\nroute = []\n", "route = []\n[bus.a]\ninterface = \"can0\"\n"] {
        let findings = load(text.as_bytes()).unwrap_err();
        assert!(findings.iter().any(|finding| finding.code == "E0205"), "{findings:?}");
        promises::hold(text.as_bytes());
    }
}

#[test]
fn a_missing_value_is_one_finding() {
    for key in ["match", "name", "to"] {
        let route = "[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123\"\n";
        let cut: String = route
            .lines()
            .map(|line| if line.starts_with(&format!("{key} =")) { format!("{key} =\n") } else { format!("{line}\n") })
            .collect();
        let text = format!("[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n{cut}");
        let codes: Vec<_> = load(text.as_bytes()).unwrap_err().iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["E0101"], "{text}");
    }
}
