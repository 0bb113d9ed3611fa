//! The order in which frames leave: across priorities, and within one.

use candor_config::plan::{BusIndex, Queueing};
use candor_core::diagnostic::Diagnostic;
use candor_core::frame::RawId;
use candor_egress::policy::{Outgoing, Policy};

use super::{By, NO_RUNS, Opinion, Subject, Verdict, measured};

/// More identifiers are not compared one by one.
const MOST_IDENTIFIERS: usize = 1 << 14;
/// Payloads of CAN CC and CAN FD, in bytes.
const LENGTHS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];

pub(super) fn inversion(subject: Subject<'_>, id: &'static str) -> Opinion {
    let border = subject.border;
    let (mut figures, mut findings, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for bus in border.targets() {
        let name = border.bus(bus);
        let place = subject.places.egress(&border.plan.bus(bus).name).unwrap_or_else(|| subject.places.bus(bus));
        let error = |message: String| Diagnostic::error(id, place.clone(), message);
        let queue = format!("queue of bus {name}");
        match border.plan.egress().iter().find(|egress| egress.bus == bus).map(|egress| &egress.queueing) {
            None => {
                figures.push((queue, "first in, first out".to_owned()));
                let help = format!("add [egress.{}] with queue = \"arbitration\"", border.plan.bus(bus).name);
                findings
                    .push(error(format!("Frames to bus {name} wait in one queue, whatever their priority")).help(help));
            }
            Some(Queueing::Arbitration { .. }) => {
                figures.push((queue, "order of arbitration (Linux 6.16; bands on older kernels)".to_owned()));
            }
            Some(Queueing::Bands(policy)) => {
                figures.push((queue, format!("{} bands", policy.bands().len())));
                match mixed_bands(subject, bus, policy) {
                    Some(Mixed::TooMany) => unknown.push(name),
                    Some(mixed) => findings.push(
                        error(mixed.words(policy, &name))
                            .help("queue = \"arbitration\" has the order of the bus (Linux 6.16)"),
                    ),
                    None => {}
                }
            }
            Some(Queueing::Tree(_)) => {
                figures.push((queue, "a tree of queueing disciplines".to_owned()));
                unknown.push(name);
            }
        }
    }
    let (verdict, by, reason) = if !findings.is_empty() {
        (Verdict::Violated, By::File, "a frame of low priority can leave before one of higher priority".to_owned())
    } else if unknown.is_empty() {
        (Verdict::Holds, By::File, "frames wait in the order of arbitration".to_owned())
    } else {
        let what = "is a tree, or of too many identifiers; what it does to them is not known";
        (Verdict::NotJudged, By::Nothing, format!("the queue of {} {what}", unknown.join(", ")))
    };
    let opinion = Opinion::new(verdict, by, reason).with(figures, findings);
    match subject.runs {
        Some(runs) => opinion.and(measured::inversion(runs)),
        None => opinion,
    }
}

/// How bands differ from the order of arbitration.
enum Mixed {
    /// A band has two identifiers.
    One(usize, [RawId; 2]),
    /// The second identifier leaves before the first, whose priority is higher.
    Swapped([RawId; 2]),
    TooMany,
}

impl Mixed {
    fn words(&self, policy: &Policy, bus: &str) -> String {
        let name = |band: usize| policy.bands()[band].name.clone();
        match self {
            Self::One(band, ids) => {
                let [one, other] = ids.map(hex);
                format!("In band \"{}\" of bus {bus}, {other} waits for {one} if that came first", name(*band))
            }
            Self::Swapped(ids) => {
                let [urgent, other] = ids.map(hex);
                format!("On bus {bus}, {other} leaves before {urgent}, whose priority is higher")
            }
            Self::TooMany => String::new(),
        }
    }
}

fn hex(id: RawId) -> String {
    if id.is_eff() { format!("{:08X}", id.bits()) } else { format!("{:03X}", id.bits()) }
}

/// The order of arbitration: the lowest value wins.
fn rank(id: RawId) -> (u32, bool, u32) {
    if id.is_eff() { (id.bits() >> 18, true, id.bits() & 0x3_FFFF) } else { (id.bits(), false, 0) }
}

/// Identifiers that cross to a bus, with where they come from; `None` if they are too many.
fn crossing_ids(subject: Subject<'_>, bus: BusIndex) -> Option<Vec<(RawId, BusIndex)>> {
    let mut all = Vec::new();
    for (from, crossing) in subject.border.both_ways().filter(|(_, crossing)| crossing.to == bus) {
        let last = crossing.routes.last().map_or(from, |route| subject.border.route(*route).from);
        all.extend(crossing.sent.identifiers(MOST_IDENTIFIERS)?.into_iter().map(|id| (id, last)));
    }
    all.sort_unstable_by_key(|(id, _)| rank(*id));
    Some(all)
}

fn mixed_bands(subject: Subject<'_>, bus: BusIndex, policy: &Policy) -> Option<Mixed> {
    let Some(ids) = crossing_ids(subject, bus) else { return Some(Mixed::TooMany) };
    let bands = ids.into_iter().map(|(id, from)| (id, policy.band_of(&outgoing(id, 8, from))));
    let bands: Vec<_> = bands.collect();
    bands.windows(2).find_map(|pair| {
        let [(one, above), (other, below)] = [pair[0], pair[1]];
        let shares = |band: usize| policy.bands()[band].share.is_some();
        if one == other || above < below && !(shares(above) && shares(below)) {
            None
        } else if above == below {
            Some(Mixed::One(above, [other, one]))
        } else {
            Some(Mixed::Swapped([one, other]))
        }
    })
}

const fn outgoing(id: RawId, len: u8, from: BusIndex) -> Outgoing<'static> {
    Outgoing { id, len, priority: 0, mark: 0, from: Some(from), groups: &[] }
}

pub(super) fn order(subject: Subject<'_>, id: &'static str) -> Opinion {
    let opinion = by_file(subject, id);
    match subject.runs {
        Some(runs) if opinion.verdict != Verdict::Violated => measured::order(runs),
        Some(runs) => opinion.and(measured::order(runs)),
        None => opinion,
    }
}

/// Bands that separate frames of one identifier change their order.
fn by_file(subject: Subject<'_>, id: &'static str) -> Opinion {
    let border = subject.border;
    let separated = |bus: BusIndex| {
        let egress = border.plan.egress().iter().find(|egress| egress.bus == bus)?;
        let Queueing::Bands(policy) = &egress.queueing else { return None };
        let split = crossing_ids(subject, bus)?.into_iter().find(|(id, from)| {
            let bands = LENGTHS.map(|len| policy.band_of(&outgoing(*id, len, *from)));
            bands.iter().any(|band| *band != bands[0])
        })?;
        let message = format!("Frames {} to bus {} are in several bands", hex(split.0), border.bus(bus));
        let place = subject.places.egress(&border.plan.bus(bus).name).unwrap_or_default();
        let help = "select the frames of bands by identifier, not by length";
        Some(Diagnostic::error(id, place, message).help(help))
    };
    let findings: Vec<_> = border.targets().into_iter().filter_map(separated).collect();
    if findings.is_empty() {
        let reason = format!("nothing in the file changes the order; for the drivers, {NO_RUNS}");
        Opinion::new(Verdict::NotJudged, By::Nothing, reason)
    } else {
        let reason = "frames of one identifier overtake each other in the bands of a queue";
        Opinion::new(Verdict::Violated, By::File, reason).with(Vec::new(), findings)
    }
}

/// Both: in order within a priority, and by priority.
pub(super) fn order_and_priority(subject: Subject<'_>, id: &'static str) -> Opinion {
    inversion(subject, id).and(order(subject, id))
}
