//! Address claims and source addresses of J1939.

use candor_config::config::Part;
use candor_config::safety::Kind;
use candor_config::safety::border::Crossing;
use candor_core::diagnostic::Diagnostic;

use super::{Border, By, Opinion, Subject, Verdict};

/// Extended data page, data page and PDU format of a 29-bit identifier.
const PDU: u32 = 0x03FF_0000;
/// PGN 60928, address claimed, whatever its destination.
///
/// # Source
/// Linux, [`J1939_PGN_ADDRESS_CLAIMED`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/j1939.h).
const ADDRESS_CLAIMED: u32 = 0x00EE_0000;

pub(super) fn claims(subject: Subject<'_>, id: &'static str) -> Opinion {
    let claim = |crossing: &Crossing| {
        let is_guarded = guards_claimed(subject.border, crossing).is_some();
        crossing.sent.extended(PDU, ADDRESS_CLAIMED).filter(|_| !is_guarded)
    };
    let holds = "no route lets an address claim in (PGN 60928)";
    protected(subject, id, claim, holds, "address claims")
}

pub(super) fn addresses(subject: Subject<'_>, id: &'static str) -> Opinion {
    let any = |crossing: &Crossing| {
        let is_guarded = guards_claimed(subject.border, crossing) == Some(true);
        crossing.sent.extended(0, 0).filter(|_| !is_guarded)
    };
    let is_possible = subject.border.inward().any(|crossing| crossing.sent.extended(0, 0).is_some());
    let holds = if is_possible {
        "guards drop 29-bit frames with a source address that a trusted node has claimed"
    } else {
        "no 29-bit frame gets in, so no source address"
    };
    protected(subject, id, any, holds, "frames with any source address")
}

/// Whether the last route of a way drops frames with protected addresses, and then whether it protects all that are claimed.
fn guards_claimed(border: &Border<'_>, crossing: &Crossing) -> Option<bool> {
    let guard = border.route(Border::last(crossing)).claimed().filter(|guard| guard.drops())?;
    Some(guard.learns())
}

/// Frames of such a kind must not cross.
fn protected(
    subject: Subject<'_>,
    id: &'static str,
    found: impl Fn(&Crossing) -> Option<Kind>,
    holds: &str,
    what: &str,
) -> Opinion {
    let border = subject.border;
    let finding = |crossing: &Crossing| {
        let kind = found(crossing)?;
        let message = format!("{} lets {what} in, such as {kind}", capital(&border.way(crossing)));
        let place = subject.places.route(Border::last(crossing), Part::Match);
        let finding = if subject.speaks_j1939 { Diagnostic::error } else { Diagnostic::note };
        let help = "add guard = { j1939 = \"claimed\", on-violation = \"drop\" } to the route, or let no 29-bit identifiers in";
        Some(finding(id, place, message).help(help))
    };
    let findings: Vec<_> = border.inward().filter_map(finding).collect();
    let (verdict, by, reason) = match findings.len() {
        0 if border.is_complete => (Verdict::Holds, By::File, holds.to_owned()),
        0 => (Verdict::NotJudged, By::Nothing, "the file is too large to follow all its ways".to_owned()),
        _ if subject.speaks_j1939 => (Verdict::Violated, By::File, format!("{what} get in")),
        _ => {
            let reason = format!("{what} would get in, if the buses speak J1939 (--j1939)");
            (Verdict::NotJudged, By::Nothing, reason)
        }
    };
    Opinion::new(verdict, by, reason).with(Vec::new(), findings)
}

fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    text.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    text
}

/// candor has no address: only frames that it composes have one.
pub(super) fn own_address(subject: Subject<'_>, id: &'static str) -> Opinion {
    let frames = subject.border.plan.frames().iter().enumerate();
    let composed: Vec<_> = frames.filter(|(_, frame)| frame.id.is_eff()).collect();
    if composed.is_empty() {
        let reason = "the gateway has no address: it claims none, and sends no 29-bit frame of its own";
        return Opinion::new(Verdict::Holds, By::File, reason);
    }
    let finding = |(at, frame): (usize, &candor_config::plan::ComposedFrame)| {
        let message =
            format!("Frame \"{}\" has a 29-bit identifier, whose last byte is a source address in J1939", frame.name);
        Diagnostic::note(id, subject.places.frame(at), message)
    };
    let findings = composed.into_iter().map(finding).collect();
    let reason = "the gateway sends 29-bit frames of its own, and does not defend an address";
    Opinion::new(Verdict::NotJudged, By::File, reason).with(Vec::new(), findings)
}
