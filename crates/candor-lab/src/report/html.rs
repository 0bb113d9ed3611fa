//! One self-contained page: profile, table, conditions, threats to validity, and the data itself.

use crate::stats::CONFIDENCE;
use maud::{Markup, PreEscaped, html as markup};
use serde::Serialize;

use super::matrix::{self, Stages, Timeline};
use super::parts::{page, range, time_unit, units};
use super::{Summary, chart, threats};
use crate::plot::{Entry, Sample, class, grouped, legend_list};
use crate::record::{Header, Record};
use crate::tester::Origin;

const SCRIPT: &str = include_str!("page.js");

/// A page without external references.
pub fn html(records: &[Record]) -> String {
    let summaries = Summary::of_all(records);
    let names: Vec<&str> = summaries.iter().map(|summary| summary.device.as_str()).collect();
    let unit = time_unit(records.iter().map(|record| record.header.instruction_ns));
    let conditions_of = conditions_of(records);
    let mut leads: Vec<String> = conditions_of.iter().map(|record| lead(&record.header)).collect();
    leads.dedup();
    page(
        "candor: latency of CAN gateways",
        "",
        "",
        &markup! {
            header {
                p.eyebrow { "candor · latency report" }
                h1 { (verdict(&summaries)) }
                @for lead in leads { p.lead { (lead) } }
            }
            section {
                h2 { "Latency profile" }
                p.note {
                    "Number of frames that took at least this long. The vertical axis is logarithmic, so the few slow frames at "
                    "the bottom right are as easy to see as the thousands at the top left."
                }
                figure { (legend_list(Entry::all(&names, Sample::Line))) (chart::latency_profile(&summaries, unit)) }
                p #readout .readout aria-live="polite" { "Hover over the figure to read values." }
            }
            section { h2 { "Figures" } (table(records, &summaries)) }
            section { h2 { "Over the run" } @for record in records { (run(record)) } }
            section { h2 { "Validity" } (validity(records)) }
            section { h2 { "Method" } @for record in conditions_of { (method(&record.header)) } }
            section { h2 { "Conditions" } @for record in records { (conditions(&record.header)) } }
        },
        &markup! {
            script #data type="application/json" { (PreEscaped(data(&summaries))) }
            script { (PreEscaped(SCRIPT)) }
        },
    )
}

/// Headline that states the result of the comparison.
fn verdict(summaries: &[Summary]) -> String {
    let ratio = summaries.iter().find_map(|summary| Some((summary.kernel_ratio?, summary)));
    match ratio {
        Some((ratio, summary)) => {
            format!("The {} gateway takes {ratio:.2} times as long as the kernel's", summary.engine)
        }
        None => "Latency of CAN gateways".to_owned(),
    }
}

/// One record for each set of conditions.
pub fn conditions_of(records: &[Record]) -> Vec<&Record> {
    let mut different: Vec<&Record> = Vec::new();
    for record in records {
        if !different.iter().any(|known| known.header.is_comparable_with(&record.header)) {
            different.push(record);
        }
    }
    different
}

fn lead(header: &Header) -> String {
    let clock = match header.testbed.as_str() {
        "icount" => "in a virtual machine whose clock counts instructions: reproducible to the instruction",
        "uml" => "in user-mode Linux, whose times are meaningless",
        _ => "in real time",
    };
    let traffic = if header.is_closed_loop() { "one frame at a time" } else { &header.traffic };
    format!("Linux {}, {traffic}, {clock}.", header.kernel_release)
}

fn table(records: &[Record], summaries: &[Summary]) -> Markup {
    let rows = || records.iter().zip(summaries).enumerate();
    markup! {
        div.scroll { table {
            thead { tr {
                th { "gateway" } th { "unit" } th.n { "frames" } th.n { "lost" }
                @for name in ["min", "p50", "p90", "p99", "max"] { th.n { (name) } }
                th.n { "p50 ÷ kernel" }
            } }
            tbody { @for (index, (record, summary)) in rows() {
                @let units = units(&record.header, grouped);
                @let rows = units.len() + usize::from(summary.figures.is_some());
                @for (row, (unit, show)) in units.iter().enumerate() {
                    tr.first[row == 0] {
                        @if row == 0 {
                            th scope="row" rowspan=(rows) { span.key.(class(index)) {} (summary.device) }
                        }
                        td { (unit) }
                        @if row == 0 {
                            td.n rowspan=(rows) { (grouped(&summary.frames.to_string())) }
                            td.n rowspan=(rows) { (grouped(&summary.lost.to_string())) }
                        }
                        @match summary.figures {
                            Some(figures) => { @for (_, value) in figures.columns() { td.n { (show(value)) } } }
                            None => { td.n colspan="5" { "no frame arrived" } }
                        }
                        @if row == 0 {
                            td.n rowspan=(rows) {
                                @match summary.kernel_ratio {
                                    Some(ratio) => { strong { (format!("{ratio:.2}")) } }
                                    None => "–",
                                }
                            }
                        }
                    }
                    @if let Some(figures) = summary.figures.filter(|_| row == 0) {
                        tr {
                            td { (CONFIDENCE) " interval" }
                            @for interval in figures.intervals() {
                                td.n { @if let Some(interval) = interval { (range(interval, show)) } }
                            }
                        }
                    }
                }
            } }
        } }
        @if summaries.iter().any(|summary| summary.kernel_ratio.is_some()) {
            p.note {
                "The 2011 paper (section 3.7) found " em { "about three times" } " for a user-space gateway on its board. The ratio "
                "depends on what both gateways share: the interrupts and the driver of real or emulated cards are in both "
                "figures and bring it down; between virtual interfaces, which have neither, it is about three."
            }
        }
    }
}

fn run(record: &Record) -> Markup {
    let timeline = Timeline::of(record);
    markup! {
        h3 { (record.header.device) }
        div.pictures { (matrix::chart(&timeline)) }
        @if let Some(stages) = Stages::of(record) { (matrix::stages_table(&stages)) }
        (matrix::gallery(&timeline))
    }
}

fn validity(records: &[Record]) -> Markup {
    let all: Vec<_> = records.iter().map(|record| (&record.header.device, threats(record))).collect();
    let mut instructions: Vec<u32> = records.iter().filter_map(|record| record.header.instruction_ns).collect();
    instructions.dedup();
    let kinds = conditions_of(records).len();
    markup! {
        ul.trust {
            @for ns in &instructions {
                li {
                    "One instruction of the emulated CPU takes " (ns) " ns. There are no caches, no second core and "
                    "no idle states: compare the figures with each other, but not with real time."
                }
            }
            @if kinds > 1 {
                li.threat {
                    "These gateways were measured under " (kinds) " different sets of conditions: only figures of the same "
                    "set can be compared. The sets are described below."
                }
            }
            @for (device, threats) in &all { @for threat in threats { li.threat { strong { (device) } ": " (threat) "." } } }
            @if all.iter().all(|(_, threats)| threats.is_empty()) {
                li { "No frame was lost, late, duplicated or unaccounted for." }
            }
        }
    }
}

fn method(header: &Header) -> Markup {
    let wire = header.wire_bits_per_second.map_or_else(
        || "Frames take no time on these buses, so nothing is subtracted.".to_owned(),
        |rate| format!("The frame time on the far bus ({rate} bit/s, exact stuff bits) is subtracted."),
    );
    markup! {
        pre.topology {
            (format!("{:>8}", header.send)) " ──▶ first bus ──▶ gateway ──▶ second bus ──▶ " (header.receive) "\n"
            "              │                                     │\n"
            (format!("{:>14}", header.monitor)) ": stamp A                      stamp B"
        }
        p {
            "Each frame carries a number in its first two bytes. Its latency is stamp B minus stamp A, both taken by the "
            "kernel when it receives the frame. " (wire) " "
            @if header.is_closed_loop() {
                "The next frame is sent when the last has arrived, or is lost after " (header.timeout_ns / 1_000_000)
                " ms, after a random pause of " (header.gap_min_ns / 1000) " to " (header.gap_max_ns / 1000) " µs"
            } @else {
                "Each frame has a time at which it is due (" (header.traffic) "), independent of the others; a frame that has not arrived "
                "after " (header.timeout_ns / 1_000_000) " ms is lost"
            }
            " (seed " (header.seed) "). " (header.warm_up_frames) " frames warmed up the path before the first one that counts."
            @if header.traffic == Origin::Timer.traffic() {
                " A timer of the kernel sent each frame while the tester slept; the frame that is sent when the timer starts is "
                "not measured."
            }
        }
    }
}

fn conditions(header: &Header) -> Markup {
    let json = serde_json::to_string_pretty(header).expect("a header holds only strings and numbers");
    markup! { details { summary { (header.device) } pre { (json) } } }
}

/// Profiles for the page's script.
fn data(summaries: &[Summary]) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        device: &'a str,
        frames: usize,
        lost: usize,
        /// Pairs of latency in ns and frames with at least it.
        profile: Vec<(i64, usize)>,
    }
    let lines: Vec<Line<'_>> = summaries
        .iter()
        .map(|summary| Line {
            device: &summary.device,
            frames: summary.frames,
            lost: summary.lost,
            profile: summary.profile.points.iter().map(|point| (point.latency.0, point.at_least)).collect(),
        })
        .collect();
    // A name could hold the end of the script, or "<!--"; in JSON any character may be escaped.
    serde_json::to_string(&lines).expect("strings and numbers only").replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::record;
    use super::*;

    fn page() -> String {
        html(&[
            record("kernel", "kernel", &[Some(8000), Some(9000)]),
            record("</script><!--<script>", "read-write", &[Some(16_000), None]),
        ])
    }

    #[test]
    fn page_states_ratio_and_losses() {
        let page = page();
        assert!(page.contains("The read-write gateway takes 2.00 times as long as the kernel's"), "{page}");
        assert!(page.contains("1 frame lost"), "{page}");
    }

    #[test]
    fn traffic_is_described() {
        assert!(page().contains("amd64, one frame at a time") && page().contains("after a random pause of"));
        let mut periodic = record("kernel", "kernel", &[Some(8000)]);
        periodic.header.traffic = "50 %".to_owned();
        let page = html(&[periodic]);
        assert!(page.contains("amd64, 50 %, in a virtual") && page.contains("is due (50 %)"), "{page}");
        assert!(!page.contains("random pause"), "{page}");
    }

    #[test]
    fn each_record_has_a_timeline_and_its_slowest_frames() {
        let page = page();
        assert_eq!(page.matches("Latency over the run").count(), 2);
        assert!(page.contains("frame 1, sent 0 ms after the start: 9.00 µs"), "{page}");
        assert!(page.contains("to the first bus"), "{page}");
    }

    #[test]
    fn quantiles_have_intervals_or_are_too_small() {
        let latencies: Vec<_> = (1..=100).map(|step| Some(1000 + step)).collect();
        let page = html(&[record("kernel", "kernel", &latencies)]);
        for wanted in
            ["1\u{202f}040 – 1\u{202f}061", "from 1\u{202f}097, n too small", "n too small: p99 needs 368 frames"]
        {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
    }

    #[test]
    fn timer_frames_are_described_and_not_compared_with_others() {
        let mut records = [record("kernel", "kernel", &[Some(8000)]), record("busy", "mmapbusy-write", &[Some(9000)])];
        assert!(html(&records).contains("1.12 times") && !html(&records).contains("A timer of the kernel"));
        records[1].header.traffic = Origin::Timer.traffic().to_owned();
        let page = html(&records);
        assert!(page.contains("A timer of the kernel sent each frame") && page.contains("2 different sets"), "{page}");
        assert!(!page.contains("1.12"), "{page}");
    }

    #[test]
    fn page_has_no_references_and_escapes_names() {
        let page = page();
        for forbidden in ["http:", "https:", "<link", "src=", "@import", "<!--"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn same_records_give_the_same_bytes() {
        assert_eq!(page(), page());
    }
}
