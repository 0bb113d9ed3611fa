//! Requirements on a gateway between an untrusted and a trusted network, one by one: what decides each, and how.
//!
//! ```text
//!  requirements.toml ─▶ Requirement ─┐
//!  candor.toml ─▶ Plan ─▶ Border ────┼─▶ judge ─▶ Judged: verdict, figures, places in the file ─▶ report, JSON, table
//!  runs in a guest ──────────────────┘
//! ```
//!
//! A judge never guesses: what neither the file nor a run decides is [`Verdict::NotJudged`], with the reason.

mod border;
mod flood;
mod j1939;
mod loss;
mod measured;
mod modes;
mod queue;
mod requirements;
mod signature;
mod spoofing;

pub use border::{Border, BorderError};
pub use requirements::{Requirement, SOURCE, find, requirements, title};
pub use signature::Signature;

use std::time::Duration;

use candor_config::config::Places;
use candor_core::diagnostic::{Diagnostic, Severity};

use crate::border::Runs;
use requirements::Judge;

/// In ascending order of weight: the worst of several decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Holds,
    NotJudged,
    Violated,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::NotJudged => "not judged",
            Self::Violated => "violated",
        }
    }
}

/// What a verdict is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The checked gateway file.
    File,
    FileAndRuns,
    /// Neither can decide.
    Nothing,
    /// Runs in a guest.
    Runs,
}

impl By {
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::FileAndRuns => "file and runs",
            Self::Nothing => "nothing",
            Self::Runs => "runs",
        }
    }

    /// True if it can be repeated without a guest.
    pub const fn is_static(self) -> bool {
        matches!(self, Self::File)
    }
}

/// What a judge found.
#[derive(Clone, Debug)]
pub struct Opinion {
    pub verdict: Verdict,
    pub by: By,
    /// One or two sentences, without a full stop.
    pub reason: String,
    /// Name, and value with its unit.
    pub figures: Vec<(String, String)>,
    /// Places in the file: errors where a requirement is violated.
    pub findings: Vec<Diagnostic>,
}

impl Opinion {
    fn new(verdict: Verdict, by: By, reason: impl Into<String>) -> Self {
        Self { verdict, by, reason: reason.into(), figures: Vec::new(), findings: Vec::new() }
    }

    /// Another judge of the same requirement: the worse verdict counts, and its reason.
    fn and(self, other: Self) -> Self {
        let by = match (self.by, other.by) {
            (one, other) if one == other => one,
            (By::Nothing, by) | (by, By::Nothing) => by,
            _ => By::FileAndRuns,
        };
        let (mut worse, mut better) = if other.verdict > self.verdict { (other, self) } else { (self, other) };
        if worse.verdict == better.verdict {
            worse.reason = format!("{}; {}", worse.reason, better.reason);
        }
        worse.figures.append(&mut better.figures);
        worse.findings.append(&mut better.findings);
        Self { by, ..worse }
    }

    fn with_more(mut self, mut figures: Vec<(String, String)>) -> Self {
        self.figures.append(&mut figures);
        self
    }

    fn with(mut self, figures: Vec<(String, String)>, findings: Vec<Diagnostic>) -> Self {
        (self.figures, self.findings) = (figures, findings);
        self
    }
}

/// A requirement, and whether the gateway meets it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub requirement: &'static Requirement,
    pub opinion: Opinion,
}

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub border: &'a Border<'a>,
    pub places: &'a Places,
    /// Nodes that databases of trusted buses name, and that are not on them.
    pub outside: &'a [String],
    pub speaks_j1939: bool,
    pub signature: &'a Signature,
    /// `None`: they were not made.
    pub runs: Option<&'a Runs>,
    /// The largest change of the distance of two frames by the gateway.
    pub max_jitter: Duration,
}

/// Without runs.
const NO_RUNS: &str = "only a run can tell, and none was made (--static)";

/// Judges these requirements: of the first subject, and of the others, each of which is the same gateway in a mode.
pub fn judge(subjects: &[Subject<'_>], wanted: impl Iterator<Item = &'static Requirement>) -> Vec<Judged> {
    wanted.map(|requirement| Judged { requirement, opinion: in_all(subjects, requirement) }).collect()
}

fn in_all(subjects: &[Subject<'_>], requirement: &'static Requirement) -> Opinion {
    let [first, others @ ..] = subjects else {
        return Opinion::new(Verdict::NotJudged, By::Nothing, "nothing crosses");
    };
    let mut all = opinion(*first, requirement);
    let concerns_modes = !matches!(requirement.judge, Judge::Inspection | Judge::Signature | Judge::OwnAddress);
    if let Some(other) = others.first().filter(|_| concerns_modes && matches!(all.by, By::Runs | By::FileAndRuns)) {
        let mode = other.mode();
        all.reason += &format!("; no run was made in mode \"{mode}\"");
    }
    for other in others.iter().filter(|_| concerns_modes) {
        let in_mode = opinion(*other, requirement);
        if matches!(requirement.judge, Judge::ModeIndication | Judge::ModeSwitch) {
            all = if in_mode.verdict > all.verdict { in_mode } else { all };
        } else if in_mode.verdict == Verdict::Violated && all.verdict != Verdict::Violated {
            // AGW-S-010 lets the owner lift protection for a time.
            let reason = format!(
                "{}; in mode \"{}\" it is lifted: {}; that is for the owner to decide",
                all.reason,
                other.mode(),
                in_mode.reason
            );
            let lifted = in_mode.findings.into_iter().map(|finding| Diagnostic { severity: Severity::Note, ..finding });
            all.findings.extend(lifted);
            (all.verdict, all.reason) = (Verdict::NotJudged, reason);
        }
    }
    all
}

impl Subject<'_> {
    /// The name of its mode.
    fn mode(&self) -> &str {
        self.border.plan.mode().map_or("", |mode| &mode.name)
    }
}

fn opinion(subject: Subject<'_>, requirement: &'static Requirement) -> Opinion {
    let id = requirement.id;
    match requirement.judge {
        Judge::Addresses => j1939::addresses(subject, id),
        Judge::Claims => j1939::claims(subject, id),
        Judge::Flood => flood::judge(subject, id),
        Judge::Inspection => Opinion::new(Verdict::NotJudged, By::Nothing, requirement.reason.unwrap_or_default()),
        Judge::Inversion => queue::inversion(subject, id),
        Judge::Jitter => measured::jitter(subject),
        Judge::Loss => loss::judge(subject, id),
        Judge::ModeIndication => modes::indication(subject, id),
        Judge::ModeSwitch => modes::switch(subject, id),
        Judge::Order => queue::order(subject, id),
        Judge::OrderAndPriority => queue::order_and_priority(subject, id),
        Judge::OwnAddress => j1939::own_address(subject, id),
        Judge::Signature => signature::judge(subject.signature),
        Judge::Spoofing => spoofing::judge(subject, id),
    }
}

#[cfg(test)]
mod tests;
