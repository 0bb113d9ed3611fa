//! In which order frames leave: every discipline with every classifier, behind a controller that is busy.

use candor_core::frame::{CAN_EFF_FLAG, CANFD_MTU};
use candor_egress::text;
use candor_io::can::CanSocket;
use candor_netlink::client::Errno;

use super::counted::{Counts, Sent};
use super::laws::{self, Waiting};
use super::line::{self, Line};
use super::*;
use crate::frames::{classic, sender_on};

/// A tree, what comes to it while nothing leaves, and what leaves then.
#[derive(Debug)]
struct Case {
    name: String,
    tree: String,
    /// Sockets, identifiers, lengths, priorities, marks, and how often: `a100/4@6#1*3`.
    sent: String,
    /// The sockets of the frames that leave.
    order: &'static str,
}

/// Reads a word of [`Case::sent`], which is so many frames. `X` before the identifier is for 29 bits.
fn frames(word: &str, first: usize) -> Vec<Waiting> {
    let (word, count) = word.split_once('*').unwrap_or((word, "1"));
    let (word, mark) = word.split_once('#').unwrap_or((word, "0"));
    let (word, priority) = word.split_once('@').unwrap_or((word, "0"));
    let (word, length) = word.split_once('/').unwrap_or((word, "8"));
    let letter = word.as_bytes()[0];
    let (format, digits) = word[1..].strip_prefix('X').map_or((0, &word[1..]), |digits| (CAN_EFF_FLAG, digits));
    let id = u32::from_str_radix(digits, 16).unwrap() | format;
    let length: usize = length.parse().unwrap();
    let count: usize = count.parse().unwrap();
    let frame = |number: usize| {
        let payload = [u8::try_from(number).unwrap(), letter, 0, 0, 0, 0, 0, 0];
        let mut bytes = [0; CANFD_MTU];
        let len = classic(id, &payload[..length]).to_kernel(&mut bytes);
        let priority = u32::from_str_radix(priority, 16).unwrap();
        let sent = Sent { bytes: bytes[..len].to_vec(), priority, mark: mark.parse().unwrap() };
        Waiting { sent, socket: usize::from(letter - b'a') }
    };
    (first..first + count).map(frame).collect()
}

fn waiting(sent: &str) -> Vec<Waiting> {
    sent.split(' ').fold(Vec::new(), |mut all, word| {
        let first = all.len();
        all.extend(frames(word, first));
        all
    })
}

fn letters(waiting: &[Waiting], order: &[usize]) -> String {
    order.iter().map(|number| char::from(b'a' + u8::try_from(waiting[*number].socket).unwrap())).collect()
}

/// Disciplines with a class 1:1 and a class 1:2, and what leaves them if four frames of b come before four of a.
const SHARED: [(&str, &str, &str); 6] = [
    ("prio", "qdisc root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "aaaabbbb"),
    ("ets", "qdisc root handle 1: stab overhead 240 ets bands 2 quanta 256 512", "bbabbaaa"),
    (
        "drr",
        "qdisc root handle 1: stab overhead 240 drr\nclass parent 1: classid 1:1 drr quantum 512\n\
         class parent 1: classid 1:2 drr quantum 256",
        "baabaabb",
    ),
    ("sfq", "qdisc root handle 1: stab overhead 240 sfq quantum 256 limit 100", "babababa"),
    (
        "htb",
        "qdisc root handle 1: htb\n\
         class parent 1: classid 1:1 htb rate 10000kbps burst 64k cburst 64k quantum 32\n\
         class parent 1: classid 1:2 htb rate 10000kbps burst 64k cburst 64k quantum 16",
        "abaababb",
    ),
    ("fq_codel", "qdisc root handle 1: stab overhead 240 fq_codel quantum 256 target 100s interval 200s", "babababa"),
];

/// Classifiers that send frames of a to 1:1 and those of b to 1:2.
const CLASSIFIERS: [(&str, &str); 10] = [
    (
        "basic canid",
        "filter parent 1: prio 1 basic match 'canid(sff 0x100:0x700)' flowid 1:1\n\
         filter parent 1: prio 2 basic match 'canid(sff 0:0 eff 0:0)' flowid 1:2",
    ),
    (
        "basic cmp",
        "filter parent 1: prio 1 basic match 'cmp(u8 at 4 layer link eq 4)' flowid 1:1\n\
         filter parent 1: prio 2 basic match 'cmp(u8 at 4 layer link gt 4)' flowid 1:2",
    ),
    (
        "basic meta",
        "filter parent 1: prio 1 basic match 'meta(fwmark eq 1)' flowid 1:2\nfilter parent 1: prio 2 basic flowid 1:1",
    ),
    (
        "basic nbyte",
        "filter parent 1: prio 1 basic match 'nbyte(\"a\" at 9 layer link)' flowid 1:1\n\
         filter parent 1: prio 2 basic match 'not nbyte(\"a\" at 9 layer link)' flowid 1:2",
    ),
    (
        "basic u32",
        "filter parent 1: prio 1 basic match 'u32(u32 0x00010000 0x00070080 at 0)' flowid 1:1\n\
         filter parent 1: prio 2 basic flowid 1:2",
    ),
    (
        "u32",
        "filter parent 1: prio 1 u32 match u32 0x00010000 0x00070080 at 0 flowid 1:1\n\
         filter parent 1: prio 1 u32 match u8 8 ff at 4 flowid 1:2",
    ),
    ("fw", "filter parent 1: prio 1 handle 1 fw flowid 1:2\nfilter parent 1: prio 2 matchall flowid 1:1"),
    ("flow", "filter parent 1: prio 1 handle 1 flow map key mark baseclass 1:1"),
    (
        "matchall",
        "filter parent 1: prio 1 basic match 'canid(sff 0x100:0x700)' flowid 1:1\n\
         filter parent 1: prio 2 matchall flowid 1:2",
    ),
    (
        "clsact skbedit",
        "qdisc clsact\nfilter egress prio 1 basic match 'canid(sff 0x100:0x700)' action skbedit priority 1:1 pass\n\
         filter egress prio 2 matchall action skbedit priority 1:2 pass\n\
         filter parent 1: prio 1 basic match 'canid(sff 0x7ff)' flowid 1:1",
    ),
];

/// What each discipline does by itself. `etf` is not here: it takes frames with a launch time only, and nothing of candor gives
/// one.
const ALONE: [(&str, &str, &str, &str); 14] = [
    ("pfifo", "qdisc root handle 1: pfifo limit 5", "a100*3 b080*4", "aaabb"),
    ("bfifo", "qdisc root handle 1: bfifo limit 80", "a100*3 b080*4", "aaabb"),
    ("pfifo_head_drop", "qdisc root handle 1: pfifo_head_drop limit 3", "a100*2 b200*3", "abb"),
    ("pfifo_fast", "qdisc root handle 1: pfifo_fast", "a100@2 b200@6 c300@2 a100 d400@7", "abdac"),
    ("prio by SO_PRIORITY", "qdisc root handle 1: prio", "a100 b200@6 c300@2 a100 d400@7", "bdaac"),
    ("prio by the name of a class", "qdisc root handle 1: prio", "a100 b200@10003 c300@2 d400@10001", "dabc"),
    ("skbprio", "qdisc root handle 1: skbprio limit 4", "a100@1*3 b200@5 c300@3*2 d400@1", "bcca"),
    ("netem", "qdisc root handle 1: netem limit 10", "a100*2 b080 a100", "aaba"),
    ("tbf", "qdisc root handle 1: tbf rate 10000kbps burst 64k limit 64k", "a100*2 b080 a100", "aaba"),
    ("sfq alone", "qdisc root handle 1: stab overhead 240 sfq quantum 256 limit 100", "a100*3 b100*3", "aaabbb"),
    (
        "sfq that drops what no filter takes",
        "qdisc root handle 1: sfq limit 100 quantum 256\nfilter prio 1 basic match 'canid(sff 0x100)' flowid 1:1",
        "a100 b200 a100",
        "aa",
    ),
    (
        "drr that drops what no filter takes",
        "qdisc root handle 1: drr\nclass parent 1: classid 1:1 drr quantum 256\n\
      filter prio 1 basic match 'canid(sff 0x100)' flowid 1:1",
        "a100 b200 a100",
        "aa",
    ),
    (
        "htb that has no class for the rest",
        "qdisc root handle 1: htb\nclass parent 1: classid 1:1 htb rate 10000kbps burst 64k cburst 64k quantum 16\n\
         filter prio 1 basic match 'canid(sff 0x100)' flowid 1:1",
        "a100*2 b200*2",
        "bbaa",
    ),
    (
        "ets with a strict band",
        "qdisc root handle 1: stab overhead 240 ets bands 3 strict 1 quanta 512 256 priomap 2\n\
         filter prio 1 basic match 'canid(sff 0x080)' flowid 1:1\n\
         filter prio 2 basic match 'canid(sff 0x100)' flowid 1:2",
        "a100*4 b200*3 c080",
        "caabaabb",
    ),
];

fn cases() -> Vec<Case> {
    let shared = SHARED.iter().flat_map(|(discipline, tree, order)| {
        CLASSIFIERS.iter().map(move |(classifier, filters)| Case {
            name: format!("{discipline} with {classifier}"),
            tree: format!("{tree}\n{filters}"),
            sent: "b200/8#1*4 a100/4*4".to_owned(),
            order,
        })
    });
    let alone = ALONE.iter().map(|&(name, tree, sent, order)| Case {
        name: name.to_owned(),
        tree: tree.to_owned(),
        sent: sent.to_owned(),
        order,
    });
    shared.chain(alone).collect()
}

impl Line {
    /// What leaves of what has come to wait, by numbers.
    fn leaves(&mut self, tree: &Tree, waiting: &[Waiting], sockets: &[CanSocket], expected: usize) -> Vec<usize> {
        for frame in waiting {
            // Full queues refuse; which frames that are is seen in what leaves.
            let _ = frame.sent.send(&sockets[frame.socket]);
        }
        assert_eq!(self.backlog(), expected, "{tree:#?}");
        self.read(expected).into_iter().map(usize::from).collect()
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_leave_in_the_order_that_the_discipline_has() {
    let Some(_machine) = require(line::NEEDS) else { return };
    let mut line = Line::new();
    let sockets: Vec<_> = (0..4).map(|_| sender_on(line.index)).collect();
    for case in cases() {
        let tree = text::parse(&case.tree).unwrap_or_else(|findings| panic!("{case:#?}: {findings:#?}")).tree;
        let waiting = waiting(&case.sent);
        let order = laws::order(&tree, &waiting);
        assert_eq!(letters(&waiting, &order), case.order.replace(' ', ""), "{case:#?}");
        if let Err(error) = line.block(&tree) {
            assert!(error.errno() == Some(Errno::ENOENT) && case.name.contains("ets"), "{error}: {case:#?}");
            skip(Feature::Ets, &format!("{}: {error}", case.name));
            line.read(0);
            line.clear();
            continue;
        }
        let left = line.leaves(&tree, &waiting, &sockets, order.len());
        let found = line.kernel.observe().unwrap();
        let courses: Vec<_> = waiting.iter().map(|frame| frame.sent.course(&tree)).collect();
        let counts = Counts::of(&courses);
        let mut differences = counts.at_filters(&tree, &found);
        if order.len() == waiting.len() {
            differences.extend(counts.at_queues(&tree, &found));
        }
        assert_eq!(left, order, "{} instead of {}: {case:#?}", letters(&waiting, &left), case.order);
        assert!(differences.is_empty(), "{differences:#?} {case:#?}");
        line.clear();
    }
}
