//! Faults on command, as the kernel and programs see them.

use std::process::Output;

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG};
use candor_io::can::Options;
use candor_netlink::link::{CanLink, CanState, Link};

use super::*;

/// `CAN_ERR_*`, and the states in byte 1 of a message about the controller.
const CRTL: u32 = 0x004;
const BUSOFF: u32 = 0x040;
const RESTARTED: u32 = 0x100;
const TX_PASSIVE: u8 = 0x20;
const RESTART_MS: u32 = 300;

/// Asks a candor-lab wire as people do.
fn inject(wire: &Wire, words: &str) -> Output {
    let mut command = Command::new(lab());
    command.args(["wire", "inject", "--json"]).args(words.split(' ')).env("CANDOR_RUN_DIR", wire.folder.path());
    command.output().unwrap()
}

/// The answer to something that is done.
#[track_caller]
pub(super) fn done(wire: &Wire, words: &str) -> Value {
    let output = inject(wire, words);
    assert!(output.status.success(), "{words}: {output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["done"], true, "{answer}");
    answer
}

fn link(name: &str) -> Option<Link> {
    link::by_name(&mut Client::open().unwrap(), name).unwrap()
}

fn can(name: &str) -> CanLink {
    link(name).unwrap().can.unwrap()
}

#[track_caller]
pub(super) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A socket that hears of errors only.
fn errors_of(name: &str) -> CanSocket {
    let filters = [Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK }];
    CanSocket::open(index(name).unwrap(), &Options { filters: &filters, ..Options::default() }).unwrap()
}

/// The next message of this class.
fn error_of(socket: &CanSocket, class: u32, fits: impl Fn(&Frame) -> bool) -> Frame {
    loop {
        let message = receive(socket, 1)[0];
        assert_eq!(message.id.0 & CAN_ERR_FLAG, CAN_ERR_FLAG, "{message:?}");
        if message.id.0 & class != 0 && fits(&message) {
            return message;
        }
    }
}

/// Lines of the log of this kind, in words.
fn lines<'a>(ended: &'a Ended, kind: &str) -> Vec<Vec<&'a str>> {
    let words = |line: &'a str| line.split(' ').collect::<Vec<_>>();
    ended.log.lines().map(words).filter(|words| words[0] == kind).collect()
}

fn ns(text: &str) -> u64 {
    text.replace('.', "").parse().unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn a_bus_off_is_one_for_the_kernel_which_ends_it_after_restart_ms() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire = Wire::start(&["--bus", "b0:500k:t-near,t-far", "--model", "ucan"]);
    let (client, far) = (&mut Client::open().unwrap(), index("t-far").unwrap());
    link::set_down(client, far).unwrap();
    link::set_can_restart(client, far, std::num::NonZeroU32::new(RESTART_MS)).unwrap();
    link::set_up(client, far).unwrap();
    let carrier = || fs::read_to_string("/sys/class/net/t-far/carrier").unwrap_or_default().trim() == "1";
    wait_until("a carrier", carrier);

    let messages = errors_of("t-far");
    let answer = done(&wire, "bus-off t-far");
    assert_eq!((&answer["bus"], &answer["what"]), (&"b0".into(), &"bus-off node=t-far".into()));
    error_of(&messages, BUSOFF, |_| true);
    assert_eq!(can("t-far").state, Some(CanState::BusOff));
    assert!(!carrier());
    error_of(&messages, RESTARTED, |_| true);
    wait_until("the way back", || carrier() && can("t-far").state == Some(CanState::ErrorActive));
    let (near, far) = (open("t-near"), open("t-far"));
    send(&near, &[classic(0x123, &[1])]);
    receive(&far, 1);

    let ended = wire.end();
    let at = answer["at_ns"].as_u64().unwrap();
    let fault = &lines(&ended, "fault")[0];
    assert_eq!((ns(fault[2]), &fault[3..]), (at, &["bus-off", "node=t-far"][..]));
    // The other node has nobody to acknowledge it meanwhile.
    let of_far = |words: Vec<&str>| (words[3] == "t-far").then(|| (ns(words[2]), words[4..].join(" ")));
    let states: Vec<(u64, String)> = lines(&ended, "state").into_iter().filter_map(of_far).collect();
    assert_eq!(states[0], (at, "bus-off 256 0".to_owned()));
    // The driver waits, and then 128 times 11 bits go by.
    assert_eq!(states[1].1, "error-active 0 0");
    assert!(states[1].0 - at >= u64::from(RESTART_MS) * 1_000_000 + 128 * 11 * BIT_NS, "{states:?}");
}

#[test]
#[ignore = "runs in a guest"]
fn lost_acknowledgements_are_told_as_error_passive() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire = Wire::start(&["--bus", "b0:500k:t-near,t-far", "--fault", "lost-ack b0 --node t-near --times 40"]);
    let (near, far, messages) = (open("t-near"), open("t-far"), errors_of("t-near"));
    send(&near, &[classic(0x123, &[1])]);
    error_of(&messages, CRTL, |message| message.data[1] & TX_PASSIVE != 0);
    receive(&far, 1);
    let ended = wire.end();
    let errors = lines(&ended, "error");
    assert!(errors.len() == 40 && errors.iter().all(|words| words[6] == "ack"), "{errors:?}");
    // 16 errors of 8; what follows a passive node's own lost acknowledgement does not count.
    let states: Vec<String> = lines(&ended, "state").iter().map(|words| words[3..].join(" ")).collect();
    assert_eq!(states[..2], ["t-near error-warning 96 0", "t-near error-passive 128 0"]);
    assert_eq!(ended.frames().len(), 1);
}

#[test]
#[ignore = "runs in a guest"]
fn a_pulled_plug_comes_back_as_it_was_while_a_gateway_uses_it() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire =
        Wire::start(&["--bus", "one:500k:t-a,t-b", "--bus", "two:500k:t-c,t-d", "--model", "ucan", "--depth", "2"]);
    let client = &mut Client::open().unwrap();
    let before = index("t-b").unwrap();
    link::set_down(client, before).unwrap();
    link::set_can_restart(client, before, std::num::NonZeroU32::new(RESTART_MS)).unwrap();
    link::set_tx_queue_len(client, before, 77).unwrap();
    link::set_up(client, before).unwrap();
    let gateway = "[bus.one]\ninterface = \"t-b\"\n[bus.two]\ninterface = \"t-c\"\n\
                   [[route]]\nname = \"all\"\nfrom = \"one\"\nto = \"two\"\nframes = \"classic\"\n";
    let run_dir = tempfile::tempdir().unwrap();
    let run = Run { gateway, engine: "read-write", run_dir: run_dir.path().to_owned(), uid: None };
    let candor = run.start();
    let (sender, receiver) = (open("t-a"), open("t-d"));
    send(&sender, &[classic(0x321, &[1])]);
    receive(&receiver, 1);

    done(&wire, "unplug t-b");
    wait_until("the end of t-b", || index("t-b").is_none());
    assert!(candor.notice().contains("t-b"));
    let refused = inject(&wire, "bus-off t-b");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let refused = inject(&wire, "unplug t-b");
    assert!(String::from_utf8(refused.stdout).unwrap().contains("it is unplugged already"));

    done(&wire, "replug t-b");
    let after = link("t-b").unwrap();
    assert!(after.up && after.index != before, "{after:?}");
    assert_eq!((after.tx_queue_len, after.can.unwrap().restart_ms.map(u32::from)), (77, Some(RESTART_MS)));
    while !candor.notice().contains("t-b is") {}
    send(&sender, &[classic(0x321, &[2])]);
    assert_eq!(receive(&receiver, 1)[0].data[0], 2);
    assert!(candor.end(Signal::Terminate).status.success());
    let ended = wire.end();
    assert_eq!(ended.last["buses"][0]["lost_adapters"], 0);
    assert_eq!(ended.last["is_valid"], true, "{}", ended.last);
    let faults: Vec<String> = lines(&ended, "fault").iter().map(|words| words[3..].join(" ")).collect();
    assert_eq!(faults, ["unplug adapter=t-b", "replug adapter=t-b"]);
}

#[test]
#[ignore = "runs in a guest"]
fn a_stuck_bus_and_a_frozen_node_end_to_the_nanosecond() {
    let Some(_machine) = require(NEEDS) else { return };
    for (fault, end) in [("stuck b0", "release"), ("freeze t-near", "thaw")] {
        let arguments = format!("{fault} --for 400ms");
        let wire = Wire::start(&["--bus", "b0:500k:t-near,t-far", "--fault", &arguments]);
        let (near, far) = (open("t-near"), open("t-far"));
        send(&near, &[classic(0x123, &[1])]);
        receive(&far, 1);
        let ended = wire.end();
        let faults = lines(&ended, "fault");
        assert_eq!((faults.len(), faults[1][3]), (2, end), "{faults:?}");
        let (from, to) = (ns(faults[0][2]), ns(faults[1][2]));
        assert_eq!(to - from, 400_000_000);
        let start = ended.frames()[0].start_ns;
        assert!(start >= to, "{fault}: {start} < {to}");
        // Who was frozen sends with the first nanosecond; a dominant wire has left everybody with an error to end.
        assert_eq!(start == to, fault.starts_with("freeze"), "{fault}: {start} {to}");
        let is_told = lines(&ended, "state").iter().any(|words| words[4] == "error-passive");
        assert_eq!(is_told, fault.starts_with("stuck"));
    }
}

#[test]
#[ignore = "runs in a guest"]
fn the_same_seed_breaks_the_same_bits() {
    let Some(_machine) = require(NEEDS) else { return };
    let run = |seed: &str| {
        let faults = ["--fault", "bit-error b0 --times 20", "--fault", "bit-error-rate b0 2e-3"];
        let wire = Wire::start(&[&["--bus", "b0:500k:t-near,t-far", "--seed", seed][..], &faults].concat());
        let (near, far) = (open("t-near"), open("t-far"));
        let frames: Vec<Frame> = (0..9).map(|number| classic(0x123, &[number; 8])).collect();
        send(&near, &frames);
        receive(&far, 9);
        let log = wire.end().log;
        // Times since the first frame: when a program starts is not up to the seed.
        let mut zero = None;
        let mut on_the_wire = Vec::new();
        for line in log.lines().filter(|line| line.starts_with("frame") || line.starts_with("error ")) {
            let words: Vec<&str> = line.split(' ').collect();
            let (start, end) = (ns(words[2]), ns(words[3]));
            let zero = *zero.get_or_insert(start);
            // Of a frame node, identifier and repetitions; of an error what it was and at which bit.
            on_the_wire.push(format!("{} {} {} {}", words[0], start - zero, end - zero, words[4..8].join(" ")));
        }
        on_the_wire
    };
    let first = run("7");
    assert!(first.len() >= 29, "{first:?}");
    assert_eq!(first, run("7"));
    assert_ne!(first, run("8"));
}

#[test]
#[ignore = "runs in a guest"]
fn a_fault_has_its_moment_and_mistakes_have_answers() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire = Wire::start(&["--bus", "b0:500k:t-near,t-far", "--fault", "stuck b0 --at 3600s"]);
    let planned: Value = serde_json::from_slice(&inject(&wire, "clear b0 --at 100s").stdout).unwrap();
    assert_eq!((&planned["done"], &planned["at_ns"]), (&false.into(), &100_000_000_000_u64.into()));
    for (words, status, says) in [
        ("bus-off t-near --at 1ns", 1, "name a later moment"),
        ("bus-off t-none", 2, "No candor-lab wire has a bus or an interface t-none; there is b0, t-near, t-far"),
        ("thaw", 2, "required arguments were not provided"),
    ] {
        let output = inject(&wire, words);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(output.status.code(), Some(status), "{words}: {said}");
        assert!(said.contains(says), "{words}: {said}");
    }
    wire.end();
    let mut command = Command::new(lab());
    let late =
        command.args(["wire", "--bus", "b0:500k:t-near", "--fault", "bus-off t-near --at 1ns"]).output().unwrap();
    assert_eq!(late.status.code(), Some(2));
    let said = String::from_utf8(late.stderr).unwrap();
    assert!(said.contains("--fault is refused: the bus is at"), "{said}");
    assert_eq!(index("t-near"), None, "nothing is left");
}
