//! What systemd is told: when the gateway is ready, that it is alive, that it reads its file again, that it ends.
//!
//! Nothing at all where candor was not started by systemd (no `NOTIFY_SOCKET`).
//!
//! # Source
//! [sd_notify(3)](https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html),
//! [systemd.service(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html) (`Type=notify`,
//! `Type=notify-reload`, `WatchdogSec=`).

use std::io;
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use super::report::Report;

/// The line to systemd. What cannot be said is told as a warning: systemd will act on its silence.
#[derive(Debug)]
pub(super) struct Service<'a> {
    report: &'a Report,
    watchdog: Option<Watchdog>,
}

/// systemd ends a service that has not said for this long that it is alive.
#[derive(Clone, Copy, Debug)]
struct Watchdog {
    /// Half of what systemd waits, as it recommends.
    interval: Duration,
    due: Instant,
}

impl<'a> Service<'a> {
    pub(super) fn new(report: &'a Report, now: Instant) -> Self {
        let watchdog = sd_notify::watchdog_enabled().map(|limit| {
            let interval = limit / 2;
            Watchdog { interval, due: now + interval }
        });
        Self { report, watchdog }
    }

    /// Frames pass. Also said when a file was read again.
    pub(super) fn ready(&self, status: &str) {
        self.say(sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)]));
    }

    /// The file is read again.
    pub(super) fn reloading(&self) {
        let now = NotifyState::monotonic_usec_now();
        self.say(now.and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])));
    }

    /// The gateway ends.
    pub(super) fn stopping(&self) {
        self.say(sd_notify::notify(&[NotifyState::Stopping]));
    }

    /// How long until systemd has to hear that the gateway is alive.
    pub(super) fn due_within(&self, now: Instant) -> Option<Duration> {
        self.watchdog.map(|watchdog| watchdog.due.saturating_duration_since(now))
    }

    /// The gateway was looked at, and its threads are there.
    pub(super) fn is_alive(&mut self, now: Instant) {
        if let Some(watchdog) = self.watchdog.as_mut().filter(|watchdog| now >= watchdog.due) {
            watchdog.due = now + watchdog.interval;
            self.say(sd_notify::notify(&[NotifyState::Watchdog]));
        }
    }

    fn say(&self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.report.warn(format!("warning: systemd cannot be told how the gateway is: {error}\n"));
        }
    }
}
