//! Injected faults, as the kernel and programs see them.

use std::num::NonZeroU32;

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG};
use candor_netlink::link::{CanLink, CanState, Link};

use super::*;

/// `CAN_ERR_*`, and the states in byte 1 of a message about the controller.
const CRTL: u32 = 0x004;
const BUSOFF: u32 = 0x040;
const RESTARTED: u32 = 0x100;
const TX_PASSIVE: u8 = 0x20;
const RESTART_MS: u32 = 300;

fn inject(wire: &Wire, words: &str) -> Output {
    let mut command = Command::new(lab());
    command.args(["wire", "inject", "--json"]).args(words.split(' ')).env("CANDOR_RUN_DIR", wire.folder.path());
    output(&mut command)
}

/// The answer of a fault that is injected at once.
#[track_caller]
pub(super) fn done(wire: &Wire, words: &str) -> Value {
    let output = inject(wire, words);
    assert_eq!(output.status, 0, "{words}: {output:?}");
    let answer = output.json();
    assert_eq!(answer["done"], true, "{answer}");
    answer
}

fn link(name: &str) -> Option<Link> {
    link::by_name(&mut Client::open().unwrap(), name).unwrap()
}

fn can(name: &str) -> CanLink {
    link(name).unwrap().can.unwrap()
}

fn errors_of(name: &str) -> CanSocket {
    let filters = [Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK }];
    CanSocket::open(index(name).unwrap(), &Options { filters: &filters, ..Options::default() }).unwrap()
}

fn error_of(socket: &CanSocket, class: u32, fits: impl Fn(&Frame) -> bool) -> Frame {
    loop {
        let message = receive(socket, 1)[0];
        assert_eq!(message.id.0 & CAN_ERR_FLAG, CAN_ERR_FLAG, "{message:?}");
        if message.id.0 & class != 0 && fits(&message) {
            return message;
        }
    }
}

/// The words of log lines of this kind.
fn lines<'a>(ended: &'a Log, kind: &str) -> Vec<Vec<&'a str>> {
    let words = |line: &'a str| line.split(' ').collect::<Vec<_>>();
    ended.log.lines().map(words).filter(|words| words[0] == kind).collect()
}

fn ns(text: &str) -> u64 {
    text.replace('.', "").parse().unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn the_kernel_restarts_a_bus_off_after_restart_ms() {
    let Some(wire) = Wire::start(&format!("{NEAR_FAR} --model ucan")) else { return };
    let (client, far) = (&mut Client::open().unwrap(), index("t-far").unwrap());
    link::set_down(client, far).unwrap();
    link::set_can_restart(client, far, NonZeroU32::new(RESTART_MS)).unwrap();
    link::set_up(client, far).unwrap();
    let carrier = || fs::read_to_string("/sys/class/net/t-far/carrier").unwrap_or_default().trim() == "1";
    wait_until("the carrier is up", carrier);

    let messages = errors_of("t-far");
    let answer = done(&wire, "bus-off t-far");
    assert_eq!((&answer["bus"], &answer["what"]), (&"b0".into(), &"bus-off node=t-far".into()));
    error_of(&messages, BUSOFF, |_| true);
    assert_eq!(can("t-far").state, Some(CanState::BusOff));
    assert!(!carrier());
    error_of(&messages, RESTARTED, |_| true);
    wait_until("the controller is error-active", || carrier() && can("t-far").state == Some(CanState::ErrorActive));
    let (near, far) = (open("t-near"), open("t-far"));
    send_all(&near, &[classic(0x123, &[1])]);
    receive(&far, 1);

    let ended = wire.end();
    let at = answer["at_ns"].as_u64().unwrap();
    let fault = &lines(&ended, "fault")[0];
    assert_eq!((ns(fault[2]), &fault[3..]), (at, &["bus-off", "node=t-far"][..]));
    // The other node gets no acknowledgement meanwhile.
    let of_far = |words: Vec<&str>| (words[3] == "t-far").then(|| (ns(words[2]), words[4..].join(" ")));
    let states: Vec<(u64, String)> = lines(&ended, "state").into_iter().filter_map(of_far).collect();
    assert_eq!(states[0], (at, "bus-off 256 0".to_owned()));
    // The driver waits, and then 128 times 11 recessive bits pass.
    assert_eq!(states[1].1, "error-active 0 0");
    assert!(states[1].0 - at >= u64::from(RESTART_MS) * 1_000_000 + 128 * 11 * BIT_NS, "{states:?}");
}

#[test]
#[ignore = "runs in a guest"]
fn lost_acknowledgements_make_a_node_error_passive() {
    let Some(wire) = Wire::with_faults(NEAR_FAR, &["lost-ack b0 --node t-near --times 40"]) else { return };
    let (near, far, messages) = (open("t-near"), open("t-far"), errors_of("t-near"));
    send_all(&near, &[classic(0x123, &[1])]);
    error_of(&messages, CRTL, |message| message.data[1] & TX_PASSIVE != 0);
    receive(&far, 1);
    let ended = wire.end();
    let errors = lines(&ended, "error");
    assert!(errors.len() == 40 && errors.iter().all(|words| words[6] == "ack"), "{errors:?}");
    // 16 errors count 8 each; those of an error-passive node do not count.
    let states: Vec<String> = lines(&ended, "state").iter().map(|words| words[3..].join(" ")).collect();
    assert_eq!(states[..2], ["t-near error-warning 96 0", "t-near error-passive 128 0"]);
    assert_eq!(ended.frames().len(), 1);
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_resumes_after_unplug_and_replug() {
    let Some(wire) = Wire::start("--bus one:500k:t-a,t-b --bus two:500k:t-c,t-d --model ucan --depth 2") else {
        return;
    };
    let client = &mut Client::open().unwrap();
    let before = index("t-b").unwrap();
    link::set_down(client, before).unwrap();
    link::set_can_restart(client, before, NonZeroU32::new(RESTART_MS)).unwrap();
    link::set_tx_queue_len(client, before, 77).unwrap();
    link::set_up(client, before).unwrap();
    let gateway = "[bus.one]\ninterface = \"t-b\"\n[bus.two]\ninterface = \"t-c\"\n".to_owned()
        + &route("all", "one", "two", "frames = \"classic\"");
    let run_dir = tempfile::tempdir().unwrap();
    let run_dir = run_dir.path().to_owned();
    let candor = Run { gateway: &gateway, engine: "read-write", run_dir, uid: None }.start();
    let (sender, receiver) = (open("t-a"), open("t-d"));
    send_all(&sender, &[classic(0x321, &[1])]);
    receive(&receiver, 1);

    done(&wire, "unplug t-b");
    wait_until("t-b is deleted", || index("t-b").is_none());
    assert!(candor.notice().contains("t-b"));
    inject(&wire, "bus-off t-b").assert(1, &[]);
    inject(&wire, "unplug t-b").assert(1, &["it is already unplugged"]);

    done(&wire, "replug t-b");
    let after = link("t-b").unwrap();
    assert!(after.up && after.index != before, "{after:?}");
    assert_eq!((after.tx_queue_len, after.can.unwrap().restart_ms.map(u32::from)), (77, Some(RESTART_MS)));
    candor.notice_with("t-b is");
    send_all(&sender, &[classic(0x321, &[2])]);
    assert_eq!(receive(&receiver, 1)[0].data[0], 2);
    candor.stop();
    let ended = wire.end();
    assert_eq!(ended.last["buses"][0]["lost_adapters"], 0);
    assert_eq!(ended.last["is_valid"], true, "{}", ended.last);
    let faults: Vec<String> = lines(&ended, "fault").iter().map(|words| words[3..].join(" ")).collect();
    assert_eq!(faults, ["unplug adapter=t-b", "replug adapter=t-b"]);
}

#[test]
#[ignore = "runs in a guest"]
fn a_stuck_bus_and_a_frozen_node_end_to_the_nanosecond() {
    for (fault, end) in [("stuck b0", "release"), ("freeze t-near", "thaw")] {
        let Some(wire) = Wire::with_faults(NEAR_FAR, &[&format!("{fault} --for 400ms")]) else { return };
        let (near, far) = (open("t-near"), open("t-far"));
        send_all(&near, &[classic(0x123, &[1])]);
        receive(&far, 1);
        let ended = wire.end();
        let faults = lines(&ended, "fault");
        assert_eq!((faults.len(), faults[1][3]), (2, end), "{faults:?}");
        let (from, to) = (ns(faults[0][2]), ns(faults[1][2]));
        assert_eq!(to - from, 400_000_000);
        let start = ended.frames()[0].start_ns;
        assert!(start >= to, "{fault}: {start} < {to}");
        // A frozen node sends at once; after a dominant bus every node first ends an error.
        assert_eq!(start == to, fault.starts_with("freeze"), "{fault}: {start} {to}");
        let is_passive = lines(&ended, "state").iter().any(|words| words[4] == "error-passive");
        assert_eq!(is_passive, fault.starts_with("stuck"));
    }
}

#[test]
#[ignore = "runs in a guest"]
fn the_same_seed_breaks_the_same_bits() {
    let run = |seed: &str| -> Option<Vec<String>> {
        let faults = ["bit-error b0 --times 20", "bit-error-rate b0 2e-3"];
        let wire = Wire::with_faults(&format!("{NEAR_FAR} --seed {seed}"), &faults)?;
        let (near, far) = (open("t-near"), open("t-far"));
        let frames: Vec<Frame> = (0..9).map(|number| classic(0x123, &[number; 8])).collect();
        send_all(&near, &frames);
        receive(&far, 9);
        let log = wire.end().log;
        // Relative to the first frame, because the seed does not decide when a program starts.
        let mut zero = None;
        let mut on_the_wire = Vec::new();
        for line in log.lines().filter(|line| line.starts_with("frame") || line.starts_with("error ")) {
            let words: Vec<&str> = line.split(' ').collect();
            let (start, end) = (ns(words[2]), ns(words[3]));
            let zero = *zero.get_or_insert(start);
            // Node, identifier and repetitions of a frame; kind and bit of an error.
            on_the_wire.push(format!("{} {} {} {}", words[0], start - zero, end - zero, words[4..8].join(" ")));
        }
        Some(on_the_wire)
    };
    let Some(first) = run("7") else { return };
    assert!(first.len() >= 29, "{first:?}");
    assert_eq!(run("7").as_ref(), Some(&first));
    assert_ne!(run("8"), Some(first));
}

#[test]
#[ignore = "runs in a guest"]
fn plans_faults_and_reports_mistakes() {
    let Some(wire) = Wire::with_faults(NEAR_FAR, &["stuck b0 --at 3600s"]) else { return };
    let planned = inject(&wire, "clear b0 --at 100s").json();
    assert_eq!((&planned["done"], &planned["at_ns"]), (&false.into(), &100_000_000_000_u64.into()));
    for (words, status, expected) in [
        ("bus-off t-near --at 1ns", 1, "use a later time"),
        ("bus-off t-none", 2, "candor-lab wire has a bus or an interface t-none; found: b0, t-near, t-far"),
        ("thaw", 2, "required arguments were not provided"),
    ] {
        inject(&wire, words).assert(status, &[expected]);
    }
    wire.end();
    let late = lab_output(&["wire", "--bus", "b0:500k:t-near", "--fault", "bus-off t-near --at 1ns"]);
    late.assert(2, &["--fault is refused: the bus is already at"]);
    assert_eq!(index("t-near"), None, "the interface is left");
}
