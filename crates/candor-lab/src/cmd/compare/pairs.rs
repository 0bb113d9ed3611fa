//! Which cells of A and B are compared with each other, and which runs they have.

use candor_lab::cells::State;
use candor_lab::record::Record;
use candor_lab::report::difference::Difference;

use super::Compared;
use super::side::Side;
use crate::cmd::measure::status_table::Found;
use crate::cmd::report::read_one;

const REPEAT: &str = "repeat";

/// Cells that are equal in all factors but those that are compared.
#[derive(Debug)]
pub(super) struct Pairs<'s> {
    pub(super) both: Vec<Pair<'s>>,
    /// What A has and B has not.
    pub(super) only_a: Vec<&'s Found>,
    /// What B has and A has not.
    pub(super) only_b: Vec<&'s Found>,
}

/// One cell of A and of B, with all of its repeats.
#[derive(Debug)]
pub(super) struct Pair<'s> {
    levels: Vec<(String, String)>,
    a: Vec<&'s Found>,
    b: Vec<&'s Found>,
}

impl<'s> Pairs<'s> {
    /// In the order of A.
    pub(super) fn of(a: &'s Side, b: &'s Side, varied: &[&str]) -> Self {
        if a.is_single && b.is_single {
            let pair = Pair { levels: Vec::new(), a: a.cells.iter().collect(), b: b.cells.iter().collect() };
            return Self { both: vec![pair], only_a: Vec::new(), only_b: Vec::new() };
        }
        let key = |cell: &Found| -> Vec<(String, String)> {
            let is_told = |factor: &str| factor != REPEAT && !varied.contains(&factor);
            cell.levels.iter().filter(|(factor, _)| is_told(factor)).cloned().collect()
        };
        let mut both: Vec<Pair<'s>> = Vec::new();
        for cell in &a.cells {
            let levels = key(cell);
            match both.iter_mut().find(|pair| pair.levels == levels) {
                Some(pair) => pair.a.push(cell),
                None => both.push(Pair { levels, a: vec![cell], b: Vec::new() }),
            }
        }
        let mut only_b = Vec::new();
        for cell in &b.cells {
            let levels = key(cell);
            match both.iter_mut().find(|pair| pair.levels == levels) {
                Some(pair) => pair.b.push(cell),
                None => only_b.push(cell),
            }
        }
        let (both, lonely): (Vec<_>, Vec<_>) = both.into_iter().partition(|pair| !pair.b.is_empty());
        Self { both, only_a: lonely.into_iter().flat_map(|pair| pair.a).collect(), only_b }
    }
}

impl Pair<'_> {
    /// One comparison of all runs; or one for each repeat where instructions are counted, since then each is exact.
    pub(super) fn compare(&self) -> Result<Vec<Compared>, Box<dyn std::error::Error>> {
        let one = |difference| vec![Compared { cell: self.levels.clone(), difference }];
        if let Some(why) = unusable("A", &self.a).or_else(|| unusable("B", &self.b)) {
            return Ok(one(Difference::Refused(why)));
        }
        let (a, b) = (runs(&self.a)?, runs(&self.b)?);
        let counts = |runs: &[Record]| runs.iter().all(|run| run.header.instruction_ns.is_some());
        if a.len() < 2 || !(counts(&a) && counts(&b)) {
            return Ok(one(Difference::of(&a, &b)));
        }
        let mut all = Vec::new();
        for (cell, record) in self.a.iter().zip(&a) {
            let repeat = super::side::level(cell, REPEAT);
            let other = self.b.iter().position(|other| super::side::level(other, REPEAT) == repeat);
            let other = other.and_then(|at| b.get(at));
            let difference = other.map_or_else(
                || Difference::Refused("B has no such repeat".to_owned()),
                |other| Difference::of(std::slice::from_ref(record), std::slice::from_ref(other)),
            );
            let told = repeat.map(|repeat| (REPEAT.to_owned(), repeat.to_owned()));
            all.push(Compared { cell: self.levels.iter().cloned().chain(told).collect(), difference });
        }
        Ok(all)
    }
}

/// Why the runs of a side say nothing.
fn unusable(side: &str, cells: &[&Found]) -> Option<String> {
    cells.iter().find_map(|cell| match &cell.state {
        Some(State::Ok) => None,
        Some(State::Invalid(why)) => Some(format!("{side} is invalid: {why}")),
        Some(State::Failed(why)) => Some(format!("{side} failed: {why}")),
        Some(State::Begun | State::Done(_)) | None => Some(format!("{side} has not been measured")),
    })
}

fn runs(cells: &[&Found]) -> Result<Vec<Record>, Box<dyn std::error::Error>> {
    cells.iter().filter_map(|cell| cell.record.as_deref()).map(read_one).collect()
}
