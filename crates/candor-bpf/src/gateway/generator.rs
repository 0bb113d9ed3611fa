//! What all programs have in common.
//!
//! # Source
//! Linux 7.0: [`struct __sk_buff`](https://github.com/torvalds/linux/blob/v7.0/include/uapi/linux/bpf.h),
//! [`bpf_skb_store_bytes()`](https://github.com/torvalds/linux/blob/v7.0/net/core/filter.c).

use candor_core::frame::{CAN_MTU, CANFD_MTU};

use super::{Action, CompileError, Filter, Generation, Kind, Map};
use crate::assembler::{Alu, Assembler, Condition, Label, MapIndex, Register, Size};

use Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R10};

/// `struct __sk_buff`.
pub(super) const DATA: i16 = 76;
pub(super) const DATA_END: i16 = 80;
/// `struct can_frame` and `struct canfd_frame`.
pub(super) const LEN: i16 = 4;
pub(super) const FLAGS: i16 = 5;
pub(super) const PAYLOAD: i16 = 8;
/// Bytes of the two structs.
const CLASSIC: i16 = 16;
const FD: i16 = 72;
/// `CANXL_HDR_SIZE`; the data follow.
const XL_HEADER: i16 = 12;
const _: () = assert!(CLASSIC as usize == CAN_MTU && FD as usize == CANFD_MTU);
/// `BPF_FUNC_skb_store_bytes`.
const STORE_BYTES: i32 = 9;

/// R6 is the buffer, R7 the frame, R8 its identifier and R9 the steps.
pub(super) struct Generator<'a> {
    pub(super) assembler: Assembler,
    pub(super) maps: &'a mut Vec<Map>,
    pub(super) kind: Kind,
    pub(super) generation: Generation,
    /// Returns 0.
    pub(super) none: Label,
}

/// Bytes that every frame of a kind has at least.
pub(super) const fn frame_bytes(kind: Kind) -> i16 {
    match kind {
        Kind::Classic => CLASSIC,
        Kind::Fd => FD,
        Kind::Xl => XL_HEADER,
    }
}

impl<'a> Generator<'a> {
    pub(super) fn new(maps: &'a mut Vec<Map>, (kind, generation): (Kind, Generation)) -> Self {
        let mut assembler = Assembler::new();
        let none = assembler.label();
        assembler.set(R6, R1);
        Self { assembler, maps, kind, generation, none }
    }

    pub(super) fn finish(mut self, action: Action) -> Result<Filter, CompileError> {
        if self.assembler.is_used(self.none) {
            self.assembler.place(self.none);
            self.end(0);
        }
        Ok(Filter { program: self.assembler.finish()?, action })
    }

    pub(super) fn end(&mut self, answer: i32) {
        self.assembler.set(R0, answer);
        self.assembler.exit();
    }

    pub(super) const fn frame_bytes(&self) -> i16 {
        frame_bytes(self.kind)
    }

    /// Longest payload.
    pub(super) const fn payload_bytes(&self) -> i16 {
        self.frame_bytes() - PAYLOAD
    }

    pub(super) fn map(&mut self, map: Map) -> MapIndex {
        let known = self.maps.iter().position(|known| *known == map);
        MapIndex(known.unwrap_or_else(|| {
            self.maps.push(map);
            self.maps.len() - 1
        }))
    }

    pub(super) fn load_frame(&mut self) {
        let (bytes, none) = (self.frame_bytes(), self.none);
        let assembler = &mut self.assembler;
        assembler.load(Size::Word, R7, R6, DATA);
        assembler.load(Size::Word, R1, R6, DATA_END);
        assembler.set(R2, R7);
        assembler.alu(Alu::Add, R2, i32::from(bytes));
        assembler.jump_if(Condition::Above, R2, R1, none);
        assembler.load(Size::Word, R8, R7, 0);
    }

    /// Bytes from the stack into the frame; R0 is 0 if it worked.
    pub(super) fn store_bytes(&mut self, to: i16, from: i16, bytes: i16) {
        self.assembler.set(R1, R6);
        self.assembler.set(R2, i32::from(to));
        self.assembler.set(R3, R10);
        self.assembler.alu(Alu::Add, R3, i32::from(from));
        self.assembler.set(R4, i32::from(bytes));
        self.assembler.set(R5, 0);
        self.assembler.call(STORE_BYTES);
    }
}
