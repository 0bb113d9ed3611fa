//! Latency and loss over the rate of frames, a line for each gateway.

use crate::experiment::traffic::Traffic;
use candor_egress::policy::FrameRate;
use maud::{Markup, html};

use super::axes::{Axes, GATEWAY, Group, words};
use super::shade::short;
use super::{Cell, Measured};
use crate::plot::{Axis, Entry, Mark, Panel, Sample, Scale, grouped, legend_list};
use crate::report::parts::columns;

const TRAFFIC: &str = "traffic";

const FEWEST_RATES: usize = 3;

/// Number of open figures; the others are collapsed.
const OPEN: usize = 4;

/// A gateway (and pattern) at several rates.
#[derive(Debug)]
struct Line<'m> {
    name: String,
    /// By rate, ascending.
    points: Vec<Point<'m>>,
    /// Highest rate without loss, if it was searched.
    ndr: Option<FrameRate>,
}

#[derive(Clone, Copy, Debug)]
struct Point<'m> {
    index: usize,
    level: &'m str,
    per_s: f64,
    /// p50 and p99 of the response in µs; `None` if no frame arrived.
    us: Option<[f64; 2]>,
    /// Share of lost frames.
    lost: f64,
}

/// Lines of cells that differ only in gateway and traffic.
#[derive(Debug)]
struct Sweep<'m> {
    title: String,
    lines: Vec<Line<'m>>,
}

/// `None` without three rates of any gateway.
pub(super) fn html(axes: &Axes, cells: &[Cell]) -> Option<Markup> {
    let sweeps = sweeps(axes, cells);
    let (open, closed) = sweeps.split_at(sweeps.len().min(OPEN));
    (!sweeps.is_empty()).then(|| {
        html! {
            div.figures { @for sweep in open { figure.sweep { figcaption { (sweep.title) } (body(sweep)) } } }
            @for sweep in closed { details.group { summary { (sweep.title) } figure.sweep { (body(sweep)) } } }
        }
    })
}

fn sweeps<'m>(axes: &Axes, cells: &'m [Cell]) -> Vec<Sweep<'m>> {
    let mut sweeps: Vec<Sweep<'m>> = Vec::new();
    for Group { levels, cells } in axes.grouped_without(&[TRAFFIC, GATEWAY], cells) {
        let mut lines: Vec<Line<'m>> = Vec::new();
        for &(index, cell) in &cells {
            let Some((pattern, point)) = point(index, cell) else { continue };
            let name = if pattern.is_empty() {
                cell.level(GATEWAY).to_owned()
            } else {
                format!("{}, {pattern}", cell.level(GATEWAY))
            };
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { name, points: vec![point], ndr: None }),
            }
        }
        for line in &mut lines {
            let of_gateway = cells.iter().filter(|(_, cell)| cell.level(GATEWAY) == line.name);
            line.ndr = of_gateway.filter_map(|(_, cell)| cell.valid()?.found()?.ndr.rate()).max();
        }
        lines.retain(|line| line.points.len() >= FEWEST_RATES);
        lines.iter_mut().for_each(|line| line.points.sort_by(|one, other| one.per_s.total_cmp(&other.per_s)));
        if !lines.is_empty() {
            let title: Vec<String> = levels.iter().map(|(factor, level)| words(factor, level)).collect();
            sweeps.push(Sweep { title: title.join(", "), lines });
        }
    }
    sweeps
}

/// A cell's point, with the name of its traffic pattern unless it is periodic. `None` for closed loops, replays and
/// searches, without a response time, and for invalid cells.
fn point<'m>(index: usize, cell: &'m Cell) -> Option<(&'static str, Point<'m>)> {
    let level = cell.level(TRAFFIC);
    let pattern = match level.parse::<Traffic>().ok()? {
        Traffic::Every(_) | Traffic::Share(_) | Traffic::Flood => "",
        Traffic::Poisson(_) => "at random",
        Traffic::Bursts { .. } => "in bursts",
        _ => return None,
    };
    let measured = cell.valid().filter(|measured| !measured.header.has_two_clocks())?;
    let us = |of: &Measured| of.response.map(|figures| [figures.p50, figures.p99].map(|time| time.microseconds()));
    let lost = measured.lost() as f64 / measured.frames.max(1) as f64;
    Some((pattern, Point { index, level, per_s: measured.offered_per_s?, us: us(measured), lost }))
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 342.0;
const ACROSS: [f64; 2] = [78.0, 544.0];
/// Bottom and top of the latencies, and of the losses below.
const LATENCIES: [f64; 2] = [236.0, 10.0];
const LOSSES: [f64; 2] = [296.0, 252.0];

fn body(sweep: &Sweep<'_>) -> Markup {
    let points = || sweep.lines.iter().flat_map(|line| &line.points);
    let fastest = points().map(|point| point.per_s).fold(1.0, f64::max) * 1.04;
    let times = || points().filter_map(|point| point.us).flatten().filter(|us| *us > 0.0);
    let (least, most) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
    let [least, most] = if most > 0.0 { [least / 1.2, most * 1.2] } else { [0.5, 2.0] };
    let x = Scale::linear(0.0, fastest, ACROSS);
    let response = Scale::logarithmic(least, most, LATENCIES);
    let response = Panel {
        x: Axis { scale: x, title: "", ticks: x.ticks().into_iter().map(|tick| (tick, String::new())).collect() },
        y: Axis::labelled(response, "response in µs", short),
    };
    let ends = [(0.0, "0"), (1.0, "100 %")].map(|(share, label)| (share, label.to_owned())).to_vec();
    let lost = Panel {
        x: Axis::new(x, "frames due each second"),
        y: Axis { scale: Scale::linear(0.0, 1.0, LOSSES), title: "lost", ticks: ends },
    };
    let line = |panel: &Panel<'_>, line: &Line<'_>, of: fn(&Point<'_>) -> Option<f64>| {
        panel.line(line.points.iter().map(|point| (point.per_s, of(point))))
    };
    let names: Vec<&str> = sweep.lines.iter().map(|line| line.name.as_str()).collect();
    let entries = Entry::all(&names, Sample::Line);
    html! {
        (legend_list(entries.iter().cloned()))
        svg.rates viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label="Response and loss over the rate of frames; the table below has the numbers" {
            (response.axes()) (lost.axes())
            @for (one, Entry { class, .. }) in sweep.lines.iter().zip(&entries) {
                path.line.high.(class) d=(line(&response, one, |point| point.us.map(|[_, p99]| p99))) {}
                path.line.(class) d=(line(&response, one, |point| point.us.map(|[p50, _]| p50))) {}
                path.line.(class) d=(line(&lost, one, |point| Some(point.lost))) {}
                @for point in &one.points {
                    @if let Some([p50, _]) = point.us {
                        @let title = format!("{}, {}: p50 {} µs", one.name, point.level, short(p50));
                        (response.mark((point.per_s, p50), Mark::Ring, class, Some(&title)))
                    }
                }
            }
            @for (line, Entry { class, .. }) in sweep.lines.iter().zip(&entries) {
                @if let Some(ndr) = line.ndr.map(per_s).filter(|ndr| *ndr <= fastest) {
                    g { title { (line.name) ": " (grouped(&format!("{ndr:.0}"))) " frames/s without loss" }
                        @for panel in [&response, &lost] { (panel.upright(ndr, &format!("line ndr {class}"))) }
                    }
                }
            }
        }
        (numbers(sweep))
    }
}

fn per_s(rate: FrameRate) -> f64 {
    f64::from(rate.frames_per_second())
}

fn numbers(sweep: &Sweep<'_>) -> Markup {
    html! {
        details { summary { "The numbers" }
            div.scroll { table.compare {
                (columns(2, &[GATEWAY, TRAFFIC, "frames/s due", "p50 µs", "p99 µs", "lost"]))
                tbody { @for line in &sweep.lines { @for (place, point) in line.points.iter().enumerate() {
                    tr.first[place == 0] {
                        th scope="row" { (line.name) } td { a href=(format!("#c{}", point.index)) { (point.level) } }
                        td.n { (grouped(&format!("{:.0}", point.per_s))) }
                        @match point.us {
                            Some(us) => { @for one in us { td.n { (short(one)) } } }
                            None => td.n colspan="2" { "no frame arrived" },
                        }
                        td.n { (format!("{:.1} %", 100.0 * point.lost)) }
                    }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{crossed, measure};
    use super::super::throughput::tests::searched;
    use super::*;
    use crate::cells::State;

    /// Frames with these periods; the last one is lost.
    fn plan(periods: &[&str]) -> Vec<Cell> {
        let mut cells =
            crossed(&[("gateway", &["kernel", "user"]), ("traffic", periods), ("load", &["none", "cpu 20"])]);
        for cell in &mut cells {
            measure(cell, &[Some(30_000), Some(50_000), None]);
            let measured = cell.measured.as_mut().unwrap();
            measured.response = measured.figures;
            let period = cell.levels[1].1.strip_prefix("every ").and_then(|text| text.strip_suffix("us"));
            measured.offered_per_s = period.map(|us| 1e6 / us.parse::<f64>().unwrap());
        }
        cells
    }

    #[test]
    fn three_rates_of_a_gateway_are_a_line() {
        let cells = plan(&["every 100us", "one at a time", "every 1000us", "every 200us"]);
        let axes = Axes::of(&cells);
        let found = sweeps(&axes, &cells);
        assert_eq!(found.iter().map(|sweep| sweep.title.as_str()).collect::<Vec<_>>(), ["load none", "cpu 20"]);
        let rates = |line: &Line<'_>| line.points.iter().map(|point| point.per_s.round()).collect::<Vec<_>>();
        assert!(found.iter().flat_map(|sweep| &sweep.lines).all(|line| rates(line) == [1000.0, 5000.0, 10_000.0]));
        let page = html(&axes, &cells).unwrap().into_string();
        for wanted in ["<td class=\"n\">5\u{202f}000</td>", ">33.3 %<", ">30.0<", "frames due each second"] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }

    #[test]
    fn searched_rate_without_loss_is_marked() {
        let mut cells = plan(&["every 100us", "every 1000us", "every 200us", "throughput"]);
        let is_searched = |cell: &&mut Cell| cell.levels[0].1 == "user" && cell.levels[1].1 == "throughput";
        for cell in cells.iter_mut().filter(is_searched) {
            cell.measured.as_mut().unwrap().header.throughput = Some(searched(5000));
        }
        let page = html(&Axes::of(&cells), &cells).unwrap().into_string();
        assert_eq!(page.matches("frames/s without loss").count(), 2, "one for each load: {page}");
        assert!(page.contains("user: 5\u{202f}000 frames/s without loss"), "{page}");
    }

    #[test]
    fn two_rates_and_invalid_cells_make_no_line() {
        let two = plan(&["every 100us", "one at a time", "every 200us"]);
        assert!(html(&Axes::of(&two), &two).is_none());
        let mut three = plan(&["every 100us", "every 1000us", "every 200us"]);
        for cell in three.iter_mut().filter(|cell| cell.levels[1].1 == "every 100us") {
            cell.state = Some(State::Invalid("late".to_owned()));
        }
        assert!(html(&Axes::of(&three), &three).is_none());
    }

    #[test]
    fn gateway_that_loses_everything_has_no_latency() {
        let mut cells = plan(&["every 100us", "every 1000us", "every 200us"]);
        for cell in &mut cells {
            let measured = cell.measured.as_mut().unwrap();
            (measured.response, measured.figures) = (None, None);
        }
        let page = html(&Axes::of(&cells), &cells).unwrap().into_string();
        assert!(page.contains("no frame arrived") && !page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
