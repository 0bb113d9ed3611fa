//! Verdicts of runs in a guest.

use crate::border::{DriverOrder, KnownFrom, Order, PathRun, Runs};

use super::{By, NO_RUNS, Opinion, Subject, Verdict};

/// A flood that arrives at more than this share of its rate was not limited.
const UNLIMITED: f64 = 0.9;

type Figures = Vec<(String, String)>;

/// The verdict on all paths: the worst; not judged if one was not run.
fn of_paths(
    runs: &Runs,
    what: &str,
    good: String,
    mut judge: impl FnMut(&PathRun, &mut Figures) -> Verdict,
) -> Opinion {
    let mut figures = Vec::new();
    let bad: Vec<_> = runs.paths.iter().map(|path| (judge(path, &mut figures), path.route.as_str())).collect();
    let with = |verdict| {
        let of = bad.iter().filter(|(found, _)| *found == verdict).map(|(_, route)| format!("\"{route}\""));
        of.collect::<Vec<_>>()
    };
    let missing: Vec<_> = runs.not_run.iter().map(|one| format!("\"{}\": {}", one.route, one.because)).collect();
    let (violated, unknown) = (with(Verdict::Violated), with(Verdict::NotJudged));
    let (verdict, reason) = if !violated.is_empty() {
        (Verdict::Violated, format!("{what} on {}", violated.join(", ")))
    } else if !missing.is_empty() {
        (Verdict::NotJudged, format!("without a run of {}", missing.join("; ")))
    } else if !unknown.is_empty() {
        (Verdict::NotJudged, format!("the runs of {} cannot tell", unknown.join(", ")))
    } else if runs.paths.is_empty() {
        (Verdict::NotJudged, "no path was run".to_owned())
    } else {
        (Verdict::Holds, good)
    };
    Opinion::new(verdict, By::Runs, reason).with(figures, Vec::new())
}

pub(super) fn flood(runs: &Runs) -> Opinion {
    let good = "a full untrusted bus does not fill the trusted one, whose own frames all arrive".to_owned();
    of_paths(runs, "a flood gets through, or takes frames of the trusted bus with it,", good, |path, figures| {
        let flood = &path.flood;
        let seconds = seconds(flood.time_ns);
        let (sent, late) = (flood.sent_frames as f64, flood.arrived_in_second_half_frames as f64);
        let (rate, passed) = (sent / seconds, 2.0 * late / seconds);
        let by = &flood.bystander;
        let what = format!(
            "{rate:.0} frames/s sent, {passed:.0} frames/s arrived after the first burst; own frames of the bus: {} of {}, at most {} late",
            by.arrived_frames,
            by.sent_frames,
            time(by.max_delay_ns),
        );
        figures.push((format!("flood of \"{}\" ({})", path.route, path.frame), what));
        let is_harmed = by.arrived_frames < by.sent_frames;
        if is_harmed || passed > UNLIMITED * rate { Verdict::Violated } else { Verdict::Holds }
    })
}

pub(super) fn spoofing(runs: &Runs, outside: &[String]) -> Opinion {
    let is_inside = |known: &KnownFrom| match known {
        KnownFrom::Message { senders, .. } => senders.iter().any(|node| !outside.contains(node)),
        KnownFrom::Route { .. } => true,
    };
    let all: Vec<_> = runs.spoofed.iter().filter(|one| is_inside(&one.known_from)).collect();
    let through: Vec<_> = all.iter().filter(|one| one.arrived_frames > 0).collect();
    let mut figures =
        vec![("identifiers of trusted nodes that were sent from outside".to_owned(), all.len().to_string())];
    figures.extend(through.iter().map(|one| {
        let of = match &one.known_from {
            KnownFrom::Message { name, senders } => format!("{name} of {}", senders.join(", ")),
            KnownFrom::Route { name } => format!("taken by route \"{name}\""),
        };
        let value = format!("{} of {} frames arrived on bus \"{}\"", one.arrived_frames, one.sent_frames, one.bus);
        (format!("{} ({of}), sent on bus \"{}\"", one.identifier_hex, one.from), value)
    }));
    let (verdict, reason) = match (through.len(), all.len()) {
        (0, 0) => (Verdict::NotJudged, "no identifier of a trusted node is known that a run could send".to_owned()),
        (0, _) => (Verdict::Holds, "no frame with an identifier of a trusted node got through".to_owned()),
        (count, _) => (Verdict::Violated, format!("{count} identifiers of trusted nodes got through")),
    };
    Opinion::new(verdict, By::Runs, reason).with(figures, Vec::new())
}

fn orders(path: &PathRun) -> impl Iterator<Item = &Order> {
    [Some(&path.order), path.order_of_several.as_ref()].into_iter().flatten()
}

pub(super) fn loss(runs: &Runs) -> Opinion {
    let good = "all frames that rules do not refuse arrive, from the untrusted side, at 80 % of what the path carries"
        .to_owned();
    of_paths(runs, "frames are lost", good, |path, figures| {
        let sum = |of: fn(&Order) -> u64| orders(path).map(of).sum::<u64>();
        let (lost, dropped) = (sum(|order| order.lost_frames), sum(|order| order.dropped_frames));
        let (sent, refused) = (sum(|order| order.sent_frames), sum(|order| order.refused_frames));
        let name = format!("\"{}\" at its highest permitted rate", path.route);
        if path.is_timed {
            figures.push((name, "sends at times of its own: a newer frame takes the place of an older one".to_owned()));
            return Verdict::Holds;
        }
        let what = format!("{lost} of {sent} frames lost ({dropped} dropped by the gateway), {refused} refused");
        figures.push((name, what));
        if lost > 0 { Verdict::Violated } else { Verdict::Holds }
    })
}

pub(super) fn inversion(runs: &Runs) -> Opinion {
    let good = "an urgent frame waits only for the frame on the bus and those in the controller".to_owned();
    of_paths(runs, "frames of the lowest priority leave first", good, |path, figures| {
        let Some(run) = &path.inversion else { return Verdict::NotJudged };
        let permitted = u64::from(run.controller_frames) + 1;
        let what = format!(
            "at most {} frames of {} before {} (permitted: {permitted}); {} of {} arrived, after at most {}",
            run.max_low_frames_before_urgent,
            run.low_identifier_hex,
            run.urgent_identifier_hex,
            run.urgent_arrived_frames,
            run.urgent_sent_frames,
            time(run.urgent_max_ns),
        );
        figures.push((format!("\"{}\" against a full queue", path.route), what));
        let is_good =
            run.max_low_frames_before_urgent <= permitted && run.urgent_arrived_frames == run.urgent_sent_frames;
        if is_good { Verdict::Holds } else { Verdict::Violated }
    })
}

pub(super) fn order(runs: &Runs) -> Opinion {
    let drivers: Vec<&DriverOrder> = runs.drivers.iter().filter(|driver| !keeps_order(driver)).collect();
    let good =
        "frames of one identifier keep their order, through the gateway and through each driver; the published text \
                rules out SocketCAN because drivers would change it: the figures answer that"
            .to_owned();
    let mut opinion = of_paths(runs, "frames change their order, or are doubled,", good, |path, figures| {
        let sum = |of: fn(&Order) -> u64| orders(path).map(of).sum::<u64>();
        let swapped = sum(|order| order.out_of_order_frames);
        // A timed route repeats frames.
        let doubled = if path.is_timed { 0 } else { sum(|order| order.duplicated_frames) };
        let between = sum(|order| order.out_of_order_between_identifiers_frames);
        let arrived = sum(|order| order.arrived_frames);
        let is_known = orders(path).all(|order| order.is_numbered);
        let what =
            format!("{swapped} of {arrived} frames out of order, {between} between identifiers, {doubled} twice");
        let what = if is_known { what } else { format!("{arrived} frames arrived; no byte can number them") };
        figures.push((format!("\"{}\"", path.route), what));
        match (swapped + doubled, is_known) {
            (1.., _) => Verdict::Violated,
            (0, true) => Verdict::Holds,
            (0, false) => Verdict::NotJudged,
        }
    });
    opinion.figures.extend(runs.drivers.iter().map(|driver| {
        let DriverOrder { out_of_order_frames, out_of_order_between_identifiers_frames, received_frames, .. } = driver;
        let what = format!(
            "{out_of_order_frames} of {received_frames} frames out of order, {out_of_order_between_identifiers_frames} between \
             {} identifiers, {} twice",
            driver.identifiers, driver.duplicated_frames
        );
        (format!("driver {}, without a gateway", driver.driver), what)
    }));
    if !drivers.is_empty() && opinion.verdict != Verdict::Violated {
        let names: Vec<_> = drivers.iter().map(|driver| driver.driver.as_str()).collect();
        opinion.verdict = Verdict::Violated;
        opinion.reason = format!("the driver {} changes the order of frames", names.join(", "));
    }
    opinion
}

const fn keeps_order(driver: &DriverOrder) -> bool {
    driver.out_of_order_frames == 0 && driver.duplicated_frames == 0
}

pub(super) fn jitter(subject: Subject<'_>) -> Opinion {
    let Some(runs) = subject.runs else { return Opinion::new(Verdict::NotJudged, By::Nothing, NO_RUNS) };
    let most = i64::try_from(subject.max_jitter.as_nanos()).unwrap_or(i64::MAX);
    let limit = time(u64::try_from(most).unwrap_or_default());
    let good = format!("the gateway changes the distance of two frames by at most {limit}");
    of_paths(runs, &format!("the distance of frames changes by more than {limit}"), good, |path, figures| {
        let Some(run) = &path.jitter else { return Verdict::NotJudged };
        let signed = |ns: i64| time(u64::try_from(ns).unwrap_or_default());
        let what = format!(
            "latency {} to {}, median {}, in {} frames; the distance of two frames changes by at most {}",
            signed(run.min_ns),
            signed(run.max_ns),
            signed(run.p50_ns),
            run.frames,
            signed(run.max_gap_deviation_ns),
        );
        figures.push((format!("\"{}\", every {}", path.route, time(run.period_ns)), what));
        if run.max_gap_deviation_ns <= most { Verdict::Holds } else { Verdict::Violated }
    })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn time(ns: u64) -> String {
    let seconds = seconds(ns);
    if ns >= 1_000_000 { format!("{:.2} ms", seconds * 1e3) } else { format!("{:.1} µs", seconds * 1e6) }
}
