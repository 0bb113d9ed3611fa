//! One self-contained page: profile, table, how it was measured, what to believe less, and the data itself.

use crate::stats::{Interval, LatencyNs};
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use serde::Serialize;

use super::matrix::{self, Course, Stages};
use super::{CONFIDENCE, Summary, Threat, chart};
use crate::plot::{Entry, Sample, class, grouped, legend_list, sheet};
use crate::record::{Header, Record};
use crate::tester::Origin;

pub(super) const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the 2011 paper says of a user-space gateway beside the kernel's, section 3.7.
const PAPER_RATIO: &str = "about three times";

/// The report as HTML text. It loads nothing from anywhere.
#[must_use]
pub fn html(records: &[Record]) -> String {
    let summaries = Summary::of_all(records);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            (head("candor: latency of CAN gateways", &[STYLE]))
            body {
                main {
                    header {
                        p.eyebrow { "candor · latency report" }
                        h1 { (verdict(&summaries)) }
                        @for lead in leads(records) { p.lead { (lead) } }
                    }
                    section {
                        h2 { "Latency profile" }
                        p.note {
                            "How many frames took at least this long. The vertical axis is logarithmic, so the few slow "
                            "frames at the bottom right are as easy to see as the thousands at the top left."
                        }
                        figure { (legend_list(named(&summaries))) (chart::latency_profile(&summaries, time_unit(records.iter().map(|record| record.header.instruction_ns)))) }
                        p #readout .readout aria-live="polite" { "Point at the figure to read it." }
                    }
                    section { h2 { "Figures" } (table(records, &summaries)) }
                    section { h2 { "Over the run" } @for record in records { (run(record)) } }
                    section { h2 { "What to believe" } (threats(records)) }
                    section { h2 { "How it was measured" } @for record in conditions_of(records) { (method(&record.header)) } }
                    section { h2 { "Everything that was held constant" } @for record in records { (conditions(&record.header)) } }
                }
                script #data type="application/json" { (PreEscaped(data(&summaries))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The head of a page, with what it looks like.
pub(super) fn head(title: &str, styles: &[&str]) -> Markup {
    markup! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { (title) }
            style { (PreEscaped(sheet())) @for style in styles { (PreEscaped(*style)) } }
        }
    }
}

fn named(summaries: &[Summary]) -> impl Iterator<Item = Entry<'_>> {
    summaries.iter().enumerate().map(|(index, summary)| Entry {
        name: &summary.device,
        class: class(index),
        sample: Sample::Line,
    })
}

/// The sentence that the page is about.
fn verdict(summaries: &[Summary]) -> String {
    let ratio = summaries.iter().find_map(|summary| Some((summary.kernel_ratio?, summary)));
    match ratio {
        Some((ratio, summary)) => {
            format!("The {} gateway takes {ratio:.2} times as long as the kernel's", summary.engine)
        }
        None => "How long frames take through the gateway".to_owned(),
    }
}

/// One record for each set of conditions.
#[must_use]
pub fn conditions_of(records: &[Record]) -> Vec<&Record> {
    let mut different: Vec<&Record> = Vec::new();
    for record in records {
        if !different.iter().any(|known| known.header.is_comparable_with(&record.header)) {
            different.push(record);
        }
    }
    different
}

fn leads(records: &[Record]) -> Vec<String> {
    let mut leads: Vec<String> = conditions_of(records).iter().map(|record| lead(&record.header)).collect();
    leads.dedup();
    leads
}

fn lead(header: &Header) -> String {
    let clock = match header.testbed.as_str() {
        "icount" => "in a virtual machine whose clock counts instructions: the figures repeat to the instruction",
        "uml" => "in user-mode Linux, whose times mean nothing",
        _ => "on this machine's own clock",
    };
    let traffic = if header.is_closed_loop() { "one frame at a time" } else { &header.traffic };
    format!("Linux {}, {traffic}, {clock}.", header.kernel_release)
}

/// The unit of latencies, by what an instruction lasts where they were measured.
pub(super) fn time_unit(instructions_ns: impl Iterator<Item = Option<u32>>) -> &'static str {
    match instructions_ns.collect::<Vec<_>>()[..] {
        [] => "µs",
        ref all if all.iter().all(|&one| one == Some(1)) => "virtual µs (1000 instructions each)",
        ref all if all.iter().all(Option::is_some) => "virtual µs",
        _ => "µs",
    }
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
                @let units = units(&record.header);
                @let rows = units.len() + usize::from(summary.figures.is_some());
                @for (row, unit) in units.iter().enumerate() {
                    tr.first[row == 0] {
                        @if row == 0 {
                            th scope="row" rowspan=(rows) { span.key.(class(index)) {} (summary.device) }
                        }
                        td { (unit.name) }
                        @if row == 0 {
                            td.n rowspan=(rows) { (grouped(&summary.frames.to_string())) }
                            td.n rowspan=(rows) { (grouped(&summary.sent.lost().to_string())) }
                        }
                        @match summary.figures {
                            Some(figures) => { @for (_, value) in figures.columns() { td.n { ((unit.show)(value)) } } }
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
                                td.n { @if let Some(interval) = interval { (range(interval, &unit.show)) } }
                            }
                        }
                    }
                }
            } }
        } }
        @if summaries.iter().any(|summary| summary.kernel_ratio.is_some()) {
            p.note {
                "The 2011 paper (section 3.7) found " em { (PAPER_RATIO) } " for a user-space gateway on its board. The ratio "
                "depends on what both gateways share: the interrupts and the driver of real or emulated cards are in both "
                "figures and bring it down; between virtual interfaces, which have neither, it is about three."
            }
        }
    }
}

/// A unit that the figures are given in.
struct Unit {
    name: &'static str,
    show: Box<dyn Fn(LatencyNs) -> String>,
}

/// The ends of an interval, or the words for none.
pub(super) fn range(interval: Interval, show: &dyn Fn(LatencyNs) -> String) -> String {
    match (interval.lower, interval.upper) {
        (None, None) => "n too small".to_owned(),
        (None, Some(upper)) => format!("to {}, n too small", show(upper)),
        (Some(lower), None) => format!("from {}, n too small", show(lower)),
        (Some(lower), Some(upper)) => format!("{} – {}", show(lower), show(upper)),
    }
}

fn units(header: &Header) -> Vec<Unit> {
    let show = |latency: LatencyNs| format!("{:.3}", latency.microseconds());
    let Some(instruction_ns) = header.instruction_ns else {
        return vec![Unit { name: "µs", show: Box::new(show) }];
    };
    let instructions = move |latency: LatencyNs| grouped(&(latency.0 / i64::from(instruction_ns.max(1))).to_string());
    vec![Unit { name: "instructions", show: Box::new(instructions) }, Unit { name: "virtual µs", show: Box::new(show) }]
}

/// How latencies were in the order of sending, where the time went, and the slowest frames.
fn run(record: &Record) -> Markup {
    let course = Course::of(record);
    markup! {
        h3 { (record.header.device) }
        div.pictures { (matrix::chart(&course)) }
        @if let Some(stages) = Stages::of(record) { (matrix::stages_table(&stages)) }
        (matrix::gallery(&course))
    }
}

fn threats(records: &[Record]) -> Markup {
    let all: Vec<_> = records.iter().map(|record| (&record.header.device, Threat::all_of(record))).collect();
    let mut instructions: Vec<u32> = records.iter().filter_map(|record| record.header.instruction_ns).collect();
    instructions.dedup();
    let kinds = conditions_of(records).len();
    markup! {
        ul.trust {
            @for ns in &instructions {
                li {
                    "One instruction of the emulated processor takes " (ns) " ns. There are no caches, no second core and "
                    "no idle states in it: compare the figures with each other, never with a stopwatch."
                }
            }
            @if kinds > 1 {
                li.threat {
                    "These gateways were measured under " (kinds) " different sets of conditions: only those of the same "
                    "set can be compared. Each is described below."
                }
            }
            @for (device, threats) in &all { @for threat in threats { li.threat { strong { (device) } ": " (threat) "." } } }
            @if all.iter().all(|(_, threats)| threats.is_empty()) {
                li { "No frame was lost, late, doubled or left unexplained." }
            }
        }
    }
}

fn method(header: &Header) -> Markup {
    let wire = header.wire_bits_per_second.map_or_else(
        || "Frames take no time on these wires, so nothing is subtracted.".to_owned(),
        |rate| format!("The time of the frame on the far wire ({rate} bit/s, exact stuff bits) is subtracted."),
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
                "Each frame has a moment at which it is due (" (header.traffic) "), whatever became of the others; one that has not arrived "
                "after " (header.timeout_ns / 1_000_000) " ms is lost"
            }
            " (seed " (header.seed) "). " (header.warm_up_frames) " frames went before the first that counts."
            @if header.traffic == Origin::Timer.traffic() {
                " A timer of the kernel sent each frame while the tester slept; the frame that goes out when it is started is "
                "waited for and not measured."
            }
        }
    }
}

fn conditions(header: &Header) -> Markup {
    let json = serde_json::to_string_pretty(header).expect("a header holds only strings and numbers");
    markup! { details { summary { (header.device) } pre { (json) } } }
}

/// The profiles for the page's script.
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
            lost: summary.sent.lost(),
            profile: summary.sent.profile().points.iter().map(|point| (point.latency.0, point.at_least)).collect(),
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
    fn the_page_says_the_ratio_and_the_loss() {
        let page = page();
        assert!(page.contains("The read-write gateway takes 2.00 times as long as the kernel's"), "{page}");
        assert!(page.contains("1 frames were lost"), "{page}");
    }

    #[test]
    fn traffic_is_described_as_it_was() {
        assert!(page().contains("amd64, one frame at a time") && page().contains("after a random pause of"));
        let mut periodic = record("kernel", "kernel", &[Some(8000)]);
        periodic.header.traffic = "50 %".to_owned();
        let page = html(&[periodic]);
        assert!(page.contains("amd64, 50 %, in a virtual") && page.contains("is due (50 %)"), "{page}");
        assert!(!page.contains("random pause"), "{page}");
    }

    #[test]
    fn each_record_has_its_course_and_its_slowest_frames() {
        let page = page();
        assert_eq!(page.matches("Latency over the run").count(), 2);
        assert!(page.contains("frame 1, sent 0 ms after the start: 9.00 µs"), "{page}");
        assert!(page.contains("to the first bus"), "{page}");
    }

    #[test]
    fn quantiles_have_their_intervals_or_the_words_for_none() {
        let latencies: Vec<_> = (1..=100).map(|step| Some(1000 + step)).collect();
        let page = html(&[record("kernel", "kernel", &latencies)]);
        for wanted in
            ["1\u{202f}040 – 1\u{202f}061", "from 1\u{202f}097, n too small", "n too small: p99 needs 368 frames"]
        {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
    }

    #[test]
    fn frames_from_a_timer_are_described_and_no_measure_for_others() {
        let mut records = [record("kernel", "kernel", &[Some(8000)]), record("busy", "mmapbusy-write", &[Some(9000)])];
        assert!(html(&records).contains("1.12 times") && !html(&records).contains("A timer of the kernel"));
        records[1].header.traffic = Origin::Timer.traffic().to_owned();
        let page = html(&records);
        assert!(page.contains("A timer of the kernel sent each frame") && page.contains("2 different sets"), "{page}");
        assert!(!page.contains("1.12"), "{page}");
    }

    #[test]
    fn the_page_loads_nothing_and_escapes_names() {
        let page = page();
        for forbidden in ["http:", "https:", "<link", "src=", "@import", "<!--"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn the_same_records_give_the_same_bytes() {
        assert_eq!(page(), page());
    }
}
