use std::num::NonZeroU32;

use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::plan::BusIndex;
use crate::testing::{loaded, with_route};
use crate::{config, import};
use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::job::{Job, cangw_arguments};
use candor_core::rule::{ChecksumSpan, Checksums, Modifications};

const INTERFACES: [&str; 3] = ["can0", "vcan-1", "a\"b\\c"];

fn interfaces() -> Vec<String> {
    INTERFACES.map(String::from).into()
}

/// Jobs that the kernel accepts; many are pairs for both formats.
fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let handling = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2), option::weighted(0.2, 1..=6_u8));
    let job =
        (arbitrary::job(INTERFACES.len()), handling, prop::bool::weighted(0.2), option::weighted(0.1, any::<u32>()));
    let one = job.prop_map(|(job, (echo, timestamp, incoming, hop_limit), loops_back, uid)| {
        let echo = if echo { Echo::On } else { Echo::Off };
        let timestamp = if timestamp { Timestamp::Kept } else { Timestamp::Fresh };
        let incoming = if incoming { Incoming::Allowed } else { Incoming::Skipped };
        let to = if loops_back && incoming == Incoming::Allowed { job.from } else { job.to };
        Job { echo, timestamp, incoming, hop_limit, to, uid: uid.and_then(NonZeroU32::new), ..job }
    });
    // Boxed, because the strategies are large.
    let one = one.boxed();
    let several = (one, 0..3_u8).prop_map(|(job, style)| match style {
        0 => vec![job],
        style => {
            let mut fd = Job { format: FrameFormat::Fd, uid: None, ..job };
            let Checksums { crc8, xor } = &mut fd.checksums;
            let spans = [crc8.as_mut().map(|crc8| &mut crc8.span), xor.as_mut().map(|xor| &mut xor.span)];
            for ChecksumSpan { from, to, result } in spans.into_iter().flatten() {
                (*from, *to, *result) = (*from % 8, *to % 8, *result % 8);
            }
            if style == 1 {
                mean_the_same_in_both_formats(&mut fd);
            }
            let mut classic = Job { format: FrameFormat::Classic, ..fd.clone() };
            let Modifications { and, or, xor, set } = &mut classic.modifications;
            for operand in [and, or, xor, set] {
                operand.flags = None;
            }
            vec![classic, fd]
        }
    });
    prop::collection::vec(several, 1..6).prop_map(|jobs| {
        let mut jobs = jobs.concat();
        // A uid is for one job.
        for at in 1..jobs.len() {
            if jobs[..at].iter().any(|other| other.uid == jobs[at].uid) {
                jobs[at].uid = None;
            }
        }
        jobs
    })
}

fn mean_the_same_in_both_formats(job: &mut Job) {
    let Modifications { and, or, xor, set } = &mut job.modifications;
    for (operand, identity) in [(and, Some(0xFF)), (or, Some(0)), (xor, Some(0)), (set, None)] {
        (operand.len, operand.flags) = (None, None);
        match (&mut operand.data, identity) {
            (Some(data), Some(identity)) => data[8..].fill(identity),
            (data, _) => *data = None,
        }
    }
}

/// The arguments of cangw for each job, which determine what the kernel gets.
fn commands(jobs: &[Job]) -> Vec<String> {
    jobs.iter().map(|job| cangw_arguments(job, INTERFACES[job.from.0], INTERFACES[job.to.0]).join(" ")).collect()
}

/// Lines with `match`, `deny`, `to-id`, `payload` and `mux`.
fn route_lines() -> impl Strategy<Value = String> {
    let range = (0..0x7FF_u32, 0..0x7FF_u32, any::<bool>()).prop_map(|(one, other, is_extended)| {
        let (first, last) = (one.min(other), one.max(other));
        if is_extended { format!("\"{first:08X}..{last:08X}\"") } else { format!("\"{first:03X}..{last:03X}\"") }
    });
    let filter = (0..0x800_u32, 0..0x800_u32, 0..4_u32, any::<bool>()).prop_map(|(id, mask, flags, is_inverted)| {
        let separator = if is_inverted { '~' } else { ':' };
        format!("\"{id:03X}{separator}{:08X}\"", mask | flags << 30)
    });
    let entry =
        prop_oneof![3 => range, 1 => filter, 1 => (0..0x800_u32).prop_map(|id| format!("\"{id:03X}\""))].boxed();
    let list = prop::collection::vec(entry, 1..4).prop_map(|entries| format!("[{}]", entries.join(", "))).boxed();
    let to_id = prop_oneof![
        (0..0x800_u32).prop_map(|id| format!("{id:03X}")),
        (0..0x800_u32).prop_map(|id| format!("{:03X}..", id & 0x700)),
        (0..0x800_u32).prop_map(|id| format!("{:08X}..", 0x18DA_0000 | id & 0x700)),
    ];
    let payload = prop::collection::vec("[0-9A-F?]{2}( [0-9A-F?]{2}){0,3}", 1..3);
    let mux = (0..40_i32, 1..12_u32, any::<bool>(), prop::collection::vec(0..2_u32, 1..3));
    (
        option::of(list.clone()),
        option::weighted(0.3, list),
        option::weighted(0.4, to_id),
        option::weighted(0.3, payload),
        option::weighted(0.3, mux),
    )
        .prop_map(|(list, deny, to_id, payload, mux)| {
            let mut lines = String::new();
            lines.extend(list.map(|list| format!("match = {list}\n")));
            lines.extend(deny.map(|list| format!("deny = {list}\n")));
            lines.extend(to_id.map(|id| format!("to-id = \"{id}\"\n")));
            // The multiplexer starts after the bytes of the payload, so they do not overlap.
            let offset = if payload.is_some() { 32 } else { 0 };
            lines.extend(payload.map(|patterns| format!("payload = {patterns:?}\n")));
            lines.extend(mux.map(|(start, bits, is_big, values)| {
                let (start, order) = (start % 24 + offset, if is_big { "big" } else { "little" });
                format!(
                    "mux = {{ start-bit = {start}, bits = {bits}, byte-order = \"{order}\", values = {values:?} }}\n"
                )
            }));
            lines
        })
}

proptest! {
    #[test]
    fn written_plan_is_read_as_the_same(jobs in jobs()) {
        let plan = of_jobs(&interfaces(), &jobs);
        let text = write(&plan);
        prop_assert_eq!(loaded(&text), plan, "{}", text);
    }

    #[test]
    fn routes_of_jobs_are_lowered_to_the_same_jobs(jobs in jobs()) {
        let lowered = crate::lower(&of_jobs(&interfaces(), &jobs));
        prop_assert_eq!(commands(&lowered), commands(&jobs));
    }

    #[test]
    fn script_is_imported_as_the_same_jobs(jobs in jobs()) {
        let plan = of_jobs(&interfaces(), &jobs);
        let imported = import::cangw(script(&plan).as_bytes(), None).unwrap();
        let name = |bus: BusIndex| imported.interfaces[bus.0].as_str();
        let commands_again: Vec<_> =
            imported.jobs.iter().map(|job| cangw_arguments(job, name(job.from), name(job.to)).join(" ")).collect();
        prop_assert_eq!(commands_again, commands(&jobs));
        // Values that have no arguments are equal too.
        for (again, lowered) in imported.jobs.iter().zip(crate::lower(&plan)) {
            let mut same = Job { route: again.route, from: again.from, to: again.to, ..lowered };
            if same.format == FrameFormat::Classic {
                let Modifications { and, or, xor, set } = &mut same.modifications;
                for data in [and, or, xor, set].into_iter().filter_map(|operand| operand.data.as_mut()) {
                    data[8..].fill(0);
                }
            }
            prop_assert_eq!(again, &same);
        }
        let again = of_jobs(&imported.interfaces, &imported.jobs);
        prop_assert_eq!(script(&again), script(&plan));
    }

    #[test]
    fn plan_of_a_file_is_written_as_the_same(lines in route_lines()) {
        let text = format!("engine = \"auto\"\n{}", with_route(&lines));
        // Some files are invalid: a route may match nothing, or too much for `to-id`.
        if let Ok(config::Loaded { plan, .. }) = config::load(text.as_bytes()) {
            let written = write(&plan);
            prop_assert_eq!(loaded(&written), plan, "{}\n{}", text, written);
        }
    }

    #[test]
    fn equal_jobs_of_both_formats_become_one_route(jobs in jobs()) {
        let mut job = jobs[0].clone();
        mean_the_same_in_both_formats(&mut job);
        let fd = Job { format: FrameFormat::Fd, uid: None, ..job };
        let classic = Job { format: FrameFormat::Classic, ..fd.clone() };
        let routes = |jobs: &[Job]| of_jobs(&interfaces(), jobs).routes().len();
        prop_assert_eq!(routes(&[classic.clone(), fd.clone()]), 1);
        prop_assert_eq!(routes(&[fd.clone(), classic.clone()]), 2, "in the other order, they stay separate");
        let with_uid = |job: &Job| Job { uid: NonZeroU32::new(7), ..job.clone() };
        let is_changed = !classic.modifications.is_empty();
        prop_assert_eq!(routes(&[with_uid(&classic), with_uid(&fd)]), if is_changed { 2 } else { 1 });
    }
}

#[test]
fn values_are_written_as_in_the_file() {
    let buses = "[bus.a]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\ndata-bitrate = \"2Mbit/s\"\n\n[bus.\"b c\"]\ninterface = \"can1\"\n";
    for lines in std::iter::once("").chain(include_str!("tests/routes.txt").trim_end().split("\n\n")) {
        let engine = if ["payload", "mux", "send-as", "max-age", "when-full"].iter().any(|key| lines.contains(key)) {
            "auto"
        } else {
            "kernel"
        };
        let route = format!("[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b c\"\n{lines}");
        let text = format!("engine = \"{engine}\"\n\n{buses}\n{}\n", route.trim_end());
        let plan = loaded(&text);
        let written = write(&plan);
        assert_eq!(loaded(&written), plan, "{written}");
        // The text is the same, except for lists of equivalent filters.
        if !lines.contains("123:40000000") {
            let without_layout = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(without_layout(&written), without_layout(&text));
        }
    }
}

#[test]
fn examples_are_written_as_the_same_gateways() {
    for text in config::tests::EXAMPLES {
        let mut plan = loaded(text);
        // `egress` is not written.
        plan.egress.clear();
        if !plan.routes().is_empty() {
            assert_eq!(loaded(&write(&plan)), plan, "{text}");
        }
    }
}

#[test]
fn names_of_routes_are_unique() {
    let interfaces = ["a", "b", "a-to-b", "b-to-b", "b-2"].map(String::from);
    let job = |from, to| Job::plain(BusIndex(from), BusIndex(to), FrameFormat::Classic, Filter::ALL);
    let plan = of_jobs(&interfaces, &[job(0, 4), job(0, 1), job(0, 1), job(2, 1), job(0, 3), job(0, 1)]);
    let names: Vec<_> = plan.routes().iter().map(|route| route.name.as_str()).collect();
    let expected = ["a-to-b-2", "a-to-b", "a-to-b-3", "a-to-b-to-b", "a-to-b-to-b-2", "a-to-b-4"];
    assert_eq!(names, expected);
}

#[test]
fn script_mentions_hop_limits() {
    let says = |lines: &str| {
        let text = format!("{lines}\n{}", with_route(""));
        (script(&loaded(&text)).contains("max_hops"), script(&loaded(&(text + "hop-limit = 1"))).contains("max_hops"))
    };
    assert_eq!(says("engine = \"auto\""), (true, false), "only without a hop limit");
    assert_eq!(says("engine = \"kernel\""), (false, false));
}

/// Without it, the command would forward what the route refuses, or without a checksum.
#[test]
fn a_script_has_no_command_for_what_can_gw_cannot_do() {
    for keys in [
        "protect = { e2e = \"P01\", data-id = 0x123 }",
        "check = { e2e = \"P01\", data-id = 0x123 }",
        "guard = { rate = \"10 frames/s\", on-violation = \"drop\" }",
        "cycle = \"20ms\"",
        "max-age = \"5ms\"",
    ] {
        for engine in ["auto", "read-write"] {
            let text = format!(
                "engine = \"{engine}\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
                 [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123\"\nframes = \"classic\"\n{keys}\n"
            );
            let script = script(&loaded(&text));
            assert!(script.contains("# route r is left out: ") && !script.contains("\ncangw "), "{script}");
        }
    }
}
