//! Reproducible random numbers.

/// SplitMix64, for pauses, frames and sampling. Not cryptographic.
///
/// ```
/// let mut random = candor_core::random::SplitMix64::new(1_234_567);
/// assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
/// ```
///
/// # Source
/// G. L. Steele, D. Lea, C. H. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014,
/// <https://doi.org/10.1145/2660193.2660195>, with the constants of S. Vigna's
/// [splitmix64.c](https://prng.di.unimi.it/splitmix64.c).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator with this seed, which callers record.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number. All 64 bits are random.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An index into a list of this length; 0 for an empty list.
    pub fn below(&mut self, length: usize) -> usize {
        let product = u128::from(self.next_u64()) * length as u128;
        usize::try_from(product >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers for the seed 1234567, from other implementations.
    #[test]
    fn numbers_match_other_implementations() {
        let mut random = SplitMix64::new(1_234_567);
        let first = [0; 5].map(|_: u8| random.next_u64());
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(first, known);
    }

    #[test]
    fn indices_are_uniform() {
        let mut random = SplitMix64::new(1);
        let mut drawn = [0; 7];
        (0..70_000).for_each(|_| drawn[random.below(7)] += 1);
        assert!(drawn.iter().all(|count| (9_600..10_400).contains(count)), "{drawn:?}");
        assert_eq!(random.below(0), 0);
    }
}
