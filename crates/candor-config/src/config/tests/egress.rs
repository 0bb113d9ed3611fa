//! `[egress.BUS]`.

use super::*;
use crate::plan::{BusIndex, Queueing};
use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, RawId};
use candor_egress::compile;
use candor_egress::control_group::GroupName;
use candor_egress::policy::{Fair, FrameKind, Full, Mark, Outgoing, Policy};
use candor_egress::text;

const BUSES: &str = "[bus.a]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\n[bus.b]\ninterface = \"can1\"\n";
const REST: &str = "[[egress.a.band]]\nname = \"rest\"\n";

fn policy(text: &str) -> Policy {
    let plan = loaded(&format!("{BUSES}{text}"));
    let [egress] = plan.egress() else { panic!("{:?}", plan.egress()) };
    assert_eq!(egress.bus, BusIndex(0));
    let Queueing::Bands(policy) = &egress.queueing else { panic!("{egress:?}") };
    policy.clone()
}

fn frame(id: u32) -> Outgoing<'static> {
    Outgoing { id: RawId(id), len: 8, priority: 0, mark: 0, from: None, groups: &[] }
}

#[test]
fn keys_of_a_band_and_take_are_all_selections() {
    let text = "[ids]\nl = [\"300..30F\"]\n[[egress.a.band]]\nname = \"x\"\nmatch = \"@l\"\nkind = \"data\"\n\
                take = [{ mark = [\"7\", \"100:F00\"] }, { length = \"0..4\", socket-priority = 6 }, \
                { j1939 = { priority = [0, 1] } }, { j1939 = { pgn = \"EA00\", priority = 6 } }]\n";
    let policy = policy(&format!("{text}{REST}"));
    let [own, marks, short, ..] = policy.bands()[0].take.as_slice() else { panic!("{policy:#?}") };
    assert_eq!((own.kind, own.ids.is_some()), (Some(FrameKind::Data), true));
    assert_eq!(marks.marks, [Mark { value: 7, mask: u32::MAX }, Mark { value: 0x100, mask: 0xF00 }]);
    assert_eq!((&short.length, short.socket_priorities.as_slice()), (&Some(0..=4), [6].as_slice()));
    let urgent = [0x30F, CAN_EFF_FLAG | 0x07FF_FFFF, CAN_EFF_FLAG | 0x18EA_FF01];
    let other = [0x310, 0x30F | CAN_RTR_FLAG, CAN_EFF_FLAG | 0x0800_0000, CAN_EFF_FLAG | 0x18EB_0001, 0x07F];
    assert!(urgent.iter().all(|id| policy.band_of(&frame(*id)) == 0));
    assert!(other.iter().all(|id| policy.band_of(&frame(*id)) == 1));
}

#[test]
fn selects_frames_by_cgroup() {
    let text = "[[egress.a.band]]\nname = \"x\"\nunit = [\"a.service\", \"b.scope\"]\ntake = [{ cgroup = \"/c\" }, { match = \"7\" }]\n";
    let policy = policy(&format!("{text}{REST}"));
    let [units, path, _] = policy.bands()[0].take.as_slice() else { panic!("{policy:#?}") };
    let groups = ["a.service", "b.scope"].map(|unit| GroupName::unit(unit).unwrap());
    assert_eq!(units.groups, groups);
    assert_eq!(path.groups, [GroupName::path("/c").unwrap()]);
    let band = |groups: &[GroupName], id| policy.band_of(&Outgoing { groups, ..frame(id) });
    assert_eq!((band(&groups[1..], 8), band(&path.groups, 8), band(&[], 7), band(&[], 8)), (0, 0, 0, 1));
}

#[test]
fn reads_queues_and_rates() {
    let text = "[egress.a]\nqueue = 500\n[[egress.a.band]]\nname = \"x\"\nmatch = \"1\"\nfair = \"per-user\"\n\
                [[egress.a.band]]\nname = \"y\"\nmatch = \"2\"\nrate = \"20 %\"\nwhen-full = \"drop-oldest\"\nmax-age = \"50ms\"\n";
    let policy = policy(&format!("{text}{REST}"));
    let [first, second, rest] = policy.bands() else { panic!("{policy:#?}") };
    assert_eq!((first.queue.fair(), first.queue.frames(), first.queue.full()), (Fair::PerUser, 127, Full::Refuse));
    assert_eq!(second.rate.unwrap().frames_per_second(), 625);
    assert_eq!((second.queue.frames(), second.queue.full()), (31, Full::DropOldest));
    assert_eq!((rest.queue.frames(), rest.rate), (500, None));
}

#[test]
fn reads_a_queue_in_the_order_of_arbitration() {
    let name = |keys: &str| {
        let plan = loaded(&format!("{BUSES}[egress.a]\nqueue = \"arbitration\"\n{keys}"));
        let Queueing::Arbitration { queue, .. } = &plan.egress()[0].queueing else { panic!("{:?}", plan.egress()) };
        queue.name().to_owned()
    };
    assert_eq!(name(""), "arb100");
    assert_eq!(name("frames = 200\nper-socket = 20\nmax-age = \"50ms\"\nreplace = \"same-id\""), "arb200s20a50r");
}

#[test]
fn bands_take_the_place_of_a_queue_that_the_kernel_does_not_have() {
    let settled = |text: &str, has_queues| {
        let text = format!("{}[egress.a]\nqueue = \"arbitration\"\n{text}", with_route(""));
        let mut loaded = load(text.as_bytes()).unwrap();
        loaded.settle_queues(|| has_queues);
        let message = loaded.warnings.iter().find(|finding| finding.code == code::NO_BPF_QUEUES);
        (message.map(|finding| finding.message.clone()), loaded.plan.egress()[0].queueing.clone())
    };
    let (message, queueing) = settled("frames = 20\nper-socket = 5\nmax-age = \"50ms\"\n", false);
    let expected = "Where the kernel has no queues in BPF, frames are sent first in, first out, without `per-socket`, \
                    `max-age`";
    assert_eq!(message.as_deref(), Some(expected));
    let Queueing::Bands(policy) = queueing else { panic!("{queueing:?}") };
    let kinds: Vec<_> = compile::tree(&policy).qdiscs.iter().map(|qdisc| qdisc.discipline.kind().to_owned()).collect();
    assert_eq!((kinds, policy.bands()[0].queue.frames()), (vec!["pfifo".to_owned()], 20));

    let bands = format!("frames = 20\n[[egress.a.band]]\nname = \"x\"\nmatch = \"1\"\nqueue = 5\n{REST}");
    let (message, queueing) = settled(&bands, false);
    assert_eq!(message.as_deref(), Some("Where the kernel has no queues in BPF, frames are sent by the bands"));
    let Queueing::Bands(policy) = queueing else { panic!("{queueing:?}") };
    let frames: Vec<_> = policy.bands().iter().map(|band| band.queue.frames()).collect();
    assert_eq!(frames, [5, 20]);

    let (message, queueing) = settled(&bands, true);
    assert!(message.is_none() && matches!(queueing, Queueing::Arbitration { .. }), "{message:?} {queueing:?}");
}

#[test]
fn underlines_errors_in_bands_and_limits() {
    check_cases(include_str!("egress.txt"), |text| format!("{BUSES}{text}\n"), findings);
}

#[test]
fn underlines_errors_in_a_tree() {
    for text in [
        "[egress.a]\ntree = '''\nqdisc root handle 1: prio\nqdisc parent 1:1 gibberish\n'''\n",
        "[egress.a]\ntree = \"qdisc root handle 1: prio bands gibberish\"\n",
        "[egress.a]\ntree = '''qdisc root handle 1: prio\r\nqdisc parent 1:1 gibberish\r\n'''\r\n",
    ] {
        let text = format!("{BUSES}{text}");
        let found = load(text.as_bytes()).unwrap_err();
        assert!(found.iter().any(|finding| &text[finding.primary.span.clone()] == "gibberish"), "{text}\n{found:#?}");
    }
    // With escapes, the whole text is underlined.
    let escaped = format!("{BUSES}[egress.a]\ntree = \"qdisc root\\u0020gibberish\"\n");
    let found = load(escaped.as_bytes()).unwrap_err();
    assert!(escaped[found[0].primary.span.clone()].starts_with('"'), "{found:#?}");
}

#[test]
fn selects_forwarded_frames_by_source() {
    let route = "[[route]]\nname = \"r\"\nfrom = \"b\"\nto = \"a\"\n";
    let band = "[[egress.a.band]]\nname = \"x\"\nfrom = \"b\"\n";
    let text = format!("{BUSES}{route}{band}{REST}");
    let plan = loaded(&text);
    let trees = compile::trees(plan.egress());
    assert_eq!(trees.keys().copied().collect::<Vec<_>>(), [BusIndex(0), BusIndex(1)]);
    let incoming = text::script(&trees[&BusIndex(1)], "can1").unwrap();
    // Programs that forward frames come after it.
    let mark = format!("skbedit mark 0x{:x}/0xfffffff continue", compile::source_mark(BusIndex(1)));
    assert!(incoming.contains(&mark), "{incoming}");
    // candor sends them from its own socket.
    assert_eq!(codes(&format!("engine = \"read-write\"\n{text}")), [code::SOURCE]);
    // A tree has to mark them itself.
    let by_hand = "[egress.b]\ntree = '''\nqdisc clsact\nfilter ingress prio 1 matchall action pass\n'''\n";
    assert_eq!(codes(&format!("{text}{by_hand}")), [code::SOURCE]);
}

#[test]
fn underlines_the_line_of_a_trap() {
    let tree = "qdisc root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nqdisc parent 1:1 handle 2: sfq limit 16129 flows 127 depth 127\n\
                qdisc parent 1:2 handle 3: pfifo limit 9\n  filter parent 1: protocol can prio 5 matchall flowid 1:2 # FD?\n";
    let text =
        format!("{BUSES}data-bitrate = \"2Mbit/s\"\nbitrate = \"500kbit/s\"\n[egress.b]\ntree = '''\n{tree}'''\n");
    let found = underlined(&text, &load(text.as_bytes()).unwrap().warnings);
    let expected = [
        ("W1061", "qdisc parent 1:1 handle 2: sfq limit 16129 flows 127 depth 127"),
        ("W1068", "filter parent 1: protocol can prio 5 matchall flowid 1:2 # FD?"),
    ];
    assert_eq!(found, expected);
    // A classic bus has no FD frames to match.
    let classic = text.replace("data-bitrate = \"2Mbit/s\"\n", "");
    assert_eq!(load(classic.as_bytes()).unwrap().warnings.len(), 1);
}
