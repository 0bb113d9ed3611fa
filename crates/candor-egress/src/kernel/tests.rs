//! Applying and supervising trees with a fake kernel that refuses chosen requests, on interfaces that come and go.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::canonical::differences;
use crate::control_group::{ControlGroup, GroupId, GroupName};
use crate::filter::Classifier;
use crate::handle::Handle;
use crate::netlink::TcError;
use crate::steps::{Step, Steps};
use crate::text;
use crate::tree::Tree;
use candor_netlink::client::{Errno, NetlinkError};
use proptest::prelude::*;

use super::apply::*;
use super::control_groups::FindError;
use super::machine::{Kernel, Machine};
use super::supervise::*;

#[derive(Debug, Default)]
struct FakeKernel {
    tree: Tree,
    requests: usize,
    /// Number of the first refused request, and their count.
    refuses: Option<(usize, usize)>,
}

impl Kernel for FakeKernel {
    fn found(&mut self) -> Result<Tree, TcError> {
        Ok(self.tree.clone())
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), TcError> {
        let number = self.requests;
        self.requests += 1;
        if self.refuses.is_some_and(|(first, count)| (first..first + count).contains(&number)) {
            return Err(NetlinkError::Refused { errno: Errno::EINVAL, text: None }.into());
        }
        let Tree { qdiscs, classes, filters } = &mut self.tree;
        match step {
            Step::ChangeClass(class) => {
                classes.iter_mut().filter(|old| old.handle == class.handle).for_each(|old| *old = class.clone());
            }
            Step::ChangeQdisc(qdisc) => {
                qdiscs.iter_mut().filter(|old| old.parent == qdisc.parent).for_each(|old| *old = qdisc.clone());
            }
            Step::MakeClass(class) => classes.push(class.clone()),
            Step::MakeFilter(filter) => filters.push(filter.clone()),
            Step::MakeQdisc(qdisc) => qdiscs.push(qdisc.clone()),
            Step::RemoveFilters { parent, preference } => {
                filters.retain(|filter| (filter.parent, filter.preference) != (*parent, *preference));
            }
            Step::RemoveSide { parent } => {
                let is_clsact = |handle: Handle| handle.qdisc() == Handle::CLSACT_QDISC;
                let goes = |is_of_clsact: bool| is_of_clsact == (*parent == Handle::CLSACT);
                qdiscs.retain(|qdisc| !goes(qdisc.parent == Handle::CLSACT));
                classes.retain(|_| !goes(false));
                filters.retain(|filter| !goes(is_clsact(filter.parent)));
            }
        }
        Ok(())
    }
}

const TREES: &[&str] = &[
    "",
    "qdisc root handle 1: prio\nfilter parent 1: prio 1 basic match 'canid(sff 0:7f0)' flowid 1:1",
    "qdisc root handle 1: prio bands 4\nqdisc parent 1:3 handle 30: pfifo limit 5\nfilter parent 1: prio 2 matchall flowid 1:1",
    "qdisc root handle 2: htb default 10\nclass parent 2: classid 2:10 htb rate 100frames/s burst 16 cburst 16\n\
     qdisc parent 2:10 handle 20: sfq limit 9\nqdisc clsact\nfilter ingress prio 1 matchall action skbedit mark 5",
    "qdisc clsact\nfilter egress prio 1 matchall action drop",
];

fn tree(number: usize) -> Tree {
    text::parse(TREES[number]).unwrap().tree
}

fn target(name: &str, before: usize, wanted: usize, refuses: Option<(usize, usize)>) -> Target<FakeKernel> {
    let kernel = FakeKernel { tree: tree(before), refuses, ..FakeKernel::default() };
    Target { name: name.to_owned(), kernel, wanted: tree(wanted) }
}

#[test]
fn equal_trees_need_no_request() {
    for number in 0..TREES.len() {
        let mut targets = [target("can0", number, number, None)];
        assert_eq!(apply(&mut targets).unwrap()[0].steps, Steps::default());
        assert_eq!(targets[0].kernel.requests, 0);
    }
}

#[test]
fn reports_interfaces_that_cannot_be_restored() {
    let mut targets = [target("can0", 1, 3, Some((2, 50)))];
    let error = apply(&mut targets).unwrap_err();
    assert!(matches!(error.not_restored[..], [(_, Restored::Refused(_))]));
    insta::assert_snapshot!(error, @"The kernel rejected class 2:10 parent 2: on can0; the previous tree of can0 could not be restored: the kernel refused: the kernel rejects a value");
}

proptest! {
    /// From each tree to each other, on two interfaces, with one request or none refused: both are as wanted, or as before.
    #[test]
    fn applies_all_or_none(
        before in prop::array::uniform2(0..TREES.len()),
        wanted in prop::array::uniform2(0..TREES.len()),
        refused in prop::option::of((0..2_usize, 0..12_usize)),
    ) {
        let refuses = |at| refused.filter(|(on, _)| *on == at).map(|(_, number)| (number, 1));
        let mut targets =
            [0, 1].map(|at| target(["can0", "can1"][at], before[at], wanted[at], refuses(at)));
        let outcome = apply(&mut targets);
        let expected = if outcome.is_ok() { wanted } else { before };
        for (target, expected) in targets.iter().zip(expected) {
            prop_assert_eq!(differences(&tree(expected), &target.kernel.tree), []);
        }
        if let Err(error) = outcome {
            prop_assert!(error.not_restored.is_empty());
        }
    }
}

type Interfaces = Rc<RefCell<BTreeMap<String, (u32, FakeKernel)>>>;

/// The numbers of groups by their names; one without a number cannot be looked for.
type Groups = Rc<RefCell<BTreeMap<String, Option<u64>>>>;

#[derive(Clone, Debug, Default)]
struct Bench(Interfaces, Groups);

struct One(Interfaces, String);

impl One {
    fn with<T>(&self, work: impl FnOnce(&mut FakeKernel) -> T) -> T {
        work(&mut self.0.borrow_mut().get_mut(&self.1).unwrap().1)
    }
}

impl Kernel for One {
    fn found(&mut self) -> Result<Tree, TcError> {
        self.with(Kernel::found)
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), TcError> {
        self.with(|played| played.carry_out(step))
    }
}

impl Machine for Bench {
    type Kernel = One;

    fn open(&mut self, name: &str) -> Result<Option<(u32, One)>, TcError> {
        let number = self.0.borrow().get(name).map(|(number, _)| *number);
        Ok(number.map(|number| (number, One(Rc::clone(&self.0), name.to_owned()))))
    }

    fn group_id(&mut self, name: &GroupName) -> Result<Option<GroupId>, FindError> {
        let groups = self.1.borrow();
        match groups.get(name.as_str()) {
            Some(Some(id)) => Ok(Some(GroupId { level: 1, id: *id })),
            Some(None) => Err(FindError::NotMounted),
            None => Ok(None),
        }
    }
}

impl Bench {
    fn plug(&self, name: &str, number: u32, of: usize) {
        let played = FakeKernel { tree: tree(of), ..FakeKernel::default() };
        self.0.borrow_mut().insert(name.to_owned(), (number, played));
    }

    fn group(&self, name: &str, id: Option<u64>) {
        self.1.borrow_mut().insert(name.to_owned(), id);
    }

    fn no_group(&self, name: &str) {
        self.1.borrow_mut().remove(name);
    }

    /// The numbers that the filters of an interface look for.
    fn groups_of(&self, name: &str) -> Vec<Option<u64>> {
        let interfaces = self.0.borrow();
        let groups = interfaces[name].1.tree.filters.iter().filter_map(|filter| match &filter.classifier {
            Classifier::ControlGroups(groups) => Some(groups.clone()),
            _ => None,
        });
        groups.flatten().map(|group| group.id.map(|id| id.id)).collect()
    }

    fn unplug(&self, name: &str) {
        self.0.borrow_mut().remove(name);
    }

    fn has(&self, name: &str, of: usize) -> bool {
        let interfaces = self.0.borrow();
        differences(&tree(of), &interfaces[name].1.tree).is_empty()
    }
}

fn wanted(of: &[(&str, usize)]) -> Vec<(String, Tree)> {
    of.iter().map(|(name, number)| ((*name).to_owned(), tree(*number))).collect()
}

fn named(groups: &[GroupName]) -> String {
    groups.iter().map(|group| format!(" {group}")).collect()
}

fn by_groups() -> Tree {
    let mut tree = tree(1);
    let groups = [GroupName::unit("a.service"), GroupName::path("/b")].map(|name| ControlGroup::named(name.unwrap()));
    tree.filters[0].classifier = Classifier::ControlGroups(groups.to_vec());
    tree
}

fn words(news: &[News]) -> Vec<String> {
    let words = |news: &News| match &news.event {
        Event::AsWanted => " as wanted".to_owned(),
        Event::Drifted(differences) => format!(" drifted in {}", differences.len()),
        Event::Failed(why) => format!(" failed: {why}"),
        Event::Followed(groups) => format!(" followed{}", named(groups)),
        Event::NoGroups(groups) => format!(" without{}", named(groups)),
        Event::Fought => " fought".to_owned(),
        Event::Gone => " gone".to_owned(),
        Event::PutBack { is_new, .. } => format!(" put back{}", if *is_new { ", another one" } else { "" }),
    };
    news.iter().map(|news| news.interface.clone() + &words(news)).collect()
}

#[test]
fn repairs_a_replaced_interface() {
    let bench = Bench::default();
    bench.plug("can0", 3, 1);
    let (mut keeper, applied) = Keeper::apply(bench.clone(), wanted(&[("can0", 2)])).unwrap();
    assert_eq!((applied.len(), bench.has("can0", 2)), (1, true));
    let now = Instant::now();
    assert_eq!(words(&keeper.look(Mend::Yes, now)), [""; 0]);
    bench.unplug("can0");
    assert_eq!(words(&keeper.look(Mend::Yes, now)), ["can0 gone"]);
    assert_eq!(words(&keeper.look(Mend::Yes, now)), [""; 0], "it is reported once");
    bench.plug("can0", 4, 0);
    assert_eq!(words(&keeper.look(Mend::Yes, now)), ["can0 put back, another one"]);
    assert!(bench.has("can0", 2));
    keeper.stop().unwrap();
    assert!(bench.has("can0", 0), "the new one had nothing");
}

#[test]
fn pauses_after_repeated_repairs() {
    let bench = Bench::default();
    bench.plug("can0", 3, 0);
    let (mut keeper, _) = Keeper::apply(bench.clone(), wanted(&[("can0", 1)])).unwrap();
    let start = Instant::now();
    for second in 0..5 {
        bench.plug("can0", 3, 0);
        assert_eq!(words(&keeper.look(Mend::Yes, start + Duration::from_secs(second))), ["can0 put back"]);
    }
    bench.plug("can0", 3, 0);
    assert_eq!(words(&keeper.look(Mend::Yes, start + Duration::from_secs(6))), ["can0 fought"]);
    assert!(bench.has("can0", 0));
    assert_eq!(words(&keeper.look(Mend::Yes, start + Duration::from_secs(61))), ["can0 put back"]);
}

#[test]
fn follows_restarted_services() {
    let bench = Bench::default();
    bench.plug("can0", 3, 0);
    bench.group("/b", Some(2));
    let (mut keeper, _) = Keeper::apply(bench.clone(), vec![("can0".to_owned(), by_groups())]).unwrap();
    assert_eq!(bench.groups_of("can0"), [None, Some(2)]);
    let look = |keeper: &mut Keeper<Bench>, second| {
        words(&keeper.look(Mend::Yes, Instant::now() + Duration::from_secs(second)))
    };
    assert_eq!(look(&mut keeper, 0), ["can0 without unit a.service"]);
    assert_eq!(look(&mut keeper, 0), [""; 0], "it is reported once");
    assert!(keeper.has_groups() && !keeper.have_groups_moved());
    // Any number of restarts is followed.
    for number in 1..=20 {
        bench.group("a.service", Some(number));
        assert!(keeper.have_groups_moved());
        assert_eq!(look(&mut keeper, 1), ["can0 followed unit a.service"]);
        assert_eq!(bench.groups_of("can0"), [Some(number), Some(2)]);
    }
    bench.no_group("a.service");
    assert_eq!(look(&mut keeper, 2), ["can0 without unit a.service"]);
    assert_eq!(bench.groups_of("can0"), [Some(20), Some(2)], "the group is empty, and no other frame is lost");
    bench.plug("can0", 4, 0);
    assert_eq!(look(&mut keeper, 3), ["can0 put back, another one"]);
    assert_eq!(bench.groups_of("can0"), [None, Some(2)]);
    keeper.stop().unwrap();
    assert!(bench.has("can0", 0));
}

#[test]
fn reports_failed_group_lookups_without_changes() {
    let bench = Bench::default();
    bench.plug("can0", 3, 0);
    bench.group("a.service", Some(1));
    bench.group("/b", Some(2));
    let by_groups = vec![("can0".to_owned(), by_groups())];
    let (mut keeper, _) = Keeper::apply(bench.clone(), by_groups.clone()).unwrap();
    bench.group("a.service", None);
    let why = "cgroup v2 is not mounted: sudo mount -t cgroup2 none /sys/fs/cgroup";
    assert_eq!(words(&keeper.look(Mend::Yes, Instant::now())), [format!("can0 failed: {why}")]);
    assert_eq!(bench.groups_of("can0"), [Some(1), Some(2)]);
    assert_eq!(keeper.change(by_groups.clone()).unwrap_err().to_string(), why);
    bench.group("a.service", Some(1));
    assert_eq!(words(&keeper.look(Mend::Yes, Instant::now())), ["can0 as wanted"]);
    // A watcher reports it.
    let mut watcher = Keeper::watch(bench.clone(), by_groups);
    assert_eq!(words(&watcher.look(Mend::No, Instant::now())), [""; 0]);
    bench.group("a.service", Some(9));
    assert_eq!(words(&watcher.look(Mend::No, Instant::now())), ["can0 drifted in 1"]);
}

#[test]
fn watching_changes_nothing() {
    let bench = Bench::default();
    bench.plug("can0", 3, 1);
    let mut keeper = Keeper::watch(bench.clone(), wanted(&[("can0", 2), ("can1", 2)]));
    let now = Instant::now();
    assert_eq!(words(&keeper.look(Mend::No, now)), ["can0 drifted in 4", "can1 gone"]);
    assert!(bench.has("can0", 1));
    bench.plug("can0", 3, 2);
    assert_eq!(words(&keeper.look(Mend::No, now)), ["can0 as wanted"]);
}

#[test]
fn stop_keeps_foreign_trees() {
    let bench = Bench::default();
    bench.plug("can0", 3, 0);
    let (keeper, _) = Keeper::apply(bench.clone(), wanted(&[("can0", 1)])).unwrap();
    bench.plug("can0", 3, 4);
    assert!(keeper.stop().unwrap().is_empty());
    assert!(bench.has("can0", 4));
}

#[test]
fn names_the_missing_interface() {
    let error = Keeper::apply(Bench::default(), wanted(&[("can7", 1)])).unwrap_err();
    insta::assert_snapshot!(error, @"Interface can7 not found, nothing was changed; ip -br link lists the interfaces");
}

proptest! {
    /// After any sequence of trees, the end restores the state before the first one.
    #[test]
    fn stop_restores_the_previous_trees(
        before in prop::array::uniform2(0..TREES.len()),
        plans in prop::collection::vec(prop::array::uniform2(prop::option::of(0..TREES.len())), 1..5),
    ) {
        let bench = Bench::default();
        bench.plug("can0", 3, before[0]);
        bench.plug("can1", 4, before[1]);
        let plan = |plan: &[Option<usize>; 2]| -> Vec<_> {
            let each = ["can0", "can1"].into_iter().zip(plan);
            wanted(&each.filter_map(|(name, number)| Some((name, (*number)?))).collect::<Vec<_>>())
        };
        let (mut keeper, _) = Keeper::apply(bench.clone(), plan(&plans[0])).unwrap();
        for next in &plans[1..] {
            keeper.change(plan(next)).unwrap();
            for ((name, number), first) in ["can0", "can1"].iter().zip(next).zip(before) {
                prop_assert!(bench.has(name, number.unwrap_or(first)));
            }
        }
        keeper.stop().unwrap();
        prop_assert!(bench.has("can0", before[0]) && bench.has("can1", before[1]));
    }
}
