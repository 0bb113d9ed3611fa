//! Other network namespaces.

use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use candor_io::own_netns;

use super::*;

/// A network namespace, until this value is dropped.
pub(crate) struct Elsewhere {
    path: String,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Elsewhere {
    /// Its interfaces have the same names in another order, so their indices differ.
    pub(crate) fn new() -> Self {
        let (tell, hear) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let hold = move || {
            let mut client = Client::open().unwrap();
            for name in ["t-third", "t-right", "t-left"] {
                link::create_vcan(&mut client, name).unwrap();
            }
            let here = fs::read_link("/proc/thread-self").unwrap();
            tell.send(format!("/proc/{}/ns/net", here.display())).unwrap();
            let _ended = ended.recv();
        };
        let thread = thread::spawn(move || own_netns::run(hold).unwrap());
        Self { path: hear.recv().unwrap(), end: Some(end), thread: Some(thread) }
    }

    pub(crate) fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
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
fn each_namespace_has_its_own_jobs() {
    let Some(place) = scene() else { return };
    let elsewhere = Elsewhere::new();
    let file = place.file("a.toml", &masked(&[0x100, 0x200]));
    let owners = |arguments: &[&str]| place.json(arguments)["owners"].as_array().unwrap().len();

    assert_eq!(place.json(&elsewhere.arguments(&["apply", &file]))["requests"], 2);
    assert_eq!((place.jobs().len(), owners(&["status"]), owners(&elsewhere.arguments(&["status"]))), (0, 0, 1));
    // In this namespace the file is not applied.
    assert_eq!(place.json(&["plan", &file])["requests"], 2);
    assert_eq!(place.json(&elsewhere.arguments(&["plan", &file]))["requests"], 0);
    place.json(&["apply", &file]);
    assert_eq!((place.lists(), owners(&["status"]), owners(&elsewhere.arguments(&["status"]))), (2, 1, 1));
    place.candor(&elsewhere.arguments(&["run", &file])).assert(2, &["candor down"]);

    place.json(&["down"]);
    let status = place.json(&elsewhere.arguments(&["status"]));
    let jobs = status["owners"][0]["jobs"].as_array().unwrap();
    assert!(place.jobs().is_empty() && jobs.len() == 2 && jobs.iter().all(|job| job["present"] == true), "{status}");
    place.json(&elsewhere.arguments(&["down"]));
    assert_eq!((place.lists(), owners(&elsewhere.arguments(&["status"]))), (0, 0));
}

/// A later namespace, even with the same inode number, has none of them.
#[test]
#[ignore = "runs in a guest"]
fn jobs_end_with_their_namespace() {
    let Some(place) = scene() else { return };
    let file = place.file("a.toml", &masked(&[0x100]));
    for _time in 0..3 {
        let elsewhere = Elsewhere::new();
        assert_eq!(place.json(&elsewhere.arguments(&["status"]))["owners"], Value::Array(Vec::new()));
        assert_eq!(place.json(&elsewhere.arguments(&["apply", &file]))["requests"], 1);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn reports_a_namespace_that_it_cannot_enter() {
    let Some(place) = scene() else { return };
    for (netns, expected) in [
        ("nosuch", "no network namespace nosuch"),
        ("4194305", "no process 4194305"),
        ("/dev/null", "/dev/null is not a network namespace"),
    ] {
        place.candor(&["status", "--netns", netns]).assert(2, &[expected]);
    }
    place.candor_as_nobody(&["status", "--netns", "1"]).assert(2, &["CAP_SYS_ADMIN"]);
}
