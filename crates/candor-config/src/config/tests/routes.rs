//! Checked routes: selections, `to-id`, payloads, formats, both directions.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::{auto, codes, only_route};
use crate::config::{code, load};
use crate::placement::MAX_WALKED_FILTERS;
use crate::plan::{BusIndex, Engine, Formats, IdChange, Incoming, Selection, SendAs};
use crate::testing::{BUSES, findings, loaded, with_route};
use candor_core::filter::Filter;
use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_FDF, Frame, FrameFormat, RawId,
};
use candor_core::ids::IdRange;
use candor_core::job::Job;
use candor_core::rule::Verdict;

/// Code and underlined text of findings, without those of the safety analysis.
fn underlined(text: &str) -> Vec<(&'static str, &str)> {
    let found = crate::testing::underlined(text, &findings(text));
    found.into_iter().filter(|(code, _)| !code[1..].starts_with("06")).collect()
}

fn jobs(lines: &str) -> Vec<Job> {
    crate::lower(&loaded(&with_route(lines)))
}

/// The filters of a route, as text.
fn filters(lines: &str) -> Vec<String> {
    only_route(lines).selections.iter().map(|selection| selection.filter.to_string()).collect()
}

/// Blank lines separate cases: the lines of a route, and after `! ` those that `shown` makes of its selections.
fn compare_selections(cases: &str, shown: fn(&Selection) -> String) {
    for case in cases.trim_end().split("\n\n") {
        let (expected, lines): (Vec<_>, Vec<_>) = case.lines().partition(|line| line.starts_with("! "));
        let route = only_route(&lines.join("\n"));
        let found: Vec<_> = route.selections.iter().map(|selection| format!("! {}", shown(selection))).collect();
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn lists_become_the_fewest_filters_in_ascending_order() {
    compare_selections(include_str!("filters.txt"), |selection| selection.filter.to_string());
}

#[test]
fn lists_of_a_bus_apply_to_all_routes_from_it() {
    let text = "[ids]\ndiagnostics = [\"7DF\", \"7E0..7EF\"]\nmore = [\"@diagnostics\", \"700\"]\n\
        [bus.a]\ninterface = \"can0\"\nallow = [\"@more\", \"100..1FF\"]\ndeny = \"7E8\"\n[bus.b]\ninterface = \"can1\"\n\
        [[route]]\nname = \"there\"\nfrom = \"a\"\nto = \"b\"\nmatch = [\"@diagnostics\", \"600\"]\ndeny = [\"7DF\"]\nboth-ways = true\n";
    let plan = loaded(text);
    let filters = |route: usize| -> Vec<_> {
        plan.routes()[route].selections.iter().map(|selection| selection.filter.to_string()).collect()
    };
    assert_eq!(filters(0), ["7E0:C00007F8", "7E9:C00007FF", "7EA:C00007FE", "7EC:C00007FC"]);
    assert_eq!(filters(1), ["600:C00007FF", "7E0:C00007F0"]);
    let back = &plan.routes()[1];
    assert_eq!((back.name.as_str(), back.from, back.to), ("there/back", BusIndex(1), BusIndex(0)));
}

#[test]
fn to_id_becomes_and_or_set() {
    compare_selections(include_str!("to_ids.txt"), |Selection { filter, id, .. }| match id {
        Some(IdChange::Set(id)) => format!("{filter} set {id:08X}"),
        Some(IdChange::Move { and, or }) => format!("{filter} and {and:X} or {or:X}"),
        None => filter.to_string(),
    });
    assert_eq!(filters("match = \"100..1FF\"\nto-id = \"510..\"").len(), 5);
    assert_eq!(filters("match = \"123:DFFFFFFF\"\nto-id = \"1..\"")[0], "123:DFFFFFFF");
}

#[test]
fn operands_depend_on_the_outgoing_format() {
    let route = |lines: &str| {
        let text = auto(lines);
        loaded(&text).routes()[0].clone()
    };
    let to_fd = route(
        "send-as = \"fd-brs\"\nset = { len = 64, flags = \"01\" }\nor = { data = \"00 01 02 03 04 05 06 07 08\" }",
    );
    assert_eq!((to_fd.formats, to_fd.send_as), (Formats::Any, Some(SendAs::Fd { bit_rate_switch: true })));
    assert_eq!((to_fd.modifications.set.len, to_fd.modifications.or.data.unwrap()[8]), (Some(64), 8));
    let to_classic = route("frames = \"fd\"\nsend-as = \"classic\"\nset = { data = \"1122334455667788\" }");
    assert_eq!(to_classic.modifications.set.data.unwrap()[7], 0x88);
    assert_eq!(underlined(&auto("send-as = \"classic\"\nor = { flags = \"01\" }")), [("E0406", "\"01\"")]);
    let sum = "checksum-xor = { from = 0, to = 62, result = 63 }";
    assert_eq!(underlined(&auto(sum)), [("E0308", "62"), ("E0308", "63")]);
    assert_eq!(underlined(&auto(&format!("send-as = \"fd\"\n{sum}"))), []);
}

#[test]
fn raw_values_are_passed_unchanged() {
    let route = only_route(
        "frames = \"fd\"\nand = { raw-id = \"000007FF\", raw-len = 255 }\nset = { raw-id = \"20001234\", raw-len = 200 }\nuid = \"ABCD\"",
    );
    assert_eq!((route.modifications.and.id, route.modifications.and.len), (Some(0x7FF), Some(255)));
    assert_eq!((route.modifications.set.id, route.modifications.set.len), (Some(0x2000_1234), Some(200)));
    assert_eq!(route.uid, NonZeroU32::new(0xABCD));
}

#[test]
fn back_to_incoming_allows_one_bus() {
    let text = format!("{BUSES}[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"a\"\nback-to-incoming = true\n");
    let route = loaded(&text).routes()[0].clone();
    assert_eq!((route.from, route.incoming), (route.to, Incoming::Allowed));
}

#[test]
fn one_end_of_a_vxcan_pair_names_the_other() {
    let file = |a: &str, b: &str, c: &str| {
        format!(
            "[bus.a]\ninterface = \"can0\"\n{a}\n[bus.b]\ninterface = \"can1\"\n{b}\n[bus.c]\ninterface = \"can2\"\n{c}\n\
             [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let peer = |name: &str| format!("vxcan-peer = \"{name}\"");
    for text in [file(&peer("c"), "", ""), file("", "", &peer("a")), file(&peer("c"), "", &peer("a"))] {
        let peers: Vec<_> = loaded(&text).buses().iter().map(|bus| bus.vxcan_peer).collect();
        assert_eq!(peers, [Some(BusIndex(2)), None, Some(BusIndex(0))]);
    }
    for (text, place) in [
        (file(&peer("a"), "", &peer("b")), "\"a\""),
        (file(&peer("b"), "", &peer("a")), "\"a\""),
        (file(&peer("b"), &peer("c"), ""), "\"c\""),
        (file(&peer("b"), &peer("c"), &peer("b")), "\"c\""),
    ] {
        let found = underlined(&text);
        assert_eq!(found[0], ("E0415", place), "{text}");
    }
}

#[test]
fn routes_have_at_most_256_payload_patterns() {
    let many: String = (0..257).map(|value| format!("{value}, ")).collect();
    let lines = format!("mux = {{ start-bit = 0, bits = 16, byte-order = \"little\", values = [{many}] }}");
    assert_eq!(underlined(&auto(&lines))[0].0, "E0414");
}

#[test]
fn auto_rejects_routes_that_no_engine_supports() {
    let second = "[[route]]\nname = \"s\"\nfrom = \"b\"\nto = \"a\"\necho = true\n";
    // The way back of a route in user space, with echo: it would meet its own frames in the kernel.
    assert_eq!(
        underlined(&format!("{}{second}keep-timestamp = true\n", auto("payload = \"01\""))),
        [("E0408", "true")]
    );
    assert_eq!(underlined(&format!("{}{second}", auto("payload = \"01\""))), []);
    // Only where the CRC8 has to be in user space.
    let crc8 = "checksum-crc8 = { from = 0, to = -2, result = -1, preset = \"autosar\" }";
    assert_eq!(underlined(&auto(&format!("keep-timestamp = true\n{crc8}"))), [("W0504", "-2")]);
    assert_eq!(underlined(&format!("{}{second}keep-timestamp = true\n", auto(crc8))), [("W0504", "[[route]]")]);
}

#[test]
fn findings_about_several_routes() {
    let file = |lines: &str, other: &str| format!("{}[[route]]\n{other}\n", with_route(lines));
    let back = "name = \"r/back\"\nfrom = \"b\"\nto = \"a\"\nmatch = \"1\"";
    assert_eq!(underlined(&file("both-ways = true", back)), [("E0404", "\"r/back\"")]);
    let uid = "frames = \"fd\"\nuid = \"1\"\nset = { id = \"1\" }";
    let other = format!("name = \"s\"\nfrom = \"b\"\nto = \"a\"\n{uid}");
    assert_eq!(underlined(&file(uid, &other)), [("E0416", "\"1\"")]);
    // A classic route and one for both formats that fills up with other bytes.
    let classic = "frames = \"classic\"\nand = { data = \"0F\" }";
    let any = "name = \"s\"\nfrom = \"a\"\nto = \"b\"\nand = { data = \"0F\" }";
    assert_eq!(codes(&file(classic, any)), ["W0601"]);
    // A filter that could not be read is not every frame.
    assert_eq!(underlined(&file("match = 5", "name = \"s\"\nfrom = \"a\"\nto = \"b\"")), [("E0202", "5")]);
    let lists = "[ids]\nlater = [\"@x\"]\nx = [\"123\"]\nunused = [\"1\"]\n";
    assert_eq!(
        underlined(&format!("{lists}{}", with_route("match = \"@x\""))),
        [("W0508", "later"), ("E0412", "\"@x\""), ("W0508", "unused")]
    );
}

#[test]
fn many_masks_are_a_warning_and_too_many_jobs_an_error() {
    let list = |count: u32, mask: &str| -> String {
        // Scattered, so that no two make one filter.
        let id = |index: u32| index.wrapping_mul(0x9E37_79B1) & CAN_EFF_MASK | 1;
        let entries: String = (0..count).map(|index| format!("\"{:08X}{mask}\",\n", id(index))).collect();
        format!("match = [\n{entries}]")
    };
    let masked = |count: u32| list(count, ":9FFFFF0F");
    // Each is a filter for classic frames and one for FD frames.
    let most = u32::try_from(MAX_WALKED_FILTERS / 2).unwrap();
    let codes = |lines: &str| underlined(&with_route(lines)).iter().map(|(code, _)| *code).collect::<Vec<_>>();
    assert_eq!(codes(&masked(most)), [""; 0]);
    assert_eq!(codes(&masked(most + 1))[0], "W0509");
    let other = format!("[[route]]\nname = \"other\"\nfrom = \"a\"\nto = \"b\"\nframes = \"fd\"\n{}", masked(2));
    let text = format!("{}{other}", with_route(&masked(most)));
    assert!(underlined(&text).iter().any(|(code, _)| *code == "W0509"), "the filters of all routes of a bus");
    assert_eq!(codes(&list(16_384, "")), [""; 0], "single identifiers are looked up");
    assert_eq!(only_route(&list(16_384, "")).selections.len(), 16_384);
    assert_eq!(codes(&list(32_769, ""))[0], "E0414");
    assert_eq!(codes(&format!("frames = \"fd\"\n{}", list(32_769, ""))), [""; 0]);
}

#[test]
fn reads_the_engine() {
    assert_eq!(loaded(&auto("")).engine(), Engine::Auto);
}

/// A part of a list, as text and as what it means.
#[derive(Clone, Debug)]
enum Part {
    Filter(Filter),
    Range(IdRange),
}

impl Part {
    fn text(&self) -> String {
        match self {
            Self::Filter(filter) => format!("{{ id = \"{:08X}\", mask = \"{:08X}\" }}", filter.id, filter.mask),
            Self::Range(range) => format!("\"{range}\""),
        }
    }

    fn has(&self, id: RawId) -> bool {
        match *self {
            Self::Filter(filter) => filter.normalise().matches(id),
            Self::Range(range) => {
                id.is_eff() == range.is_extended && !id.is_rtr() && (range.first..=range.last).contains(&id.bits())
            }
        }
    }
}

fn part() -> impl Strategy<Value = Part> {
    let flags = prop::sample::select(&[0, CAN_EFF_FLAG, CAN_RTR_FLAG, CAN_EFF_FLAG | CAN_RTR_FLAG][..]);
    let filter = (0..=CAN_SFF_MASK, 0..=CAN_SFF_MASK, flags.clone(), flags)
        .prop_map(|(id, mask, of_id, of_mask)| Part::Filter(Filter { id: id | of_id, mask: mask | of_mask }));
    let range = (0..=CAN_SFF_MASK, 0..=CAN_SFF_MASK, any::<bool>()).prop_map(|(one, other, is_extended)| {
        Part::Range(IdRange { is_extended, first: one.min(other), last: one.max(other) })
    });
    prop_oneof![filter, range]
}

fn list_text(key: &str, parts: &[Part]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    format!("{key} = [{}]\n", parts.iter().map(Part::text).collect::<Vec<_>>().join(", "))
}

fn frame(id: RawId) -> Frame {
    Frame::classic(id, &[]).unwrap()
}

/// Identifiers up to 7FF in both formats and kinds.
fn every_id() -> impl Iterator<Item = RawId> {
    [0, CAN_EFF_FLAG, CAN_RTR_FLAG, CAN_EFF_FLAG | CAN_RTR_FLAG]
        .into_iter()
        .flat_map(|flags| (0..=CAN_SFF_MASK).map(move |id| RawId(id | flags)))
}

proptest! {
    // Each looks at 8192 identifiers.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn matches_every_frame_at_most_once(
        matched in prop::collection::vec(part(), 1..4),
        of_bus in (prop::collection::vec(part(), 0..2), prop::collection::vec(part(), 0..2)),
        of_route in (prop::collection::vec(part(), 0..3), prop::collection::vec(part(), 0..3)),
    ) {
        let bus = format!("{}{}", list_text("allow", &of_bus.0), list_text("deny", &of_bus.1));
        let route = format!(
            "frames = \"classic\"\n{}{}{}",
            list_text("match", &matched), list_text("allow", &of_route.0), list_text("deny", &of_route.1)
        );
        let text = with_route(&route).replace("\"can0\"\n", &format!("\"can0\"\n{bus}"));
        let among = |parts: &[Part], id| parts.iter().any(|part| part.has(id));
        let is_taken = |id| {
            among(&matched, id)
                && [&of_bus, &of_route].iter().all(|(allow, deny)| (allow.is_empty() || among(allow, id)) && !among(deny, id))
        };
        match load(text.as_bytes()) {
            Ok(loaded) => {
                let jobs = crate::lower(&loaded.plan);
                for id in every_id() {
                    let taking = jobs.iter().filter(|job| job.filter.normalise().matches(id)).count();
                    prop_assert_eq!(taking, usize::from(is_taken(id)), "{:08X}\n{}", id.0, text);
                }
            }
            Err(findings) => {
                prop_assert!(findings.iter().all(|finding| finding.code == "E0411" || finding.code.starts_with('W')), "{findings:#?}");
                prop_assert!(!every_id().any(is_taken), "{text}");
            }
        }
    }

    #[test]
    fn shifts_whole_ranges(
        one in 0..=CAN_SFF_MASK,
        other in 0..=CAN_SFF_MASK,
        to in 0..=CAN_SFF_MASK,
        formats in any::<[bool; 2]>(),
        denied in 0..=CAN_SFF_MASK,
    ) {
        let (first, last) = (one.min(other), one.max(other));
        let digits = |is_extended| if is_extended { 8 } else { 3 };
        let (from_digits, to_digits) = (digits(formats[0]), digits(formats[1]));
        let range = IdRange { is_extended: formats[0], first, last };
        let text = with_route(&format!(
            "frames = \"classic\"\nmatch = \"{range}\"\ndeny = \"{denied:0from_digits$X}\"\nto-id = \"{to:0to_digits$X}..\""
        ));
        let flag = |is_extended| if is_extended { CAN_EFF_FLAG } else { 0 };
        match load(text.as_bytes()) {
            Ok(loaded) => {
                let jobs = crate::lower(&loaded.plan);
                for id in every_id() {
                    let is_taken = Part::Range(range).has(id) && id.bits() != denied;
                    let sent: Vec<_> = jobs
                        .iter()
                        .filter(|job| job.filter.normalise().matches(id))
                        .map(|job| job.apply(&frame(id)))
                        .collect();
                    let wanted = is_taken.then(|| {
                        (frame(RawId((id.bits() - first + to) | flag(formats[1]))), Verdict::Send)
                    });
                    prop_assert_eq!(sent, wanted.into_iter().collect::<Vec<_>>(), "{:08X}\n{}", id.0, text);
                }
            }
            Err(findings) => {
                let is_empty = first == last && first == denied;
                let last_left = if last == denied && !is_empty { last - 1 } else { last };
                let too_high = last_left - first + to > CAN_SFF_MASK && !formats[1];
                let code = if is_empty { "E0411" } else { "E0413" };
                prop_assert!(is_empty || too_high, "{text}\n{findings:#?}");
                prop_assert_eq!(findings[0].code, code);
            }
        }
    }
}

#[test]
fn jobs_convert_only_the_other_format() {
    let text = auto("match = \"123\"\nsend-as = \"fd\"\nset = { flags = \"02\" }");
    let jobs = crate::lower(&loaded(&text));
    let sent: Vec<_> = jobs.iter().map(|job| (job.format, job.send_as.is_some())).collect();
    assert_eq!(sent, [(FrameFormat::Classic, true), (FrameFormat::Fd, false)]);
    let (classic, verdict) = jobs[0].apply(&frame(RawId(0x123)));
    assert_eq!((classic.format, classic.flags, verdict), (FrameFormat::Fd, 2 | CANFD_FDF, Verdict::Send));
}

#[test]
fn matches_payloads_of_a_multiplexer() {
    let text = auto(
        "frames = \"classic\"\nmux = { start-bit = 0, bits = 8, byte-order = \"little\", values = [2, 1, 1] }\npayload = [\"?? A?\", \"?? B?\"]",
    );
    let jobs = crate::lower(&loaded(&text));
    let taken = |payload: &[u8]| jobs.iter().any(|job| job.takes(&Frame::classic(RawId(1), payload).unwrap()));
    assert_eq!(jobs[0].payload.len(), 4);
    assert!(taken(&[1, 0xA7]) && taken(&[2, 0xB0, 5]));
    assert!(!taken(&[1]) && !taken(&[3, 0xA7]) && !taken(&[1, 0xC0]) && !taken(&[]));
}

#[test]
fn makes_a_job_for_each_filter_and_format() {
    let jobs = jobs("match = [\"123\", \"456\"]");
    let shown: Vec<_> = jobs.iter().map(|job| (job.filter.id, job.format)).collect();
    let formats = [FrameFormat::Classic, FrameFormat::Fd];
    assert_eq!(shown, [0x123, 0x456].iter().flat_map(|&id| formats.map(|format| (id, format))).collect::<Vec<_>>());
}

#[test]
fn an_exclusive_route_takes_frames_from_others() {
    let file = |matched: &str, keys: &str| {
        format!(
            "engine = \"auto\"\n[bus.a]\ninterface = \"a\"\n[bus.b]\ninterface = \"b\"\n\
             [[route]]\nname = \"fast\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"120:7F0\"\nexclusive = true\n\
             [[route]]\nname = \"other\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"{matched}\"\n{keys}\n"
        )
    };
    let warns = |matched: &str, keys: &str| {
        let loaded = load(file(matched, keys).as_bytes()).unwrap();
        loaded.warnings.iter().any(|finding| finding.code == code::TAKES_FROM_ROUTE)
    };
    assert!(warns("123", "echo = true"), "can-gw");
    assert!(warns("123", "max-age = \"1ms\""), "user space");
    assert!(!warns("130", "echo = true"), "other frames");
    assert!(!warns("123", "exclusive = true"), "in the same program");
}

#[test]
fn xl_routes_compare_priority_and_network() {
    let jobs = |lines: &str| crate::lower(&loaded(&auto(&format!("frames = \"xl\"\n{lines}"))));
    let words = |lines: &str| {
        let filters: Vec<_> = jobs(lines).iter().map(|job| job.filter.normalise()).collect();
        let all = [0x123, 0x124, 0x5_0123, 0x5_0200, 0x85_0123];
        all.map(|word| filters.iter().any(|filter| filter.matches(RawId(word))))
    };
    assert_eq!(words(""), [true; 5]);
    assert_eq!(words("match = \"123\""), [true, false, true, false, true]);
    assert_eq!(words("vcid = \"05\""), [false, false, true, true, false]);
    assert_eq!(words("match = \"100..1FF\"\nvcid = \"05\"\ndeny = [\"124\"]"), [false, false, true, false, false]);
    // Identifiers of 29 bits in a list of the bus leave the others as they are.
    assert_eq!(jobs("match = [\"123\", \"18000123\"]"), jobs("match = \"123\""));
    let xl = jobs("");
    assert!(xl.iter().all(|job| job.is_xl && !job.is_for_kernel() && !job.takes(&frame(RawId(0x123)))));

    // Two gateways' worth of routes: they return through a pair, as other frames do, and only if one frame passes all.
    let ring = |back: &str| {
        let bus = |name: &str, peer: &str| format!("[bus.{name}]\ninterface = \"v{name}\"\nvxcan-peer = \"{peer}\"\n");
        let route = |name: &str, from: &str, to: &str, lines: &str| {
            format!("[[route]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{lines}\n")
        };
        let buses = [bus("a", "b"), bus("b", "a"), bus("c", "d"), bus("d", "c")].concat();
        let there = route("there", "b", "c", "frames = \"xl\"\nmatch = \"100..1FF\"\nvcid = \"05\"");
        let file = format!("engine = \"bpf\"\n{buses}{there}{}", route("back", "d", "a", back));
        let found = findings(&file).into_iter().find(|finding| finding.code == "E0601");
        found.map(|finding| finding.message)
    };
    let of = |back: &str| ring(&format!("frames = \"xl\"\n{back}"));
    assert!(of("").is_some_and(|message| message.contains("100 (XL, VCID 05)")), "{:?}", of(""));
    assert!(of("match = \"180\"\nvcid = \"05\"").is_some_and(|message| message.contains("180 (XL, VCID 05)")));
    assert_eq!([of("vcid = \"06\""), of("match = \"200\""), ring(""), ring("frames = \"fd\"")], [const { None }; 4]);

    let plan = loaded(&auto("frames = \"xl\"\nmatch = \"100..1FF\"\nvcid = \"05\"\nexclusive = true"));
    let again = loaded(&crate::text::write(&plan));
    assert_eq!((crate::lower(&again), again.routes()), (crate::lower(&plan), plan.routes()));
}
