use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::plan::{Echo, Incoming, Timestamp};
use crate::testing::{check_cases, pieces};
use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::cangw_arguments;
use candor_core::rule::Crc8Profile;

fn imported(text: &str) -> Imported {
    cangw(text.as_bytes(), None).unwrap_or_else(|findings| panic!("{text}: {findings:#?}"))
}

fn findings(text: &str) -> Vec<Diagnostic> {
    match cangw(text.as_bytes(), None) {
        Ok(imported) => imported.warnings,
        Err(findings) => findings,
    }
}

/// Code and underlined text of every finding.
fn underlined(text: &str) -> Vec<(&'static str, &str)> {
    crate::testing::underlined(text, &findings(text))
}

fn check(data: &str) {
    check_cases(data, str::to_owned, findings);
}

/// The jobs as cangw commands again, in the order of delivery.
fn jobs(text: &str) -> Vec<String> {
    let imported = imported(text);
    let name = |bus: BusIndex| imported.interfaces[bus.0].as_str();
    imported.jobs.iter().map(|job| cangw_arguments(job, name(job.from), name(job.to)).join(" ")).collect()
}

#[test]
fn scripts_reverse_the_order_and_listings_keep_it() {
    let script = "cangw -A -s can0 -d can1\ncangw -A -s can1 -d can0\n";
    assert_eq!(jobs(script), ["-A -s can1 -d can0", "-A -s can0 -d can1"]);
    let listing = "cangw -A -s can0 -d can1 # 0 handled 0 dropped 0 deleted\n\
                   cangw -A -s can1 -d can0 # -1 handled 3 dropped 0 deleted\n";
    assert_eq!(jobs(listing), ["-A -s can0 -d can1", "-A -s can1 -d can0"]);
    assert_eq!(imported(listing).reading, Reading::Listing);
    for listing in [
        "-A -s can0 -d can1 # 0 handled 0 dropped 0 deleted\n",
        "-s can0 -d can1 # 0 handled 0 dropped 0 deleted\n",
        "# comment\n\n  lt-cangw -A -s can0 -d can1 # 0 handled 0 dropped 0 deleted\r\n",
        "-A -s can0 -d can1\n",
        "-s can0 -d can1\n",
    ] {
        assert_eq!(jobs(listing), ["-A -s can0 -d can1"], "{listing}");
    }
    // After #!, the same lines are commands, in reverse order, with a warning.
    let saved = format!("#!/bin/sh\n{listing}");
    assert_eq!(jobs(&saved), ["-A -s can1 -d can0", "-A -s can0 -d can1"]);
    assert_eq!(underlined(&saved), [("W0957", "")]);
    // Some editors write a byte order mark.
    for text in ["cangw -A -s can0 -d can1\r\n", "-s can0 -d can1 # 0 handled 0 dropped 0 deleted\r\n"] {
        assert_eq!(jobs(&format!("\u{FEFF}{text}")), ["-A -s can0 -d can1"]);
    }
    let forced = cangw(format!("# {listing}").as_bytes(), Some(Reading::Listing)).unwrap();
    assert_eq!(forced.jobs.len(), 1);
}

#[test]
fn names_in_a_listing_are_not_parsed_by_a_shell() {
    let listing = "cangw -A -s ca$n;0 -d it's(1) # 0 handled 0 dropped 0 deleted\n";
    assert_eq!(imported(listing).interfaces, ["ca$n;0", "it's(1)"]);
}

#[test]
fn reads_all_options() {
    let table: String = (0..=255_u8).map(|byte| format!("{byte:02X}")).collect();
    let text = format!(
        "cangw -A -s can0 -d can1 -eti -f 92345678~DFFFFFFF -l 2 -uABCD -m AND:I:7ff.0.0000000000000000 \
         -m SET:ILD:123.B.1122334455667788 -x -8:-2:-1:a5 -c 0:6:7:0x1:2:{table} -p 2:000102030405060708090A0B0C0D0E0F"
    );
    let imported = imported(&text);
    let job = &imported.jobs[0];
    assert_eq!((job.echo, job.timestamp, job.incoming), (Echo::On, Timestamp::Kept, Incoming::Allowed));
    assert_eq!(job.filter, Filter { id: 0xB234_5678, mask: 0xDFFF_FFFF });
    assert_eq!((job.hop_limit, job.uid.unwrap().get()), (Some(2), 0xABCD));
    assert_eq!((job.modifications.and.id, job.modifications.and.len), (Some(0x7FF), None));
    let set = job.modifications.set;
    assert_eq!(
        (set.id, set.len, &set.data.unwrap()[..8]),
        (Some(0x123), Some(11), &b"\x11\x22\x33\x44\x55\x66\x77\x88"[..])
    );
    let xor = job.checksums.xor.unwrap();
    assert_eq!((xor.span.from, xor.span.to, xor.span.result, xor.init), (-8, -2, -1, 0xA5));
    let crc8 = job.checksums.crc8.unwrap();
    assert_eq!((crc8.init, crc8.final_xor, crc8.table[0x42]), (1, 2, 0x42));
    assert_eq!(crc8.profile, Crc8Profile::ByteByCounter(std::array::from_fn(|at| at.to_le_bytes()[0])));
    assert_eq!(imported.warnings, []);

    let fd = format!("cangw -XAscan0 -dcan1 -M OR:IFLD:80000000.1.40.{}", "AB".repeat(64));
    let job = &self::imported(&fd).jobs[0];
    let or = job.modifications.or;
    assert_eq!((job.format, or.id, or.flags, or.len), (FrameFormat::Fd, Some(0x8000_0000), Some(1), Some(64)));
    assert_eq!(or.data, Some([0xAB; 64]));
}

#[test]
fn finds_commands_between_others() {
    let text = "#!/bin/sh -e\nmodprobe can-gw && sudo -n cangw -F\nip link set can0 up; # cangw -A -s can9 -d can8\n\
                sudo /usr/bin/cangw -A -s 'can0' \\\n  -d \"can1\" >/dev/null 2>&1 || exit 1\n\
                echo cangw done\ncangw -L | grep can0\nX=1 env Y=2 cangw -A -s can1 -d can0 &\n";
    let imported = imported(text);
    assert_eq!(jobs(text), ["-A -s can1 -d can0", "-A -s can0 -d can1"]);
    assert_eq!(imported.warnings, []);
    let left_out: Vec<_> = imported.left_out.iter().map(|span| &text[span.clone()]).collect();
    assert_eq!(
        left_out,
        ["modprobe can-gw", "ip link set can0 up", "exit 1", "echo cangw done", "cangw -L", "grep can0"]
    );
    assert_eq!(&text[imported.places[1].clone()], "sudo /usr/bin/cangw -A -s 'can0' \\\n  -d \"can1\"");
}

#[test]
fn runs_delete_and_flush() {
    let add = "cangw -A -s a -d b -f 1:7FF\ncangw -A -s a -d b -e\ncangw -A -s a -d b -f 1:7FF\n";
    assert_eq!(jobs(add).len(), 3);
    assert_eq!(jobs(&format!("{add}cangw -D -s a -d b -e")), ["-A -s a -d b -f 001:7FF", "-A -s a -d b -f 001:7FF"]);
    assert_eq!(underlined(&format!("{add}cangw -D -s a -d b")), [("W0954", "cangw -D -s a -d b")]);
    assert_eq!(jobs(&format!("{add}cangw -F\ncangw -As c -d d")), ["-A -s c -d d"]);
    assert_eq!(underlined(&format!("{add}cangw -F")), [("E0908", "")]);
    // The newest one is deleted first.
    let imported = imported(&format!("{add}cangw -D -f 1:7ff -s a -d b"));
    assert_eq!(imported.places.iter().map(|place| place.start).collect::<Vec<_>>(), [28, 0]);
    // can-gw also compares values of unused fields.
    let modified = "cangw -A -s a -d b -m SET:I:1.0.0000000000000000\n";
    assert_eq!(underlined(&format!("{modified}cangw -D -s a -d b -m SET:I:1.0.0000000000000001")).len(), 1);
    let with_uid = "cangw -A -s a -d b -u 5 -m SET:I:1.0.0000000000000000\ncangw -A -s a -d b\n";
    let deleted = format!("{with_uid}cangw -D -s a -d b -u 5 -m SET:I:2.0.0000000000000000");
    assert_eq!(jobs(&deleted), ["-A -s a -d b"]);
    // A uid is free again after its job is deleted.
    for gone in ["-D -s a -d b -u 5 -m OR:I:0.0.0000000000000000", "-F"] {
        let again = format!("cangw -A -s a -d b -u 5 -m SET:I:1.0.0000000000000000\ncangw {gone}\n");
        let other = "cangw -A -s a -d c -u 5 -m SET:I:2.0.0000000000000000";
        assert_eq!(jobs(&(again + other)), ["-A -s a -d c -u 5 -m SET:I:002.0.0000000000000000"]);
    }
}

#[test]
fn uid_replaces_modifications_in_place() {
    let first = "cangw -A -s a -d b -u 5 -l 1 -m SET:I:1.0.0000000000000000\ncangw -A -s a -d b\n";
    let text = format!("{first}cangw -A -s a -d b -u 5 -l 1 -m SET:I:2.0.0000000000000000");
    assert_eq!(jobs(&text), ["-A -s a -d b", "-A -s a -d b -l 1 -u 5 -m SET:I:002.0.0000000000000000"]);
    assert_eq!(findings(&text), []);
    let codes =
        |more: &str| underlined(&format!("{first}cangw {more}")).iter().map(|(code, _)| *code).collect::<Vec<_>>();
    assert_eq!(codes("-A -s a -d b -u 5 -e -m SET:I:2.0.0000000000000000"), ["W0952"], "flags stay");
    assert_eq!(codes("-A -s a -d c -u 5 -m SET:I:2.0.0000000000000000"), ["E0907"], "other interfaces");
    let fd = format!("-A -s a -d b -X -l 1 -u 5 -M SET:I:2.0.0.{}", "00".repeat(64));
    assert_eq!(codes(&fd), ["E0909"], "another format");
}

#[test]
fn warns_of_peculiarities() {
    let warnings = |text: &str| imported(text).warnings;
    check_cases(include_str!("tests/warnings.txt"), str::to_owned, warnings);
    assert_eq!(jobs("cangw -A -s c -s a -d b"), ["-A -s a -d b"], "the last one counts");
    let text = "cangw -A -s a -d a\ncangw -A -s a -d b";
    assert_eq!((jobs(text).len(), underlined(text)), (1, vec![("W0953", "cangw -A -s a -d a")]));
    assert_eq!(jobs("cangw -A -s a -d a -i"), ["-A -s a -d a -i"]);
}

#[test]
fn underlines_errors() {
    check(include_str!("tests/mistakes.txt"));
    let long = "0".repeat(40);
    let fd = format!("cangw -A -X -s a -d b -M SET:L:0.0.9.{long}");
    assert_eq!(underlined(&fd), [("E0906", long.as_str())]);
}

#[test]
fn reports_what_only_a_shell_knows() {
    check(include_str!("tests/unknown.txt"));
    for text in ["start() { cangw -L; }\ncangw -A -s a -d b", "if cangw -L; then x; fi; cangw -A -s a -d b"] {
        assert_eq!(jobs(text), ["-A -s a -d b"]);
    }
}

#[test]
fn explains_why_there_is_no_job() {
    for (text, expected) in [
        (" \n", "The text is empty"),
        ("# cangw -A -s a -d b\n#x", "cangw -A appears only in comments"),
        ("# about cangw\n", "The text contains no cangw -A"),
        ("cangw -A -s a -d b\ncangw -F", "No job is left at the end"),
    ] {
        assert_eq!(findings(text)[0].message, expected, "{text}");
    }
    let utf16 = cangw(b"\xFF\xFEc\0a\0", None).unwrap_err().remove(0);
    assert!(utf16.help.unwrap().contains("UTF-16"));
}

#[test]
fn rejects_bytes_that_are_not_text() {
    let finding = |bytes: &[u8]| {
        let finding = cangw(bytes, None).unwrap_err().remove(0);
        (finding.code, finding.primary.span)
    };
    assert_eq!(finding(b"cangw \xFF\xFE"), ("E0911", 6..7));
    assert_eq!(finding(b"cangw \xC3"), ("E0911", 6..7));
    assert_eq!(finding(&vec![b' '; MAX_BYTES + 1]), ("E0910", 0..0));
}

/// Pieces of scripts in any order.
fn scraps() -> impl Strategy<Value = String> {
    let piece = select(pieces(include_str!("tests/pieces.txt")));
    prop::collection::vec(prop_oneof![4 => piece, 1 => ".{0,3}"], 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn invariants_hold_for_text_of_pieces(text in scraps()) {
        invariants::check(text.as_bytes());
    }
}
