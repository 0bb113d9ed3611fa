//! `apply` and `down` that are killed.

use super::*;

const JOBS: u32 = 300;
const ROUNDS: u32 = 12;

fn many(first: u32) -> String {
    masked_exactly(&(first..first + JOBS).collect::<Vec<_>>())
}

/// Kills a command after this many changes of jobs. Returns whether it was unfinished.
fn kill_after(place: &Scenario, arguments: &[&str], changes: usize) -> bool {
    let before = ids(&place.jobs());
    let mut command = place.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_over = loop {
        let now = ids(&place.jobs());
        let changed =
            before.iter().filter(|id| !now.contains(id)).count() + now.iter().filter(|id| !before.contains(id)).count();
        match command.try_wait().unwrap() {
            Some(_) => break true,
            None if changed >= changes => break false,
            None => std::thread::sleep(Duration::from_micros(200)),
        }
    };
    command.kill().unwrap();
    command.wait().unwrap();
    !is_over && place.json(&["status"])["owners"][0]["unfinished"] == true
}

#[test]
#[ignore = "runs in a guest"]
fn a_killed_apply_is_completed_or_removed() {
    let Some(place) = scene() else { return };
    let foreign = place.foreign(0x300, 0x7FF);
    add(&foreign);
    let file = place.file("a.toml", &many(0));
    let mut in_the_middle = 0;
    for round in 0..ROUNDS {
        // Every round replaces all jobs.
        let first = if round % 2 == 0 { 0 } else { 0x200 };
        place.file("a.toml", &many(first));
        let changes = if place.jobs().len() > 1 { 2 * JOBS } else { JOBS };
        let changes = (changes * (round + 1) / (ROUNDS + 1)) as usize;
        in_the_middle += usize::from(kill_after(&place, &["apply", &file], changes));
        let left = ids(&place.jobs());
        if round % 3 == 0 {
            place.json(&["down"]);
            assert_eq!((place.jobs(), place.lists()), (vec![foreign], 0), "after {left:X?}");
        }
        let completed = place.candor(&["apply", &file]);
        assert_eq!(completed.status, 0, "{completed:?} after {left:X?}");
        let ours: Vec<_> = place.jobs().into_iter().filter(|job| *job != foreign).collect();
        assert_eq!(ids(&ours), (first..first + JOBS).collect::<Vec<_>>());
        assert_eq!(place.json(&["plan", &file])["equal"], true);
    }
    println!("killed {in_the_middle} of {ROUNDS} times in the middle");
    assert!(in_the_middle >= 4, "only {in_the_middle}");
    place.json(&["down"]);
    assert_eq!(place.jobs(), [foreign]);
    delete(&foreign);
}

/// `status` shows it, and other files with the same jobs are refused.
#[test]
#[ignore = "runs in a guest"]
fn reports_an_unfinished_apply() {
    let Some(place) = scene() else { return };
    let (file, other) = (place.file("a.toml", &many(0)), place.file("b.toml", &masked_exactly(&[5])));
    for _attempt in 0..10 {
        if kill_after(&place, &["apply", &file], 100) {
            place.candor(&["status"]).assert(0, &["NOT FINISHED"]);
            place.candor(&["apply", &other]).assert(2, &[&format!("candor down {file}")]);
            place.json(&["down"]);
            return place.assert_clean();
        }
        place.json(&["down"]);
    }
    panic!("no apply was killed in the middle");
}

/// An equal job of another program is not removed as if the killed apply had added it.
#[test]
#[ignore = "runs in a guest"]
fn foreign_twins_survive_a_killed_apply() {
    let Some(place) = scene() else { return };
    let file = place.file("a.toml", &masked_exactly(&[0x7F0]));
    place.json(&["apply", &file]);
    // Of the two equal jobs one is ours.
    let twin = place.foreign(0x7F0, 0x8000_07FF);
    add(&twin);
    place.file("a.toml", &masked_exactly(&(0..JOBS).chain([0x7F0]).collect::<Vec<_>>()));
    kill_after(&place, &["apply", &file], 100);
    place.json(&["down"]);
    assert_eq!((place.jobs(), place.lists()), (vec![twin], 0));
    delete(&twin);
}

/// Nor as if the killed down had not reached it.
#[test]
#[ignore = "runs in a guest"]
fn foreign_twins_survive_a_killed_down() {
    let Some(place) = scene() else { return };
    let file = place.file("a.toml", &masked_exactly(&(0..JOBS).chain([0x7F0]).collect::<Vec<_>>()));
    for _attempt in 0..10 {
        place.json(&["apply", &file]);
        // Of the two the kernel deletes the newer one, and `down` deletes them first.
        let twin = place.foreign(0x7F0, 0x8000_07FF);
        add(&twin);
        let in_the_middle = kill_after(&place, &["down"], 50);
        place.json(&["down"]);
        assert_eq!((place.jobs(), place.lists()), (vec![twin], 0));
        delete(&twin);
        if in_the_middle {
            return;
        }
    }
    panic!("no down was killed in the middle");
}
