//! The lists on the screen: buses, routes and drops.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table};

use super::{Focus, Paint, View};
use crate::cmd::top::display;
use crate::cmd::top::model::{BusRow, Model, Moment, RouteRow};

/// Columns from which on the tables have more columns.
pub(super) const WIDE: u16 = 110;

pub(super) fn bus_table(frame: &mut Frame<'_>, area: Rect, buses: &[BusRow], view: &View, paint: Paint) -> usize {
    let above = view.above[Focus::Upper as usize];
    let (shown, hidden) = part(buses, above, area.height);
    let title = place("BUS", view, Focus::Upper, above, shown.len(), buses.len());
    let is_wide = area.width >= WIDE;
    let mut titles = vec![title.as_str(), "INTERFACE", "STATE"];
    let interface = longest(buses.iter().map(|bus| bus.interface.as_str())).max(titles[1].len());
    let interface = u16::try_from(interface).unwrap_or(u16::MAX);
    let mut widths = vec![Constraint::Fill(1), Constraint::Length(interface), Constraint::Length(13)];
    if is_wide {
        titles.push("BIT RATE");
        widths.push(Constraint::Length(11));
    }
    let left = titles.len();
    titles.extend(["LOAD", "RX/s", "TX/s", "QUEUE", "LOST"]);
    widths.extend([9, 6, 6, 5, 6].map(Constraint::Length));
    if is_wide {
        titles.push("ERRORS");
        widths.push(Constraint::Length(6));
    }
    let row = |bus: &BusRow| {
        let state = match bus.state.as_str() {
            "up" | "error-active" => paint.good(),
            "error-warning" => paint.warning(),
            _ => paint.bad(),
        };
        let load = match bus.load() {
            Some((least, _)) if least > 0.8 => paint.bad(),
            Some((_, most)) if most > 0.8 => paint.warning(),
            _ => Style::new(),
        };
        let mut cells = vec![
            Cell::new(bus.bus.clone()),
            Cell::new(bus.interface.clone()),
            Cell::new(bus.state.clone()).style(state),
        ];
        if is_wide {
            cells.push(Cell::new(display::bitrate(bus.bitrate_bit_per_s)));
        }
        cells.extend([
            right(display::load(bus.load())).style(load),
            right(display::rate(bus.received_per_s)),
            right(display::rate(bus.sent_per_s)),
            right(bus.queue.map_or_else(|| display::UNKNOWN.into(), display::count)),
            right(display::count(bus.lost)).style(paint.bad_if(bus.lost > 0)),
        ]);
        if is_wide {
            cells.push(right(display::count(bus.errors)).style(paint.bad_if(bus.errors > 0)));
        }
        Row::new(cells)
    };
    list((frame, area), (&titles, left), widths, shown.iter().map(row).collect(), paint);
    hidden
}

pub(super) fn route_table(frame: &mut Frame<'_>, area: Rect, routes: &[RouteRow], view: &View, paint: Paint) -> usize {
    let above = view.above[Focus::Lower as usize];
    let (shown, hidden) = part(routes, above, area.height);
    let title = place("ROUTE", view, Focus::Lower, above, shown.len(), routes.len());
    let is_wide = area.width >= WIDE;
    let is_measured = routes.iter().any(|route| route.is_measured);
    let (curve, curve_width) = (if is_measured { "LATENCY" } else { "TREND" }, if is_wide { 24 } else { 10 });
    let mut titles = vec![title.as_str(), "FROM → TO", "SIDE", "FRAMES/s", "BYTES/s", "DROPS/s"];
    let mut widths = vec![6, 8, 7, 7];
    if is_measured {
        if is_wide {
            titles.push("50%");
            widths.push(7);
        }
        titles.push("99%");
        widths.push(7);
    }
    titles.push(curve);
    widths.push(curve_width);
    let taken: u16 = widths.iter().map(|width| width + 1).sum();
    let path = |route: &RouteRow| format!("{} → {}", route.from, route.to);
    let paths: Vec<_> = routes.iter().map(path).collect();
    let names = longest(routes.iter().map(|route| route.route.as_str()));
    let (name_width, path_width) =
        shares(usize::from(area.width - taken - 1), names, longest(paths.iter().map(String::as_str)));
    let widths = [name_width, path_width].into_iter().chain(widths).map(Constraint::Length);
    let row = |route: &RouteRow| {
        let frames = |moment: &Moment| moment.frames_per_s;
        let most = route.history.iter().filter_map(frames).fold(1.0, f64::max);
        let part_of_most = |moment: &Moment| Some(moment.frames_per_s? / most);
        let curve = if is_measured {
            display::sparkline(route.history.iter().map(|moment| moment.latency), curve_width.into())
        } else {
            display::sparkline(route.history.iter().map(part_of_most), curve_width.into())
        };
        let mut cells = vec![
            Cell::new(display::fit(&route.route, name_width.into())),
            Cell::new(display::path(&route.from, &route.to, path_width.into())),
            Cell::new(route.side.clone()),
            right(display::rate(route.frames_per_s)),
            right(display::rate(route.byte_per_s)),
            right(display::rate(route.drops_per_s))
                .style(paint.bad_if(route.drops_per_s.is_some_and(|rate| rate > 0.0))),
        ];
        if is_measured {
            if is_wide {
                cells.push(right(display::latency(route.p50)));
            }
            cells.push(right(display::latency(route.p99)));
        }
        cells.push(right(curve).style(paint.fg(Color::Cyan)));
        Row::new(cells)
    };
    list((frame, area), (&titles, 3), widths.collect(), shown.iter().map(row).collect(), paint);
    hidden
}

pub(super) fn drop_table(frame: &mut Frame<'_>, area: Rect, routes: &[RouteRow], model: &Model, paint: Paint) {
    let since = if model.counts_from_start() { "since start" } else { "since reset" };
    let mut dropping: Vec<_> = routes.iter().filter(|route| route.dropped > 0).collect();
    if dropping.is_empty() {
        let text = if model.now().is_some() { format!("No route has dropped a frame {since}") } else { String::new() };
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    candor_core::order::sort_by_key(&mut dropping, |route| std::cmp::Reverse(route.dropped));
    let reasons: Vec<&str> = dropping[0].drops.iter().map(|(reason, _)| reason.as_str()).collect();
    let title = format!("DROPPED {since}");
    let titles: Vec<&str> = [title.as_str()].into_iter().chain(reasons.iter().copied()).collect();
    let reason_width = 9;
    let names = area.width.saturating_sub((reason_width + 1) * u16::try_from(reasons.len()).unwrap_or(u16::MAX));
    let widths = [names].into_iter().chain(reasons.iter().map(|_| reason_width)).map(Constraint::Length);
    let row = |route: &&RouteRow| {
        let frames = |reason: &&str| {
            let of_reason = route.drops.iter().find(|(other, _)| other == reason);
            let frames = of_reason.map_or(0, |(_, frames)| *frames);
            let style = if frames > 0 { paint.bad() } else { Style::new() };
            right(display::count(frames)).style(style)
        };
        let cells = [Cell::new(display::fit(&route.route, names.into()))].into_iter().chain(reasons.iter().map(frames));
        Row::new(cells.collect::<Vec<_>>())
    };
    list((frame, area), (&titles, 1), widths.collect(), dropping.iter().map(row).collect(), paint);
}

/// Draws a list, of which the first `left` titles are left-aligned. Compiled once for all lists.
pub(super) fn list(
    (frame, area): (&mut Frame<'_>, Rect),
    (titles, left): (&[&str], usize),
    widths: Vec<Constraint>,
    rows: Vec<Row<'static>>,
    paint: Paint,
) {
    frame.render_widget(Table::new(rows, widths).header(titles_row(titles, left, paint)), area);
}

/// The visible part of a list, and the number of hidden lines.
pub(super) fn part<T>(rows: &[T], above: usize, height: u16) -> (&[T], usize) {
    let room = usize::from(height.saturating_sub(1));
    let hidden = rows.len().saturating_sub(room);
    let from = above.min(hidden);
    (&rows[from..(from + room).min(rows.len())], hidden)
}

/// The title of a list, with the visible range if it is scrolled.
pub(super) fn place(title: &str, view: &View, focus: Focus, above: usize, shown: usize, all: usize) -> String {
    let mark = if view.focus == focus && shown < all { "▸" } else { "" };
    if shown < all {
        let from = above.min(all - shown);
        return format!("{mark}{title} {}-{}/{all}", from + 1, from + shown);
    }
    title.into()
}

pub(super) fn right(text: String) -> Cell<'static> {
    Cell::new(Line::raw(text).right_aligned())
}

fn titles_row(titles: &[&str], left: usize, paint: Paint) -> Row<'static> {
    let cell = |(at, title): (usize, &&str)| {
        let line = Line::styled((*title).to_owned(), paint.title());
        Cell::new(if at < left { line } else { line.right_aligned() })
    };
    Row::new(titles.iter().enumerate().map(cell).collect::<Vec<_>>())
}

pub(super) fn longest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or_default()
}

/// Divides `free` columns between two texts: the second gets what it needs, up to half, or more if the first needs less.
pub(super) fn shares(free: usize, first: usize, second: usize) -> (u16, u16) {
    let second = second.max(9).min((free / 2).max(free.saturating_sub(first)));
    let width = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
    (width(free - second), width(second))
}
