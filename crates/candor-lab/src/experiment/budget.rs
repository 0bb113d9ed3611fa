//! Budgets: upper limits for cells of a plan, to detect changes that make a gateway slower.
//!
//! ```toml
//! [[budget]]
//! gateway = "kernel"              # for the cells that have all of these levels
//! topology = "vcan"
//! p50 = "2926 instructions"       # or a time
//! tolerance = "0.5 %"
//! lost = 0
//!
//! [[budget]]
//! gateway = "read-write"
//! to = "bare"                     # compared with the cell that differs only in its gateway,
//! ratio = "1.020"                 # the median may be this multiple
//! ```

mod parse;

pub use parse::load;

use std::time::Duration;

use serde::Serialize;

use crate::stats::Figures;

/// In the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets(Vec<Budget>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Budget {
    line: usize,
    /// Factors and levels as of [`crate::experiment::Cell::levels`].
    levels: Vec<(String, String)>,
    limits: Vec<(&'static str, Limit)>,
    lost: Option<u64>,
    /// Of a limit, in thousandths.
    tolerance: u64,
    ratio: Option<Ratio>,
}

/// Figures that may have a limit.
pub const FIGURES: [&str; 4] = ["p50", "p90", "p99", "max"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Instructions(u64),
    Time(Duration),
}

/// Upper limit of the median as a multiple of another gateway's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ratio {
    to: String,
    thousandths: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    pub levels: Vec<(String, String)>,
    /// ns per instruction, where they are counted.
    pub instruction_ns: Option<u32>,
    /// Frames that did not arrive in time.
    pub lost: u64,
    /// `None` if no frame arrived.
    pub figures: Option<Figures>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Index in the list of costs.
    #[serde(skip)]
    pub cell: usize,
    /// The limited figure, such as `p50`.
    pub what: &'static str,
    /// The limit with its unit.
    pub budget: String,
    pub measured: String,
    /// Empty if nothing was measured.
    pub difference: String,
    pub is_kept: bool,
}

/// A budget without any cell: its line, and the reason.
pub type Idle = (usize, String);

impl Budgets {
    /// Budgets without any cell are returned apart: a check that never fails is useless.
    pub fn compare(&self, costs: &[Cost]) -> (Vec<Comparison>, Vec<Idle>) {
        let (mut comparisons, mut idle) = (Vec::new(), Vec::new());
        for budget in &self.0 {
            let before = comparisons.len();
            let cells = costs.iter().enumerate().filter(|(_, cost)| budget.is_for(cost));
            for (cell, cost) in cells {
                budget.compare(cell, cost, costs, &mut comparisons);
            }
            if comparisons.len() == before {
                idle.push((budget.line, "no cell of this plan has these levels".to_owned()));
            }
        }
        (comparisons, idle)
    }
}

impl Budget {
    fn is_for(&self, cost: &Cost) -> bool {
        self.levels.iter().all(|level| cost.levels.contains(level))
    }

    fn compare(&self, cell: usize, cost: &Cost, costs: &[Cost], into: &mut Vec<Comparison>) {
        for (figure, limit) in &self.limits {
            into.push(self.limit(cell, cost, figure, *limit));
        }
        if let Some(most) = self.lost {
            into.push(Comparison {
                cell,
                what: "lost",
                budget: most.to_string(),
                measured: cost.lost.to_string(),
                difference: signed(i128::from(cost.lost) - i128::from(most)),
                is_kept: cost.lost <= most,
            });
        }
        if let Some(ratio) = &self.ratio {
            into.push(self.ratio(cell, cost, ratio, costs));
        }
    }

    fn limit(&self, cell: usize, cost: &Cost, figure: &'static str, limit: Limit) -> Comparison {
        let (allowed, unit) = match limit {
            Limit::Instructions(count) => (i128::from(count), "instructions"),
            Limit::Time(time) => (i128::try_from(time.as_nanos()).unwrap_or(i128::MAX), "ns"),
        };
        let measured = cost.figures.and_then(|figures| {
            let nanoseconds = i128::from(figures.named(figure)?.0);
            match limit {
                Limit::Time(_) => Some(nanoseconds),
                Limit::Instructions(_) => cost.instruction_ns.map(|ns| nanoseconds / i128::from(ns.max(1))),
            }
        });
        let with_tolerance = allowed + allowed * i128::from(self.tolerance) / 1000;
        Comparison {
            cell,
            what: figure,
            budget: format!("{allowed} {unit}"),
            measured: measured.map_or_else(|| "nothing".to_owned(), |measured| format!("{measured} {unit}")),
            difference: measured.map_or_else(String::new, |measured| signed(measured - allowed)),
            is_kept: measured.is_some_and(|measured| measured <= with_tolerance),
        }
    }

    fn ratio(&self, cell: usize, cost: &Cost, ratio: &Ratio, costs: &[Cost]) -> Comparison {
        let is_other = |(factor, level): &(String, String), mine: &(String, String)| {
            if factor == "gateway" { *level == ratio.to } else { (factor, level) == (&mine.0, &mine.1) }
        };
        let other = costs.iter().find(|other| {
            other.levels.len() == cost.levels.len()
                && other.levels.iter().zip(&cost.levels).all(|(level, mine)| is_other(level, mine))
        });
        let p50 = |cost: &Cost| cost.figures.map(|figures| i128::from(figures.p50.0)).filter(|p50| *p50 > 0);
        let thousandths = other.and_then(p50).zip(p50(cost)).map(|(other, mine)| (mine * 10_000 / other + 5) / 10);
        let allowed = i128::from(ratio.thousandths);
        let written = |thousandths: i128| format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
        Comparison {
            cell,
            what: "p50 ratio",
            budget: format!("{} of {}", written(allowed), ratio.to),
            measured: thousandths.map_or_else(|| "nothing to compare with".to_owned(), written),
            difference: thousandths.map_or_else(String::new, |ratio| {
                let difference = ratio - allowed;
                format!("{}{}", if difference < 0 { "-" } else { "+" }, written(difference.abs()))
            }),
            is_kept: thousandths.is_some_and(|ratio| ratio <= allowed),
        }
    }
}

fn signed(difference: i128) -> String {
    if difference > 0 { format!("+{difference}") } else { difference.to_string() }
}

#[cfg(test)]
mod tests;
