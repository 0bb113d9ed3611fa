//! Traffic of four identifiers, at random.

use candor_learn::Recorded;
use proptest::prelude::*;

pub(crate) fn traffic(most: usize) -> impl Strategy<Value = Vec<Recorded>> {
    let one = (0..4_u32, 0..20_000_000_u64, prop::collection::vec(0..3_u8, 0..=8), prop::bool::weighted(0.05));
    prop::collection::vec(one, 1..most).prop_map(|all| {
        let mut at_ns = 0;
        let make = |(id, gap, payload, is_remote): (u32, u64, Vec<u8>, bool)| {
            at_ns += gap;
            let payload = if is_remote { Vec::new() } else { payload };
            Recorded { at_ns, id: 0x100 + id, is_remote, payload }
        };
        all.into_iter().map(make).collect()
    })
}
