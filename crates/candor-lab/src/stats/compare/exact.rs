//! Devices on a testbed whose clock counts instructions: any difference is one.

use super::super::{LatencyNs, Quantile, Series};

/// What B takes beside A, to the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// B takes more or fewer instructions at the quantile.
    Different {
        /// At which quantile.
        quantile: Quantile,
        /// What A takes.
        a: Counted,
        /// What B takes.
        b: Counted,
    },
    /// Every frame takes what it took.
    Identical,
    /// The quantile is the same, and other frames differ.
    SameQuantile {
        /// Which one.
        quantile: Quantile,
        /// What both take.
        both: Counted,
    },
}

/// Instructions of the testbed's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted(pub i64);

impl Exact {
    /// Compares the counts. `None` if the runs of one device differ from each other, for then the testbed is not exact and
    /// its runs are to be compared as [`Comparison`](super::Comparison) does; and without a run of each.
    #[must_use]
    pub fn of(a: &[Series], b: &[Series], quantile: Quantile, instruction_ns: u32) -> Option<Self> {
        let one = |runs: &[Series]| runs.iter().all(|run| *run == runs[0]).then_some(runs.first().cloned())?;
        let (a, b) = (one(a)?, one(b)?);
        let counted = |LatencyNs(ns): LatencyNs| Counted(ns / i64::from(instruction_ns.max(1)));
        let [in_a, in_b] = [&a, &b].map(|run| counted(run.quantile(quantile)));
        Some(match (a == b, in_a == in_b) {
            (true, _) => Self::Identical,
            (false, true) => Self::SameQuantile { quantile, both: in_a },
            (false, false) => Self::Different { quantile, a: in_a, b: in_b },
        })
    }

    /// The sentence, with what B is called.
    #[must_use]
    pub fn sentence(&self, b: &str) -> String {
        match *self {
            Self::Different { quantile, a, b: then } => {
                let (more, word) = (then.0 - a.0, if then > a { "more" } else { "fewer" });
                let (count, from, to) = (grouped(more.abs()), grouped(a.0), grouped(then.0));
                let plural = if more.abs() == 1 { "" } else { "s" };
                format!("{b} takes exactly {count} instruction{plural} {word} at {quantile} ({from} → {to})")
            }
            Self::Identical => "identical: every frame takes as many instructions".to_owned(),
            Self::SameQuantile { quantile, both } => {
                format!("{b} takes the same {} instructions at {quantile}, and not in every frame", grouped(both.0))
            }
        }
    }
}

/// Digits in groups of three.
fn grouped(count: i64) -> String {
    let digits = count.unsigned_abs().to_string();
    let mut text = String::from(if count < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(values: &[i64]) -> Series {
        Series::new(values.iter().map(|&ns| LatencyNs(ns)).collect()).unwrap()
    }

    fn sentence(a: &[i64], b: &[i64], instruction_ns: u32) -> String {
        Exact::of(&[run(a), run(a)], &[run(b)], Quantile::P50, instruction_ns).unwrap().sentence("B")
    }

    #[test]
    fn every_instruction_counts() {
        assert_eq!(sentence(&[8550], &[8564], 1), "B takes exactly 14 instructions more at p50 (8 550 → 8 564)");
        assert_eq!(sentence(&[80], &[72], 8), "B takes exactly 1 instruction fewer at p50 (10 → 9)");
        assert_eq!(sentence(&[8550, 9000], &[9000, 8550], 1), "identical: every frame takes as many instructions");
        assert_eq!(
            sentence(&[1_008_550, 1_009_000], &[1_008_550, 1_009_001], 1),
            "B takes the same 1 008 550 instructions at p50, and not in every frame"
        );
    }

    #[test]
    fn runs_that_differ_are_not_exact() {
        assert_eq!(Exact::of(&[run(&[1]), run(&[2])], &[run(&[1])], Quantile::P50, 1), None);
        assert_eq!(Exact::of(&[], &[run(&[1])], Quantile::P50, 1), None);
    }
}
