//! How long a frame took.

/// A latency in nanoseconds. In the instruction-counted laboratory one nanosecond is one instruction.
///
/// Signed, because a latency is a difference of stamps minus a computed frame time, and an imprecise stamp must show
/// instead of being cut off at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LatencyNs(pub i64);

impl LatencyNs {
    /// The same latency in microseconds, for people.
    #[must_use]
    pub fn microseconds(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "latencies stay far below 2^53 ns, which is 104 days")]
        let nanoseconds = self.0 as f64;
        nanoseconds / 1000.0
    }

    /// How many times this latency is as long as another; `None` unless the other is above zero.
    #[must_use]
    pub fn ratio_to(self, base: Self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "latencies stay far below 2^53 ns, which is 104 days")]
        let (latency, base) = (self.0 as f64, base.0 as f64);
        (base > 0.0).then(|| latency / base)
    }
}
