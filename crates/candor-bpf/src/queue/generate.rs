//! The programs of a queue.
//!
//! Registers of a program are named where they are set. R0 to R5 are lost in calls.

mod heap;
mod key;
mod sockets;

use super::layout::Layout;
use super::{Operation, Options, SLOTS, SOCKETS, STATE, capacity, field};
use crate::assembler::Register::{self, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use crate::assembler::{Alu, Assembler, Condition, Label, MapIndex, Program, Size, TooFar};

/// `BPF_FUNC_…`.
const LOOK_UP: i32 = 1;
const UPDATE: i32 = 2;
const DELETE: i32 = 3;
const TIME: i32 = 5;
const EXCHANGE: i32 = 194;

/// `NET_XMIT_DROP`: the sender gets ENOBUFS.
const DROPPED: i32 = 1;
const EBUSY: i32 = 16;

/// Offsets in a slot, whose buffer is at 0.
const ARRIVAL: i16 = 8;
const OWNER: i16 = 16;

/// Offsets in an entry of the heap, and in the one after it.
const KEY: i16 = field::HEAP;
const SLOT: i16 = field::HEAP + 8;
const NEXT_KEY: i16 = KEY + 16;

/// Offsets on the stack.
const AT_SLOT: i16 = -8;
const AT_SOCKET: i16 = -16;
const AT_NUMBER: i16 = -24;
const AT_LENGTH: i16 = -32;
const AT_TIME: i16 = -40;
const AT_QUEUE: i16 = -48;

pub(super) fn program(operation: Operation, options: &Options, layout: &Layout) -> Result<Program, TooFar> {
    let mask = i32::try_from(capacity(options.limit) - 1).expect("a queue is small");
    let mut generator = Generator { code: Assembler::new(), options, layout, mask };
    match operation {
        Operation::Dequeue => generator.dequeue(),
        Operation::Destroy => generator.leave(0),
        Operation::Enqueue => generator.enqueue(),
        Operation::Init => generator.init(),
        Operation::Reset => generator.reset(),
    }
    generator.code.finish()
}

struct Generator<'a> {
    code: Assembler,
    options: &'a Options,
    layout: &'a Layout,
    /// Of positions in the heap.
    mask: i32,
}

impl Generator<'_> {
    /// `int init(struct Qdisc *, struct nlattr *, struct netlink_ext_ack *)`: takes the maps, which are for one queue.
    fn init(&mut self) {
        let interface = self.layout.interface;
        let taken = self.code.label();
        let queue = R6;
        self.code.load(Size::Double, queue, R1, 0);
        self.code.set_map_value(R1, STATE);
        self.code.load(Size::Double, R2, R1, field::OWNER);
        self.code.jump_if(Condition::NotEqual, R2, 0, taken);
        self.code.load(Size::Double, R2, queue, interface.transmit_queue);
        self.code.load(Size::Double, R2, R2, interface.interface);
        self.code.load(Size::Double, R3, R2, interface.namespace);
        self.code.load(Size::Word, R3, R3, interface.number);
        self.code.alu(Alu::ShiftLeft, R3, 32);
        self.code.load(Size::Word, R2, R2, interface.index);
        self.code.alu(Alu::Or, R2, R3);
        self.code.store(Size::Double, R1, field::OWNER, R2);
        self.code.set(R1, i32::try_from(self.options.limit).expect("a queue is small"));
        self.code.store(Size::Word, queue, self.layout.queue.limit, R1);
        self.leave(0);
        self.code.place(taken);
        self.leave(-EBUSY);
    }

    /// `int enqueue(struct sk_buff *, struct Qdisc *, struct sk_buff **to_free)`.
    fn enqueue(&mut self) {
        let full = self.code.label();
        let too_many = self.code.label();
        let failed = self.code.label();
        let (frame, queue, to_free, key) = (R6, R7, R8, R9);
        self.code.load(Size::Double, frame, R1, 0);
        self.code.load(Size::Double, queue, R1, 8);
        self.code.load(Size::Double, to_free, R1, 16);
        self.key();
        if self.options.max_age_ns.is_some() {
            self.code.call(TIME);
            self.code.store(Size::Double, R10, AT_TIME, R0);
        }
        self.code.load(Size::Word, R1, frame, self.layout.buffer.length);
        self.code.store(Size::Double, R10, AT_LENGTH, R1);
        if self.options.replace_same_id {
            self.replace(failed);
        }
        self.code.set_map_value(R1, STATE);
        self.code.load(Size::Double, R1, R1, field::WAITING);
        let limit = i32::try_from(self.options.limit).expect("a queue is small");
        self.code.jump_if(Condition::AtLeast, R1, limit, full);
        if let Some(limit) = self.options.limit_per_socket {
            self.code.load(Size::Double, R1, frame, self.layout.buffer.socket);
            self.code.store(Size::Double, R10, AT_SOCKET, R1);
            self.count_socket(limit, too_many, failed);
        }
        self.code.set_map_value(R1, STATE);
        self.code.load(Size::Double, R2, R1, field::WAITING);
        self.entry(R3, R2, R1);
        self.code.load(Size::Double, R1, R3, SLOT);
        self.fill_slot(R1, failed);
        self.kernel_waits(queue, Alu::Add, R1);
        self.add_to(queue, self.layout.queue.backlog, Alu::Add);
        self.insert(key);
        self.leave(0);

        let drop = self.code.label();
        if self.options.limit_per_socket.is_some() {
            self.code.place(too_many);
            self.count(field::SOCKET);
            self.increment(queue, self.layout.queue.overlimits);
            self.code.jump(drop);
        }
        self.code.place(failed);
        self.count(field::FAILED);
        self.code.jump(drop);
        self.code.place(full);
        self.count(field::FULL);
        self.code.place(drop);
        self.increment(queue, self.layout.queue.drops);
        self.code.set(R1, frame);
        self.code.set(R2, to_free);
        self.code.call_kernel(self.layout.functions.drop);
        self.leave(DROPPED);
    }

    /// `struct sk_buff *dequeue(struct Qdisc *)`.
    fn dequeue(&mut self) {
        let again = self.code.label();
        let nothing = self.code.label();
        let empty = self.code.label();
        let queue = R6;
        self.code.load(Size::Double, queue, R1, 0);
        self.code.place(again);
        if self.options.max_age_ns.is_some() {
            self.code.leave_if_endless(nothing);
        }
        self.code.store(Size::Double, R10, AT_QUEUE, queue);
        self.take_first(nothing);
        self.look_up(SLOTS, AT_SLOT);
        self.code.jump_if(Condition::Equal, R0, 0, nothing);
        let (frame, arrival) = (R7, R8);
        if self.options.max_age_ns.is_some() {
            self.code.load(Size::Double, arrival, R0, ARRIVAL);
        }
        if self.options.limit_per_socket.is_some() {
            self.code.load(Size::Double, R1, R0, OWNER);
            self.code.store(Size::Double, R10, AT_SOCKET, R1);
        }
        self.code.set(R1, R0);
        self.code.set(R2, 0);
        self.code.call(EXCHANGE);
        self.code.jump_if(Condition::Equal, R0, 0, empty);
        self.code.set(frame, R0);
        if self.options.limit_per_socket.is_some() {
            self.forget_socket();
        }
        self.code.load(Size::Word, R1, frame, self.layout.buffer.length);
        self.code.store(Size::Double, R10, AT_LENGTH, R1);
        self.kernel_waits(queue, Alu::Sub, R1);
        self.add_to(queue, self.layout.queue.backlog, Alu::Sub);
        if let Some(age) = self.options.max_age_ns {
            let fresh = self.code.label();
            self.code.call(TIME);
            self.code.alu(Alu::Sub, R0, arrival);
            self.code.set_wide(R1, age);
            self.code.jump_if(Condition::AtMost, R0, R1, fresh);
            self.count(field::EXPIRED);
            self.increment(queue, self.layout.queue.drops);
            self.code.set(R1, frame);
            self.code.call_kernel(self.layout.functions.free);
            self.code.jump(again);
            self.code.place(fresh);
        }
        self.code.set(R1, queue);
        self.code.set(R2, frame);
        self.code.call_kernel(self.layout.functions.count);
        self.code.set(R0, frame);
        self.code.exit();
        self.code.place(empty);
        self.count(field::FAILED);
        self.code.place(nothing);
        self.leave(0);
    }

    /// `void reset(struct Qdisc *)`.
    fn reset(&mut self) {
        let next = self.code.label();
        let done = self.code.label();
        let (queue, slot) = (R6, R7);
        self.code.load(Size::Double, queue, R1, 0);
        self.code.place(next);
        self.code.leave_if_endless(done);
        self.code.set_map_value(R1, STATE);
        self.code.load(Size::Double, R2, R1, field::WAITING);
        self.code.jump_if(Condition::Equal, R2, 0, done);
        self.code.alu(Alu::Sub, R2, 1);
        self.code.store(Size::Double, R1, field::WAITING, R2);
        self.entry(R3, R2, R1);
        self.code.load(Size::Double, R1, R3, SLOT);
        self.code.store(Size::Double, R10, AT_SLOT, R1);
        self.look_up(SLOTS, AT_SLOT);
        self.code.jump_if(Condition::Equal, R0, 0, next);
        self.code.set(slot, R0);
        if self.options.limit_per_socket.is_some() {
            self.code.load(Size::Double, R1, slot, OWNER);
            self.code.store(Size::Double, R10, AT_SOCKET, R1);
            self.code.set_map(R1, SOCKETS);
            self.stack(R2, AT_SOCKET);
            self.code.call(DELETE);
        }
        self.code.set(R1, slot);
        self.code.set(R2, 0);
        self.code.call(EXCHANGE);
        self.code.jump_if(Condition::Equal, R0, 0, next);
        self.code.set(R1, R0);
        self.code.call_kernel(self.layout.functions.free);
        self.code.jump(next);
        self.code.place(done);
        self.code.set(R1, 0);
        self.code.store(Size::Word, queue, self.layout.queue.waiting, R1);
        self.code.store(Size::Word, queue, self.layout.queue.backlog, R1);
        self.leave(0);
    }

    /// Puts the frame in R6 in the place of one with the same upper half of the key (R9), and leaves the program; goes on
    /// if there is none.
    fn replace(&mut self, failed: Label) {
        let (frame, queue, to_free, key) = (R6, R7, R8, R9);
        let next = self.code.label();
        let none = self.code.label();
        self.code.set_map_value(R1, STATE);
        self.code.load(Size::Double, R2, R1, field::WAITING);
        self.code.set(R5, key);
        self.code.alu(Alu::ShiftRight, R5, 32);
        self.code.place(next);
        self.code.leave_if_endless(none);
        self.code.jump_if(Condition::Equal, R2, 0, none);
        self.code.alu(Alu::Sub, R2, 1);
        self.entry(R3, R2, R1);
        self.code.load(Size::Double, R4, R3, KEY);
        self.code.alu(Alu::ShiftRight, R4, 32);
        self.code.jump_if(Condition::NotEqual, R4, R5, next);
        self.code.load(Size::Double, R1, R3, SLOT);
        self.code.store(Size::Double, R10, AT_SLOT, R1);
        self.look_up(SLOTS, AT_SLOT);
        self.code.jump_if(Condition::Equal, R0, 0, failed);
        let slot = R9;
        let was_empty = self.code.label();
        self.code.set(slot, R0);
        if self.options.max_age_ns.is_some() {
            self.code.load(Size::Double, R1, R10, AT_TIME);
            self.code.store(Size::Double, slot, ARRIVAL, R1);
        }
        self.code.set(R1, slot);
        self.code.set(R2, frame);
        self.code.call(EXCHANGE);
        self.add_to(queue, self.layout.queue.backlog, Alu::Add);
        self.code.jump_if(Condition::Equal, R0, 0, was_empty);
        self.code.load(Size::Word, R1, R0, self.layout.buffer.length);
        self.code.store(Size::Double, R10, AT_LENGTH, R1);
        self.add_to(queue, self.layout.queue.backlog, Alu::Sub);
        self.code.set(R1, R0);
        self.code.set(R2, to_free);
        self.code.call_kernel(self.layout.functions.drop);
        self.code.place(was_empty);
        self.count(field::REPLACED);
        self.increment(queue, self.layout.queue.drops);
        self.leave(0);
        self.code.place(none);
    }

    /// Puts the frame in R6 into the slot whose number is in `slot`, which is kept on the stack.
    fn fill_slot(&mut self, slot: Register, failed: Label) {
        let (frame, to_free) = (R6, R8);
        let was_empty = self.code.label();
        self.code.store(Size::Double, R10, AT_SLOT, slot);
        self.look_up(SLOTS, AT_SLOT);
        self.code.jump_if(Condition::Equal, R0, 0, failed);
        if self.options.max_age_ns.is_some() {
            self.code.load(Size::Double, R1, R10, AT_TIME);
            self.code.store(Size::Double, R0, ARRIVAL, R1);
        }
        if self.options.limit_per_socket.is_some() {
            self.code.load(Size::Double, R1, R10, AT_SOCKET);
            self.code.store(Size::Double, R0, OWNER, R1);
        }
        self.code.set(R1, R0);
        self.code.set(R2, frame);
        self.code.call(EXCHANGE);
        self.code.jump_if(Condition::Equal, R0, 0, was_empty);
        self.code.set(R1, R0);
        self.code.set(R2, to_free);
        self.code.call_kernel(self.layout.functions.drop);
        self.count(field::FAILED);
        self.code.place(was_empty);
    }

    /// Looks up the key on the stack; R0 is the address of the value, or 0.
    fn look_up(&mut self, map: MapIndex, key: i16) {
        self.code.set_map(R1, map);
        self.stack(R2, key);
        self.code.call(LOOK_UP);
    }

    fn stack(&mut self, to: Register, offset: i16) {
        self.code.set(to, R10);
        self.code.alu(Alu::Add, to, i32::from(offset));
    }

    /// Adds 1 to a number of the state; R1 and R2 are lost.
    fn count(&mut self, field: i16) {
        self.code.set_map_value(R1, STATE);
        self.code.load(Size::Double, R2, R1, field);
        self.code.alu(Alu::Add, R2, 1);
        self.code.store(Size::Double, R1, field, R2);
    }

    /// Adds 1 to a number of the kernel's queue; R1 is lost.
    fn increment(&mut self, queue: Register, offset: i16) {
        self.code.load(Size::Word, R1, queue, offset);
        self.code.alu(Alu::Add, R1, 1);
        self.code.store(Size::Word, queue, offset, R1);
    }

    /// Adds or subtracts a frame.
    fn kernel_waits(&mut self, queue: Register, operation: Alu, with: Register) {
        self.code.load(Size::Word, with, queue, self.layout.queue.waiting);
        self.code.alu(operation, with, 1);
        self.code.store(Size::Word, queue, self.layout.queue.waiting, with);
    }

    /// Adds or subtracts the length on the stack; R1 and R2 are lost.
    fn add_to(&mut self, queue: Register, offset: i16, operation: Alu) {
        self.code.load(Size::Word, R1, queue, offset);
        self.code.load(Size::Double, R2, R10, AT_LENGTH);
        self.code.alu(operation, R1, R2);
        self.code.store(Size::Word, queue, offset, R1);
    }

    fn leave(&mut self, result: i32) {
        self.code.set(R0, result);
        self.code.exit();
    }
}
