//! Progress of `candor-lab bench`: stages of the guest, then frames of each gateway.

use candor_cli::render;
use candor_lab::observer::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::cmd::progress;

#[derive(Debug)]
pub(super) struct Progress {
    /// Used until the tester starts.
    boot: progress::Progress,
    bar: ProgressBar,
    gateways: usize,
    /// Gateways whose measurement has started.
    started: usize,
    /// Output of the tester.
    lines: progress::JsonLines,
}

impl Progress {
    pub(super) fn new(gateways: usize) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let template = "{spinner} {msg} [{bar:30}] {pos}/{len} frames, {elapsed}, {eta} to go";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { boot: progress::Progress::new(), bar, gateways, started: 0, lines: progress::JsonLines::default() }
    }

    pub(super) fn clear(&self) {
        self.boot.clear();
        self.bar.finish_and_clear();
    }

    /// An event of `candor-lab tester --json`.
    fn event(&mut self, event: &Value) {
        let number = |name: &str| event[name].as_u64().unwrap_or(0);
        match event["event"].as_str() {
            Some("start") => {
                self.started += 1;
                let device = event["device"].as_str().unwrap_or_default();
                let message = format!("Measuring {device} ({} of {})", self.started, self.gateways);
                self.bar.reset();
                self.bar.set_length(number("frames"));
                self.bar.set_message(message.clone());
                if self.bar.is_hidden() {
                    render::err(&format!("candor-lab: {message}\n"));
                }
            }
            Some("progress") => self.bar.set_position(number("done")),
            _ => {}
        }
    }
}

impl Observer for Progress {
    fn stage(&mut self, stage: &str) {
        self.boot.stage(stage);
    }

    fn notice(&mut self, text: &str) {
        self.boot.notice(text);
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        self.boot.fetched(what, bytes, total);
    }

    fn started(&mut self) {
        self.boot.started();
        self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    }

    fn stdout(&mut self, bytes: &[u8]) {
        for event in self.lines.take(bytes) {
            self.event(&event);
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.bar.suspend(|| render::err(&String::from_utf8_lossy(bytes)));
    }
}
