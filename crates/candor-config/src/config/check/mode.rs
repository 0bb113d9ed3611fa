//! `[mode.NAME]`: modes, and the routes in them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::{Checks, buses, unknown, value};
use crate::config::code;
use crate::config::spec::{AnnounceSpec, ModeFrameSpec, ModeSpec, RouteSpec, Spec};
use crate::plan::{Announcement, Bus, Mode, ModeFrame, Plan, Route};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::{Named, Table};
use candor_core::document::{Text, quote};
use candor_core::frame::{Frame, FrameFormat};

/// Each mode is checked as a gateway of its own, and has two sockets at most.
const MOST_MODES: usize = 16;
const LASTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
const EVERY: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(60);
/// Interval of the announcement, if the file does not say.
const DEFAULT_EVERY: Duration = Duration::from_secs(1);

/// The modes of a file; `None` after an error.
pub(super) fn modes(spec: &Spec, buses: &[Bus], checks: &Checks<'_>, findings: &mut Findings) -> Option<Vec<Mode>> {
    let errors = findings.errors();
    if let Some(first) = spec.modes.get(MOST_MODES) {
        let message = format!("The file has more than {MOST_MODES} modes");
        findings.error(code::MODE, &first.name.span, message, "run a second candor for the others");
        return None;
    }
    routes_have_modes(spec, findings);
    let modes = spec.modes.iter().map(|written| mode(written, spec, buses, checks, findings)).collect::<Vec<_>>();
    let modes = modes.into_iter().collect::<Option<Vec<_>>>()?;
    frames_differ(spec, &modes, findings);
    (findings.errors() == errors).then_some(modes)
}

/// Reports routes of modes that do not exist, and of sync frames that other modes need.
fn routes_have_modes(spec: &Spec, findings: &mut Findings) {
    let names: Vec<_> = spec.modes.iter().map(|mode| mode.name.value.as_str()).collect();
    for written in spec.routes.iter().filter_map(|route| route.mode.as_ref()) {
        if !names.contains(&written.value.as_str()) && !findings.is_incomplete {
            let help = "add [mode.NAME] with for = \"10min\", or correct the name";
            unknown(code::MODE, "mode", written, &names, help, findings);
        }
    }
    for route in &spec.routes {
        let checks = [route.check.as_ref().map(|check| &check.scheme), route.protect.as_ref().map(|it| &it.scheme)];
        for sync in checks.into_iter().flatten().filter_map(|scheme| scheme.secoc.sync.as_ref()) {
            let named = |other: &&Table<RouteSpec>| other.name.as_ref().is_some_and(|name| name.value == sync.value);
            let source = spec.routes.iter().find(named).and_then(|source| source.mode.as_ref());
            if let Some(source) =
                source.filter(|source| route.mode.as_ref().is_none_or(|own| own.value != source.value))
            {
                let message = format!("The route of the sync frames exists only in mode {}", quote(&source.value));
                let help = format!("write mode = \"{}\" here, too, or remove it there", source.value);
                let finding = Diagnostic::error(code::MODE, sync.span.clone(), message);
                findings.report(finding.also(source.span.clone(), "its mode").help(help));
            }
        }
    }
}

/// `None` after an error.
fn mode(
    written: &Named<ModeSpec>,
    spec: &Spec,
    buses: &[Bus],
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Mode> {
    let Named { name, table } = written;
    let errors = findings.errors();
    buses::name(name, findings);
    if !spec.routes.iter().any(|route| route.mode.as_ref().is_some_and(|mode| mode.value == name.value))
        && !findings.is_incomplete
    {
        let message = format!("No route is in mode {}", quote(&name.value));
        let help = format!("write mode = \"{}\" in a route, or remove the mode", name.value);
        findings.error(code::MODE, &name.span, message, help);
    }
    let lasts = table.lasts.as_ref().and_then(|text| within(text, &LASTS, findings));
    let mut frame = |frame: &Option<Table<ModeFrameSpec>>| match frame {
        Some(frame) => heard(frame, buses, checks, findings).map(Some),
        None => Some(None),
    };
    let (enter, leave) = (frame(&table.enter), frame(&table.leave));
    let announce = match &table.announce {
        Some(announce) => announcement(announce, buses, checks, findings).map(Some),
        None => Some(None),
    };
    let mode = Mode { name: name.value.clone(), lasts: lasts?, enter: enter?, leave: leave?, announce: announce? };
    (!table.is_incomplete && findings.errors() == errors).then_some(mode)
}

fn within(text: &Text, bounds: &RangeInclusive<Duration>, findings: &mut Findings) -> Option<Duration> {
    let time = value::duration(text, findings)?;
    if !bounds.contains(&time) {
        let (least, most) = (bounds.start(), bounds.end());
        let message = format!("The time is outside of {least:?} to {most:?}");
        findings.error(code::MODE, &text.span, message, "write a time between these");
    }
    Some(time)
}

/// `None` after an error.
fn heard(written: &ModeFrameSpec, buses: &[Bus], checks: &Checks<'_>, findings: &mut Findings) -> Option<ModeFrame> {
    let from = checks.buses.index(written.from.as_ref()?, findings);
    let text = written.frame.as_ref()?;
    let frame = frame(text, findings);
    let (from, frame) = (from?, frame?);
    if !frame.id.carries_data() {
        let help = "write a data frame: its payload distinguishes it from others";
        findings.error(code::MODE, &text.span, "A remote frame enters or leaves no mode", help);
    }
    fits(&frame, &buses[from.0], text, findings);
    Some(ModeFrame { from, frame })
}

/// `None` after an error.
fn announcement(
    written: &AnnounceSpec,
    buses: &[Bus],
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Announcement> {
    let errors = findings.errors();
    let mut to = Vec::new();
    for text in written.to.iter().flatten() {
        let Some(bus) = checks.buses.index(text, findings) else { continue };
        if to.contains(&bus) {
            let message = format!("Bus {} is in this list twice", quote(&text.value));
            findings.error(code::MODE, &text.span, message, "remove one of the two");
        }
        to.push(bus);
    }
    let mut sent = |text: &Text| {
        let frame = frame(text, findings)?;
        to.iter().for_each(|bus| fits(&frame, &buses[bus.0], text, findings));
        Some(frame)
    };
    let frame = written.frame.as_ref().and_then(&mut sent);
    let at_end = written.at_end.as_ref().map(&mut sent);
    let every = written.every.as_ref().map_or(Some(DEFAULT_EVERY), |text| within(text, &EVERY, findings));
    if let (true, Some(frame)) = (to.is_empty(), &written.frame)
        && findings.errors() == errors
    {
        findings.error(code::MODE, &frame.span, "The announcement is sent to no bus", "add to = [\"BUS\"]");
    }
    Some(Announcement { to, frame: frame?, every: every?, at_end: at_end.map_or(Some(None), |frame| frame.map(Some))? })
}

fn frame(text: &Text, findings: &mut Findings) -> Option<Frame> {
    let frame: Result<Frame, _> = text.value.parse();
    frame
        .map_err(|wrong| {
            let message = format!("{} is no frame: {wrong}", quote(&text.value));
            findings.error(code::MODE, &text.span, message, "write a frame as for cansend, such as \"7F0#01\"");
        })
        .ok()
}

/// Reports a frame that a bus cannot carry.
fn fits(frame: &Frame, bus: &Bus, text: &Text, findings: &mut Findings) {
    if frame.format == FrameFormat::Fd && bus.bitrate.is_some() && bus.data_bitrate.is_none() {
        let message = format!("Bus {} has no data bit rate, so it carries no FD frame", quote(&bus.name));
        findings.error(code::MODE, &text.span, message, "write a classic frame, or add `data-bitrate` to the bus");
    }
}

/// Reports frames that mean two things.
fn frames_differ(spec: &Spec, modes: &[Mode], findings: &mut Findings) {
    let written = || spec.modes.iter().zip(modes);
    // Each frame that is heard, where it is written, and what it does.
    let mut heard: Vec<(&ModeFrame, &Span, String)> = Vec::new();
    for (table, mode) in written() {
        for (frame, table, verb) in
            [(&mode.enter, &table.table.enter, "enters"), (&mode.leave, &table.table.leave, "leaves")]
        {
            let (Some(frame), Some(text)) = (frame, table.as_ref().and_then(|table| table.frame.as_ref())) else {
                continue;
            };
            if let Some((_, other, does)) = heard.iter().find(|(other, ..)| *other == frame) {
                let message = format!("The frame {verb} mode {}, and {does}", quote(&mode.name));
                let finding = Diagnostic::error(code::MODE, text.span.clone(), message);
                findings.report(finding.also((*other).clone(), "the same frame").help("choose another frame"));
            }
            heard.push((frame, &text.span, format!("{verb} mode {}", quote(&mode.name))));
        }
    }
    for (table, mode) in written() {
        let (Some(announce), Some(table)) = (&mode.announce, &table.table.announce) else { continue };
        let sent = [(Some(&announce.frame), &table.frame), (announce.at_end.as_ref(), &table.at_end)];
        for (frame, text) in sent {
            let (Some(frame), Some(text)) = (frame, text) else { continue };
            let is_heard =
                |(heard, ..): &&(&ModeFrame, _, _)| heard.frame.id == frame.id && announce.to.contains(&heard.from);
            if let Some((_, place, does)) = heard.iter().find(is_heard) {
                let message = format!("The announcement has the identifier of a frame that {does}");
                let finding = Diagnostic::error(code::MODE, text.span.clone(), message);
                findings.report(finding.also((*place).clone(), "this frame").help("choose another identifier"));
            }
        }
    }
}

/// Reports frames of modes that a program takes away before a socket gets them.
pub(super) fn are_heard(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let specs = spec.by_route(plan);
    for (mode, written) in plan.modes().iter().zip(&spec.modes) {
        let frames = [(&mode.enter, &written.table.enter), (&mode.leave, &written.table.leave)];
        for (frame, table) in frames {
            let (Some(frame), Some(text)) = (frame, table.as_ref().and_then(|table| table.frame.as_ref())) else {
                continue;
            };
            let takes = |route: &Route| {
                let mut selections = route.selections.iter();
                route.is_exclusive
                    && route.from == frame.from
                    && selections.any(|selection| selection.filter.normalise().matches(frame.frame.id))
            };
            let Some(at) = plan.routes().iter().position(takes) else { continue };
            let message = format!(
                "Route {} takes this frame away, so that candor does not receive it",
                quote(&plan.routes()[at].name)
            );
            let mut finding = Diagnostic::error(code::MODE, text.span.clone(), message);
            if let Some(exclusive) = specs.get(at).and_then(|route| route.exclusive.as_ref()) {
                finding = finding.also(exclusive.span.clone(), "exclusive");
            }
            findings.report(finding.help("exclude its identifier from the route: deny = [\"…\"]"));
        }
    }
}

/// Warns of a mode that is not announced on every bus of its routes.
pub(super) fn are_announced(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let Some((mode, written)) = plan.mode().and_then(|mode| {
        let written = spec.modes.iter().find(|written| written.name.value == mode.name)?;
        Some((mode, written))
    }) else {
        return;
    };
    let of_mode = plan.routes().iter().filter(|route| route.mode.as_ref() == Some(&mode.name));
    let is_told = |bus| mode.announce.as_ref().is_some_and(|announce| announce.to.contains(&bus));
    let silent: BTreeSet<_> =
        candor_core::order::set(of_mode.flat_map(|route| [route.from, route.to]).filter(|bus| !is_told(*bus)));
    if !silent.is_empty() {
        let names: Vec<_> = silent.iter().map(|bus| quote(&plan.bus(*bus).name).to_string()).collect();
        let noun = if names.len() == 1 { "bus" } else { "buses" };
        let message = format!("Mode {} is not announced on {noun} {}", quote(&mode.name), names.join(", "));
        let place = written.table.announce.as_ref().map_or(&written.name.span, |announce| &announce.span);
        findings.report(
            Diagnostic::warning(code::NOT_ANNOUNCED, place.clone(), message)
                .help("nobody there knows that its routes exist: announce = { to = [\"…\"], frame = \"7F1#01\" }"),
        );
    }
}

#[cfg(test)]
mod tests;
