//! A slow and simple machine for the instructions that this crate makes, with what the kernel's verifier demands of memory.

use std::collections::HashMap;

use crate::assembler::{Instruction, MapIndex};
use crate::gateway::Map;

/// Addresses: the kind of memory in the upper half, an offset in the lower one.
const STACK: u64 = 1 << 32;
const BUFFER: u64 = 2 << 32;
const FRAME: u64 = 3 << 32;
const MAP: u64 = 4 << 32;
/// Values: and the number of the map in bits 20 to 31.
const VALUE: u64 = 5 << 32;
const ROOM_BITS: u32 = 20;
const ROOM: u64 = 1 << ROOM_BITS;

/// A CAN buffer, as far as programs see it.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) frame: Vec<u8>,
    pub(crate) control_block: [u8; 20],
    pub(crate) mark: [u8; 4],
    /// Receive timestamp, and TAI now, in nanoseconds.
    pub(crate) clocks: [u64; 2],
}

/// Values of maps, by map.
#[derive(Clone, Debug)]
pub(crate) struct Maps(Vec<(Vec<u8>, HashMap<u32, usize>)>);

impl Maps {
    pub(crate) fn new(maps: &[Map]) -> Self {
        let map = |map: &Map| match map {
            Map::Array(value) => (value.clone(), HashMap::new()),
            Map::Hash(entries) => (
                entries.iter().flat_map(|(_, bits)| bits.to_ne_bytes()).collect(),
                entries.iter().enumerate().map(|(at, (id, _))| (*id, 4 * at)).collect(),
            ),
            counters => (vec![0; counters.counter_bytes().unwrap()], HashMap::new()),
        };
        Self(maps.iter().map(map).collect())
    }

    pub(crate) fn set(&mut self, map: usize, number: u64) {
        self.0[map].0 = number.to_ne_bytes().to_vec();
    }

    /// By step.
    pub(crate) fn numbers(&self, map: usize) -> Vec<u64> {
        self.0[map].0.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect()
    }
}

/// The lower 32 bits.
const fn low(value: u64) -> u64 {
    value & 0xFFFF_FFFF
}

/// For `Program::with_maps`.
pub(crate) fn descriptor(map: MapIndex) -> i32 {
    i32::try_from(map.0).unwrap()
}

/// What is outside of a program.
pub(crate) trait World {
    /// The result of a load of 64 bits of this kind (`BPF_PSEUDO_…`).
    fn address(&self, kind: usize, number: u64) -> u64;
    fn load(&mut self, address: u64, bytes: usize) -> u64;
    fn store(&mut self, address: u64, bytes: usize, value: u64);
    /// Calls a helper.
    fn call(&mut self, helper: u64, arguments: [u64; 5], stack: &Stack) -> u64;
    /// Calls a function of the kernel.
    fn call_kernel(&mut self, function: u64, arguments: [u64; 5]) -> u64 {
        panic!("function {function} of the kernel with {arguments:?}")
    }
}

pub(crate) struct Stack([u8; 512]);

impl Stack {
    pub(crate) fn load(&self, address: u64, bytes: usize) -> u64 {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.0[Self::range(address, bytes)]);
        u64::from_ne_bytes(value)
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) {
        self.0[Self::range(address, bytes)].copy_from_slice(&value.to_ne_bytes()[..bytes]);
    }

    fn range(address: u64, bytes: usize) -> std::ops::Range<usize> {
        let offset = usize::try_from(address - STACK).unwrap();
        assert_eq!(offset % bytes, 0, "not aligned");
        offset..offset + bytes
    }

    const fn has(address: u64) -> bool {
        address >> 32 == STACK >> 32
    }
}

/// Runs a program of a gateway; the result is that of the program, and the number of executed instructions.
pub(crate) fn run(program: &[Instruction], buffer: &mut Buffer, maps: &mut Maps) -> (u64, usize) {
    execute(program, BUFFER, &mut Memory { buffer, maps })
}

/// Runs a program with this address of its context; the result is that of the program, and the number of executed
/// instructions.
pub(crate) fn execute(program: &[Instruction], context: u64, world: &mut impl World) -> (u64, usize) {
    let mut registers = [0_u64; 11];
    (registers[1], registers[10]) = (context, STACK + 512);
    let mut stack = Stack([0; 512]);
    let mut at = 0;
    for steps in 1..1_000_000 {
        let [code, register, o0, o1, n0, n1, n2, n3] = program[at];
        let (to, from) = (usize::from(register & 0xF), usize::from(register >> 4));
        let offset = i16::from_ne_bytes([o0, o1]);
        let number = i64::from(i32::from_ne_bytes([n0, n1, n2, n3])).cast_unsigned();
        at += 1;
        let bytes = match code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            _ => 8,
        };
        let place = |address: u64| address.wrapping_add_signed(i64::from(offset));
        match code & 7 {
            0 => {
                let [_, _, _, _, h0, h1, h2, h3] = program[at];
                at += 1;
                registers[to] = match from {
                    0 => number & 0xFFFF_FFFF | u64::from(u32::from_ne_bytes([h0, h1, h2, h3])) << 32,
                    kind => world.address(kind, number),
                };
            }
            1 => {
                let address = place(registers[from]);
                registers[to] =
                    if Stack::has(address) { stack.load(address, bytes) } else { world.load(address, bytes) };
            }
            2 | 3 => {
                let address = place(registers[to]);
                let value = if code & 7 == 2 { number } else { registers[from] };
                let sum = code >> 5 == 6;
                if Stack::has(address) {
                    assert!(!sum, "the stack needs no undivided sum");
                    stack.store(address, bytes, value);
                } else {
                    let before = if sum { world.load(address, bytes) } else { 0 };
                    world.store(address, bytes, before.wrapping_add(value));
                    if sum && number == 1 {
                        registers[from] = before;
                    }
                }
            }
            class @ (4 | 7) => {
                let right = if code & 8 == 0 { number } else { registers[from] };
                let (left, right) = if class == 4 { (low(registers[to]), low(right)) } else { (registers[to], right) };
                let value = match code & 0xF0 {
                    0x00 => left.wrapping_add(right),
                    0x10 => left.wrapping_sub(right),
                    0x40 => left | right,
                    0x50 => left & right,
                    0x60 => left << right,
                    0x70 => left >> right,
                    0x90 => left % right,
                    0xA0 => left ^ right,
                    0xB0 => right,
                    other => panic!("operation {other:x}"),
                };
                registers[to] = if class == 4 { low(value) } else { value };
            }
            _ if code == 0x95 => return (registers[0], steps),
            _ if code == 0x85 => {
                let arguments = *registers[1..].first_chunk().unwrap();
                registers[0] = match from {
                    0 => world.call(number, arguments, &stack),
                    _ => world.call_kernel(number, arguments),
                };
                // Lost in a call.
                registers[1..6].fill(u64::MAX);
            }
            // The loop ends by itself.
            _ if code == 0xE5 => {}
            class => {
                let right = if code & 8 == 0 { number } else { registers[from] };
                let (left, right) = if class == 6 { (low(registers[to]), low(right)) } else { (registers[to], right) };
                let jumps = match code & 0xF0 {
                    0x00 => true,
                    0x10 => left == right,
                    0x20 => left > right,
                    0x30 => left >= right,
                    0x40 => left & right != 0,
                    0x50 => left != right,
                    0xA0 => left < right,
                    0xB0 => left <= right,
                    other => panic!("jump {other:x}"),
                };
                if jumps {
                    at = at.checked_add_signed(isize::from(offset)).unwrap();
                }
            }
        }
    }
    panic!("the program does not end")
}

struct Memory<'a> {
    buffer: &'a mut Buffer,
    maps: &'a mut Maps,
}

impl World for Memory<'_> {
    fn address(&self, kind: usize, number: u64) -> u64 {
        match kind {
            1 => MAP + number,
            _ => VALUE + number * ROOM,
        }
    }

    fn load(&mut self, address: u64, bytes: usize) -> u64 {
        if [BUFFER + 76, BUFFER + 80].contains(&address) {
            assert_eq!(bytes, 4);
            return if address == BUFFER + 76 { FRAME } else { FRAME + self.buffer.frame.len() as u64 };
        }
        if address == BUFFER + 152 {
            assert_eq!(bytes, 8);
            return self.buffer.clocks[0];
        }
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(self.place(address, bytes));
        u64::from_ne_bytes(value)
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) {
        assert_ne!(address & !0xFFFF_FFFF, FRAME, "frames are written by a helper");
        self.place(address, bytes).copy_from_slice(&value.to_ne_bytes()[..bytes]);
    }

    fn call(&mut self, helper: u64, [first, second, third, fourth, _]: [u64; 5], stack: &Stack) -> u64 {
        match helper {
            1 => {
                let map = usize::try_from(first - MAP).unwrap();
                let key = u32::try_from(stack.load(second, 4)).unwrap();
                let found = self.maps.0[map].1.get(&key);
                found.map_or(0, |value| VALUE + map as u64 * ROOM + *value as u64)
            }
            9 => {
                for byte in 0..fourth {
                    let value = stack.load(third + byte, 1);
                    self.buffer.frame[usize::try_from(second + byte).unwrap()] = value.to_le_bytes()[0];
                }
                0
            }
            208 => self.buffer.clocks[1],
            other => panic!("helper {other}"),
        }
    }
}

impl Memory<'_> {
    fn place(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let offset = usize::try_from(address & 0xFFFF_FFFF).unwrap();
        let (memory, offset): (&mut [u8], _) = match address & !0xFFFF_FFFF {
            BUFFER if offset < 48 => (&mut self.buffer.mark, offset.checked_sub(8).unwrap()),
            BUFFER => (&mut self.buffer.control_block, offset - 48),
            FRAME => (&mut self.buffer.frame, offset),
            VALUE => (&mut self.maps.0[offset >> ROOM_BITS].0, offset & ((1 << ROOM_BITS) - 1)),
            other => panic!("address {other:x}"),
        };
        assert_eq!(offset % bytes, 0, "not aligned");
        &mut memory[offset..offset + bytes]
    }
}
