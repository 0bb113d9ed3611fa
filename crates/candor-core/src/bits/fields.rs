//! The fields of a frame before its CRC.

use crate::frame::{CAN_EFF_MASK, CANFD_BRS, CANFD_ESI, FD_LENGTHS, Frame, FrameFormat, fd_dlc};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Start of frame, identifier, RTR or RRS: the lowest value wins arbitration.
    Arbitration,
    /// IDE of a standard frame, reserved bits, ESI, DLC.
    Control,
    Data,
    /// FDF and the reserved bit after it, in a CAN FD frame.
    FdFormat,
    /// The last bit of a CAN FD frame at the nominal bit rate, if it is recessive.
    RateSwitch,
}

/// Calls `push` for each field in the order of the wire, with its value and its number of bits, most significant first.
pub(super) fn fields(frame: &Frame, mut push: impl FnMut(Field, u32, u32)) {
    identifier(frame, &mut push);
    match frame.format {
        FrameFormat::Classic => classic(frame, push),
        FrameFormat::Fd => fd(frame, push),
    }
}

/// Start of frame and identifier, without RTR or RRS.
fn identifier(frame: &Frame, mut push: impl FnMut(Field, u32, u32)) {
    let start_of_frame = 0;
    push(Field::Arbitration, start_of_frame, 1);
    let id = frame.id.bits();
    if frame.id.is_eff() {
        push(Field::Arbitration, id >> 18, 11);
        push(Field::Arbitration, 0b11, 2); // SRR, IDE
        push(Field::Arbitration, id & (CAN_EFF_MASK >> 11), 18);
    } else {
        push(Field::Arbitration, id, 11);
    }
}

fn classic(frame: &Frame, mut push: impl FnMut(Field, u32, u32)) {
    let rtr = frame.id.is_rtr();
    push(Field::Arbitration, u32::from(rtr), 1);
    // SFF: IDE, r0. EFF: r1, r0.
    push(Field::Control, 0b00, 2);
    push(Field::Control, u32::from(frame.raw_dlc().min(15)), 4);
    if !rtr {
        for byte in frame.payload() {
            push(Field::Data, u32::from(*byte), 8);
        }
    }
}

fn fd(frame: &Frame, mut push: impl FnMut(Field, u32, u32)) {
    let remote_request_substitution = 0;
    push(Field::Arbitration, remote_request_substitution, 1);
    if !frame.id.is_eff() {
        push(Field::Control, 0, 1); // IDE
    }
    push(Field::FdFormat, 0b10, 2);
    push(Field::RateSwitch, u32::from(frame.flags & CANFD_BRS != 0), 1);
    push(Field::Control, u32::from(frame.flags & CANFD_ESI != 0), 1);
    let dlc = fd_dlc(frame.len);
    push(Field::Control, dlc.into(), 4);
    let payload = frame.payload();
    let padding = usize::from(FD_LENGTHS[usize::from(dlc)]).saturating_sub(payload.len());
    for byte in payload.iter().chain(core::iter::repeat_n(&0, padding)) {
        push(Field::Data, u32::from(*byte), 8);
    }
}
