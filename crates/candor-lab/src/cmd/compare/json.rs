//! A comparison for programs.

use candor_lab::report::difference::{Difference, Figure, Held, SEED};
use candor_lab::stats::compare::{NoiseFloor, Verdict};
use candor_lab::stats::{LatencyNs, compare::Change};
use serde_json::{Map, Value, json};

use super::Compared;
use super::pairs::Pairs;
use crate::cli::CompareArgs;
use crate::cmd::measure::status_table::Found;

pub(super) fn of(args: &CompareArgs, all: &[Compared], pairs: &Pairs<'_>, held: Option<Held>) -> Value {
    let only = |cells: &[&Found]| cells.iter().map(|cell| levels(&cell.levels)).collect::<Vec<_>>();
    let cell = |one: &Compared| {
        let mut value = difference(&one.difference);
        value.insert("levels".to_owned(), levels(&one.cell));
        Value::from(value)
    };
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

fn levels(levels: &[(String, String)]) -> Value {
    levels.iter().map(|(factor, level)| (factor.clone(), Value::from(level.as_str()))).collect::<Map<_, _>>().into()
}

fn difference(difference: &Difference) -> Map<String, Value> {
    let value = match difference {
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
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("verdict".to_owned(), other)]),
    }
}

fn figure(figure: &Figure) -> Value {
    match figure {
        Figure::Counted { a, b, .. } => {
            json!({ "a_instructions": a, "b_instructions": b, "difference_instructions": b - a })
        }
        Figure::Judged { a, b, verdict, floor } => {
            let change = match verdict {
                Verdict::Faster(change) | Verdict::Slower(change) | Verdict::Unclear(change) => Some(change),
                _ => None,
            };
            json!({
                "a_ns": a.0,
                "b_ns": b.0,
                "verdict": verdict.sentence("B"),
                "share": change.map(|Change { share, .. }| share.value),
                "share_at_least": change.map(|Change { share, .. }| share.lower),
                "share_at_most": change.map(|Change { share, .. }| share.upper),
                "noise_floor": floor.map(|NoiseFloor { share, .. }| share),
                "noise_floor_pairs": floor.map(|NoiseFloor { pairs, .. }| pairs),
            })
        }
        Figure::Refused { times, why } => {
            let [a, b] = times.map_or([None; 2], |times| times.map(|LatencyNs(ns)| Some(ns)));
            json!({ "a_ns": a, "b_ns": b, "why_no_verdict": why })
        }
    }
}
