//! The band of a frame.

use candor_core::filter::Normalised;
use candor_core::frame::{CAN_SFF_MASK, RawId};

use crate::cli::Filters;

/// Bands by identifier: of 11-bit data frames in a table, of others by their filters.
#[derive(Debug)]
pub(crate) struct Bands {
    standard: Vec<u8>,
    filters: Vec<(Normalised, u8)>,
    /// Of all other frames.
    last: u8,
}

impl Bands {
    pub(crate) fn new(bands: &[Filters]) -> Self {
        let numbered = (0_u8..).zip(bands);
        let filters: Vec<_> = numbered
            .flat_map(|(band, Filters(filters))| filters.iter().map(move |filter| (filter.normalise(), band)))
            .collect();
        let last = u8::try_from(bands.len()).unwrap_or(u8::MAX);
        let mut found = Self { standard: Vec::new(), filters, last };
        if last > 0 {
            found.standard = (0..=CAN_SFF_MASK).map(|id| found.search(RawId(id))).collect();
        }
        found
    }

    /// 0 goes first.
    pub(crate) fn of(&self, id: RawId) -> u8 {
        let known = usize::try_from(id.0).ok().and_then(|id| self.standard.get(id));
        known.copied().unwrap_or_else(|| self.search(id))
    }

    fn search(&self, id: RawId) -> u8 {
        self.filters.iter().find(|(filter, _)| filter.matches(id)).map_or(self.last, |(_, band)| *band)
    }
}

#[cfg(test)]
mod tests {
    use candor_core::filter::Filter;

    use super::*;

    #[test]
    fn the_first_band_that_matches_has_the_frame() {
        let filters = |all: &[&str]| Filters(all.iter().map(|text| Filter::parse(text).unwrap()).collect());
        let bands = Bands::new(&[filters(&["080:C00007F0", "18FEF100"]), filters(&["000:C0000400"])]);
        for (id, band) in [(0x085, 0), (0x090, 1), (0x400, 2), (0x98FE_F100, 0), (0x98FE_F101, 2), (0x4000_0085, 2)] {
            assert_eq!(bands.of(RawId(id)), band, "{id:X}");
        }
        assert_eq!(Bands::new(&[]).of(RawId(0x123)), 0);
    }
}
