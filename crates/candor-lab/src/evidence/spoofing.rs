//! Identifiers of trusted nodes that frames from untrusted buses can have.

use candor_config::config::Part;
use candor_config::plan::{BusIndex, RouteIndex};
use candor_config::safety::border::Crossing;
use candor_core::diagnostic::{Diagnostic, Span};
use candor_core::frame::RawId;
use candor_signals::{Message, MessageId};

use super::{Border, By, Opinion, Subject, Verdict, measured};
use crate::border::identifiers;

/// More identifiers are counted roughly.
const MOST_COUNTED: usize = 1 << 16;

pub(super) fn judge(subject: Subject<'_>, id: &'static str) -> Opinion {
    let opinion = by_file(subject, id);
    match subject.runs {
        Some(runs) => opinion.and(measured::spoofing(runs, subject.outside)),
        None => opinion,
    }
}

fn by_file(subject: Subject<'_>, id: &'static str) -> Opinion {
    let border = subject.border;
    let (mut figures, mut findings, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for bus in (0..border.plan.buses().len()).map(BusIndex).filter(|bus| !border.is_untrusted(*bus)) {
        let entering: Vec<&Crossing> = border.inward().filter(|crossing| crossing.to == bus).collect();
        let composed: Vec<_> = border.translations().filter(|(_, frame)| frame.to == bus).collect();
        let own = own(subject, bus);
        if entering.is_empty() && composed.is_empty() && own.is_empty() {
            continue;
        }
        let messages = messages(border, bus, subject.outside);
        for (frame, place, what) in own {
            let like = messages.iter().find(|(id, _)| *id == frame);
            findings.extend(like.map(|(_, message)| {
                let senders = message.senders.join(", ");
                let text =
                    format!("{what} looks like {} of bus {}, which {senders} sends", message.name, border.bus(bus));
                Diagnostic::error(id, place, text)
                    .help("give it an identifier of its own, or name the node (--outside NODE)")
            }));
        }
        // A route that takes any frame says nothing about what is sent.
        let named: Vec<&Crossing> = border.taken_from(bus).filter(|of| !of.taken.has_any_identifier()).collect();
        if messages.is_empty() {
            unknown.push(border.bus(bus));
        }
        for crossing in &entering {
            findings.extend(of_crossing(subject, id, crossing, &messages, &named));
        }
        for (frame, composed) in composed {
            let taken = named.iter().find(|crossing| crossing.taken.has(composed.id));
            findings.extend(taken.map(|taken| {
                let of =
                    format!("Frame \"{}\" has an identifier that nodes of bus {} send", composed.name, border.bus(bus));
                taken_here(subject, Diagnostic::error(id, subject.places.frame(frame), of), taken)
            }));
        }
        let name = border.bus(bus);
        let sent: u64 = entering.iter().map(|crossing| crossing.sent.count(MOST_COUNTED)).sum();
        figures.push((format!("identifiers that can be sent to bus {name}"), sent.to_string()));
        figures.push((format!("messages that its nodes send, of databases of {name}"), messages.len().to_string()));
        figures.push((format!("routes that take named identifiers from {name}"), named.len().to_string()));
    }
    let opinion = |verdict, reason: String| Opinion::new(verdict, By::File, reason).with(figures, Vec::new());
    let mut opinion = if !findings.is_empty() {
        opinion(Verdict::Violated, "frames from outside can have identifiers of trusted nodes".to_owned())
    } else if !border.is_complete {
        opinion(Verdict::NotJudged, "the file is too large to follow all its ways".to_owned())
    } else if unknown.is_empty() {
        opinion(Verdict::Holds, "no frame from outside can have an identifier of a trusted node".to_owned())
    } else {
        let reason = format!(
            "no database says what the nodes of {} send ([database]); with what routes take from there, nothing collides",
            unknown.join(", ")
        );
        opinion(Verdict::NotJudged, reason)
    };
    opinion.findings = findings;
    opinion
}

/// Frames that the gateway itself sends to a bus: identifier, place and description.
fn own(subject: Subject<'_>, bus: BusIndex) -> Vec<(RawId, Span, String)> {
    let (plan, places) = (subject.border.plan, subject.places);
    let alarms = plan.routes().iter().enumerate().filter_map(|(at, route)| {
        let alarm = route.guard.as_ref()?.alarm.as_ref().filter(|alarm| alarm.to == bus)?;
        let what = format!("The alarm of route \"{}\"", route.name);
        Some((alarm.frame.id, places.route(RouteIndex(at), Part::Guard), what))
    });
    let announced = plan.modes().iter().flat_map(|mode| {
        let announce = mode.announce.as_ref().filter(|announce| announce.to.contains(&bus));
        let frames = announce.into_iter().flat_map(|announce| announce.at_end.iter().chain([&announce.frame]));
        frames.map(|frame| (frame.id, places.mode(&mode.name), format!("An announcement of mode \"{}\"", mode.name)))
    });
    let composed = subject.border.translations().filter(|(_, frame)| frame.to == bus);
    let composed =
        composed.map(|(at, frame)| (frame.id, places.frame(at), format!("Composed frame \"{}\"", frame.name)));
    alarms.chain(announced).chain(composed).collect()
}

/// Messages of a trusted bus with senders, one of which is on it; without those that come from outside.
fn messages<'p>(border: &Border<'p>, bus: BusIndex, outside: &[String]) -> Vec<(RawId, &'p Message)> {
    let plan = border.plan;
    let untrusted = || (0..plan.buses().len()).map(BusIndex).filter(|bus| border.is_untrusted(*bus));
    let comes_from_outside = |id: MessageId| {
        let mut theirs = untrusted().flat_map(|bus| identifiers::sent(plan, bus));
        theirs.any(|message| message.id == Some(id))
    };
    let sent = |message: &'p Message| {
        let id = message.id?;
        let is_inside = message.senders.iter().any(|node| !outside.contains(node));
        (is_inside && !comes_from_outside(id)).then_some((id.raw(), message))
    };
    identifiers::sent(plan, bus).filter_map(sent).collect()
}

fn of_crossing(
    subject: Subject<'_>,
    id: &'static str,
    crossing: &Crossing,
    messages: &[(RawId, &Message)],
    named: &[&Crossing],
) -> Option<Diagnostic> {
    let border = subject.border;
    let place = subject.places.route(Border::last(crossing), Part::Match);
    let (way, bus) = (border.way(crossing), border.bus(crossing.to));
    let mut hits = messages.iter().filter(|(id, _)| crossing.sent.has(*id));
    if let Some((_, first)) = hits.next() {
        let (count, sender) = (1 + hits.count(), first.senders.join(", "));
        let which = if count == 1 { "a message".to_owned() } else { format!("{count} messages") };
        let message = format!("Frames of {way} can look like {which} of bus {bus}, such as {}", first.name);
        let first_id = first.id.map(|id| id.to_string()).unwrap_or_default();
        let help = "exclude the identifiers (deny), move them (to-id), or name nodes that are outside (--outside NODE)";
        return Some(Diagnostic::error(id, place, message).label(format!("{sender} sends {first_id}")).help(help));
    }
    let collision = named.iter().find_map(|taken| Some((crossing.sent.common(&taken.taken)?, *taken)));
    if let Some((kind, taken)) = collision {
        let message = format!("Frames of {way} can have identifier {kind}, which a route takes from bus {bus}");
        return Some(taken_here(subject, Diagnostic::error(id, place, message), taken));
    }
    crossing.sent.has_any_identifier().then(|| {
        let message = format!("Frames of {way} can have any identifier, so also those that nodes of bus {bus} send");
        Diagnostic::error(id, place, message).help("list the identifiers that may enter: match = [\"…\"]")
    })
}

/// The route that shows what trusted nodes send.
fn taken_here(subject: Subject<'_>, finding: Diagnostic, taken: &Crossing) -> Diagnostic {
    let route: RouteIndex = Border::last(taken);
    let label = format!("{} takes it from there", subject.border.way(taken));
    let help = "one of both directions has too many identifiers: narrow `match`, or use deny or to-id";
    finding.also(subject.places.route(route, Part::Match), label).help(help)
}
