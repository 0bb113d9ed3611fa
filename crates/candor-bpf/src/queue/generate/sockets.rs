//! Frames that wait, by socket.

use super::{AT_NUMBER, AT_SOCKET, DELETE, Generator, UPDATE};
use crate::assembler::Register::{R0, R1, R2, R3, R4, R10};
use crate::assembler::{Alu, Condition, Label, Size};
use crate::queue::SOCKETS;

impl Generator<'_> {
    /// Counts the socket on the stack, if there is one, unless it has its limit.
    pub(super) fn count_socket(&mut self, limit: u32, too_many: Label, failed: Label) {
        let first = self.code.label();
        let done = self.code.label();
        self.code.jump_if(Condition::Equal, R1, 0, done);
        self.look_up(SOCKETS, AT_SOCKET);
        self.code.jump_if(Condition::Equal, R0, 0, first);
        self.code.load(Size::Double, R1, R0, 0);
        self.code.jump_if(Condition::AtLeast, R1, limit.min(i32::MAX as u32).cast_signed(), too_many);
        self.code.alu(Alu::Add, R1, 1);
        self.code.store(Size::Double, R0, 0, R1);
        self.code.jump(done);
        self.code.place(first);
        self.code.store(Size::Double, R10, AT_NUMBER, 1);
        self.code.set_map(R1, SOCKETS);
        self.stack(R2, AT_SOCKET);
        self.stack(R3, AT_NUMBER);
        self.code.set(R4, 0);
        self.code.call(UPDATE);
        self.code.jump_if(Condition::NotEqual, R0, 0, failed);
        self.code.place(done);
    }

    /// Counts one frame less for the socket on the stack.
    pub(super) fn forget_socket(&mut self) {
        let last = self.code.label();
        let done = self.code.label();
        self.code.load(Size::Double, R1, R10, AT_SOCKET);
        self.code.jump_if(Condition::Equal, R1, 0, done);
        self.look_up(SOCKETS, AT_SOCKET);
        self.code.jump_if(Condition::Equal, R0, 0, done);
        self.code.load(Size::Double, R1, R0, 0);
        self.code.jump_if(Condition::AtMost, R1, 1, last);
        self.code.alu(Alu::Sub, R1, 1);
        self.code.store(Size::Double, R0, 0, R1);
        self.code.jump(done);
        self.code.place(last);
        self.code.set_map(R1, SOCKETS);
        self.stack(R2, AT_SOCKET);
        self.code.call(DELETE);
        self.code.place(done);
    }
}
