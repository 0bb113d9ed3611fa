//! Modifications of a job, in the fewest operations.
//!
//! The four operations on a field are [combined](Bits). This includes the raw DLC of a classic frame, which `len` and
//! `len8_dlc` preserve between two operations.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::pool::{Pool, number};
use crate::frame::{CAN_MAX_RAW_DLC, CANFD_FDF, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};
use crate::job::{Computed, Job, SendAs};
use crate::rule::{self, Bits, ChecksumSpan, Crc8Profile, Modifications, Verdict, XorChecksum};

/// Modification shared by one or more jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Change {
    id: Bits<u32>,
    /// `None` also keeps a stray `len8_dlc`.
    len: Option<Bits<u8>>,
    flags: Bits<u8>,
    /// A check, and a change.
    before: [Option<u32>; 2],
    /// The last change.
    after: Option<u32>,
    send_as: Option<SendAs>,
    xor: Option<XorChecksum>,
    crc8: Option<u32>,
    data: Option<u32>,
    /// Format of the frame after conversion.
    format: FrameFormat,
}

/// Data bytes in words of 8.
type Short = Bits<u64>;
type Long = [Bits<u64>; CANFD_MAX_DLEN / 8];
type Table = [u8; 256];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Crc8 {
    span: ChecksumSpan,
    init: u8,
    final_xor: u8,
    profile: Crc8Profile,
    table: u32,
}

/// All changes of a rule set.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    changes: Box<[Change]>,
    /// Data of classic frames.
    short: Box<[Short]>,
    /// Data of FD frames.
    long: Box<[Long]>,
    crc8: Box<[Crc8]>,
    tables: Box<[Table]>,
    computed: Box<[Computed]>,
}

/// Changes while they are collected.
#[derive(Debug, Default)]
pub(super) struct ChangePool {
    changes: Pool<Change>,
    short: Pool<Short>,
    long: Pool<Long>,
    crc8: Pool<Crc8>,
    tables: Pool<Table>,
    computed: Vec<Computed>,
}

impl ChangePool {
    /// The number of a job's change. `None` if the job changes nothing.
    pub(super) fn change_of(&mut self, job: &Job) -> Option<u32> {
        let modifications = &job.modifications;
        if modifications.is_empty() && job.send_as.is_none() && !job.is_computed() {
            return None;
        }
        let format = job.leaves_as();
        // Without a modification checksums are not computed.
        let checksums = if modifications.is_empty() { rule::Checksums::NONE } else { job.checksums };
        let crc8 = checksums.crc8.map(|crc8| Crc8 {
            span: crc8.span,
            init: crc8.init,
            final_xor: crc8.final_xor,
            profile: crc8.profile,
            table: self.tables.number_of(crc8.table),
        });
        let change = Change {
            id: modifications.combined(|operand| operand.id).unwrap_or(Bits::<u32>::SAME),
            len: modifications.combined(|operand| operand.len),
            flags: match format {
                FrameFormat::Classic => Bits::<u8>::SAME,
                FrameFormat::Fd => modifications.combined(|operand| operand.flags).unwrap_or(Bits::<u8>::SAME),
            },
            before: [&job.checked, &job.computed].map(|one| one.as_ref().map(|computed| self.computed(computed))),
            after: job.protected.as_ref().map(|computed| self.computed(computed)),
            send_as: job.send_as,
            xor: checksums.xor,
            crc8: crc8.map(|crc8| self.crc8.number_of(crc8)),
            data: self.data_of(modifications, format),
            format,
        };
        Some(self.changes.number_of(change))
    }

    pub(super) fn finish(self) -> Changes {
        Changes {
            changes: self.changes.finish(),
            short: self.short.finish(),
            long: self.long.finish(),
            crc8: self.crc8.finish(),
            tables: self.tables.finish(),
            computed: self.computed.into(),
        }
    }

    /// The number of a computed change. The jobs of a route come one after another, and each has at most three.
    fn computed(&mut self, computed: &Computed) -> u32 {
        let start = self.computed.len().saturating_sub(3);
        let known = self.computed[start..].iter().position(|known| known.is(computed));
        let at = known.map_or(self.computed.len(), |at| start + at);
        if at == self.computed.len() {
            self.computed.push(computed.clone());
        }
        number(at)
    }

    fn data_of(&mut self, modifications: &Modifications, format: FrameFormat) -> Option<u32> {
        let words: Long = modifications.data_words();
        match format {
            _ if words == [Bits::<u64>::SAME; 8] => None,
            FrameFormat::Classic => Some(self.short.number_of(words[0])),
            FrameFormat::Fd => Some(self.long.number_of(words)),
        }
    }
}

impl Changes {
    /// Changes a frame. An unknown number changes nothing.
    pub(super) fn apply(&self, number: u32, frame: &mut Frame) -> Verdict {
        let Some(change) = self.changes.get(number as usize) else { return Verdict::Send };
        for number in change.before.into_iter().flatten() {
            if self.compute(number, frame) == Verdict::Delete {
                return Verdict::Delete;
            }
        }
        if let Some(send_as) = change.send_as
            && rule::convert(frame, send_as) == Verdict::Delete
        {
            return Verdict::Delete;
        }
        frame.id = RawId(change.id.on(frame.id.0));
        match change.format {
            FrameFormat::Classic => {
                if let Some(len) = change.len {
                    let dlc = len.on(frame.raw_dlc());
                    if dlc > CAN_MAX_RAW_DLC {
                        return Verdict::Delete;
                    }
                    // Raw DLCs from 9 mean 8 bytes.
                    let bytes = dlc.min(8);
                    (frame.len, frame.len8_dlc) = (bytes, if dlc > bytes { dlc } else { 0 });
                }
                if let Some(bits) = self.of(&self.short, change.data) {
                    frame.data.as_chunks_mut().0.iter_mut().take(1).for_each(|word| bits.on_bytes(word));
                }
            }
            FrameFormat::Fd => {
                if let Some(len) = change.len {
                    frame.len = len.on(frame.len);
                    if usize::from(frame.len) > CANFD_MAX_DLEN {
                        return Verdict::Delete;
                    }
                }
                frame.flags = change.flags.on(frame.flags) | CANFD_FDF;
                if let Some(bits) = self.of(&self.long, change.data) {
                    frame.data.as_chunks_mut().0.iter_mut().zip(bits).for_each(|(word, bits)| bits.on_bytes(word));
                }
            }
        }
        if let Some(crc8) = self.of(&self.crc8, change.crc8)
            && let Some(table) = self.tables.get(crc8.table as usize)
        {
            rule::crc8(frame, crc8.span, (crc8.init, crc8.final_xor), &crc8.profile, table);
        }
        if let Some(xor) = change.xor {
            xor.apply(frame);
        }
        change.after.map_or(Verdict::Send, |number| self.compute(number, frame))
    }

    fn compute(&self, number: u32, frame: &mut Frame) -> Verdict {
        self.computed.get(number as usize).map_or(Verdict::Send, |computed| computed.change(frame))
    }

    fn of<'a, T>(&self, values: &'a [T], number: Option<u32>) -> Option<&'a T> {
        values.get(number? as usize)
    }
}
