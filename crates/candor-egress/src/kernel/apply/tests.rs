//! Against a kernel that is played, which refuses whichever request it is told to.

use proptest::prelude::*;

use super::*;
use crate::kernel::fake_kernel::{FakeKernel, TREES, tree};

fn target(name: &str, before: usize, wanted: usize, refuses: Option<(usize, usize)>) -> Target<FakeKernel> {
    let kernel = FakeKernel { tree: tree(before), refuses, ..FakeKernel::default() };
    Target { name: name.to_owned(), kernel, wanted: tree(wanted) }
}

#[test]
fn what_is_there_is_left_alone() {
    for number in 0..TREES.len() {
        let mut targets = [target("can0", number, number, None)];
        assert_eq!(apply(&mut targets).unwrap()[0].steps, Steps::default());
        assert_eq!(targets[0].kernel.requests, 0);
    }
}

#[test]
fn what_cannot_be_brought_back_is_told() {
    let mut targets = [target("can0", 1, 3, Some((2, 50)))];
    let error = apply(&mut targets).unwrap_err();
    assert!(matches!(error.not_restored[..], [(_, Restored::Refused(_))]));
    insta::assert_snapshot!(error, @"The kernel refuses class 2:10 parent 2: on can0; can0 could not be brought back: the kernel refused: the kernel rejects a value");
}

proptest! {
    /// From each tree to each other, on two interfaces, with one request or none refused: both are as wanted, or as before.
    #[test]
    fn it_is_all_or_none(
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
