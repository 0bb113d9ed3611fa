//! `candor egress`, `candor run` with `[egress]`, and `candor-lab can-send`: the queues of the kernel afterwards, and the output.

use candor_egress::kernel::{Here, Machine as _};
use candor_egress::netlink;
use candor_egress::text;

use super::*;

const LEFT: &str = "t-left";
const RIGHT: &str = "t-right";
const BANDS: &str = include_str!("commands.toml");

impl Scenario {
    #[track_caller]
    pub(super) fn egress(&self, arguments: &[&str], status: i32, words: &[&str]) -> Output {
        self.says(&[&["egress"], arguments].concat(), status, words)
    }

    #[track_caller]
    pub(super) fn says(&self, arguments: &[&str], status: i32, words: &[&str]) -> Output {
        let output = self.candor(arguments);
        output.assert(status, words);
        output
    }

    pub(super) fn events(&self, arguments: &[&str]) -> Candor {
        Candor::spawn(&mut self.command(arguments), "")
    }
}

pub(super) fn found(interface: &str) -> Tree {
    Here::default().open(interface).unwrap().unwrap().1.found().unwrap()
}

#[track_caller]
fn assert_tree(interface: &str, expected: &Tree) {
    assert_eq!(differences(expected, &found(interface)), []);
}

/// As another program does.
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
fn plan_apply_verify_show_and_clear() {
    let Some(scenario) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let file = scenario.file("candor.toml", BANDS);
    scenario.egress(
        &["plan", &file],
        0,
        &["t-left (bus a)", "+ qdisc root handle 1: stab mtu 2047", "to add on 2 of 2"],
    );
    scenario.egress(&["plan", "--exit-code", &file], 1, &[]);
    scenario.egress(&["verify", &file], 1, &["2 of 2 interfaces differ from the file"]);
    scenario.egress(&["apply", &file], 0, &["t-left: created", "t-right: created"]);
    scenario.egress(&["apply", &file], 0, &["t-left: unchanged", "t-right: unchanged"]);
    scenario.egress(&["plan", "--exit-code", &file], 0, &["no difference on 2 interfaces"]);
    scenario.egress(&["verify", &file], 0, &["the kernel matches the file on 2 interfaces"]);

    // Two urgent frames, three others.
    let sends = scenario.sender("left");
    for id in [0x080, 0x400, 0x0FF, 0x100, 0x7FF] {
        send(&sends, &classic(id, &[1]));
    }
    let shown = scenario.egress(&["show", &file, "--json"], 0, &[]);
    let shown = shown.json();
    let root = &shown["interfaces"][0]["tree"][0];
    assert_eq!(root["counted"]["frames"], 5);
    let below = root["below"].as_array().unwrap();
    let filter = below.iter().find(|one| one["what"] == "filter").unwrap();
    assert_eq!((&filter["counted"]["frames"], &filter["counted"]["asked_frames"]), (&2.into(), &5.into()));
    let bands: Vec<_> = below.iter().filter(|one| one["what"] == "class").collect();
    let frames = |at: usize| (&bands[at]["band"], &bands[at]["below"][0]["counted"]["frames"]);
    assert_eq!(frames(0), (&"urgent".into(), &2.into()));
    assert_eq!(frames(1), (&"rest".into(), &3.into()));
    scenario.egress(&["show", &file], 0, &["1:1 \"urgent\"", "2         -         -  of 5 tested"]);
    scenario.egress(&["show", "--interface", LEFT, "--as", "tc"], 0, &["tc qdisc add dev \"$DEV\" root"]);

    let imported =
        scenario.says(&["import", "tc", "--running", "--interface", LEFT], 0, &["[egress.t-left]", "stab mtu"]);
    let again = scenario.file("again.toml", &imported.out);
    scenario.egress(&["plan", "--exit-code", &again], 0, &["no difference on 1 interface"]);

    // A tree of another program is not deleted.
    replace_root(RIGHT, "qdisc root handle 9: pfifo limit 3");
    scenario.egress(&["plan", &file], 0, &["t-right", "is qdisc root handle 9: pfifo limit 3"]);
    scenario.egress(&["clear", &file], 1, &["t-left: cleared", "t-right: differs from the file"]);
    assert!(is_default(LEFT) && !is_default(RIGHT));
    scenario.egress(&["clear", "--interface", RIGHT], 0, &["t-right: cleared"]);
    assert!(is_default(RIGHT));
}

#[test]
#[ignore = "runs in a guest"]
fn a_refused_tree_changes_nothing() {
    let Some(scenario) = Scenario::new(VCAN, ["left", "right"]) else { return };
    replace_root(LEFT, "qdisc root handle 9: pfifo limit 3");
    let before = found(LEFT);
    // Virtual interfaces have no hardware transmit time.
    let refused = BANDS.replace(
        "qdisc root handle 7: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nfilter parent 7: prio 1 basic match \
         'canid(sff 0x100:0x700)' flowid 7:1",
        "qdisc root handle 7: etf clockid CLOCK_TAI delta 1000 offload",
    );
    assert_ne!(refused, BANDS);
    let file = scenario.file("candor.toml", &refused);
    scenario.egress(&["apply", &file], 2, &["the kernel rejected qdisc etf 7: parent root on t-right"]);
    assert_tree(LEFT, &before);
    assert!(is_default(RIGHT));
    scenario.says(&["run", &file, "--engine", "read-write"], 2, &["the kernel rejected qdisc etf"]);
    assert_tree(LEFT, &before);
    let file = scenario.file("candor.toml", &BANDS.replace("t-right", "t-none"));
    scenario.egress(&["apply", &file], 2, &["interface t-none (bus b) not found"]);
    assert_tree(LEFT, &before);
}

#[test]
#[ignore = "runs in a guest"]
fn watch_reports_and_mends_changes() {
    let Some(mut scenario) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let file = scenario.file("candor.toml", BANDS);
    scenario.egress(&["apply", &file], 0, &[]);
    let watch = scenario.events(&["egress", "watch", &file, "--json"]);
    let mends = scenario.events(&["egress", "watch", &file, "--json", "--mend"]);
    replace_root(LEFT, "qdisc root handle 9: pfifo limit 3");
    assert_eq!(mends.event(&["put-back"])["interface"], LEFT);
    // The first watcher may have started too late for that.
    scenario.unplug("left");
    while watch.event(&["gone"])["interface"] != LEFT {}
    assert_eq!(mends.event(&["gone"])["interface"], LEFT);
    scenario.plug_in("left");
    assert_eq!(mends.event(&["put-back"])["is_new"], true);
    while watch.event(&["as-wanted"])["interface"] != LEFT {}
    assert_tree(LEFT, &wanted(&scenario, &file));
    for watch in [watch, mends] {
        assert!(watch.end(Signal::Interrupt).status.success());
    }
}

/// The tree of the file for the left interface, read from the script that candor shows.
fn wanted(scenario: &Scenario, file: &str) -> Tree {
    let shown = scenario.egress(&["show", file, "--wanted", "--interface", LEFT, "--as", "tc"], 0, &[]);
    text::parse_script(&shown.out).unwrap().trees.remove(0).1
}

#[test]
#[ignore = "runs in a guest"]
fn run_keeps_its_queues_and_restores_the_old_ones() {
    let Some(scenario) = Scenario::new(VCAN, ["left", "right"]) else { return };
    replace_root(LEFT, "qdisc root handle 9: pfifo limit 3");
    let before = found(LEFT);
    let gateway = BANDS.to_owned() + &route("back", "b", "a", "");
    let file = scenario.file("candor.toml", &gateway);
    let run = scenario.events(&["run", &file, "--engine", "read-write", "--json", "--seccomp"]);
    run.event(&["ready"]);
    let wanted = wanted(&scenario, &file);
    assert_tree(LEFT, &wanted);

    replace_root(LEFT, "qdisc root handle 8: pfifo limit 8");
    run.notice_with("t-left: changed by another program; restored");
    assert_tree(LEFT, &wanted);

    // A file without queues for that bus: its old tree is restored, and the other bus keeps its own.
    let without = gateway.replace("[egress.a]", "[egress.b]");
    let from = without.find("[egress.b]").unwrap();
    let to = without.rfind("[egress.b]").unwrap();
    let without = format!("{}{}", &without[..from], &without[to..]);
    scenario.file("candor.toml", &without);
    scenario.says(&["reload"], 0, &["reloaded"]);
    assert_tree(LEFT, &before);
    assert!(!is_default(RIGHT));
    scenario.file("candor.toml", &gateway);
    scenario.says(&["reload"], 0, &["reloaded"]);
    assert_tree(LEFT, &wanted);

    assert!(run.end(Signal::Interrupt).status.success());
    assert_tree(LEFT, &before);
    assert!(is_default(RIGHT));
}

#[test]
#[ignore = "runs in a guest"]
fn a_replaced_interface_gets_its_queues() {
    let Some(mut scenario) = Scenario::new(VCAN, ["left", "right"]) else { return };
    // A file without routes.
    let file = scenario.file("candor.toml", BANDS);
    let run = scenario.events(&["run", &file, "--json", "--seccomp"]);
    run.event(&["ready"]);
    let wanted = wanted(&scenario, &file);
    scenario.unplug("left");
    run.notice_with("t-left: gone");
    scenario.plug_in("left");
    run.notice_with("t-left: is back; its tree is restored");
    assert_tree(LEFT, &wanted);
    assert!(run.end(Signal::Interrupt).status.success());
    assert!(is_default(LEFT) && is_default(RIGHT));
}

fn two_bands(interface: &str) -> String {
    format!(
        "[bus.near]\ninterface = \"{interface}\"\n[[egress.near.band]]\nname = \"urgent\"\nmatch = \"123\"\n\
         [[egress.near.band]]\nname = \"rest\"\n"
    )
}

fn can_send(text: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bands.toml");
    fs::write(&file, text).unwrap();
    let words = "can-send --interface t-near --frames 3 --frame 123#00 --frame 124#R --json".split(' ');
    lab_output(&words.chain([file.to_str().unwrap()]).collect::<Vec<_>>())
}

#[test]
#[ignore = "runs in a guest"]
fn can_send_measures_queues_and_restores_the_interface() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let before = of(vec![prio()], vec![], vec![filter(Handle::new(1, 0), Classifier::Matchall)]);
    fixture.make(&before).unwrap();
    let run = can_send(&two_bands(NEAR));
    assert_eq!(run.status, 0, "{run:?}");
    let measured = run.json()["measured"].as_array().unwrap().clone();
    let names: Vec<_> = measured.iter().map(|one| one["before"].clone()).collect();
    assert_eq!(names, ["as it is", "bands"]);
    for one in &measured {
        let calls = one["calls"].as_array().unwrap();
        assert_eq!(calls.iter().map(|call| call["frame"].clone()).collect::<Vec<_>>(), ["123#00", "124#R"]);
        let is_ordered = |call: &Value| {
            let [min, p50, max] = ["min_ns", "p50_ns", "max_ns"].map(|key| call[key].as_i64().unwrap());
            min <= p50 && p50 <= max
        };
        assert!(calls.iter().all(is_ordered), "{calls:?}");
    }
    assert_eq!(differences(&before, &fixture.observe().tree), []);
    // A file without this interface is refused.
    assert_eq!(can_send(&two_bands(FAR)).status, 2);
    assert_eq!(differences(&before, &fixture.observe().tree), []);
    fixture.clear();
}
