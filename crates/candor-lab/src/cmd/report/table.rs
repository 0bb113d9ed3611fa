//! The figures of records as a table in the terminal.

use candor_lab::record::Record;
use candor_lab::report::{Show, Summary, conditions_of, threats, units};
use candor_lab::stats::{CONFIDENCE, Figures, Interval, LatencyNs};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

pub(super) fn text(records: &[Record]) -> String {
    let summaries = Summary::of_all(records);
    let mut text = format!("{}\n", table(records, &summaries));
    for summary in &summaries {
        let ratios = [
            (summary.kernel_ratio, "the kernel gateway's (2011 paper, section 3.7: about three times)"),
            (summary.baseline_ratio, "that of the same calls without rules (candor-lab baseline)"),
        ];
        for (ratio, base) in ratios.into_iter().filter_map(|(ratio, base)| Some((ratio?, base))) {
            text += &format!("{}: p50 is {ratio:.2} times {base}\n", summary.device);
        }
    }
    let kinds = conditions_of(records).len();
    if kinds > 1 {
        text += &format!(
            "These are {kinds} sets of conditions; only figures of the same set can be compared (--html lists them)\n"
        );
    }
    for record in records {
        threats(record).iter().for_each(|threat| text += &format!("{}: {threat}\n", record.header.device));
    }
    text
}

fn table(records: &[Record], summaries: &[Summary]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["gateway", "unit", "frames", "lost", "min", "p50", "p90", "p99", "max"]);
    for (record, summary) in records.iter().zip(summaries) {
        for (row, (unit, show)) in units(&record.header, str::to_owned).into_iter().enumerate() {
            let first = |text: String| if row == 0 { text } else { String::new() };
            let mut cells = vec![first(summary.device.clone()), unit.to_owned()];
            cells.extend([first(summary.frames.to_string()), first(summary.lost.to_string())]);
            match summary.figures {
                Some(figures) => cells.extend(figures.columns().map(|(_, latency)| show(latency))),
                None => cells.extend(["–"; 5].map(str::to_owned)),
            }
            table.add_row(cells);
            if let Some(figures) = summary.figures.as_ref().filter(|_| row == 0) {
                table.add_rows(bounds(figures, &show));
            }
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The ends of the intervals as two rows, because one row would be too wide for a terminal.
fn bounds(figures: &Figures, show: &Show) -> [Vec<String>; 2] {
    let row = |word: &str, end: fn(Interval) -> Option<LatencyNs>| {
        let cell = |interval| end(interval).map_or_else(|| "too few".to_owned(), show);
        let cells = figures.intervals().map(|interval| interval.map_or_else(String::new, cell));
        let first = [String::new(), format!("{CONFIDENCE} {word}"), String::new(), String::new()];
        first.into_iter().chain(cells).collect()
    };
    [row("from", |interval| interval.lower), row("to", |interval| interval.upper)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::measure::results::HEAD;

    /// Frames that took 8001, 8002, … instructions.
    fn record(frames: u32) -> Record {
        let rows = (0..frames).map(|row| format!("{row},{row},0,10,{},0\n", 8011 + row)).collect::<String>();
        Record::parse(&(HEAD.to_owned() + &rows)).unwrap()
    }

    #[test]
    fn intervals_are_below_their_quantiles() {
        let text = text(&[record(400)]);
        let wanted = [
            "│ gateway   unit           frames   lost     min     p50     p90     p99     max │",
            "│ kernel    instructions      400      0    8001    8200    8360    8396    8400 │",
            "│           95 % from                               8180    8348    8392         │",
            "│           95 % to                                 8221    8372    8400         │",
            "│           virtual µs                     8.001   8.200   8.360   8.396   8.400 │",
        ];
        assert_eq!(text.lines().filter(|line| line.starts_with('│')).collect::<Vec<_>>(), wanted);
        assert!(!text.contains("too"), "{text}");
    }

    #[test]
    fn missing_bound_is_too_few() {
        let text = text(&[record(50)]);
        let wanted = [
            "│           95 % from                               8018    8041      8048         │",
            "│           95 % to                                 8033    8050   too few         │",
            "kernel: n too small: p99 needs 368 frames, there are 50: measure more frames",
        ];
        assert!(wanted.iter().all(|wanted| text.lines().any(|line| line == *wanted)), "{text}");
    }

    #[test]
    fn missing_bound_is_null_in_json() {
        let json = super::super::as_json(&[record(50)]);
        let latency = &json[0]["latency"];
        let bounds = ["p50_at_least_ns", "p50_at_most_ns", "p99_at_least_ns", "p99_at_most_ns"];
        assert_eq!(bounds.map(|key| latency[key].as_i64()), [Some(8018), Some(8033), Some(8048), None]);
        assert!(latency["p99_at_most_ns"].is_null() && latency.get("max_at_most_ns").is_none(), "{latency}");
    }
}
