//! Trees in which no frame waits and no queue is full, and frames for their filters.

use candor_egress::action::PoliceBytes;
use candor_egress::discipline::{FqCodel, Htb, Netem, Sfq};
use candor_egress::ematch::{CanRule, Ematch};
use candor_egress::tree::{HtbClass, Share};

use super::*;

const PLENTY: ByteRate = ByteRate(10_000_000);
const ROOM: u32 = 1_000_000;
/// `flags` of `struct canfd_frame`.
const FLAGS_AT: usize = 5;

/// The same tree with room, high rates, and actions that this machine supports.
pub(super) fn tree(mut tree: Tree) -> Tree {
    for qdisc in &mut tree.qdiscs {
        calm(&mut qdisc.discipline);
    }
    for class in &mut tree.classes {
        if let Share::Htb(htb) = &mut class.share {
            let HtbClass { prio, .. } = *htb;
            let (burst_bytes, quantum_bytes) = (ROOM, Some(1600));
            *htb = HtbClass { rate: PLENTY, ceil: PLENTY, burst_bytes, ceil_burst_bytes: ROOM, quantum_bytes, prio };
        }
    }
    // The test sends frames only.
    tree.filters.retain(|filter| filter.parent != Handle::INGRESS);
    for action in tree.filters.iter_mut().flat_map(|filter| &mut filter.actions) {
        match action {
            Action::Mirred { interface, .. } => FAR.clone_into(interface),
            // The limit must not matter.
            Action::Police(police) => {
                police.exceed = police.conform;
                police.bytes = police.bytes.map(|_| PoliceBytes { rate: PLENTY, burst_bytes: ROOM, mtu_bytes: ROOM });
            }
            _ => {}
        }
    }
    tree
}

fn calm(discipline: &mut Discipline) {
    match discipline {
        Discipline::Bfifo { limit_bytes } => *limit_bytes = Some(ROOM),
        Discipline::FqCodel(codel) => {
            *codel = FqCodel { flows: codel.flows.map(|flows| flows.min(65_536)), ..FqCodel::default() }
        }
        Discipline::Htb(Htb { direct_frames, .. }) => *direct_frames = Some(ROOM),
        Discipline::Netem(netem) => {
            *netem = Netem { limit_frames: Some(ROOM), delay: Duration::ZERO, ..Netem::default() };
        }
        Discipline::Pfifo { limit_frames } | Discipline::PfifoHeadDrop { limit_frames } => *limit_frames = Some(ROOM),
        Discipline::Sfq(sfq) => *sfq = Sfq { divisor: sfq.divisor.map(|divisor| divisor.min(1024)), ..Sfq::default() },
        Discipline::Skbprio { limit_frames } => *limit_frames = Some(1000),
        Discipline::Tbf(tbf) => *tbf = Tbf { rate: PLENTY, burst_bytes: ROOM, limit_bytes: ROOM, peak: None },
        // It accepts only frames with a transmit time.
        Discipline::Etf(_) => *discipline = Discipline::PfifoFast,
        _ => {}
    }
}

/// Any frame, or one that matches a filter of the tree.
pub(super) fn frame(tree: &Tree, traffic: &mut Traffic) -> Sent {
    let mut frame = traffic.frame();
    let rules: Vec<CanRule> = tree.filters.iter().flat_map(|filter| rules(&filter.classifier)).collect();
    if let Some(rule) = one_of(&rules, traffic)
        && traffic.below(2) == 0
    {
        let id = rule.id & rule.mask & !CAN_EFF_FLAG | frame.id.0 & 0x1FFF_FFFF & !rule.mask;
        let format = rule.id & CAN_EFF_FLAG;
        frame.id = RawId(if format == 0 { id & 0x7FF } else { format | id });
    }
    let mut bytes = bytes_of(&frame);
    let nodes: Vec<_> = tree.filters.iter().filter_map(|filter| node(&filter.classifier)).collect();
    if let Some(node) = one_of(&nodes, traffic)
        && traffic.below(3) == 0
    {
        for key in &node.keys {
            let word = usize::try_from(key.offset).ok().and_then(|at| bytes.get_mut(at..at + 4));
            let Some(word) = word else { continue };
            let old = u32::from_be_bytes(word.try_into().unwrap());
            word.copy_from_slice(&(old & !key.mask | key.value).to_be_bytes());
        }
    }
    if frame.format == FrameFormat::Fd {
        // The kernel always sets it.
        bytes[FLAGS_AT] |= CANFD_FDF;
    }
    let marks: Vec<u32> = tree.filters.iter().map(|filter| filter.handle).chain([0, 1]).collect();
    let classes = tree.classes.iter().map(|class| class.handle.0);
    let named = tree.qdiscs.iter().flat_map(|qdisc| (0..4).map(|minor| qdisc.handle.0 | minor));
    let priorities: Vec<u32> = classes.chain(named).chain(0..40).collect();
    let of = |list: &[u32], traffic: &mut Traffic| one_of(list, traffic).unwrap_or_default();
    Sent { bytes, priority: of(&priorities, traffic), mark: of(&marks, traffic) }
}

fn one_of<T: Clone>(list: &[T], traffic: &mut Traffic) -> Option<T> {
    let count = u32::try_from(list.len()).unwrap();
    (count > 0).then(|| list[usize::try_from(traffic.below(count)).unwrap()].clone())
}

fn node(classifier: &Classifier) -> Option<candor_egress::filter::U32> {
    match classifier {
        Classifier::U32(node) => Some(node.clone()),
        _ => None,
    }
}

fn rules(classifier: &Classifier) -> Vec<CanRule> {
    match classifier {
        Classifier::Basic(Some(expression)) => rules_in(expression),
        _ => Vec::new(),
    }
}

fn rules_in(expression: &Ematch) -> Vec<CanRule> {
    match expression {
        Ematch::And(terms) | Ematch::Or(terms) => terms.iter().flat_map(rules_in).collect(),
        Ematch::Canid(rules) => rules.clone(),
        Ematch::Not(inner) => rules_in(inner),
        _ => Vec::new(),
    }
}
