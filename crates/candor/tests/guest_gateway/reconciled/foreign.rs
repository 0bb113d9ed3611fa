//! Jobs of other owners: running candors, dead ones, and other programs.

use candor_netlink::cangw::ExactJob;

use super::*;

#[test]
#[ignore = "runs in a guest"]
fn reports_foreign_jobs_and_leaves_them_alone() {
    let Some(place) = scene() else { return };
    let foreign = place.foreign(0x555, 0x7FF);
    add(&foreign);
    let file = place.file("a.toml", &masked(&[0x100]));
    place.candor(&["apply", &file]).assert(0, &["  ?   t-left -> t-right, classic 555:7FF"]);
    assert_eq!(ids(&place.jobs()), [0x100, 0x555]);
    place.json(&["down"]);
    assert_eq!(place.jobs(), [foreign]);
    delete(&foreign);
}

#[test]
#[ignore = "runs in a guest"]
fn adopts_equal_foreign_jobs_instead_of_doubling_them() {
    let Some(place) = scene() else { return };
    [0x200, 0x100, 0x300].into_iter().for_each(|id| add(&place.foreign(id, 0xC000_07F0)));
    place.send(0x101);
    let file = place.file("a.toml", &masked(&[0x100, 0x200]));
    let before = place.jobs();
    let words = ["routes \"r100:C00007F0\", \"r200:C00007F0\"", "--adopt"];
    place.candor(&["apply", &file]).assert(2, &words);
    assert_eq!((place.jobs(), place.lists()), (before, 0));
    place.candor(&["plan", &file]).assert(0, &["would refuse this", "--adopt"]);

    let plan = place.json(&["plan", &file, "--adopt"]);
    let adopted = [("adopt", "r100:C00007F0"), ("adopt", "r200:C00007F0"), ("foreign", "-")];
    assert_eq!((changes(&plan), &plan["equal"]), (adopted.to_vec(), &false.into()));
    assert_eq!(changes(&place.json(&["apply", &file, "--adopt"])), adopted);
    assert_eq!((ids(&place.jobs()), handled(&place.jobs())), (vec![0x300, 0x100, 0x200], vec![0, 1, 0]));

    // They belong to candor now, and another equal job is reported.
    add(&place.foreign(0x100, 0xC000_07F0));
    place.candor(&["apply", &file]).assert(0, &["  !   route \"r100:C00007F0\""]);
    place.candor(&["apply", &file, "--prune"]).assert(0, &["2 jobs of other programs WERE REMOVED"]);
    assert_eq!(ids(&place.jobs()), [0x100, 0x200]);
    place.json(&["down"]);
    assert_eq!(place.jobs(), []);
}

/// Jobs of another candor version look like those of other programs.
#[test]
#[ignore = "runs in a guest"]
fn prunes_and_adopts_nothing_with_a_list_of_another_version() {
    let Some(place) = scene() else { return };
    let (theirs, ours) = (place.file("a.toml", &masked(&[0x100])), place.file("b.toml", &masked(&[0x200])));
    place.json(&["apply", &theirs]);
    let list = fs::read_dir(place.run_dir.path()).unwrap().map(|file| file.unwrap().path());
    let list = list.into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let text = fs::read_to_string(&list).unwrap();
    let later = text.replacen("\"version\":4", "\"version\":5", 1);
    assert_ne!(later, text);
    fs::write(&list, later).unwrap();
    for option in ["--prune", "--adopt"] {
        place.candor(&["apply", &ours, option]).assert(2, &["another version"]);
        place.candor(&["plan", &ours, option]).assert(0, &["would refuse this"]);
    }
    assert_eq!(ids(&place.jobs()), [0x100]);
    // Without these options it applies.
    place.candor(&["apply", &ours]).assert(0, &["Cannot read"]);
    place.json(&["down", &ours]);
    assert_eq!(ids(&place.jobs()), [0x100]);
    fs::write(&list, text).unwrap();
    place.json(&["down"]);
    place.assert_clean();
}

/// `cangw -m SET:I:456.8.1122334455667788` leaves bytes in the kernel that have no meaning but are compared.
#[test]
#[ignore = "runs in a guest"]
fn prunes_jobs_with_stray_bytes() {
    let Some(place) = scene() else { return };
    let mut job = place.foreign(0x123, 0x7FF);
    job.modifications.set.id = Some(0x456);
    let mut bytes = job.to_bytes();
    let set = bytes.windows(4).position(|four| four == 0x456_u32.to_ne_bytes()).unwrap();
    bytes[set + 4] = 8;
    bytes[set + 8..set + 16].copy_from_slice(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
    let odd = ExactJob::from_bytes(&bytes).unwrap();
    assert!(!odd.is_plain());
    cangw::add_exact(&mut Client::open().unwrap(), &odd).unwrap();
    assert!(cangw::delete(&mut Client::open().unwrap(), &job).is_err(), "the decoded job is not enough to delete it");
    let file = place.file("a.toml", &masked(&[0x100]));
    place.json(&["apply", &file, "--prune"]);
    assert_eq!(ids(&place.jobs()), [0x100]);
    place.json(&["down"]);
}

#[test]
#[ignore = "runs in a guest"]
fn run_and_apply_refuse_routes_of_each_other() {
    let Some(place) = scene() else { return };
    let text = masked(&[0x100]);
    let (file, other) = (place.file("a.toml", &text), place.file("b.toml", &masked(&[0x200])));
    for engine in ["kernel", "read-write"] {
        let candor = place.start(&text, engine);
        place.candor(&["apply", &file]).assert(2, &[&format!("kill {}", candor.pid())]);
        // Neither --prune nor down removes jobs of a running process.
        place.json(&["apply", &other, "--prune"]);
        let status = place.json(&["status"]);
        let owners = status["owners"].as_array().unwrap();
        assert_eq!((&owners[0]["kind"], &owners[1]["pid"]), (&"applied".into(), &candor.pid().into()));
        assert_eq!((&owners[1]["engine"], &owners[1]["jobs"][0]["route"]), (&engine.into(), &"r100:C00007F0".into()));
        assert_eq!(owners[1]["jobs"][0]["in_kernel"], engine == "kernel");
        place.json(&["down"]);
        assert_eq!(place.jobs().len(), usize::from(engine == "kernel"));
        candor.stop();

        place.json(&["apply", &file]);
        place.run(&text, engine).fails().assert_refused(&[&format!("candor down {file}")]);
        assert_eq!(ids(&place.jobs()), [0x100]);
        place.json(&["down"]);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn adopts_or_removes_jobs_of_dead_candors() {
    let Some(place) = scene() else { return };
    let text = masked(&[0x100, 0x200]);
    let leave = || {
        let candor = place.start(&text, "kernel");
        let notices = notices(&candor.before_ready);
        assert!(matches!(notices[..], [echo] if echo.contains("add echo = true")), "{notices:?}");
        candor.kill();
    };
    leave();
    place.send(0x201);
    place.candor(&["status"]).assert(0, &["DEAD, its jobs are still installed"]);
    let file = place.file("a.toml", &masked(&[0x300, 0x200]));
    let applied = place.json(&["apply", &file]);
    assert_eq!(applied["leftovers_jobs"], 2);
    assert_eq!((ids(&place.jobs()), handled(&place.jobs())), (vec![0x300, 0x200], vec![0, 1]));
    place.json(&["down"]);

    leave();
    place.candor(&["down"]).assert(0, &["which died"]);
    place.assert_clean();
}
