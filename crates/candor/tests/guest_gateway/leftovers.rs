//! State of the kernel after `candor run` ended in any way.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc;

use candor_core::filter::Filter;
use candor_engine::{Gateway, reconcile};

use crate::prelude::*;
use crate::reconciled::ids;

fn gateway(filters: &[&str]) -> String {
    let one = |filter: &&str| {
        let keys = format!("frames = \"classic\"\nmatch = \"{filter}\"\necho = true");
        route(&format!("r{filter}"), "left", "right", &keys)
    };
    LEFT_RIGHT.to_owned() + &filters.iter().map(one).collect::<String>()
}

fn scene() -> Option<Scenario> {
    Scenario::new(VCAN_AND_CANGW, ["left", "right"])
}

impl Scenario {
    fn start_in_kernel(&self, filters: &[&str]) -> Candor {
        self.start(&gateway(filters), "kernel")
    }
}

#[test]
#[ignore = "runs in a guest"]
fn signals_that_end_it_leave_nothing() {
    let Some(scene) = scene() else { return };
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let candor = scene.start_in_kernel(&["100", "200"]);
        assert_eq!(ids(&scene.jobs()), [0x100, 0x200], "the kernel has the order of the file");
        assert_eq!(scene.lists(), 1);
        let ended = candor.end(signal);
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(ended.event("ended")["signal"], signal.name());
        assert_eq!(ended.event("ended")["removed_jobs"], 2);
        scene.assert_clean();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_panic_leaves_nothing() {
    let Some(scene) = scene() else { return };
    let plan = config::load(gateway(&["100", "200"]).as_bytes()).unwrap().plan;
    let (now, wait) = mpsc::channel();
    let panicking = std::thread::spawn(move || {
        let _running = Gateway::start(plan).unwrap();
        wait.recv().unwrap();
        panic!("forced by the test");
    });
    while scene.jobs().len() < 2 && !panicking.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(ids(&scene.jobs()), [0x100, 0x200]);
    now.send(()).unwrap();
    assert!(panicking.join().is_err());
    assert_eq!(scene.jobs(), Vec::new());
}

/// What `candor run` does when a panic is reported.
#[test]
#[ignore = "runs in a guest"]
fn a_process_that_abandons_its_gateway_leaves_nothing() {
    let Some(scene) = scene() else { return };
    let foreign = CangwJob::plain(scene.index("left"), scene.index("right"), Filter { id: 0x555, mask: 0x7FF });
    cangw::add(&mut Client::open().unwrap(), &foreign).unwrap();
    let other = scene.start_in_kernel(&["300"]);
    let plan = config::load(gateway(&["100", "200"]).as_bytes()).unwrap().plan;
    let running = Gateway::start(plan).unwrap();
    assert_eq!(ids(&scene.jobs()), [0x100, 0x200, 0x300, 0x555]);
    let done = reconcile::abandon().unwrap();
    assert_eq!((done.removed, done.missing, done.filters), (2, 0, 0));
    assert_eq!(ids(&scene.jobs()), [0x300, 0x555]);
    drop(running);
    other.stop();
    assert_eq!(scene.jobs(), [foreign]);
}

#[test]
#[ignore = "runs in a guest"]
fn next_start_adopts_or_removes_jobs_of_a_killed_gateway() {
    let Some(scene) = scene() else { return };
    for (filters, expected_ids, done) in [
        (["100", "200", "300"], [0x100, 0x200, 0x300], &["Adopted 3 can-gw jobs"][..]),
        (["400", "200", "300"], [0x400, 0x200, 0x300], &["Adopted 2 can-gw jobs", "Removed 1 can-gw job"]),
    ] {
        let killed = scene.start_in_kernel(&["100", "200", "300"]);
        let pid = killed.pid();
        killed.kill();
        assert_eq!((ids(&scene.jobs()), scene.lists()), (vec![0x100, 0x200, 0x300], 1));

        let candor = scene.start_in_kernel(&filters);
        let expected: Vec<_> = done.iter().map(|done| format!("{done} of candor process {pid}, which died")).collect();
        assert_eq!(notices(&candor.before_ready), expected);
        assert_eq!((ids(&scene.jobs()), scene.lists()), (expected_ids.to_vec(), 1));
        candor.stop();
        scene.assert_clean();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn leaves_foreign_jobs_alone() {
    let Some(scene) = scene() else { return };
    let foreign = CangwJob::plain(scene.index("left"), scene.index("right"), Filter { id: 0x555, mask: 0x7FF });
    cangw::add(&mut Client::open().unwrap(), &foreign).unwrap();
    scene.start_in_kernel(&["100"]).kill();
    let candor = scene.start_in_kernel(&["200"]);
    assert_eq!(ids(&scene.jobs()), [0x200, 0x555]);
    assert!(candor.end(Signal::Interrupt).status.success());
    assert_eq!(scene.jobs(), [foreign]);
}

#[test]
#[ignore = "runs in a guest"]
fn two_gateways_may_not_share_a_route() {
    let Some(scene) = scene() else { return };
    let first = scene.start_in_kernel(&["100"]);
    let other = scene.start_in_kernel(&["200"]);
    let ended = scene.run(&gateway(&["300", "100"]), "kernel").fails();
    ended.assert_refused(&[&format!("kill {}", first.pid())]);
    assert_eq!(ids(&scene.jobs()), [0x200, 0x100]);
    first.stop();
    assert_eq!(ids(&scene.jobs()), [0x200]);
    other.stop();
    scene.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn two_read_write_gateways_may_not_share_routes() {
    let Some(scene) = scene() else { return };
    let text = gateway(&["100"]) + &route("back", "right", "left", "match = \"100\"\necho = true");
    let first = scene.start(&text, "read-write");
    assert_eq!(scene.lists(), 1);
    for engine in ["read-write", "kernel"] {
        scene.run(&text, engine).fails().assert_refused(&[&format!("kill {}", first.pid())]);
    }
    first.kill();
    // Nothing of it is left, so nothing is adopted.
    let next = scene.start(&text, "kernel");
    assert_eq!(notices(&next.before_ready), Vec::<&str>::new());
    next.stop();
    scene.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn a_reader_that_stalls_or_leaves_keeps_no_jobs_in_the_kernel() {
    let Some(scene) = scene() else { return };
    // Long lines fill the pipe soon.
    let numbers: Vec<_> = (0x100..0x140).map(|id| format!("{id:X}")).collect();
    let filters: Vec<_> = numbers.iter().map(String::as_str).collect();
    for stalls in [true, false] {
        let mut command = scene.command(&["run", "-", "--json", "--stats", "1ms"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut candor = Guarded::spawn(&mut command);
        candor.stdin.take().unwrap().write_all(gateway(&filters).as_bytes()).unwrap();
        let mut reader = BufReader::new(candor.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"ready\"") {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0);
        }
        let kept = stalls.then_some(reader);
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!((candor.try_wait().unwrap(), scene.jobs().len()), (None, filters.len()));
        signal::send(candor.id(), Signal::Terminate).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match candor.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    candor.kill().unwrap();
                    panic!("candor waits for its reader (stalls: {stalls})");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        assert!(status.success(), "{status}");
        scene.assert_clean();
        drop(kept);
    }
}
