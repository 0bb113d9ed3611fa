use std::os::unix::fs::PermissionsExt as _;

use candor_core::filter::Filter;
use candor_io::can::InterfaceIndex;

use super::*;

fn job(id: u32) -> CangwJob {
    let [source, destination] = [3, 4].map(|index| InterfaceIndex::new(index).unwrap());
    let plain = CangwJob::plain(source, destination, Filter { id, mask: 0x7FF });
    CangwJob { flags: JobFlags::ECHO, hop_limit: 1, ..plain }
}

fn here() -> Scope {
    Scope { boot_id: "0123456789abcdef".into(), netns: 7, netns_cookie: Some(1) }
}

fn owned(side: Side, jobs: &[CangwJob]) -> Vec<OwnedJob> {
    let owned = |(at, job): (usize, &CangwJob)| OwnedJob {
        route: format!("r{at}"),
        from: "can0".into(),
        to: "can1".into(),
        side,
        job: (*job).into(),
    };
    jobs.iter().enumerate().map(owned).collect()
}

fn process(pid: u32, engine: Engine, jobs: &[CangwJob]) -> Instance {
    let side = if matches!(engine, Engine::User(_)) { Side::User } else { Side::Kernel };
    let since = Since { unix_s: 1_700_000_000, boot_s: 12 };
    Instance { owner: Owner::Process { pid, engine }, since, signer: None, jobs: owned(side, jobs), change: None }
}

fn applied(file: &str, jobs: &[CangwJob]) -> Instance {
    Instance { owner: Owner::Applied { file: file.into() }, ..process(0, Engine::Kernel, jobs) }
}

/// The directory and the notices about it.
fn read(path: &Path) -> (RunDir, Vec<Notice>) {
    let exclusive = File::create(path.join("lock")).unwrap();
    let mut dir = RunDir::unread(path.to_owned(), here(), exclusive);
    let mut notices = Vec::new();
    dir.read(&mut |notice| notices.push(notice)).unwrap();
    (dir, notices)
}

fn run_dir(path: &Path) -> RunDir {
    let (dir, notices) = read(path);
    assert_eq!(notices, []);
    dir
}

fn write(path: &Path, scope: &Scope, pid: u32, jobs: &[CangwJob]) -> Entry {
    Entry::write(path, scope, &process(pid, Engine::Kernel, jobs)).unwrap()
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
    assert_eq!(while_alive.alive, [process(41, Engine::Kernel, &jobs)]);
    assert!(while_alive.dead().is_empty());

    drop(entry);
    let mut afterwards = run_dir(path.path());
    assert_eq!(afterwards.dead(), [process(41, Engine::Kernel, &jobs)]);
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
    assert_eq!(run_dir(path.path()).alive, [process(1, Engine::Kernel, &[job(2)])]);
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
    let instance = process(6, Engine::User(candor_config::engine::UserEngine::PLAINEST), &[job(1), job(2)]);
    let entry = Entry::write(path.path(), &here(), &instance).unwrap();
    let dir = run_dir(path.path());
    dir.refuse_twins(&owned(Side::Kernel, &[job(3)]), None).unwrap();
    let error = dir.refuse_twins(&owned(Side::Kernel, &[job(3), job(2)]), None).unwrap_err();
    assert!(matches!(&error, RunDirError::AlreadyRunning { route, pid: 6 } if route == "r1"), "{error}");
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
    let circle = |side, jobs: &[CangwJob]| dir.first_circle(&owned(side, jobs), None);
    let by = Owner::Process { pid: 6, engine: Engine::Kernel };
    assert_eq!(circle(Side::User, &[job(3), job(2)]), Some(("r1".into(), by)));
    assert_eq!(circle(Side::User, &[job(3), job(7), back(1)]), None);
    assert_eq!(circle(Side::Kernel, &[job(2)]), None, "the kernel counts hops");
}

#[test]
fn other_boots_are_forgotten_and_other_namespaces_left_alone() {
    let path = tempfile::tempdir().unwrap();
    let old = Scope { boot_id: "fedcba9876543210".into(), ..here() };
    let elsewhere = Scope { netns: 8, ..here() };
    drop(write(path.path(), &old, 1, &[job(1)]));
    drop(write(path.path(), &elsewhere, 2, &[job(1)]));
    fs::write(path.path().join("old-version.json"), r#"{"boot_id":"fedcba9876543210","netns":7,"x":[]}"#).unwrap();
    let dir = run_dir(path.path());
    assert!(dir.alive.is_empty() && dir.dead().is_empty());
    assert_eq!(lists(path.path()), 1);
    assert!(path.path().join("8-2-0.json").exists());
}

#[test]
fn a_namespace_with_the_number_of_an_ended_one_is_another() {
    let path = tempfile::tempdir().unwrap();
    let before = Scope { netns_cookie: Some(9), ..here() };
    drop(write(path.path(), &before, 1, &[job(1)]));
    entry::write_applied(path.path(), None, &before, &applied("/a.toml", &[job(2)])).unwrap();
    let dir = run_dir(path.path());
    assert!(dir.dead().is_empty() && dir.applied().next().is_none());
    assert_eq!(lists(path.path()), 0);
    // Where one of the two kernels had no such number, that of the file counts.
    let unknown = Scope { netns_cookie: None, ..here() };
    entry::write_applied(path.path(), None, &unknown, &applied("/a.toml", &[job(2)])).unwrap();
    assert_eq!(run_dir(path.path()).applied().count(), 1);
}

#[test]
fn what_was_applied_stays_without_a_process() {
    let path = tempfile::tempdir().unwrap();
    let mut dir = run_dir(path.path());
    let (a, b) = (applied("/a.toml", &[job(1), job(2)]), applied("/b.toml", &[job(3)]));
    dir.keep_applied(a.clone()).unwrap();
    dir.keep_applied(b.clone()).unwrap();
    drop(dir);
    let mut dir = run_dir(path.path());
    let mut found: Vec<_> = dir.applied().cloned().collect();
    found.sort_by_key(|instance| instance.owner.to_string());
    assert_eq!(found, [a.clone(), b.clone()]);
    assert!(dir.dead().is_empty());

    // The record of a change in progress holds the earlier jobs and the owners of equal ones.
    let change = Change { before: a.jobs.clone(), strangers: vec![job(5).into()] };
    let begun = Instance { jobs: owned(Side::Kernel, &[job(5)]), change: Some(change), ..a.clone() };
    dir.keep_applied(begun.clone()).unwrap();
    assert_eq!(lists(path.path()), 2);
    assert!(run_dir(path.path()).applied().any(|instance| *instance == begun));

    dir.keep_applied(Instance { jobs: Vec::new(), change: None, ..a }).unwrap();
    assert_eq!(run_dir(path.path()).applied().cloned().collect::<Vec<_>>(), [b]);
    assert_eq!(lists(path.path()), 1);
}

#[test]
fn twins_of_what_was_applied_are_refused_except_to_itself() {
    let path = tempfile::tempdir().unwrap();
    let mut dir = run_dir(path.path());
    let change = Change { before: owned(Side::Kernel, &[job(1)]), strangers: Vec::new() };
    let file = Instance { change: Some(change), ..applied("/a.toml", &[job(2)]) };
    dir.keep_applied(file.clone()).unwrap();
    for taken in [job(1), job(2)] {
        let error = dir.refuse_twins(&owned(Side::User, &[taken]), None).unwrap_err();
        assert!(error.to_string().ends_with("candor down /a.toml"), "{error}");
        dir.refuse_twins(&owned(Side::User, &[taken]), Some(&file.owner)).unwrap();
    }
}

/// One who took jobs over was killed before it could remove the list of before.
#[test]
fn each_job_has_one_owner() {
    let path = tempfile::tempdir().unwrap();
    drop(write(path.path(), &here(), 1, &[job(1), job(2), job(3), job(3)]));
    drop(write(path.path(), &here(), 2, &[job(2)]));
    let user = Instance {
        jobs: owned(Side::User, &[job(3)]),
        ..process(3, Engine::User(candor_config::engine::UserEngine::PLAINEST), &[])
    };
    let _alive = Entry::write(path.path(), &here(), &user).unwrap();
    let mut dir = run_dir(path.path());
    let ids = |dir: &RunDir| {
        let jobs = dir.dead().iter().flat_map(Instance::kernel_jobs);
        let mut ids: Vec<_> = jobs.map(|owned| owned.job.job().filter.id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&dir), [1, 2, 3, 3], "what runs in user space is another matter");
    dir.keep_applied(applied("/a.toml", &[job(1), job(3)])).unwrap();
    drop(dir);
    assert_eq!(ids(&run_dir(path.path())), [2, 3]);
    // Lists that say nothing any more go.
    run_dir(path.path()).keep_applied(applied("/b.toml", &[job(2), job(3)])).unwrap();
    assert!(run_dir(path.path()).dead().is_empty());
    assert_eq!(lists(path.path()), 3, "of the living one and of two files");
}

#[test]
fn what_cannot_be_understood_may_list_anything() {
    let path = tempfile::tempdir().unwrap();
    run_dir(path.path()).knows_all().unwrap();
    let scope = r#""boot_id":"0123456789abcdef","netns":7,"netns_cookie":1"#;
    fs::write(path.path().join("7-9-0.json"), format!(r#"{{"version":4,{scope}}}"#)).unwrap();
    let (dir, notices) = read(path.path());
    assert!(matches!(&notices[..], [Notice::OddList { .. }]), "{notices:?}");
    let error = dir.knows_all().unwrap_err().to_string();
    assert!(error.contains("7-9-0.json, so") && error.contains("sudo rm"), "{error}");
    // One of another namespace has nothing to do with the jobs here.
    let elsewhere = scope.replace(":7", ":8");
    fs::write(path.path().join("7-9-0.json"), format!(r#"{{"version":4,{elsewhere}}}"#)).unwrap();
    run_dir(path.path()).knows_all().unwrap();
}

#[test]
fn nothing_is_opened_that_somebody_else_could_have_put_there() {
    let open = |path: &Path| RunDir::open_at(path.to_owned(), &mut |_notice| {}).map(drop);
    let private = tempfile::tempdir().unwrap();
    open(private.path()).unwrap();
    // A link in the scope of the lock would have another file made private, or emptied.
    let target = private.path().join("target");
    fs::write(&target, "text").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(private.path().join("lock")).unwrap();
    std::os::unix::fs::symlink(&target, private.path().join("lock")).unwrap();
    open(private.path()).unwrap_err();
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o644);

    let public = tempfile::tempdir().unwrap();
    fs::set_permissions(public.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = open(public.path()).unwrap_err();
    assert!(std::error::Error::source(&error).is_some_and(|error| error.to_string().contains("Checking")), "{error}");
    assert_eq!(fs::read_dir(public.path()).unwrap().count(), 0);

    let foreign = tempfile::tempdir().unwrap();
    if std::os::unix::fs::chown(foreign.path(), Some(12_345), None).is_ok() {
        let denied = RunDir::open_existing_at(vec![foreign.path().to_owned()], &mut |_notice| {}).unwrap().denied;
        assert_eq!(denied.len(), 1);
    }
}

#[test]
fn looking_makes_no_folder() {
    let path = tempfile::tempdir().unwrap();
    let (missing, there) = (path.path().join("none"), path.path().join("some"));
    fs::create_dir(&there).unwrap();
    let opened = RunDir::open_existing_at(vec![missing.clone(), there.clone()], &mut |_notice| {}).unwrap();
    assert_eq!(opened.open.iter().map(|dir| &dir.path).collect::<Vec<_>>(), [&there]);
    assert!(!missing.exists() && opened.denied.is_empty());
}
