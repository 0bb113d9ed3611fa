//! `candor plan`, `apply`, `status` and `down`: what is in the kernel afterwards, and what is said.

mod captures;
mod crash;
mod elsewhere;
mod refused;
mod strangers;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use candor_core::filter::Filter;
use candor_core::rule::{Checksums, Modifications};
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{self, CangwJob, JobCounters, JobFlags};
use candor_netlink::client::Client;
use serde_json::Value;

use crate::candor::{Said, program, said};
use crate::frames::{classic, send, sender_on};
use crate::require::{Bus, Feature, jobs_between, require, skip};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];

/// Two buses, a folder for the lists of jobs, and one for gateway files.
struct Place {
    left: Bus,
    right: Bus,
    run_dir: tempfile::TempDir,
    files: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = || tempfile::tempdir().unwrap();
        Self { left: Bus::new("left"), right: Bus::new("right"), run_dir: folder(), files: folder() }
    }

    /// A gateway file of this name.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.files.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env("CANDOR_RUN_DIR", self.run_dir.path()).env_remove("XDG_RUNTIME_DIR");
        command
    }

    fn candor(&self, arguments: &[&str]) -> Said {
        said(self.command(arguments))
    }

    /// A command that works, and its JSON.
    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let said = self.candor(&[arguments, &["--json"]].concat());
        assert_eq!(said.status, 0, "{said:?}");
        serde_json::from_str(&said.out).unwrap()
    }

    /// The jobs between the two buses, newest first.
    fn jobs(&self) -> Vec<CangwJob> {
        jobs_between(&[&self.left, &self.right])
    }

    /// A job from left to right that candor knows nothing of.
    fn foreign(&self, id: u32, mask: u32) -> CangwJob {
        job_between(self.left.index, self.right.index, id, mask)
    }

    /// Lists in the run directory.
    fn lists(&self) -> usize {
        let files = self.run_dir.path().read_dir().unwrap();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "json")).count()
    }

    /// Sends a frame on the left bus that some job takes, and waits until it has been counted: on a busy machine the
    /// kernel takes its time.
    fn send(&self, id: u32) {
        let counted = || {
            let counters = self.jobs().into_iter().map(|job| job.counters);
            counters.map(|all| all.handled + all.dropped + all.deleted).sum::<u32>()
        };
        let before = counted();
        send(&sender_on(self.left.index), &classic(id, &[1, 2, 3]));
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut last = counted();
        loop {
            assert!(Instant::now() < deadline, "no job took {id:X}");
            std::thread::sleep(Duration::from_millis(1));
            let now = counted();
            if now > before && now == last {
                return;
            }
            last = now;
        }
    }
}

fn job_between(source: InterfaceIndex, destination: InterfaceIndex, id: u32, mask: u32) -> CangwJob {
    CangwJob {
        source,
        destination,
        flags: JobFlags::default(),
        filter: Filter { id, mask },
        hop_limit: 0,
        uid: 0,
        modifications: Modifications::default(),
        checksums: Checksums::default(),
        counters: JobCounters::default(),
    }
}

fn add(job: &CangwJob) {
    cangw::add(&mut Client::open().unwrap(), job).unwrap();
}

const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n";

/// A gateway whose routes have these filters and keys, named after the filter.
fn gateway(routes: &[(&str, &str)]) -> String {
    let route = |(filter, keys): &(&str, &str)| {
        format!(
            "[[route]]\nname = \"r{filter}\"\nfrom = \"left\"\nto = \"right\"\nframes = \"classic\"\nmatch = \
             \"{filter}\"\n{keys}\n"
        )
    };
    BUSES.to_owned() + &routes.iter().map(route).collect::<String>()
}

/// Masked filters, so that they share one receive list.
fn masked(ids: &[u32]) -> String {
    let filters: Vec<_> = ids.iter().map(|id| format!("{id:03X}:C00007F0")).collect();
    let routes: Vec<_> = filters.iter().map(|filter| (filter.as_str(), "")).collect();
    gateway(&routes)
}

fn ids(jobs: &[CangwJob]) -> Vec<u32> {
    jobs.iter().map(|job| job.filter.id).collect()
}

fn handled(jobs: &[CangwJob]) -> Vec<u32> {
    jobs.iter().map(|job| job.counters.handled).collect()
}

fn changes(value: &Value) -> Vec<(&str, &str)> {
    let jobs = value["jobs"].as_array().unwrap();
    jobs.iter().map(|job| (job["change"].as_str().unwrap(), job["route"].as_str().unwrap_or("-"))).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn applying_twice_changes_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file("a.toml", &masked(&[0x100, 0x200]));
    assert_eq!(place.candor(&["plan", &file, "--exit-code"]).status, 1);
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0), "a plan changes nothing");

    let first = place.candor(&["apply", &file]);
    assert_eq!(first.status, 0, "{first:?}");
    assert!(first.out.contains("applied: 2 added, 0 unchanged"), "{first:?}");
    assert_eq!(ids(&place.jobs()), [0x100, 0x200]);
    place.send(0x203);
    let again = place.json(&["apply", &file]);
    assert_eq!((&again["equal"], &again["requests"]), (&true.into(), &0.into()));
    assert_eq!(handled(&place.jobs()), [0, 1], "the jobs are the same");
    let plan = place.candor(&["plan", &file, "--exit-code"]);
    assert!(plan.status == 0 && plan.out.contains("no difference, 2 jobs in the kernel"), "{plan:?}");

    let down = place.candor(&["down"]);
    assert!(down.status == 0 && down.out.contains("Removed 2 can-gw jobs of the applied file"), "{down:?}");
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
    let nothing = place.candor(&["down"]);
    assert_eq!((nothing.status, nothing.out.as_str()), (0, "No file is applied\n"));
}

#[test]
#[ignore = "runs in a guest"]
fn a_changed_file_changes_only_what_it_must() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file("a.toml", &masked(&[0x100, 0x200, 0x300, 0x400]));
    place.json(&["apply", &file]);
    [0x101, 0x201, 0x301, 0x401].into_iter().for_each(|id| place.send(id));
    place.file("a.toml", &masked(&[0x100, 0x700, 0x200, 0x300]));
    let plan = place.json(&["plan", &file]);
    let expected = [
        ("re-create", "r100:C00007F0"),
        ("add", "r700:C00007F0"),
        ("keep", "r200:C00007F0"),
        ("keep", "r300:C00007F0"),
        ("remove", "r400:C00007F0"),
    ];
    assert_eq!(changes(&plan), expected);
    assert_eq!(changes(&place.json(&["apply", &file])), expected);
    assert_eq!(ids(&place.jobs()), [0x100, 0x700, 0x200, 0x300]);
    assert_eq!(handled(&place.jobs()), [0, 0, 1, 1]);
    place.json(&["down"]);
}

#[test]
#[ignore = "runs in a guest"]
fn a_uid_exchanges_modifications_in_place() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let with = |id: &str| gateway(&[("100", &format!("uid = \"0000ABCD\"\nset = {{ id = \"{id}\" }}"))]);
    let file = place.file("a.toml", &with("321"));
    place.json(&["apply", &file]);
    place.send(0x100);
    place.file("a.toml", &with("322"));
    let said = place.candor(&["plan", &file]);
    assert!(said.out.contains("  ~   route \"r100\"") && said.out.contains("1 to change, 0 unchanged"), "{said:?}");
    place.json(&["apply", &file]);
    let jobs = place.jobs();
    assert_eq!((jobs.len(), jobs[0].modifications.set.id, jobs[0].counters.handled), (1, Some(0x322), 1));
    // With another flag the kernel would say yes and change nothing.
    place.file("a.toml", &(with("322") + "echo = true\n"));
    place.json(&["apply", &file]);
    let jobs = place.jobs();
    assert_eq!((jobs.len(), jobs[0].flags, jobs[0].counters.handled), (1, JobFlags::ECHO, 0));
    place.json(&["down", &file]);
    assert_eq!(place.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn several_files_live_side_by_side() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let (a, b) = (place.file("a.toml", &masked(&[0x100])), place.file("b.toml", &masked(&[0x200, 0x100])));
    place.json(&["apply", &a]);
    let twin = place.candor(&["apply", &b]);
    assert_eq!(twin.status, 2);
    assert!(twin.err.contains(&format!("candor down {a}")), "{twin:?}");
    place.file("b.toml", &masked(&[0x200]));
    let with = place.json(&["apply", &b]);
    assert_eq!(changes(&with), [("add", "r200:C00007F0"), ("other", "r100:C00007F0")]);
    assert_eq!(ids(&place.jobs()), [0x200, 0x100]);
    // A file can be taken out after it has been removed.
    std::fs::remove_file(&a).unwrap();
    place.json(&["down", &a]);
    assert_eq!((ids(&place.jobs()), place.lists()), (vec![0x200], 1));
    let unknown = place.candor(&["down", &a]);
    assert!(unknown.status == 0 && unknown.out.contains(&format!("there is the applied file {b}")), "{unknown:?}");
    place.json(&["down"]);
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
}

/// One page of a dump has room for about a hundred jobs.
#[test]
#[ignore = "runs in a guest"]
fn a_thousand_jobs_are_reconciled() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let all: Vec<u32> = (0..0x7F0).step_by(2).collect();
    let file = place.file("a.toml", &masked_exactly(&all));
    let started = Instant::now();
    place.json(&["apply", &file]);
    let applied = started.elapsed();
    assert_eq!(ids(&place.jobs()), all);
    assert_eq!(place.json(&["apply", &file])["requests"], 0);
    // One in the middle goes: whatever is before it stays where it is, because nothing is added.
    let fewer: Vec<_> = all.iter().copied().filter(|id| *id != 0x400).collect();
    place.file("a.toml", &masked_exactly(&fewer));
    assert_eq!(place.json(&["apply", &file])["requests"], 1);
    assert_eq!(ids(&place.jobs()), fewer);
    let status = place.json(&["status"]);
    assert_eq!(status["owners"][0]["jobs"].as_array().unwrap().len(), fewer.len());
    place.json(&["down"]);
    assert_eq!(place.jobs(), []);
    println!("{} jobs applied in {} ms", all.len(), applied.as_millis());
}

/// Filters of one identifier each, in the list of masked filters because they do not compare the remote flag.
fn masked_exactly(ids: &[u32]) -> String {
    let filters: Vec<_> = ids.iter().map(|id| format!("{id:03X}:800007FF")).collect();
    let routes: Vec<_> = filters.iter().map(|filter| (filter.as_str(), "")).collect();
    gateway(&routes)
}

#[test]
#[ignore = "runs in a guest"]
fn the_status_names_routes_owners_and_interfaces() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let nothing = place.json(&["status"]);
    assert_eq!((&nothing["owners"], &nothing["cangw_loaded"]), (&Value::Array(Vec::new()), &true.into()));
    let file = place.file("a.toml", &masked(&[0x100]));
    place.json(&["apply", &file]);
    add(&place.foreign(0x555, 0x7FF));
    place.send(0x101);
    let mut client = Client::open().unwrap();
    place.left.set_down();
    candor_netlink::link::rename(&mut client, place.left.index, "t-other").unwrap();

    let status = place.json(&["status"]);
    let owner = &status["owners"][0];
    assert_eq!((&owner["kind"], owner["file"].as_str().unwrap()), (&"applied".into(), file.as_str()));
    assert!(owner["age_s"].as_i64().unwrap() < 60 && owner["since_unix_s"].as_i64().unwrap() > 0);
    let job = &owner["jobs"][0];
    assert_eq!((&job["route"], &job["handled"]), (&"r100:C00007F0".into(), &1.into()));
    assert_eq!((&job["from"], &job["from_was"]), (&"t-other".into(), &"t-left".into()));
    assert_eq!(status["foreign"][0]["filter"], "555:7FF");
    let text = place.candor(&["status"]).out;
    assert!(text.contains("t-other (was t-left) -> t-right") && text.contains("Jobs of other programs"), "{text}");

    // Whoever may not read the lists sees the jobs all the same.
    std::fs::set_permissions(place.run_dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut command = place.command(&["status"]);
    command.uid(65534).gid(65534);
    let nobody = said(command);
    assert_eq!(nobody.status, 0, "{nobody:?}");
    assert!(nobody.err.contains("cannot be read") && nobody.out.contains("100:C00007F0"), "{nobody:?}");

    // An interface that goes takes its jobs along.
    candor_netlink::link::delete(&mut client, place.left.index).unwrap();
    let text = place.candor(&["status"]).out;
    assert!(text.contains("t-left (gone)") && text.contains("NOT in the kernel"), "{text}");
    let down = place.candor(&["down"]);
    assert!(down.out.contains("Removed 0 can-gw jobs") && down.out.contains("1 had already been removed"), "{down:?}");
    assert_eq!(place.lists(), 0);
}

fn run_dir(place: &Place) -> PathBuf {
    place.run_dir.path().to_owned()
}
