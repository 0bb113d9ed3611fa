//! `candor-lab can-send --trace`: the kernel's own figures beside those of `write()`, and a machine that is left as it was.

use std::fs;
use std::process::Command;

use candor_netlink::client::Client;
use candor_netlink::link;
use serde_json::Value;

use super::{counts_instructions, figures};
use crate::candor::{lab, said};
use crate::require::{Bus, Feature, require};

const TRACING: &str = "/sys/kernel/tracing";

/// The tracer of Debian's kernels; user-mode Linux has none.
fn has_tracer() -> bool {
    fs::read_to_string("/proc/kallsyms").is_ok_and(|names| names.contains(" ftrace_return_to_handler\n"))
}

fn p50(of: &Value) -> i64 {
    of["p50_ns"].as_i64().unwrap()
}

fn queue_of(bus: &Bus) -> u32 {
    let link = link::by_name(&mut Client::open().unwrap(), "t-traced").unwrap().unwrap();
    assert_eq!(link.index, bus.index);
    link.tx_queue_len
}

#[test]
#[ignore = "runs in a guest"]
fn the_kernel_tells_of_each_frame_and_is_left_as_it_was() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let bus = Bus::new("traced");
    let queue = queue_of(&bus);
    let asked =
        ["can-send", "--interface", "t-traced", "--frames", "40", "--gap", "0ms,1ms", "--trace", "--frame", "123#00"];
    if !has_tracer() {
        let mut command = Command::new(lab());
        command.args(asked);
        let refused = said(command);
        assert_eq!(refused.status, 2);
        assert!(refused.err.contains("This kernel has no tracer"), "{}", refused.err);
        return;
    }
    let all = figures(&[&asked[..], &["--set-ups", "em-canid"]].concat());
    let measured = all["measured"].as_array().unwrap();
    let names: Vec<_> = measured.iter().map(|one| one["before"].as_str().unwrap()).collect();
    let note = ["default_qdisc", "prio_0", "prio_1first", "prio_1last", "prio_2first", "prio_2last"];
    assert_eq!(names, [&["as it is"], &note[..], &note[..]].concat());
    for one in measured {
        let calls = one["calls"].as_array().unwrap();
        assert_eq!(calls.iter().map(|call| call["gap_ns"].as_i64().unwrap()).collect::<Vec<_>>(), [0, 1_000_000]);
        assert!(calls.iter().all(|call| call["can_send"]["count"] == 40 && call["refused"] == 0), "{one}");
    }
    if counts_instructions() {
        let of = |position: usize| &measured[position]["calls"][1];
        // The table of the note: default, prio, first of ten, last of ten, last of a hundred, each dearer than the one before.
        let can_send: Vec<_> = [1, 2, 3, 4, 6].into_iter().map(|position| p50(&of(position)["can_send"])).collect();
        assert!(can_send.is_sorted_by(|one, next| one < next), "{can_send:?}");
        // Both methods see the same difference between two configurations, and the tracer has its share in every duration.
        let difference = |position: usize| {
            (p50(of(position)) - p50(of(1)), p50(&of(position)["can_send"]) - p50(&of(1)["can_send"]))
        };
        for (write, traced) in (2..=6).map(difference) {
            assert!((write - traced).abs() <= 8, "{write} and {traced}");
        }
        assert!(p50(&all["tracer"]) < can_send[0], "{all}");
    }
    assert_eq!(queue_of(&bus), queue);
    let state = |name: &str| fs::read_to_string(format!("{TRACING}/{name}")).unwrap();
    assert_eq!((state("current_tracer").trim(), state("max_graph_depth").trim()), ("nop", "0"));
    assert!(!state("set_ftrace_filter").contains("can_send"));
}
