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
}

/// Values of maps, by map.
#[derive(Clone, Debug)]
pub(crate) struct Maps(Vec<(Vec<u8>, HashMap<u32, usize>)>);

impl Maps {
    pub(crate) fn new(maps: &[Map]) -> Self {
        let map = |map: &Map| match map {
            Map::Array(value) => (value.clone(), HashMap::new()),
            Map::Deleted(steps) => (vec![0; 8 * steps], HashMap::new()),
            Map::Hash(entries) => (
                entries.iter().flat_map(|(_, bits)| bits.to_ne_bytes()).collect(),
                entries.iter().enumerate().map(|(at, (id, _))| (*id, 4 * at)).collect(),
            ),
        };
        Self(maps.iter().map(map).collect())
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

/// Runs a program; the result is that of the program, and the number of executed instructions.
pub(crate) fn run(program: &[Instruction], buffer: &mut Buffer, maps: &mut Maps) -> (u64, usize) {
    let mut registers = [0_u64; 11];
    (registers[1], registers[10]) = (BUFFER, STACK + 512);
    let mut stack = [0; 512];
    let mut at = 0;
    for steps in 1..100_000 {
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
        let mut memory = Memory { stack: &mut stack, buffer, maps };
        match code & 7 {
            0 => {
                let [_, _, _, _, h0, h1, h2, h3] = program[at];
                at += 1;
                registers[to] = match from {
                    0 => number & 0xFFFF_FFFF | u64::from(u32::from_ne_bytes([h0, h1, h2, h3])) << 32,
                    1 => MAP + number,
                    _ => VALUE + number * ROOM,
                };
            }
            1 => {
                let address = registers[from].wrapping_add_signed(i64::from(offset));
                registers[to] = memory.load(address, bytes);
            }
            2 | 3 if code >> 5 == 6 => {
                let address = registers[to].wrapping_add_signed(i64::from(offset));
                let value = memory.load(address, bytes).wrapping_add(registers[from]);
                memory.store(address, bytes, value);
            }
            2 | 3 => {
                let address = registers[to].wrapping_add_signed(i64::from(offset));
                memory.store(address, bytes, if code & 7 == 2 { number } else { registers[from] });
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
                    0xA0 => left ^ right,
                    0xB0 => right,
                    other => panic!("operation {other:x}"),
                };
                registers[to] = if class == 4 { low(value) } else { value };
            }
            _ if code == 0x95 => return (registers[0], steps),
            _ if code == 0x85 => {
                registers[0] = match number {
                    1 => {
                        let map = usize::try_from(registers[1] - MAP).unwrap();
                        let key = u32::try_from(memory.load(registers[2], 4)).unwrap();
                        let found = memory.maps.0[map].1.get(&key);
                        found.map_or(0, |value| VALUE + map as u64 * ROOM + *value as u64)
                    }
                    9 => {
                        let count = registers[4];
                        for byte in 0..count {
                            let value = memory.load(registers[3] + byte, 1);
                            memory.buffer.frame[usize::try_from(registers[2] + byte).unwrap()] = value.to_le_bytes()[0];
                        }
                        0
                    }
                    other => panic!("helper {other}"),
                };
                // Lost in a call.
                registers[1..6].fill(u64::MAX);
            }
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
    stack: &'a mut [u8; 512],
    buffer: &'a mut Buffer,
    maps: &'a mut Maps,
}

impl Memory<'_> {
    fn load(&mut self, address: u64, bytes: usize) -> u64 {
        if [BUFFER + 76, BUFFER + 80].contains(&address) {
            assert_eq!(bytes, 4);
            return if address == BUFFER + 76 { FRAME } else { FRAME + self.buffer.frame.len() as u64 };
        }
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(self.place(address, bytes));
        u64::from_ne_bytes(value)
    }

    fn store(&mut self, address: u64, bytes: usize, value: u64) {
        assert_ne!(address & !0xFFFF_FFFF, FRAME, "frames are written by a helper");
        self.place(address, bytes).copy_from_slice(&value.to_ne_bytes()[..bytes]);
    }

    fn place(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let offset = usize::try_from(address & 0xFFFF_FFFF).unwrap();
        let (memory, offset): (&mut [u8], _) = match address & !0xFFFF_FFFF {
            STACK => (self.stack, offset),
            BUFFER => (&mut self.buffer.control_block, offset.checked_sub(48).unwrap()),
            FRAME => (&mut self.buffer.frame, offset),
            VALUE => (&mut self.maps.0[offset >> ROOM_BITS].0, offset & ((1 << ROOM_BITS) - 1)),
            other => panic!("address {other:x}"),
        };
        assert_eq!(offset % bytes, 0, "not aligned");
        &mut memory[offset..offset + bytes]
    }
}
