//! [`Spec`] → [`Plan`]: whether every level has a meaning, and which cells that makes.

mod bench;
mod crossing;
mod definitions;
mod levels;
mod logs;
mod stamps;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::experiment::parse::Spec;
use crate::experiment::rules::MOST_SFF_DECOYS;
use crate::experiment::{Available, Cell, Plan, StampSource, code};
use candor_config::config;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_core::frame::{CAN_EFF_FLAG, Frame, RawId};
use candor_core::units::{BitRate, parse_duration};
use definitions::{all_rules, gateways};
pub(super) use levels::Factor;
use levels::Terms;

/// The plan; `None` after saying what is wrong with it.
pub(super) fn plan(spec: &Spec, available: Available<'_>, findings: &mut Findings) -> Option<Plan> {
    let numbers = numbers(spec, findings);
    let gateways = gateways(spec, findings);
    let rules = all_rules(&spec.rules, findings);
    let terms = Terms { available, gateways: gateways.keys().collect(), rules: rules.keys().collect() };
    let repeats = number(spec.repeats.as_ref(), 1, 1..=1000, findings)?;
    let cells = terms.cells(spec, repeats, findings);
    let mut plan = numbers?;
    (plan.gateways, plan.rules, plan.cells) = (gateways, rules, cells?);
    (plan.bench, plan.ssh) = (bench::bench(spec, findings), bench::ssh(spec, findings));
    bench::is_enough(&plan, spec, findings);
    stamps::can_be_had(&plan, spec, findings);
    logs::logs(&mut plan, spec, available, findings);
    too_many_decoys(&plan, spec, findings);
    unused(&plan, spec, findings);
    Some(plan)
}

fn numbers(spec: &Spec, findings: &mut Findings) -> Option<Plan> {
    const MICROSECONDS: fn(u64) -> Duration = Duration::from_micros;
    let frames = number(spec.frames.as_ref(), 10_000, 1..=10_000_000, findings);
    let warm_up = number(spec.warm_up.as_ref(), 500, 0..=1_000_000, findings);
    let cells_per_guest = number(spec.cells_per_guest.as_ref(), 24, 1..=1000, findings);
    let gap_min = time(spec.gap_min.as_ref(), MICROSECONDS(500), findings);
    let gap_max = time(spec.gap_max.as_ref(), MICROSECONDS(1500), findings);
    let lost_after = time(spec.lost_after.as_ref(), Duration::from_secs(1), findings);
    let seed = match spec.seed.as_ref() {
        None => Some(1),
        Some(written) => u64::try_from(written.value).ok().or_else(|| {
            let message = "A seed is not below 0";
            findings
                .report(Diagnostic::error(code::RANGE, written.span.clone(), message).help("any other number will do"));
            None
        }),
    };
    let bitrate = match spec.bitrate.as_ref() {
        None => BitRate::from_bits_per_second(500_000),
        Some(written) => bit_rate(written, findings),
    };
    let stamps = match spec.stamps.as_ref() {
        None => Some(StampSource::default()),
        Some(written) => stamps::source(written, findings),
    };
    let gap = (gap_min?, gap_max?);
    if let Some(written) = spec.gap_max.as_ref().or(spec.gap_min.as_ref())
        && gap.0 > gap.1
    {
        let message = format!("gap-min ({:?}) is longer than gap-max ({:?})", gap.0, gap.1);
        findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help("write both"));
        return None;
    }
    Some(Plan {
        seed: seed?,
        frames: frames?,
        warm_up: warm_up?,
        gap,
        lost_after: lost_after?,
        bitrate: bitrate?,
        stages: spec.stages.as_ref().is_some_and(|written| written.value),
        stamps: stamps?,
        cells_per_guest: cells_per_guest?,
        gateways: BTreeMap::new(),
        rules: BTreeMap::new(),
        logs: BTreeMap::new(),
        bench: None,
        ssh: None,
        cells: Vec::new(),
    })
}

fn number(
    written: Option<&Spanned<i64>>,
    default: u32,
    range: std::ops::RangeInclusive<u32>,
    findings: &mut Findings,
) -> Option<u32> {
    let Some(written) = written else { return Some(default) };
    let number = u32::try_from(written.value).ok().filter(|number| range.contains(number));
    if number.is_none() {
        let message = format!("{} is not from {} to {}", written.value, range.start(), range.end());
        findings.report(
            Diagnostic::error(code::RANGE, written.span.clone(), message)
                .help(format!("without the key it is {default}")),
        );
    }
    number
}

fn bit_rate(written: &Spanned<String>, findings: &mut Findings) -> Option<BitRate> {
    match written.value.parse() {
        Ok(rate) => Some(rate),
        Err(error) => {
            findings.report(
                Diagnostic::error(config::code::BIT_RATE, written.span.clone(), format!("{error}"))
                    .help("write a bit rate with its unit, such as \"500kbit/s\""),
            );
            None
        }
    }
}

fn time(written: Option<&Spanned<String>>, default: Duration, findings: &mut Findings) -> Option<Duration> {
    let Some(written) = written else { return Some(default) };
    match parse_duration(&written.value) {
        Ok(time) => Some(time),
        Err(error) => {
            findings.report(
                Diagnostic::error(config::code::DURATION, written.span.clone(), format!("{error}"))
                    .help("write a time with its unit, such as \"500us\""),
            );
            None
        }
    }
}
/// Eight bytes, of which the first two are the number.
fn default_frame() -> Frame {
    let data = [0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66];
    Frame::classic(RawId(0x123), &data).expect("eight bytes are a frame")
}
fn too_many_decoys(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    for cell in plan.cells() {
        let count = plan.rules(cell).decoys.map_or(0, |decoys| decoys.count);
        if cell.frame.id.0 & CAN_EFF_FLAG == 0 && count > MOST_SFF_DECOYS {
            let written = spec.rules.iter().find(|rules| rules.name.value == cell.rules);
            let span = written.and_then(|rules| rules.decoys.as_ref()).map_or(0..0, |decoys| decoys.span.clone());
            let message = format!("There are not {count} identifiers of 11 bits besides that of {}", cell.frame);
            findings.report(
                Diagnostic::error(code::RULES, span, message)
                    .help(format!("write {MOST_SFF_DECOYS} or less, or a frame of 29 bits")),
            );
            return;
        }
    }
}

fn unused(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let gateways = spec.gateways.iter().map(|written| (&written.name, "gateway"));
    for (name, what) in gateways.chain(spec.rules.iter().map(|written| (&written.name, "rules"))) {
        let uses = |cell: &Cell| if what == "rules" { cell.rules == name.value } else { cell.gateway == name.value };
        // A broken one is not told twice.
        let is_sound = plan.gateways.contains_key(&name.value) || plan.rules.contains_key(&name.value);
        if is_sound && !plan.cells().iter().any(uses) {
            let message = format!("No cell uses the {what} {}", quote(&name.value));
            findings.report(
                Diagnostic::warning(code::UNUSED, name.span.clone(), message)
                    .help(format!("add it to `{what}` below [factor]")),
            );
        }
    }
}
