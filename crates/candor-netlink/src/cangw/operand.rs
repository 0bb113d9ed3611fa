//! `struct cgw_frame_mod` and `struct cgw_fdframe_mod`: a frame of operands, and a bit set of the fields in use.

use candor_core::frame::{CAN_MTU, CANFD_MAX_DLEN, CANFD_MTU, FrameFormat};
use candor_core::rule::Operand;

use crate::codec::{Attribute, DecodeError};

const CGW_MOD_ID: u8 = 1;
const CGW_MOD_LEN: u8 = 2;
const CGW_MOD_DATA: u8 = 4;
const CGW_MOD_FLAGS: u8 = 8;
/// Offset of the payload in both frame structs.
const DATA_OFFSET: usize = 8;

/// Encodes the attribute. Unused fields are 0, because the kernel compares them when a job is deleted.
pub(super) fn encode(operand: &Operand, format: FrameFormat) -> Vec<u8> {
    let frame_bytes = frame_bytes(format);
    let mut bytes = vec![0; frame_bytes + 1];
    let mut touched = 0;
    if let Some(id) = operand.id {
        touched |= CGW_MOD_ID;
        bytes[..4].copy_from_slice(&id.to_ne_bytes());
    }
    if let Some(len) = operand.len {
        touched |= CGW_MOD_LEN;
        bytes[4] = len;
    }
    if let (Some(flags), FrameFormat::Fd) = (operand.flags, format) {
        touched |= CGW_MOD_FLAGS;
        bytes[5] = flags;
    }
    if let Some(data) = operand.data {
        touched |= CGW_MOD_DATA;
        bytes[DATA_OFFSET..frame_bytes].copy_from_slice(&data[..format.max_len()]);
    }
    bytes[frame_bytes] = touched;
    bytes
}

pub(super) fn decode(attribute: &Attribute<'_>, format: FrameFormat) -> Result<Operand, DecodeError> {
    let frame_bytes = frame_bytes(format);
    let bytes = attribute.value;
    let Some(&touched) = bytes.get(frame_bytes) else {
        let (kind, len, expected) = (attribute.kind, bytes.len(), frame_bytes + 1);
        return Err(DecodeError::ShortAttribute { kind, len, expected });
    };
    let has = |bit| touched & bit != 0;
    let mut data = [0; CANFD_MAX_DLEN];
    data[..format.max_len()].copy_from_slice(&bytes[DATA_OFFSET..frame_bytes]);
    Ok(Operand {
        id: has(CGW_MOD_ID).then(|| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        len: has(CGW_MOD_LEN).then_some(bytes[4]),
        flags: (has(CGW_MOD_FLAGS) && format == FrameFormat::Fd).then_some(bytes[5]),
        data: has(CGW_MOD_DATA).then_some(data),
    })
}

const fn frame_bytes(format: FrameFormat) -> usize {
    match format {
        FrameFormat::Classic => CAN_MTU,
        FrameFormat::Fd => CANFD_MTU,
    }
}
