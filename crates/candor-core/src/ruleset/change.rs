//! Modifications of a job, in the fewest operations.
//!
//! The four operations on a field are [combined](Bits). This includes the raw DLC of a classic frame, which `len` and
//! `len8_dlc` preserve between two operations.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::pool::{Pool, number};
use crate::frame::{CAN_MAX_RAW_DLC, CAN_MTU, CANFD_FDF, CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat, RawId};
use crate::job::{Computed, Job, RealtimeNs, Seen, SendAs};
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
    /// Only identifier and data bytes change, so the frame keeps its layout.
    is_in_place: bool,
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
        let len = modifications.combined(|operand| operand.len);
        let flags = match format {
            FrameFormat::Classic => Bits::<u8>::SAME,
            FrameFormat::Fd => modifications.combined(|operand| operand.flags).unwrap_or(Bits::<u8>::SAME),
        };
        let is_same_layout = len.is_none() && flags == Bits::<u8>::SAME && job.send_as.is_none();
        let change = Change {
            id: modifications.combined(|operand| operand.id).unwrap_or(Bits::<u32>::SAME),
            len,
            flags,
            before: [&job.checked, &job.computed].map(|one| one.as_ref().map(|computed| self.computed(computed))),
            after: job.protected.as_ref().map(|computed| self.computed(computed)),
            send_as: job.send_as,
            xor: checksums.xor,
            crc8: crc8.map(|crc8| self.crc8.number_of(crc8)),
            data: self.data_of(modifications, format),
            format,
            is_in_place: is_same_layout && checksums == rule::Checksums::NONE,
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
    /// The change with this number, if there is one.
    #[inline]
    pub(super) fn numbered(&self, number: u32) -> Option<&Change> {
        self.changes.get(number as usize)
    }

    /// Changes a frame in the kernel's layout. `None` deletes it.
    #[inline]
    pub(super) fn apply<'s>(
        &self,
        change: &Change,
        (received, at): (&[u8], Option<RealtimeNs>),
        sent: &'s mut [u8; CANFD_MTU],
    ) -> Option<&'s [u8]> {
        if !change.is_in_place {
            let mut frame = Frame::from_kernel(received).ok()?;
            let verdict = self.change(change, at, &mut frame);
            let len = frame.to_kernel(sent);
            return if verdict == Verdict::Send { sent.get(..len) } else { None };
        }
        // Arrays, because copies of a constant size need no call.
        let verdict = if let Ok(classic) = <&[u8; CAN_MTU]>::try_from(received) {
            let sent = sent.first_chunk_mut::<CAN_MTU>()?;
            *sent = *classic;
            self.change_in_place((change, at), sent, |data| {
                if let Some(bits) = self.of(&self.short, change.data) {
                    data.as_chunks_mut().0.iter_mut().for_each(|word| bits.on_bytes(word));
                }
            })
        } else {
            *sent = *<&[u8; CANFD_MTU]>::try_from(received).ok()?;
            self.change_in_place((change, at), sent, |data| {
                if let Some(bits) = self.of(&self.long, change.data) {
                    data.as_chunks_mut().0.iter_mut().zip(bits).for_each(|(word, bits)| bits.on_bytes(word));
                }
            })
        };
        if verdict == Verdict::Send { sent.get(..received.len()) } else { None }
    }

    #[inline(always)]
    fn change_in_place(
        &self,
        (change, at): (&Change, Option<RealtimeNs>),
        frame: &mut [u8],
        change_data: impl FnOnce(&mut [u8]),
    ) -> Verdict {
        let Some((head, data)) = frame.split_first_chunk_mut::<8>() else { return Verdict::Delete };
        let [a, b, c, d, len, ..] = head;
        let id = RawId(u32::from_ne_bytes([*a, *b, *c, *d]));
        let len = usize::from(*len);
        for number in change.before.into_iter().flatten() {
            if self.compute(number, Seen { id, at }, data.get_mut(..len)) == Verdict::Delete {
                return Verdict::Delete;
            }
        }
        let id = RawId(change.id.on(id.0));
        [*a, *b, *c, *d] = id.0.to_ne_bytes();
        change_data(data);
        change.after.map_or(Verdict::Send, |number| self.compute(number, Seen { id, at }, data.get_mut(..len)))
    }

    /// The whole of a change, in the order of can-gw.
    #[inline(never)]
    fn change(&self, change: &Change, at: Option<RealtimeNs>, frame: &mut Frame) -> Verdict {
        for number in change.before.into_iter().flatten() {
            if self.compute(number, Seen { id: frame.id, at }, Some(frame.payload_mut())) == Verdict::Delete {
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
        change
            .after
            .map_or(Verdict::Send, |number| self.compute(number, Seen { id: frame.id, at }, Some(frame.payload_mut())))
    }

    #[inline]
    fn compute(&self, number: u32, seen: Seen, payload: Option<&mut [u8]>) -> Verdict {
        match (self.computed.get(number as usize), payload) {
            (Some(computed), Some(payload)) => computed.change(seen, payload),
            _ => Verdict::Delete,
        }
    }

    fn of<'a, T>(&self, values: &'a [T], number: Option<u32>) -> Option<&'a T> {
        values.get(number? as usize)
    }
}
