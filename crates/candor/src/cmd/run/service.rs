//! systemd notifications: ready, watchdog, reloading, stopping. Without `NOTIFY_SOCKET` nothing is sent.
//!
//! # Source
//! [sd_notify(3)](https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html),
//! [systemd.service(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html) (`Type=notify`,
//! `Type=notify-reload`, `WatchdogSec=`).

use std::io;
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use super::report::Report;

/// The notification socket. A failed notification is reported as a warning, because systemd acts on its absence.
#[derive(Debug)]
pub(super) struct Service<'a> {
    report: &'a Report,
    watchdog: Option<Watchdog>,
}

/// Interval and time of the next keep-alive. systemd kills a service that sends none for `WatchdogSec=`.
type Watchdog = (Duration, Instant);

impl<'a> Service<'a> {
    pub(super) fn new(report: &'a Report, now: Instant) -> Self {
        // Half of the limit, as systemd recommends.
        let watchdog = sd_notify::watchdog_enabled().map(|limit| (limit / 2, now + limit / 2));
        Self { report, watchdog }
    }

    /// `READY=1`, after the start and after a reload.
    pub(super) fn ready(&self, status: &str) {
        self.say(sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)]));
    }

    /// `RELOADING=1`.
    pub(super) fn reloading(&self) {
        let now = NotifyState::monotonic_usec_now();
        self.say(now.and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])));
    }

    /// `STOPPING=1`.
    pub(super) fn stopping(&self) {
        self.say(sd_notify::notify(&[NotifyState::Stopping]));
    }

    /// Time until the next keep-alive is due.
    pub(super) fn due_within(&self, now: Instant) -> Option<Duration> {
        self.watchdog.map(|(_, due)| due.saturating_duration_since(now))
    }

    /// Sends a keep-alive if due; called after a successful check of the gateway.
    pub(super) fn is_alive(&mut self, now: Instant) {
        if let Some((interval, due)) = self.watchdog.as_mut().filter(|(_, due)| now >= *due) {
            *due = now + *interval;
            self.say(sd_notify::notify(&[NotifyState::Watchdog]));
        }
    }

    fn say(&self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.report.warn(format!("warning: cannot notify systemd: {error}\n"));
        }
    }
}
