//! Disciplines of a [kind], option by option.

use crate::discipline::{ByteRate, Discipline};
use crate::kinds::option::{Width, Wire};
use crate::kinds::{Kind, Opt, Unit, kind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers for every option, each list as it is set.
fn with(kind: &'static Kind, numbers: fn(&Kind, &Opt) -> BoxedStrategy<Vec<i128>>) -> BoxedStrategy<Discipline> {
    let options: Vec<_> = kind.options.iter().map(|option| numbers(kind, option)).collect();
    options
        .prop_map(|numbers| {
            let mut discipline = (kind.usual)();
            for (option, numbers) in kind.options.iter().zip(numbers) {
                (option.field.set)(&mut discipline, &numbers).expect("the strategy stays within the field");
            }
            discipline
        })
        .boxed()
}

pub(super) fn on_the_wire(name: &str) -> BoxedStrategy<Discipline> {
    let kind = kind(name).expect("a kind of the table");
    let all = with(kind, wire_numbers);
    if kind.optional { prop_oneof![all, Just((kind.usual)())].boxed() } else { all }
}

fn wire_numbers(kind: &Kind, option: &Opt) -> BoxedStrategy<Vec<i128>> {
    let (mut least, mut most) = match option.wire {
        Wire::Nowhere => return Just(Vec::new()).boxed(),
        Wire::Attribute(_, Width::U8) | Wire::Each(_, _, Width::U8) | Wire::Struct(_, Width::U8) => (0, u8::MAX.into()),
        Wire::Struct(_, Width::I32) => (i32::MIN.into(), i32::MAX.into()),
        Wire::Bit(..) => (0, 1),
        Wire::Time(..) => (0, i64::MAX.into()),
        Wire::ZeroIsNone(_) => (1, u32::MAX.into()),
        _ => (0, u32::MAX.into()),
    };
    // A field may have less room than the message.
    if (option.field.set)(&mut (kind.usual)(), &[most]).is_none() {
        (least, most) = option.bounds;
    }
    let may_be_missing = (option.field.get)(&(kind.usual)()).is_empty();
    match option.wire {
        Wire::Each(..) => vec(least..=most, 0..=option.most).boxed(),
        Wire::Attribute(..) | Wire::ZeroIsNone(_) if may_be_missing => vec(least..=most, 0..=1).boxed(),
        _ => vec(least..=most, option.most).boxed(),
    }
}

/// Disciplines that `tc` can make.
pub(super) fn in_text(name: &str) -> BoxedStrategy<Discipline> {
    with(kind(name).expect("a kind of the table"), text_numbers)
}

fn text_numbers(kind: &Kind, option: &Opt) -> BoxedStrategy<Vec<i128>> {
    let (least, most) = option.bounds;
    let number = match option.unit {
        Unit::Ignored => return Just(Vec::new()).boxed(),
        Unit::Switch => (0..=1_i128).boxed(),
        Unit::Clock => select(CLOCKS.as_slice()).prop_map(i128::from).boxed(),
        Unit::PowerOfTwo => (0..=16_u32).prop_map(|power| 1 << power).boxed(),
        Unit::Percent => prop_oneof![2 => Just(0), 1 => any::<u32>().prop_map(i128::from), 1 => Just(most)].boxed(),
        // Whole microseconds.
        Unit::Time => prop_oneof![
            Just(0),
            (0..20_i128).prop_map(|ms| ms * 1_000_000),
            (0..10_000_000_i128).prop_map(|us| us * 1000)
        ]
        .boxed(),
        Unit::Signed => (least..=most).boxed(),
        _ => prop_oneof![
            quantity().prop_map(move |number| i128::from(number).clamp(least, most)),
            least.max(1)..=most.min(100)
        ]
        .boxed(),
    };
    let may_be_missing = (option.field.get)(&(kind.usual)()).is_empty();
    vec(number, usize::from(!may_be_missing)..=1).boxed()
}

/// `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME` and `CLOCK_TAI`.
const CLOCKS: [i32; 4] = [0, 1, 7, 11];

pub(super) fn quantity() -> impl Strategy<Value = u32> {
    prop_oneof![1..=100_u32, select([16, 72, 256, 1000, 1024, 1600, 2048, 65_536].as_slice()), 1..=u32::MAX]
}

/// Rates from 1 byte/s, among them round ones and those of whole frames.
pub fn rate() -> impl Strategy<Value = ByteRate> {
    prop_oneof![
        (1..=5000_u64).prop_map(|frames| ByteRate(frames * 16)),
        (1..=1000_u64).prop_map(|kbit| ByteRate(kbit * 125)),
        (1..=u64::from(u32::MAX)).prop_map(ByteRate),
    ]
}
