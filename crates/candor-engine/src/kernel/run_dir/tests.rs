use candor_core::filter::Filter;
use candor_core::rule::{Checksums, Modifications};
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{JobCounters, JobFlags};

use super::*;

fn job(id: u32) -> CangwJob {
    CangwJob {
        source: InterfaceIndex::new(3).unwrap(),
        destination: InterfaceIndex::new(4).unwrap(),
        flags: JobFlags::ECHO,
        filter: Filter { id, mask: 0x7FF },
        hop_limit: 1,
        uid: 0,
        modifications: Modifications::default(),
        checksums: Checksums::default(),
        counters: JobCounters::default(),
    }
}

fn here() -> Place {
    Place { boot_id: "0123456789abcdef".into(), netns: 7 }
}

fn run_dir(path: &Path) -> RunDir {
    let exclusive = File::create(path.join("lock")).unwrap();
    let (alive, dead, dead_files) = (Vec::new(), Vec::new(), Vec::new());
    let mut dir = RunDir { path: path.to_owned(), here: here(), alive, dead, dead_files, _exclusive: exclusive };
    dir.read().unwrap();
    dir
}

#[test]
fn a_held_file_is_a_live_process_and_a_free_one_is_a_dead_one() {
    let path = tempfile::tempdir().unwrap();
    let jobs = [job(1), job(2)];
    let entry = Entry::write(path.path(), &Content::new(&here(), 41, &jobs)).unwrap();
    let while_alive = run_dir(path.path());
    assert_eq!(while_alive.alive(), [Instance { pid: 41, jobs: jobs.to_vec() }]);
    assert!(while_alive.dead().is_empty());

    drop(entry);
    let mut afterwards = run_dir(path.path());
    assert_eq!(afterwards.dead(), [Instance { pid: 41, jobs: jobs.to_vec() }]);
    afterwards.forget_dead().unwrap();
    assert!(run_dir(path.path()).dead().is_empty());
}

#[test]
fn other_boots_are_forgotten_and_other_namespaces_left_alone() {
    let path = tempfile::tempdir().unwrap();
    let old = Place { boot_id: "fedcba9876543210".into(), ..here() };
    let elsewhere = Place { netns: 8, ..here() };
    drop(Entry::write(path.path(), &Content::new(&old, 1, &[job(1)])).unwrap());
    drop(Entry::write(path.path(), &Content::new(&elsewhere, 2, &[job(1)])).unwrap());
    let dir = run_dir(path.path());
    assert!(dir.alive().is_empty() && dir.dead().is_empty());
    assert!(!path.path().join("1-fedcba98.json").exists());
    assert!(path.path().join("2-01234567.json").exists());
}

#[test]
fn a_file_that_makes_no_sense_is_an_error_that_names_it() {
    let path = tempfile::tempdir().unwrap();
    fs::write(path.path().join("9-x.json"), b"{\"version\":1,").unwrap();
    let exclusive = File::create(path.path().join("lock")).unwrap();
    let (alive, dead, dead_files) = (Vec::new(), Vec::new(), Vec::new());
    let mut dir = RunDir { path: path.path().to_owned(), here: here(), alive, dead, dead_files, _exclusive: exclusive };
    let message = dir.read().unwrap_err().to_string();
    assert!(message.contains("9-x.json"), "{message}");
}
