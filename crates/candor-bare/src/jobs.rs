//! Jobs as bytes, from the process that reads the gateway file to the program without an operating system.
//!
//! All numbers are little-endian. An optional value has a byte before it, 0 or 1.

use alloc::vec::Vec;

use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::{BusIndex, Incoming, Job};
use candor_core::payload::PayloadPattern;
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, XorChecksum};

/// The bytes do not describe jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError;

/// Encodes the jobs for classic frames. What concerns sockets and hops is left out: echo, hop limit, timestamp, uid.
#[must_use]
pub fn encode(jobs: &[Job]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for job in jobs.iter().filter(|job| job.format == FrameFormat::Classic) {
        bytes.push(index(job.from));
        bytes.push(index(job.to));
        bytes.push(u8::from(job.incoming == Incoming::Allowed));
        bytes.extend(job.filter.id.to_le_bytes());
        bytes.extend(job.filter.mask.to_le_bytes());
        for (_, operand) in job.modifications.operands() {
            put_operand(&mut bytes, operand);
        }
        put_checksums(&mut bytes, &job.checksums);
        let patterns = u16::try_from(job.payload.len()).unwrap_or(u16::MAX);
        bytes.extend(patterns.to_le_bytes());
        for pattern in job.payload.iter().take(patterns.into()) {
            bytes.extend(pattern.mask);
            bytes.extend(pattern.value);
        }
    }
    bytes
}

/// The jobs in these bytes.
///
/// # Errors
/// [`DecodeError`]
pub fn decode(bytes: &[u8]) -> Result<Vec<Job>, DecodeError> {
    let mut reader = Reader(bytes);
    let mut jobs = Vec::new();
    while !reader.0.is_empty() {
        jobs.push(reader.job()?);
    }
    Ok(jobs)
}

/// Buses outside the table have no card; such frames are not sent.
fn index(bus: BusIndex) -> u8 {
    u8::try_from(bus.0).unwrap_or(u8::MAX)
}

fn put_operand(bytes: &mut Vec<u8>, operand: &Operand) {
    put(bytes, operand.id.map(u32::to_le_bytes));
    put(bytes, operand.len.map(|len| [len]));
    put(bytes, operand.data);
}

fn put_checksums(bytes: &mut Vec<u8>, checksums: &Checksums) {
    put(bytes, checksums.xor.map(|xor| span(xor.span)));
    if let Some(xor) = checksums.xor {
        bytes.push(xor.init);
    }
    put(bytes, checksums.crc8.map(|crc8| span(crc8.span)));
    let Some(crc8) = checksums.crc8 else { return };
    bytes.extend([crc8.init, crc8.final_xor]);
    bytes.extend(crc8.table);
    match crc8.profile {
        Crc8Profile::None => bytes.push(0),
        Crc8Profile::Byte(byte) => bytes.extend([1, byte]),
        Crc8Profile::ByteByCounter(all) => {
            bytes.push(2);
            bytes.extend(all);
        }
        Crc8Profile::IdXor => bytes.push(3),
    }
}

fn span(span: ChecksumSpan) -> [u8; 3] {
    [span.from, span.to, span.result].map(i8::cast_unsigned)
}

fn put<const N: usize>(bytes: &mut Vec<u8>, value: Option<[u8; N]>) {
    bytes.push(value.is_some().into());
    bytes.extend(value.into_iter().flatten());
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn job(&mut self) -> Result<Job, DecodeError> {
        let [from, to, incoming] = self.take()?;
        let (id, mask) = (u32::from_le_bytes(self.take()?), u32::from_le_bytes(self.take()?));
        let [from, to] = [from, to].map(|bus| BusIndex(bus.into()));
        let mut job = Job::plain(from, to, FrameFormat::Classic, Filter { id, mask });
        if incoming != 0 {
            job.incoming = Incoming::Allowed;
        }
        let [and, or, xor, set] = [self.operand()?, self.operand()?, self.operand()?, self.operand()?];
        job.modifications = Modifications { and, or, xor, set };
        job.checksums = Checksums { xor: self.xor()?, crc8: self.crc8()? };
        for _ in 0..u16::from_le_bytes(self.take()?) {
            job.payload.push(PayloadPattern { mask: self.take()?, value: self.take()? });
        }
        Ok(job)
    }

    fn operand(&mut self) -> Result<Operand, DecodeError> {
        let (id, len) = (self.optional()?, self.optional()?);
        let (id, len) = (id.map(u32::from_le_bytes), len.map(|[len]: [u8; 1]| len));
        Ok(Operand { id, len, flags: None, data: self.optional()? })
    }

    fn xor(&mut self) -> Result<Option<XorChecksum>, DecodeError> {
        let Some(span) = self.span()? else { return Ok(None) };
        let [init] = self.take()?;
        Ok(Some(XorChecksum { span, init }))
    }

    fn crc8(&mut self) -> Result<Option<Crc8Checksum>, DecodeError> {
        let Some(span) = self.span()? else { return Ok(None) };
        let ([init, final_xor], table) = (self.take()?, self.take()?);
        let profile = match self.take()? {
            [0] => Crc8Profile::None,
            [1] => Crc8Profile::Byte(self.take::<1>()?[0]),
            [2] => Crc8Profile::ByteByCounter(self.take()?),
            [3] => Crc8Profile::IdXor,
            _ => return Err(DecodeError),
        };
        Ok(Some(Crc8Checksum { span, init, final_xor, table, profile }))
    }

    fn span(&mut self) -> Result<Option<ChecksumSpan>, DecodeError> {
        let span: Option<[u8; 3]> = self.optional()?;
        Ok(span.map(|bytes| {
            let [from, to, result] = bytes.map(u8::cast_signed);
            ChecksumSpan { from, to, result }
        }))
    }

    fn optional<const N: usize>(&mut self) -> Result<Option<[u8; N]>, DecodeError> {
        match self.take()? {
            [0] => Ok(None),
            [1] => self.take().map(Some),
            _ => Err(DecodeError),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError)?;
        self.0 = rest;
        Ok(*taken)
    }
}
