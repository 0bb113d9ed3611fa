//! [`Spec`] → [`Plan`]: the meaning of levels, and the cells.

mod crossing;
mod definitions;
mod levels;
mod requirements;

use std::time::Duration;

use super::parse::Spec;
use super::{Available, Plan, code};
use candor_core::diagnostic::Findings;
use candor_core::document::Spanned;
use candor_core::frame::{Frame, RawId};
use candor_core::units::BitRate;

/// `None` if the plan is invalid; the reasons are in `findings`.
pub(super) fn plan(spec: &Spec, available: Available<'_>, findings: &mut Findings) -> Option<Plan> {
    let gateways = definitions::gateways(spec, findings);
    let rules = definitions::all_rules(&spec.rules, findings);
    let terms = levels::Terms {
        kernels: available.kernels,
        gateways: gateways.keys().map(String::as_str).collect(),
        rules: rules.keys().map(String::as_str).collect(),
    };
    let cells = terms.cells(spec, findings);
    let time = |written: &Option<Spanned<Duration>>, us| {
        written.as_ref().map_or_else(|| Duration::from_micros(us), |time| time.value)
    };
    let number = |written: &Option<Spanned<u32>>, default| written.as_ref().map_or(default, |number| number.value);
    let gap = (time(&spec.gap_min, 500), time(&spec.gap_max, 1500));
    if gap.0 > gap.1 {
        let span = spec.gap_max.as_ref().or(spec.gap_min.as_ref()).map_or(0..0, |written| written.span.clone());
        let message = format!("gap-min ({:?}) is longer than gap-max ({:?})", gap.0, gap.1);
        return code::error(findings, code::RANGE, &span, message, "write both");
    }
    let cells = cells.filter(|_| !spec.is_broken)?;
    let mut plan = Plan {
        seed: spec.seed.unwrap_or(1),
        frames: number(&spec.frames, 10_000),
        warm_up: number(&spec.warm_up, 500),
        gap,
        lost_after: time(&spec.lost_after, 1_000_000),
        bitrate: spec.bitrate.as_ref().map_or(BitRate::from_bits_per_second(500_000)?, |rate| rate.value),
        stages: spec.stages.as_ref().is_some_and(|written| written.value),
        stamps: spec.stamps.as_ref().map(|written| written.value).unwrap_or_default(),
        cells_per_guest: number(&spec.cells_per_guest, 24),
        gateways,
        rules,
        logs: Default::default(),
        bench: definitions::bench(spec, findings),
        ssh: definitions::ssh(spec, findings),
        cells,
    };
    requirements::check(&mut plan, spec, available, findings);
    Some(plan)
}

/// Eight bytes; the first two are the sequence number.
fn default_frame() -> Frame {
    let data = [0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66];
    Frame::classic(RawId(0x123), &data).expect("eight bytes are a frame")
}
