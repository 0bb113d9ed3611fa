//! The screen, as a function of the model and of the settings of the keys.

mod signals;
mod tables;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::display;
use super::model::{Model, RouteRow};
use super::plain::NO_FRAMES;
use signals::{frame_table, signal_table};
use tables::{bus_table, drop_table, route_table};

/// A smaller terminal gets a message instead.
pub(super) const MIN_WIDTH: u16 = 80;
pub(super) const MIN_HEIGHT: u16 = 12;
/// Two lines above the lists, one below, and three empty ones.
const SINGLE_LINES: u16 = 6;

/// The settings of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) sort: Sort,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
    /// Composed frames and signals in place of buses and routes.
    pub(super) shows_signals: bool,
    /// The list that the arrow keys scroll.
    pub(super) focus: Focus,
    /// Lines of each list that are scrolled out at the top.
    pub(super) above: [usize; 2],
    pub(super) has_colour: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Focus {
    /// Buses or frames.
    Upper,
    /// Routes or signals.
    #[default]
    Lower,
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

/// The connection to the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Contact {
    #[default]
    NotYet,
    Answers {
        title: String,
    },
    Lost {
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
            Self::Name => candor_core::order::sort_by(routes, |a, b| a.route.cmp(&b.route)),
            Self::Frames => candor_core::order::sort_by(routes, |a, b| order(b.frames_per_s, a.frames_per_s)),
            Self::Drops => candor_core::order::sort_by_key(routes, |row| std::cmp::Reverse(row.dropped)),
            Self::Latency => candor_core::order::sort_by(routes, |a, b| order(latency(b), latency(a))),
        }
    }
}

/// Unknown values are the smallest.
fn order(one: Option<f64>, other: Option<f64>) -> std::cmp::Ordering {
    one.unwrap_or(-1.0).total_cmp(&other.unwrap_or(-1.0))
}

/// Draws the screen; returns the lines that each list can scroll.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, view: &View, contact: &Contact) -> [usize; 2] {
    let area = frame.area();
    if area.width < MIN_WIDTH || area.height < MIN_HEIGHT {
        let (width, height) = (area.width, area.height);
        let text = format!(
            "candor top needs {MIN_WIDTH} columns and {MIN_HEIGHT} lines.\nThis terminal has {width} and {height}.\n\nq quits"
        );
        frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return [0, 0];
    }
    let (buses, mut routes, frames) = (model.buses(), model.routes(), model.frames());
    view.sort.sort(&mut routes);
    let upper = if view.shows_signals { frames.len() } else { buses.len() };
    let lines = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    // Drops get at most a quarter of the remaining lines, buses half of the rest.
    let room = area.height - SINGLE_LINES;
    let dropping = routes.iter().filter(|route| route.dropped > 0).count();
    let drop_lines = match dropping {
        _ if view.shows_signals => 0,
        0 => 1,
        _ => (1 + lines(dropping)).min((room / 4).max(2)),
    };
    let upper_lines = (1 + lines(upper)).min((room - drop_lines) / 2);
    let [head, state, _, upper_area, _, lower_area, _, drop_area, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(upper_lines),
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
    let hidden = if view.shows_signals {
        let hidden = frame_table(frame, upper_area, &frames, view, paint);
        if frames.is_empty() && model.signals().is_empty() && model.now().is_some() {
            frame.render_widget(Paragraph::new(NO_FRAMES), lower_area);
            [0; 2]
        } else {
            [hidden, signal_table(frame, lower_area, model.signals(), view, paint)]
        }
    } else {
        drop_table(frame, drop_area, &routes, model, paint);
        let hidden = bus_table(frame, upper_area, &buses, view, paint);
        [hidden, route_table(frame, lower_area, &routes, view, paint)]
    };
    frame.render_widget(key_line(view, paint), keys);
    if view.shows_help {
        help(frame, area, paint);
    }
    hidden
}

/// Styles, without colours if these are off. No meaning is in colours alone.
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
    let (version, engine, uptime) = (&now.version, &now.engine, display::uptime(now.uptime_s));
    format!("candor {version}   {engine} engine   up {uptime}")
}

fn contact_line(contact: &Contact, view: &View, model: &Model, paint: Paint) -> Paragraph<'static> {
    let line = match contact {
        Contact::NotYet => Line::raw("Looking for a gateway …"),
        Contact::Answers { title } => {
            let mut spans = vec![Span::raw(title.clone())];
            if view.is_paused {
                spans.push(Span::styled("   PAUSED, p resumes", paint.warning().add_modifier(Modifier::BOLD)));
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

fn key_line(view: &View, paint: Paint) -> Paragraph<'static> {
    let pause = if view.is_paused { "resume" } else { "pause" };
    let sort = format!("sort: {}", view.sort.name());
    let keys = [
        ("q", "quit"),
        ("p", pause),
        ("s", sort.as_str()),
        ("r", "reset"),
        ("↑↓", "scroll"),
        ("Tab", "list"),
        ("v", "view"),
        ("?", "help"),
    ];
    let keys = keys.into_iter().filter(|(key, _)| *key != "s" || !view.shows_signals);
    let spans = keys.flat_map(|(key, what)| [Span::styled(key, paint.bold()), Span::raw(format!(" {what}  "))]);
    Paragraph::new(Line::from(spans.collect::<Vec<_>>()))
}

const HELP: &str = " q, Esc, Ctrl-C  quit; the gateway keeps running
 p, Space        pause the display
 s               sort the routes: file, name, frames/s, drops, latency
 r               reset the counts of drops, losses and errors
 Up, Down, PgUp, PgDn, Home, End
                 scroll; Tab switches between the upper and the lower list
 v               view: buses and routes, or composed frames and their signals
 ?, h            this help

 LOAD     bus load, lower and upper bound
 QUEUE    frames in the queue of the interface
 LOST     frames lost because they arrived faster than candor read them
 50%, 99% latency percentiles of the last interval, for user-space routes
          with candor run --latency; the curve shows 99% over the last minute
 STATE    of a signal: start (not received yet), received, late, substitute";

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
