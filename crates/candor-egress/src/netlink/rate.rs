//! Rates and bursts.

use crate::discipline::ByteRate;
use crate::ticks;

use super::error::EncodeError;
use super::read::{self, Fields, Unread, speakable};
use super::write::{AttributeList, Record};
use candor_netlink::codec::Attribute;

/// `TC_LINKLAYER_ETHERNET`: the rate is what it says, and no table is needed (Linux 3.8).
const LINKLAYER_ETHERNET: u8 = 1;
/// `TC_LINKLAYER_MASK`.
const LINKLAYER_MASK: u8 = 0x0F;

/// `struct tc_ratespec`. Rates beyond 32 bits need [`put_wide`] as well. The kernel ignores `cell_log` except where it
/// wants a table.
pub(super) fn spec(rate: ByteRate, cell_log: u8) -> Result<Vec<u8>, EncodeError> {
    if rate.0 == 0 {
        return Err(EncodeError::ZeroRate);
    }
    let low = u32::try_from(rate.0).unwrap_or(u32::MAX);
    Ok(Record::default().u8(cell_log).u8(LINKLAYER_ETHERNET).u16(0).i16(0).u16(0).u32(low).done())
}

/// The whole rate, if it has more than 32 bits.
pub(super) fn put_wide(list: &mut AttributeList, kind: u16, rate: ByteRate) -> Result<(), EncodeError> {
    if rate.0 > u64::from(u32::MAX) { list.put_u64(kind, rate.0) } else { Ok(()) }
}

/// `struct tc_ratespec` and the attribute with the whole rate. Lengths that count otherwise than they are (`overhead`,
/// `mpu`, ATM) have no word here.
pub(super) fn read(fields: &mut Fields<'_>, wide: Option<Attribute<'_>>) -> Result<ByteRate, Unread> {
    let _cell_log = fields.u8()?;
    let linklayer = fields.u8()? & LINKLAYER_MASK;
    let overhead = fields.u16()?;
    let _cell_align = fields.i16()?;
    let mpu = fields.u16()?;
    let rate = u64::from(fields.u32()?).max(read::u64_of(wide)?.unwrap_or(0));
    speakable(linklayer <= LINKLAYER_ETHERNET && overhead == 0 && mpu == 0)?;
    Ok(ByteRate(rate))
}

/// How long bytes take at a rate, as the kernel wants to know it.
pub(super) fn burst_ticks(bytes: u32, rate: ByteRate) -> Result<u32, EncodeError> {
    let ticks = ticks::ticks(bytes.into(), rate.0).ok_or(EncodeError::ZeroRate)?;
    u32::try_from(ticks).map_err(|_too_long| EncodeError::BurstTooLong)
}

/// How many bytes take so long.
pub(super) fn burst_bytes(ticks: u32, rate: ByteRate) -> u32 {
    u32::try_from(ticks::amount(ticks.into(), rate.0)).unwrap_or(u32::MAX)
}
