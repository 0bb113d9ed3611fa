//! The arbitration field of a frame.

use candor_core::frame::{CAN_RTR_FLAG, CAN_SFF_MASK};

use super::Generator;
use crate::assembler::Register::{R0, R1, R2, R6, R9};
use crate::assembler::{Alu, Condition, Size};

const ETH_P_CAN: u16 = 0x000C;

impl Generator<'_> {
    /// R9 becomes the upper half of the key of the frame in R6: [`key`](crate::queue::key).
    pub(super) fn key(&mut self) {
        let (frame, key) = (R6, R9);
        let classic = self.code.label();
        let extended = self.code.label();
        let done = self.code.label();
        self.code.load(Size::Double, R1, frame, self.layout.buffer.data);
        self.code.set(R2, i32::try_from(self.layout.word.0).expect("types are few"));
        self.code.call_kernel(self.layout.functions.cast);
        self.code.load(Size::Word, R1, R0, 0);
        // RTR exists in classic frames only; the lower bits of CAN XL are the identifier as well.
        self.code.load(Size::Half, R2, frame, self.layout.buffer.protocol);
        self.code.jump_if(Condition::Equal, R2, i32::from(ETH_P_CAN.to_be()), classic);
        self.code.alu_32(Alu::And, R1, (!CAN_RTR_FLAG).cast_signed());
        self.code.place(classic);
        self.code.jump_if_32(Condition::AnyBit, R1, i32::MIN, extended);
        self.code.set(key, R1);
        self.code.alu(Alu::And, key, CAN_SFF_MASK.cast_signed());
        self.code.alu(Alu::ShiftLeft, key, 21);
        self.code.alu(Alu::ShiftRight, R1, 10);
        self.code.alu(Alu::And, R1, 1 << 20);
        self.code.alu(Alu::Or, key, R1);
        self.code.jump(done);
        self.code.place(extended);
        self.code.set(key, R1);
        self.code.alu(Alu::And, key, 0x1FFC_0000);
        self.code.alu(Alu::ShiftLeft, key, 3);
        self.code.alu(Alu::Or, key, 0b11 << 19);
        self.code.set(R2, R1);
        self.code.alu(Alu::And, R2, 0x3_FFFF);
        self.code.alu(Alu::ShiftLeft, R2, 1);
        self.code.alu(Alu::Or, key, R2);
        self.code.alu(Alu::ShiftRight, R1, 30);
        self.code.alu(Alu::And, R1, 1);
        self.code.alu(Alu::Or, key, R1);
        self.code.place(done);
        self.code.alu(Alu::ShiftLeft, key, 32);
    }
}
