//! Budgets: what cells of a plan may cost at most, so that a change that makes a gateway dearer is seen.
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
//! to = "bare"                     # beside the cell that differs in its gateway only …
//! ratio = "1.020"                 # … its median may be so many times as much
//! ```

mod parse;

pub use parse::load;

use std::time::Duration;

use crate::stats::LatencyNs;

/// What a file of budgets says, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets(Vec<Budget>);

/// What some cells may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Budget {
    /// Where it stands, for people.
    line: usize,
    /// Names and levels of factors, as [`crate::experiment::Cell::levels`] tells them.
    levels: Vec<(String, String)>,
    limits: Vec<(Figure, Limit)>,
    lost: Option<u64>,
    /// Of a limit, in thousandths.
    tolerance: u64,
    ratio: Option<Ratio>,
}

/// A figure of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Figure {
    /// Median.
    P50,
    /// Nine of ten.
    P90,
    /// 99 of 100.
    P99,
    /// The longest.
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Instructions(u64),
    Time(Duration),
}

/// At most so many thousandths of what another gateway takes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ratio {
    to: String,
    thousandths: u64,
}

/// What a cell has cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Names and levels of its factors.
    pub levels: Vec<(String, String)>,
    /// How long an instruction lasts, where they are counted.
    pub instruction_ns: Option<u32>,
    /// Frames that did not arrive in time.
    pub lost: u64,
    /// Figures in the order of [`Figure`]; `None` if no frame arrived.
    pub figures: Option<[LatencyNs; 4]>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The cell, by its place in the list of costs.
    pub cell: usize,
    /// What is compared, such as `p50`.
    pub what: &'static str,
    /// What was allowed, with its unit.
    pub budget: String,
    /// What it was.
    pub measured: String,
    /// The difference, exactly where that can be said.
    pub difference: String,
    /// Whether it is kept.
    pub is_kept: bool,
}

/// A budget that compares nothing: the line on which it begins, and why.
pub type Idle = (usize, String);

impl Figure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::P50, Self::P90, Self::P99, Self::Max];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::Max => "max",
        }
    }
}

impl Budgets {
    /// Compares cells with their budgets. A budget that is for no cell is told apart: a gate that never closes is none.
    #[must_use]
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
            into.push(self.limit(cell, cost, *figure, *limit));
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

    fn limit(&self, cell: usize, cost: &Cost, figure: Figure, limit: Limit) -> Comparison {
        let (allowed, unit) = match limit {
            Limit::Instructions(count) => (i128::from(count), "instructions"),
            Limit::Time(time) => (i128::try_from(time.as_nanos()).unwrap_or(i128::MAX), "ns"),
        };
        let measured = cost.figures.and_then(|figures| {
            let nanoseconds = i128::from(figures[figure as usize].0);
            match limit {
                Limit::Time(_) => Some(nanoseconds),
                Limit::Instructions(_) => cost.instruction_ns.map(|ns| nanoseconds / i128::from(ns.max(1))),
            }
        });
        let with_tolerance = allowed + allowed * i128::from(self.tolerance) / 1000;
        Comparison {
            cell,
            what: figure.name(),
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
        let beside = costs.iter().find(|other| {
            other.levels.len() == cost.levels.len()
                && other.levels.iter().zip(&cost.levels).all(|(level, mine)| is_other(level, mine))
        });
        let p50 = |cost: &Cost| cost.figures.map(|figures| i128::from(figures[0].0)).filter(|p50| *p50 > 0);
        let thousandths = beside.and_then(p50).zip(p50(cost)).map(|(other, mine)| (mine * 10_000 / other + 5) / 10);
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
