//! Other network namespaces.

use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use candor_io::own_netns;
use candor_netlink::link;

use super::*;

/// A network namespace that lives until this value is gone.
struct Elsewhere {
    path: String,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Elsewhere {
    /// With interfaces of the names that are used here, made in another order, so that their numbers differ.
    fn new() -> Self {
        let (tell, hear) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let hold = move || {
            let mut client = Client::open().unwrap();
            for name in ["t-third", "t-right", "t-left"] {
                link::create_vcan(&mut client, name).unwrap();
            }
            let here = std::fs::read_link("/proc/thread-self").unwrap();
            tell.send(format!("/proc/{}/ns/net", here.display())).unwrap();
            let _ended = ended.recv();
        };
        let thread = thread::spawn(move || own_netns::run(hold).unwrap());
        Self { path: hear.recv().unwrap(), end: Some(end), thread: Some(thread) }
    }

    /// The arguments of a command that is to work there.
    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, &["--netns", self.path.as_str()]].concat()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().unwrap().join();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn another_namespace_has_jobs_of_its_own() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let elsewhere = Elsewhere::new();
    let file = place.file("a.toml", &masked(&[0x100, 0x200]));
    let owners = |arguments: &[&str]| place.json(arguments)["owners"].as_array().unwrap().len();

    assert_eq!(place.json(&elsewhere.arguments(&["apply", &file]))["requests"], 2);
    assert_eq!((place.jobs().len(), owners(&["status"]), owners(&elsewhere.arguments(&["status"]))), (0, 0, 1));
    // Here the same file is another matter.
    assert_eq!(place.json(&["plan", &file])["requests"], 2);
    assert_eq!(place.json(&elsewhere.arguments(&["plan", &file]))["requests"], 0);
    place.json(&["apply", &file]);
    assert_eq!((place.lists(), owners(&["status"]), owners(&elsewhere.arguments(&["status"]))), (2, 1, 1));
    let run = place.candor(&elsewhere.arguments(&["run", &file]));
    assert!(run.status == 2 && run.err.contains("candor down"), "{run:?}");

    place.json(&["down"]);
    let status = place.json(&elsewhere.arguments(&["status"]));
    let jobs = status["owners"][0]["jobs"].as_array().unwrap();
    assert!(place.jobs().is_empty() && jobs.len() == 2 && jobs.iter().all(|job| job["present"] == true), "{status}");
    place.json(&elsewhere.arguments(&["down"]));
    assert_eq!((place.lists(), owners(&elsewhere.arguments(&["status"]))), (0, 0));
}

/// What was applied in a namespace that has ended means nothing to a later one, whatever number that one has.
#[test]
#[ignore = "runs in a guest"]
fn an_ended_namespace_takes_its_jobs_along() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file("a.toml", &masked(&[0x100]));
    for _time in 0..3 {
        let elsewhere = Elsewhere::new();
        assert_eq!(place.json(&elsewhere.arguments(&["status"]))["owners"], Value::Array(Vec::new()));
        assert_eq!(place.json(&elsewhere.arguments(&["apply", &file]))["requests"], 1);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn namespaces_that_cannot_be_entered_are_told() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    for (netns, said) in [
        ("nosuch", "no network namespace nosuch"),
        ("4194305", "no process 4194305"),
        ("/dev/null", "/dev/null is not a network namespace"),
    ] {
        let refused = place.candor(&["status", "--netns", netns]);
        assert!(refused.status == 2 && refused.err.contains(said), "{refused:?}");
    }
    let mut command = place.command(&["status", "--netns", "1"]);
    command.uid(65534).gid(65534);
    let nobody = said(command);
    assert!(nobody.status == 2 && nobody.err.contains("CAP_SYS_ADMIN"), "{nobody:?}");
}
