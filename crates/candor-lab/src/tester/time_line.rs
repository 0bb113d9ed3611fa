use candor_io::clock::AdapterNs;

/// Places stamps on the time line of the record.
///
/// Kernel stamps stay as they are. Adapter stamps, whose clock starts anywhere, are shifted by one constant so that the
/// first of a series falls on the kernel stamp of its frame. Differences remain the adapter's own; the series drifts
/// against the machine's clock as the two clocks do.
#[derive(Debug, Default)]
pub(crate) struct TimeLine {
    /// Start of the adapter's clock on the time line of the record.
    adapter_begins_ns: Option<i64>,
}

impl TimeLine {
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
        // Independent of the kernel stamps of later frames.
        assert_eq!((place(1_900, 7_000_350), place(0, 6_999_900)), (1_350, 900));
        assert_eq!((place(0, i64::MAX), place(0, i64::MIN)), (i64::MAX - 6_999_000, i64::MIN));
    }

    #[test]
    fn stamps_of_the_kernel_stay() {
        let mut line = TimeLine::default();
        assert_eq!([5, -3, 900].map(|ns| line.place(ns, None)), [5, -3, 900]);
    }
}
