//! The counters of filters, classes and disciplines, compared with the oracle; random trees.

use std::collections::BTreeMap;
use std::io;

use candor_core::frame::{CAN_EFF_FLAG, CANFD_FDF};
use candor_egress::arbitrary;
use candor_egress::classify::{self, Course, End, Packet, SenderResult, Socket};
use candor_egress::filter::{Classifier, ETH_P_CAN, ETH_P_CANFD};
use candor_egress::netlink::{FilterStats, Hits};
use candor_egress::text;
use nix::sys::socket::{setsockopt, sockopt};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;
use crate::traffic::Traffic;

mod quiet;

const FRAMES: usize = 40;

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

#[derive(Debug, Default)]
pub(super) struct Counts {
    /// By filter: frames tested, and frames that matched.
    filters: BTreeMap<usize, (u64, u64)>,
    waited: BTreeMap<(Handle, Handle), u64>,
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
                // Frames dropped by clsact filters count there.
                End::Dropped { at, .. } => *counts.dropped.entry(at.qdisc()).or_default() += 1,
                End::Direct { .. } | End::Taken | End::Unknown(_) => {}
            }
        }
        counts
    }

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
            // A filter that matches everything does not count tests.
            differences.extend(hits.tested.and_then(|tested| different(&format!("{name} asked"), asked, tested)));
        }
        differences
    }

    /// Differences of the counters of disciplines and classes, after every frame has left.
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

/// A `u32` node with a link counts as hits only the frames that return from there; its keys count all matches.
fn fits(hits: &Hits) -> u64 {
    hits.keys.last().copied().unwrap_or(hits.hit)
}

/// Positions of filters in an order that both trees share.
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

/// Frames that have left; `None` if the kernel has no counter.
fn frames_of(found: &Observed, class: Handle, qdisc: Handle) -> Option<u64> {
    if qdisc != Handle::NONE {
        let at = found.tree.qdiscs.iter().position(|other| other.handle == qdisc).unwrap();
        return Some(found.qdiscs[at].frames);
    }
    let made = found.tree.classes.iter().position(|other| other.handle == class);
    let band = || found.bands.iter().find(|(band, _)| *band == class).map(|(_, stats)| stats);
    made.map(|at| &found.classes[at]).or_else(band).map(|stats| stats.queue.frames)
}

fn shown(tree: &Tree) -> String {
    text::script(tree, FAR).unwrap_or_else(|_not_sayable| format!("{tree:#?}"))
}

fn cases(default: usize) -> usize {
    std::env::var("CANDOR_CASES").map_or(default, |cases| cases.parse().unwrap())
}

/// Random trees, always the same.
fn random_trees() -> impl FnMut() -> Tree {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    move || arbitrary::tree().new_tree(&mut runner).unwrap().current()
}

#[test]
#[ignore = "runs in a guest"]
fn random_trees_are_read_back_unchanged() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let (mut random, cases, mut made) = (random_trees(), cases(20), 0);
    for _ in 0..cases {
        let tree = random();
        // No kernel accepts every value; what it accepts must come back.
        match fixture.make(&tree) {
            Ok(()) => {
                let found = fixture.observe().tree;
                assert_eq!(differences(&tree, &found), [], "{tree:#?}");
                made += 1;
            }
            Err(TcError::Netlink(error)) => println!("refused: {error}"),
            Err(TcError::Encode(error)) => println!("not sent: {error}"),
            Err(error) => panic!("{error}"),
        }
        fixture.clear();
    }
    println!("{made} of {cases} trees were made");
}

/// Random trees in which no frame waits, and frames for their filters.
#[test]
#[ignore = "runs in a guest"]
fn counters_agree_with_the_oracle() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let (mut random, cases) = (random_trees(), cases(40));
    let sender = fixture.sender();
    let mut traffic = Traffic::from_seed(6);
    let (mut trees, mut frames, mut fitted) = (0, 0, 0);
    for _ in 0..cases {
        let tree = quiet::tree(random());
        match fixture.make(&tree) {
            Ok(()) => {}
            Err(TcError::Netlink(error)) => {
                println!("refused: {error}");
                fixture.clear();
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
            let heard = matches!(course.end, End::Dropped { result: SenderResult::Enobufs, .. });
            match sent.send(&sender).map_err(|error| error.raw_os_error()) {
                Ok(()) => assert!(!heard, "{course:?} {sent:?} {}", shown(&tree)),
                Err(Some(errno::ENOBUFS)) => assert!(heard, "{course:?} {sent:?} {}", shown(&tree)),
                // A match of a filter made bytes that are no frame.
                Err(Some(errno::EINVAL)) => continue,
                Err(error) => panic!("{error:?}"),
            }
            courses.push(course);
        }
        let found = fixture.observe();
        let counts = Counts::of(&courses);
        let differences = [counts.at_filters(&tree, &found), counts.at_queues(&tree, &found)].concat();
        assert!(differences.is_empty(), "{differences:#?}\n{}\n{sent:?}\n{courses:?}", shown(&tree));
        trees += 1;
        frames += courses.len();
        fitted += courses.iter().flat_map(|course| &course.tested).filter(|tested| tested.fits).count();
        fixture.clear();
    }
    println!("{trees} trees, {frames} frames, {fitted} matches");
    assert!(trees > cases / 3 && frames > trees * FRAMES / 4 && fitted > frames / 4);
}
