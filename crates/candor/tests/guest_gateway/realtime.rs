//! `[realtime]`: what the kernel gives the threads of a running gateway, and the errors if it refuses.

use candor_core::realtime::Cpu;
use candor_io::machine::{Machine, Thread};

use crate::prelude::*;

const LATENCY: &str = "/dev/cpu_dma_latency";
/// Enough frames to touch every page.
const FRAMES: u32 = 500;
/// As many as a receive ring holds.
const FRAMES_OF_A_RING: u32 = 512;

fn gateway(keys: &str) -> String {
    format!("[realtime]\n{keys}\n{}", without_realtime())
}

fn without_realtime() -> String {
    LEFT_RIGHT.to_owned() + &route("over", "left", "right", "match = \"123\"\necho = true\nboth-ways = true")
}

fn scene(features: &[Feature]) -> Option<Scenario> {
    Scenario::new(features, ["left", "right"])
}

fn threads(candor: &Candor) -> (Vec<Thread>, Vec<Thread>) {
    let threads = Machine::here().process(candor.pid()).threads();
    threads.into_iter().partition(|thread| thread.name.starts_with("route-"))
}

/// Field 10 of `/proc/PID/task/TID/stat`: minor page faults.
fn faults(candor: &Candor, thread: &Thread) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/task/{}/stat", candor.pid(), thread.tid)).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name.split_whitespace().nth(10 - 3).unwrap().parse().unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn only_forwarding_threads_get_real_time() {
    for (engine, sched) in [("mmap-adaptive", "fifo:40"), ("read-write", "rr:7")] {
        let Some(place) = scene(VCAN) else { return };
        let has_latency = Path::new(LATENCY).exists();
        let latency = if has_latency { "cpu-dma-latency = \"17us\"" } else { "" };
        let text = gateway(&format!("sched = \"{sched}\"\ncpus = [0]\nlock-memory = true\n{latency}"));
        let candor = place.start(&text, engine);
        let (route, others) = threads(&candor);
        let names: Vec<_> = route.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["route-t-left", "route-t-right"], "{engine}");
        for thread in &route {
            assert_eq!(thread.policy.to_string(), sched, "{engine}");
            assert_eq!(thread.cpus, [Cpu(0)], "{engine}");
        }
        assert!(!others.is_empty() && others.iter().all(|thread| thread.policy.to_string() == "other"), "{others:?}");
        let process = Machine::here();
        let locked = process.process(candor.pid()).status("VmLck").unwrap();
        let locked: u64 = locked.trim_end_matches(" kB").parse().unwrap();
        assert!(locked > 1000, "{engine}: {locked} KiB");
        if has_latency {
            // The kernel returns the minimum of all requests, and the guest has no other.
            assert_eq!(fs::read(LATENCY).unwrap(), 17_i32.to_ne_bytes(), "{engine}");
        }

        reports_agree(&place, &candor, &text, sched, has_latency);
        forwards_without_page_faults(&place, &candor, &route, engine);
        candor.stop();
        if has_latency {
            assert_ne!(fs::read(LATENCY).unwrap(), 17_i32.to_ne_bytes(), "the request ends with the process");
        }
    }
}

/// `candor run` and `candor show` report what the kernel does.
fn reports_agree(place: &Scenario, candor: &Candor, text: &str, sched: &str, has_latency: bool) {
    let event = candor.before_ready.iter().find(|event| event["event"] == "realtime").unwrap();
    let check = |value: &Value| {
        for (at, name) in ["route-t-left", "route-t-right"].iter().enumerate() {
            let thread = &value["threads"][at];
            assert_eq!((&thread["thread"], &thread["sched"]), (&json!(name), &json!(sched)), "{value}");
            assert_eq!(thread["cpus"], json!([0]), "{value}");
        }
        assert!(value["locked_kib"].as_u64().unwrap() > 1000, "{value}");
        assert_eq!(value["cpu_dma_latency_held"], json!(has_latency), "{value}");
    };
    check(event);
    let shown = place.json(&["show", &place.file("gateway.toml", text)]);
    let realtime = &shown["realtime"];
    assert_eq!((&realtime["sched"], &realtime["cpus"]), (&json!(sched), &json!([0])), "{realtime}");
    assert_eq!(realtime["obtained"][0]["pid"], json!(candor.pid()), "{realtime}");
    check(&realtime["obtained"][0]);
}

/// A thread with locked memory has no page fault.
fn forwards_without_page_faults(place: &Scenario, candor: &Candor, route: &[Thread], engine: &str) {
    let (sender, receiver) = (place.sender("left"), place.listener("right"));
    let forward = |frames| {
        for _ in 0..frames {
            send(&sender, &classic(0x123, &[1, 2, 3]));
            next_frame(&receiver);
        }
    };
    // Neither user-mode Linux nor a Cortex-A72 has hardware that marks a page as used, so the kernel does it, by a fault for
    // each page of a ring.
    if cfg!(target_arch = "aarch64") || std::env::var("CANDOR_TESTBED").is_ok_and(|testbed| testbed == "uml") {
        forward(FRAMES_OF_A_RING);
    }
    let before: Vec<_> = route.iter().map(|thread| faults(candor, thread)).collect();
    forward(FRAMES);
    let after: Vec<_> = route.iter().map(|thread| faults(candor, thread)).collect();
    assert_eq!(before, after, "{engine}: page faults");
}

#[test]
#[ignore = "runs in a guest"]
fn changes_nothing_without_the_section() {
    let Some(place) = scene(VCAN) else { return };
    let candor = place.start(&without_realtime(), "read-write");
    let (route, _others) = threads(&candor);
    assert!(route.len() == 2 && route.iter().all(|thread| thread.policy.to_string() == "other"), "{route:?}");
    assert_eq!(Machine::here().process(candor.pid()).status("VmLck").unwrap(), "0 kB");
    assert!(candor.before_ready.iter().all(|event| event["event"] != "realtime"));
    candor.stop();
}

#[test]
#[ignore = "runs in a guest"]
fn reports_why_the_kernel_refuses() {
    let Some(place) = scene(VCAN) else { return };
    const NOBODY: Option<u32> = Some(65534);
    let latency = if Path::new(LATENCY).exists() {
        "is writable by root only"
    } else {
        "this kernel has no /dev/cpu_dma_latency"
    };
    for (keys, uid, words) in [
        ("sched = \"fifo:40\"", NOBODY, ["no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0", "LimitRTPRIO=40"]),
        ("cpus = [0, 777]", None, ["CPU 777 of `cpus` is not online", "online: 0"]),
        ("cpus = [777]", None, ["CPU 777 of `cpus` is not online", "online: 0"]),
        ("cpu-dma-latency = \"0us\"", NOBODY, ["cannot set `cpu-dma-latency`", latency]),
    ] {
        let text = gateway(keys);
        let ended = Run { uid, ..place.run(&text, "read-write") }.fails();
        ended.assert_refused(&words);
        assert!(ended.events.iter().all(|event| event["event"] != "ready"), "{keys}: {ended:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn kernel_engine_holds_the_latency_without_threads() {
    let Some(place) = scene(VCAN_AND_CANGW) else { return };
    if !Path::new(LATENCY).exists() {
        // The test above expects the refusal.
        return;
    }
    let text = gateway("sched = \"fifo:40\"\ncpu-dma-latency = \"23us\"");
    let candor = place.start(&text, "kernel");
    assert_eq!(fs::read(LATENCY).unwrap(), 23_i32.to_ne_bytes());
    let (route, others) = threads(&candor);
    assert!(route.is_empty(), "{route:?}");
    assert!(others.iter().all(|thread| thread.policy.to_string() == "other"), "{others:?}");
    let ended = candor.stop();
    assert!(ended.errors.contains("W0511"), "{ended:?}");
}
