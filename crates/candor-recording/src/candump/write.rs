//! Lines of a log.

use std::io::{self, Write};

use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, Frame, FrameFormat};

use crate::stream::WriteRecords;
use crate::{Buses, Counts, Direction, Record};

/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
/// Two hexadecimal digits of each byte.
const BYTES: [[u8; 2]; 256] = pairs(16);
/// Two decimal digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = pairs(10);

const fn pairs<const COUNT: usize>(base: usize) -> [[u8; 2]; COUNT] {
    let mut pairs = [[0; 2]; COUNT];
    let mut at = 0;
    while at < COUNT {
        pairs[at] = [DIGITS[at / base], DIGITS[at % base]];
        at += 1;
    }
    pairs
}

/// Writes a log.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes here.
    pub const fn new(output: W) -> Self {
        Self { output, bytes: Vec::new() }
    }
}

impl<W: Write> WriteRecords for Writer<W> {
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        line(&mut self.bytes, buses.name(record.bus), record);
        if self.bytes.len() >= CHUNK {
            self.output.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Counts> {
        self.output.write_all(&self.bytes)?;
        self.bytes.clear();
        self.output.flush()?;
        Ok(Counts::new())
    }
}

/// Appends the line of a record. Times before 1970 become 0.
pub fn line(bytes: &mut Vec<u8>, interface: &str, record: &Record) {
    let at_ns = record.at_ns.max(0).unsigned_abs();
    let (seconds, ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
    bytes.push(b'(');
    decimal(bytes, seconds, 10);
    bytes.push(b'.');
    if ns % 1000 == 0 {
        decimal(bytes, ns / 1000, 6)
    } else {
        decimal(bytes, ns, 9)
    }
    bytes.extend_from_slice(b") ");
    bytes.extend_from_slice(interface.as_bytes());
    bytes.push(b' ');
    frame(bytes, &record.frame);
    bytes.extend_from_slice(match record.direction {
        Some(Direction::Received) => b" R\n",
        Some(Direction::Sent) => b" T\n",
        None => b"\n",
    });
}

/// As [`Frame`] prints it.
fn frame(bytes: &mut Vec<u8>, frame: &Frame) {
    let (id, is_err) = (frame.id, frame.id.is_err());
    let is_plain = !id.is_rtr() && frame.raw_dlc() == frame.len;
    if !is_plain {
        // Cannot fail: it is memory.
        let _ = write!(bytes, "{frame}");
        return;
    }
    match (is_err, id.is_eff()) {
        (true, _) => hex(bytes, id.0 & (CAN_EFF_MASK | CAN_ERR_FLAG), 8),
        (false, true) => hex(bytes, id.bits(), 8),
        (false, false) => hex(bytes, id.bits(), 3),
    }
    bytes.push(b'#');
    if frame.format == FrameFormat::Fd {
        bytes.push(b'#');
        bytes.push(DIGITS[usize::from(frame.flags & 0xF)]);
    }
    let payload = frame.payload();
    let start = bytes.len();
    bytes.resize(start + 2 * payload.len(), 0);
    for (pair, byte) in bytes[start..].as_chunks_mut::<2>().0.iter_mut().zip(payload) {
        *pair = BYTES[usize::from(*byte)];
    }
}

fn hex(bytes: &mut Vec<u8>, value: u32, digits: usize) {
    let mut text = [0; 8];
    for (at, digit) in text[8 - digits..].iter_mut().rev().enumerate() {
        *digit = DIGITS[(value >> (4 * at) & 0xF) as usize];
    }
    bytes.extend_from_slice(&text[8 - digits..]);
}

/// At least this many digits.
fn decimal(bytes: &mut Vec<u8>, mut value: u64, digits: usize) {
    let mut text = [b'0'; 20];
    let mut at = text.len();
    while value > 0 {
        let [tens, ones] = PAIRS[(value % 100) as usize];
        (text[at - 2], text[at - 1]) = (tens, ones);
        at -= if value < 10 { 1 } else { 2 };
        value /= 100;
    }
    bytes.extend_from_slice(&text[at.min(text.len() - digits)..]);
}
