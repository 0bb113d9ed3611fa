//! What is valid and perhaps not meant.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::config::check::Checked;
use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings, Span};
use crate::config::parse::quote;
use crate::config::spec::{Spanned, Spec};
use crate::filter::{CAN_INV_FILTER, Filter};
use crate::frame::{CAN_RTR_FLAG, FrameFormat};
use crate::payload::PayloadPattern;
use crate::plan::{BusIndex, Route, Selection, SendAs};
use crate::rule::{Checksums, Modifications, Operand};

pub(super) fn filter(written: &Spanned<String>, filter: Filter, findings: &mut Findings) {
    if filter.is_loose() {
        let (is_inverted, compares_remote) = (filter.id & CAN_INV_FILTER != 0, filter.mask & CAN_RTR_FLAG != 0);
        let does = if is_inverted { "holds back" } else { "takes" };
        let remote = if compares_remote { "" } else { ", and remote frames" };
        let kind = if compares_remote && filter.id & CAN_RTR_FLAG != 0 { "remote" } else { "data" };
        let only = if is_inverted {
            format!("to hold back {kind} frames of one format only")
        } else {
            format!("for {kind} frames of one format")
        };
        let message = format!("Filter {} {does} 11-bit and 29-bit frames{remote}", quote(&written.value));
        findings.report(
            Diagnostic::warning(code::LOOSE_FILTER, written.span.clone(), message)
                .label("the mask does not compare the format")
                .help(format!("{only} write \"{}\"", filter.tightened())),
        );
    }
    if filter.id & CAN_INV_FILTER != 0 && filter.mask == 0 {
        findings.report(
            Diagnostic::warning(code::NEVER_MATCHES, written.span.clone(), "No frame passes this filter")
                .label("everything but everything")
                .help("leave `match` out for every frame"),
        );
    }
}

pub(super) fn unused_buses(spec: &Spec, findings: &mut Findings) {
    if findings.torn {
        return;
    }
    let mut used = HashSet::new();
    for route in &spec.routes {
        let (Some(from), Some(to)) = (&route.from, &route.to) else { return };
        used.extend([from.value.as_str(), to.value.as_str()]);
    }
    let has_routes = !used.is_empty();
    for bus in &spec.buses {
        if let Some(peer) = &bus.vxcan_peer {
            used.extend([bus.name.value.as_str(), peer.value.as_str()]);
        }
    }
    // A route with an unknown end may be meant for any of them, and without routes the file has a greater problem.
    let known: HashSet<_> = spec.buses.iter().map(|bus| bus.name.value.as_str()).collect();
    if !has_routes || !used.is_subset(&known) {
        return;
    }
    for bus in spec.buses.iter().filter(|bus| !used.contains(bus.name.value.as_str())) {
        let message = format!("No route leads from or to bus {}", quote(&bus.name.value));
        findings.report(
            Diagnostic::warning(code::UNUSED_BUS, bus.name.span.clone(), message)
                .help("candor leaves its interface alone; add a route, or remove the bus"),
        );
    }
}

/// Frames that say something of their own bus, on their way to another one.
pub(super) fn error_frames(place: &Span, findings: &mut Findings) {
    let message = "Error message frames are sent on as they are";
    findings.report(
        Diagnostic::warning(code::ERROR_FRAMES, place.clone(), message)
            .label("drivers report errors of their own bus by them")
            .help("on the other bus they look like errors there; what a controller does with one to send is up to its driver"),
    );
}

pub(super) fn same_routes(spec: &Spec, routes: &[Checked], findings: &mut Findings) {
    let mut flows: Vec<(u64, usize, Flow<'_>)> = Vec::with_capacity(2 * routes.len());
    for (index, route) in
        routes.iter().enumerate().filter_map(|(index, checked)| Some((index, checked.route.as_ref()?)))
    {
        flows.extend(route.formats.list().iter().map(|&format| {
            let flow = Flow::of(route, format);
            (flow.digest(), index, flow)
        }));
    }
    flows.sort_unstable_by_key(|&(digest, index, _)| (digest, index));
    let mut repeated = BTreeMap::new();
    for alike in flows.chunk_by(|one, other| one.0 == other.0).filter(|alike| alike.len() > 1) {
        // More than one only if two digests agree by chance.
        let mut different: Vec<&(u64, usize, Flow<'_>)> = Vec::new();
        for flow in alike {
            match different.iter().find(|other| other.2 == flow.2) {
                Some(first) => {
                    repeated.entry(flow.1).or_insert(first.1);
                }
                None => different.push(flow),
            }
        }
    }
    let header = |index: usize| spec.routes[routes[index].spec].header.clone();
    for (index, first) in repeated {
        let message = "This route repeats another: every frame that passes is sent twice";
        findings.report(
            Diagnostic::warning(code::SAME_ROUTE, header(index), message)
                .also(header(first), "first here")
                .help("the kernel does not notice either; remove one of the two"),
        );
    }
}

/// What a route does to frames of one format.
#[derive(PartialEq, Eq, Hash)]
struct Flow<'r> {
    ends: (BusIndex, BusIndex, FrameFormat),
    selections: &'r [Selection],
    payload: &'r [PayloadPattern],
    send_as: Option<SendAs>,
    change: Change<'r>,
}

/// Compared by what it does to frames of one format: what stands behind the end of their data makes no difference.
struct Change<'r> {
    modifications: &'r Modifications,
    checksums: &'r Checksums,
    room: usize,
}

impl<'r> Flow<'r> {
    fn of(route: &'r Route, format: FrameFormat) -> Self {
        let send_as = route.send_as.filter(|send_as| send_as.format() != format);
        let room = send_as.map_or(format, SendAs::format).max_len();
        Self {
            ends: (route.from, route.to, format),
            selections: &route.selections,
            payload: &route.payload,
            send_as,
            change: Change { modifications: &route.modifications, checksums: &route.checksums, room },
        }
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl Change<'_> {
    fn operands(&self) -> [(&Operand, Option<&[u8]>); 4] {
        self.modifications
            .operands()
            .map(|(_, operand)| (operand, operand.data.as_ref().map(|data| &data[..self.room])))
    }
}

impl PartialEq for Change<'_> {
    fn eq(&self, other: &Self) -> bool {
        let fields = |operand: &Operand| (operand.id, operand.len, operand.flags);
        let same = |((one, data), (other, other_data)): ((&Operand, Option<&[u8]>), (&Operand, Option<&[u8]>))| {
            fields(one) == fields(other) && data == other_data
        };
        self.checksums == other.checksums && self.operands().into_iter().zip(other.operands()).all(same)
    }
}

impl Eq for Change<'_> {}

impl Hash for Change<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (operand, data) in self.operands() {
            (operand.id, operand.len, operand.flags, data).hash(state);
        }
        self.checksums.hash(state);
    }
}
