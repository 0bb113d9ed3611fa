//! Modifications of one job, one field and one operation after another.
//!
//! This duplicates `rule`, which gateways run, on purpose: tests compare the two.

use crate::frame::{CAN_ERR_FLAG, CAN_RTR_FLAG, CANFD_BRS, CANFD_FDF, Frame, FrameFormat, RawId};
use crate::job::{Job, SendAs};
use crate::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, Operand, Operation, Verdict, XorChecksum};

/// Applies the job to a frame that it accepts. After [`Verdict::Delete`] the frame is as it was when it was deleted.
pub(super) fn apply(job: &Job, received: &Frame) -> (Frame, Verdict) {
    let mut frame = *received;
    // The steps without a duplicate here: the tests of `candor-signals` and `candor-e2e` compare them with others.
    for computed in [&job.checked, &job.computed].into_iter().flatten() {
        if computed.change(&mut frame) == Verdict::Delete {
            return (frame, Verdict::Delete);
        }
    }
    let mut verdict = Verdict::Send;
    if let Some(send_as) = job.send_as {
        match converted(&frame, send_as) {
            Some(converted) => frame = converted,
            None => verdict = Verdict::Delete,
        }
    }
    // Length check and checksums need at least one active modification.
    if verdict == Verdict::Send && !job.modifications.is_empty() {
        modify(&mut frame, Operation::And, &job.modifications.and);
        modify(&mut frame, Operation::Or, &job.modifications.or);
        modify(&mut frame, Operation::Xor, &job.modifications.xor);
        modify(&mut frame, Operation::Set, &job.modifications.set);
        if usize::from(frame.len) > frame.format.max_len() {
            verdict = Verdict::Delete;
        } else {
            if let Some(checksum) = &job.checksums.crc8 {
                crc8(&mut frame, checksum);
            }
            if let Some(checksum) = &job.checksums.xor {
                xor(&mut frame, checksum);
            }
        }
    }
    if let (Verdict::Send, Some(protected)) = (verdict, &job.protected) {
        verdict = protected.change(&mut frame);
    }
    // can_send() marks every FD frame.
    if frame.format == FrameFormat::Fd {
        frame.flags |= CANFD_FDF;
    }
    (frame, verdict)
}

/// The same identifier and payload in another format, if that can carry them. can-gw does not convert.
fn converted(received: &Frame, send_as: SendAs) -> Option<Frame> {
    let (id, payload) = (received.id, received.payload());
    match (received.format, send_as) {
        (FrameFormat::Classic, SendAs::Classic) | (FrameFormat::Fd, SendAs::Fd { .. }) => Some(*received),
        (FrameFormat::Fd, SendAs::Classic) => Frame::classic(id, payload).ok(),
        (FrameFormat::Classic, SendAs::Fd { .. }) if id.0 & (CAN_RTR_FLAG | CAN_ERR_FLAG) != 0 => None,
        (FrameFormat::Classic, SendAs::Fd { bit_rate_switch }) => {
            Frame::fd(id, if bit_rate_switch { CANFD_BRS } else { 0 }, payload).ok()
        }
    }
}

/// One operation: identifier, length, flags, data.
fn modify(frame: &mut Frame, operation: Operation, operand: &Operand) {
    if let Some(id) = operand.id {
        let bytes = frame.id.0.to_be_bytes();
        let operand = id.to_be_bytes();
        frame.id = RawId(u32::from_be_bytes(std::array::from_fn(|at| on_byte(operation, bytes[at], operand[at]))));
    }
    if let Some(len) = operand.len {
        match frame.format {
            FrameFormat::Fd => frame.len = on_byte(operation, frame.len, len),
            FrameFormat::Classic => {
                let valid_raw_dlc = frame.len == 8 && (9..=15).contains(&frame.len8_dlc);
                let before = if valid_raw_dlc { frame.len8_dlc } else { frame.len };
                let after = on_byte(operation, before, len);
                (frame.len, frame.len8_dlc) = if (9..=15).contains(&after) { (8, after) } else { (after, 0) };
            }
        }
    }
    if let (Some(flags), FrameFormat::Fd) = (operand.flags, frame.format) {
        frame.flags = on_byte(operation, frame.flags, flags);
    }
    if let Some(data) = operand.data {
        let used = frame.format.max_len();
        for (byte, operand) in frame.data[..used].iter_mut().zip(data) {
            *byte = on_byte(operation, *byte, operand);
        }
    }
}

fn on_byte(operation: Operation, value: u8, operand: u8) -> u8 {
    match operation {
        Operation::And => value & operand,
        Operation::Or => value | operand,
        Operation::Xor => value ^ operand,
        Operation::Set => operand,
    }
}

fn xor(frame: &mut Frame, checksum: &XorChecksum) {
    let Some((covered, result)) = positions(checksum.span, frame) else { return };
    let mut sum = checksum.init;
    for at in covered {
        sum ^= frame.data[at];
    }
    frame.data[result] = sum;
}

fn crc8(frame: &mut Frame, checksum: &Crc8Checksum) {
    let Some((covered, result)) = positions(checksum.span, frame) else { return };
    let mut crc = checksum.init;
    for at in covered {
        crc = checksum.table[usize::from(crc ^ frame.data[at])];
    }
    match checksum.profile {
        Crc8Profile::None => {}
        Crc8Profile::Byte(byte) => crc = checksum.table[usize::from(crc ^ byte)],
        Crc8Profile::ByteByCounter(bytes) => {
            let byte = bytes[usize::from(frame.data[1] % 16)];
            crc = checksum.table[usize::from(crc ^ byte)];
        }
        Crc8Profile::IdXor => {
            let [.., high, low] = frame.id.0.to_be_bytes();
            crc = checksum.table[usize::from(crc ^ low ^ high)];
        }
    }
    frame.data[result] = crc ^ checksum.final_xor;
}

/// The covered positions in order, and the position of the result. `None` if the checksum is not computed, because one
/// of them is before the start of the frame, or beyond its buffer (the kernel refuses such a job).
fn positions(span: ChecksumSpan, frame: &Frame) -> Option<(Vec<usize>, usize)> {
    let from_start = |position: i8| {
        let counted = if position < 0 { i32::from(frame.len) + i32::from(position) } else { i32::from(position) };
        usize::try_from(counted).ok()
    };
    let (from, to, result) = (from_start(span.from)?, from_start(span.to)?, from_start(span.result)?);
    if from.max(to).max(result) >= frame.format.max_len() {
        return None;
    }
    let covered = if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() };
    Some((covered, result))
}
