//! What a flood on untrusted buses can become on trusted ones.

use std::collections::BTreeMap;
use std::time::Duration;

use candor_config::config::Part;
use candor_config::plan::{BusIndex, Route, Timing};
use candor_config::safety::border::{Crossing, KindSet};
use candor_core::diagnostic::Diagnostic;
use candor_egress::policy::LONGEST_CLASSIC_BITS;
use candor_signals::SendMode;
use candor_signals::compose::SendRule;

use super::{Border, By, Opinion, Subject, Verdict, measured};

/// The fastest CAN CC, for buses whose bit rate is not in the file.
const FASTEST_BIT_PER_S: u32 = 1_000_000;
/// Bits of the longest CAN FD frame (64 bytes, 29-bit identifier, all stuff bits) at the nominal and at the data bit rate.
const LONGEST_FD_BITS: [f64; 2] = [55.0, 675.0];
/// One stuff bit after four bits is the most, after the first five.
const STUFFED: f64 = 1.25;
/// Identifiers with limits of their own in a guard, and the state that all others share.
const MOST_STATES: usize = 8192 + 1;

/// The most that crosses in any second.
#[derive(Clone, Copy, Debug)]
struct Bound {
    frames: f64,
    /// Limited bits, which are without stuff bits.
    bits: Option<f64>,
}

pub(super) fn judge(subject: Subject<'_>, id: &'static str) -> Opinion {
    let opinion = limits(subject, id);
    match subject.runs {
        Some(runs) => opinion.and(measured::flood(runs)),
        None => opinion,
    }
}

/// Every way in must have a limit, and all limits together must leave room on the bus.
fn limits(subject: Subject<'_>, id: &'static str) -> Opinion {
    let border = subject.border;
    let (mut figures, mut findings) = (Vec::new(), Vec::new());
    let mut loads: BTreeMap<usize, f64> = BTreeMap::new();
    for crossing in border.inward() {
        let way = border.way(crossing);
        match bound(border, crossing) {
            Some(bound) => {
                *loads.entry(crossing.to.0).or_default() += load(border, crossing.to, bound, &crossing.sent);
                let states = crossing.taken.count(MOST_STATES);
                let ids = if states == 1 { "1 identifier".to_owned() } else { format!("{states} identifiers") };
                figures.push((format!("{way} permits"), format!("at most {} ({ids})", bound.words())));
            }
            None => findings.push(unlimited(subject, id, crossing)),
        }
    }
    for (frame, composed) in border.translations() {
        let what = format!("frame \"{}\"", composed.name);
        match of_send_rule(&composed.composition.send) {
            Some(frames) => {
                let bound = Bound { frames, bits: None };
                *loads.entry(composed.to.0).or_default() += load(border, composed.to, bound, &KindSet::default());
                figures.push((format!("{what} permits"), format!("at most {}", bound.words())));
            }
            None => findings.push(
                Diagnostic::error(id, subject.places.frame(frame), format!("Each signal from outside sends {what}"))
                    .help("send it cyclically (send = \"periodic\"), or limit it with min-delay"),
            ),
        }
    }
    let mut unknown = Vec::new();
    for (bus, load) in loads {
        let bus = BusIndex(bus);
        unknown.extend(border.plan.bus(bus).bitrate.is_none().then(|| border.bus(bus)));
        let percent = format!("{:.1} %", 100.0 * load);
        let rate = match border.plan.bus(bus).bitrate {
            Some(rate) => format!("of {} kbit/s", rate.bits_per_second() / 1000),
            None => "of 1 Mbit/s, the fastest CAN CC, because the file has no bitrate of this bus".to_owned(),
        };
        figures.push((format!("bus {} with all limits used", border.bus(bus)), format!("at most {percent} {rate}")));
        if load >= 1.0 {
            let message =
                format!("All limits together permit more than bus {} carries: {percent} {rate}", border.bus(bus));
            let finding = Diagnostic::error(id, subject.places.bus(bus), message);
            findings.push(
                finding.help("lower the rates, limit whole routes (per = \"route\"), or match fewer identifiers"),
            );
        }
    }
    let (verdict, reason) = match findings.len() {
        0 if !border.is_complete => (Verdict::NotJudged, "the file is too large to follow all its ways".to_owned()),
        0 if !unknown.is_empty() => {
            let of = unknown.join(", ");
            let reason = format!(
                "every way in has a limit that drops frames; whether they leave room, nobody knows without the bitrate of {of} in the file"
            );
            (Verdict::NotJudged, reason)
        }
        0 => (Verdict::Holds, "every way in has a limit that drops frames, and all together leave room".to_owned()),
        _ => (Verdict::Violated, "a flood from outside can fill a trusted bus".to_owned()),
    };
    Opinion::new(verdict, By::File, reason).with(figures, findings)
}

fn unlimited(subject: Subject<'_>, id: &'static str, crossing: &Crossing) -> Diagnostic {
    let border = subject.border;
    let route = crossing.routes[0];
    let only_counts = border.route(route).pace().is_some_and(|pace| !pace.drops());
    let (message, help) = if only_counts {
        let message =
            format!("The guard of {} counts frames beyond its limits, and forwards them", border.way(crossing));
        (message, "write on-violation = \"drop\" in the guard".to_owned())
    } else {
        let message =
            format!("Nothing limits how many frames {} sends to {}", border.way(crossing), border.bus(crossing.to));
        (
            message,
            "add guard = { rate = \"50 frames/s\", on-violation = \"drop\" }, with the rate that it needs".to_owned(),
        )
    };
    Diagnostic::error(id, subject.places.route(route, Part::Guard), message).help(help)
}

/// The tightest limit on the way. `None`: there is none.
fn bound(border: &Border<'_>, crossing: &Crossing) -> Option<Bound> {
    let limits = crossing.routes.iter().filter_map(|route| of_route(border.route(*route), &crossing.taken));
    limits.reduce(|one, other| Bound {
        frames: one.frames.min(other.frames),
        bits: one.bits.into_iter().chain(other.bits).reduce(f64::min),
    })
}

fn of_route(route: &Route, taken: &KindSet) -> Option<Bound> {
    let states = taken.count(MOST_STATES).min(MOST_STATES as u64) as f64;
    let timed = route.timing.as_ref().and_then(of_timing).map(|frames| Bound { frames: frames * states, bits: None });
    let guarded = route.pace().filter(|pace| pace.drops()).and_then(|pace| {
        let limits = pace.limits();
        let states = if pace.is_shared() { 1.0 } else { states };
        // A full bucket, and what comes back in the second.
        let rate = limits.rate.map(|rate| (rate.per_second() + rate.at_once()) as f64);
        let gap = limits.gap.and_then(per_second);
        let bits = limits.bit_rate.map(|rate| (rate.per_second() + rate.at_once()) as f64 * states);
        // The shortest frame without stuff bits has 47 bits.
        let by_bits = bits.map(|bits| bits / 47.0 / states);
        let frames = [rate, gap, by_bits].into_iter().flatten().reduce(f64::min)?;
        Some(Bound { frames: frames * states, bits })
    });
    [timed, guarded].into_iter().flatten().min_by(|one, other| one.frames.total_cmp(&other.frames))
}

fn per_second(interval: Duration) -> Option<f64> {
    (!interval.is_zero()).then(|| 1.0 / interval.as_secs_f64())
}

/// Frames in a second of each identifier.
fn of_timing(timing: &Timing) -> Option<f64> {
    of_send_rule(&timing.composition().send)
}

fn of_send_rule(rule: &SendRule) -> Option<f64> {
    let cyclic = rule.fast.as_ref().map(|fast| fast.cycle).into_iter().chain(rule.cycle).filter_map(per_second);
    let cyclic = cyclic.fold(0.0, f64::max);
    match rule.mode {
        SendMode::None => Some(0.0),
        SendMode::Periodic => Some(cyclic),
        SendMode::Direct => per_second(rule.min_delay),
        SendMode::Mixed => per_second(rule.min_delay).map(|events| events + cyclic),
    }
}

/// The share of a bus that is used, with the longest frames.
fn load(border: &Border<'_>, bus: BusIndex, bound: Bound, sent: &KindSet) -> f64 {
    let bus = border.plan.bus(bus);
    let nominal = bus.bitrate.map_or(FASTEST_BIT_PER_S, |rate| rate.bits_per_second());
    let data = bus.data_bitrate.map_or(nominal, |rate| rate.bits_per_second());
    let classic = LONGEST_CLASSIC_BITS as f64 / f64::from(nominal);
    let fd = LONGEST_FD_BITS[0] / f64::from(nominal) + LONGEST_FD_BITS[1] / f64::from(data);
    let frame = if sent.has_long_frames() { fd.max(classic) } else { classic };
    let by_frames = bound.frames * frame;
    bound.bits.map_or(by_frames, |bits| by_frames.min(bits * STUFFED / f64::from(nominal)))
}

impl Bound {
    fn words(self) -> String {
        let frames = format!("{:.0} frames/s", self.frames.ceil());
        match self.bits {
            Some(bits) => format!("{frames}, {:.1} kbit/s", bits / 1000.0),
            None => frames,
        }
    }
}
