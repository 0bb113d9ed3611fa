//! Frames as text.

use std::fmt::Write as _;

use candor_core::frame::{CANFD_BRS, CANFD_ESI, FrameFormat};

use super::decode::{Decoded, Decoder};
use super::error;
use super::frame::Any;
use super::{Bus, Received};
use crate::cmd::explain::signals::SignalView;

const SECOND_NS: i64 = 1_000_000_000;

const NONE: u8 = 0;
const BOLD: u8 = 1;
const DIM: u8 = 2;
const RED: u8 = 31;
/// Of one bus after another: cyan, yellow, green, magenta, blue.
const BUSES: [u8; 5] = [36, 33, 32, 35, 34];

/// Lines for people.
#[derive(Debug)]
pub(super) struct Printer {
    /// Time since the first line in place of that since 1970.
    pub(super) from_zero: bool,
    pub(super) has_colour: bool,
    /// With signals.
    pub(super) decoder: Option<Decoder>,
    /// Letters of the longest name of a bus.
    pub(super) width: usize,
    pub(super) first_ns: Option<i64>,
}

impl Printer {
    /// Appends the line of a frame, and that of its signals.
    pub(super) fn print(&mut self, text: &mut String, bus: &Bus, received: &Received<'_>) {
        let Received { at_ns, number, frame, .. } = received;
        let has_colour = self.has_colour;
        let decodes = self.decoder.is_some();
        let decoded = self.decoder.as_mut().and_then(|decoder| decoder.decode(bus, received));
        let is_error = frame.id().is_err();
        let is_unknown = decodes && decoded.is_none() && !is_error;
        let colour = |text: &mut String, code: u8| {
            if has_colour {
                let _ = write!(text, "\u{1b}[{code}m");
            }
        };
        let next = |text: &mut String, code| {
            // A frame that no database has is dim to its end.
            if !is_unknown {
                colour(text, NONE);
                colour(text, code);
            }
        };
        colour(text, DIM);
        let (digits, since_ns) = match self.from_zero {
            true => (3, *self.first_ns.get_or_insert(*at_ns)),
            false => (10, 0),
        };
        // The clock may have been set.
        stamp(text, (at_ns - since_ns).max(0), digits);
        let (name, width) = (&bus.name, self.width);
        let direction = if received.is_local { "TX" } else { "RX" };
        next(text, BUSES[number % BUSES.len()]);
        let _ = write!(text, "  {name:width$}");
        next(text, NONE);
        let _ = write!(text, "  {direction}");
        next(text, if is_error { RED } else { BOLD });
        let _ = write!(text, "  {:>8}", frame.identifier());
        if !is_error {
            next(text, NONE);
        }
        data(text, frame);
        colour(text, NONE);
        text.push('\n');
        if let Some(Decoded { name, signals, widths }) = decoded {
            let indent = "(.000000)    RX  ".len() + digits + width;
            let _ = write!(text, "{:indent$}", "");
            colour(text, BOLD);
            let _ = write!(text, "{name:>8}");
            colour(text, NONE);
            in_columns(text, &signals, widths);
        }
    }
}

/// A line of a candump log.
pub(super) fn log(text: &mut String, bus: &Bus, received: &Received<'_>) {
    stamp(text, received.at_ns, 10);
    let _ = writeln!(text, " {} {}", bus.interface, received.frame);
}

/// `(1616161616.123456)`.
fn stamp(text: &mut String, ns: i64, digits: usize) {
    let (seconds, micros) = (ns / SECOND_NS, ns % SECOND_NS / 1000);
    let _ = write!(text, "({seconds:0digits$}.{micros:06})");
}

/// Length, bytes and what else a frame has.
fn data(text: &mut String, frame: &Any<'_>) {
    let frame = match frame {
        Any::Can(frame) => frame,
        Any::Xl(xl) => {
            let secured = if xl.is_secured() { " SEC" } else { "" };
            let (len, network, kind, acceptance) = (xl.data.len(), xl.network(), xl.sdu_type, xl.acceptance);
            let _ = write!(text, "  [{len}]  XL VCID {network:02X} SDT {kind:02X} AF {acceptance:08X}{secured}");
            return spaced(text, xl.data);
        }
    };
    let space = if frame.len < 10 { " " } else { "" };
    let _ = write!(text, "  {space}[{}]", frame.len);
    if frame.id.is_rtr() && !frame.id.is_err() {
        text.push_str("  remote request");
    } else {
        spaced(text, frame.payload());
    }
    if frame.format == FrameFormat::Fd {
        text.push_str("  FD");
        for (bit, name) in [(CANFD_BRS, " BRS"), (CANFD_ESI, " ESI")] {
            text.push_str(if frame.flags & bit != 0 { name } else { "" });
        }
    } else if frame.raw_dlc() != frame.len {
        let _ = write!(text, "  DLC {}", frame.raw_dlc());
    }
    if frame.id.is_err() {
        text.push_str("  error: ");
        text.push_str(&error::words(frame));
    }
}

fn spaced(text: &mut String, bytes: &[u8]) {
    let mut space = "  ";
    for byte in bytes {
        let _ = write!(text, "{space}{byte:02X}");
        space = " ";
    }
}

/// Signals in columns that grow.
fn in_columns(text: &mut String, signals: &[SignalView<'_>], widths: &mut [usize]) {
    let mut waiting = 0;
    for signal in signals {
        let width = &mut widths[signal.at];
        let signal = signal.text().replace(char::is_control, "?");
        let letters = signal.chars().count();
        *width = letters.max(*width);
        let _ = write!(text, "{:waiting$}  {signal}", "");
        waiting = *width - letters;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests;
