//! Messages as text.

use std::io::Write as _;

use candor_core::frame::{Frame, FrameFormat};

use super::MAX_MESSAGE_BYTES;
use crate::{Cannot, Stamp, check};

const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_US: u64 = 1_000;

/// Appends the greeting of a server.
pub fn write_hi(bytes: &mut Vec<u8>) {
    bytes.extend(b"< hi >");
}

/// Appends the answer to a command.
pub fn write_ok(bytes: &mut Vec<u8>) {
    bytes.extend(b"< ok >");
}

/// Appends the question whether the server is there, or the answer.
pub fn write_echo(bytes: &mut Vec<u8>) {
    bytes.extend(b"< echo >");
}

/// Appends the request for all frames.
pub fn write_rawmode(bytes: &mut Vec<u8>) {
    bytes.extend(b"< rawmode >");
}

/// Appends the request for a bus.
pub fn write_open(bus: &str, bytes: &mut Vec<u8>) {
    bracketed("open", bus, bytes);
}

/// Appends an error of the server. Characters that a message cannot have are left out, and a long text is cut.
pub fn write_error(text: &str, bytes: &mut Vec<u8>) {
    bracketed("error", text, bytes);
}

fn bracketed(command: &str, text: &str, bytes: &mut Vec<u8>) {
    let is_possible = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'<' | b'>');
    bytes.extend(b"< ");
    bytes.extend(command.as_bytes());
    bytes.push(b' ');
    bytes.extend(text.bytes().filter(is_possible).take(MAX_MESSAGE_BYTES - 2 * b"< ".len() - command.len() - 1));
    bytes.extend(b" >");
}

/// Appends a frame for a server.
///
/// # Errors
/// If the protocol does not have it. Nothing is written then.
pub fn write_send(frame: &Frame, bytes: &mut Vec<u8>) -> Result<(), Cannot> {
    fits(frame)?;
    start("send", frame, bytes);
    push(bytes, format_args!(" {}", frame.len));
    for byte in frame.payload() {
        push(bytes, format_args!(" {byte:x}"));
    }
    bytes.extend(b" >");
    Ok(())
}

/// Appends a frame for a client. Without a stamp, its time is 0. Decimals below microseconds are cut.
///
/// # Errors
/// As [`write_send`].
pub fn write_frame(frame: &Frame, stamp: Option<Stamp>, bytes: &mut Vec<u8>) -> Result<(), Cannot> {
    fits(frame)?;
    start("frame", frame, bytes);
    let ns = stamp.map_or(0, |stamp| stamp.ns);
    push(bytes, format_args!(" {}.{:06} ", ns / NS_PER_S, ns % NS_PER_S / NS_PER_US));
    for byte in frame.payload() {
        push(bytes, format_args!("{byte:02X}"));
    }
    bytes.extend(b" >");
    Ok(())
}

fn fits(frame: &Frame) -> Result<(), Cannot> {
    check::well_formed(frame)?;
    match frame.format {
        FrameFormat::Fd => Err(Cannot::Fd),
        FrameFormat::Classic if frame.id.is_err() => Err(Cannot::ErrorMessage),
        FrameFormat::Classic if frame.id.is_rtr() => Err(Cannot::Remote),
        FrameFormat::Classic if frame.raw_dlc() != frame.len => Err(Cannot::RawDlc),
        FrameFormat::Classic => Ok(()),
    }
}

fn start(command: &str, frame: &Frame, bytes: &mut Vec<u8>) {
    let (id, digits) = (frame.id.bits(), if frame.id.is_eff() { 8 } else { 3 });
    push(bytes, format_args!("< {command} {id:0digits$X}"));
}

fn push(bytes: &mut Vec<u8>, part: std::fmt::Arguments<'_>) {
    // Writing into memory does not fail.
    let _: Result<(), std::io::Error> = bytes.write_fmt(part);
}
