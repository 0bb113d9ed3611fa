//! Hazards of a single route.

use super::change::Change;
use super::cube::{Cube, EFF, ERR, FD, HIGH, RTR};
use super::edges::{Edge, Edges};
use super::{Hazard, Kind, Malformed};
use crate::plan::{Echo, Formats, Plan, Route, RouteIndex, Timestamp};
use candor_core::frame::{CAN_MAX_RAW_DLC, CANFD_MAX_DLEN, FD_LENGTHS, Frame, FrameFormat, RawId};
use candor_core::payload::PayloadPattern;
use candor_core::rule::{self, Verdict};

pub(super) fn find(plan: &Plan, edges: &Edges, hazards: &mut Vec<Hazard>) {
    for (index, route) in plan.routes().iter().enumerate() {
        let (index, edges) = (RouteIndex(index), edges.of_route(RouteIndex(index)));
        let pieces = || edges.iter().flat_map(|edge| edge.well_formed().map(move |cube| (edge, cube)));
        if pieces().next().is_none() {
            hazards.push(Hazard::NoFrame(index));
            continue;
        }
        let is_fd = |(_, cube): (&Edge, Cube)| cube.lowest() & FD != 0;
        fd_on_classic_bus(plan, index, [pieces().all(is_fd), pieces().any(is_fd)], hazards);
        hazards.extend(pieces().find_map(|(edge, cube)| malformed(edge, cube)));
        lengths(route, index, hazards);
        if let Some(limit @ 2..) = route.hop_limit {
            // A frame reaches another job of this machine by the echo, or through a vxcan pair, which forgets the hops.
            let idle = Hazard::HopLimitIsIdle(index);
            let needs = Hazard::NeedsMaxHops { route: index, limit };
            hazards.push(if route.echo == Echo::Off { idle } else { needs });
        }
        if route.timestamp == Timestamp::Kept {
            hazards.push(Hazard::KeepsTimestamp(index));
        }
    }
}

/// A bus with a bit rate and no data bit rate is a bus without CAN FD. `takes_fd`: the route matches only FD frames, and
/// matches any.
fn fd_on_classic_bus(plan: &Plan, index: RouteIndex, takes_fd: [bool; 2], hazards: &mut Vec<Hazard>) {
    let route = plan.route(index);
    let [only_fd, some_fd] = takes_fd;
    let is_classic = |bus| plan.bus(bus).bitrate.is_some() && plan.bus(bus).data_bitrate.is_none();
    // On a bus without bit rates, only a route for FD frames implies that there are FD frames.
    let fd_comes = only_fd || some_fd && plan.bus(route.from).data_bitrate.is_some();
    let fd_goes = route.send_as.map_or(fd_comes, |send_as| send_as.format() == FrameFormat::Fd);
    if only_fd && is_classic(route.from) {
        hazards.push(Hazard::FdFromClassicBus(index));
    }
    if fd_goes && is_classic(route.to) {
        hazards.push(Hazard::FdToClassicBus(index));
    }
}

/// The first kind of frame that a route changes into one that is not valid on a bus.
fn malformed(edge: &Edge, cube: Cube) -> Option<Hazard> {
    if edge.change == Change::NONE {
        return None;
    }
    let image = edge.change.image(cube);
    let high_bits = || (0..u32::BITS).map(|bit| HIGH & 1 << bit).filter(|&bit| bit != 0);
    let of_format =
        |fd: u64| high_bits().map(move |bit| (Cube::new(FD | EFF | ERR | bit, fd | bit), Malformed::HighBits));
    let fd_remote = (Cube::new(FD | RTR | ERR, FD | RTR), Malformed::RemoteFd);
    let error = (Cube::new(ERR, ERR), Malformed::Error);
    // Error message frames have a warning of their own.
    let kinds = of_format(0).chain(of_format(FD)).chain([fd_remote, error]);
    kinds.filter(|_| cube.lowest() & ERR == 0).find_map(|(wrong, what)| {
        let taken = edge.change.preimage(image.intersect(wrong)?)?.intersect(cube)?.lowest();
        let sent = Kind::from_bits(edge.change.on(taken));
        Some(Hazard::MalformedId { route: edge.route, taken: Kind::from_bits(taken), sent, what })
    })
}

fn lengths(route: &Route, index: RouteIndex, hazards: &mut Vec<Hazard>) {
    if route.modifications.operands().iter().all(|(_, operand)| operand.len.is_none()) {
        return;
    }
    let (takes_classic, takes_fd) = match route.formats {
        Formats::Any => (true, true),
        Formats::Xl => (false, false),
        Formats::Only(format) => (format == FrameFormat::Classic, format == FrameFormat::Fd),
    };
    let classic = takes_classic.then_some(FrameFormat::Classic);
    let compared = route.payload.iter().map(PayloadPattern::bytes).min().unwrap_or(0);
    let come = classic.into_iter().chain(takes_fd.then_some(FrameFormat::Fd)).flat_map(frames);
    let come = come.filter(|frame| usize::from(frame.len) >= compared);
    let (mut comes, mut deleted, mut odd) = (0, Vec::new(), None);
    for frame in come {
        let mut sent = frame;
        if route.send_as.is_some_and(|send_as| rule::convert(&mut sent, send_as) == Verdict::Delete) {
            continue;
        }
        comes += 1;
        let came = sent.len;
        match rule::change(&mut sent, &route.modifications, &route.checksums) {
            Verdict::Delete => deleted.push((came, sent.len)),
            Verdict::Send if sent.format == FrameFormat::Fd && !FD_LENGTHS.contains(&sent.len) => {
                odd = odd.or(Some((came, sent.len)));
            }
            Verdict::Send => {}
        }
    }
    if let Some(&(came, becomes)) = deleted.first() {
        let is_all = deleted.len() == comes;
        hazards.push(Hazard::LengthDeletes { route: index, came, becomes, is_all });
    }
    if let Some((came, becomes)) = odd {
        hazards.push(Hazard::OddLength { route: index, came, becomes });
    }
}

/// A frame of each length of a format, classic ones of each raw DLC.
fn frames(format: FrameFormat) -> Vec<Frame> {
    let frame = |len, len8_dlc| Frame { format, id: RawId(0), len, len8_dlc, flags: 0, data: [0; CANFD_MAX_DLEN] };
    match format {
        FrameFormat::Classic => {
            (0..=CAN_MAX_RAW_DLC).map(|dlc| if dlc <= 8 { frame(dlc, 0) } else { frame(8, dlc) }).collect()
        }
        FrameFormat::Fd => FD_LENGTHS.into_iter().map(|len| frame(len, 0)).collect(),
    }
}

#[cfg(test)]
mod tests;
