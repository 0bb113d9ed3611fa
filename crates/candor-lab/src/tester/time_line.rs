//! Where the stamps of a series stand on the time line of its record.

use candor_io::clock::AdapterNs;

/// Stamps of the kernel stand where they are. Those of an adapter, whose clock begins anywhere, are all moved by one constant: the
/// first of a series comes to where the kernel's stamp of that frame is. So differences of stamps are the adapter's own, and a
/// series moves along the line of the machine's clock as far as the two clocks go at different paces.
#[derive(Debug, Default)]
pub(crate) struct TimeLine {
    /// Nanoseconds from the beginning of the record to that of the adapter's clock.
    adapter_begins_ns: Option<i64>,
}

impl TimeLine {
    /// The place of a frame whose kernel's stamp has this one.
    pub(crate) fn place(&mut self, kernel_ns: i64, adapter: Option<AdapterNs>) -> i64 {
        let Some(AdapterNs(adapter_ns)) = adapter else { return kernel_ns };
        let begin = *self.adapter_begins_ns.get_or_insert_with(|| kernel_ns.saturating_sub(adapter_ns));
        adapter_ns.saturating_add(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_constant_moves_all_stamps_of_an_adapter() {
        let mut line = TimeLine::default();
        let mut place = |kernel_ns, adapter_ns| line.place(kernel_ns, Some(AdapterNs(adapter_ns)));
        assert_eq!(place(1_000, 7_000_000), 1_000);
        // Whatever the kernel says of the others.
        assert_eq!((place(1_900, 7_000_350), place(0, 6_999_900)), (1_350, 900));
        assert_eq!((place(0, i64::MAX), place(0, i64::MIN)), (i64::MAX - 6_999_000, i64::MIN));
    }

    #[test]
    fn stamps_of_the_kernel_stay() {
        let mut line = TimeLine::default();
        assert_eq!([5, -3, 900].map(|ns| line.place(ns, None)), [5, -3, 900]);
    }
}
