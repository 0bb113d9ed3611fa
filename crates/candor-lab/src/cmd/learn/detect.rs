//! `candor learn detect`.

mod json;
mod road;
mod text;

use candor_cli::{Exit, Outcome, render};
use candor_learn::Recorded;
use candor_learn::detect::{Attack, Capture, Car, Rule, Rules, judged};
#[cfg(test)]
pub(in crate::cmd) use json::View;

use crate::cli::LearnDetectArgs;
use crate::cmd::patience;

/// Seconds of traffic of each run, and when the attack begins and ends in it.
const RUN_S: u64 = 30;
const ATTACK_S: (u64, u64) = (20, 22);
const SECOND: u64 = 1_000_000_000;

/// What a rule did in the runs of an attack.
#[derive(Clone, Debug, Default)]
struct Cell {
    detected: usize,
    delays_ns: Vec<u64>,
    caught: usize,
    false_alarms: usize,
}

impl Cell {
    /// The median.
    fn delay_ns(&self) -> Option<u64> {
        let mut sorted = self.delays_ns.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

/// An attack, or a capture of a data set. `None` in place of its name: traffic without attacks.
#[derive(Clone, Debug, Default)]
struct Row {
    name: Option<String>,
    runs: usize,
    /// Frames of the attacker.
    frames: usize,
    seconds: f64,
    cells: [Cell; Rule::ALL.len()],
}

impl Row {
    fn add(&mut self, capture: &Capture, rules: &Rules) {
        self.runs += 1;
        self.frames += capture.is_attack.iter().filter(|is_attack| **is_attack).count();
        if let (Some(first), Some(last)) = (capture.frames.first(), capture.frames.last()) {
            self.seconds += (last.at_ns - first.at_ns) as f64 / 1e9;
        }
        for (cell, score) in self.cells.iter_mut().zip(judged(capture, rules)) {
            cell.detected += usize::from(score.delay_ns.is_some());
            cell.delays_ns.extend(score.delay_ns);
            cell.caught += score.caught;
            cell.false_alarms += score.false_alarms;
        }
    }
}

/// The table, and what it is of.
#[derive(Debug)]
struct Table {
    about: String,
    rows: Vec<Row>,
    /// Captures without a label, and why.
    left_out: Vec<String>,
}

pub(crate) fn run(args: &LearnDetectArgs) -> Outcome {
    let table = match &args.road {
        Some(folder) => road::table(folder)?,
        None => generated(args.seconds, args.runs),
    };
    let shown = if args.json { render::object(&json::view(&table)) } else { text::text(&table) };
    render::answer(&shown, Exit::Fine)
}

fn about(rules: &Rules, seconds: f64) -> String {
    format!("{} identifiers, {} with a checksum, learned from {seconds:.0} s", rules.guards.len(), rules.checks.len())
}

fn generated(seconds: u64, runs: u64) -> Table {
    let mut car = Car::new(1);
    let rules = Rules::learn(&[car.drive(seconds)]);
    let pieces: Vec<Vec<Recorded>> = (0..runs).map(|_| car.drive(RUN_S)).collect();
    let attacks: Vec<Option<Attack>> = std::iter::once(None).chain(Attack::ALL.map(Some)).collect();
    let rows = patience::each("attacks", &attacks, |attack| {
        let mut row = Row { name: attack.map(|attack| attack.name().to_owned()), ..Row::default() };
        for (seed, traffic) in (0..).zip(&pieces) {
            row.add(&capture(traffic, *attack, seed), &rules);
        }
        row
    });
    Table { about: format!("generated traffic: {}", about(&rules, seconds as f64)), rows, left_out: Vec::new() }
}

fn capture(traffic: &[Recorded], attack: Option<Attack>, seed: u64) -> Capture {
    let start = traffic.first().map_or(0, |first| first.at_ns);
    // Not always at the same place of the target's period.
    let shift = seed.wrapping_mul(1_700_000) % (SECOND / 10);
    let interval = (start + ATTACK_S.0 * SECOND + shift, start + ATTACK_S.1 * SECOND + shift);
    match attack {
        Some(attack) => attack.on(traffic, Car::TARGET, interval, seed),
        None => Capture { frames: traffic.to_vec(), is_attack: vec![false; traffic.len()], interval_ns: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules that must detect each run of an attack.
    #[test]
    fn attacks_are_detected_by_the_rules_that_can() {
        let table = generated(300, 5);
        let detected = |name: &str, rule: &str| {
            let row = table.rows.iter().find(|row| row.name.as_deref() == Some(name)).unwrap();
            let at = Rule::ALL.iter().position(|one| one.name() == rule).unwrap();
            assert_eq!(row.runs, 5);
            row.cells[at].detected
        };
        assert_eq!(detected("flood with identifier 000", "identifier"), 5);
        assert_eq!(detected("flood with a known identifier", "min-gap"), 5);
        assert_eq!(detected("injection", "min-gap"), 5);
        assert_eq!(detected("injection", "check"), 5);
        assert_eq!(detected("suspension", "silent"), 5);
        assert_eq!(detected("replay", "min-gap"), 5);
        assert_eq!(detected("replay", "check"), 5);
        assert_eq!(detected("masquerade, wrong checksum", "check"), 5);
        // The same frames at the same times: nothing can tell.
        for rule in Rule::ALL {
            assert_eq!(detected("masquerade, valid checksum", rule.name()), 0, "{rule:?}");
        }
        let usual = table.rows.iter().find(|row| row.name.is_none()).unwrap();
        assert!(usual.cells.iter().all(|cell| cell.detected == 0));
    }
}
