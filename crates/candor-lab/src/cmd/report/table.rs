//! The figures of records as a table in the terminal.

use std::fmt::Write as _;

use candor_lab::record::{Header, Record};
use candor_lab::report::{CONFIDENCE, Figures, Summary, Threat, conditions_of};
use candor_lab::stats::{Interval, LatencyNs};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// The table, the ratios beside the paper's, and what to believe less.
pub(super) fn text(records: &[Record]) -> String {
    let summaries = Summary::of_all(records);
    let mut text = format!("{}\n", table(records, &summaries));
    for summary in &summaries {
        let mut say = |ratio: Option<f64>, base: &str| {
            if let Some(ratio) = ratio {
                writeln!(text, "{}: p50 is {ratio:.2} times {base}", summary.device)
                    .expect("writing to a String cannot fail");
            }
        };
        say(summary.kernel_ratio, "the kernel gateway's (2011 paper, section 3.7: about three times)");
        say(summary.baseline_ratio, "that of the same calls without rules (candor-lab baseline)");
    }
    let kinds = conditions_of(records).len();
    if kinds > 1 {
        writeln!(
            text,
            "These are {kinds} sets of conditions; only figures of the same set can be compared (--html tells them)"
        )
        .expect("writing to a String cannot fail");
    }
    for record in records {
        for threat in Threat::all_of(record) {
            writeln!(text, "{}: {threat}", record.header.device).expect("writing to a String cannot fail");
        }
    }
    text
}

fn table(records: &[Record], summaries: &[Summary]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["gateway", "unit", "frames", "lost", "min", "p50", "p90", "p99", "max"]);
    for (record, summary) in records.iter().zip(summaries) {
        for (row, (unit, show)) in units(&record.header).into_iter().enumerate() {
            let first = |text: String| if row == 0 { text } else { String::new() };
            let mut cells = vec![first(summary.device.clone()), unit.to_owned()];
            cells.extend([first(summary.frames.to_string()), first(summary.sent.lost().to_string())]);
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

/// Two rows with the ends of the intervals: beside each other they would not fit into a terminal.
fn bounds(figures: &Figures, show: &Show) -> [Vec<String>; 2] {
    let row = |word: &str, end: fn(Interval) -> Option<LatencyNs>| {
        let cell = |interval| end(interval).map_or_else(|| "too few".to_owned(), show);
        let cells = figures.intervals().map(|interval| interval.map_or_else(String::new, cell));
        let first = [String::new(), format!("{CONFIDENCE} {word}"), String::new(), String::new()];
        first.into_iter().chain(cells).collect()
    };
    [row("from", |interval| interval.lower), row("to", |interval| interval.upper)]
}

type Show = Box<dyn Fn(LatencyNs) -> String>;

/// The units that a record's figures are given in: instructions too, where the clock counts them.
fn units(header: &Header) -> Vec<(&'static str, Show)> {
    let microseconds: Show = Box::new(|latency| format!("{:.3}", latency.microseconds()));
    match header.instruction_ns {
        None => vec![("µs", microseconds)],
        Some(ns) => {
            let instructions: Show = Box::new(move |latency| (latency.0 / i64::from(ns.max(1))).to_string());
            vec![("instructions", instructions), ("virtual µs", microseconds)]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// So many frames that took 8001, 8002, … instructions.
    fn record(frames: u32) -> Record {
        let header = r##"# candor-record 1
# {"device":"kvaser-kernel","engine":"kernel","testbed":"icount","instruction_ns":1,"topology":"kvaser","platform":{},
"##;
        let rest = r##""candor_version":"0.1.0","kernel_release":"6.1.0-56-amd64","frame":"123#0000","send":"can0","monitor":"can1",
"receive":"can4","traffic":"one-at-a-time","tester_policy":"SCHED_IDLE","stamps":"kernel","gap_min_ns":1,"gap_max_ns":2,
"seed":1,"timeout_ns":3,"warm_up_frames":500,"start_realtime_ns":4,"wire_bits_per_second":null,
"wire_data_bits_per_second":null,"late_or_duplicate_frames":0,"foreign_frames":0,"warnings":[]}"##;
        let mut text = format!(
            "{}{}\nsequence,tag,sent_ns,monitor_ns,far_ns,wire_ns\n",
            header.trim_end(),
            rest.replace('\n', "")
        );
        for sequence in 0..frames {
            writeln!(text, "{sequence},{sequence},0,10,{},0", 8011 + sequence).unwrap();
        }
        Record::parse(&text).unwrap()
    }

    #[test]
    fn quantiles_have_the_ends_of_their_intervals_below_them() {
        let text = text(&[record(400)]);
        let wanted = [
            "│ gateway         unit           frames   lost     min     p50     p90     p99     max │",
            "│ kvaser-kernel   instructions      400      0    8001    8200    8360    8396    8400 │",
            "│                 95 % from                               8180    8348    8392         │",
            "│                 95 % to                                 8221    8372    8400         │",
            "│                 virtual µs                     8.001   8.200   8.360   8.396   8.400 │",
        ];
        assert_eq!(text.lines().filter(|line| line.starts_with('│')).collect::<Vec<_>>(), wanted);
        assert!(!text.contains("too"), "{text}");
    }

    #[test]
    fn too_few_frames_are_said_where_a_bound_would_stand() {
        let text = text(&[record(50)]);
        let wanted = [
            "│                 95 % from                               8018    8041      8048         │",
            "│                 95 % to                                 8033    8050   too few         │",
            "kvaser-kernel: n too small: p99 needs 368 frames, there are 50: measure more frames",
        ];
        assert!(wanted.iter().all(|wanted| text.lines().any(|line| line == *wanted)), "{text}");
    }

    #[test]
    fn a_bound_that_is_not_there_is_null_for_programs() {
        let json = super::super::as_json(&[record(50)]);
        let latency = &json[0]["latency"];
        let bounds = ["p50_at_least_ns", "p50_at_most_ns", "p99_at_least_ns", "p99_at_most_ns"];
        assert_eq!(bounds.map(|key| latency[key].as_i64()), [Some(8018), Some(8033), Some(8048), None]);
        assert!(latency["p99_at_most_ns"].is_null() && latency.get("max_at_most_ns").is_none(), "{latency}");
    }
}
