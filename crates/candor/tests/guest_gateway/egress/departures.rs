//! The frames that leave a tree once no more come, and their order: the oracle gives the queue of each frame, and this model
//! the order of each discipline. Rates are ignored.

use std::collections::BTreeMap;

use candor_egress::classify::{Course, End};
use candor_egress::discipline::Sfq;
use candor_egress::filter::FlowKey;
use candor_egress::tree::Share;

use super::counted::Sent;
use super::*;

/// Of a classic frame.
const FRAME_BYTES: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) sent: Sent,
    pub(super) socket: usize,
}

/// Numbers of frames in the order in which they leave.
type Order = Vec<usize>;

struct Model<'t> {
    tree: &'t Tree,
    waiting: &'t [Waiting],
    courses: Vec<Course>,
    /// The frames of each class and discipline, in order of arrival.
    queues: BTreeMap<(Handle, Handle), Order>,
    frame_bytes: u32,
}

pub(super) fn order(tree: &Tree, waiting: &[Waiting]) -> Order {
    let courses: Vec<_> = waiting.iter().map(|frame| frame.sent.course(tree)).collect();
    let mut queues: BTreeMap<_, Order> = BTreeMap::new();
    for (number, course) in courses.iter().enumerate() {
        if let End::Queue { class, qdisc } = &course.end {
            queues.entry((*class, *qdisc)).or_default().push(number);
        }
    }
    let root = tree.qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT).unwrap();
    let overhead = root.stab.as_ref().map_or(0, |stab| stab.overhead_bytes);
    let frame_bytes = FRAME_BYTES.checked_add_signed(overhead).unwrap();
    Model { tree, waiting, courses, queues, frame_bytes }.out_of(root, Handle::NONE)
}

impl Model<'_> {
    fn out_of(&self, qdisc: &Qdisc, class: Handle) -> Order {
        let own = self.queues.get(&(class, qdisc.handle)).cloned().unwrap_or_default();
        match &qdisc.discipline {
            Discipline::Prio(prio) => self.bands(qdisc, 1..=prio.bands).concat(),
            Discipline::Ets(ets) => {
                let strict = self.bands(qdisc, 1..=ets.strict).concat();
                let others = self.bands(qdisc, ets.strict + 1..=ets.bands);
                let turns = others.into_iter().zip(ets.quanta_bytes.iter().copied()).collect();
                [strict, self.in_turns(turns)].concat()
            }
            Discipline::Drr => {
                let of = |class: &Class| match class.share {
                    Share::Drr { quantum_bytes } => (self.below(class.handle), quantum_bytes.unwrap()),
                    _ => panic!("a class of drr"),
                };
                self.in_turns(self.classes(qdisc).map(of).collect())
            }
            Discipline::Htb(_) => self.htb(qdisc),
            Discipline::Netem(_) | Discipline::Tbf(_) => {
                let child = self.tree.qdiscs.iter().find(|child| child.parent.qdisc() == qdisc.handle);
                child.map_or(own, |child| self.out_of(child, child.parent))
            }
            Discipline::FqCodel(codel) => self.flows(qdisc, &own, codel.quantum_bytes.unwrap(), None),
            Discipline::Sfq(Sfq { quantum_bytes, depth_frames, .. }) => {
                self.flows(qdisc, &own, quantum_bytes.unwrap(), *depth_frames)
            }
            Discipline::Skbprio { limit_frames } => {
                let mut own = own;
                own.sort_by_key(|frame| std::cmp::Reverse(self.priority(*frame)));
                // Of equal frames the last is dropped.
                own.truncate(limited(own.len(), *limit_frames));
                own
            }
            first_in_first_out if qdisc.parent == Handle::ROOT => {
                // An empty root is bypassed. The driver gives back a frame for which it has no room; that frame stays the
                // first, and counts against the limit.
                let (first, rest) = own.split_at(own.len().min(1));
                [first, &self.fifo(first_in_first_out, rest, 1)].concat()
            }
            first_in_first_out => self.fifo(first_in_first_out, &own, 0),
        }
    }

    fn fifo(&self, discipline: &Discipline, own: &[usize], taken: u32) -> Order {
        let room = |limit: Option<u32>| limited(own.len(), limit.map(|limit| limit - taken));
        match discipline {
            Discipline::PfifoFast => {
                let mut own = own.to_vec();
                own.sort_by_key(|frame| Prio::PRIOMAP[usize::from(self.priority(*frame).to_le_bytes()[0] & 15)]);
                own
            }
            Discipline::Pfifo { limit_frames } => own[..room(*limit_frames)].to_vec(),
            Discipline::PfifoHeadDrop { limit_frames } => own[own.len() - room(*limit_frames)..].to_vec(),
            Discipline::Bfifo { limit_bytes } => {
                own[..room(limit_bytes.map(|limit| limit / self.frame_bytes))].to_vec()
            }
            other => panic!("no order for {}", other.kind()),
        }
    }

    fn below(&self, class: Handle) -> Order {
        match self.tree.qdiscs.iter().find(|qdisc| qdisc.parent == class) {
            Some(qdisc) => self.out_of(qdisc, class),
            None => self.queues.get(&(class, Handle::NONE)).cloned().unwrap_or_default(),
        }
    }

    fn bands(&self, qdisc: &Qdisc, numbers: std::ops::RangeInclusive<u8>) -> Vec<Order> {
        numbers.map(|number| self.below(Handle::new(qdisc.handle.major(), number.into()))).collect()
    }

    fn classes(&self, qdisc: &Qdisc) -> impl Iterator<Item = &Class> {
        self.tree.classes.iter().filter(move |class| class.handle.qdisc() == qdisc.handle)
    }

    fn priority(&self, frame: usize) -> u32 {
        self.waiting[frame].sent.priority
    }

    /// Deficit round robin, in the order of the first frames. Quanta are whole frames.
    fn in_turns(&self, mut turns: Vec<(Order, u32)>) -> Order {
        turns.sort_by_key(|(frames, _)| frames.iter().min().copied());
        let mut order = Vec::new();
        while turns.iter().any(|(frames, _)| !frames.is_empty()) {
            for (frames, quantum) in &mut turns {
                assert_eq!(*quantum % self.frame_bytes, 0, "quanta are whole frames");
                let turn = usize::try_from(*quantum / self.frame_bytes).unwrap().min(frames.len());
                order.extend(frames.drain(..turn));
            }
        }
        order
    }

    fn flows(&self, qdisc: &Qdisc, own: &[usize], quantum: u32, depth: Option<u32>) -> Order {
        let mut flows: BTreeMap<u32, Order> = BTreeMap::new();
        for &frame in own {
            let flow = flows.entry(self.flow(qdisc, frame)).or_default();
            if depth.is_none_or(|depth| flow.len() < depth.try_into().unwrap()) {
                flow.push(frame);
            }
        }
        self.in_turns(flows.into_values().map(|flow| (flow, quantum)).collect())
    }

    /// The flow that the filters select; without filters there is one flow.
    fn flow(&self, qdisc: &Qdisc, frame: usize) -> u32 {
        let tested = self.courses[frame].tested.iter().filter(|tested| tested.fits);
        let filters: Vec<_> = tested.map(|tested| &self.tree.filters[tested.filter]).collect();
        let mut given = filters.iter().flat_map(|filter| &filter.actions).filter_map(|action| match action {
            Action::Skbedit { priority, .. } => *priority,
            _ => None,
        });
        let priority = given.next_back().unwrap_or_else(|| Handle(self.priority(frame)));
        if priority.qdisc() == qdisc.handle {
            return priority.0;
        }
        let Some(last) = filters.iter().rfind(|filter| filter.parent == qdisc.handle) else { return 0 };
        match &last.classifier {
            Classifier::Flow(flow) => match flow.keys[..] {
                [FlowKey::Source] => self.waiting[frame].socket.try_into().unwrap(),
                [FlowKey::Mark] => self.waiting[frame].sent.mark,
                [FlowKey::Priority] => self.priority(frame),
                _ => panic!("no order for these keys"),
            },
            _ => last.class.unwrap_or(Handle::NONE).0,
        }
    }

    /// Frames without a class, then the classes by priority, and in turns by number. A class starts with a deficit of 0, so its
    /// first turn is a single frame.
    fn htb(&self, qdisc: &Qdisc) -> Order {
        let direct = |course: &Course| matches!(&course.end, End::Direct { qdisc: at } if *at == qdisc.handle);
        let mut order: Order = (0..self.courses.len()).filter(|frame| direct(&self.courses[*frame])).collect();
        let mut classes: Vec<_> = self
            .classes(qdisc)
            .map(|class| match class.share {
                Share::Htb(htb) => {
                    (htb.prio, class.handle, self.below(class.handle), htb.quantum_bytes.unwrap(), 0_i64)
                }
                _ => panic!("a class of htb"),
            })
            .collect();
        classes.sort_by_key(|(prio, handle, ..)| (*prio, *handle));
        for same in classes.chunk_by_mut(|one, other| one.0 == other.0) {
            while same.iter().any(|(_, _, frames, ..)| !frames.is_empty()) {
                for (_, _, frames, quantum, deficit) in &mut *same {
                    while !frames.is_empty() {
                        order.push(frames.remove(0));
                        *deficit -= i64::from(self.frame_bytes);
                        if *deficit < 0 {
                            *deficit += i64::from(*quantum);
                            break;
                        }
                    }
                }
            }
        }
        order
    }
}

fn limited(count: usize, limit: Option<u32>) -> usize {
    limit.map_or(count, |limit| count.min(limit.try_into().unwrap()))
}
