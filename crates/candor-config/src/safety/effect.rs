//! The effect of a route on length, flags and data.

use crate::plan::{Computed, Formats, Route, SendAs};
use candor_core::frame::CANFD_MAX_DLEN;
use candor_core::rule::{Checksums, Operation};

/// Equal for routes with the same effect, in most notations. Different effects may still give equal lengths or checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    computed: [Option<Computed>; 3],
    send_as: Option<SendAs>,
    /// Indexed by operation: AND, OR, XOR, SET.
    len: [Option<u8>; 4],
    flags: Byte,
    data: [Byte; CANFD_MAX_DLEN],
    checksums: Checksums,
}

/// Keeps some bits of a byte, then flips some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Byte {
    keep: u8,
    flip: u8,
}

impl Effect {
    pub(super) fn of(route: &Route) -> Self {
        let mut effect = Self {
            computed: [&route.checked, &route.computed, &route.protected].map(Clone::clone),
            send_as: route.send_as,
            len: [None; 4],
            flags: Byte::SAME,
            data: [Byte::SAME; CANFD_MAX_DLEN],
            checksums: route.checksums,
        };
        let outgoing = route.send_as.map_or(route.formats, |send_as| Formats::Only(send_as.format()));
        let room = outgoing.list().iter().map(|format| format.max_len()).max().unwrap_or(CANFD_MAX_DLEN);
        for (at, (operation, operand)) in route.modifications.operands().into_iter().enumerate() {
            effect.len[at] = operand.len;
            effect.flags = operand.flags.map_or(effect.flags, |flags| effect.flags.then(operation, flags));
            // Bytes after the end of these frames have no effect.
            for (byte, operand) in effect.data.iter_mut().take(room).zip(operand.data.iter().flatten()) {
                *byte = byte.then(operation, *operand);
            }
        }
        effect
    }
}

impl Byte {
    const SAME: Self = Self { keep: 0xFF, flip: 0 };

    const fn then(self, operation: Operation, operand: u8) -> Self {
        let Self { keep, flip } = self;
        match operation {
            Operation::And => Self { keep: keep & operand, flip: flip & operand },
            Operation::Or => Self { keep: keep & !operand, flip: flip | operand },
            Operation::Xor => Self { keep, flip: flip ^ operand },
            Operation::Set => Self { keep: 0, flip: operand },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::route;
    use candor_core::arbitrary;
    use candor_core::filter::Filter;

    proptest! {
        #[test]
        fn bytes_equal_those_of_the_rule(frame in arbitrary::any_frame(), job in arbitrary::job(2)) {
            let effect = Effect::of(&Route { modifications: job.modifications, ..route("r", 0, 1, Filter::ALL) });
            let mut changed = frame;
            job.modifications.apply(&mut changed);
            for (at, byte) in changed.data.iter().enumerate().take(frame.format.max_len()) {
                prop_assert_eq!(*byte, frame.data[at] & effect.data[at].keep ^ effect.data[at].flip);
            }
        }
    }
}
