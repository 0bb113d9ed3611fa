//! `candor plan`, `apply`, `status` and `down`: what is in the kernel afterwards, and the output.

mod captures;
mod crash;
mod elsewhere;
pub(crate) use elsewhere::Elsewhere;
mod foreign;
mod refused;

use std::os::unix::process::CommandExt;

use candor_core::filter::Filter;
use candor_core::rule::{Checksums, Modifications};
use candor_netlink::cangw::JobFlags;

use crate::prelude::*;

const NOBODY: u32 = 65534;

fn scene() -> Option<Scenario> {
    Scenario::new(VCAN_AND_CANGW, ["left", "right"])
}

impl Scenario {
    fn candor_as_nobody(&self, arguments: &[&str]) -> Output {
        output(self.command(arguments).uid(NOBODY).gid(NOBODY))
    }

    fn foreign(&self, id: u32, mask: u32) -> CangwJob {
        CangwJob::plain(self.index("left"), self.index("right"), Filter { id, mask })
    }

    /// Sends a frame from the left that some job matches, and waits until it has been counted.
    fn send(&self, id: u32) {
        let counted = || {
            let counters = self.jobs().into_iter().map(|job| job.counters);
            counters.map(|all| all.handled + all.dropped + all.deleted).sum::<u32>()
        };
        let before = counted();
        send(&self.sender("left"), &classic(id, &[1, 2, 3]));
        let mut last = counted();
        wait_until("every job has counted the frame", || {
            let now = counted();
            let is_stable = now > before && now == last;
            last = now;
            is_stable
        });
    }
}

fn add(job: &CangwJob) {
    cangw::add(&mut Client::open().unwrap(), job).unwrap();
}

fn delete(job: &CangwJob) {
    cangw::delete(&mut Client::open().unwrap(), job).unwrap();
}

/// Routes with these filters and keys, named after their filters.
fn gateway(routes: &[(&str, &str)]) -> String {
    let one = |(filter, keys): &(&str, &str)| {
        let keys = format!("frames = \"classic\"\nmatch = \"{filter}\"\n{keys}");
        route(&format!("r{filter}"), "left", "right", &keys)
    };
    LEFT_RIGHT.to_owned() + &routes.iter().map(one).collect::<String>()
}

fn with_mask(ids: &[u32], mask: &str) -> String {
    let filters: Vec<_> = ids.iter().map(|id| format!("{id:03X}:{mask}")).collect();
    let routes: Vec<_> = filters.iter().map(|filter| (filter.as_str(), "")).collect();
    gateway(&routes)
}

/// Masked filters share one receive list.
fn masked(ids: &[u32]) -> String {
    with_mask(ids, "C00007F0")
}

/// Filters of one identifier each, also in the list of masked filters, because the mask excludes the remote flag.
fn masked_exactly(ids: &[u32]) -> String {
    with_mask(ids, "800007FF")
}

pub(crate) fn ids(jobs: &[CangwJob]) -> Vec<u32> {
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
fn apply_twice_changes_nothing() {
    let Some(place) = scene() else { return };
    let file = place.file("a.toml", &masked(&[0x100, 0x200]));
    assert_eq!(place.candor(&["plan", &file, "--exit-code"]).status, 1);
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0), "a plan changes nothing");

    place.candor(&["apply", &file]).assert(0, &["applied: 2 added, 0 unchanged"]);
    assert_eq!(ids(&place.jobs()), [0x100, 0x200]);
    place.send(0x203);
    let again = place.json(&["apply", &file]);
    assert_eq!((&again["equal"], &again["requests"]), (&true.into(), &0.into()));
    assert_eq!(handled(&place.jobs()), [0, 1], "the jobs are the same");
    place.candor(&["plan", &file, "--exit-code"]).assert(0, &["no difference, 2 jobs in the kernel"]);

    place.candor(&["down"]).assert(0, &["Removed 2 can-gw jobs of the applied file"]);
    place.assert_clean();
    let nothing = place.candor(&["down"]);
    assert_eq!((nothing.status, nothing.out.as_str()), (0, "No file is applied\n"));
}

#[test]
#[ignore = "runs in a guest"]
fn a_changed_file_changes_only_what_it_must() {
    let Some(place) = scene() else { return };
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
fn a_uid_changes_modifications_in_place() {
    let Some(place) = scene() else { return };
    let with = |id: &str| gateway(&[("100", &format!("uid = \"0000ABCD\"\nset = {{ id = \"{id}\" }}"))]);
    let file = place.file("a.toml", &with("321"));
    place.json(&["apply", &file]);
    place.send(0x100);
    place.file("a.toml", &with("322"));
    place.candor(&["plan", &file]).assert(0, &["  ~   route \"r100\"", "1 to change, 0 unchanged"]);
    place.json(&["apply", &file]);
    let jobs = place.jobs();
    assert_eq!((jobs.len(), jobs[0].modifications.set.id, jobs[0].counters.handled), (1, Some(0x322), 1));
    // The kernel would accept another flag without changing it.
    place.file("a.toml", &(with("322") + "echo = true\n"));
    place.json(&["apply", &file]);
    let jobs = place.jobs();
    assert_eq!((jobs.len(), jobs[0].flags, jobs[0].counters.handled), (1, JobFlags::ECHO, 0));
    place.json(&["down", &file]);
    assert_eq!(place.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn several_files_can_be_applied() {
    let Some(place) = scene() else { return };
    let (a, b) = (place.file("a.toml", &masked(&[0x100])), place.file("b.toml", &masked(&[0x200, 0x100])));
    place.json(&["apply", &a]);
    place.candor(&["apply", &b]).assert(2, &[&format!("candor down {a}")]);
    place.file("b.toml", &masked(&[0x200]));
    let with = place.json(&["apply", &b]);
    assert_eq!(changes(&with), [("add", "r200:C00007F0"), ("other", "r100:C00007F0")]);
    assert_eq!(ids(&place.jobs()), [0x200, 0x100]);
    // The jobs of a deleted file can be removed.
    fs::remove_file(&a).unwrap();
    place.json(&["down", &a]);
    assert_eq!((ids(&place.jobs()), place.lists()), (vec![0x200], 1));
    place.candor(&["down", &a]).assert(1, &["is not applied; applied or running: ", &b]);
    place.json(&["down"]);
    place.assert_clean();
}

/// A page of a dump holds about a hundred jobs.
#[test]
#[ignore = "runs in a guest"]
fn reconciles_a_thousand_jobs() {
    let Some(place) = scene() else { return };
    let all: Vec<u32> = (0..0x7F0).step_by(2).collect();
    let file = place.file("a.toml", &masked_exactly(&all));
    let started = Instant::now();
    place.json(&["apply", &file]);
    let applied = started.elapsed();
    assert_eq!(ids(&place.jobs()), all);
    assert_eq!(place.json(&["apply", &file])["requests"], 0);
    // Without an addition, removing one in the middle moves no other.
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

#[test]
#[ignore = "runs in a guest"]
fn status_shows_routes_owners_and_interfaces() {
    let Some(place) = scene() else { return };
    let nothing = place.json(&["status"]);
    assert_eq!((&nothing["owners"], &nothing["cangw_loaded"]), (&Value::Array(Vec::new()), &true.into()));
    let file = place.file("a.toml", &masked(&[0x100]));
    place.json(&["apply", &file]);
    add(&place.foreign(0x555, 0x7FF));
    place.send(0x101);
    let mut client = Client::open().unwrap();
    place.bus("left").set_down();
    link::rename(&mut client, place.index("left"), "t-other").unwrap();

    let status = place.json(&["status"]);
    let owner = &status["owners"][0];
    assert_eq!((&owner["kind"], owner["file"].as_str().unwrap()), (&"applied".into(), file.as_str()));
    assert!(owner["age_s"].as_i64().unwrap() < 60 && owner["since_unix_s"].as_i64().unwrap() > 0);
    let job = &owner["jobs"][0];
    assert_eq!((&job["route"], &job["handled"]), (&"r100:C00007F0".into(), &1.into()));
    assert_eq!((&job["from"], &job["from_was"]), (&"t-other".into(), &"t-left".into()));
    assert_eq!(status["foreign"][0]["filter"], "555:7FF");
    place.candor(&["status"]).assert(0, &["t-other (was t-left) -> t-right", "Jobs of other programs"]);

    // A user who may not read the lists sees the jobs.
    fs::set_permissions(place.run_dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    place.candor_as_nobody(&["status"]).assert(0, &["cannot be read", "100:C00007F0"]);

    // Deleting an interface deletes its jobs.
    place.unplug("left");
    place.candor(&["status"]).assert(0, &["t-left (gone)", "NOT in the kernel"]);
    place.candor(&["down"]).assert(0, &["Removed 0 can-gw jobs", "1 had already been removed"]);
    assert_eq!(place.lists(), 0);
}
