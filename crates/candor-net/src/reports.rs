//! Reports of links: for `candor run`, or for people.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use candor_cli::link::{Event, Report, State};
use candor_cli::render;
use candor_link::Cannot;
use candor_link::session::Counts;

/// Counters are reported no more often.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where reports go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlet {
    /// Lines for `candor run` on standard output.
    Gateway,
    /// Text on standard error; with `json`, the state as lines of JSON, too.
    People { json: bool },
}

/// Reports of one link.
#[derive(Debug)]
pub(crate) struct Reports {
    outlet: Outlet,
    link: String,
    last: Option<State>,
    next: Instant,
}

impl Outlet {
    pub(crate) fn tell(self, link: &str, text: &str, is_warning: bool) {
        match self {
            Self::Gateway => {
                write(&Report::Event(Event { link: link.to_owned(), text: text.to_owned(), is_warning }));
            }
            Self::People { .. } => render::err(&format!("{link}: {}\n", render::visible(text))),
        }
    }
}

impl Reports {
    pub(crate) fn new(outlet: Outlet, link: &str) -> Self {
        Self { outlet, link: link.to_owned(), last: None, next: Instant::now() }
    }

    pub(crate) fn link(&self) -> &str {
        &self.link
    }

    pub(crate) fn tell(&self, text: &str, is_warning: bool) {
        self.outlet.tell(&self.link, text, is_warning);
    }

    /// Time until the state should be looked at again.
    pub(crate) fn due_within(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Reports a state that has changed, if it is time or `at_once`.
    pub(crate) fn state(&mut self, at_once: bool, state: impl FnOnce() -> State) {
        let now = Instant::now();
        if !at_once && now < self.next {
            return;
        }
        self.next = now + INTERVAL;
        let state = State { link: self.link.clone(), ..state() };
        if self.last.as_ref() == Some(&state) {
            return;
        }
        match self.outlet {
            Outlet::Gateway => write(&Report::State(state.clone())),
            Outlet::People { json: true } => render::err(&render::line(&state)),
            Outlet::People { json: false } => {}
        }
        self.last = Some(state);
    }
}

/// One line at once, so that lines of several links do not mix.
fn write(report: &Report) {
    // The gateway has ended, and so does this program, as soon as it finds its input closed.
    let _ = io::stdout().write_all(render::line(report).as_bytes());
}

/// Frames of the bus that were not sent, by reason.
pub(crate) fn dropped(counts: &Counts, missed: u64) -> BTreeMap<String, u64> {
    let Counts { dropped_full, dropped_old, cut_off, bounced, unknown_bus_sent, cannot, .. } = *counts;
    let named = [
        ("queue-full", dropped_full),
        ("too-old", dropped_old),
        ("cut-off", cut_off),
        ("no-receiver", bounced),
        ("peer-without-bus", unknown_bus_sent),
        // candor-link itself did not read them in time.
        ("missed", missed),
    ];
    let cannot = Cannot::ALL.into_iter().zip(cannot).map(|(reason, frames)| (cannot_name(reason), frames));
    nonzero(named.into_iter().chain(cannot))
}

/// Frames of the peer that were not put on the bus, by reason.
pub(crate) fn refused(counts: &Counts, no_room: u64) -> BTreeMap<String, u64> {
    let Counts { error_messages, looped, too_many_hops, unknown_bus, malformed, .. } = *counts;
    nonzero(
        [
            ("error-message", error_messages),
            ("loop", looped),
            ("too-many-hops", too_many_hops),
            ("other-bus", unknown_bus),
            ("malformed", malformed),
            ("bus-full", no_room),
        ]
        .into_iter(),
    )
}

fn nonzero<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    counts.filter(|(_, frames)| *frames > 0).map(|(reason, frames)| (reason.to_owned(), frames)).collect()
}

const fn cannot_name(reason: Cannot) -> &'static str {
    match reason {
        Cannot::ErrorMessage => "error-message",
        Cannot::Fd => "fd",
        Cannot::Malformed => "malformed",
        Cannot::RawDlc => "raw-dlc",
        Cannot::Remote => "remote",
    }
}
