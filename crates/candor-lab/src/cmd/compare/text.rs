//! Comparisons as text.

use candor_lab::report::difference::{Difference, Figure, Held};
use candor_lab::stats::compare::NoiseFloor;
use candor_lab::stats::{LatencyNs, geomean};

use super::{Compared, Pairs};
use crate::cli::{CompareArgs, Level};
use crate::cmd::measure::status_table::{Found, in_words};

pub(super) fn of(args: &CompareArgs, all: &[Compared], pairs: &Pairs<'_>, held: Option<Held>) -> String {
    let mut lines = Vec::new();
    let second = args.second.as_ref().unwrap_or(&args.first);
    let levels =
        |levels: &[Level]| levels.iter().map(|one| format!(", {} {}", one.factor, one.level)).collect::<String>();
    lines.push(format!("A: {}{}", args.first.display(), levels(&args.a)));
    lines.push(format!("B: {}{}\n", second.display(), levels(&args.b)));
    let common = common(all);
    lines.extend(common.iter().map(|note| format!("Everywhere: {note}")));
    lines.extend((!common.is_empty()).then(String::new));
    let tolerance = args.tolerance;
    for Compared { levels, difference } in all {
        let name = in_words(levels);
        let name = if name.is_empty() { "the default cell" } else { &name };
        let is_worse = tolerance.is_some_and(|tolerance| difference.held_to(tolerance) == Held::Worse);
        let worse = if is_worse { "  WORSE" } else { "" };
        match difference {
            Difference::Identical => lines.push(format!("{name}: identical, byte for byte")),
            Difference::Refused(why) => lines.push(format!("{name}: not compared: {why}")),
            Difference::Figures { figures, lost, instruction_ns, notes } => {
                let unit = if instruction_ns.is_some() { "instructions" } else { "µs" };
                lines.push(format!("{name}, in {unit}{worse}"));
                lines.extend(block(&figures[..], *lost, *instruction_ns));
                lines.extend(notes.iter().filter(|note| !common.contains(note)).map(|note| format!("  {note}")));
            }
        }
    }
    lines.push(String::new());
    let only = |side: &str, cell: &&Found| format!("only in {side}: {}", in_words(&cell.levels));
    lines.extend(pairs.only_a.iter().map(|cell| only("A", cell)));
    lines.extend(pairs.only_b.iter().map(|cell| only("B", cell)));
    lines.push(sum(all));
    if let (Some(tolerance), Some(held)) = (tolerance, held) {
        lines.push(match held {
            Held::Yes => format!("B is within {} % of A", tolerance * 100.0),
            Held::Worse => format!("B exceeds the tolerance of {} %", tolerance * 100.0),
            Held::Unknown => {
                format!("Not all cells could be compared: B may exceed the tolerance of {} %", tolerance * 100.0)
            }
        });
    }
    lines.join("\n") + "\n"
}

/// Conditions that differ in the same way in all of several cells.
fn common(all: &[Compared]) -> Vec<&String> {
    let notes = all.iter().filter_map(|one| match &one.difference {
        Difference::Figures { notes, .. } => Some(notes),
        _ => None,
    });
    match &notes.collect::<Vec<_>>()[..] {
        [first, others @ ..] if !others.is_empty() => {
            first.iter().filter(|note| others.iter().all(|notes| notes.contains(note))).collect()
        }
        _ => Vec::new(),
    }
}

fn block(figures: &[(&str, Figure)], lost: [usize; 2], instruction_ns: Option<u32>) -> Vec<String> {
    let rows: Vec<[String; 4]> =
        figures.iter().map(|(name, figure)| row(name, figure, instruction_ns)).chain([loss(lost)]).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (a, b) = (width(1), width(2));
    rows.iter().map(|[name, in_a, in_b, comment]| format!("  {name:<4}  {in_a:>a$} → {in_b:>b$}  {comment}")).collect()
}

fn row(name: &str, figure: &Figure, instruction_ns: Option<u32>) -> [String; 4] {
    let time = |time: &LatencyNs| match instruction_ns {
        Some(ns) => (time.0 / i64::from(ns.max(1))).to_string(),
        None => format!("{:.3}", time.microseconds()),
    };
    let [a, b, comment] = match figure {
        Figure::Counted { a, b, is_identical } => [a.to_string(), b.to_string(), counted(*a, *b, *is_identical)],
        Figure::Judged { a, b, verdict, floor } => {
            let floor = floor.map(|NoiseFloor { share, pairs }| {
                format!("; equal runs differ by {:.1} % ({pairs} pairs)", 100.0 * share)
            });
            [time(a), time(b), verdict.sentence("B") + &floor.unwrap_or_default()]
        }
        Figure::Refused { a, b, why } => [time(a), time(b), why.clone()],
    };
    [name.to_owned(), a, b, comment]
}

/// `+12 instructions (+0.4 %)`.
fn counted(a: i64, b: i64, is_identical: bool) -> String {
    match (is_identical, b - a) {
        (true, _) => "every frame takes the same number of instructions".to_owned(),
        (_, 0) => "the same, but not in every frame".to_owned(),
        (_, more) => {
            let share = LatencyNs(b).ratio_to(LatencyNs(a));
            let share = share.map_or_else(String::new, |ratio| format!(" ({:+.1} %)", 100.0 * (ratio - 1.0)));
            let plural = if more.abs() == 1 { "" } else { "s" };
            format!("{more:+} instruction{plural}{share}")
        }
    }
}

fn loss([a, b]: [usize; 2]) -> [String; 4] {
    let comment = match (b.checked_sub(a), a.checked_sub(b)) {
        (Some(0), _) => "the same".to_owned(),
        (Some(more), _) => format!("{more} more"),
        (_, fewer) => format!("{} fewer", fewer.unwrap_or_default()),
    };
    ["lost".to_owned(), a.to_string(), b.to_string(), comment]
}

fn sum(all: &[Compared]) -> String {
    let count = |wanted: fn(&Difference) -> bool| all.iter().filter(|one| wanted(&one.difference)).count();
    let identical = count(|one| matches!(one, Difference::Identical));
    let refused = count(|one| matches!(one, Difference::Refused(_)));
    let ratios: Vec<f64> = all.iter().filter_map(|one| one.difference.ratio()).collect();
    let mean = geomean(&ratios).map_or_else(String::new, |mean| {
        format!("; p50 of B is {mean:.4} times that of A (geometric mean of {})", ratios.len())
    });
    let compared = all.len() - refused;
    let otherwise = compared - identical;
    format!(
        "{compared} compared: {identical} identical, byte for byte; {otherwise} otherwise; {refused} not compared{mean}"
    )
}
