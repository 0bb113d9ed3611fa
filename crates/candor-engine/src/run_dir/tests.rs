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

/// The directory and what was told about it.
fn look(path: &Path) -> (RunDir, Vec<Notice>) {
    let exclusive = File::create(path.join("lock")).unwrap();
    let (alive, dead, dead_files) = (Vec::new(), Vec::new(), Vec::new());
    let mut dir = RunDir { path: path.to_owned(), here: here(), alive, dead, dead_files, _exclusive: exclusive };
    let mut told = Vec::new();
    dir.read(&mut |notice| told.push(notice)).unwrap();
    (dir, told)
}

fn run_dir(path: &Path) -> RunDir {
    let (dir, told) = look(path);
    assert_eq!(told, []);
    dir
}

fn write(path: &Path, place: &Place, pid: u32, jobs: &[CangwJob]) -> Entry {
    Entry::write(path, &Content::new(place, pid, Engine::Kernel, jobs)).unwrap()
}

fn lists(path: &Path) -> usize {
    let files = fs::read_dir(path).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).count()
}

#[test]
fn a_held_file_is_a_live_process_and_a_free_one_is_a_dead_one() {
    let path = tempfile::tempdir().unwrap();
    let jobs = [job(1), job(2)];
    let entry = write(path.path(), &here(), 41, &jobs);
    let while_alive = run_dir(path.path());
    assert_eq!(while_alive.alive, [Instance { pid: 41, engine: Engine::Kernel, jobs: jobs.to_vec() }]);
    assert!(while_alive.dead().is_empty());

    drop(entry);
    let mut afterwards = run_dir(path.path());
    assert_eq!(afterwards.dead(), [Instance { pid: 41, engine: Engine::Kernel, jobs: jobs.to_vec() }]);
    afterwards.forget_dead().unwrap();
    assert!(run_dir(path.path()).dead().is_empty());
}

#[test]
fn a_process_with_the_number_of_a_dead_one_has_a_file_of_its_own() {
    let path = tempfile::tempdir().unwrap();
    drop(write(path.path(), &here(), 1, &[job(1)]));
    let mut start = run_dir(path.path());
    let entry = write(path.path(), &here(), 1, &[job(2)]);
    start.forget_dead().unwrap();
    assert_eq!(run_dir(path.path()).alive, [Instance { pid: 1, engine: Engine::Kernel, jobs: vec![job(2)] }]);
    entry.forget();
    assert_eq!(lists(path.path()), 0);
}

#[test]
fn only_the_own_file_is_removed() {
    let path = tempfile::tempdir().unwrap();
    let entry = write(path.path(), &here(), 5, &[job(1)]);
    fs::remove_file(entry_path(path.path())).unwrap();
    entry.forget();
    let _other = write(path.path(), &here(), 5, &[job(2)]);
    entry.forget();
    assert_eq!(lists(path.path()), 1);
}

fn entry_path(path: &Path) -> PathBuf {
    path.join("7-5-0.json")
}

#[test]
fn the_files_of_ended_processes_may_vanish_at_any_time() {
    let path = tempfile::tempdir().unwrap();
    drop(write(path.path(), &here(), 5, &[job(1)]));
    let mut dir = run_dir(path.path());
    fs::remove_file(entry_path(path.path())).unwrap();
    dir.forget_dead().unwrap();
}

#[test]
fn twins_are_refused_whatever_their_engines() {
    let path = tempfile::tempdir().unwrap();
    let content = Content::new(&here(), 6, Engine::ReadWrite, &[job(1), job(2)]);
    let entry = Entry::write(path.path(), &content).unwrap();
    let dir = run_dir(path.path());
    dir.refuse_twins(&[job(3)], |_position| String::new()).unwrap();
    let error = dir.refuse_twins(&[job(3), job(2)], |position| format!("r{position}")).unwrap_err();
    assert!(matches!(&error, GatewayError::AlreadyRunning { route, pid: 6 } if route == "r1"), "{error}");
    drop(dir);
    // It left nothing in the kernel, so there is nothing to adopt.
    drop(entry);
    assert!(run_dir(path.path()).dead().is_empty());
    assert_eq!(lists(path.path()), 0);
}

#[test]
fn frames_that_two_processes_could_pass_to_and_fro_are_noticed() {
    let path = tempfile::tempdir().unwrap();
    let back = |id| CangwJob { source: job(id).destination, destination: job(id).source, ..job(id) };
    let quiet = CangwJob { flags: JobFlags::default(), ..back(7) };
    let _kernel = write(path.path(), &here(), 6, &[back(1), back(2), quiet]);
    let dir = run_dir(path.path());
    assert_eq!(dir.first_circle(Engine::ReadWrite, &[job(3), job(2)]), Some((1, 6)));
    assert_eq!(dir.first_circle(Engine::ReadWrite, &[job(3), job(7), back(1)]), None);
    assert_eq!(dir.first_circle(Engine::Kernel, &[job(2)]), None, "the kernel counts hops");
}

#[test]
fn other_boots_are_forgotten_and_other_namespaces_left_alone() {
    let path = tempfile::tempdir().unwrap();
    let old = Place { boot_id: "fedcba9876543210".into(), ..here() };
    let elsewhere = Place { netns: 8, ..here() };
    drop(write(path.path(), &old, 1, &[job(1)]));
    drop(write(path.path(), &elsewhere, 2, &[job(1)]));
    fs::write(path.path().join("old-version.json"), r#"{"boot_id":"fedcba9876543210","netns":7,"x":[]}"#).unwrap();
    let dir = run_dir(path.path());
    assert!(dir.alive.is_empty() && dir.dead().is_empty());
    assert_eq!(lists(path.path()), 1);
    assert!(path.path().join("8-2-0.json").exists());
}

#[test]
fn files_that_make_no_sense_are_told_and_block_nothing() {
    let path = tempfile::tempdir().unwrap();
    let _live = write(path.path(), &here(), 41, &[job(1)]);
    let other_version = r#"{"version":9,"boot_id":"0123456789abcdef","netns":7,"pid":3,"engine":"kernel","jobs":[]}"#;
    for (name, text) in [("a.json", ""), ("b.json", "{\"version\":1,"), ("c.json", other_version)] {
        fs::write(path.path().join(name), text).unwrap();
    }
    let (dir, told) = look(path.path());
    assert_eq!(dir.alive.len(), 1);
    let mut told: Vec<_> = told.iter().map(Notice::to_string).collect();
    told.sort();
    assert_eq!(told.len(), 3);
    for (text, name) in told.iter().zip(["a.json", "b.json", "c.json"]) {
        assert!(text.contains(name) && text.contains("sudo rm"), "{text}");
    }
    assert!(told[2].contains("another version"), "{told:?}");
}

#[test]
fn nobody_else_can_open_the_files() {
    let path = tempfile::tempdir().unwrap();
    let inner = path.path().join("candor");
    make_private(&inner).unwrap();
    let _entry = write(&inner, &here(), 5, &[job(1)]);
    for path in [inner.clone(), entry_path(&inner)] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & OTHERS, 0);
    }
}
