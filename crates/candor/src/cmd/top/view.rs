//! What is on the screen: a function of the model and of what the keys have set.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Clear, Paragraph, Row, Table};

use super::model::{BusRow, Model, RouteRow};
use super::words;

/// Below this there is a message instead.
pub(super) const MIN_WIDTH: u16 = 80;
pub(super) const MIN_HEIGHT: u16 = 12;
/// From here on there is room for more columns.
const WIDE: u16 = 110;
/// Lines that are always there: two above the lists, one below, and three that are empty.
const SINGLE_LINES: u16 = 6;

/// What the keys have set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) sort: Sort,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
    /// Which list the arrow keys move.
    pub(super) focus: Focus,
    /// How many lines of each list are above the screen.
    pub(super) above: [usize; 2],
    pub(super) has_colour: bool,
}

/// The lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Focus {
    Buses,
    #[default]
    Routes,
}

/// The order of the routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    File,
    Name,
    Frames,
    Drops,
    Latency,
}

/// Whether the gateway answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Contact {
    #[default]
    NotYet,
    Answers {
        /// Who.
        title: String,
    },
    Lost {
        /// Why.
        why: String,
    },
}

impl Sort {
    pub(super) const fn next(self) -> Self {
        match self {
            Self::File => Self::Name,
            Self::Name => Self::Frames,
            Self::Frames => Self::Drops,
            Self::Drops => Self::Latency,
            Self::Latency => Self::File,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Name => "name",
            Self::Frames => "frames/s",
            Self::Drops => "drops",
            Self::Latency => "latency",
        }
    }

    pub(super) fn sort(self, routes: &mut [RouteRow]) {
        let latency = |row: &RouteRow| row.history.last().and_then(|moment| moment.latency);
        match self {
            Self::File => {}
            Self::Name => routes.sort_by(|a, b| a.name.cmp(&b.name)),
            Self::Frames => routes.sort_by(|a, b| order(b.frames_per_s, a.frames_per_s)),
            Self::Drops => routes.sort_by_key(|row| std::cmp::Reverse(row.dropped)),
            Self::Latency => routes.sort_by(|a, b| order(latency(b), latency(a))),
        }
    }
}

/// What is not known is the smallest.
fn order(one: Option<f64>, other: Option<f64>) -> std::cmp::Ordering {
    one.unwrap_or(-1.0).total_cmp(&other.unwrap_or(-1.0))
}

/// Draws it all, and says how far the lists may be moved.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, view: &View, contact: &Contact) -> [usize; 2] {
    let area = frame.area();
    if area.width < MIN_WIDTH || area.height < MIN_HEIGHT {
        let (width, height) = (area.width, area.height);
        let text = format!(
            "candor top needs {MIN_WIDTH} columns and {MIN_HEIGHT} lines.\nHere are {width} and {height}.\n\nq quits"
        );
        frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return [0, 0];
    }
    let (buses, mut routes) = (model.buses(), model.routes());
    view.sort.sort(&mut routes);
    let lines = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    // Of what is left beside single lines, drops and buses get no more than their part.
    let room = area.height - SINGLE_LINES;
    let dropping = routes.iter().filter(|route| route.dropped > 0).count();
    let drop_lines = if dropping > 0 { (1 + lines(dropping)).min((room / 4).max(2)) } else { 1 };
    let bus_lines = (1 + lines(buses.len())).min((room - drop_lines) / 2);
    let [head, state, _, bus_area, _, route_area, _, drop_area, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(bus_lines),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(drop_lines),
        Constraint::Length(1),
    ])
    .areas(area);
    let paint = Paint { has_colour: view.has_colour };
    frame.render_widget(Paragraph::new(heading(model)).style(paint.bold()), head);
    frame.render_widget(contact_line(contact, view, model, paint), state);
    let hidden_buses = bus_table(frame, bus_area, &buses, view, paint);
    let hidden_routes = route_table(frame, route_area, &routes, view, paint);
    drop_table(frame, drop_area, &routes, model, paint);
    frame.render_widget(key_line(view, paint), keys);
    if view.shows_help {
        help(frame, area, paint);
    }
    [hidden_buses, hidden_routes]
}

/// Colours, where they are wanted; what they say is said by words, too.
#[derive(Clone, Copy)]
struct Paint {
    has_colour: bool,
}

impl Paint {
    fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn title(self) -> Style {
        self.bold().add_modifier(Modifier::UNDERLINED)
    }

    fn fg(self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn bad(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn warning(self) -> Style {
        self.fg(Color::Yellow)
    }

    fn good(self) -> Style {
        self.fg(Color::Green)
    }

    fn bad_if(self, is_bad: bool) -> Style {
        if is_bad { self.bad() } else { Style::new() }
    }
}

fn heading(model: &Model) -> String {
    let Some(now) = model.now() else { return format!("candor top {}", env!("CARGO_PKG_VERSION")) };
    let (version, engine, uptime) = (&now.version, &now.engine, words::uptime(now.uptime_s));
    format!("candor {version}   {engine} engine   up {uptime}")
}

fn contact_line(contact: &Contact, view: &View, model: &Model, paint: Paint) -> Paragraph<'static> {
    let line = match contact {
        Contact::NotYet => Line::raw("Looking for the gateway …"),
        Contact::Answers { title } => {
            let mut spans = vec![Span::raw(title.clone())];
            if view.is_paused {
                spans.push(Span::styled("   PAUSED, p goes on", paint.warning().add_modifier(Modifier::BOLD)));
            }
            Line::from(spans)
        }
        Contact::Lost { why } => {
            let waits = if model.now().is_some() { "GONE, waiting" } else { "Waiting" };
            Line::styled(format!("{waits}: {why}"), paint.bad())
        }
    };
    Paragraph::new(line)
}

/// The part of a list that fits in, and how many lines of it do not.
fn part<T>(rows: &[T], above: usize, height: u16) -> (&[T], usize) {
    let room = usize::from(height.saturating_sub(1));
    let hidden = rows.len().saturating_sub(room);
    let from = above.min(hidden);
    (&rows[from..(from + room).min(rows.len())], hidden)
}

/// The title of a list, with where in it one is.
fn place(title: &str, view: &View, focus: Focus, above: usize, shown: usize, all: usize) -> String {
    let mark = if view.focus == focus && shown < all { "▸" } else { "" };
    if shown < all {
        let from = above.min(all - shown);
        return format!("{mark}{title} {}-{}/{all}", from + 1, from + shown);
    }
    title.into()
}

fn right(text: String) -> Cell<'static> {
    Cell::new(Line::raw(text).right_aligned())
}

/// The first titles stand at the left of their columns.
fn titles_row(titles: &[&str], left: usize, paint: Paint) -> Row<'static> {
    let cell = |(at, title): (usize, &&str)| {
        let line = Line::styled((*title).to_owned(), paint.title());
        Cell::new(if at < left { line } else { line.right_aligned() })
    };
    Row::new(titles.iter().enumerate().map(cell).collect::<Vec<_>>())
}

fn bus_table(frame: &mut Frame<'_>, area: Rect, buses: &[BusRow], view: &View, paint: Paint) -> usize {
    let above = view.above[Focus::Buses as usize];
    let (shown, hidden) = part(buses, above, area.height);
    let title = place("BUS", view, Focus::Buses, above, shown.len(), buses.len());
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
        let load = match bus.load {
            Some((least, _)) if least > 0.8 => paint.bad(),
            Some((_, most)) if most > 0.8 => paint.warning(),
            _ => Style::new(),
        };
        let mut cells = vec![
            Cell::new(bus.name.clone()),
            Cell::new(bus.interface.clone()),
            Cell::new(bus.state.clone()).style(state),
        ];
        if is_wide {
            cells.push(Cell::new(words::bitrate(bus.bitrate)));
        }
        cells.extend([
            right(words::load(bus.load)).style(load),
            right(words::rate(bus.received_per_s)),
            right(words::rate(bus.sent_per_s)),
            right(bus.queue.map_or_else(|| words::UNKNOWN.into(), words::count)),
            right(words::count(bus.lost)).style(paint.bad_if(bus.lost > 0)),
        ]);
        if is_wide {
            cells.push(right(words::count(bus.errors)).style(paint.bad_if(bus.errors > 0)));
        }
        Row::new(cells)
    };
    let table = Table::new(shown.iter().map(row), widths).header(titles_row(&titles, left, paint));
    frame.render_widget(table, area);
    hidden
}

fn route_table(frame: &mut Frame<'_>, area: Rect, routes: &[RouteRow], view: &View, paint: Paint) -> usize {
    let above = view.above[Focus::Routes as usize];
    let (shown, hidden) = part(routes, above, area.height);
    let title = place("ROUTE", view, Focus::Routes, above, shown.len(), routes.len());
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
    let way = |route: &RouteRow| format!("{} → {}", route.from, route.to);
    let ways: Vec<_> = routes.iter().map(way).collect();
    let names = longest(routes.iter().map(|route| route.name.as_str()));
    let (name_width, way_width) =
        shares(usize::from(area.width - taken - 1), names, longest(ways.iter().map(String::as_str)));
    let widths = [name_width, way_width].into_iter().chain(widths).map(Constraint::Length);
    let row = |route: &RouteRow| {
        let frames = |moment: &super::model::Moment| moment.frames_per_s;
        let most = route.history.iter().filter_map(frames).fold(1.0, f64::max);
        let part_of_most = |moment: &super::model::Moment| Some(moment.frames_per_s? / most);
        let curve = if is_measured {
            words::sparkline(route.history.iter().map(|moment| moment.latency), curve_width.into())
        } else {
            words::sparkline(route.history.iter().map(part_of_most), curve_width.into())
        };
        let mut cells = vec![
            Cell::new(words::fit(&route.name, name_width.into())),
            Cell::new(words::way(&route.from, &route.to, way_width.into())),
            Cell::new(route.side.clone()),
            right(words::rate(route.frames_per_s)),
            right(words::rate(route.bytes_per_s)),
            right(words::rate(route.drops_per_s)).style(paint.bad_if(route.drops_per_s.is_some_and(|rate| rate > 0.0))),
        ];
        if is_measured {
            if is_wide {
                cells.push(right(words::latency(route.p50)));
            }
            cells.push(right(words::latency(route.p99)));
        }
        cells.push(right(curve).style(paint.fg(Color::Cyan)));
        Row::new(cells)
    };
    let left = 3;
    let table = Table::new(shown.iter().map(row), widths).header(titles_row(&titles, left, paint));
    frame.render_widget(table, area);
    hidden
}

fn longest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or_default()
}

/// How so many columns are shared by two texts: what the second one needs, up to half, or more if the first one needs less.
fn shares(free: usize, first: usize, second: usize) -> (u16, u16) {
    let second = second.max(9).min((free / 2).max(free.saturating_sub(first)));
    let width = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
    (width(free - second), width(second))
}

fn drop_table(frame: &mut Frame<'_>, area: Rect, routes: &[RouteRow], model: &Model, paint: Paint) {
    let since = if model.counts_from_start() { "since start" } else { "since reset" };
    let mut dropping: Vec<_> = routes.iter().filter(|route| route.dropped > 0).collect();
    if dropping.is_empty() {
        let text = if model.now().is_some() { format!("No route has dropped a frame {since}") } else { String::new() };
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    dropping.sort_by_key(|route| std::cmp::Reverse(route.dropped));
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
            right(words::count(frames)).style(style)
        };
        let cells = [Cell::new(words::fit(&route.name, names.into()))].into_iter().chain(reasons.iter().map(frames));
        Row::new(cells.collect::<Vec<_>>())
    };
    let table = Table::new(dropping.iter().map(row), widths).header(titles_row(&titles, 1, paint));
    frame.render_widget(table, area);
}

fn key_line(view: &View, paint: Paint) -> Paragraph<'static> {
    let pause = if view.is_paused { "go on" } else { "pause" };
    let sort = format!("sort: {}", view.sort.name());
    let keys = [
        ("q", "quit"),
        ("p", pause),
        ("s", sort.as_str()),
        ("r", "reset"),
        ("↑↓", "move"),
        ("Tab", "list"),
        ("?", "help"),
    ];
    let spans =
        keys.into_iter().flat_map(|(key, what)| [Span::styled(key, paint.bold()), Span::raw(format!(" {what}   "))]);
    Paragraph::new(Line::from(spans.collect::<Vec<_>>()))
}

const HELP: &str = " q, Esc, Ctrl-C  quit; the gateway goes on
 p, Space        pause: what is shown stays
 s               order of the routes: file, name, frames/s, drops, latency
 r               count drops, losses and errors from now on
 Up, Down, PgUp, PgDn, Home, End
                 move the list; Tab changes between buses and routes
 ?, h            this help

 LOAD     part of the time that the bus is occupied, at least and at most
 QUEUE    frames that wait in the queue of the interface
 LOST     frames that came faster than candor read them
 50%, 99% of the frames were not under way for longer, in user space and
          with candor run --latency; the curve has the 99% of the last minute";

fn help(frame: &mut Frame<'_>, area: Rect, paint: Paint) {
    let lines = u16::try_from(HELP.lines().count()).unwrap_or(u16::MAX);
    let width = u16::try_from(HELP.lines().map(str::len).max().unwrap_or_default()).unwrap_or(u16::MAX);
    let (width, height) = ((width + 4).min(area.width), (lines + 2).min(area.height));
    let place = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
    let block = ratatui::widgets::Block::bordered().title(" candor top ").title_style(paint.bold());
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP).block(block), place);
}

#[cfg(test)]
mod tests;
