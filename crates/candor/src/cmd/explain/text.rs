//! An explanation as text.

use std::fmt::Write as _;

use candor_config::explain::{Explanation, Next, Outcome, Reason, Visit, Way};
use candor_config::placement::{Because, InBpf};
use candor_config::plan::{Echo, RouteIndex};
use candor_core::frame::{Frame, FrameFormat};

use super::view::{NotTaken, View};
use super::{composed, labels, signals};
use crate::cmd::show;

/// Misses that are shown if no route matches.
const MAX_NEAREST: usize = 3;
/// Changes to a frame longer than this get a line of their own.
const MAX_WIDTH: usize = 40;
/// Rules for an echo that are listed by name.
const MAX_NAMED: usize = 5;

/// All frames, one after another.
pub(super) fn frames(view: &View<'_>, frames: &[Frame], all: bool, live: bool, notes: &[String]) -> String {
    let mut text = String::new();
    for note in notes {
        line(&mut text, 0, &format!("note: {note}"));
    }
    for (position, frame) in frames.iter().enumerate() {
        if position > 0 || !notes.is_empty() {
            text.push('\n');
        }
        one(&mut text, view, frame, all, live);
    }
    text
}

fn one(text: &mut String, view: &View<'_>, frame: &Frame, all: bool, live: bool) {
    let bus = view.bus(view.on);
    line(text, 0, &frame.to_string());
    line(text, 0, &format!("received on {} ({}): {}", bus.name, bus.interface, labels::frame(frame)));
    if let Some(message) = signals::message(view.plan, view.on, frame) {
        let texts: Vec<_> = signals::of(message, frame).iter().map(signals::SignalView::text).collect();
        line(text, 0, &format!("message {}: {}", message.name, texts.join(", ")));
    }
    let composed = composed::of(view.plan, view.on, frame);
    composed.iter().for_each(|composed| line(text, 0, &composed.text()));
    let explanation = view.explain(frame);
    for (position, visit) in explanation.visits.iter().enumerate() {
        text.push('\n');
        rule(text, view, frame, visit, &(position + 1).to_string(), 0);
    }
    text.push('\n');
    if explanation.visits.is_empty() {
        let nothing_else = if composed.is_empty() { "nothing" } else { "nothing else" };
        line(text, 0, &format!("No route matches: {nothing_else} is sent, no counter changes."));
    } else {
        line(text, 0, &counters(view, &explanation));
    }
    if explanation.is_cut {
        line(text, 0, "The rest is omitted. This may be an endless loop; candor check finds loops.");
    }
    if !live && sends_fd(&explanation) {
        line(
            text,
            0,
            "An interface without CAN FD (MTU 16) would drop these frames; --live checks the interfaces of this machine.",
        );
    }
    not_taken(text, view, frame, &explanation, all);
}

/// A rule that matches the frame.
fn rule(text: &mut String, view: &View<'_>, frame: &Frame, visit: &Visit, number: &str, indent: usize) {
    let job = view.job(visit.job);
    let (route, to) = (view.route_of(visit.job), view.bus(job.to));
    let head = format!("{number}. route {} to {} ({}), {}", route.name, to.name, to.interface, side(view, job.route));
    line(text, indent, &head);
    let indent = indent + 3;
    for (key, note) in &route.notes {
        entry(text, indent, key, note);
    }
    let filter = match job.filter.to_string() {
        filter if filter == "000:000" => "every frame".to_owned(),
        filter => format!("{filter} (receive list: {})", labels::list(visit.list)),
    };
    entry(text, indent, "matches", &filter);
    let is_wide = visit.steps.iter().map(|step| step.frame).chain([*frame]).any(|frame| width(&frame) > MAX_WIDTH);
    let widest = visit.steps.iter().map(|step| width(&step.frame)).max().unwrap_or(0).max(width(frame));
    if !visit.steps.is_empty() {
        entry(text, indent, "received", &frame.to_string());
    }
    let mut before = *frame;
    for step in &visit.steps {
        let changes = labels::changes(step.act, &before, &step.frame, step.changed).join(", ");
        let shown = step.frame.to_string();
        if is_wide {
            entry(text, indent, labels::act(step.act), &shown);
            entry(text, indent, "", &changes);
        } else {
            entry(text, indent, labels::act(step.act), &format!("{shown:<widest$}   {changes}"));
        }
        before = step.frame;
    }
    if let (Some(message), Outcome::Sent(sent)) = (signals::message(view.plan, job.from, frame), &visit.outcome) {
        for change in signals::between(message, frame, sent) {
            entry(text, indent, "signal", &change.text());
        }
    }
    if let Some(timing) = &route.timing {
        entry(text, indent, "timing", &show::timing(timing));
    }
    outcome(text, view, visit, indent);
    for next in &visit.next {
        if let Outcome::Sent(sent) = &visit.outcome {
            again(text, view, sent, next, number, indent);
        }
    }
}

fn outcome(text: &mut String, view: &View<'_>, visit: &Visit, indent: usize) {
    let job = view.job(visit.job);
    let to = view.bus(job.to);
    match &visit.outcome {
        Outcome::Sent(frame) => {
            let what = match visit.steps.is_empty() {
                true => "unchanged, ".to_owned(),
                false if width(frame) > MAX_WIDTH => String::new(),
                false => format!("{frame} "),
            };
            entry(text, indent, "sent", &format!("{what}to {} ({}); counter handled", to.name, to.interface));
            if let Some(oddity) = labels::oddity(frame) {
                entry(text, indent, "warning", &oddity);
            }
            let echo = match job.echo {
                Echo::On => format!("programs on {} see it", to.interface),
                Echo::Off => format!("off: programs on {} do not see it (on vcan: no program at all)", to.interface),
            };
            // One with a timing is sent by another socket.
            if view.route_of(visit.job).timing.is_none() {
                entry(text, indent, "echo", &echo);
            }
        }
        Outcome::Dropped(why) => {
            entry(text, indent, "dropped", &format!("{}; counter dropped", labels::dropped(*why, &to.interface)));
        }
        Outcome::Deleted(why) => {
            entry(text, indent, "deleted", &format!("{}; counter deleted", labels::deleted(*why)));
        }
        Outcome::BackToIncoming => {
            entry(text, indent, "skipped", &format!("{}; no counter", labels::back_to_incoming(&to.interface)));
        }
    }
}

/// The frame as it is received again on the bus where it was sent.
fn again(text: &mut String, view: &View<'_>, sent: &Frame, next: &Next, number: &str, indent: usize) {
    let bus = view.bus(next.on);
    let place = match next.by {
        Way::Echo => format!("the echo is received on {} ({})", bus.name, bus.interface),
        Way::Vxcan => format!("the vxcan pair passes it to {} ({}) and resets its hop count", bus.name, bus.interface),
    };
    entry(text, indent, "then", &place);
    if !next.own.is_empty() {
        let names = names(view, next.own.iter().map(|&job| view.job(job).route));
        entry(text, indent, "", &format!("{names}: not received, candor does not receive its own frames"));
    }
    let (short, long): (Vec<_>, Vec<_>) =
        next.visits.iter().partition(|visit| matches!(visit.outcome, Outcome::Deleted(_)) && visit.steps.is_empty());
    if let Some(Visit { outcome: Outcome::Deleted(why), .. }) = short.first() {
        let names = names(view, short.iter().map(|visit| view.job(visit.job).route));
        entry(text, indent, "", &format!("{names}: deleted, {}; counter deleted", labels::deleted(*why)));
    }
    for (position, visit) in long.iter().enumerate() {
        rule(text, view, sent, visit, &format!("{number}.{}", position + 1), indent);
    }
}

/// `route a`, `routes a, b and 3 more`.
fn names(view: &View<'_>, routes: impl Iterator<Item = RouteIndex>) -> String {
    let mut routes: Vec<_> = routes.collect();
    routes.dedup();
    let named: Vec<_> = routes.iter().take(MAX_NAMED).map(|&route| view.plan.route(route).name.as_str()).collect();
    let more = match routes.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} {}{more}", if routes.len() == 1 { "route" } else { "routes" }, named.join(", "))
}

fn counters(view: &View<'_>, explanation: &Explanation) -> String {
    let moved = view.counters(explanation);
    if moved.is_empty() {
        return "No counter changes.".to_owned();
    }
    let routes: Vec<_> = moved
        .iter()
        .map(|(route, moved)| {
            let counters = [("handled", moved.handled), ("dropped", moved.dropped), ("deleted", moved.deleted)];
            let texts: Vec<_> =
                counters.iter().filter(|(_, by)| *by > 0).map(|(name, by)| format!("{name} +{by}")).collect();
            format!("{} {}", route.name, texts.join(" "))
        })
        .collect();
    format!("Counters: {}", routes.join(", "))
}

/// The routes that do not match: all of them, or the nearest if no route matches.
fn not_taken(text: &mut String, view: &View<'_>, frame: &Frame, explanation: &Explanation, all: bool) {
    let missed = view.not_taken(frame, explanation);
    let bus = &view.bus(view.on).name;
    let nothing = explanation.visits.is_empty();
    let shown = match (all, nothing) {
        (true, _) => missed.len(),
        (false, true) => missed.len().min(MAX_NEAREST),
        (false, false) => 0,
    };
    if shown > 0 {
        let title = if all { format!("Routes from {bus} that do not match") } else { "Nearest misses".to_owned() };
        line(text, 0, &format!("\n{title}:"));
        let width = missed[..shown].iter().map(|missed| view.plan.route(missed.route).name.chars().count()).max();
        for missed in &missed[..shown] {
            miss(text, view, missed, width.unwrap_or(0));
        }
    }
    match missed.len() - shown {
        0 => {}
        1 => line(text, 0, &format!("1 more route from {bus} does not match; --all shows why.")),
        left => line(text, 0, &format!("{left} more routes from {bus} do not match; --all shows why.")),
    }
    if nothing && missed.is_empty() {
        line(text, 0, &format!("No route leads from {bus}."));
    }
    let elsewhere = view.elsewhere(explanation);
    if (nothing || all) && !elsewhere.is_empty() {
        line(text, 0, "\nRoutes from other buses that would match:");
        for route in elsewhere.iter().take(if all { usize::MAX } else { MAX_NEAREST }) {
            let route = view.plan.route(*route);
            let from = view.bus(route.from);
            line(text, 2, &format!("route {} from {} ({})", route.name, from.name, from.interface));
        }
    }
}

fn miss(text: &mut String, view: &View<'_>, missed: &NotTaken<'_>, width: usize) {
    let route = view.plan.route(missed.route);
    let filter = view.job(missed.nearest.job).filter;
    let payload = show::payloads(&route.payload).map_or_else(String::new, |payload| format!(", payload {payload}"));
    for (position, matched) in show::matches(&route.selections, route.formats).iter().enumerate() {
        let (name, word) = if position == 0 { (route.name.as_str(), "matches") } else { ("", "or     ") };
        line(text, 2, &format!("{name:<width$}   {word} {matched}{payload}"));
    }
    // Comparing the bits of an identifier with the other format is pointless.
    let other_format = missed.reasons.iter().any(|reason| matches!(reason, Reason::IdFormat { .. }));
    let reasons = missed.reasons.iter().filter(|reason| !(other_format && matches!(reason, Reason::Identifier { .. })));
    let withheld = missed.withheld.iter().map(|&withheld| labels::withheld(withheld, &view.bus(view.on).name));
    let reasons = reasons.map(|reason| labels::reason(reason, filter, route.selections.len()));
    for (position, reason) in withheld.chain(reasons).enumerate() {
        let word = if position == 0 { "but" } else { "and" };
        line(text, 2, &format!("{:<width$}   {word} {reason}", ""));
    }
}

fn side(view: &View<'_>, route: RouteIndex) -> String {
    if let Some(why) = view.placement.in_bpf(route) {
        return match why {
            InBpf::Chosen => "in an eBPF program".to_owned(),
            why => format!("in an eBPF program, because {}", why.in_words(view.plan)),
        };
    }
    match view.placement.because(route) {
        None => "in the kernel".to_owned(),
        Some(Because::Chosen) => format!("in user space (engine {})", view.plan.engine().name()),
        Some(because) => format!("in user space, because {}", because.in_words(view.plan)),
    }
}

fn sends_fd(explanation: &Explanation) -> bool {
    explanation
        .visits
        .iter()
        .any(|visit| matches!(visit.outcome, Outcome::Sent(frame) if frame.format == FrameFormat::Fd))
}

fn width(frame: &Frame) -> usize {
    frame.to_string().len()
}

fn entry(text: &mut String, indent: usize, word: &str, meaning: &str) {
    line(text, indent, &format!("{word:<9} {meaning}"));
}

fn line(text: &mut String, indent: usize, content: &str) {
    let _written = writeln!(text, "{}", format!("{:indent$}{content}", "").trim_end());
}
