//! Comparisons as JSON.

use candor_lab::report::difference::{Difference, Figure, Held, SEED};
use candor_lab::stats::compare::{NoiseFloor, Verdict};
use serde_json::{Map, Value, json};

use super::{Compared, Pairs};
use crate::cli::CompareArgs;
use crate::cmd::measure::status_table::{Found, levels_json};

pub(super) fn of(args: &CompareArgs, all: &[Compared], pairs: &Pairs<'_>, held: Option<Held>) -> Value {
    let only = |cells: &[&Found]| cells.iter().map(|cell| levels_json(&cell.levels)).collect::<Vec<_>>();
    json!({
        "tolerance": args.tolerance,
        "is_within_tolerance": held.and_then(|held| match held {
            Held::Yes => Some(true),
            Held::Worse => Some(false),
            Held::Unknown => None,
        }),
        "seed": SEED,
        "cells": all.iter().map(cell).collect::<Vec<_>>(),
        "only_a": only(&pairs.only_a),
        "only_b": only(&pairs.only_b),
    })
}

fn cell(Compared { levels, difference }: &Compared) -> Value {
    let mut cell = match difference {
        Difference::Identical => json!({ "verdict": "identical", "p50_ratio": 1.0 }),
        Difference::Refused(why) => json!({ "verdict": "not-compared", "why": why }),
        Difference::Figures { figures, lost: [a, b], notes, .. } => json!({
            "verdict": "compared",
            "p50_ratio": difference.ratio(),
            "figures": figures.iter().map(|(name, one)| ((*name).to_owned(), figure(one))).collect::<Map<_, _>>(),
            "lost": { "a": a, "b": b },
            "other_conditions": notes,
        }),
    };
    cell["levels"] = levels_json(levels);
    cell
}

fn figure(figure: &Figure) -> Value {
    match figure {
        Figure::Counted { a, b, .. } => {
            json!({ "a_instructions": a, "b_instructions": b, "difference_instructions": b - a })
        }
        Figure::Judged { a, b, verdict, floor } => {
            let change = match verdict {
                Verdict::Faster(change) | Verdict::Slower(change) | Verdict::Unclear(change) => Some(change),
                Verdict::BelowNoise(_) => None,
            };
            json!({
                "a_ns": a.0,
                "b_ns": b.0,
                "verdict": verdict.sentence("B"),
                "share": change.map(|change| change.value),
                "share_at_least": change.map(|change| change.lower),
                "share_at_most": change.map(|change| change.upper),
                "noise_floor": floor.map(|NoiseFloor { share, .. }| share),
                "noise_floor_pairs": floor.map(|NoiseFloor { pairs, .. }| pairs),
            })
        }
        Figure::Refused { a, b, why } => json!({ "a_ns": a.0, "b_ns": b.0, "why_no_verdict": why }),
    }
}
