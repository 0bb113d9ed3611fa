use candor_core::frame::{CANFD_BRS, CANFD_ESI, Frame, FrameFormat};

use super::{Answer, Context};
use crate::conformance::volley::Pace;
use crate::conformance::{Bench, Side, Verdict};

/// Every gateway has room for this many.
const AT_ONCE: usize = 16;
const ATTEMPTS: usize = 3;

/// Sends frames and compares those that arrive. Occasional losses, copies and order are judged elsewhere.
pub(super) fn content<B: Bench>(all: &mut Context<'_, '_, B>, side: Side, frames: &[Frame]) -> Answer {
    let mut missing = frames.to_vec();
    let mut changed: Vec<(Frame, Frame)> = Vec::new();
    for attempt in 0..ATTEMPTS {
        let flown = all.volleys.fly(side, &missing, Pace::Bursts(AT_ONCE))?;
        for (sent, copies) in flown.frames.iter().zip(&flown.copies) {
            changed.extend(copies.iter().find(|copy| !is_same(sent, copy)).map(|copy| (*sent, *copy)));
        }
        if attempt > 0 {
            all.retried += flown.order.len();
        }
        let unsent = missing.split_off(flown.frames.len());
        missing = flown.missing().map(|at| flown.frames[at]).chain(unsent).collect();
        if missing.is_empty() {
            break;
        }
    }
    Ok(judge(frames.len(), &missing, &changed))
}

fn judge(all: usize, missing: &[Frame], changed: &[(Frame, Frame)]) -> (Verdict, String) {
    let mut wrong = Vec::new();
    if missing.len() == all {
        wrong.push(format!("none of {all} arrived"));
    } else if let Some(first) = missing.first() {
        wrong.push(format!("{} of {all} did not arrive; first: {first}", missing.len()));
    }
    if let Some((sent, got)) = changed.first() {
        wrong.push(format!("{} of {all} changed; first: {sent} became {got}", changed.len()));
    }
    if wrong.is_empty() { (Verdict::Ok, format!("{all} of {all} as sent")) } else { (Verdict::No, wrong.join("; ")) }
}

/// Whether both are the same on the bus.
fn is_same(sent: &Frame, got: &Frame) -> bool {
    let flags = |frame: &Frame| frame.flags & (CANFD_BRS | CANFD_ESI);
    let payload = |frame: &Frame| if frame.id.is_rtr() { Vec::new() } else { frame.payload().to_vec() };
    sent.format == got.format
        && sent.id == got.id
        && sent.raw_dlc() == got.raw_dlc()
        && (sent.format == FrameFormat::Classic || flags(sent) == flags(got))
        && payload(sent) == payload(got)
}
