//! Figure 1.1 and the examples of Appendix A of the report of 2011, which are in `examples/` as bands and as trees: what the
//! report says of each.

use std::collections::BTreeMap;

use candor_egress::tree::Share;
use candor_netlink::client::Errno;
use nix::sys::socket::{setsockopt, sockopt};

use super::line::Line;
use super::paced::{
    CLOCK, MBIT_FRAMES_PER_SECOND, below_shaper, hear_and_replace, paced_by_one_frame, rate, trees, within,
};
use super::*;
use crate::serial::SERIAL;

const IDEAL: &str = include_str!("../../../../../examples/14-egress.toml");
const CLASSES: &str = include_str!("../../../../../examples/16-canopen.toml");
const THROTTLED: &str = include_str!("../../../../../examples/17-throttled.toml");
const TURNS: &str = include_str!("../../../../../examples/18-turns.toml");
const THROTTLED_TURNS: &str = include_str!("../../../../../examples/19-throttled-turns.toml");
const SHARES: &str = include_str!("../../../../../examples/20-shares.toml");

/// A.1: "high priority traffic is always served in the first place".
#[test]
#[ignore = "runs in a guest"]
fn a_1_urgent_canopen_frames_leave_first() {
    const IDS: [u32; 7] = [0x8000_0005, 0x8000_0126, 0x701, 0x181, 0x081, 0x080, 0x000];
    let Some(mut line) = Line::new(SERIAL) else { return };
    let socket = [sender_on(line.index)];
    for tree in trees(CLASSES) {
        line.block(&tree).unwrap();
        for (number, id) in (0..).zip(IDS) {
            (0..2).for_each(|_| send(&socket[0], &classic(id, &[number; 8])));
        }
        assert_eq!(line.read(2 * IDS.len()), [6, 6, 5, 5, 3, 3, 4, 4, 1, 1, 2, 2, 0, 0]);
        line.clear();
    }
}

/// A.3: frames of a class are mixed, "dequeued in quasi-round-robin manner".
#[test]
#[ignore = "runs in a guest"]
fn a_3_senders_of_a_class_take_turns() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let sockets: Vec<_> = (0..5).map(|_| sender_on(line.index)).collect();
    let sent = [(3, 0x701), (4, 0x8000_0001), (1, 0x181), (2, 0x401), (0, 0x081)];
    let frames: Vec<_> = sent.into_iter().flat_map(|frame| [frame; 4]).collect();
    for tree in trees(TURNS) {
        let left = line.in_turns(&tree, &sockets, &Flows { frames: &frames, count: 4 });
        assert_eq!(left[..4], [0; 4]);
        let (middle, low) = left[4..].split_at(8);
        assert_eq!((middle, low), (&[1, 2, 1, 2, 1, 2, 1, 2][..], &[3, 4, 3, 4, 3, 4, 3, 4][..]));
    }
}

/// Figure 1.1: urgent frames first, turns among equals, a class that is throttled, and a program that is.
#[test]
#[ignore = "runs in a guest"]
fn figure_1_1() {
    let [tree] = &trees(IDEAL)[..] else { panic!("one bus") };
    let Some(mut line) = Line::new(SERIAL) else { return };
    let sockets: Vec<_> = (0..5).map(|_| sender_on(line.index)).collect();
    // The low class may send one frame at once.
    let sent = [(3, 0x701), (4, 0x701), (1, 0x181), (2, 0x8000_0001), (0, 0x081)];
    let frames: Vec<_> = sent.into_iter().flat_map(|frame| [frame; 4]).collect();
    let left = line.in_turns(tree, &sockets, &Flows { frames: &frames, count: 4 });
    assert_eq!(left[..4], [0; 4], "{left:?}");
    assert!(take_turns(&left, &[1, 2], 1), "{left:?}");
    assert_eq!(left[4..12].iter().filter(|sender| [1, 2].contains(*sender)).count(), 8, "{left:?}");
    // The shaper holds a frame before the other sender comes.
    assert!(take_turns(&left, &[3, 4], 2), "{left:?}");

    // The program with the mark sends three at once, and more are refused. The kernel starts with an empty bucket.
    line.block(tree).unwrap();
    setsockopt(&sockets[0], sockopt::Mark, &7).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let try_one = |_| try_send(&sockets[0], &classic(0x081, &[0; 8])).map_err(|error| error.raw_os_error());
    let outcomes: Vec<_> = (0..20).map(try_one).collect();
    let passed = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(outcomes[..3].iter().all(Result::is_ok) && outcomes.contains(&Err(Some(errno::ENOBUFS))), "{outcomes:?}");
    assert_eq!(line.read(passed), vec![0; passed]);
    line.clear();
}

fn count_of(arrivals: &[(u32, Duration)], id: u32) -> f64 {
    f64::from(u32::try_from(arrivals.iter().filter(|(own, _)| *own == id).count()).unwrap())
}

/// The same tree on a bus of 1 Mbit/s.
fn on_a_bus(tree: &Tree) -> Tree {
    let frame_bytes = if tree.qdiscs[0].stab.is_some() { 256 } else { 16 };
    let rate = ByteRate(MBIT_FRAMES_PER_SECOND * u64::from(frame_bytes));
    below_shaper(tree, Tbf { rate, burst_bytes: frame_bytes, limit_bytes: 100 * frame_bytes, peak: None })
}

/// A.2: the third class does not starve, however much the second one sends; and each has its rate.
#[test]
#[ignore = "runs in a guest"]
fn a_2_a_throttled_class_lets_others_send() {
    let [bands, by_hand] = &trees(THROTTLED)[..] else { panic!("bands and by hand") };
    for tree in [bands, by_hand] {
        let Some(mut fixture) = Fixture::new(CLOCK) else { return };
        fixture.make(&on_a_bus(tree)).unwrap();
        let sockets = [fixture.sender(), fixture.sender()];
        let senders = [(&sockets[0], 0x181), (&sockets[1], 0x701)];
        let heard = hear_and_replace(&fixture, &senders, 1171);
        let both = rate(&heard);
        let share = |id| count_of(&heard, id) / f64::from(u32::try_from(heard.len()).unwrap());
        // The bucket of a band also has room for the lateness of the timer.
        if tree == bands {
            within(both * share(0x181), 780.0, 1.5);
            within(both * share(0x701), 390.0, 1.5);
        } else {
            paced_by_one_frame(both * share(0x181), 780.0);
            within(3.0 * share(0x701), 1.0, 0.004);
        }
    }
    // Without shapers it starves.
    let Some(mut fixture) = Fixture::new(CLOCK) else { return };
    let queues = (1..=3).map(|band| format!("qdisc parent 1:{band} handle {band}0: pfifo limit 300\n"));
    let filters = trees(THROTTLED)[1].filters.clone();
    let mut starving = paced::tree(&format!("qdisc root handle 1: prio\n{}", queues.collect::<String>()));
    starving.filters = filters;
    fixture.make(&on_a_bus(&starving)).unwrap();
    let sockets = [fixture.sender(), fixture.sender()];
    let heard = hear_and_replace(&fixture, &[(&sockets[0], 0x181), (&sockets[1], 0x701)], 200);
    assert!(count_of(&heard, 0x701) <= 1.0, "{heard:?}");
}

/// A.4: "maximum throughput of the class is limited, moreover basic fairness is provided".
#[test]
#[ignore = "runs in a guest"]
fn a_4_throttled_senders_take_turns() {
    let [bands, by_hand] = &trees(THROTTLED_TURNS)[..] else { panic!("bands and by hand") };
    for tree in [bands, by_hand] {
        let Some(mut fixture) = Fixture::new(CLOCK) else { return };
        fixture.make(tree).unwrap();
        let sockets = [fixture.sender(), fixture.sender()];
        let heard = hear_and_replace(&fixture, &[(&sockets[0], 0x181), (&sockets[1], 0x182)], 781);
        // The bucket of a band also has room for the lateness of the timer.
        if tree == bands {
            within(rate(&heard), 780.0, 1.0)
        } else {
            paced_by_one_frame(rate(&heard), 780.0)
        }
        within(count_of(&heard, 0x181) - count_of(&heard, 0x182), 0.0, 2.0);
    }
}

/// A.5: 3, 1 and 6 tenths; turns in the third class; and the others share an unused part in that proportion.
#[test]
#[ignore = "runs in a guest"]
fn a_5_classes_have_their_shares() {
    let [_, tree] = &trees(SHARES)[..] else { panic!("bands and by hand") };
    let Some(mut fixture) = Fixture::new(CLOCK) else { return };
    fixture.make(tree).unwrap();
    let sockets: Vec<_> = (0..4).map(|_| fixture.sender()).collect();
    let ids = [0x005, 0x01F, 0x700, 0x701];
    let all: Vec<_> = sockets.iter().zip(ids).collect();
    let heard = hear_and_replace(&fixture, &all, 1100).split_off(100);
    within(rate(&heard), 6250.0, 62.5);
    for (id, share) in ids.into_iter().zip([300.0, 100.0, 300.0, 300.0]) {
        within(count_of(&heard, id), share, 0.02 * share);
    }
    fixture.clear();
    // With equal quanta each of the others gets half of the unused part, whatever their rates.
    let mut equal = tree.clone();
    for class in &mut equal.classes {
        let Share::Htb(htb) = &mut class.share else { panic!("a class of htb") };
        htb.quantum_bytes = Some(256);
    }
    for (tree, first) in [(tree, 300.0), (&equal, 315.0)] {
        fixture.make(tree).unwrap();
        let heard = hear_and_replace(&fixture, &[all[0], all[2], all[3]], 1000).split_off(100);
        let others = (900.0 - first) / 2.0;
        for (id, share) in [(0x005, first), (0x700, others), (0x701, others)] {
            within(count_of(&heard, id), share, 0.02 * share);
        }
        fixture.clear();
    }
}

/// A.5 as bands, without a clock: each round has the shares, sockets of the last band are equal, and the others share an
/// unused part.
#[test]
#[ignore = "runs in a guest"]
fn a_5_bands_have_their_shares() {
    let [tree, _] = &trees(SHARES)[..] else { panic!("bands and by hand") };
    let Some(mut line) = Line::new(SERIAL) else { return };
    match line.block(tree) {
        Err(error) => {
            assert_eq!(error.errno(), Some(Errno::ENOENT), "{error}");
            return skip(Feature::Ets, &error.to_string());
        }
        Ok(()) => line.clear(),
    }
    let sockets: Vec<_> = (0..4).map(|_| sender_on(line.index)).collect();
    let sent = |counts: [usize; 4]| -> Vec<(usize, u32)> {
        let ids = [0x005, 0x01F, 0x700, 0x701].into_iter().enumerate();
        ids.zip(counts).flat_map(|(frame, count)| vec![frame; count]).collect()
    };
    let counts = |round: &[u8]| [0, 1, 2, 3].map(|sender| round.iter().filter(|own| **own == sender).count());
    let left = line.in_turns(tree, &sockets, &Flows { frames: &sent([30, 10, 30, 30]), count: 2 });
    assert_eq!(left.len(), 100);
    assert!(left.chunks(10).all(|round| counts(round) == [3, 1, 3, 3]), "{left:?}");
    let left = line.in_turns(tree, &sockets, &Flows { frames: &sent([30, 0, 30, 30]), count: 2 });
    assert!(left.chunks(9).all(|round| counts(round) == [3, 0, 3, 3]), "{left:?}");
}

/// Senders that take turns in a tree, and the number of flows in its classes.
struct Flows<'f> {
    frames: &'f [(usize, u32)],
    count: usize,
}

impl Line {
    /// Sends these frames while none leaves. Returns the senders of the frames that leave then.
    ///
    /// Two senders may share a flow, because the hash of `sfq` has a new seed each time. Then it tries again.
    fn in_turns(&mut self, tree: &Tree, senders: &[CanSocket], flows: &Flows<'_>) -> Vec<u8> {
        for _ in 0..5 {
            self.block(tree).unwrap();
            for (sender, id) in flows.frames {
                let number = u8::try_from(*sender).unwrap();
                send(&senders[*sender], &classic(*id, &[number; 8]));
            }
            let is_sfq = |handle: Handle| {
                let of_it = |qdisc: &&Qdisc| qdisc.handle == handle.qdisc();
                tree.qdiscs.iter().find(of_it).is_some_and(|qdisc| qdisc.discipline.kind() == "sfq")
            };
            let found = self.kernel.observe().unwrap();
            let seen = found.bands.iter().filter(|(handle, _)| is_sfq(*handle)).count();
            let left = self.read(flows.frames.len());
            self.clear();
            if seen == flows.count {
                return left;
            }
            println!("two of {} senders share a flow", flows.count);
        }
        panic!("senders share flows every time");
    }
}

/// While all senders have frames, none is more than this many frames ahead.
fn take_turns(left: &[u8], senders: &[u8], ahead: usize) -> bool {
    let of_them: Vec<u8> = left.iter().copied().filter(|sender| senders.contains(sender)).collect();
    let mut counts: BTreeMap<u8, usize> = senders.iter().map(|sender| (*sender, 0)).collect();
    let total = of_them.iter().filter(|sender| **sender == senders[0]).count();
    for sender in of_them {
        *counts.entry(sender).or_default() += 1;
        let (least, most) = (counts.values().min(), counts.values().max());
        if most.unwrap() - least.unwrap() > ahead && *most.unwrap() < total {
            return false;
        }
    }
    true
}

#[test]
#[ignore = "runs in a guest"]
fn two_to_eight_sockets_of_a_band_take_turns() {
    let file = "[bus.b]\ninterface = \"can0\"\n[[egress.b.band]]\nname = \"all\"\nfair = \"per-socket\"\n";
    let [tree] = &trees(file)[..] else { panic!("one bus") };
    let Some(mut line) = Line::new(SERIAL) else { return };
    let sockets: Vec<_> = (0..8).map(|_| sender_on(line.index)).collect();
    for count in 2..=sockets.len() {
        let frames: Vec<_> = (0..count).flat_map(|sender| [(sender, 0x200); 6]).collect();
        let left = line.in_turns(tree, &sockets, &Flows { frames: &frames, count });
        let senders: Vec<u8> = (0..count).map(|sender| u8::try_from(sender).unwrap()).collect();
        assert!(take_turns(&left, &senders, 1), "{count} sockets: {left:?}");
        assert!(left.chunks(count).all(|round| senders.iter().all(|sender| round.contains(sender))), "{left:?}");
    }
}
