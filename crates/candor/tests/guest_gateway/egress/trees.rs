//! Random trees, made, read back the same, and taken away without a leftover.

use candor_egress::arbitrary;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;

const DEFAULT_CASES: usize = 20;

#[test]
#[ignore = "runs in a guest"]
fn random_trees_are_read_back_as_they_were_made() {
    let Some(_machine) = require(NEEDS) else { return };
    let cases = std::env::var("CANDOR_CASES").map_or(DEFAULT_CASES, |cases| cases.parse().unwrap());
    let mut place = Place::new();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut made = 0;
    for _ in 0..cases {
        let tree = arbitrary::tree().new_tree(&mut runner).unwrap().current();
        // Not every value that can be said is one that every kernel takes; what it takes must come back.
        match place.make(&tree) {
            Ok(()) => {
                let found = place.observe().tree;
                assert_eq!(differences(&tree, &found), [], "{tree:#?}");
                made += 1;
            }
            Err(TcError::Netlink(error)) => println!("refused: {error}"),
            Err(TcError::Encode(error)) => println!("not sent: {error}"),
            Err(error) => panic!("{error}"),
        }
        place.clear();
    }
    println!("{made} of {cases} trees were made");
}
