//! Equal senders take turns, frame by frame.

use std::collections::BTreeMap;

use super::line::Line;
use super::paced::trees;
use super::*;
use crate::serial::SERIAL;

/// Senders that take turns in a tree, and the number of flows in its classes.
pub(super) struct Flows<'f> {
    pub(super) frames: &'f [(usize, u32)],
    pub(super) count: usize,
}

impl Line {
    /// Sends these frames while none leaves. Returns the senders of the frames that leave then.
    ///
    /// Two senders may share a flow, because the hash of `sfq` has a new seed each time. Then it tries again.
    pub(super) fn in_turns(&mut self, tree: &Tree, senders: &[CanSocket], flows: &Flows<'_>) -> Vec<u8> {
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
pub(super) fn take_turns(left: &[u8], senders: &[u8], ahead: usize) -> bool {
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
