//! The measurement methods of the papers on a real kernel.

use crate::kernel::{self, WithMaxHops};
use crate::prelude::*;

pub(crate) fn figures(arguments: &[&str]) -> Value {
    let output = lab_output(&[arguments, &["--json"]].concat());
    assert_eq!(output.status, 0, "{output:?}");
    output.json()
}

/// The tracer of Debian's kernels; user-mode Linux has none.
fn has_tracer() -> bool {
    fs::read_to_string("/proc/kallsyms").is_ok_and(|names| names.contains(" ftrace_return_to_handler\n"))
}

#[test]
#[ignore = "runs in a guest"]
fn can_send_trace_measures_and_restores_the_kernel() {
    let Some(_scene) = Scenario::new(VCAN, ["traced"]) else { return };
    let queue_length = || link::by_name(&mut Client::open().unwrap(), "t-traced").unwrap().unwrap().tx_queue_len;
    let before = queue_length();
    let asked =
        ["can-send", "--interface", "t-traced", "--frames", "40", "--gap", "0ms,1ms", "--trace", "--frame", "123#00"];
    if !has_tracer() {
        return lab_output(&asked).assert(2, &["this kernel has no tracer"]);
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
        let p50 = |of: &Value| of["p50_ns"].as_i64().unwrap();
        let of = |position: usize| &measured[position]["calls"][1];
        // The table of the note: default, prio, first of ten, last of ten, last of a hundred, in ascending order.
        let can_send: Vec<_> = [1, 2, 3, 4, 6].into_iter().map(|position| p50(&of(position)["can_send"])).collect();
        assert!(can_send.is_sorted_by(|one, next| one < next), "{can_send:?}");
        // Both methods see the same difference between two configurations; the overhead of the tracer cancels out.
        let difference = |position: usize| {
            (p50(of(position)) - p50(of(1)), p50(&of(position)["can_send"]) - p50(&of(1)["can_send"]))
        };
        for (write, traced) in (2..=6).map(difference) {
            assert!((write - traced).abs() <= 8, "{write} and {traced}");
        }
        assert!(p50(&all["tracer"]) < can_send[0], "{all}");
    }
    assert_eq!(queue_length(), before);
    let state = |name: &str| fs::read_to_string(format!("/sys/kernel/tracing/{name}")).unwrap();
    assert_eq!((state("current_tracer").trim(), state("max_graph_depth").trim()), ("nop", "0"));
    assert!(!state("set_ftrace_filter").contains("can_send"));
}

/// Virtual interfaces, which are monitor and gateway interface at once.
const HOPS: &str = "hops --echo --send t-near --monitor t-near --from t-near --to t-far --receive t-far";
const PACE: &str = "--frames 20 --warm-up 5";

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

fn hop_exists(number: u8) -> bool {
    Path::new(&format!("/sys/class/net/hop{number}")).exists()
}

#[test]
#[ignore = "runs in a guest"]
fn hops_measures_chains_of_routes() {
    let Some(_scene) = Scenario::new(VCAN_AND_CANGW, ["near", "far"]) else { return };
    let Some(_with) = WithMaxHops::new(6) else { return };
    let all = figures(&words(&format!("{HOPS} {PACE}")));
    let chains = all["chains"].as_array().unwrap();
    assert_eq!(chains.iter().map(|chain| chain["routes"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    for chain in chains {
        assert_eq!((&chain["lost"], &chain["latency"]["count"]), (&0.into(), &20.into()), "{chain}");
    }
    assert!(all["pass_ns"].is_f64() && all["rest_ns"].is_f64(), "{all}");
    assert!(!(1..=5).any(hop_exists), "the interfaces of the measurement are deleted");
    if counts_instructions() {
        // Each route is the same loop once more.
        assert!(all["r_squared"].as_f64().unwrap() > 0.99, "{all}");
        assert!((1_000.0..10_000.0).contains(&all["pass_ns"].as_f64().unwrap()), "{all}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn hops_refuses_chains_beyond_max_hops() {
    let Some(_scene) = Scenario::new(VCAN_AND_CANGW, ["near", "far"]) else { return };
    if kernel::max_hops() != 1 {
        return skip(Feature::Cangw, "max_hops of the module is not 1");
    }
    let expected = ["max_hops=1", "--module-parameter can_gw.max_hops=3", "modprobe can-gw max_hops=3", "--routes 1"];
    lab_output(&words(&format!("{HOPS} --routes 3"))).assert(2, &expected);
    assert!(!hop_exists(1));
}

#[test]
#[ignore = "runs in a guest"]
fn precision_finds_one_timestamp_for_taps_of_one_interface() {
    let Some(_scene) = Scenario::new(VCAN, ["tap"]) else { return };
    let ends = "precision --send t-tap --monitor t-tap --tap t-tap";
    let all = figures(&[words(&format!("{ends} {PACE} --loads")), vec!["none,timers 2"]].concat());
    let own = all["own"].as_array().unwrap();
    assert_eq!(own.iter().map(|one| one["load"].as_str().unwrap()).collect::<Vec<_>>(), ["none", "timers 2"]);
    for one in own {
        // A virtual interface has one timestamp for a frame.
        let taps = &one["taps"];
        assert_eq!((&taps["count"], &taps["min_ns"], &taps["max_ns"]), (&20.into(), &0.into(), &0.into()), "{one}");
        assert!(one["sending"]["min_ns"].as_i64().unwrap() > 0, "{one}");
        assert!(one["stamps"].is_null() && one["unseen"] == 0, "{one}");
    }
    assert!(all["witnessed"].is_null());
}

fn system_calls(further: &str) -> Vec<Value> {
    let text = format!("system-calls --interface t-calls --points 1,50,100,1500 --repeats 2{further}");
    figures(&words(&text))["calls"].as_array().unwrap().clone()
}

#[test]
#[ignore = "runs in a guest"]
fn system_calls_measures_every_call() {
    let Some(_scene) = Scenario::new(VCAN, ["calls"]) else { return };
    let calls = system_calls("");
    let names: Vec<_> = calls.iter().map(|call| call["call"].clone()).collect();
    let (receive, send) = (["read", "recvmmsg", "recvmmsg of 64"], ["write", "sendmmsg", "sendmmsg of 64"]);
    assert_eq!(names, [receive, send].concat());
    for call in &calls {
        let points = call["points"].as_array().unwrap();
        let frames: Vec<_> = points.iter().map(|point| point["frames"].clone()).collect();
        assert_eq!(frames, [1, 50, 100, 1500].map(|frames| json!(frames)));
        assert!(points.iter().all(|point| point["took_ns"].as_i64().unwrap() > 0), "{call}");
        assert!(call["intercept_ns"].is_f64(), "{call}");
    }
    if counts_instructions() {
        let slope = |position: usize| calls[position]["slope_ns_per_frame"].as_f64().unwrap();
        // Section 4.1: "For all system calls the time depends almost linearly on the number of frames."
        assert!(calls.iter().all(|call| call["r_squared"].as_f64().unwrap() > 0.99), "{calls:?}");
        // "The recvmmsg() system call is 7% faster than read()", and sending takes longer than receiving.
        assert!(slope(1) < slope(0) && slope(0) < slope(3), "{calls:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn system_calls_measures_fd_frames() {
    let Some(scene) = Scenario::new(VCAN, ["calls"]) else { return };
    let bus = scene.bus("calls");
    bus.set_down();
    link::set_mtu(&mut Client::open().unwrap(), bus.index, 72).unwrap();
    bus.set_up();
    assert_eq!(system_calls(" --frame 123##1001122").len(), 6);
}

/// A missing or unexpected frame is an error.
#[test]
#[ignore = "runs in a guest"]
fn system_calls_refuses_what_it_cannot_measure() {
    let Some(scene) = Scenario::new(VCAN, ["calls"]) else { return };
    let run = |interface: &str| lab_output(&["system-calls", "--interface", interface, "--points", "3"]);
    run("t-none").assert(2, &["t-none"]);
    scene.bus("calls").set_down();
    run("t-calls").assert(2, &[]);
}
