//! Modifications, checksums and counters, on a copy of the frame on the stack.

use candor_core::frame::{CAN_ERR_FLAG, CAN_MAX_RAW_DLC, CAN_RTR_FLAG, CANFD_FDF};
use candor_core::job::{Computed, CounterInByte, Job, RouteIndex, Steps};
use candor_core::rule::{Bits, ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, XorChecksum};

use super::generator::{FLAGS, Generator, LEN, PAYLOAD};
use super::{Kind, Map};
use crate::assembler::{Alu, Condition, Label, Operand, Register, Size};

use Register::{R0, R1, R2, R3, R4, R5, R7, R8, R10};

/// `len8_dlc` of a classic frame.
const RAW_DLC: i16 = 7;
const EIGHT: i32 = 8;

/// Reads the frame at R7 and writes the changed one to the end of the stack. Jumps to `delete` if its length is not valid.
/// Only R6 and R9 are kept.
pub(super) fn on_stack(generator: &mut Generator<'_>, job: &Job, delete: Label) {
    let modifications = &job.modifications;
    let frame = start(generator);
    let id = modifications.combined(|operand| operand.id).unwrap_or(Bits::<u32>::SAME);
    let assembler = &mut generator.assembler;
    assembler.alu_32(Alu::Move, R1, R8);
    if id.keep != u32::MAX {
        assembler.alu_32(Alu::And, R1, id.keep.cast_signed());
    }
    if id.flip != 0 {
        assembler.alu_32(Alu::Xor, R1, id.flip.cast_signed());
    }
    assembler.store(Size::Word, R10, frame, R1);
    assembler.load(Size::Word, R1, R7, LEN);
    assembler.store(Size::Word, R10, frame + LEN, R1);
    let len = modifications.combined(|operand| operand.len);
    match generator.kind {
        // Their jobs change nothing.
        Kind::Xl => {}
        Kind::Classic => {
            if let Some(len) = len {
                raw_dlc(generator, len, delete);
            }
        }
        Kind::Fd => {
            if let Some(len) = len {
                bits_of_byte(generator, LEN, len);
                let longest = generator.payload_bytes();
                generator.assembler.jump_if_32(Condition::Above, R1, i32::from(longest), delete);
                generator.assembler.store(Size::Byte, R10, frame + LEN, R1);
            }
            let flags = modifications.combined(|operand| operand.flags).unwrap_or(Bits::<u8>::SAME);
            bits_of_byte(generator, FLAGS, flags);
            generator.assembler.alu_32(Alu::Or, R1, i32::from(CANFD_FDF));
            generator.assembler.store(Size::Byte, R10, frame + FLAGS, R1);
        }
    }
    for (offset, bits) in (PAYLOAD..generator.frame_bytes()).step_by(8).zip(modifications.data_words()) {
        let assembler = &mut generator.assembler;
        assembler.load(Size::Double, R1, R7, offset);
        if bits.keep != u64::MAX {
            wide(generator, Alu::And, bits.keep);
        }
        if bits.flip != 0 {
            wide(generator, Alu::Xor, bits.flip);
        }
        generator.assembler.store(Size::Double, R10, frame + offset, R1);
    }
    // Without a modification, can-gw computes none.
    if !modifications.is_empty() {
        checksums_on_stack(generator, &job.checksums);
    }
    if let Some(steps) = job.protected.as_ref().and_then(Computed::steps) {
        protect_on_stack(generator, job.route, &steps, delete);
    }
}

fn checksums_on_stack(generator: &mut Generator<'_>, Checksums { crc8, xor }: &Checksums) {
    if let Some(crc8) = crc8 {
        crc8_on_stack(generator, crc8);
    }
    if let Some(xor) = xor {
        xor_on_stack(generator, xor);
    }
}

fn protect_on_stack(generator: &mut Generator<'_>, route: RouteIndex, steps: &Steps, delete: Label) {
    let frame = start(generator);
    let no_data = generator.assembler.label();
    generator.assembler.load(Size::Word, R1, R10, frame);
    generator.assembler.jump_if_32(Condition::AnyBit, R1, (CAN_RTR_FLAG | CAN_ERR_FLAG).cast_signed(), no_data);
    generator.assembler.load(Size::Byte, R1, R10, frame + LEN);
    generator.assembler.jump_if_32(Condition::NotEqual, R1, i32::from(steps.len), delete);
    if let Some(counter) = &steps.counter {
        count_on_stack(generator, route, *counter, delete);
    }
    checksums_on_stack(generator, &steps.checksums);
    generator.assembler.place(no_data);
}

fn count_on_stack(generator: &mut Generator<'_>, route: RouteIndex, counter: CounterInByte, delete: Label) {
    let CounterInByte { byte: at, shift, mask, min, max, is_own } = counter;
    let at = byte(generator, i16::from(at));
    if !is_own {
        let assembler = &mut generator.assembler;
        assembler.load(Size::Byte, R1, R10, at);
        assembler.alu_32(Alu::And, R1, i32::from(mask));
        assembler.alu_32(Alu::ShiftRight, R1, i32::from(shift));
        assembler.jump_if_32(Condition::Above, R1, i32::from(max), delete);
        assembler.jump_if_32(Condition::Below, R1, i32::from(min), delete);
        return;
    }
    let taken = generator.map(Map::Counter(route));
    let assembler = &mut generator.assembler;
    assembler.set_map_value(R1, taken);
    assembler.set(R2, 1);
    assembler.add_and_fetch(R1, 0, R2);
    assembler.alu(Alu::Rest, R2, i32::from(max - min) + 1);
    assembler.alu_32(Alu::Add, R2, i32::from(min));
    assembler.alu_32(Alu::ShiftLeft, R2, i32::from(shift));
    assembler.load(Size::Byte, R1, R10, at);
    assembler.alu_32(Alu::And, R1, i32::from(!mask));
    assembler.alu_32(Alu::Or, R1, R2);
    assembler.store(Size::Byte, R10, at, R1);
}

/// Of the frame, from R10.
fn start(generator: &Generator<'_>) -> i16 {
    -generator.frame_bytes()
}

/// Of a byte of the payload.
fn byte(generator: &Generator<'_>, index: i16) -> i16 {
    start(generator) + PAYLOAD + index
}

fn bits_of_byte(generator: &mut Generator<'_>, at: i16, bits: Bits<u8>) {
    generator.assembler.load(Size::Byte, R1, R7, at);
    generator.assembler.alu_32(Alu::And, R1, i32::from(bits.keep));
    generator.assembler.alu_32(Alu::Xor, R1, i32::from(bits.flip));
}

/// R1 and a number of 64 bits.
fn wide(generator: &mut Generator<'_>, operation: Alu, number: u64) {
    // As an immediate, it would get the sign of its lower half.
    match i32::try_from(number.cast_signed()) {
        Ok(number) => generator.assembler.alu(operation, R1, number),
        Err(_long) => {
            generator.assembler.set_wide(R2, number);
            generator.assembler.alu(operation, R1, R2);
        }
    }
}

/// The raw DLC is the length, or `len8_dlc` of a frame of 8 bytes that has one from 9 to 15.
fn raw_dlc(generator: &mut Generator<'_>, bits: Bits<u8>, delete: Label) {
    let (frame, most) = (start(generator), i32::from(CAN_MAX_RAW_DLC));
    let assembler = &mut generator.assembler;
    let (plain, short) = (assembler.label(), assembler.label());
    assembler.load(Size::Byte, R1, R7, LEN);
    assembler.load(Size::Byte, R2, R7, RAW_DLC);
    assembler.jump_if_32(Condition::NotEqual, R1, EIGHT, plain);
    assembler.jump_if_32(Condition::AtMost, R2, EIGHT, plain);
    assembler.jump_if_32(Condition::Above, R2, most, plain);
    assembler.set(R1, R2);
    assembler.place(plain);
    assembler.alu_32(Alu::And, R1, i32::from(bits.keep));
    assembler.alu_32(Alu::Xor, R1, i32::from(bits.flip));
    assembler.jump_if_32(Condition::Above, R1, most, delete);
    assembler.set(R2, 0);
    assembler.jump_if_32(Condition::AtMost, R1, EIGHT, short);
    assembler.set(R2, R1);
    assembler.set(R1, EIGHT);
    assembler.place(short);
    assembler.store(Size::Byte, R10, frame + LEN, R1);
    assembler.store(Size::Byte, R10, frame + RAW_DLC, R2);
}

/// Positions of a span: known now, or in R3, R4 and R5.
enum Walk {
    Fixed {
        from: i16,
        to: i16,
        result: i16,
    },
    /// First byte, last byte, result.
    ByLength,
}

/// Jumps to `skip` if a position is outside of the frame; `None` if one always is.
fn resolve(generator: &mut Generator<'_>, span: ChecksumSpan, skip: Label) -> Option<Walk> {
    let most = generator.payload_bytes();
    let positions = [span.from, span.to, span.result].map(i16::from);
    if positions.iter().any(|&position| position >= most) {
        return None;
    }
    let [from, to, result] = positions;
    if !span.is_relative() {
        return Some(Walk::Fixed { from, to, result });
    }
    let len = start(generator) + LEN;
    for (register, position) in [R3, R4, R5].into_iter().zip(positions) {
        if position >= 0 {
            generator.assembler.set(register, i32::from(position));
            continue;
        }
        generator.assembler.load(Size::Byte, register, R10, len);
        generator.assembler.alu(Alu::Add, register, i32::from(position));
        // Below 0 it is a very large number.
        generator.assembler.jump_if(Condition::AtLeast, register, i32::from(most), skip);
    }
    Some(Walk::ByLength)
}

/// Each byte of the span, in its order.
fn each_byte(generator: &mut Generator<'_>, walk: &Walk, mut step: impl FnMut(&mut Generator<'_>, i16)) {
    match *walk {
        Walk::Fixed { from, to, .. } => {
            let indices: Vec<i16> = if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() };
            for index in indices {
                let at = byte(generator, index);
                step(generator, at);
            }
        }
        Walk::ByLength => {
            let (downwards, done) = (generator.assembler.label(), generator.assembler.label());
            let most = generator.payload_bytes();
            generator.assembler.jump_if(Condition::Above, R3, R4, downwards);
            for index in 0..most {
                between(generator, [R3, R4], index, &mut step);
            }
            generator.assembler.jump(done);
            generator.assembler.place(downwards);
            for index in (0..most).rev() {
                between(generator, [R4, R3], index, &mut step);
            }
            generator.assembler.place(done);
        }
    }
}

/// A step if the index is from the first to the last.
fn between(
    generator: &mut Generator<'_>,
    [first, last]: [Register; 2],
    index: i16,
    step: &mut impl FnMut(&mut Generator<'_>, i16),
) {
    let skip = generator.assembler.label();
    let number = i32::from(index);
    generator.assembler.jump_if(Condition::Above, first, number, skip);
    generator.assembler.jump_if(Condition::Below, last, number, skip);
    let at = byte(generator, index);
    step(generator, at);
    generator.assembler.place(skip);
}

/// R8 becomes the byte of the result.
fn store_result(generator: &mut Generator<'_>, walk: &Walk) {
    match *walk {
        Walk::Fixed { result, .. } => {
            let at = byte(generator, result);
            generator.assembler.store(Size::Byte, R10, at, R8);
        }
        Walk::ByLength => {
            let done = generator.assembler.label();
            for index in 0..generator.payload_bytes() {
                let next = generator.assembler.label();
                generator.assembler.jump_if(Condition::NotEqual, R5, i32::from(index), next);
                let at = byte(generator, index);
                generator.assembler.store(Size::Byte, R10, at, R8);
                generator.assembler.jump(done);
                generator.assembler.place(next);
            }
            generator.assembler.place(done);
        }
    }
}

fn xor_on_stack(generator: &mut Generator<'_>, XorChecksum { span, init }: &XorChecksum) {
    let skip = generator.assembler.label();
    if let Some(walk) = resolve(generator, *span, skip) {
        generator.assembler.set(R8, i32::from(*init));
        each_byte(generator, &walk, |generator, at| {
            generator.assembler.load(Size::Byte, R1, R10, at);
            generator.assembler.alu(Alu::Xor, R8, R1);
        });
        store_result(generator, &walk);
    }
    generator.assembler.place(skip);
}

fn crc8_on_stack(generator: &mut Generator<'_>, crc8: &Crc8Checksum) {
    let skip = generator.assembler.label();
    let Some(walk) = resolve(generator, crc8.span, skip) else { return };
    let table = generator.map(Map::Array(crc8.table.to_vec()));
    generator.assembler.set_map_value(R7, table);
    generator.assembler.set(R8, i32::from(crc8.init));
    each_byte(generator, &walk, |generator, at| {
        generator.assembler.load(Size::Byte, R1, R10, at);
        table_step(generator, R1);
    });
    match &crc8.profile {
        Crc8Profile::None => {}
        Crc8Profile::Byte(byte) => table_step(generator, i32::from(*byte)),
        Crc8Profile::ByteByCounter(bytes) => {
            let bytes = generator.map(Map::Array(bytes.to_vec()));
            let counter = byte(generator, 1);
            generator.assembler.load(Size::Byte, R1, R10, counter);
            generator.assembler.alu(Alu::And, R1, 0xF);
            generator.assembler.set_map_value(R2, bytes);
            generator.assembler.alu(Alu::Add, R2, R1);
            generator.assembler.load(Size::Byte, R1, R2, 0);
            table_step(generator, R1);
        }
        Crc8Profile::IdXor => {
            let frame = start(generator);
            generator.assembler.load(Size::Word, R1, R10, frame);
            generator.assembler.set(R2, R1);
            generator.assembler.alu(Alu::ShiftRight, R2, 8);
            generator.assembler.alu(Alu::Xor, R1, R2);
            generator.assembler.alu(Alu::And, R1, 0xFF);
            table_step(generator, R1);
        }
    }
    generator.assembler.alu(Alu::Xor, R8, i32::from(crc8.final_xor));
    store_result(generator, &walk);
    generator.assembler.place(skip);
}

/// R8 is the CRC, R7 its table. R0 is lost.
fn table_step(generator: &mut Generator<'_>, byte: impl Into<Operand>) {
    let assembler = &mut generator.assembler;
    assembler.alu(Alu::Xor, R8, byte);
    assembler.set(R0, R7);
    assembler.alu(Alu::Add, R0, R8);
    assembler.load(Size::Byte, R8, R0, 0);
}
