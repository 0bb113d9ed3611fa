//! Identifiers of trusted nodes, sent on untrusted buses.

use std::path::Path;

use candor_config::plan::{BusIndex, Plan, RouteIndex};
use candor_core::frame::Frame;
use candor_lab::border::Spoofed;
use candor_lab::border::example::Forwarder;
use candor_lab::border::identifiers;
use candor_lab::device::{Device, Gateway};

use super::super::method::{self, Failed};
use super::Failure;
use super::traffic::{self, Due, On};
use super::way::id_text;

/// Frames of each identifier.
const FRAMES: usize = 3;
/// Between two frames, so that limits of rate let them pass. Less if there are many identifiers.
const PERIOD_NS: i64 = 50_000_000;
const MOST_NS: i64 = 4_000_000_000;

pub(super) fn measure(file: &Path, plan: &Plan, untrusted: &[BusIndex]) -> Result<Vec<Spoofed>, Failure> {
    let all = (0..plan.buses().len()).map(BusIndex);
    let mut spoofed = Vec::new();
    for to in all.filter(|bus| !untrusted.contains(bus)) {
        for from in untrusted {
            spoofed.extend(between(file, plan, *from, to)?);
        }
    }
    Ok(spoofed)
}

fn between(file: &Path, plan: &Plan, from: BusIndex, to: BusIndex) -> Result<Vec<Spoofed>, Failure> {
    let known = identifiers::trusted(plan, to, from);
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let routes = plan.routes().iter().enumerate().filter(|(_, route)| (route.from, route.to) == (from, to));
    let forwarders: Vec<_> = routes.map(|(number, _)| Forwarder::new(plan, RouteIndex(number))).collect();
    // A frame that is forwarded, if there is one.
    let frame = |plain: &Frame| forwarders.iter().find_map(|of| of.with_id(plain.id)).unwrap_or(*plain);
    let frames: Vec<Frame> = known.iter().flat_map(|one| [frame(&one.frame); FRAMES]).collect();
    let period = PERIOD_NS.min(MOST_NS / i64::try_from(frames.len())?);
    let schedule =
        frames.iter().zip(0..).map(|(frame, number)| Due { at_ns: number * period, on: On::Untrusted, frame: *frame });
    let schedule: Vec<Due> = schedule.collect();
    let _interfaces = method::create(plan.buses().iter().map(|bus| &bus.interface))?;
    let names = (plan.bus(from).interface.as_str(), plan.bus(to).interface.as_str());
    let passed = method::as_tester(|| {
        let running = Device::start(&std::env::current_exe()?, &Gateway::of_file(file))?;
        let passed = traffic::play(names, &schedule)?;
        running.stop()?;
        Ok::<_, Failed>(passed)
    })?;
    let composed = |frame: &Frame| plan.frames().iter().any(|own| own.to == to && own.id == frame.id);
    let of = |(one, sent): (identifiers::Trusted, &Frame)| {
        let leaves = forwarders.iter().find_map(|of| of.forward(sent)).unwrap_or(*sent);
        // The gateway itself sends frames that it composes.
        let is_one = |seen: &Frame| seen.id == sent.id && (!composed(sent) || *seen == leaves);
        Spoofed {
            bus: plan.bus(to).name.clone(),
            from: plan.bus(from).name.clone(),
            identifier_hex: id_text(one.frame.id),
            known_from: one.known_from,
            sent_frames: FRAMES as u64,
            arrived_frames: passed.left.iter().filter(|seen| is_one(&seen.frame)).count() as u64,
        }
    };
    Ok(known.into_iter().zip(frames.iter().step_by(FRAMES)).map(of).collect())
}
