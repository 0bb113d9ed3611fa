//! Comparisons as JSON.

use candor_lab::report::difference::{Difference, Figure, Held, SEED};
use candor_lab::stats::compare::{NoiseFloor, Verdict};
use serde::Serialize;

use super::{Compared, Pairs};
use crate::cli::CompareArgs;
use crate::cmd::measure::status_table::{Found, Levels, levels_view};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    tolerance: Option<f64>,
    /// `null` without a tolerance, or if not all figures could be judged.
    is_within_tolerance: Option<bool>,
    /// Of the bootstrap.
    seed: u64,
    cells: Vec<CellView<'a>>,
    only_a: Vec<Levels<'a>>,
    only_b: Vec<Levels<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CellView<'a> {
    levels: Levels<'a>,
    #[serde(flatten)]
    difference: DifferenceView<'a>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "kebab-case")]
enum DifferenceView<'a> {
    Identical { p50_ratio: f64 },
    NotCompared { why: &'a str },
    Compared { p50_ratio: Option<f64>, figures: Box<FiguresView<'a>>, lost: LostView, other_conditions: &'a [String] },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LostView {
    a: usize,
    b: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FiguresView<'a> {
    p50: FigureView<'a>,
    p90: FigureView<'a>,
    p99: FigureView<'a>,
    max: FigureView<'a>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum FigureView<'a> {
    Counted {
        a_instructions: i64,
        b_instructions: i64,
        difference_instructions: i64,
    },
    Judged {
        a_ns: i64,
        b_ns: i64,
        verdict: String,
        /// `null` below the noise floor.
        share: Option<f64>,
        share_at_least: Option<f64>,
        share_at_most: Option<f64>,
        /// `null` without pairs of equal runs.
        noise_floor: Option<f64>,
        noise_floor_pairs: Option<usize>,
    },
    Refused {
        a_ns: i64,
        b_ns: i64,
        why_no_verdict: &'a str,
    },
}

impl<'a> View<'a> {
    pub(super) fn of(args: &CompareArgs, all: &'a [Compared], pairs: &Pairs<'a>, held: Option<Held>) -> Self {
        let only = |cells: &[&'a Found]| cells.iter().map(|cell| levels_view(&cell.levels)).collect();
        let cell = |Compared { levels, difference }: &'a Compared| CellView {
            levels: levels_view(levels),
            difference: DifferenceView::of(difference),
        };
        Self {
            tolerance: args.tolerance,
            is_within_tolerance: held.and_then(|held| match held {
                Held::Yes => Some(true),
                Held::Worse => Some(false),
                Held::Unknown => None,
            }),
            seed: SEED,
            cells: all.iter().map(cell).collect(),
            only_a: only(&pairs.only_a),
            only_b: only(&pairs.only_b),
        }
    }
}

impl<'a> DifferenceView<'a> {
    fn of(difference: &'a Difference) -> Self {
        match difference {
            Difference::Identical => Self::Identical { p50_ratio: 1.0 },
            Difference::Refused(why) => Self::NotCompared { why },
            Difference::Figures { figures, lost: [a, b], notes, .. } => {
                let [p50, p90, p99, max] = figures.each_ref().map(|(_, figure)| FigureView::of(figure));
                Self::Compared {
                    p50_ratio: difference.ratio(),
                    figures: FiguresView { p50, p90, p99, max }.into(),
                    lost: LostView { a: *a, b: *b },
                    other_conditions: notes,
                }
            }
        }
    }
}

impl<'a> FigureView<'a> {
    fn of(figure: &'a Figure) -> Self {
        match figure {
            Figure::Counted { a, b, .. } => {
                Self::Counted { a_instructions: *a, b_instructions: *b, difference_instructions: b - a }
            }
            Figure::Judged { a, b, verdict, floor } => {
                let change = match verdict {
                    Verdict::Faster(change) | Verdict::Slower(change) | Verdict::Unclear(change) => Some(change),
                    Verdict::BelowNoise(_) => None,
                };
                Self::Judged {
                    a_ns: a.0,
                    b_ns: b.0,
                    verdict: verdict.sentence("B"),
                    share: change.map(|change| change.value),
                    share_at_least: change.map(|change| change.lower),
                    share_at_most: change.map(|change| change.upper),
                    noise_floor: floor.map(|NoiseFloor { share, .. }| share),
                    noise_floor_pairs: floor.map(|NoiseFloor { pairs, .. }| pairs),
                }
            }
            Figure::Refused { a, b, why } => Self::Refused { a_ns: a.0, b_ns: b.0, why_no_verdict: why },
        }
    }
}
