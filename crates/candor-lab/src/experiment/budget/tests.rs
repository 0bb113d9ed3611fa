use super::*;
use crate::stats::{LatencyNs, Series};

const FILE: &str = include_str!("budgets.toml");

fn cost(gateway: &str, traffic: &str, p50: i64, lost: u64) -> Cost {
    let levels = [("gateway", gateway), ("traffic", traffic)];
    Cost {
        levels: levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into(),
        instruction_ns: Some(2),
        lost,
        figures: Series::new([p50, p50 + 3].map(LatencyNs).into()).as_ref().map(Figures::of),
    }
}

fn compare(costs: &[Cost]) -> (Vec<Comparison>, Vec<Idle>) {
    load(FILE.as_bytes()).unwrap_or_else(|wrong| panic!("{wrong:?}")).compare(costs)
}

#[test]
fn cells_within_their_budget_are_kept() {
    // An instruction lasts 2 ns, and 14 of them are the tolerance.
    let costs =
        [cost("kernel", "50 %", 2 * 2940, 0), cost("read-write", "50 %", 10_204, 0), cost("bare", "50 %", 10_004, 0)];
    let (comparisons, idle) = compare(&costs);
    assert_eq!(idle, []);
    assert!(comparisons.iter().all(|one| one.is_kept), "{comparisons:#?}");
    assert_eq!(comparisons.iter().map(|one| one.what).collect::<Vec<_>>(), ["p50", "max", "lost", "p50 ratio"]);
    assert_eq!((comparisons[0].difference.as_str(), comparisons[0].measured.as_str()), ("+14", "2940 instructions"));
    assert_eq!(comparisons[3].difference, "+0.000");
}

#[test]
fn cells_beyond_their_budget_are_reported_exactly() {
    let costs =
        [cost("kernel", "50 %", 2 * 2941, 3), cost("read-write", "50 %", 10_210, 0), cost("bare", "50 %", 10_000, 0)];
    let (comparisons, _) = compare(&costs);
    let broken: Vec<_> = comparisons.iter().filter(|one| !one.is_kept).collect();
    assert_eq!(broken.iter().map(|one| one.what).collect::<Vec<_>>(), ["p50", "lost", "p50 ratio"]);
    assert_eq!(broken[0].difference, "+15");
    assert_eq!((broken[2].measured.as_str(), broken[2].difference.as_str()), ("1.021", "+0.001"));
}

#[test]
fn budget_without_any_cell_is_reported() {
    let (comparisons, idle) = compare(&[cost("kernel", "flood", 1, 0)]);
    assert_eq!(comparisons, []);
    assert_eq!(idle.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 10]);
    // Without a cell to compare with, or without any frame, the budget is not kept.
    let nothing = Cost { figures: None, ..cost("kernel", "50 %", 0, 0) };
    let (comparisons, _) = compare(&[nothing, cost("read-write", "flood", 5, 0)]);
    assert_eq!(comparisons.iter().filter(|one| !one.is_kept).count(), 3);
}

#[test]
fn mistakes_are_found_at_their_places() {
    for (text, code, at) in [
        ("", "P0308", ""),
        ("budgets = 1\n", "E0201", "budgets"),
        ("[[budget]]\ngateway = \"kernel\"\n", "P0308", ""),
        ("[[budget]]\np50 = \"fast\"\n", "E0310", "\"fast\""),
        ("[[budget]]\np50 = 5\n", "E0202", "5"),
        ("[[budget]]\np51 = \"5us\"\n", "E0201", "p51"),
        ("[[budget]]\nlost = -1\n", "P0306", "-1"),
        ("[[budget]]\nlost = 0\nload = \"disk\"\n", "P0301", "\"disk\""),
        ("[[budget]]\nlost = 0\ntolerance = \"5\"\n", "P0308", "\"5\""),
        ("[[budget]]\nto = \"kernel\"\n", "P0308", ""),
        ("[[budget]]\nratio = \"much\"\nto = \"kernel\"\n", "P0308", "\"much\""),
    ] {
        let findings = load(text.as_bytes()).unwrap_err();
        let found: Vec<_> =
            findings.iter().map(|finding| (finding.code, &text[finding.primary.span.clone()])).collect();
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].0 == code || at == "\"fast\"", "{text}: {found:?}");
        assert!(at.is_empty() || found[0].1 == at, "{text}: {found:?}");
    }
}
