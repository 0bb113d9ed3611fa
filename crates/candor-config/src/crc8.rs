//! Lookup tables of CRC8.

/// The CRC of every byte value, most significant bit first, as `cangw -c` takes it.
pub(crate) fn table_of(polynomial: u8) -> [u8; 256] {
    let mut table = [0; 256];
    // The CRC of a value is the XOR of the CRCs of its bits.
    let mut of_bit = polynomial;
    for bit in (0..8).map(|bit| 1 << bit) {
        let (without, with) = table.split_at_mut(bit);
        for (with, without) in with.iter_mut().zip(without.iter()) {
            *with = *without ^ of_bit;
        }
        of_bit = of_bit << 1 ^ if of_bit & 0x80 == 0 { 0 } else { polynomial };
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_1d_is_that_of_sae_j1850() {
        let table = table_of(0x1D);
        assert_eq!((table[0], table[1], table[2], table[255]), (0x00, 0x1D, 0x3A, 0xC4));
    }

    #[test]
    fn table_equals_bitwise_division() {
        for polynomial in 0..=255_u8 {
            let divide = |value: u8| (0..8).fold(value, |crc, _bit| crc << 1 ^ (crc >> 7).wrapping_mul(polynomial));
            assert!((0..=255_u8).map(divide).eq(table_of(polynomial)), "{polynomial:02X}");
        }
    }
}
