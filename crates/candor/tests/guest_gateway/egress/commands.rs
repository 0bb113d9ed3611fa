//! `candor egress` and `candor run` with `[egress]`: what the kernel has afterwards, and what is said.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use candor_egress::canonical::differences;
use candor_egress::kernel::{Here, Kernel as _, Machine as _};
use candor_egress::netlink;
use candor_egress::text;
use candor_egress::tree::Tree;
use candor_io::signal::{self, Signal};
use candor_netlink::client::Client;
use candor_netlink::link;
use serde_json::Value;

use super::NEEDS;
use crate::candor::{Said, program, said};
use crate::frames::{classic, listener_on, send};
use crate::require::{Bus, require};

const LEFT: &str = "t-left";
const RIGHT: &str = "t-right";

const BANDS: &str = r#"
[bus.a]
interface = "t-left"
[bus.b]
interface = "t-right"
[egress.a]
queue = 20
[[egress.a.band]]
name = "urgent"
match = "080..0FF"
[[egress.a.band]]
name = "rest"
fair = "per-socket"
[egress.b]
tree = '''
qdisc root handle 7: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
filter parent 7: prio 1 basic match 'canid(sff 0x100:0x700)' flowid 7:1
'''
"#;

pub(super) struct Place {
    pub(super) left: Bus,
    pub(super) right: Bus,
    folder: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self { left: Bus::new("left"), right: Bus::new("right"), folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn file(&self, text: &str) -> String {
        let path = self.folder.path().join("candor.toml");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env("CANDOR_RUN_DIR", self.folder.path()).env_remove("XDG_RUNTIME_DIR");
        command
    }

    #[track_caller]
    pub(super) fn says(&self, arguments: &[&str], status: i32, words: &[&str]) -> Said {
        let said = said(self.command(arguments));
        assert_eq!(said.status, status, "{said:?}");
        for word in words {
            assert!(said.out.contains(word) || said.err.contains(word), "no {word:?} in {said:?}");
        }
        said
    }

    /// A command that looks on, and what it says.
    pub(super) fn looks_on(&self, arguments: &[&str]) -> Looking {
        let mut child = self.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Looking { child, lines: lines.lines() }
    }
}

pub(super) struct Looking {
    pub(super) child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Looking {
    /// The next event of this kind.
    pub(super) fn event(&mut self, kind: &str) -> Value {
        loop {
            let line = self.lines.next().expect("it goes on").unwrap();
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == kind {
                return event;
            }
        }
    }

    /// The next notice with these words.
    pub(super) fn notice(&mut self, words: &str) {
        while !self.event("notice")["text"].as_str().unwrap().contains(words) {}
    }

    pub(super) fn end(mut self) -> i32 {
        signal::send(self.child.id(), Signal::Interrupt).unwrap();
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn found(interface: &str) -> Tree {
    Here::default().open(interface).unwrap().unwrap().1.found().unwrap()
}

/// Somebody else at work.
fn replace_root(interface: &str, line: &str) {
    let tree = text::parse(line).unwrap().tree;
    let index = link::by_name(&mut Client::open().unwrap(), interface).unwrap().unwrap().index;
    netlink::replace_qdisc(&mut Client::open().unwrap(), index, &tree.qdiscs[0]).unwrap();
}

fn is_default(interface: &str) -> bool {
    found(interface) == Tree::default()
}

#[test]
#[ignore = "runs in a guest"]
fn from_plan_to_clear() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file(BANDS);
    place.says(
        &["egress", "plan", &file],
        0,
        &["t-left (bus a)", "+ qdisc root handle 1: stab mtu 2047", "to make on 2 of 2"],
    );
    place.says(&["egress", "plan", "--exit-code", &file], 1, &[]);
    place.says(&["egress", "verify", &file], 1, &["2 of 2 interfaces NOT as it wants"]);
    place.says(&["egress", "apply", &file], 0, &["t-left: made", "t-right: made"]);
    place.says(&["egress", "apply", &file], 0, &["t-left: was as it should be", "t-right: was as it should be"]);
    place.says(&["egress", "plan", "--exit-code", &file], 0, &["no difference on 2 interfaces"]);
    place.says(&["egress", "verify", &file], 0, &["the kernel has what it wants on 2 interfaces"]);

    // Two urgent frames, three others.
    let sends = listener_on(place.left.index);
    for id in [0x080, 0x400, 0x0FF, 0x100, 0x7FF] {
        send(&sends, &classic(id, &[1]));
    }
    let shown = place.says(&["egress", "show", &file, "--json"], 0, &[]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let root = &shown["interfaces"][0]["tree"][0];
    assert_eq!(root["counted"]["frames"], 5);
    let below = root["below"].as_array().unwrap();
    let filter = below.iter().find(|one| one["what"] == "filter").unwrap();
    assert_eq!((&filter["counted"]["frames"], &filter["counted"]["asked_frames"]), (&2.into(), &5.into()));
    let bands: Vec<_> = below.iter().filter(|one| one["what"] == "class").collect();
    let frames = |at: usize| (&bands[at]["band"], &bands[at]["below"][0]["counted"]["frames"]);
    assert_eq!(frames(0), (&"urgent".into(), &2.into()));
    assert_eq!(frames(1), (&"rest".into(), &3.into()));
    place.says(&["egress", "show", &file], 0, &["1:1 \"urgent\"", "2         -         -  of 5 asked"]);
    place.says(&["egress", "show", "--interface", LEFT, "--as", "tc"], 0, &["tc qdisc add dev \"$DEV\" root"]);

    let imported = place.says(&["import", "tc", "--running", "--interface", LEFT], 0, &["[egress.t-left]", "stab mtu"]);
    let again = place.folder.path().join("again.toml");
    std::fs::write(&again, imported.out).unwrap();
    place.says(&["egress", "plan", "--exit-code", again.to_str().unwrap()], 0, &["no difference on 1 interface"]);

    // Somebody else's tree is not taken away by mistake.
    replace_root(RIGHT, "qdisc root handle 9: pfifo limit 3");
    place.says(&["egress", "plan", &file], 0, &["t-right", "is qdisc root handle 9: pfifo limit 3"]);
    place.says(&["egress", "clear", &file], 1, &["t-left: cleared", "t-right: has something else"]);
    assert!(is_default(LEFT) && !is_default(RIGHT));
    place.says(&["egress", "clear", "--interface", RIGHT], 0, &["t-right: cleared"]);
    assert!(is_default(RIGHT));
}

#[test]
#[ignore = "runs in a guest"]
fn a_refusal_changes_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    replace_root(LEFT, "qdisc root handle 9: pfifo limit 3");
    let before = found(LEFT);
    // Virtual interfaces have no clock that sends.
    let refused = BANDS.replace(
        "qdisc root handle 7: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nfilter parent 7: prio 1 basic match \
         'canid(sff 0x100:0x700)' flowid 7:1",
        "qdisc root handle 7: etf clockid CLOCK_TAI delta 1000 offload",
    );
    assert_ne!(refused, BANDS);
    let file = place.file(&refused);
    place.says(&["egress", "apply", &file], 2, &["The kernel refuses qdisc etf 7: parent root on t-right"]);
    assert_eq!(differences(&before, &found(LEFT)), []);
    assert!(is_default(RIGHT));
    place.says(&["run", &file, "--engine", "read-write"], 2, &["The kernel refuses qdisc etf"]);
    assert_eq!(differences(&before, &found(LEFT)), []);
    let file = place.file(&BANDS.replace("t-right", "t-none"));
    place.says(&["egress", "apply", &file], 2, &["There is no interface t-none (bus b)"]);
    assert_eq!(differences(&before, &found(LEFT)), []);
}

#[test]
#[ignore = "runs in a guest"]
fn who_watches_is_told() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let file = place.file(BANDS);
    place.says(&["egress", "apply", &file], 0, &[]);
    let mut watch = place.looks_on(&["egress", "watch", &file, "--json"]);
    let mut mends = place.looks_on(&["egress", "watch", &file, "--json", "--mend"]);
    // Both have looked once they tell of an interface that is gone.
    replace_root(LEFT, "qdisc root handle 9: pfifo limit 3");
    assert_eq!(mends.event("put-back")["interface"], LEFT);
    // The other one may have come too late for that.
    link::delete(&mut Client::open().unwrap(), place.left.index).unwrap();
    while watch.event("gone")["interface"] != LEFT {}
    assert_eq!(mends.event("gone")["interface"], LEFT);
    let again = Bus::new("left");
    assert_eq!(mends.event("put-back")["is_new"], true);
    while watch.event("as-wanted")["interface"] != LEFT {}
    assert_eq!(differences(&text_of(&place, &file), &found(LEFT)), []);
    assert_eq!((watch.end(), mends.end()), (0, 0));
    drop(again);
}

/// What the file wants of the left interface, by way of the script that it is shown as.
fn text_of(place: &Place, file: &str) -> Tree {
    let shown = place.says(&["egress", "show", file, "--wanted", "--interface", LEFT, "--as", "tc"], 0, &[]);
    text::parse_script(&shown.out).unwrap().trees.remove(0).1
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_keeps_its_queues_and_gives_back_the_old_ones() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    replace_root(LEFT, "qdisc root handle 9: pfifo limit 3");
    let before = found(LEFT);
    let gateway = format!("{BANDS}[[route]]\nname = \"back\"\nfrom = \"b\"\nto = \"a\"\n");
    let file = place.file(&gateway);
    let mut run = place.looks_on(&["run", &file, "--engine", "read-write", "--json", "--seccomp"]);
    run.event("ready");
    let wanted = text_of(&place, &file);
    assert_eq!(differences(&wanted, &found(LEFT)), []);

    replace_root(LEFT, "qdisc root handle 8: pfifo limit 8");
    run.notice("t-left: somebody had changed it; put back");
    assert_eq!(differences(&wanted, &found(LEFT)), []);

    // Another file without bands for that bus: it gets back what it had, and the other goes on.
    let without = gateway.replace("[egress.a]", "[egress.b]");
    let from = without.find("[egress.b]").unwrap();
    let to = without.rfind("[egress.b]").unwrap();
    let without = format!("{}{}", &without[..from], &without[to..]);
    place.file(&without);
    place.says(&["reload"], 0, &["reloaded"]);
    assert_eq!(differences(&before, &found(LEFT)), []);
    assert!(!is_default(RIGHT));
    place.file(&gateway);
    place.says(&["reload"], 0, &["reloaded"]);
    assert_eq!(differences(&wanted, &found(LEFT)), []);

    assert_eq!(run.end(), 0);
    assert_eq!(differences(&before, &found(LEFT)), []);
    assert!(is_default(RIGHT));
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_that_comes_back_has_its_queues_again() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    // No route is needed.
    let file = place.file(BANDS);
    let mut run = place.looks_on(&["run", &file, "--json", "--seccomp"]);
    run.event("ready");
    let wanted = text_of(&place, &file);
    link::delete(&mut Client::open().unwrap(), place.left.index).unwrap();
    run.notice("t-left: gone");
    let again = Bus::new("left");
    run.notice("t-left: came back, and has its tree again");
    assert_eq!(differences(&wanted, &found(LEFT)), []);
    assert_eq!(run.end(), 0);
    assert!(is_default(LEFT) && is_default(RIGHT));
    drop(again);
}
