//! Interfaces that come and go, and somebody else who changes them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use candor_core::egress::steps::Step;
use proptest::prelude::*;

use super::*;
use crate::played::{Played, TREES, tree};

type Interfaces = Rc<RefCell<BTreeMap<String, (u32, Played)>>>;

/// A machine that a test has hold of, too.
#[derive(Clone, Debug, Default)]
struct Bench(Interfaces);

struct One(Interfaces, String);

impl One {
    fn with<T>(&self, work: impl FnOnce(&mut Played) -> T) -> T {
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
}

impl Bench {
    fn plug(&self, name: &str, number: u32, of: usize) {
        let played = Played { tree: tree(of), ..Played::default() };
        self.0.borrow_mut().insert(name.to_owned(), (number, played));
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

fn words(news: &[News]) -> Vec<String> {
    let word = |news: &News| match news {
        News::AsWanted { interface } => format!("{interface} as wanted"),
        News::Drifted { interface, differences } => format!("{interface} drifted in {}", differences.len()),
        News::Failed { interface, why } => format!("{interface} failed: {why}"),
        News::Fought { interface } => format!("{interface} fought"),
        News::Gone { interface } => format!("{interface} gone"),
        News::PutBack { interface, is_new, .. } => {
            format!("{interface} put back{}", if *is_new { ", another one" } else { "" })
        }
    };
    news.iter().map(word).collect()
}

#[test]
fn an_interface_that_comes_back_gets_its_tree() {
    let bench = Bench::default();
    bench.plug("can0", 3, 1);
    let (mut keeper, applied) = Keeper::apply(bench.clone(), wanted(&[("can0", 2)])).unwrap();
    assert_eq!((applied.len(), bench.has("can0", 2)), (1, true));
    let now = Instant::now();
    assert_eq!(words(&keeper.look(Mend::Yes, now)), [""; 0]);
    bench.unplug("can0");
    assert_eq!(words(&keeper.look(Mend::Yes, now)), ["can0 gone"]);
    assert_eq!(words(&keeper.look(Mend::Yes, now)), [""; 0], "it is told once");
    bench.plug("can0", 4, 0);
    assert_eq!(words(&keeper.look(Mend::Yes, now)), ["can0 put back, another one"]);
    assert!(bench.has("can0", 2));
    keeper.stop().unwrap();
    assert!(bench.has("can0", 0), "the new one had nothing");
}

#[test]
fn nobody_is_fought_for_ever() {
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
fn who_watches_changes_nothing() {
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
fn what_somebody_else_made_is_left_at_the_end() {
    let bench = Bench::default();
    bench.plug("can0", 3, 0);
    let (keeper, _) = Keeper::apply(bench.clone(), wanted(&[("can0", 1)])).unwrap();
    bench.plug("can0", 3, 4);
    assert!(keeper.stop().unwrap().is_empty());
    assert!(bench.has("can0", 4));
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let error = Keeper::apply(Bench::default(), wanted(&[("can7", 1)])).unwrap_err();
    insta::assert_snapshot!(error, @"There is no interface can7, so nothing was changed; ip -br link shows those that there are");
}

proptest! {
    /// Whatever is wanted one after another: at the end all is as it was at first.
    #[test]
    fn at_the_end_all_is_as_it_was(
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
