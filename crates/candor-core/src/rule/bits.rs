//! The four operations on a field, as one AND and one XOR.

use core::ops::{BitAnd, BitOr, BitXor, Not};

use super::{Modifications, Operand, Operation};

/// `value & keep ^ flip`: each bit is kept, flipped, cleared or set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits<T> {
    /// Bits to keep; the others are cleared.
    pub keep: T,
    /// Bits to flip afterwards.
    pub flip: T,
}

/// An unsigned integer as a set of bits.
pub trait Field:
    Copy + BitAnd<Output = Self> + BitXor<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    /// No bit.
    const ZERO: Self;
    /// All bits.
    const ONES: Self;
}

impl Field for u8 {
    const ZERO: Self = 0;
    const ONES: Self = Self::MAX;
}

impl Field for u32 {
    const ZERO: Self = 0;
    const ONES: Self = Self::MAX;
}

impl Field for u64 {
    const ZERO: Self = 0;
    const ONES: Self = Self::MAX;
}

impl<T: Field> Bits<T> {
    /// Keeps all bits.
    pub const SAME: Self = Self { keep: T::ONES, flip: T::ZERO };

    /// The changed value.
    #[must_use]
    pub fn on(self, value: T) -> T {
        value & self.keep ^ self.flip
    }

    /// The change followed by one more operation.
    fn then(self, operation: Operation, operand: T) -> Self {
        let Self { keep, flip } = self;
        match operation {
            Operation::And => Self { keep: keep & operand, flip: flip & operand },
            Operation::Or => Self { keep: keep & !operand, flip: flip | operand },
            Operation::Xor => Self { keep, flip: flip ^ operand },
            Operation::Set => Self { keep: T::ZERO, flip: operand },
        }
    }
}

impl Bits<u64> {
    /// Changes eight bytes.
    pub fn on_bytes(self, bytes: &mut [u8; 8]) {
        *bytes = self.on(u64::from_ne_bytes(*bytes)).to_ne_bytes();
    }
}

impl Modifications {
    /// Combines the four operations on one field. `None` if no operand has the field.
    pub fn combined<T: Field>(&self, field: impl Fn(&Operand) -> Option<T>) -> Option<Bits<T>> {
        let mut bits = None;
        for (operation, operand) in self.operands() {
            if let Some(operand) = field(operand) {
                bits = Some(bits.unwrap_or(Bits::<T>::SAME).then(operation, operand));
            }
        }
        bits
    }

    /// The combined operations on the data in words of eight bytes, in host byte order.
    pub fn data_words(&self) -> [Bits<u64>; 8] {
        core::array::from_fn(|at| {
            let word = |operand: &Operand| Some(u64::from_ne_bytes(operand.data?.as_chunks().0[at]));
            self.combined(word).unwrap_or(Bits::<u64>::SAME)
        })
    }
}
