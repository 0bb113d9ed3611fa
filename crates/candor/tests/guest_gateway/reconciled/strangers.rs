//! Jobs of others: of running candors, of dead ones, and of nobody.

use candor_io::signal::Signal;
use candor_netlink::cangw::ExactJob;

use super::*;
use crate::candor::{Run, notices};

#[test]
#[ignore = "runs in a guest"]
fn foreign_jobs_are_reported_and_left_alone() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let foreign = place.foreign(0x555, 0x7FF);
    add(&foreign);
    let file = place.file("a.toml", &masked(&[0x100]));
    let applied = place.candor(&["apply", &file]);
    assert!(applied.out.contains("  ?   t-left -> t-right, classic 555:7FF"), "{applied:?}");
    assert_eq!(ids(&place.jobs()), [0x100, 0x555]);
    place.json(&["down"]);
    assert_eq!(place.jobs(), [foreign]);
    cangw::delete(&mut Client::open().unwrap(), &foreign).unwrap();
}

#[test]
#[ignore = "runs in a guest"]
fn equal_jobs_of_others_are_not_doubled_but_adopted() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    [0x200, 0x100, 0x300].into_iter().for_each(|id| add(&place.foreign(id, 0xC000_07F0)));
    place.send(0x101);
    let file = place.file("a.toml", &masked(&[0x100, 0x200]));
    let before = place.jobs();
    let refused = place.candor(&["apply", &file]);
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("routes \"r100:C00007F0\", \"r200:C00007F0\"") && refused.err.contains("--adopt"));
    assert_eq!((place.jobs(), place.lists()), (before, 0));
    let plan = place.candor(&["plan", &file]);
    assert!(plan.status == 0 && plan.err.contains("would refuse this") && plan.err.contains("--adopt"), "{plan:?}");

    let plan = place.json(&["plan", &file, "--adopt"]);
    let adopted = [("adopt", "r100:C00007F0"), ("adopt", "r200:C00007F0"), ("foreign", "-")];
    assert_eq!((changes(&plan), &plan["equal"]), (adopted.to_vec(), &false.into()));
    assert_eq!(changes(&place.json(&["apply", &file, "--adopt"])), adopted);
    assert_eq!((ids(&place.jobs()), handled(&place.jobs())), (vec![0x300, 0x100, 0x200], vec![0, 1, 0]));

    // Now they are candor's, and one that somebody adds is told.
    add(&place.foreign(0x100, 0xC000_07F0));
    let doubled = place.candor(&["apply", &file]);
    assert!(doubled.status == 0 && doubled.out.contains("  !   route \"r100:C00007F0\""), "{doubled:?}");
    let pruned = place.candor(&["apply", &file, "--prune"]);
    assert!(pruned.err.contains("2 jobs of other programs WERE REMOVED"), "{pruned:?}");
    assert_eq!(ids(&place.jobs()), [0x100, 0x200]);
    place.json(&["down"]);
    assert_eq!(place.jobs(), []);
}

/// What a candor of another version has in the kernel looks like nobody's.
#[test]
#[ignore = "runs in a guest"]
fn nothing_is_pruned_or_adopted_while_a_list_cannot_be_understood() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let (theirs, ours) = (place.file("a.toml", &masked(&[0x100])), place.file("b.toml", &masked(&[0x200])));
    place.json(&["apply", &theirs]);
    let list = std::fs::read_dir(run_dir(&place)).unwrap().map(|file| file.unwrap().path());
    let list = list.into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let text = std::fs::read_to_string(&list).unwrap();
    let later = text.replacen("\"version\":3", "\"version\":4", 1);
    assert_ne!(later, text);
    std::fs::write(&list, later).unwrap();
    for option in ["--prune", "--adopt"] {
        let refused = place.candor(&["apply", &ours, option]);
        assert!(refused.status == 2 && refused.err.contains("another version"), "{refused:?}");
        let plan = place.candor(&["plan", &ours, option]);
        assert!(plan.status == 0 && plan.err.contains("would refuse this"), "{plan:?}");
    }
    assert_eq!(ids(&place.jobs()), [0x100]);
    // Whatever else there is to do can be done.
    let applied = place.candor(&["apply", &ours]);
    assert!(applied.status == 0 && applied.err.contains("Cannot read"), "{applied:?}");
    place.json(&["down", &ours]);
    assert_eq!(ids(&place.jobs()), [0x100]);
    std::fs::write(&list, text).unwrap();
    place.json(&["down"]);
    assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
}

/// `cangw -m SET:I:456.8.1122334455667788` leaves bytes in the kernel that mean nothing, and are compared.
#[test]
#[ignore = "runs in a guest"]
fn jobs_with_odd_bytes_can_be_pruned() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let mut job = place.foreign(0x123, 0x7FF);
    job.modifications.set.id = Some(0x456);
    let mut bytes = job.to_bytes();
    let set = bytes.windows(4).position(|four| four == 0x456_u32.to_ne_bytes()).unwrap();
    bytes[set + 4] = 8;
    bytes[set + 8..set + 16].copy_from_slice(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
    let odd = ExactJob::from_bytes(&bytes).unwrap();
    assert!(!odd.is_plain());
    cangw::add_exact(&mut Client::open().unwrap(), &odd).unwrap();
    assert!(cangw::delete(&mut Client::open().unwrap(), &job).is_err(), "what was read is not enough to delete it");
    let file = place.file("a.toml", &masked(&[0x100]));
    place.json(&["apply", &file, "--prune"]);
    assert_eq!(ids(&place.jobs()), [0x100]);
    place.json(&["down"]);
}

#[test]
#[ignore = "runs in a guest"]
fn running_candors_and_applied_files_respect_each_other() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let text = masked(&[0x100]);
    let (file, other) = (place.file("a.toml", &text), place.file("b.toml", &masked(&[0x200])));
    let run = |engine| Run { gateway: &text, engine, run_dir: run_dir(&place), uid: None };
    for engine in ["kernel", "read-write"] {
        let candor = run(engine).start();
        let refused = place.candor(&["apply", &file]);
        assert_eq!(refused.status, 2);
        assert!(refused.err.contains(&format!("kill {}", candor.pid())), "{refused:?}");
        // Neither --prune nor down touches what a living process has.
        place.json(&["apply", &other, "--prune"]);
        let status = place.json(&["status"]);
        let owners = status["owners"].as_array().unwrap();
        assert_eq!((&owners[0]["kind"], &owners[1]["pid"]), (&"applied".into(), &candor.pid().into()));
        assert_eq!((&owners[1]["engine"], &owners[1]["jobs"][0]["route"]), (&engine.into(), &"r100:C00007F0".into()));
        assert_eq!(owners[1]["jobs"][0]["in_kernel"], engine == "kernel");
        place.json(&["down"]);
        assert_eq!(place.jobs().len(), usize::from(engine == "kernel"));
        assert!(candor.end(Signal::Terminate).status.success());

        place.json(&["apply", &file]);
        let refused = run(engine).fails();
        assert_eq!(refused.status.code(), Some(2));
        assert!(refused.errors.contains(&format!("candor down {file}")), "{refused:?}");
        assert_eq!(ids(&place.jobs()), [0x100]);
        place.json(&["down"]);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn what_dead_candors_left_is_taken_over_or_removed() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let text = masked(&[0x100, 0x200]);
    let leave = || {
        let run = Run { gateway: &text, engine: "kernel", run_dir: run_dir(&place), uid: None };
        let candor = run.start();
        assert_eq!(notices(&candor.before_ready), Vec::<&str>::new());
        candor.kill();
    };
    leave();
    place.send(0x201);
    assert!(place.candor(&["status"]).out.contains("DEAD, its jobs are still installed"));
    let file = place.file("a.toml", &masked(&[0x300, 0x200]));
    let applied = place.json(&["apply", &file]);
    assert_eq!(applied["leftovers_jobs"], 2);
    assert_eq!((ids(&place.jobs()), handled(&place.jobs())), (vec![0x300, 0x200], vec![0, 1]));
    place.json(&["down"]);

    leave();
    let down = place.candor(&["down"]);
    assert!(down.out.contains("which died") && place.jobs().is_empty() && place.lists() == 0, "{down:?}");
}
