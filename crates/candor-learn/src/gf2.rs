//! Linear algebra over the field with two elements.

/// Unknown bits, one for each column, whose columns have this XOR. Unknown bits that are not needed are 0, those of later columns
/// first. `None` if there are none.
pub(crate) fn solve(columns: &[u64], target: u64) -> Option<u64> {
    // Pairs of a value and the columns whose XOR it is. Each has a highest bit of its own.
    let mut basis: Vec<(u64, u64)> = Vec::new();
    let reduce = |basis: &[(u64, u64)], mut value: u64, mut of: u64| {
        for (row, columns) in basis {
            if value ^ row < value {
                (value, of) = (value ^ row, of ^ columns);
            }
        }
        (value, of)
    };
    for (at, column) in columns.iter().enumerate().take(64) {
        let (value, of) = reduce(&basis, *column, 1 << at);
        if value != 0 {
            basis.push((value, of));
            basis.sort_by_key(|(value, _)| core::cmp::Reverse(*value));
        }
    }
    match reduce(&basis, target, 0) {
        (0, of) => Some(of),
        _ => None,
    }
}

/// Counts linearly independent rows.
#[derive(Debug)]
pub(crate) struct Rank {
    /// By position of the highest bit.
    rows: Vec<Option<Vec<u64>>>,
    pub(crate) rank: usize,
}

impl Rank {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { rows: vec![None; 64 * bytes.div_ceil(8)], rank: 0 }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let word = |part: &[u8]| part.iter().fold(0, |word: u64, byte| word << 8 | u64::from(*byte));
        let mut row: Vec<u64> = bytes.chunks(8).map(word).collect();
        while let Some(at) = row.iter().position(|word| *word != 0) {
            let bit = 64 * at + row.get(at).map_or(0, |word| word.leading_zeros() as usize);
            match self.rows.get_mut(bit) {
                Some(Some(known)) => row.iter_mut().zip(known).for_each(|(word, known)| *word ^= *known),
                Some(free) => {
                    *free = Some(row);
                    self.rank += 1;
                    return;
                }
                None => return,
            }
        }
    }
}

/// A polynomial of a degree below 64·N. Bit i of word i/64 is the coefficient of x^i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Poly<const N: usize>([u64; N]);

impl<const N: usize> Poly<N> {
    pub(crate) const ZERO: Self = Self([0; N]);

    pub(crate) fn new(low: u64) -> Self {
        let mut words = [0; N];
        words[0] = low;
        Self(words)
    }

    /// x^width plus the lower terms.
    pub(crate) fn monic(width: u8, lower: u64) -> Self {
        let mut poly = Self::new(lower);
        if let Some(word) = poly.0.get_mut(usize::from(width) / 64) {
            *word |= 1 << (width % 64);
        }
        poly
    }

    /// Its terms below x^width.
    pub(crate) fn below(&self, width: u8) -> u64 {
        self.0[0] & u64::MAX >> (64 - u32::from(width))
    }

    /// Multiplies by x^bits, 1 to 63, and adds.
    pub(crate) fn push(&mut self, bits: u32, low: u64) {
        let mut carry = low;
        for word in &mut self.0 {
            (*word, carry) = (*word << bits | carry, *word >> (64 - bits));
        }
    }

    pub(crate) fn degree(&self) -> Option<usize> {
        let at = self.0.iter().rposition(|word| *word != 0)?;
        Some(64 * at + 63 - self.0[at].leading_zeros() as usize)
    }

    fn add_shifted(&mut self, other: &Self, by: usize) {
        let (words, bits) = (by / 64, by % 64);
        for at in (words..N).rev() {
            let mut word = other.0[at - words] << bits;
            if bits != 0 && at > words {
                word |= other.0[at - words - 1] >> (64 - bits);
            }
            self.0[at] ^= word;
        }
    }

    /// Quotient and remainder. The divisor is not zero.
    pub(crate) fn divided(mut self, by: &Self) -> (Self, Self) {
        let (mut quotient, Some(degree)) = (Self::ZERO, by.degree()) else { return (Self::ZERO, self) };
        while let Some(own) = self.degree().filter(|own| *own >= degree) {
            self.add_shifted(by, own - degree);
            quotient.0[(own - degree) / 64] |= 1 << ((own - degree) % 64);
        }
        (quotient, self)
    }

    /// The largest common divisor, without factors x.
    pub(crate) fn gcd(self, other: Self) -> Self {
        let (mut one, mut other) = (self, other.stripped());
        while other != Self::ZERO {
            let Some(degree) = other.degree() else { break };
            while let Some(own) = one.degree().filter(|own| *own >= degree) {
                one.add_shifted(&other, own - degree);
            }
            (one, other) = (other, one.stripped());
        }
        one
    }

    /// Without factors x.
    fn stripped(mut self) -> Self {
        let Some(first) = self.0.iter().position(|word| *word != 0) else { return self };
        let by = 64 * first + self.0[first].trailing_zeros() as usize;
        let (words, bits) = (by / 64, by % 64);
        for at in 0..N {
            let word = |at: usize| self.0.get(at).copied().unwrap_or_default();
            let low = word(at + words) >> bits;
            self.0[at] = if bits == 0 { low } else { low | word(at + words + 1) << (64 - bits) };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_with_the_first_columns() {
        assert_eq!(solve(&[0b01, 0b11, 0b10], 0b10), Some(0b011));
        assert_eq!(solve(&[0b01, 0b01], 0b10), None);
    }

    #[test]
    fn common_divisors_of_products_are_found() {
        let g = Poly::<2>::monic(8, 0x2F);
        let product = |other: u64| {
            let mut sum = Poly::<2>::ZERO;
            (0..40).filter(|bit| other >> bit & 1 == 1).for_each(|bit| sum.add_shifted(&g, bit));
            sum
        };
        let gcd = product(0x1234_5678).gcd(product(0x9ABC_DEF1)).gcd(product(0x55_1357)).gcd(product(0x7_0001));
        assert_eq!(gcd.divided(&g).1, Poly::ZERO);
        assert_eq!(gcd, g);
    }

    #[test]
    fn rank_counts_independent_rows() {
        let mut rank = Rank::new(9);
        rank.add(&[1, 0, 0, 0, 0, 0, 0, 0, 1]);
        rank.add(&[1, 0, 0, 0, 0, 0, 0, 0, 0]);
        rank.add(&[0, 0, 0, 0, 0, 0, 0, 0, 1]);
        rank.add(&[0; 9]);
        assert_eq!(rank.rank, 2);
    }
}
