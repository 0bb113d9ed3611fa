use std::collections::BTreeMap;

use candor_lab::cells::State;
use candor_lab::experiment::{self, Available, Shard};
use tempfile::TempDir;

use super::super::results::{Measured, MeasuredCell};
use super::*;

const PLAN: &str = "cells-per-guest = 1\n[factor]\ngateway = [\"none\", \"kernel\", \"read-write\", \"mmap-mmap\"]\n";

struct Parts {
    plan: Plan,
    text: String,
    folder: TempDir,
}

impl Parts {
    fn of(text: &str) -> Self {
        let plan = experiment::load(text.as_bytes(), Available::default()).unwrap().plan;
        Self { plan, text: text.to_owned(), folder: tempfile::tempdir().unwrap() }
    }

    fn open(&self, name: &str) -> Results {
        Results::open(&self.folder.path().join(name), self.text.as_bytes(), &BTreeMap::new()).unwrap()
    }

    /// Measures a shard on a node with this canary.
    fn measure(&self, shard: &str, node: &str, canary: &str, content: &str) {
        let shard: Shard = shard.parse().unwrap();
        let part = self.open(&shard.number().to_string());
        let canary = (!canary.is_empty()).then(|| part.keep_canary(canary.as_bytes()).unwrap());
        let part = part.with_origin(Some(Origin { node: node.to_owned(), shard, canary }));
        let blocks = self.plan.blocks();
        for (block, to) in blocks.iter().zip(deal(&self.plan, &blocks, shard.of())) {
            if to == shard.number() && !part.has(&block.name) {
                let folder = part.begin(&block.name).unwrap();
                fs::write(folder.join("c.record.csv"), content).unwrap();
                let cell = |cell: &&experiment::Cell| MeasuredCell {
                    name: cell.name(&self.plan),
                    levels: Vec::new(),
                    state: State::Ok,
                };
                let cells = block.cells.iter().map(cell).collect();
                part.finish(&folder, &block.name, &Measured { candor_version: "1".to_owned(), cells }).unwrap();
            }
        }
    }

    fn merge(&self, parts: &[u32], discard: bool) -> Exit {
        let parts = parts.iter().map(|part| self.folder.path().join(part.to_string())).collect();
        run(&MergeArgs { parts, out: self.folder.path().join("out"), discard }).unwrap()
    }

    /// Of the merged results.
    fn blocks(&self) -> usize {
        self.open("out").blocks().unwrap().len()
    }

    fn doubts(&self, parts: &[u32]) -> String {
        let parts: Vec<_> = parts.iter().map(|part| self.open(&part.to_string())).collect();
        let parts: Vec<_> = parts.iter().collect();
        let blocks = self.plan.blocks();
        let mut found = blocks.iter().map(|block| (block.name.as_str(), sources(&parts, block).unwrap())).collect();
        doubts(&self.plan, &blocks, &mut found).unwrap().0
    }
}

#[test]
fn cells_of_a_node_that_differs_are_not_merged() {
    let parts = Parts::of(PLAN);
    parts.measure("1/4", "n1", "same\ncanary\n", "x");
    parts.measure("2/4", "n2", "same\ndifferent\n", "x");
    // Alone, nobody can tell.
    assert_eq!((parts.merge(&[2], false), parts.blocks()), (Exit::No, 1));
    // One against one: neither is trusted, and what was merged before is not, either.
    assert_eq!((parts.merge(&[1, 2], false), parts.blocks()), (Exit::No, 0));
    parts.measure("3/4", "n3", "same\ncanary\n", "x");
    let doubts = parts.doubts(&[1, 2, 3]);
    assert!(doubts.contains("the canary of n2 differs in line 2 from that of 2 nodes"), "{doubts}");
    assert!(doubts.contains("--exclude=n2\n  not merged: "), "{doubts}");
    assert_eq!((parts.merge(&[1, 2, 3], true), parts.blocks()), (Exit::No, 2));
    // Measured again, elsewhere.
    parts.measure("2/4", "n3", "same\ncanary\n", "x");
    parts.measure("4/4", "n3", "same\ncanary\n", "x");
    assert_eq!((parts.merge(&[1, 2, 3, 4], false), parts.blocks()), (Exit::Fine, 4));
    assert_eq!(parts.doubts(&[1, 2, 3, 4]), "");
}

#[test]
fn different_results_of_one_block_are_not_merged() {
    let parts = Parts::of("[factor]\ngateway = \"kernel\"\n");
    for (part, content) in [("1", "x"), ("2", "y")] {
        parts.measure("1/1", "n1", "canary", content);
        fs::rename(parts.folder.path().join("1"), parts.folder.path().join(format!("of-{part}"))).unwrap();
    }
    for part in ["1", "2"] {
        fs::rename(parts.folder.path().join(format!("of-{part}")), parts.folder.path().join(part)).unwrap();
    }
    assert_eq!((parts.merge(&[1, 2], false), parts.blocks()), (Exit::No, 0));
    assert!(parts.doubts(&[1, 2]).contains("differ for the same cells"));
}

#[test]
fn times_of_two_hosts_are_not_mixed() {
    let parts = Parts::of(
        "repeats = 2\n[factor]\ntestbed = \"host\"\ngateway = [\"none\", \"kernel\"]\n[bench]\nsend = \"a\"\nmonitor = \"b\"\n\
         receive = \"c\"\nfrom = \"a\"\nto = \"c\"\n",
    );
    let blocks = parts.plan.blocks();
    let dealt = deal(&parts.plan, &blocks, NonZeroU32::new(3).unwrap());
    assert_eq!((blocks.len(), &dealt[..]), (4, &[1; 4][..]), "machines are one shard");
    parts.measure("1/3", "n1", "", "x");
    let part = parts.open("1");
    part.discard(&blocks[0].name).unwrap();
    parts.measure("1/3", "n2", "", "x");
    let doubts = parts.doubts(&[1]);
    assert!(doubts.contains("times of n2 cannot be compared with those of n1"), "{doubts}");
    assert_eq!((parts.merge(&[1], false), parts.blocks()), (Exit::No, 3));
}

#[test]
fn missing_shards_are_written_as_batch_systems_take_them() {
    let of = |numbers: &[u32]| ranges(&numbers.iter().copied().collect());
    assert_eq!(of(&[7, 12]), "7,12");
    assert_eq!(of(&[3, 1, 2, 9, 8, 5]), "1-3,5,8-9");
    assert_eq!(first_difference(b"a\nb\n", b"a\nb\nc\n"), 3);
}
