//! The description of a kind and of its options.

use std::time::Duration;

use crate::discipline::Discipline;

pub(crate) struct Kind {
    /// `TCA_KIND`.
    pub(crate) name: &'static str,
    /// The discipline that `tc` makes if no option is given.
    pub(crate) usual: fn() -> Discipline,
    /// The options in the order in which they are printed.
    pub(crate) options: &'static [Opt],
    pub(crate) record: Record,
    /// `TCA_OPTIONS` is left out if the discipline is the usual one.
    pub(crate) optional: bool,
    /// Nested attributes are marked with `NLA_F_NESTED`.
    pub(crate) marked: bool,
    /// Bits of the words of the struct that [`Discipline`] cannot express.
    pub(crate) no_bits: &'static [(usize, u32)],
    /// Attributes that [`Discipline`] cannot express.
    pub(crate) no_attributes: &'static [u16],
    /// Attributes that [`Discipline`] cannot express unless all of their bytes are 0.
    pub(crate) zero_attributes: &'static [u16],
    /// Checks conditions between options, and fills in those that follow from others.
    pub(crate) rule: fn(&mut Discipline) -> Result<(), Broken>,
    /// The first discipline as the kernel stores it, given the one that the kernel reports.
    pub(crate) kept: fn(&Discipline, &Discipline) -> Discipline,
}

/// A condition between options that does not hold, and the remedy.
pub(crate) type Broken = (String, &'static str);

#[derive(Clone, Copy)]
pub(crate) struct Opt {
    /// As `tc` writes it, the printed one first. None if its number follows that of the option before.
    pub(crate) words: &'static [&'static str],
    /// A word that may stand before the number and has no effect.
    pub(crate) filler: &'static str,
    pub(crate) unit: Unit,
    /// The numbers that `tc` accepts.
    pub(crate) bounds: (i128, i128),
    /// The largest count of numbers.
    pub(crate) most: usize,
    /// Printed even if it is as usual, and never missing in a message.
    pub(crate) always: bool,
    /// A value to suggest if the option is missing and must not be.
    pub(crate) required: Option<&'static str>,
    pub(crate) field: Slot,
    pub(crate) wire: Wire,
    /// Functions from a number to the number that a kernel stores; kernels differ.
    pub(crate) kept: &'static [fn(i128) -> i128],
}

/// Reading and writing of a field of [`Discipline`]. No number leaves the choice to the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) get: fn(&Discipline) -> Vec<i128>,
    /// `None` if the field has no room for the number.
    pub(crate) set: fn(&mut Discipline, &[i128]) -> Option<()>,
}

/// Notation of a number in `tc`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Number,
    Decimal,
    Signed,
    /// The minor number of a class, in hexadecimal.
    Minor,
    Bytes,
    /// A time, kept as microseconds.
    Microseconds,
    /// A time, kept as nanoseconds.
    Time,
    /// A share, kept in 2⁻³².
    Percent,
    PowerOfTwo,
    Clock,
    /// The word alone is 1.
    Switch,
    /// Accepted with a note: it has no effect on CAN.
    Ignored,
}

/// Place of an option in netlink messages. Numbers are offsets in the struct of the kind, or attributes.
#[derive(Clone, Copy)]
pub(crate) enum Wire {
    Nowhere,
    Attribute(u16, Width),
    /// A nested list of one attribute (the second) for each number.
    Each(u16, u16, Width),
    /// In the struct, one number after the other; 0 if the kernel is to choose.
    Struct(usize, Width),
    /// In the struct; 0 is read as left to the kernel.
    ZeroIsNone(usize),
    /// In the struct; the second number if the kernel is to choose.
    Or(usize, u32),
    /// A bit of a word in the struct.
    Bit(usize, u32),
    /// Ticks in the struct, for kernels before 4.15, and nanoseconds in an attribute.
    Time(usize, u16),
}

#[derive(Clone, Copy)]
pub(crate) enum Width {
    U8,
    U32,
    I32,
}

/// The struct in `TCA_OPTIONS`.
#[derive(Clone, Copy)]
pub(crate) enum Record {
    None,
    /// All of it: its length in bytes, and the length that kernels send at least.
    Bare(usize, usize),
    /// At the start, with attributes after it: its length.
    Leading(usize),
    /// In an attribute: its number, the length of the struct, and the version in its first word, if it has one.
    Attribute(u16, usize, Option<u32>),
}

impl Opt {
    pub(crate) fn is_called(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// True if `tc` accepts the number.
    pub(crate) fn accepts(&self, number: i128) -> bool {
        let is_right = self.unit != Unit::PowerOfTwo || number.count_ones() == 1;
        is_right && (self.bounds.0..=self.bounds.1).contains(&number)
    }
}

pub(crate) trait Field {
    fn get(&self) -> Vec<i128>;
    fn set(&mut self, numbers: &[i128]) -> Option<()>;
}

macro_rules! integers {
    ($($kind:ty)*) => {$(
        impl Field for $kind {
            fn get(&self) -> Vec<i128> {
                vec![i128::from(*self)]
            }

            fn set(&mut self, numbers: &[i128]) -> Option<()> {
                *self = numbers.first().map_or(Some(0), |number| (*number).try_into().ok())?;
                Some(())
            }
        }
    )*};
}
integers!(u8 u16 u32 i32);

impl Field for bool {
    fn get(&self) -> Vec<i128> {
        vec![i128::from(*self)]
    }

    fn set(&mut self, numbers: &[i128]) -> Option<()> {
        *self = numbers.first().is_some_and(|number| *number != 0);
        Some(())
    }
}

impl Field for Duration {
    fn get(&self) -> Vec<i128> {
        vec![i128::try_from(self.as_nanos()).unwrap_or(i128::MAX)]
    }

    fn set(&mut self, numbers: &[i128]) -> Option<()> {
        *self = Self::from_nanos(u64::try_from(*numbers.first()?).ok()?);
        Some(())
    }
}

impl Field for Option<u32> {
    fn get(&self) -> Vec<i128> {
        self.iter().copied().map(i128::from).collect()
    }

    fn set(&mut self, numbers: &[i128]) -> Option<()> {
        *self = numbers.first().map(|number| u32::try_from(*number)).transpose().ok()?;
        Some(())
    }
}

impl<T: Copy + Into<i128> + TryFrom<i128>> Field for Vec<T> {
    fn get(&self) -> Vec<i128> {
        self.iter().map(|number| (*number).into()).collect()
    }

    fn set(&mut self, numbers: &[i128]) -> Option<()> {
        *self = numbers.iter().map(|number| T::try_from(*number).ok()).collect::<Option<_>>()?;
        Some(())
    }
}

/// Fewer numbers leave the others as they are.
impl<const N: usize> Field for [u8; N] {
    fn get(&self) -> Vec<i128> {
        self.map(i128::from).to_vec()
    }

    fn set(&mut self, numbers: &[i128]) -> Option<()> {
        for (place, number) in self.iter_mut().zip(numbers) {
            *place = u8::try_from(*number).ok()?;
        }
        Some(())
    }
}
