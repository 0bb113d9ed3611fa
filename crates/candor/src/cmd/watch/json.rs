//! What `candor watch` tells, as JSON and as sentences; `docs/json.md` describes the keys.

use std::collections::BTreeMap;

use candor_cli::gateway_file::plural;
use candor_config::plan::Route;
use candor_engine::Told;
use serde::Serialize;

use super::unlisted::News;
use crate::cmd::run::report::events::{AlarmView, id_text};

/// A line of `candor watch --json`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) enum Event<'a> {
    /// The first one.
    Watching(WatchingView<'a>),
    /// What a guard found.
    Alarm(AlarmView<'a>),
    /// Frames whose checksum, counter or MAC is wrong.
    Check(CheckView<'a>),
    /// Frames that no route takes.
    Unlisted(UnlistedView<'a>),
    /// The last one.
    End {
        frames: u64,
        /// Frames that the sockets dropped.
        lost: u64,
        /// Alarms that began.
        alarms: u64,
        /// Frames that no route takes.
        unlisted: u64,
        routes: Vec<RouteView<'a>>,
    },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct WatchingView<'a> {
    pub(super) file: &'a str,
    pub(super) buses: Vec<&'a str>,
    /// Number of routes from them.
    pub(super) routes: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct CheckView<'a> {
    route: &'a str,
    verdict: &'static str,
    /// `begins`, `goes-on`, or `over`.
    state: &'static str,
    /// Since the last event.
    frames: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct UnlistedView<'a> {
    bus: &'a str,
    /// `null`: identifiers beyond the first 1024 share a count.
    id: Option<String>,
    /// `begins`, `goes-on`, or `over`.
    state: &'static str,
    /// Since the last event.
    frames: u64,
    /// The last of them, as candump writes it.
    frame: Option<String>,
    /// Its receive timestamp in nanoseconds since 1970.
    received_ns: Option<i64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct RouteView<'a> {
    route: &'a str,
    /// Frames that the gateway would forward.
    allowed: u64,
    /// Frames that it would drop.
    pub(super) refused: u64,
    /// Violations of its guard by rule, bad frames by verdict of its check, and how often it was silent.
    found: BTreeMap<&'static str, u64>,
}

/// State and number of frames.
const fn state(told: Told) -> (&'static str, u64) {
    match told {
        Told::Begins(frames) => ("begins", frames),
        Told::GoesOn(frames) => ("goes-on", frames),
        Told::Over => ("over", 0),
    }
}

fn count(frames: u64) -> String {
    plural(usize::try_from(frames).unwrap_or(usize::MAX), "frame")
}

impl<'a> CheckView<'a> {
    pub(super) const fn new(route: &'a str, verdict: &'static str, told: Told) -> Self {
        let (state, frames) = state(told);
        Self { route, verdict, state, frames }
    }

    pub(super) fn begins(&self) -> bool {
        self.state == "begins"
    }

    pub(super) fn text(&self) -> String {
        let Self { route, verdict, state, frames } = self;
        match *state {
            "over" => format!("alarm over: route {route:?}: no frame is {verdict} any more"),
            "goes-on" => format!("alarm: route {route:?}: {} checked as {verdict} again", count(*frames)),
            _ => format!("alarm: route {route:?}: {} checked as {verdict}", count(*frames)),
        }
    }
}

impl<'a> UnlistedView<'a> {
    pub(super) fn new(bus: &'a str, news: &News) -> Self {
        let (state, frames) = state(news.told);
        let last = news.last.as_ref().filter(|_| state != "over");
        Self {
            bus,
            id: news.id.map(id_text),
            state,
            frames,
            frame: last.map(|(_, frame)| frame.to_string()),
            received_ns: last.map(|(at, _)| at.0),
        }
    }

    pub(super) fn begins(&self) -> bool {
        self.state == "begins"
    }

    pub(super) fn text(&self) -> String {
        let Self { bus, state, frames, .. } = self;
        let id = self.id.as_ref().map_or_else(|| "other identifiers".to_owned(), |id| format!("identifier {id}"));
        if *state == "over" {
            return format!("alarm over: bus {bus:?}: no frame of {id} comes any more");
        }
        let again = if *state == "goes-on" { " again" } else { "" };
        let mut text = format!("alarm: bus {bus:?}: no route takes {} of {id}{again}", count(*frames));
        if let Some(frame) = &self.frame {
            text += &format!(", the last one {frame}");
        }
        text
    }
}

impl<'a> RouteView<'a> {
    pub(super) fn new(route: &'a Route, allowed: u64, refused: u64, silences: u64) -> Self {
        let violations = route.violations().into_iter().map(|(rule, frames)| (rule.name(), frames));
        let found = violations
            .chain(route.bad_verdicts())
            .chain([("silent", silences)])
            .filter(|(_, frames)| *frames > 0)
            .collect();
        Self { route: &route.name, allowed, refused, found }
    }

    pub(super) fn violations(&self) -> u64 {
        self.found.values().sum()
    }

    pub(super) fn row(&self) -> Vec<String> {
        let why: Vec<_> = self.found.iter().map(|(name, frames)| format!("{name} {frames}")).collect();
        vec![self.route.to_owned(), self.allowed.to_string(), self.refused.to_string(), why.join(", ")]
    }
}
