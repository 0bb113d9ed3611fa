//! `stab`, the size table.
//!
//! # Kernel
//! A dump says how the table is used and how long it is, but not what stands in it. Where the rest is as `tc` makes it, so are
//! the `sizes` of what was read; elsewhere it has none.
//!
//! # Source
//! `qdisc_get_stab()`, `qdisc_dump_stab()`, `net/sched/sch_api.c`.

use crate::discipline::SizeTable;

use super::error::EncodeError;
use super::read::{self, Fields};
use super::write::{AttributeList, Record};
use candor_netlink::codec::DecodeError;

const TCA_STAB_BASE: u16 = 1;
const TCA_STAB_DATA: u16 = 2;
/// `TC_LINKLAYER_ETHERNET`. Only tc looks at it, to fill the table.
const LINKLAYER_ETHERNET: u32 = 1;

/// What fits into an attribute of netlink.
const MOST_ENTRIES: usize = 1 << 15;

pub(super) fn encode(table: &SizeTable) -> Result<AttributeList, EncodeError> {
    let too_long = |_| EncodeError::TooLong { len: table.sizes.len() };
    let base = Record::default()
        .u8(table.cell_log)
        .u8(table.size_log)
        .i16(table.cell_align)
        .i32(table.overhead_bytes)
        .u32(LINKLAYER_ETHERNET)
        .u32(table.mpu_bytes)
        .u32(table.mtu_bytes)
        .u32(u32::try_from(table.sizes.len()).map_err(too_long)?);
    let mut list = AttributeList::default();
    list.put(TCA_STAB_BASE, &base.done())?;
    if !table.sizes.is_empty() {
        let sizes: Vec<u8> = table.sizes.iter().flat_map(|size| size.to_ne_bytes()).collect();
        list.put(TCA_STAB_DATA, &sizes)?;
    }
    Ok(list)
}

pub(super) fn decode(bytes: &[u8]) -> Result<SizeTable, DecodeError> {
    let [_, base, data] = read::by_number(bytes)?;
    let mut fields = Fields::of(read::needed(base, TCA_STAB_BASE)?);
    let (cell_log, size_log, cell_align) = (fields.u8()?, fields.u8()?, fields.i16()?);
    let (overhead_bytes, linklayer) = (fields.i32()?, fields.u32()?);
    let (mpu_bytes, mtu_bytes, entries) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (sizes, _) = data.map(|data| data.value).unwrap_or_default().as_chunks();
    let sizes = sizes.iter().map(|size| u16::from_ne_bytes(*size)).collect();
    let told = SizeTable { overhead_bytes, mpu_bytes, cell_log, size_log, cell_align, mtu_bytes, sizes };
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    if !told.sizes.is_empty() || linklayer != LINKLAYER_ETHERNET || !(1..=MOST_ENTRIES).contains(&entries) {
        return Ok(told);
    }
    let even = SizeTable::even(overhead_bytes, mpu_bytes, mtu_bytes, entries);
    let is_even = told == SizeTable { sizes: Vec::new(), ..even.clone() };
    Ok(if is_even { even } else { told })
}
