//! `[egress.BUS]`.

use super::*;
use crate::plan::{BusIndex, Wish};
use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, RawId};
use candor_egress::compile;
use candor_egress::control_group::GroupName;
use candor_egress::policy::{Fair, FrameKind, Full, Mark, Outgoing, Policy};
use candor_egress::text;

const BUSES: &str = "[bus.a]\ninterface = \"can0\"\nbitrate = \"500kbit/s\"\n[bus.b]\ninterface = \"can1\"\n";
const REST: &str = "[[egress.a.band]]\nname = \"rest\"\n";

fn policy(text: &str) -> Policy {
    let loaded = load(format!("{BUSES}{text}").as_bytes()).unwrap_or_else(|found| panic!("{text}\n{found:#?}"));
    let [egress] = loaded.plan.egress() else { panic!("{:?}", loaded.plan.egress()) };
    assert_eq!(egress.bus, BusIndex(0));
    let Wish::Bands(policy) = &egress.wish else { panic!("{egress:?}") };
    policy.clone()
}

fn refused(text: &str) -> Vec<&'static str> {
    let found = load(format!("{BUSES}{text}").as_bytes()).expect_err(text);
    found.iter().map(|finding| finding.code).collect()
}

fn frame(id: u32) -> Outgoing<'static> {
    Outgoing { id: RawId(id), len: 8, priority: 0, mark: 0, from: None, groups: &[] }
}

#[test]
fn keys_in_a_band_and_in_take_are_all_selections() {
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
fn frames_are_chosen_by_who_sends_them() {
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
fn queues_and_rates() {
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
fn what_makes_no_policy_is_refused() {
    let band = |keys: &str| format!("[[egress.a.band]]\nname = \"x\"\nmatch = \"1\"\n{keys}\n{REST}");
    for (text, expected) in [
        ("[egress.a]\n".to_owned(), code::EGRESS),
        ("[egress.nobody]\n[[egress.nobody.band]]\nname = \"x\"\n".to_owned(), code::UNKNOWN_BUS),
        (format!("{REST}[[egress.a.band]]\nname = \"x\"\n"), code::EGRESS),
        (band("").replace("\"rest\"", "\"x\""), code::EGRESS),
        (band("").replace("\"rest\"", "\"rest\"\nmark = \"1\""), code::EGRESS),
        (band("take = [{}]"), code::EGRESS),
        (band("fair = \"per-sockets\""), code::EGRESS_WORD),
        (band("kind = \"rtr\""), code::EGRESS_WORD),
        (band("rate = \"200\""), code::FRAME_RATE),
        (band("rate = \"120 %\""), code::FRAME_RATE),
        (band("rate = \"0.1 %\"").replace("egress.a.", "egress.b."), code::FRAME_RATE),
        (band("fair = \"per-socket\"\nqueue = 128"), code::RANGE),
        (band("queue = 0"), code::RANGE),
        (format!("[egress.a]\nqueue = 0\n{}", band("")), code::RANGE),
        (band("length = \"4..65\""), code::RANGE),
        (band("mark = \"1:F0\""), code::RANGE),
        (band("j1939 = { priority = 8 }"), code::RANGE),
        (band("j1939 = { pgn = \"EA01\" }"), code::RANGE),
        (band("max-age = \"50ms\""), code::MAX_AGE),
        (band("max-age = \"1ms\"\nrate = \"20 frames/s\""), code::MAX_AGE),
        (band("max-age = \"1s\"\nrate = \"20 frames/s\"\nfair = \"per-mark\""), code::MAX_AGE),
        (band("from = \"b\""), code::SOURCE),
        (band("service = \"x.service\""), code::UNKNOWN_KEY),
        (band("unit = \"x.service\""), code::EGRESS),
        (band("take = { cgroup = \"/x\", unit = \"x.service\" }"), code::EGRESS),
        (band("take = { cgroup = [] }"), code::EGRESS),
        (band("take = { cgroup = \"x\" }"), code::NAME),
        (band("take = { cgroup = \"/\" }"), code::NAME),
        (band("take = { unit = \"x\" }"), code::NAME),
        (band("take = { unit = \"/x.service\" }"), code::NAME),
        (band("take = { unit = 7 }"), code::WRONG_TYPE),
        (
            format!("[[egress.a.limit]]\nmatch = \"1\"\ntake = {{ cgroup = \"/x\" }}\nrate = \"1 frames/s\"\n{REST}"),
            code::EGRESS,
        ),
        (format!("[[egress.a.limit]]\nrate = \"1 frames/s\"\n{REST}"), code::EGRESS),
        (format!("[[egress.a.limit]]\nmark = \"1\"\n{REST}"), code::MISSING_KEY),
        (format!("[egress.a]\ntree = \"qdisc root pfifo\"\n{REST}"), code::EGRESS),
    ] {
        let found = refused(&text);
        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn what_is_wrong_in_a_tree_is_shown_where_it_stands() {
    for text in [
        "[egress.a]\ntree = '''\nqdisc root handle 1: prio\nqdisc parent 1:1 gibberish\n'''\n",
        "[egress.a]\ntree = \"qdisc root handle 1: prio bands gibberish\"\n",
        "[egress.a]\ntree = '''qdisc root handle 1: prio\r\nqdisc parent 1:1 gibberish\r\n'''\r\n",
    ] {
        let text = format!("{BUSES}{text}");
        let found = load(text.as_bytes()).unwrap_err();
        assert!(found.iter().any(|finding| &text[finding.primary.span.clone()] == "gibberish"), "{text}\n{found:#?}");
    }
    // Where the text is not there as it is, the whole of it is shown.
    let escaped = format!("{BUSES}[egress.a]\ntree = \"qdisc root\\u0020gibberish\"\n");
    let found = load(escaped.as_bytes()).unwrap_err();
    assert!(escaped[found[0].primary.span.clone()].starts_with('"'), "{found:#?}");
}

#[test]
fn frames_are_known_by_their_source_where_the_kernel_forwards_them() {
    let route = "[[route]]\nname = \"r\"\nfrom = \"b\"\nto = \"a\"\n";
    let band = "[[egress.a.band]]\nname = \"x\"\nfrom = \"b\"\n";
    let text = format!("{BUSES}{route}{band}{REST}");
    let plan = load(text.as_bytes()).unwrap().plan;
    let trees = compile::trees(plan.egress());
    assert_eq!(trees.keys().copied().collect::<Vec<_>>(), [BusIndex(0), BusIndex(1)]);
    let incoming = text::script(&trees[&BusIndex(1)], "can1").unwrap();
    let mark = format!("skbedit mark 0x{:x} pipe", compile::source_mark(BusIndex(1)));
    assert!(incoming.contains(&mark), "{incoming}");
    // candor would send them as its own.
    let found = load(format!("engine = \"read-write\"\n{text}").as_bytes()).unwrap_err();
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [code::SOURCE]);
    // A tree by hand has to do it itself.
    let by_hand = "[egress.b]\ntree = '''\nqdisc clsact\nfilter ingress prio 1 matchall action pass\n'''\n";
    let found = load(format!("{text}{by_hand}").as_bytes()).unwrap_err();
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [code::SOURCE]);
}

#[test]
fn traps_are_shown_in_the_line_that_has_them() {
    let tree = "qdisc root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nqdisc parent 1:1 handle 2: sfq limit 16129 flows 127 depth 127\n\
                qdisc parent 1:2 handle 3: pfifo limit 9\n  filter parent 1: protocol can prio 5 matchall flowid 1:2 # FD?\n";
    let text =
        format!("{BUSES}data-bitrate = \"2Mbit/s\"\nbitrate = \"500kbit/s\"\n[egress.b]\ntree = '''\n{tree}'''\n");
    let warnings = load(text.as_bytes()).unwrap().warnings;
    let found: Vec<_> = warnings.iter().map(|finding| (finding.code, &text[finding.primary.span.clone()])).collect();
    let expected = [
        ("W1061", "qdisc parent 1:1 handle 2: sfq limit 16129 flows 127 depth 127"),
        ("W1068", "filter parent 1: protocol can prio 5 matchall flowid 1:2 # FD?"),
    ];
    assert_eq!(found, expected);
    // A classic bus has nothing to leave out.
    let classic = text.replace("data-bitrate = \"2Mbit/s\"\n", "");
    assert_eq!(load(classic.as_bytes()).unwrap().warnings.len(), 1);
}
