//! Frames as text.

use std::fmt::Write as _;

use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_BRS, CANFD_ESI, FrameFormat};

use super::decode::{Bus, Decoded, Decoder};
use super::error;
use super::frame::Any;
use crate::cli::TimeForm;
use crate::cmd::time_text::utc;

const SECOND_NS: i64 = 1_000_000_000;
/// Digits of an identifier.
const ID_WIDTH: usize = 8;
/// `[64]`.
const LEN_WIDTH: usize = 4;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
/// Of one bus after another.
const BUSES: [&str; 5] = ["36", "33", "32", "35", "34"];

/// A frame and where it was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received<'a> {
    /// Unix time in ns.
    pub(super) at_ns: i64,
    /// A program of this machine sent it.
    pub(super) is_local: bool,
    /// Number of the bus.
    pub(super) number: usize,
    pub(super) frame: Any<'a>,
}

/// Lines for people.
#[derive(Debug)]
pub(super) struct Printer<'d> {
    buses: &'d [Bus],
    time: TimeForm,
    has_colour: bool,
    /// With signals.
    decoder: Option<Decoder<'d>>,
    /// Letters of the longest name of a bus.
    width: usize,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

impl<'d> Printer<'d> {
    pub(super) fn new(buses: &'d [Bus], time: TimeForm, decodes: bool, has_colour: bool) -> Self {
        let width = buses.iter().map(|bus| bus.name.chars().count()).max().unwrap_or_default();
        let decoder = decodes.then(Decoder::default);
        Self { buses, time, has_colour, decoder, width, first_ns: None, last_ns: None }
    }

    /// Appends the line of a frame, and that of its signals.
    pub(super) fn print(&mut self, text: &mut String, received: &Received<'_>) {
        let (bus, frame) = (&self.buses[received.number], &received.frame);
        let time = self.time(received.at_ns);
        let paint = Paint { has_colour: self.has_colour };
        let decoded = self.decoder.as_mut().map(|decoder| decoder.decode(received.number, bus, frame));
        let is_error = frame.id().is_err();
        let direction = if received.is_local { "TX" } else { "RX" };
        let name = format!("{:<width$}", bus.name, width = self.width);
        let id = format!("{:>ID_WIDTH$}", identifier(frame));
        let data = data(frame);
        if let Some(None) = decoded
            && !is_error
        {
            paint.push(text, DIM, &format!("{time}  {name}  {direction}  {id}  {data}"));
            text.push('\n');
            return;
        }
        paint.push(text, DIM, &time);
        text.push_str("  ");
        paint.push(text, BUSES[received.number % BUSES.len()], &name);
        let _ = write!(text, "  {direction}  ");
        if is_error {
            paint.push(text, RED, &format!("{id}  {data}"));
        } else {
            paint.push(text, BOLD, &id);
            let _ = write!(text, "  {data}");
        }
        text.push('\n');
        if let Some(Some(decoded)) = decoded {
            let indent = time.len() + self.width + "    TX".len();
            signals(text, paint, indent, decoded);
        }
    }

    fn time(&mut self, at_ns: i64) -> String {
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        let last_ns = self.last_ns.replace(at_ns).unwrap_or(at_ns);
        match self.time {
            TimeForm::Absolute => stamp(at_ns, 10),
            TimeForm::Date => {
                let date = utc(at_ns.div_euclid(SECOND_NS));
                format!("({}.{:06})", date.trim_end_matches(" UTC"), micros(at_ns))
            }
            // The clock may have been set.
            TimeForm::Delta => stamp((at_ns - last_ns).max(0), 3),
            TimeForm::Zero => stamp((at_ns - first_ns).max(0), 3),
        }
    }
}

/// A line of a candump log.
pub(super) fn log(text: &mut String, bus: &Bus, received: &Received<'_>) {
    let _ = writeln!(text, "{} {} {}", stamp(received.at_ns, 10), bus.interface, received.frame);
}

/// `(1616161616.123456)`.
fn stamp(ns: i64, digits: usize) -> String {
    format!("({:0digits$}.{:06})", ns.div_euclid(SECOND_NS), micros(ns))
}

const fn micros(ns: i64) -> i64 {
    ns.rem_euclid(SECOND_NS) / 1000
}

fn identifier(frame: &Any<'_>) -> String {
    let id = frame.id();
    match id {
        _ if id.is_err() => format!("{:08X}", id.0 & (CAN_ERR_FLAG | CAN_EFF_MASK)),
        _ if id.is_eff() => format!("{:08X}", id.bits()),
        _ => format!("{:03X}", id.bits()),
    }
}

/// Length, bytes and what else a frame has.
fn data(frame: &Any<'_>) -> String {
    let frame = match frame {
        Any::Can(frame) => frame,
        Any::Xl(xl) => {
            let len = format!("[{}]", xl.data.len());
            let secured = if xl.is_secured() { " SEC" } else { "" };
            let (network, sdu_type, acceptance) = (xl.network(), xl.sdu_type, xl.acceptance);
            let head = format!("XL VCID {network:02X} SDT {sdu_type:02X} AF {acceptance:08X}{secured}");
            return format!("{len:>LEN_WIDTH$}  {head}  {}", spaced(xl.data));
        }
    };
    let len = format!("[{}]", frame.len);
    let mut text = format!("{len:>LEN_WIDTH$}");
    let mut part = |part: &str| {
        if !part.is_empty() {
            text += "  ";
            text += part;
        }
    };
    match frame.id.is_rtr() && !frame.id.is_err() {
        true => part("remote request"),
        false => part(&spaced(frame.payload())),
    }
    if frame.format == FrameFormat::Fd {
        let flag = |bit, name| if frame.flags & bit != 0 { name } else { "" };
        part(&format!("FD{}{}", flag(CANFD_BRS, " BRS"), flag(CANFD_ESI, " ESI")));
    } else if frame.raw_dlc() != frame.len {
        part(&format!("DLC {}", frame.raw_dlc()));
    }
    if frame.id.is_err() {
        part(&format!("error: {}", error::words(frame)));
    }
    text
}

fn spaced(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(" ")
}

/// The message, and its signals in columns that grow.
fn signals(text: &mut String, paint: Paint, indent: usize, decoded: Decoded<'_, '_>) {
    let name = decoded.name;
    let _ = write!(text, "{:indent$}  ", "");
    paint.push(text, BOLD, &format!("{name:>ID_WIDTH$}"));
    let mut waiting = 0;
    for (at, signal) in &decoded.signals {
        let signal = signal.text().replace(char::is_control, "?");
        let letters = signal.chars().count();
        let width = &mut decoded.widths[*at];
        *width = letters.max(*width);
        let _ = write!(text, "{:waiting$}  {signal}", "");
        waiting = *width - letters;
    }
    text.push('\n');
}

/// Colours of a terminal.
#[derive(Clone, Copy, Debug)]
struct Paint {
    has_colour: bool,
}

impl Paint {
    fn push(self, text: &mut String, code: &str, what: &str) {
        let _ = match self.has_colour {
            true => write!(text, "\u{1b}[{code}m{what}\u{1b}[0m"),
            false => text.write_str(what),
        };
    }
}

#[cfg(test)]
mod tests;
