//! The output of `candor check` for invalid files: one snapshot for each file in `tests/findings`.

mod candor;

use std::fs;

use candor::{candor, candor_with_input};

const FINDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/findings");

/// Files with warnings only.
const WARNINGS: [&str; 7] = [
    "safety-overlap",
    "safety-frames",
    "safety-ways",
    "realtime-idle",
    "realtime-spinners",
    "warnings",
    "warnings-of-lists",
];

#[test]
fn every_file_has_its_findings() {
    let mut names: Vec<_> = fs::read_dir(FINDINGS)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let run = candor(FINDINGS, &["check", &name]);
        let is_valid = WARNINGS.contains(&name.trim_end_matches(".toml"));
        assert_eq!(run.status, i32::from(!is_valid), "{name}");
        assert_eq!(run.stdout.is_empty(), !is_valid, "{name}");
        insta::assert_snapshot!(name.trim_end_matches(".toml"), run.stderr);
    }
}

#[test]
fn five_mistakes_are_five_findings() {
    let run = candor(FINDINGS, &["check", "--json", "five-mistakes.toml"]);
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
    assert_eq!(run.stdout.matches("\"code\": \"E").count(), 5, "{}", run.stdout);
    insta::assert_snapshot!("five-mistakes-json", run.stdout);
}

#[test]
fn rejects_bytes_that_are_no_gateway_file() {
    let cases: [(&str, Vec<u8>); 8] = [
        ("not-utf8", b"engine = \"kernel\"\n\n[bus.b\xfcs]\ninterface = \"can0\"\n".to_vec()),
        ("cut-utf8", "# Motor und Getriebe, f\u{fc}r".as_bytes()[..24].to_vec()),
        ("utf16", "[bus.a]\n".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("nul", b"[bus.a]\ninterface = \"can0\0\"\n\0\0\0\n".to_vec()),
        ("large", vec![b'#'; 9_000_000]),
        ("long-line", format!("# a comment\na = \"{}\"\n", "x".repeat(5000)).into_bytes()),
        ("deep-arrays", format!("a = {}", "[".repeat(4000)).into_bytes()),
        ("deep-keys", format!("{}b = 1", "a.".repeat(1000)).into_bytes()),
    ];
    for (name, bytes) in cases {
        let run = candor_with_input(FINDINGS, &["check", "-"], &bytes);
        assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{name}");
        insta::assert_snapshot!(name, run.stderr);
    }
}

#[test]
fn more_findings_than_the_limit_are_not_counted() {
    let routes: String =
        (0..150).map(|route| format!("[[route]]\nname = \"r{route}\"\nfrom = \"a\"\nto = \"c\"\n")).collect();
    let text = format!("[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n{routes}");
    let run = candor_with_input(FINDINGS, &["check", "-"], text.as_bytes());
    assert_eq!(run.stderr.matches("error[E0401]").count(), 100);
    let end = "error[E0107]: More findings are not listed\n--> standard input\n\n\
               standard input: not valid: 100 errors and more\n";
    assert!(run.stderr.ends_with(end), "{}", run.stderr);
}

#[test]
fn accepts_byte_order_marks_and_carriage_returns() {
    let text = fs::read_to_string(format!("{FINDINGS}/../../../../examples/03-modify.toml")).unwrap();
    for text in [format!("\u{feff}{text}"), text.replace('\n', "\r\n")] {
        let run = candor_with_input(FINDINGS, &["check", "-"], text.as_bytes());
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    }
}
