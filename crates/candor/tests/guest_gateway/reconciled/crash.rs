//! An apply that is killed at any moment.

use std::process::Stdio;
use std::time::Duration;

use super::*;

const JOBS: u32 = 300;
const ROUNDS: u32 = 12;

/// The jobs with these 300 numbers.
fn many(first: u32) -> String {
    masked_exactly(&(first..first + JOBS).collect::<Vec<_>>())
}

/// Kills a command as soon as so many jobs have gone or come. Says whether it was in the middle.
fn kill_after(place: &Place, arguments: &[&str], changes: usize) -> bool {
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
fn what_a_killed_apply_left_is_completed_or_taken_out() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let foreign = place.foreign(0x300, 0x7FF);
    add(&foreign);
    let file = place.file("a.toml", &many(0));
    let mut in_the_middle = 0;
    for round in 0..ROUNDS {
        // All jobs of before go, and others come.
        let first = if round % 2 == 0 { 0 } else { 0x200 };
        place.file("a.toml", &many(first));
        let changes = if place.jobs().len() > 1 { 2 * JOBS } else { JOBS };
        in_the_middle +=
            usize::from(kill_after(&place, &["apply", &file], (changes * (round + 1) / (ROUNDS + 1)) as usize));
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
    cangw::delete(&mut Client::open().unwrap(), &foreign).unwrap();
}

/// Until somebody completes it, it is told what is the matter, and nobody else gets in between.
#[test]
#[ignore = "runs in a guest"]
fn an_unfinished_apply_is_told() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let (file, other) = (place.file("a.toml", &many(0)), place.file("b.toml", &masked_exactly(&[5])));
    for _attempt in 0..10 {
        if kill_after(&place, &["apply", &file], 100) {
            assert!(place.candor(&["status"]).out.contains("NOT FINISHED"));
            let twin = place.candor(&["apply", &other]);
            assert!(twin.status == 2 && twin.err.contains(&format!("candor down {file}")), "{twin:?}");
            place.json(&["down"]);
            assert_eq!((place.jobs(), place.lists()), (Vec::new(), 0));
            return;
        }
        place.json(&["down"]);
    }
    panic!("no apply was killed in the middle");
}

/// A job that somebody else had already is not taken for one that the killed apply had added.
#[test]
#[ignore = "runs in a guest"]
fn foreign_twins_survive_a_killed_apply() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file("a.toml", &masked_exactly(&[0x7F0]));
    place.json(&["apply", &file]);
    // It doubles ours, so of the two one is ours.
    let twin = place.foreign(0x7F0, 0x8000_07FF);
    add(&twin);
    let text = masked_exactly(&(0..JOBS).chain([0x7F0]).collect::<Vec<_>>());
    place.file("a.toml", &text);
    kill_after(&place, &["apply", &file], 100);
    place.json(&["down"]);
    assert_eq!((place.jobs(), place.lists()), (vec![twin], 0));
    cangw::delete(&mut Client::open().unwrap(), &twin).unwrap();
}

/// Nor is it taken for one that a killed down had not come to.
#[test]
#[ignore = "runs in a guest"]
fn foreign_twins_survive_a_killed_down() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file("a.toml", &masked_exactly(&(0..JOBS).chain([0x7F0]).collect::<Vec<_>>()));
    for _attempt in 0..10 {
        place.json(&["apply", &file]);
        // Of the two the kernel deletes the newer one, and down begins with them.
        let twin = place.foreign(0x7F0, 0x8000_07FF);
        add(&twin);
        let in_the_middle = kill_after(&place, &["down"], 50);
        place.json(&["down"]);
        assert_eq!((place.jobs(), place.lists()), (vec![twin], 0));
        cangw::delete(&mut Client::open().unwrap(), &twin).unwrap();
        if in_the_middle {
            return;
        }
    }
    panic!("no down was killed in the middle");
}
