//! The heap of keys and slots.

use super::{AT_SLOT, Generator, KEY, NEXT_KEY, SLOT};
use crate::assembler::Register::{self, R0, R1, R2, R3, R4, R5, R7, R8, R9, R10};
use crate::assembler::{Alu, Condition, Label, Size};
use crate::queue::{ENTRY_SHIFT, STATE, field};

impl Generator<'_> {
    /// Adds an entry with the key (its upper half so far) and the slot on the stack to the heap.
    pub(super) fn insert(&mut self, key: Register) {
        let (state, hole, above, sequence) = (R1, R2, R3, R4);
        let next = self.code.label();
        let done = self.code.label();
        let not_empty = self.code.label();
        self.code.set_map_value(state, STATE);
        self.code.load(Size::Double, hole, state, field::WAITING);
        self.code.load(Size::Double, sequence, state, field::SEQUENCE);
        // An empty queue starts again, so that the number does not overflow.
        self.code.jump_if(Condition::NotEqual, hole, 0, not_empty);
        self.code.set(sequence, 0);
        self.code.place(not_empty);
        self.code.alu_32(Alu::Move, sequence, sequence);
        self.code.alu(Alu::Or, key, sequence);
        self.code.alu(Alu::Add, sequence, 1);
        self.code.store(Size::Double, state, field::SEQUENCE, sequence);
        self.code.set(above, hole);
        self.code.alu(Alu::Add, above, 1);
        self.code.store(Size::Double, state, field::WAITING, above);
        self.code.place(next);
        self.code.leave_if_endless(done);
        self.code.jump_if(Condition::Equal, hole, 0, done);
        self.code.set(above, hole);
        self.code.alu(Alu::Sub, above, 1);
        self.code.alu(Alu::ShiftRight, above, 1);
        self.entry(R4, above, state);
        self.code.load(Size::Double, R0, R4, KEY);
        self.code.jump_if(Condition::AtMost, R0, key, done);
        self.entry(R5, hole, state);
        self.code.store(Size::Double, R5, KEY, R0);
        self.code.load(Size::Double, R0, R4, SLOT);
        self.code.store(Size::Double, R5, SLOT, R0);
        self.code.set(hole, above);
        self.code.jump(next);
        self.code.place(done);
        self.entry(R5, hole, state);
        self.code.store(Size::Double, R5, KEY, key);
        self.code.load(Size::Double, R0, R10, AT_SLOT);
        self.code.store(Size::Double, R5, SLOT, R0);
    }

    /// Takes the first entry out of the heap; its slot is on the stack, and free. All registers but R6 are lost.
    pub(super) fn take_first(&mut self, nothing: Label) {
        let (state, waiting, below, key, slot, hole, small) = (R1, R2, R3, R4, R5, R8, R9);
        let next = self.code.label();
        let left = self.code.label();
        let done = self.code.label();
        self.code.set_map_value(state, STATE);
        self.code.load(Size::Double, waiting, state, field::WAITING);
        self.code.jump_if(Condition::Equal, waiting, 0, nothing);
        self.code.alu(Alu::Sub, waiting, 1);
        self.code.store(Size::Double, state, field::WAITING, waiting);
        self.code.load(Size::Double, R7, state, SLOT);
        self.code.store(Size::Double, R10, AT_SLOT, R7);
        self.entry(R3, waiting, state);
        self.code.load(Size::Double, key, R3, KEY);
        self.code.load(Size::Double, slot, R3, SLOT);
        self.code.store(Size::Double, R3, SLOT, R7);
        self.code.load(Size::Double, hole, state, field::ZERO);
        self.code.place(next);
        self.code.leave_if_endless(done);
        self.code.set(below, hole);
        self.code.alu(Alu::ShiftLeft, below, 1);
        self.code.alu(Alu::Add, below, 1);
        self.code.jump_if(Condition::AtLeast, below, waiting, done);
        self.entry(R0, below, state);
        self.code.load(Size::Double, small, R0, KEY);
        // The right one follows the left one.
        self.code.set(R7, below);
        self.code.alu(Alu::Add, R7, 1);
        self.code.jump_if(Condition::AtLeast, R7, waiting, left);
        self.code.load(Size::Double, R7, R0, NEXT_KEY);
        self.code.jump_if(Condition::AtLeast, R7, small, left);
        self.code.set(small, R7);
        self.code.alu(Alu::Add, below, 1);
        self.code.alu(Alu::Add, R0, 16);
        self.code.place(left);
        self.code.jump_if(Condition::AtLeast, small, key, done);
        self.entry(R7, hole, state);
        self.code.store(Size::Double, R7, KEY, small);
        self.code.load(Size::Double, small, R0, SLOT);
        self.code.store(Size::Double, R7, SLOT, small);
        self.code.set(hole, below);
        self.code.jump(next);
        self.code.place(done);
        self.entry(R7, hole, state);
        self.code.store(Size::Double, R7, KEY, key);
        self.code.store(Size::Double, R7, SLOT, slot);
    }

    /// `to` becomes the address of an entry of the heap, less [`field::HEAP`].
    pub(super) fn entry(&mut self, to: Register, position: Register, state: Register) {
        self.code.set(to, position);
        self.code.alu(Alu::And, to, self.mask);
        self.code.alu(Alu::ShiftLeft, to, ENTRY_SHIFT.cast_signed());
        self.code.alu(Alu::Add, to, state);
    }
}
