//! `[realtime]`: what the threads of a running gateway have, read back from the kernel, and what is said if it refuses.

use std::fs;
use std::path::Path;
use std::process::Command;

use candor_core::realtime::Cpu;
use candor_io::machine::{Machine, Thread};
use candor_io::signal::Signal;
use serde_json::{Value, json};

use crate::candor::{Candor, Place, program};
use crate::frames::{classic, hear, listener_on, send, sender_on};
use crate::require::{Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const LATENCY: &str = "/dev/cpu_dma_latency";
const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"123\"\necho = true\nboth-ways = true\n";
/// Frames of which each would show a page that was not there.
const FRAMES: u32 = 500;
/// As many as a receive ring has room for.
const FRAMES_OF_A_RING: u32 = 512;
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

fn gateway(keys: &str) -> String {
    format!("[realtime]\n{keys}\n{BUSES}")
}

/// The threads that forward, and all others.
fn threads(candor: &Candor) -> (Vec<Thread>, Vec<Thread>) {
    let threads = Machine::here().process(candor.pid()).threads();
    threads.into_iter().partition(|thread| thread.name.starts_with("route-"))
}

/// Field 10 of `/proc/PID/task/TID/stat`: page faults that needed no disk.
fn faults(candor: &Candor, thread: &Thread) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/task/{}/stat", candor.pid(), thread.tid)).unwrap();
    let behind_name = stat.rsplit_once(')').unwrap().1;
    behind_name.split_whitespace().nth(10 - 3).unwrap().parse().unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn threads_get_what_the_file_asks_for_and_the_others_do_not() {
    let Some(_machine) = require(NEEDS) else { return };
    for (engine, sched) in [("mmap-adaptive", "fifo:40"), ("read-write", "rr:7")] {
        let place = Place::new();
        let has_latency = Path::new(LATENCY).exists();
        let latency = if has_latency { "cpu-dma-latency = \"17us\"" } else { "" };
        let text = gateway(&format!("sched = \"{sched}\"\ncpus = [0]\nlock-memory = true\n{latency}"));
        let candor = place.run(&text, engine, None).start();
        let (route, others) = threads(&candor);
        let names: Vec<_> = route.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["route-t-left", "route-t-right"], "{engine}");
        for thread in &route {
            assert_eq!(
                (thread.policy.to_string().as_str(), thread.cpus.as_slice()),
                (sched, &[Cpu(0)][..]),
                "{engine}"
            );
        }
        assert!(!others.is_empty() && others.iter().all(|thread| thread.policy.to_string() == "other"), "{others:?}");
        let process = Machine::here();
        let locked = process.process(candor.pid()).status("VmLck").unwrap();
        let locked: u64 = locked.trim_end_matches(" kB").parse().unwrap();
        assert!(locked > 1000, "{engine}: {locked} KiB");
        if has_latency {
            // The kernel gives the shortest wish of all; nobody else in the guest has one.
            assert_eq!(fs::read(LATENCY).unwrap(), 17_i32.to_ne_bytes(), "{engine}");
        }

        said_the_same(&place, &candor, &text, sched, has_latency);
        no_page_is_missing(&place, &candor, &route, engine);
        let ended = candor.end(Signal::Terminate);
        assert!(ended.status.success(), "{ended:?}");
        if has_latency {
            assert_ne!(fs::read(LATENCY).unwrap(), 17_i32.to_ne_bytes(), "the wish ends with the process");
        }
    }
}

/// `candor run` and `candor show` say what the kernel does.
fn said_the_same(place: &Place, candor: &Candor, text: &str, sched: &str, has_latency: bool) {
    let event = candor.before_ready.iter().find(|event| event["event"] == "realtime").unwrap();
    let said = |value: &Value| {
        for (at, name) in ["route-t-left", "route-t-right"].iter().enumerate() {
            let thread = &value["threads"][at];
            assert_eq!((&thread["thread"], &thread["sched"]), (&json!(name), &json!(sched)), "{value}");
            assert_eq!(thread["cpus"], json!([0]), "{value}");
        }
        assert!(value["locked_kib"].as_u64().unwrap() > 1000, "{value}");
        assert_eq!(value["cpu_dma_latency_held"], json!(has_latency), "{value}");
    };
    said(event);
    let file = place.run_dir.path().join("gateway.toml");
    fs::write(&file, text).unwrap();
    let mut show = Command::new(program());
    let shown = show.args(["show", "--json"]).arg(&file).env("CANDOR_RUN_DIR", place.run_dir.path()).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let realtime = &shown["realtime"];
    assert_eq!((&realtime["sched"], &realtime["cpus"]), (&json!(sched), &json!([0])), "{realtime}");
    assert_eq!(realtime["obtained"][0]["pid"], json!(candor.pid()), "{realtime}");
    said(&realtime["obtained"][0]);
}

/// A thread whose memory is locked and was there from the start forwards without a page fault.
fn no_page_is_missing(place: &Place, candor: &Candor, route: &[Thread], engine: &str) {
    let sender = sender_on(place.left.index);
    let receiver = listener_on(place.right.index);
    let forward = |frames| {
        for _ in 0..frames {
            send(&sender, &classic(0x123, &[1, 2, 3]));
            assert!(hear(&receiver, PATIENCE).is_some(), "{engine}: a frame did not arrive");
        }
    };
    // User-mode Linux has no hardware that marks a page as used, so it faults once for each page of a ring.
    if std::env::var("CANDOR_TESTBED").is_ok_and(|testbed| testbed == "uml") {
        forward(FRAMES_OF_A_RING);
    }
    let before: Vec<_> = route.iter().map(|thread| faults(candor, thread)).collect();
    forward(FRAMES);
    let after: Vec<_> = route.iter().map(|thread| faults(candor, thread)).collect();
    assert_eq!(before, after, "{engine}: page faults");
}

#[test]
#[ignore = "runs in a guest"]
fn without_the_section_nothing_is_changed() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let candor = place.run(BUSES, "read-write", None).start();
    let (route, _others) = threads(&candor);
    assert!(route.len() == 2 && route.iter().all(|thread| thread.policy.to_string() == "other"), "{route:?}");
    assert_eq!(Machine::here().process(candor.pid()).status("VmLck").unwrap(), "0 kB");
    assert!(candor.before_ready.iter().all(|event| event["event"] != "realtime"));
    candor.end(Signal::Terminate);
}

#[test]
#[ignore = "runs in a guest"]
fn what_the_kernel_refuses_is_said_with_its_cause_and_leaves_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    const NOBODY: Option<u32> = Some(65534);
    let latency = if Path::new(LATENCY).exists() {
        "is writable by root only"
    } else {
        "this kernel has no /dev/cpu_dma_latency"
    };
    for (keys, uid, words) in [
        ("sched = \"fifo:40\"", NOBODY, ["no CAP_SYS_NICE, and RLIMIT_RTPRIO is 0", "LimitRTPRIO=40"]),
        ("cpus = [0, 777]", None, ["processor 777 of `cpus` is not online", "online are 0"]),
        ("cpus = [777]", None, ["processor 777 of `cpus` is not online", "online are 0"]),
        ("cpu-dma-latency = \"0us\"", NOBODY, ["cannot set `cpu-dma-latency`", latency]),
    ] {
        let text = gateway(keys);
        let ended = place.run(&text, "read-write", uid).fails();
        assert_eq!(ended.status.code(), Some(2), "{keys}: {ended:?}");
        assert!(words.iter().all(|word| ended.errors.contains(word)), "{keys}: {}", ended.errors);
        assert!(ended.events.iter().all(|event| event["event"] != "ready"), "{keys}: {ended:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_in_the_kernel_keeps_processors_awake_and_has_no_threads() {
    let Some(_machine) = require(&[Feature::Cangw, Feature::Root, Feature::Vcan]) else { return };
    if !Path::new(LATENCY).exists() {
        // Then the file of the other test that asks for it is refused, which is what there is to see.
        return;
    }
    let place = Place::new();
    let text = gateway("sched = \"fifo:40\"\ncpu-dma-latency = \"23us\"");
    let candor = place.run(&text, "kernel", None).start();
    assert_eq!(fs::read(LATENCY).unwrap(), 23_i32.to_ne_bytes());
    let (route, others) = threads(&candor);
    assert!(
        route.is_empty() && others.iter().all(|thread| thread.policy.to_string() == "other"),
        "{route:?} {others:?}"
    );
    let ended = candor.end(Signal::Terminate);
    assert!(ended.status.success() && ended.errors.contains("W0511"), "{ended:?}");
}
