//! Modifications of a job, in the fewest operations.
//!
//! The four operations on a field are [combined](Bits). This includes the raw DLC of a classic frame, which `len` and
//! `len8_dlc` preserve between two operations.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::judges;
use super::pool::{Pool, number};
use crate::frame::{CAN_MAX_RAW_DLC, CAN_MTU, CANFD_FDF, CANFD_MAX_DLEN, CANFD_MTU, Frame, FrameFormat, RawId};
use crate::job::{Computed, Job, RealtimeNs, Seen, SendAs};
use crate::rule::{self, Bits, ChecksumSpan, Crc8Profile, Modifications, Verdict, XorChecksum};

/// A change, with what all frames need of it at hand.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// Only identifier and data bytes change, so the frame keeps its layout.
    is_in_place: bool,
    id: Bits<u32>,
    /// Data of classic frames.
    data: Short,
    /// Checks from the first one on that changes frames, and a change before the modifications.
    before: Box<[Computed]>,
    /// The last change.
    after: Option<Computed>,
    whole: Whole,
}

/// Modification shared by one or more jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Whole {
    id: Bits<u32>,
    /// `None` also keeps a stray `len8_dlc`.
    len: Option<Bits<u8>>,
    flags: Bits<u8>,
    computations: Computations,
    send_as: Option<SendAs>,
    xor: Option<XorChecksum>,
    crc8: Option<u32>,
    data: Option<u32>,
    /// Format of the frame after conversion.
    format: FrameFormat,
    is_in_place: bool,
}

/// The place of a job's checks and computed changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Computations {
    start: u32,
    /// Those before the modifications.
    before: u32,
    /// There is a last change.
    after: bool,
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
    /// Data of FD frames.
    long: Box<[Long]>,
    crc8: Box<[Crc8]>,
    tables: Box<[Table]>,
}

/// Changes while they are collected.
#[derive(Debug, Default)]
pub(super) struct ChangePool {
    changes: Pool<Whole>,
    short: Pool<Short>,
    long: Pool<Long>,
    crc8: Pool<Crc8>,
    tables: Pool<Table>,
    computed: Vec<Computed>,
}

impl Change {
    #[inline]
    pub(super) const fn is_in_place(&self) -> bool {
        self.is_in_place
    }
}

impl ChangePool {
    /// The number of a job's change. `None` if the job changes nothing.
    pub(super) fn change_of(&mut self, job: &Job) -> Option<u32> {
        let modifications = &job.modifications;
        if modifications.is_empty() && job.send_as.is_none() && computations(job).next().is_none() {
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
        let changes_length = computations(job).any(Computed::changes_length);
        let is_same_layout = len.is_none() && flags == Bits::<u8>::SAME && job.send_as.is_none() && !changes_length;
        let change = Whole {
            id: modifications.combined(|operand| operand.id).unwrap_or(Bits::<u32>::SAME),
            len,
            flags,
            computations: self.computations_of(job),
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
        let (computed, short) = (self.computed, self.short.finish());
        let change = |whole: &Whole| {
            let Computations { start, before, after } = whole.computations;
            let mut all = computed.iter().skip(start as usize).cloned();
            let data = whole.data.filter(|_| whole.format == FrameFormat::Classic);
            Change {
                is_in_place: whole.is_in_place,
                id: whole.id,
                data: data.and_then(|at| short.get(at as usize).copied()).unwrap_or(Short::SAME),
                before: all.by_ref().take(before as usize).collect(),
                after: all.next().filter(|_| after),
                whole: *whole,
            }
        };
        Changes {
            changes: self.changes.finish().iter().map(change).collect(),
            long: self.long.finish(),
            crc8: self.crc8.finish(),
            tables: self.tables.finish(),
        }
    }

    /// The jobs of a route come one after another and share theirs.
    fn computations_of(&mut self, job: &Job) -> Computations {
        let all: Vec<_> = computations(job).collect();
        let known = self.computed.len().saturating_sub(all.len());
        let last = &self.computed[known..];
        let is_known = last.len() == all.len() && last.iter().zip(&all).all(|(known, one)| known.is(one));
        let start = if is_known { known } else { self.computed.len() };
        if !is_known {
            self.computed.extend(all.iter().map(|one| (*one).clone()));
        }
        let after = job.protected.is_some();
        Computations { start: number(start), before: number(all.len()) - u32::from(after), after }
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

    /// Changes a frame that keeps its layout.
    #[inline(always)]
    pub(super) fn change_in_place<const LEN: usize>(
        &self,
        (change, at): (&Change, RealtimeNs),
        frame: &mut [u8; LEN],
    ) -> Verdict {
        let Some((head, data)) = frame.split_first_chunk_mut::<8>() else { return Verdict::Delete };
        let [a, b, c, d, len, ..] = head;
        let id = RawId(u32::from_ne_bytes([*a, *b, *c, *d]));
        let len = usize::from(*len);
        if let [first, others @ ..] = &*change.before {
            let Some(payload) = data.get_mut(..len) else { return Verdict::Delete };
            let seen = Seen { id, at };
            if first.change(seen, payload) == Verdict::Delete || compute(others, seen, payload) == Verdict::Delete {
                return Verdict::Delete;
            }
        }
        let id = RawId(change.id.on(id.0));
        [*a, *b, *c, *d] = id.0.to_ne_bytes();
        if LEN == CAN_MTU {
            if let Some(word) = data.first_chunk_mut() {
                change.data.on_bytes(word);
            }
        } else if let Some(bits) = self.of(&self.long, change.whole.data) {
            data.as_chunks_mut().0.iter_mut().zip(bits).for_each(|(word, bits)| bits.on_bytes(word));
        }
        match (&change.after, data.get_mut(..len)) {
            (None, _) => Verdict::Send,
            (Some(after), Some(payload)) => after.change(Seen { id, at }, payload),
            (Some(_), None) => Verdict::Delete,
        }
    }

    /// Changes any frame in the kernel's layout. `None` deletes it.
    #[inline(never)]
    pub(super) fn change<'s>(
        &self,
        of: (&Change, RealtimeNs),
        received: &[u8],
        sent: &'s mut [u8; CANFD_MTU],
    ) -> Option<&'s [u8]> {
        let mut frame = Frame::from_kernel(received).ok()?;
        let verdict = self.change_frame(of, &mut frame);
        let len = frame.to_kernel(sent);
        if verdict == Verdict::Send { sent.get(..len) } else { None }
    }

    /// The whole of a change, in the order of can-gw.
    fn change_frame(&self, (change, at): (&Change, RealtimeNs), frame: &mut Frame) -> Verdict {
        for computed in &change.before {
            if computed.change_frame(at, frame) == Verdict::Delete {
                return Verdict::Delete;
            }
        }
        let whole = &change.whole;
        if let Some(send_as) = whole.send_as
            && rule::convert(frame, send_as) == Verdict::Delete
        {
            return Verdict::Delete;
        }
        frame.id = RawId(change.id.on(frame.id.0));
        match whole.format {
            FrameFormat::Classic => {
                if let Some(len) = whole.len {
                    let dlc = len.on(frame.raw_dlc());
                    if dlc > CAN_MAX_RAW_DLC {
                        return Verdict::Delete;
                    }
                    // Raw DLCs from 9 mean 8 bytes.
                    let bytes = dlc.min(8);
                    (frame.len, frame.len8_dlc) = (bytes, if dlc > bytes { dlc } else { 0 });
                }
                frame.data.as_chunks_mut().0.iter_mut().take(1).for_each(|word| change.data.on_bytes(word));
            }
            FrameFormat::Fd => {
                if let Some(len) = whole.len {
                    frame.len = len.on(frame.len);
                    if usize::from(frame.len) > CANFD_MAX_DLEN {
                        return Verdict::Delete;
                    }
                }
                frame.flags = whole.flags.on(frame.flags) | CANFD_FDF;
                if let Some(bits) = self.of(&self.long, whole.data) {
                    frame.data.as_chunks_mut().0.iter_mut().zip(bits).for_each(|(word, bits)| bits.on_bytes(word));
                }
            }
        }
        if let Some(crc8) = self.of(&self.crc8, whole.crc8)
            && let Some(table) = self.tables.get(crc8.table as usize)
        {
            rule::crc8(frame, crc8.span, (crc8.init, crc8.final_xor), &crc8.profile, table);
        }
        if let Some(xor) = whole.xor {
            xor.apply(frame);
        }
        change.after.as_ref().map_or(Verdict::Send, |after| after.change_frame(at, frame))
    }

    fn of<'a, T>(&self, values: &'a [T], number: Option<u32>) -> Option<&'a T> {
        values.get(number? as usize)
    }
}

/// What is computed after the checks of [`judges`].
fn computations(job: &Job) -> impl Iterator<Item = &Computed> {
    job.checks.iter().skip(judges::of(job).len()).chain(&job.computed).chain(&job.protected)
}

/// Runs checks and computed changes until one deletes the frame.
#[inline]
fn compute(computations: &[Computed], seen: Seen, payload: &mut [u8]) -> Verdict {
    for computed in computations {
        if computed.change(seen, payload) == Verdict::Delete {
            return Verdict::Delete;
        }
    }
    Verdict::Send
}
