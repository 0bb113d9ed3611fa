//! What filters, classes and disciplines have counted, against what the oracle says of the same frames.

use std::collections::BTreeMap;
use std::io;

use candor_core::frame::{CAN_EFF_FLAG, CANFD_FDF, CANFD_MTU, FrameFormat, RawId};
use candor_egress::arbitrary;
use candor_egress::classify::{self, Course, End, Heard, Packet, Socket};
use candor_egress::filter::{Classifier, ETH_P_CAN, ETH_P_CANFD};
use candor_egress::netlink::{FilterStats, Hits};
use candor_egress::text;
use candor_io::can::CanSocket;
use nix::sys::socket::{setsockopt, sockopt};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;
use crate::frames::sender_on;
use crate::traffic::Traffic;

mod quiet;

const DEFAULT_CASES: usize = 40;
const FRAMES: usize = 40;
const ENOBUFS: i32 = 105;
const EINVAL: i32 = 22;

/// A frame as it is handed over, and how.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    pub(super) priority: u32,
    pub(super) mark: u32,
}

impl Sent {
    pub(super) fn packet(&self) -> Packet<'_> {
        let protocol = if self.bytes.len() == CANFD_MTU { ETH_P_CANFD } else { ETH_P_CAN };
        let socket = Some(Socket { user: 0, group: 0, control_groups: &[] });
        Packet { bytes: &self.bytes, protocol, priority: self.priority, mark: self.mark, socket, incoming_interface: 0 }
    }

    pub(super) fn course(&self, tree: &Tree) -> Course {
        classify::egress(tree, &self.packet())
    }

    pub(super) fn send(&self, socket: &CanSocket) -> io::Result<()> {
        setsockopt(socket, sockopt::Priority, &i32::from_ne_bytes(self.priority.to_ne_bytes()))?;
        setsockopt(socket, sockopt::Mark, &self.mark)?;
        socket.write(&self.bytes)
    }
}

/// What a kernel is to have counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Of each filter of the tree: how often it was asked, and how often the frame fitted.
    filters: BTreeMap<usize, (u64, u64)>,
    /// Frames that came to wait, by class and discipline.
    waited: BTreeMap<(Handle, Handle), u64>,
    /// Frames that a discipline dropped.
    dropped: BTreeMap<Handle, u64>,
}

impl Counts {
    pub(super) fn of<'c>(courses: impl IntoIterator<Item = &'c Course>) -> Self {
        let mut counts = Self::default();
        for course in courses {
            for tested in &course.tested {
                let (asked, fitted) = counts.filters.entry(tested.filter).or_default();
                *asked += 1;
                *fitted += u64::from(tested.fits);
            }
            match &course.end {
                End::Queue { class, qdisc } => *counts.waited.entry((*class, *qdisc)).or_default() += 1,
                // What filters of clsact drop counts there.
                End::Dropped { at, .. } => *counts.dropped.entry(at.qdisc()).or_default() += 1,
                End::Direct { .. } | End::Taken | End::Unknown(_) => {}
            }
        }
        counts
    }

    /// Where filters have counted something else; for people.
    pub(super) fn at_filters(&self, tree: &Tree, found: &Observed) -> Vec<String> {
        let mut differences = Vec::new();
        let (wanted, counted) = (in_order(tree), in_order(&found.tree));
        assert_eq!(wanted.len(), counted.len());
        for (number, at) in wanted.into_iter().zip(counted) {
            let filter = &tree.filters[number];
            let (asked, fitted) = self.filters.get(&number).copied().unwrap_or_default();
            let name = format!("{} {} prio {}", filter.parent, filter.classifier.kind(), filter.preference);
            let FilterStats { hits: Some(hits), .. } = &found.filters[at] else { continue };
            if is_table(filter) {
                continue;
            }
            differences.extend(different(&format!("{name} fitted"), fitted, fits(hits)));
            // What always fits does not count how often it is asked.
            differences.extend(hits.tested.and_then(|tested| different(&format!("{name} asked"), asked, tested)));
        }
        differences
    }

    /// Where disciplines and classes through which every frame has passed have counted something else.
    pub(super) fn at_queues(&self, tree: &Tree, found: &Observed) -> Vec<String> {
        let mut differences = Vec::new();
        for (qdisc, stats) in found.tree.qdiscs.iter().zip(&found.qdiscs) {
            let is_below = |other: &Handle| is_at_or_below(tree, *other, qdisc.handle);
            let dropped = self.dropped.iter().filter(|(at, _)| is_below(at)).map(|(_, count)| count).sum();
            let name = format!("{} {} dropped", qdisc.handle, qdisc.discipline.kind());
            differences.extend(different(&name, dropped, stats.drops.into()));
        }
        for (&(class, qdisc), &count) in &self.waited {
            let counted = frames_of(found, class, qdisc);
            differences
                .extend(counted.and_then(|counted| different(&format!("{class} {qdisc} frames"), count, counted)));
        }
        differences
    }
}

fn different(what: &str, wanted: u64, counted: u64) -> Option<String> {
    (wanted != counted).then(|| format!("{what}: {counted} instead of {wanted}"))
}

fn is_table(filter: &Filter) -> bool {
    matches!(&filter.classifier, Classifier::U32(node) if node.divisor.is_some())
}

/// A node of `u32` that leads on counts as hit only what comes back from there; its keys count all that fits.
fn fits(hits: &Hits) -> u64 {
    hits.keys.last().copied().unwrap_or(hits.hit)
}

/// Positions of filters in the order in which every tree has them.
fn in_order(tree: &Tree) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..tree.filters.len()).collect();
    positions.sort_by_key(|at| {
        let filter = &tree.filters[*at];
        (filter.parent, filter.preference, !is_table(filter), *at)
    });
    positions
}

fn is_at_or_below(tree: &Tree, mut qdisc: Handle, above: Handle) -> bool {
    for _ in 0..=tree.qdiscs.len() {
        if qdisc == above {
            return true;
        }
        let found = tree.qdiscs.iter().find(|other| other.handle == qdisc && other.parent != Handle::ROOT);
        let Some(found) = found else { return false };
        qdisc = found.parent.qdisc();
    }
    false
}

/// What waited there, and has left; `None` where the kernel does not tell.
fn frames_of(found: &Observed, class: Handle, qdisc: Handle) -> Option<u64> {
    if qdisc != Handle::NONE {
        let at = found.tree.qdiscs.iter().position(|other| other.handle == qdisc).unwrap();
        return Some(found.qdiscs[at].frames);
    }
    let made = found.tree.classes.iter().position(|other| other.handle == class);
    let band = || found.bands.iter().find(|(band, _)| *band == class).map(|(_, stats)| stats);
    made.map(|at| &found.classes[at]).or_else(band).map(|stats| stats.queue.frames)
}

/// For people.
fn shown(tree: &Tree) -> String {
    text::script(tree, FAR).unwrap_or_else(|_not_sayable| format!("{tree:#?}"))
}

/// Random trees through which every frame passes at once, frames that meet their filters, and all that was counted.
#[test]
#[ignore = "runs in a guest"]
fn kernels_count_what_the_oracle_says() {
    let Some(_machine) = require(NEEDS) else { return };
    let cases = std::env::var("CANDOR_CASES").map_or(DEFAULT_CASES, |cases| cases.parse().unwrap());
    let mut place = Place::new();
    let sender = sender_on(place.pair.near);
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut traffic = Traffic::from_seed(6);
    let (mut trees, mut frames, mut fitted) = (0, 0, 0);
    for _ in 0..cases {
        let tree = quiet::tree(arbitrary::tree().new_tree(&mut runner).unwrap().current());
        match place.make(&tree) {
            Ok(()) => {}
            Err(TcError::Netlink(error)) => {
                println!("refused: {error}");
                place.clear();
                continue;
            }
            Err(error) => panic!("{error}: {}", shown(&tree)),
        }
        let sent: Vec<_> = (0..FRAMES).map(|_| quiet::frame(&tree, &mut traffic)).collect();
        let mut courses = Vec::new();
        for sent in &sent {
            let course = sent.course(&tree);
            if matches!(course.end, End::Unknown(_)) {
                continue;
            }
            let heard = matches!(course.end, End::Dropped { heard: Heard::Sender, .. });
            match sent.send(&sender).map_err(|error| error.raw_os_error()) {
                Ok(()) => assert!(!heard, "{course:?} {sent:?} {}", shown(&tree)),
                Err(Some(ENOBUFS)) => assert!(heard, "{course:?} {sent:?} {}", shown(&tree)),
                // No frame: a match on it led to bytes that are none.
                Err(Some(EINVAL)) => continue,
                Err(error) => panic!("{error:?}"),
            }
            courses.push(course);
        }
        let found = place.observe();
        let counts = Counts::of(&courses);
        let differences = [counts.at_filters(&tree, &found), counts.at_queues(&tree, &found)].concat();
        assert!(differences.is_empty(), "{differences:#?}\n{}\n{sent:?}\n{courses:?}", shown(&tree));
        trees += 1;
        frames += courses.len();
        fitted += courses.iter().flat_map(|course| &course.tested).filter(|tested| tested.fits).count();
        place.clear();
    }
    println!("{trees} trees, {frames} frames, which fitted {fitted} times");
    assert!(trees > cases / 3 && frames > trees * FRAMES / 4 && fitted > frames / 4);
}
