//! Details of one cell. The target of its link lies within the collapsed part, which browsers open for it.

use crate::stats::{CONFIDENCE, Figures, LatencyNs};
use maud::{Markup, html};

use super::axes::{Axes, GATEWAY, Group, KERNEL};
use super::map::{Mark, heading};
use super::profile::picture;
use super::shade::short;
use super::timeline::{chart, gallery};
use super::{Cell, Measured};
use super::{stages, throughput};
use crate::plot::grouped;
use crate::record::Disposition;
use crate::report::parts::{columns, range};

/// The cells of each map; maps are collapsed if there are several.
pub(super) fn html(axes: &Axes, cells: &[Cell], ratios: &[Option<f64>]) -> Markup {
    let groups = axes.groups(cells);
    let all = |group: &Group<'_>| {
        html! { @for (index, cell) in &group.cells { (one(axes, *index, cell, ratios[*index])) } }
    };
    html! {
        @if let [group] = &groups[..] { (all(group)) } @else {
            @for group in &groups {
                details.group { summary { (heading(group)) " (" (group.cells.len()) ")" } (all(group)) }
            }
        }
    }
}

fn one(axes: &Axes, index: usize, cell: &Cell, ratio: Option<f64>) -> Markup {
    let mark = Mark::of(cell.state.as_ref());
    let p50 = cell.measured.as_ref().and_then(|measured| measured.figures).map(|figures| figures.p50.microseconds());
    html! {
        details.cell {
            summary {
                (axes.words(cell))
                span.(mark.class) {
                    @if mark.sign.is_empty() { @if let Some(p50) = p50 { " " (short(p50)) " µs" } } @else { " " (mark.sign) }
                }
            }
            div id=(format!("c{index}")) {
                @if !mark.sign.is_empty() { p.why { (mark.text) } }
                @if let Some(measured) = &cell.measured { (known(index, measured, ratio.filter(|_| cell.level(GATEWAY) != KERNEL))) }
                p.note { "Cell " code { (cell.name) } }
            }
        }
    }
}

fn known(index: usize, measured: &Measured, ratio: Option<f64>) -> Markup {
    let header = &measured.header;
    let counts = Disposition::ALL.iter().zip(measured.dispositions);
    let dispositions: Vec<_> = counts.map(|(disposition, count)| counted(disposition.name(), &count)).collect();
    let activity = header.activity_per_second.iter().map(|(what, per_s)| counted(&what.replace('_', " "), per_s));
    let activity: Vec<_> = activity.collect();
    html! {
        div.known {
            div.pictures {
                (picture(index, &measured.profile, measured.frames))
                (chart(&measured.timeline))
            }
            div.scroll { table {
                (columns(1, &["µs", "min", "p50", "p90", "p99", "max"]))
                tbody {
                    @match &measured.figures {
                        Some(figures) => (rows("service", figures)),
                        None => tr { th scope="row" { "service" } td colspan="5" { "no frame arrived" } },
                    }
                    @if let Some(figures) = &measured.response { (rows("response", figures)) }
                }
            } }
        }
        @if let Some(stages) = &measured.stages { (stages::table(stages)) }
        @if !measured.timeline.spikes.is_empty() { p.note { "The slowest frames, with those before and after them:" } (gallery(&measured.timeline)) }
        @if let Some(searched) = &header.throughput { (throughput::trials(searched)) }
        ul.facts {
            li { (grouped(&measured.frames.to_string())) " frames: " (dispositions.join(", ")) }
            @if let Some(ratio) = ratio { li { "p50 is " (format!("{ratio:.2}")) " times that of the kernel's gateway" } }
            @if let Some(late) = measured.lateness_p99 { li { "tester late by at most " (us(late)) " µs with 99 of 100 frames" } }
            @if !activity.is_empty() { li { "each second: " (activity.join(", ")) } }
            li {
                "stamps: " (header.stamps)
                @if header.has_two_clocks() { "; send times have another clock, so there is no response time and there are no stages" }
            }
            @for threat in &measured.threats { li.threat { (threat) } }
        }
    }
}

/// Figures, and their intervals below.
fn rows(name: &str, figures: &Figures) -> Markup {
    html! {
        tr.first { th scope="row" { (name) } @for (_, value) in figures.columns() { td.n { (us(value)) } } }
        tr { th scope="row" { (CONFIDENCE) " interval" } @for interval in figures.intervals() {
            td.n { @if let Some(interval) = interval { (range(interval, &us)) } }
        } }
    }
}

fn counted(what: &str, count: &impl ToString) -> String {
    format!("{what} {}", grouped(&count.to_string()))
}

fn us(latency: LatencyNs) -> String {
    format!("{:.3}", latency.microseconds())
}
