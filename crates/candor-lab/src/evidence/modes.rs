//! Modes, which lift protection for a time.

use candor_config::plan::{Echo, Mode, ModeFrame};
use candor_config::safety::border::Crossing;
use candor_core::diagnostic::Diagnostic;

use super::{Border, By, Opinion, Subject, Verdict};

const NONE: &str = "the file has no mode: the same routes apply at all times";

/// Only who may start the gateway, or a trusted node, enters a mode.
pub(super) fn switch(subject: Subject<'_>, id: &'static str) -> Opinion {
    let (plan, border) = (subject.border.plan, subject.border);
    if plan.modes().is_empty() {
        return Opinion::new(Verdict::NotJudged, By::File, NONE);
    }
    let entered = plan.modes().iter().filter_map(|mode| Some((mode, mode.enter.as_ref()?)));
    let finding = |(mode, enter): (&Mode, &ModeFrame)| {
        let message = if border.is_untrusted(enter.from) {
            format!("Every node of bus {} can enter mode \"{}\" with a frame", border.bus(enter.from), mode.name)
        } else {
            // candor receives what it sends with echo.
            let brings = |crossing: &&Crossing| {
                let is_heard = border.route(Border::last(crossing)).echo == Echo::On;
                is_heard && crossing.to == enter.from && crossing.sent.has(enter.frame.id)
            };
            let way = border.way(border.inward().find(brings)?);
            format!("Frames from outside can enter mode \"{}\": {way} brings them, with `echo`", mode.name)
        };
        let finding = Diagnostic::error(id, subject.places.mode(&mode.name), message);
        Some(finding.help("remove `enter` and use candor mode, or take a frame that nobody outside can send"))
    };
    let findings: Vec<_> = entered.filter_map(finding).collect();
    let figures = plan.modes().iter().map(|mode| (format!("mode {} lasts", mode.name), format!("{:?}", mode.lasts)));
    let figures = figures.collect();
    let (verdict, reason) = if findings.is_empty() {
        (Verdict::Holds, "no frame of an untrusted bus enters a mode, and each is left after a time")
    } else {
        (Verdict::Violated, "a mode can be entered from an untrusted bus")
    };
    Opinion::new(verdict, By::File, reason).with(figures, findings)
}

/// Every bus on which frames cross is told.
pub(super) fn indication(subject: Subject<'_>, id: &'static str) -> Opinion {
    let (plan, border) = (subject.border.plan, subject.border);
    if plan.modes().is_empty() {
        return Opinion::new(Verdict::NotJudged, By::File, NONE);
    }
    let silent = plan.modes().iter().flat_map(|mode| {
        let is_told = move |bus| mode.announce.as_ref().is_some_and(|announce| announce.to.contains(&bus));
        border.networks().into_iter().filter(move |bus| !is_told(*bus)).map(move |bus| (mode, bus))
    });
    let findings: Vec<_> = silent
        .map(|(mode, bus)| {
            let message = format!("Mode \"{}\" is not announced on bus {}", mode.name, border.bus(bus));
            Diagnostic::error(id, subject.places.mode(&mode.name), message).help("add the bus to `announce`")
        })
        .collect();
    let (verdict, reason) = if findings.is_empty() {
        (Verdict::Holds, "each mode is announced on all buses, and again while it lasts")
    } else {
        (Verdict::Violated, "a bus is not told that a mode lasts")
    };
    Opinion::new(verdict, By::File, reason).with(Vec::new(), findings)
}
