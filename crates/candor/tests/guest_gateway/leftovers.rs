//! What is in the kernel after `candor run` has ended, in every way in which it can end.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use candor_config::config;
use candor_core::filter::Filter;
use candor_core::rule::{Checksums, Modifications};
use candor_engine::Gateway;
use candor_io::signal::{self, Signal};
use candor_netlink::cangw::{self, CangwJob, JobCounters, JobFlags};
use candor_netlink::client::Client;

use crate::candor::{Candor, Place, Run, notices, program};
use crate::require::{Feature, jobs_between, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];

impl Place {
    fn start(&self, gateway: &str) -> Candor {
        self.in_kernel(gateway).start()
    }

    fn in_kernel<'a>(&self, gateway: &'a str) -> Run<'a> {
        self.run(gateway, "kernel", None)
    }

    fn jobs(&self) -> Vec<CangwJob> {
        jobs_between(&[&self.left, &self.right])
    }

    /// Lists of jobs in the folder.
    fn lists(&self) -> usize {
        let files = self.run_dir.path().read_dir().unwrap();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json")).count()
    }
}

fn gateway(filters: &[&str]) -> String {
    let buses = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n";
    let routes = filters.iter().map(|filter| {
        format!("[[route]]\nname = \"r{filter}\"\nfrom = \"left\"\nto = \"right\"\nframes = \"classic\"\nmatch = \"{filter}\"\n")
    });
    buses.to_owned() + &routes.collect::<String>()
}

fn filters(jobs: &[CangwJob]) -> Vec<u32> {
    jobs.iter().map(|job| job.filter.id).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn ending_signals_leave_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let candor = place.start(&gateway(&["100", "200"]));
        assert_eq!(filters(&place.jobs()), [0x100, 0x200], "the file's order is the kernel's");
        assert_eq!(place.lists(), 1);
        let ended = candor.end(signal);
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(ended.event("ended")["signal"], signal.name());
        assert_eq!(ended.event("ended")["removed_jobs"], 2);
        assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_panic_leaves_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let plan = config::load(gateway(&["100", "200"]).as_bytes()).unwrap().plan;
    let (tell, hear) = mpsc::channel();
    let panicking = std::thread::spawn(move || {
        let _running = Gateway::start(plan).unwrap();
        hear.recv().unwrap();
        panic!("forced by the test");
    });
    while place.jobs().len() < 2 && !panicking.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(filters(&place.jobs()), [0x100, 0x200]);
    tell.send(()).unwrap();
    assert!(panicking.join().is_err());
    assert_eq!(place.jobs(), Vec::new());
}

#[test]
#[ignore = "runs in a guest"]
fn the_next_start_adopts_what_a_killed_one_left() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let killed = place.start(&gateway(&["100", "200", "300"]));
    let pid = killed.pid();
    killed.kill();
    assert_eq!((filters(&place.jobs()), place.lists()), (vec![0x100, 0x200, 0x300], 1));

    let candor = place.start(&gateway(&["100", "200", "300"]));
    let said = format!("Adopted 3 can-gw jobs of candor process {pid}, which died");
    assert_eq!(notices(&candor.before_ready), [said]);
    assert_eq!((filters(&place.jobs()), place.lists()), (vec![0x100, 0x200, 0x300], 1));
    assert!(candor.end(Signal::Terminate).status.success());
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
}

#[test]
#[ignore = "runs in a guest"]
fn the_next_start_removes_what_is_not_wanted_any_more() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let killed = place.start(&gateway(&["100", "200", "300"]));
    let pid = killed.pid();
    killed.kill();

    let candor = place.start(&gateway(&["400", "200", "300"]));
    let said = [
        format!("Adopted 2 can-gw jobs of candor process {pid}, which died"),
        format!("Removed 1 can-gw job of candor process {pid}, which died"),
    ];
    assert_eq!(notices(&candor.before_ready), said);
    assert_eq!(filters(&place.jobs()), [0x400, 0x200, 0x300]);
    assert!(candor.end(Signal::Terminate).status.success());
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
}

#[test]
#[ignore = "runs in a guest"]
fn foreign_jobs_are_left_alone() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let foreign = CangwJob {
        source: place.left.index,
        destination: place.right.index,
        flags: JobFlags::default(),
        filter: Filter { id: 0x555, mask: 0x7FF },
        hop_limit: 0,
        uid: 0,
        modifications: Modifications::default(),
        checksums: Checksums::default(),
        counters: JobCounters::default(),
    };
    cangw::add(&mut Client::open().unwrap(), &foreign).unwrap();
    place.start(&gateway(&["100"])).kill();
    let candor = place.start(&gateway(&["200"]));
    assert_eq!(filters(&place.jobs()), [0x200, 0x555]);
    assert!(candor.end(Signal::Interrupt).status.success());
    assert_eq!(place.jobs(), [foreign]);
}

#[test]
#[ignore = "runs in a guest"]
fn two_gateways_with_the_same_route_are_refused_and_with_different_ones_are_not() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let first = place.start(&gateway(&["100"]));
    let other = place.start(&gateway(&["200"]));
    let ended = place.in_kernel(&gateway(&["300", "100"])).fails();
    assert_eq!(ended.status.code(), Some(2));
    assert!(ended.errors.contains(&format!("kill {}", first.pid())), "{}", ended.errors);
    assert_eq!(filters(&place.jobs()), [0x200, 0x100]);
    assert!(first.end(Signal::Terminate).status.success());
    assert_eq!(filters(&place.jobs()), [0x200]);
    assert!(other.end(Signal::Terminate).status.success());
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
}

#[test]
#[ignore = "runs in a guest"]
fn two_read_write_gateways_with_the_same_routes_are_refused() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let text = gateway(&["100"]) + "[[route]]\nname = \"back\"\nfrom = \"right\"\nto = \"left\"\nmatch = \"100\"\n";
    let read_write = Run { engine: "read-write", ..place.in_kernel(&text) };
    let first = read_write.start();
    assert_eq!(place.lists(), 1);
    for second in [read_write.clone(), place.in_kernel(&text)] {
        let ended = second.fails();
        assert_eq!(ended.status.code(), Some(2));
        assert!(ended.errors.contains(&format!("kill {}", first.pid())), "{}", ended.errors);
    }
    first.kill();
    // It is gone and so is all that it did: nothing is adopted.
    let next = place.start(&text);
    assert_eq!(notices(&next.before_ready), Vec::<&str>::new());
    assert!(next.end(Signal::Terminate).status.success());
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
}

#[test]
#[ignore = "runs in a guest"]
fn a_reader_that_stalls_or_leaves_keeps_no_jobs_in_the_kernel() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    // Long lines fill the pipe soon.
    let numbers: Vec<_> = (0x100..0x140).map(|id| format!("{id:X}")).collect();
    let filters: Vec<_> = numbers.iter().map(String::as_str).collect();
    for stalls in [true, false] {
        let mut command = Command::new(program());
        command.args(["run", "-", "--json", "--stats", "1ms"]).env("CANDOR_RUN_DIR", place.run_dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut candor = command.spawn().unwrap();
        candor.stdin.take().unwrap().write_all(gateway(&filters).as_bytes()).unwrap();
        let mut reader = BufReader::new(candor.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"ready\"") {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0);
        }
        let kept = stalls.then_some(reader);
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!((candor.try_wait().unwrap(), place.jobs().len()), (None, filters.len()));
        signal::send(candor.id(), Signal::Terminate).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
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
        assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
        drop(kept);
    }
}
