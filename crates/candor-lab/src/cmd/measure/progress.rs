//! Progress of a plan: cells, remaining time, and the last result.

use candor_lab::cells::{Order, Said, State};
use candor_lab::experiment::Block;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use candor_cli::render;

pub(super) enum Event {
    /// A stage of the boot, or a download.
    Stage(String),
    Said(Said),
    /// Output on standard error.
    Complaint(String),
}

#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    total: usize,
}

impl Progress {
    pub(super) fn new(total: usize, done: usize) -> Self {
        let bar = ProgressBar::with_draw_target(u64::try_from(total).ok(), ProgressDrawTarget::stderr_with_hz(10));
        let template = "[{bar:24}] {pos}/{len} cells, {elapsed}, {eta} to go; {msg}";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_position(u64::try_from(done).unwrap_or_default());
        bar.reset_eta();
        if done > 0 {
            render::err(&format!("candor-lab: {done} of {total} cells have already been measured\n"));
        }
        Self { bar, total }
    }

    pub(super) fn update(&self, todo: &[(&Block<'_>, Order)], event: Event) {
        match event {
            Event::Stage(stage) => self.bar.set_message(stage),
            Event::Complaint(text) => self.bar.suspend(|| render::err(&text)),
            Event::Said(Said { cell, state }) => {
                let levels = || {
                    let order = todo.iter().flat_map(|(_, order)| &order.cells).find(|order| order.name == cell);
                    order.map_or_else(|| cell.clone(), |order| in_words(&order.levels))
                };
                match state {
                    State::Begun => self.bar.set_message(levels()),
                    State::Done(_) => self.bar.tick(),
                    State::Ok => self.ended(&levels(), "ok"),
                    State::Invalid(why) => self.ended(&levels(), &format!("invalid: {why}")),
                    State::Failed(why) => self.ended(&levels(), &format!("failed: {why}")),
                }
            }
        }
    }

    fn ended(&self, cell: &str, verdict: &str) {
        self.bar.inc(1);
        self.bar.set_message(format!("{cell}: {verdict}"));
        if self.bar.is_hidden() {
            render::err(&format!("candor-lab: {}/{} {cell}: {verdict}\n", self.bar.position(), self.total));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Levels that identify a cell, without the default ones.
pub(in crate::cmd) fn in_words(levels: &[(String, String)]) -> String {
    const DEFAULTS: [(&str, &str); 9] = [
        ("testbed", "icount"),
        ("arch", "default"),
        ("kernel", "default"),
        ("module", "default"),
        ("shift", "0"),
        ("rules", "all"),
        ("traffic", "one at a time"),
        ("load", "none"),
        ("frame", "123#0000112233445566"),
    ];
    let shown = levels.iter().filter(|(factor, level)| !DEFAULTS.contains(&(factor.as_str(), level.as_str())));
    let word = |(factor, level): &(String, String)| match factor.as_str() {
        "repeat" => format!("repeat {level}"),
        _ => level.clone(),
    };
    shown.map(word).collect::<Vec<_>>().join(", ")
}
