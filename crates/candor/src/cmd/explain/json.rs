//! An explanation for programs; the keys are described in `docs/explain.md`.

use candor_config::explain::{Act, Changes, Deleted, Dropped, Explanation, Next, Outcome, Step, Visit, Way};
use candor_config::placement::Side;
use candor_config::plan::Echo;
use candor_core::filter::ReceiveList;
use candor_core::frame::{Frame, FrameFormat};
use serde_json::{Value, json};

use super::labels as words;
use super::view::{NotTaken, View};

/// All frames, one after another.
pub(super) fn frames(view: &View<'_>, file: &str, frames: &[Frame], notes: &[String]) -> Value {
    let bus = view.bus(view.on);
    json!({
        "file": file,
        "engine": view.plan.engine().name(),
        "bus": bus.name,
        "interface": bus.interface,
        "max_hops": view.machine.max_hops,
        "notes": notes,
        "frames": frames.iter().map(|frame| one(view, frame)).collect::<Vec<_>>(),
    })
}

fn one(view: &View<'_>, received: &Frame) -> Value {
    let explanation = view.explain(received);
    let elsewhere = view.elsewhere(&explanation).into_iter().map(|route| {
        let route = view.plan.route(route);
        json!({ "route": route.name, "from": view.bus(route.from).name })
    });
    json!({
        "frame": frame(received),
        "rules": explanation.visits.iter().map(|visit| rule(view, visit)).collect::<Vec<_>>(),
        "is_complete": !explanation.is_cut,
        "counters": counters(view, &explanation),
        "not_taken": view.not_taken(received, &explanation).iter().map(|missed| not_taken(view, missed)).collect::<Vec<_>>(),
        "taken_from_other_buses": elsewhere.collect::<Vec<_>>(),
    })
}

fn frame(frame: &Frame) -> Value {
    json!({
        "text": frame.to_string(),
        "format": format(frame.format),
        "can_id_hex": format!("{:08X}", frame.id.0),
        "len_bytes": frame.len,
        "len8_dlc": frame.len8_dlc,
        "flags_hex": format!("{:02X}", frame.flags),
        "data_hex": frame.data[..frame.format.max_len()].iter().map(|byte| format!("{byte:02X}")).collect::<String>(),
    })
}

const fn format(format: FrameFormat) -> &'static str {
    match format {
        FrameFormat::Classic => "classic",
        FrameFormat::Fd => "fd",
    }
}

fn rule(view: &View<'_>, visit: &Visit) -> Value {
    let job = view.job(visit.job);
    let (route, to) = (view.route_of(visit.job), view.bus(job.to));
    let (outcome, reason, sent) = outcome(&visit.outcome, &to.interface);
    json!({
        "route": route.name,
        "filter": job.filter.to_string(),
        "format": format(job.format),
        "list": list(visit.list),
        "side": match visit.side {
            Side::Kernel => "kernel",
            Side::User => "user",
        },
        "because": view.placement.because(job.route).map(|because| because.in_words(view.plan)),
        "to": to.name,
        "to_interface": to.interface,
        "steps": visit.steps.iter().map(step).collect::<Vec<_>>(),
        "outcome": outcome,
        "reason": reason,
        "counter": visit.outcome.counter().map(|counter| counter.name()),
        "sent": sent,
        "echo": job.echo == Echo::On,
        "next": visit.next.iter().map(|next| again(view, next)).collect::<Vec<_>>(),
    })
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

fn step(step: &Step) -> Value {
    let Changes { format, id, len, flags, bytes } = step.changed;
    let fields = [("format", format), ("id", id), ("len", len), ("flags", flags), ("data", bytes != 0)];
    json!({
        "step": words::act(step.act),
        "computed": !matches!(step.act, Act::ChecksumLeftOut(_)),
        "frame": frame(&step.frame),
        "changed": fields.iter().filter(|(_, changed)| *changed).map(|(name, _)| *name).collect::<Vec<_>>(),
        "changed_bytes": step.changed.positions().collect::<Vec<_>>(),
    })
}

/// What became of it, why not better, and what was sent.
fn outcome(outcome: &Outcome, interface: &str) -> (&'static str, Value, Value) {
    let because = |code: &str, text: String| json!({ "code": code, "text": text });
    match outcome {
        Outcome::Sent(sent) => ("sent", Value::Null, frame(sent)),
        Outcome::Dropped(why) => {
            let code = match why {
                Dropped::Down => "interface-down",
                Dropped::Mtu { .. } => "mtu",
            };
            ("dropped", because(code, words::dropped(*why, interface)), Value::Null)
        }
        Outcome::Deleted(why) => {
            let code = match why {
                Deleted::Hops { .. } => "hops",
                Deleted::Length { .. } => "length",
                Deleted::NoForm(_) => "no-form",
            };
            ("deleted", because(code, words::deleted(*why)), Value::Null)
        }
        Outcome::BackToIncoming => {
            ("skipped", because("back-to-incoming", words::back_to_incoming(interface)), Value::Null)
        }
    }
}

fn again(view: &View<'_>, next: &Next) -> Value {
    json!({
        "by": match next.by {
            Way::Echo => "echo",
            Way::Vxcan => "vxcan",
        },
        "bus": view.bus(next.on).name,
        "rules": next.visits.iter().map(|visit| rule(view, visit)).collect::<Vec<_>>(),
        "not_received_by": next.own.iter().map(|&job| view.route_of(job).name.as_str()).collect::<Vec<_>>(),
    })
}

fn counters(view: &View<'_>, explanation: &Explanation) -> Value {
    let counters = view.counters(explanation).into_iter().map(|(route, moved)| {
        json!({
            "route": route.name,
            "handled_frames": moved.handled,
            "dropped_frames": moved.dropped,
            "deleted_frames": moved.deleted,
        })
    });
    counters.collect::<Vec<_>>().into()
}

fn not_taken(view: &View<'_>, missed: &NotTaken<'_>) -> Value {
    let job = view.job(missed.nearest.job);
    let filters = view.plan.route(missed.route).selections.len();
    let withheld = missed.withheld.iter().map(|&withheld| {
        let from = &view.bus(view.on).name;
        json!({ "code": words::withheld_code(withheld), "text": words::withheld(withheld, from) })
    });
    let reasons = missed.reasons.iter().map(
        |reason| json!({ "code": words::reason_code(reason), "text": words::reason(reason, job.filter, filters) }),
    );
    json!({
        "route": view.plan.route(missed.route).name,
        "filter": job.filter.to_string(),
        "format": format(job.format),
        "further_jobs": missed.jobs - 1,
        "reasons": withheld.chain(reasons).collect::<Vec<_>>(),
    })
}
