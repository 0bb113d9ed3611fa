//! An explanation as JSON; `docs/explain.md` describes the keys.

use candor_config::explain::{Act, Changes, Deleted, Dropped, Explanation, Next, Outcome, Step, Visit, Way};
use candor_config::plan::Echo;
use candor_core::filter::ReceiveList;
use candor_core::frame::Frame;
use serde::Serialize;

use super::signals::{self, SignalView};
use super::view::{NotTaken, View};
use super::{composed, labels};
use crate::cmd::job_text::{format_name, frames_of, hex, side_name};

/// The output of `candor explain --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct Explained<'a> {
    file: &'a str,
    engine: &'static str,
    bus: &'a str,
    interface: &'a str,
    max_hops: u8,
    notes: &'a [String],
    frames: Vec<FrameExplained<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FrameExplained<'a> {
    frame: FrameView,
    /// `null` without a database that has it.
    message: Option<MessageView<'a>>,
    composed: Vec<composed::ComposedView<'a>>,
    rules: Vec<RuleView<'a>>,
    /// `false` if the rest of a long chain is omitted.
    is_complete: bool,
    counters: Vec<CountersView<'a>>,
    not_taken: Vec<NotTakenView<'a>>,
    taken_from_other_buses: Vec<ElsewhereView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct FrameView {
    pub(in crate::cmd) text: String,
    pub(in crate::cmd) format: &'static str,
    pub(in crate::cmd) can_id_hex: String,
    pub(in crate::cmd) len_bytes: u16,
    pub(in crate::cmd) len8_dlc: u8,
    pub(in crate::cmd) flags_hex: String,
    pub(in crate::cmd) data_hex: String,
}

/// A frame as the database of its bus describes it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct MessageView<'a> {
    pub(in crate::cmd) name: &'a str,
    pub(in crate::cmd) signals: Vec<SignalView<'a>>,
}

/// A rule that matches the frame.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RuleView<'a> {
    route: &'a str,
    filter: String,
    format: &'static str,
    list: &'static str,
    side: &'static str,
    because: Option<String>,
    to: &'a str,
    to_interface: &'a str,
    steps: Vec<StepView>,
    outcome: &'static str,
    reason: Option<Reason>,
    counter: Option<&'static str>,
    sent: Option<FrameView>,
    echo: bool,
    next: Vec<NextView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepView {
    step: &'static str,
    computed: bool,
    frame: FrameView,
    changed: Vec<&'static str>,
    changed_bytes: Vec<usize>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Reason {
    code: &'static str,
    text: String,
}

/// The frame as it is received again on the bus where it was sent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NextView<'a> {
    by: &'static str,
    bus: &'a str,
    rules: Vec<RuleView<'a>>,
    not_received_by: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CountersView<'a> {
    route: &'a str,
    handled_frames: u64,
    dropped_frames: u64,
    deleted_frames: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NotTakenView<'a> {
    route: &'a str,
    filter: String,
    format: &'static str,
    further_jobs: usize,
    reasons: Vec<Reason>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ElsewhereView<'a> {
    route: &'a str,
    from: &'a str,
}

pub(super) fn frames<'a>(view: &View<'a>, file: &'a str, frames: &[Frame], notes: &'a [String]) -> Explained<'a> {
    let bus = view.bus(view.on);
    Explained {
        file,
        engine: view.plan.engine().name(),
        bus: &bus.name,
        interface: &bus.interface,
        max_hops: view.machine.max_hops,
        notes,
        frames: frames.iter().map(|frame| one(view, frame)).collect(),
    }
}

fn one<'a>(view: &View<'a>, received: &Frame) -> FrameExplained<'a> {
    let explanation = view.explain(received);
    let elsewhere = view.elsewhere(&explanation).into_iter().map(|route| {
        let route = view.plan.route(route);
        ElsewhereView { route: &route.name, from: &view.bus(route.from).name }
    });
    let not_taken = view.not_taken(received, &explanation);
    FrameExplained {
        frame: frame(received),
        composed: composed::of(view.plan, view.on, received),
        message: signals::message(view.plan, view.on, received)
            .map(|message| MessageView { name: &message.name, signals: signals::of(message, received) }),
        rules: explanation.visits.iter().map(|visit| rule(view, visit)).collect(),
        is_complete: !explanation.is_cut,
        counters: counters(view, &explanation),
        not_taken: not_taken.iter().map(|missed| self::not_taken(view, missed)).collect(),
        taken_from_other_buses: elsewhere.collect(),
    }
}

pub(in crate::cmd) fn frame(frame: &Frame) -> FrameView {
    FrameView {
        text: frame.to_string(),
        format: format_name(frame.format),
        can_id_hex: format!("{:08X}", frame.id.0),
        len_bytes: frame.len.into(),
        len8_dlc: frame.len8_dlc,
        flags_hex: format!("{:02X}", frame.flags),
        data_hex: hex(&frame.data[..frame.format.max_len()]),
    }
}

fn rule<'a>(view: &View<'a>, visit: &Visit) -> RuleView<'a> {
    let job = view.job(visit.job);
    let to = view.bus(job.to);
    RuleView {
        route: &view.route_of(visit.job).name,
        filter: job.filter.to_string(),
        format: frames_of(job),
        list: list(visit.list),
        side: side_name(visit.side),
        because: view.placement.reason(view.plan, job.route),
        to: &to.name,
        to_interface: &to.interface,
        steps: visit.steps.iter().map(step).collect(),
        outcome: match visit.outcome {
            Outcome::Sent(_) => "sent",
            Outcome::Dropped(_) => "dropped",
            Outcome::Deleted(_) => "deleted",
            Outcome::BackToIncoming => "skipped",
        },
        reason: reason(&visit.outcome, &to.interface),
        counter: visit.outcome.counter().map(|counter| counter.name()),
        sent: if let Outcome::Sent(sent) = &visit.outcome { Some(frame(sent)) } else { None },
        echo: job.echo == Echo::On,
        next: visit.next.iter().map(|next| again(view, next)).collect(),
    }
}

const fn list(list: ReceiveList) -> &'static str {
    match list {
        ReceiveList::Error => "error",
        ReceiveList::All => "all",
        ReceiveList::Masked => "masked",
        ReceiveList::Inverted => "inverted",
        ReceiveList::Exact => "exact",
    }
}

fn step(step: &Step) -> StepView {
    let Changes { format, id, len, flags, bytes } = step.changed;
    let fields = [("format", format), ("id", id), ("len", len), ("flags", flags), ("data", bytes != 0)];
    StepView {
        step: labels::act(step.act),
        computed: !matches!(step.act, Act::ChecksumLeftOut(_)),
        frame: frame(&step.frame),
        changed: fields.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect(),
        changed_bytes: step.changed.positions().collect(),
    }
}

/// The reason why a frame was not sent.
fn reason(outcome: &Outcome, interface: &str) -> Option<Reason> {
    let (code, text) = match *outcome {
        Outcome::Sent(_) => return None,
        Outcome::Dropped(why @ Dropped::Down) => ("interface-down", labels::dropped(why, interface)),
        Outcome::Dropped(why @ Dropped::Mtu { .. }) => ("mtu", labels::dropped(why, interface)),
        Outcome::Deleted(why @ Deleted::Hops { .. }) => ("hops", labels::deleted(why)),
        Outcome::Deleted(why @ Deleted::Length { .. }) => ("length", labels::deleted(why)),
        Outcome::Deleted(why @ Deleted::NoForm(_)) => ("no-form", labels::deleted(why)),
        Outcome::Deleted(why @ Deleted::Refused(_)) => ("refused", labels::deleted(why)),
        Outcome::BackToIncoming => ("back-to-incoming", labels::back_to_incoming(interface)),
    };
    Some(Reason { code, text })
}

fn again<'a>(view: &View<'a>, next: &Next) -> NextView<'a> {
    NextView {
        by: match next.by {
            Way::Echo => "echo",
            Way::Vxcan => "vxcan",
        },
        bus: &view.bus(next.on).name,
        rules: next.visits.iter().map(|visit| rule(view, visit)).collect(),
        not_received_by: next.own.iter().map(|&job| view.route_of(job).name.as_str()).collect(),
    }
}

fn counters<'a>(view: &View<'a>, explanation: &Explanation) -> Vec<CountersView<'a>> {
    let counters = view.counters(explanation).into_iter().map(|(route, moved)| CountersView {
        route: &route.name,
        handled_frames: moved.handled,
        dropped_frames: moved.dropped,
        deleted_frames: moved.deleted,
    });
    counters.collect()
}

fn not_taken<'a>(view: &View<'a>, missed: &NotTaken<'_>) -> NotTakenView<'a> {
    let job = view.job(missed.nearest.job);
    let route = view.plan.route(missed.route);
    let from = &view.bus(view.on).name;
    let withheld = missed
        .withheld
        .iter()
        .map(|&withheld| Reason { code: labels::withheld_code(withheld), text: labels::withheld(withheld, from) });
    let reasons = missed.reasons.iter().map(|reason| Reason {
        code: labels::reason_code(reason),
        text: labels::reason(reason, job.filter, route.selections.len()),
    });
    NotTakenView {
        route: &route.name,
        filter: job.filter.to_string(),
        format: frames_of(job),
        further_jobs: missed.jobs - 1,
        reasons: withheld.chain(reasons).collect(),
    }
}
