//! The lists of composed frames and of their signals.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Style};
use ratatui::widgets::{Cell, Row};

use super::tables::{WIDE, list, longest, part, place, right, shares};
use super::{Focus, Paint, View};
use crate::cmd::top::display;
use crate::cmd::top::sample::{Frame as Composed, Signal};

pub(super) fn frame_table(frame: &mut Frame<'_>, area: Rect, frames: &[Composed], view: &View, paint: Paint) -> usize {
    let above = view.above[Focus::Upper as usize];
    let (shown, hidden) = part(frames, above, area.height);
    let title = place("FRAME", view, Focus::Upper, above, shown.len(), frames.len());
    let row = |composed: &Composed| {
        let (state, style) = if composed.is_silent { ("silent", paint.bad()) } else { ("ready", paint.good()) };
        Row::new(vec![
            Cell::new(composed.name.clone()),
            Cell::new(composed.to.clone()),
            Cell::new(state).style(style),
            right(display::rate(composed.sent_per_s)),
            right(display::count(composed.received)),
            right(display::count(composed.sent)),
            right(display::count(composed.dropped)).style(paint.bad_if(composed.dropped > 0)),
        ])
    };
    let titles = [title.as_str(), "TO", "STATE", "SENT/s", "RECEIVED", "SENT", "DROPPED"];
    let to = longest(frames.iter().map(|composed| composed.to.as_str())).clamp(2, 20);
    let to = Constraint::Length(u16::try_from(to).unwrap_or(u16::MAX));
    let mut widths = vec![Constraint::Fill(1), to];
    widths.extend([7, 6, 8, 6, 7].map(Constraint::Length));
    list((frame, area), (&titles, 3), widths, shown.iter().map(row).collect(), paint);
    hidden
}

pub(super) fn signal_table(frame: &mut Frame<'_>, area: Rect, signals: &[Signal], view: &View, paint: Paint) -> usize {
    let above = view.above[Focus::Lower as usize];
    let (shown, hidden) = part(signals, above, area.height);
    let title = place("SIGNAL", view, Focus::Lower, above, shown.len(), signals.len());
    let (value_width, curve_width) = if area.width >= WIDE { (20, 24) } else { (14, 8) };
    let widths = [10, value_width, 6, curve_width];
    let taken: u16 = widths.iter().map(|width| width + 1).sum();
    let name = |signal: &Signal| format!("{}.{}", signal.frame, signal.name);
    let name_len = |signal: &Signal| signal.frame.chars().count() + 1 + signal.name.chars().count();
    let (name_width, from_width) = shares(
        usize::from(area.width - taken - 1),
        signals.iter().map(name_len).max().unwrap_or_default(),
        longest(signals.iter().map(|signal| signal.from.as_str())),
    );
    let row = |signal: &Signal| {
        let state = signal.state();
        let style = match state {
            "received" => paint.good(),
            "late" => paint.bad(),
            "substitute" => paint.warning(),
            _ => Style::new(),
        };
        let least = signal.history.iter().copied().fold(f64::INFINITY, f64::min);
        let most = signal.history.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // A constant value is at the bottom.
        let height = |value: &f64| Some((value - least) / (most - least).max(f64::MIN_POSITIVE));
        let curve = display::sparkline(signal.history.iter().map(height), curve_width.into());
        Row::new(vec![
            Cell::new(display::fit(&name(signal), name_width.into())),
            Cell::new(display::fit(&signal.from, from_width.into())),
            Cell::new(state.to_owned()).style(style),
            right(display::fit(&display::value(signal), value_width.into())),
            right(display::age(signal.age_s)),
            right(curve).style(paint.fg(Color::Cyan)),
        ])
    };
    let titles = [title.as_str(), "FROM", "STATE", "VALUE", "AGE", "TREND"];
    let [state_width, value_width, age_width, curve_width] = widths;
    let widths = [name_width, from_width, state_width, value_width, age_width, curve_width].map(Constraint::Length);
    list((frame, area), (&titles, 3), widths.into(), shown.iter().map(row).collect(), paint);
    hidden
}
