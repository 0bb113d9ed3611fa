//! The program of a filter.
//!
//! # Source
//! Linux 6.1: [`struct bpf_insn`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/bpf.h#L71),
//! [`enum bpf_func_id`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/bpf.h#L5695);
//! [`cls_bpf_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_bpf.c#L80), for which 0 is "not
//! this one", and -1 the class of the filter.

use super::{ControlGroup, GroupId};

pub const INSTRUCTION_BYTES: usize = 8;

/// `BPF_FUNC_skb_ancestor_cgroup_id`: the group above the frame's socket at a level, itself included; 0 if the frame has no
/// socket, or its group is not that deep.
const ANCESTOR: i32 = 83;
/// `BPF_ALU64 | BPF_MOV | BPF_K`, a number into a register, with its sign.
const SET: u8 = 0xB7;
/// `BPF_ALU64 | BPF_MOV | BPF_X`.
const COPY: u8 = 0xBF;
/// `BPF_LD | BPF_IMM | BPF_DW`, a number of 64 bits, which takes two instructions.
const SET_WIDE: u8 = 0x18;
/// `BPF_JMP | BPF_JEQ | BPF_X`.
const JUMP_IF_EQUAL: u8 = 0x1D;
/// `BPF_JMP | BPF_CALL`.
const CALL: u8 = 0x85;
/// `BPF_JMP | BPF_EXIT`.
const EXIT: u8 = 0x95;
/// Saved across calls, so it holds the frame.
const FRAME: u8 = 6;
const STRIDE: usize = 6;

/// A program that matches frames from these groups, in native byte order. Groups that do not
/// exist match nothing.
///
/// ```text
///  r6 = frame
///  for each group: r0 = ancestor of (r6, level);  r1 = id;  if r0 == r1 goto fits
///  return 0
///  fits: return -1
/// ```
#[must_use]
pub fn program(groups: &[ControlGroup]) -> Vec<[u8; INSTRUCTION_BYTES]> {
    let end = |answer| [instruction(SET, (0, 0), 0, answer), instruction(EXIT, (0, 0), 0, 0)];
    let ids: Vec<_> = groups.iter().filter_map(|group| group.id).collect();
    if ids.is_empty() {
        // What nothing leads to is refused.
        return end(0).to_vec();
    }
    let mut program = vec![instruction(COPY, (FRAME, 1), 0, 0)];
    for (at, GroupId { level, id }) in ids.iter().enumerate() {
        let words = id.to_le_bytes();
        let word = |from: usize| i32::from_le_bytes([words[from], words[from + 1], words[from + 2], words[from + 3]]);
        // Behind this jump: the other groups, and two instructions.
        let ahead = (ids.len() - 1 - at) * STRIDE + 2;
        let ahead = i16::try_from(ahead).expect("a filter has a few groups, and an i16 reaches over 5461 of them");
        program.extend([
            instruction(COPY, (1, FRAME), 0, 0),
            instruction(SET, (2, 0), 0, i32::from(*level)),
            instruction(CALL, (0, 0), 0, ANCESTOR),
            instruction(SET_WIDE, (1, 0), 0, word(0)),
            instruction(0, (0, 0), 0, word(4)),
            instruction(JUMP_IF_EQUAL, (0, 1), ahead, 0),
        ]);
    }
    program.extend([end(0), end(-1)].concat());
    program
}

/// `struct bpf_insn`; the registers, destination and source, are bit fields of a byte.
fn instruction(code: u8, (to, from): (u8, u8), offset: i16, value: i32) -> [u8; INSTRUCTION_BYTES] {
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    let ([o0, o1], [v0, v1, v2, v3]) = (offset.to_ne_bytes(), value.to_ne_bytes());
    [code, registers, o0, o1, v0, v1, v2, v3]
}
