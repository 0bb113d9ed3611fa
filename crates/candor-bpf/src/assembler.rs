//! A program with labels and maps, which becomes the kernel's instructions.
//!
//! # Source
//! The [instruction set](https://docs.kernel.org/bpf/standardization/instruction-set.html) (RFC 9669);
//! [`struct bpf_insn`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/bpf.h#L71) and
//! [`BPF_PSEUDO_MAP_FD`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/bpf.h#L1176).

/// `BPF_FETCH`, with `BPF_ADD`.
const FETCH: i32 = 0x01;

pub const INSTRUCTION_BYTES: usize = 8;

/// `struct bpf_insn` in host byte order.
pub type Instruction = [u8; INSTRUCTION_BYTES];

/// A register. R0 holds results; R1 to R5 hold arguments and are lost in a call; R6 to R9 are kept; R10 is the end of the
/// stack of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// Width of a load or a store; its value is the size field of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Size {
    Word = 0x00,
    Half = 0x08,
    Byte = 0x10,
    Double = 0x18,
}

/// Operations on registers; the value is the operation field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Alu {
    Add = 0x00,
    Sub = 0x10,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    /// The rest of a division without sign.
    Rest = 0x90,
    Xor = 0xA0,
    Move = 0xB0,
}

/// Conditions of jumps, without sign; the value is the operation field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    Equal = 0x10,
    Above = 0x20,
    AtLeast = 0x30,
    /// Any bit in common.
    AnyBit = 0x40,
    NotEqual = 0x50,
    Below = 0xA0,
    AtMost = 0xB0,
}

/// The second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Register(Register),
    /// In operations on 64 bits, extended with its sign.
    Number(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Self {
        Self::Number(number)
    }
}

/// A place in a program, which jumps name before it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(usize);

/// A map by its position among the maps of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapIndex(pub usize);

/// Where the descriptor of a map belongs in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MapUse {
    instruction: usize,
    map: MapIndex,
}

/// Jumps reach 32767 instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a jump over {0} instructions is too long")]
pub struct TooFar(usize);

#[derive(Clone, Debug, Default)]
pub struct Assembler {
    instructions: Vec<Instruction>,
    /// By label.
    places: Vec<Option<usize>>,
    /// Jumps whose offset is not known.
    jumps: Vec<(usize, Label)>,
    maps: Vec<MapUse>,
}

/// A program whose maps have no descriptors yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    instructions: Vec<Instruction>,
    maps: Vec<MapUse>,
}

const CLASS_LOAD: u8 = 0x00;
const CLASS_LOAD_REGISTER: u8 = 0x01;
const CLASS_STORE_NUMBER: u8 = 0x02;
const CLASS_STORE_REGISTER: u8 = 0x03;
const CLASS_ALU_32: u8 = 0x04;
const CLASS_JUMP: u8 = 0x05;
const CLASS_JUMP_32: u8 = 0x06;
const CLASS_ALU_64: u8 = 0x07;
const MODE_MEMORY: u8 = 0x60;
const MODE_ATOMIC: u8 = 0xC0;
const SOURCE_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
/// `BPF_PSEUDO_KFUNC_CALL`, as the source register of a call.
const KERNEL_FUNCTION: u8 = 2;
/// `BPF_MAY_GOTO`: an own code of jumps.
const MAY_GOTO: u8 = 0xE5;
const EXIT: u8 = 0x95;
/// `BPF_PSEUDO_MAP_FD`, as the source register of a load of 64 bits.
const MAP: u8 = 1;
/// `BPF_PSEUDO_MAP_VALUE`.
const MAP_VALUE: u8 = 2;

impl Assembler {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A label to be [placed](Self::place) later.
    pub fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// The label names the next instruction.
    ///
    /// # Panics
    /// If it was placed before.
    pub fn place(&mut self, label: Label) {
        let before = self.places[label.0].replace(self.instructions.len());
        assert_eq!(before, None, "a label has one place");
    }

    /// True if a jump names the label. The kernel refuses instructions that nothing leads to.
    #[must_use]
    pub fn is_used(&self, label: Label) -> bool {
        self.jumps.iter().any(|(_, used)| *used == label)
    }

    /// An operation on 64 bits.
    pub fn alu(&mut self, operation: Alu, to: Register, operand: impl Into<Operand>) {
        self.operate(operation as u8 | CLASS_ALU_64, to, operand.into(), 0);
    }

    /// An operation on the lower 32 bits, which clears the upper ones.
    pub fn alu_32(&mut self, operation: Alu, to: Register, operand: impl Into<Operand>) {
        self.operate(operation as u8 | CLASS_ALU_32, to, operand.into(), 0);
    }

    pub fn set(&mut self, to: Register, operand: impl Into<Operand>) {
        self.alu(Alu::Move, to, operand);
    }

    /// A number of 64 bits.
    pub fn set_wide(&mut self, to: Register, number: u64) {
        self.wide(to, 0, number);
    }

    /// The map itself, for helpers.
    pub fn set_map(&mut self, to: Register, map: MapIndex) {
        self.maps.push(MapUse { instruction: self.instructions.len(), map });
        self.wide(to, MAP, 0);
    }

    /// The address of the only value of an array.
    pub fn set_map_value(&mut self, to: Register, map: MapIndex) {
        self.maps.push(MapUse { instruction: self.instructions.len(), map });
        self.wide(to, MAP_VALUE, 0);
    }

    pub fn load(&mut self, size: Size, to: Register, from: Register, offset: i16) {
        self.push(CLASS_LOAD_REGISTER | MODE_MEMORY | size as u8, to as u8, from as u8, offset, 0);
    }

    pub fn store(&mut self, size: Size, to: Register, offset: i16, operand: impl Into<Operand>) {
        match operand.into() {
            Operand::Register(from) => {
                self.push(CLASS_STORE_REGISTER | MODE_MEMORY | size as u8, to as u8, from as u8, offset, 0);
            }
            Operand::Number(number) => {
                self.push(CLASS_STORE_NUMBER | MODE_MEMORY | size as u8, to as u8, 0, offset, number);
            }
        }
    }

    /// Adds to 64 bits of memory, undivided.
    pub fn add_to_memory(&mut self, to: Register, offset: i16, from: Register) {
        self.push(CLASS_STORE_REGISTER | MODE_ATOMIC | Size::Double as u8, to as u8, from as u8, offset, 0);
    }

    /// The same, and the register becomes what was there before.
    ///
    /// # Kernel
    /// Linux 5.12 or later.
    pub fn add_and_fetch(&mut self, to: Register, offset: i16, from: Register) {
        let code = CLASS_STORE_REGISTER | MODE_ATOMIC | Size::Double as u8;
        self.push(code, to as u8, from as u8, offset, FETCH);
    }

    /// Compares 64 bits.
    pub fn jump_if(&mut self, condition: Condition, register: Register, operand: impl Into<Operand>, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.operate(condition as u8 | CLASS_JUMP, register, operand.into(), 0);
    }

    /// Compares the lower 32 bits.
    pub fn jump_if_32(&mut self, condition: Condition, register: Register, operand: impl Into<Operand>, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.operate(condition as u8 | CLASS_JUMP_32, register, operand.into(), 0);
    }

    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(CLASS_JUMP, 0, 0, 0, 0);
    }

    /// Calls a helper of the kernel, `BPF_FUNC_…`.
    pub fn call(&mut self, helper: i32) {
        self.push(CALL, 0, 0, 0, helper);
    }

    /// Calls a function of the kernel that is open to programs (a "kfunc"), by the number of its type among the types of
    /// the kernel.
    pub fn call_kernel(&mut self, function: i32) {
        self.push(CALL, 0, KERNEL_FUNCTION, 0, function);
    }

    /// Jumps once this loop has run 8 million times or a quarter of a second, so that the kernel needs no other proof that
    /// it ends.
    ///
    /// # Kernel
    /// Linux 6.9 or later.
    pub fn leave_if_endless(&mut self, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(MAY_GOTO, 0, 0, 0, 0);
    }

    pub fn exit(&mut self) {
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// # Errors
    /// [`TooFar`] for a jump over more than 32767 instructions.
    ///
    /// # Panics
    /// If a label of a jump was not placed.
    pub fn finish(mut self) -> Result<Program, TooFar> {
        for (at, label) in self.jumps {
            let place = self.places[label.0].expect("a label that is used has a place");
            let distance = place.wrapping_sub(at + 1).cast_signed();
            let offset = i16::try_from(distance).map_err(|_overflow| TooFar(distance.unsigned_abs()))?;
            self.instructions[at][2..4].copy_from_slice(&offset.to_ne_bytes());
        }
        Ok(Program { instructions: self.instructions, maps: self.maps })
    }

    fn operate(&mut self, code: u8, to: Register, operand: Operand, offset: i16) {
        match operand {
            Operand::Register(from) => self.push(code | SOURCE_REGISTER, to as u8, from as u8, offset, 0),
            Operand::Number(number) => self.push(code, to as u8, 0, offset, number),
        }
    }

    fn wide(&mut self, to: Register, kind: u8, number: u64) {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = number.to_le_bytes();
        let half = i32::from_le_bytes;
        self.push(CLASS_LOAD | Size::Double as u8, to as u8, kind, 0, half([b0, b1, b2, b3]));
        self.push(0, 0, 0, 0, half([b4, b5, b6, b7]));
    }

    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        let ([o0, o1], [n0, n1, n2, n3]) = (offset.to_ne_bytes(), number.to_ne_bytes());
        self.instructions.push([code, registers, o0, o1, n0, n1, n2, n3]);
    }
}

impl Program {
    /// The instructions, with a descriptor for each map.
    #[must_use]
    pub fn with_maps(&self, descriptor: impl Fn(MapIndex) -> i32) -> Vec<Instruction> {
        let mut instructions = self.instructions.clone();
        for MapUse { instruction, map } in &self.maps {
            instructions[*instruction][4..].copy_from_slice(&descriptor(*map).to_ne_bytes());
        }
        instructions
    }

    /// Number of instructions; those of 64 bits count twice.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump_over(count: usize) -> Result<Program, TooFar> {
        let mut assembler = Assembler::new();
        let end = assembler.label();
        assembler.jump(end);
        (0..count).for_each(|_| assembler.set(Register::R0, 0));
        assembler.place(end);
        assembler.exit();
        assembler.finish()
    }

    #[test]
    fn jumps_have_a_reach() {
        assert!(jump_over(32_767).is_ok());
        assert_eq!(jump_over(32_768), Err(TooFar(32_768)));
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn maps_get_their_descriptors() {
        let mut assembler = Assembler::new();
        assembler.set_map_value(Register::R1, MapIndex(1));
        assembler.set_map(Register::R2, MapIndex(0));
        assembler.exit();
        let program = assembler.finish().unwrap().with_maps(|MapIndex(map)| [7, 8][map]);
        let expected: [Instruction; 5] = [
            [0x18, 0x21, 0, 0, 8, 0, 0, 0],
            [0; 8],
            [0x18, 0x12, 0, 0, 7, 0, 0, 0],
            [0; 8],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(program, expected);
    }
}
