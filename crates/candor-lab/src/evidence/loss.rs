//! Frames that are lost by design, other than by limits and changes.

use candor_config::config::Part;
use candor_config::plan::{BusIndex, Queueing, Route, RouteIndex, WhenFull};
use candor_core::diagnostic::Diagnostic;
use candor_egress::policy::{Full, Policy};

use super::{By, NO_RUNS, Opinion, Subject, Verdict, measured};

pub(super) fn judge(subject: Subject<'_>, id: &'static str) -> Opinion {
    let opinion = by_design(subject, id);
    match subject.runs {
        // What is lost by design need not be lost in a run.
        Some(runs) if opinion.verdict != Verdict::Violated => {
            let mut run = measured::loss(runs);
            if run.verdict == Verdict::Holds && subject.border.has_outward() {
                run.verdict = Verdict::NotJudged;
                run.reason += "; the other direction was not run: a second report, with the trusted buses as --untrusted, runs it";
            }
            Opinion { by: By::FileAndRuns, ..run }.with_more(opinion.figures)
        }
        _ => opinion,
    }
}

fn by_design(subject: Subject<'_>, id: &'static str) -> Opinion {
    let border = subject.border;
    let mut routes: Vec<RouteIndex> = border.both_ways().flat_map(|(_, crossing)| crossing.routes.clone()).collect();
    routes.sort_unstable();
    routes.dedup();
    let mut findings = Vec::new();
    let mut full = [("drops the newest frame", 0), ("drops the oldest frame", 0), ("waits, then drops a frame", 0)];
    let mut limits = 0;
    for at in routes {
        let route = border.route(at);
        limits += usize::from(drops_by_limit(route));
        full[match route.when_full {
            WhenFull::DropNewest => 0,
            WhenFull::DropOldest => 1,
            WhenFull::Block { .. } => 2,
        }]
        .1 += 1;
        findings.extend(of_route(subject, id, at));
    }
    findings.extend(border.targets().into_iter().filter_map(|bus| of_queue(subject, id, bus)));
    let mut figures =
        vec![("routes that drop frames beyond limits, which is permitted".to_owned(), limits.to_string())];
    for (what, count) in full.into_iter().filter(|(_, count)| *count > 0) {
        figures.push((format!("when a queue is full, a route {what}"), count.to_string()));
    }
    let (verdict, by, reason) = if findings.is_empty() {
        (
            Verdict::NotJudged,
            By::Nothing,
            format!("the file drops nothing but by limits; whether queues overflow, {NO_RUNS}"),
        )
    } else {
        (Verdict::Violated, By::File, "the file drops frames for other reasons than limits and changes".to_owned())
    };
    Opinion::new(verdict, by, reason).with(figures, findings)
}

fn drops_by_limit(route: &Route) -> bool {
    route.guard.is_some() && route.pace().is_some_and(|pace| pace.drops())
}

fn of_route(subject: Subject<'_>, id: &'static str, at: RouteIndex) -> Option<Diagnostic> {
    let route = subject.border.route(at);
    let name = &route.name;
    let (part, message, help) = match (route.max_age, route.when_full) {
        (Some(age), _) => {
            let message = format!("Route \"{name}\" drops frames that have waited for {} ms", age.as_millis());
            (Part::MaxAge, message, "remove max-age")
        }
        (None, WhenFull::DropOldest) => {
            let message = format!("Route \"{name}\" drops the oldest frame when the queue is full");
            (Part::WhenFull, message, "write when-full = \"block\", so that frames wait")
        }
        _ => return None,
    };
    Some(Diagnostic::error(id, subject.places.route(at, part), message).help(help))
}

fn of_queue(subject: Subject<'_>, id: &'static str, bus: BusIndex) -> Option<Diagnostic> {
    let border = subject.border;
    let egress = border.plan.egress().iter().find(|egress| egress.bus == bus)?;
    let drops = |policy: &Policy| policy.bands().iter().any(|band| band.queue.full() == Full::DropOldest);
    let why = match &egress.queueing {
        Queueing::Arbitration { queue, .. } if queue.limits().replace_same_id => "that a newer one replaces",
        Queueing::Arbitration { queue, .. } if queue.limits().max_age_ms.is_some() => "that have waited too long",
        Queueing::Bands(policy) if drops(policy) => "that are the oldest of a full queue",
        _ => return None,
    };
    let name = border.bus(bus);
    let message = format!("The queue of bus {name} drops frames {why}, without notification");
    let place = subject.places.egress(&border.plan.bus(bus).name).unwrap_or_default();
    Some(Diagnostic::error(id, place, message).help("remove replace, max-age and when-full = \"drop-oldest\" there"))
}
