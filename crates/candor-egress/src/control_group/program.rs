//! The program of a filter.
//!
//! # Source
//! Linux 6.1:
//! [`enum bpf_func_id`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/bpf.h#L5695);
//! [`cls_bpf_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_bpf.c#L80), for which 0 is "not
//! this one", and -1 the class of the filter.

use candor_bpf::assembler::{Assembler, Condition, Instruction, Register};

use super::{ControlGroup, GroupId};

/// `BPF_FUNC_skb_ancestor_cgroup_id`: the group above the frame's socket at a level, itself included; 0 if the frame has no
/// socket, or its group is not that deep.
const ANCESTOR: i32 = 83;
/// Saved across calls, so it holds the frame.
const FRAME: Register = Register::R6;

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
pub fn program(groups: &[ControlGroup]) -> Vec<Instruction> {
    let ids: Vec<_> = groups.iter().filter_map(|group| group.id).collect();
    let mut assembler = Assembler::new();
    let fits = assembler.label();
    if !ids.is_empty() {
        assembler.set(FRAME, Register::R1);
    }
    for GroupId { level, id } in &ids {
        assembler.set(Register::R1, FRAME);
        assembler.set(Register::R2, i32::from(*level));
        assembler.call(ANCESTOR);
        assembler.set_wide(Register::R1, *id);
        assembler.jump_if(Condition::Equal, Register::R0, Register::R1, fits);
    }
    assembler.set(Register::R0, 0);
    assembler.exit();
    // What nothing leads to is refused.
    if assembler.is_used(fits) {
        assembler.place(fits);
        assembler.set(Register::R0, -1);
        assembler.exit();
    }
    let program = assembler.finish().expect("a filter has a few groups, and a jump reaches over 5461 of them");
    program.with_maps(|_none| 0)
}
