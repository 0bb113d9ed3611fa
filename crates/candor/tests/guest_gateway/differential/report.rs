//! A failed case, to try by hand: a gateway file, a cangw script, frames.

use std::fmt::Write as _;

use candor_config::engine::UserEngine;
use candor_config::text;
use candor_core::frame::Frame;

use super::case::{Case, INTERFACES};
use super::expected::Difference;
use crate::frames::bytes_of;

pub(super) fn text(case: &Case, difference: &Difference) -> String {
    let mut text = String::new();
    match difference {
        Difference::Frame { burst, bus, at, expected, seen } => {
            let place = format!("on {}, frame {at} of burst {burst}", INTERFACES[*bus]);
            let shown = |frame: &Option<Frame>| frame.as_ref().map_or_else(|| "nothing".to_owned(), show);
            writeln!(text, "{place}:\n  expected {}\n  seen     {}", shown(expected), shown(seen)).unwrap();
        }
        Difference::Counters { job, expected, seen } => {
            writeln!(text, "job {job} counted:\n  expected {expected:?}\n  seen     {seen:?}").unwrap();
        }
        Difference::Dump { job, given, told } => {
            writeln!(text, "job {job} was\n  given {given}\n  listed {told}").unwrap();
        }
    }
    let plan = Case::plan(&case.jobs, UserEngine::PLAINEST);
    for (title, gateway) in [("gateway", text::write(&plan)), ("the same for cangw", text::script(&plan))] {
        writeln!(text, "--- {title}:\n{gateway}").unwrap();
    }
    text.push_str("--- frames:\n");
    for burst in &case.bursts {
        for frame in &burst.frames {
            writeln!(text, "cansend {} {}", INTERFACES[burst.from.0], show(frame)).unwrap();
        }
    }
    text
}

/// In can-utils notation, with the bytes of the kernel if that notation loses information.
fn show(frame: &Frame) -> String {
    let notation = frame.to_string();
    if notation.parse() == Ok(*frame) {
        return notation;
    }
    let hex: String = bytes_of(frame).iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{notation} (incomplete; as struct: {hex})")
}
