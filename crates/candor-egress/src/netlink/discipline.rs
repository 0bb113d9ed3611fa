//! `TCA_OPTIONS` of a queueing discipline, as the table of [kinds] describes it; `tbf`, and the size table `stab`.
//!
//! # Kernel
//! A dump says how a size table is used and how long it is, but not what is in it. If the rest is as `tc` makes it, so are
//! the `sizes` that are read; otherwise there are none.
//!
//! # Source
//! Linux 6.1: [`tbf_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_tbf.c#L355),
//! [`tbf_dump()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_tbf.c#L508),
//! [`qdisc_get_stab()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L493),
//! [`qdisc_dump_stab()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L570).

use crate::arbitration::Arbitration;
use crate::discipline::{ByteRate, Discipline, Peak, SizeTable, Tbf};
use crate::kinds::option::{Record, Width, Wire};
use crate::kinds::{self, Kind, Opt};
use crate::ticks::TICK_NS;
use candor_netlink::codec::{Attribute, Attributes, DecodeError};

use super::codec::{self, AttributeList, Fields, NLA_F_NESTED, StructWriter, Unread, ensure_supported};
use super::error::EncodeError;
use super::message::{TCA_KIND, TCA_OPTIONS};

const ATTRIBUTES: usize = 16;

/// Writes `TCA_KIND` and, where there are any, `TCA_OPTIONS`.
pub(super) fn encode(discipline: &Discipline, list: &mut AttributeList) -> Result<(), EncodeError> {
    list.put_kind(TCA_KIND, discipline.kind())?;
    match discipline {
        Discipline::Arbitration(_) | Discipline::Clsact => Ok(()),
        Discipline::Other { options, .. } if options.is_empty() => Ok(()),
        Discipline::Other { options, .. } => list.put(TCA_OPTIONS, options),
        Discipline::Tbf(tbf) => list.put(TCA_OPTIONS, &encode_tbf(tbf)?),
        _ => {
            let unknown = || EncodeError::Kind { kind: discipline.kind().to_owned() };
            let kind = kinds::kind(discipline.kind()).ok_or_else(unknown)?;
            if kind.optional && *discipline == (kind.usual)() {
                return Ok(());
            }
            let options = body(kind, discipline)?;
            if kind.marked { list.nest_marked(TCA_OPTIONS, &options) } else { list.nest(TCA_OPTIONS, &options) }
        }
    }
}

pub(super) fn decode(kind: &str, options: Option<Attribute<'_>>) -> Result<Discipline, DecodeError> {
    let kept = || Discipline::Other { kind: kind.to_owned(), options: codec::bytes_of(options) };
    codec::or_kept(known(kind, options), kept)
}

fn known(name: &str, options: Option<Attribute<'_>>) -> Result<Discipline, Unread> {
    match name {
        "clsact" => return Ok(Discipline::Clsact),
        "noqueue" => return Ok(Discipline::Noqueue),
        "tbf" => return Ok(Discipline::Tbf(decode_tbf(codec::needed(options, TCA_OPTIONS)?)?)),
        _ => {}
    }
    if let Some(arbitration) = Arbitration::parse(name) {
        return Ok(Discipline::Arbitration(arbitration));
    }
    let kind = kinds::kind(name).ok_or(Unread::Unsupported)?;
    match options {
        Some(options) if !kind.options.is_empty() => read_body(kind, options),
        None if !kind.optional => Err(DecodeError::MissingAttribute { kind: TCA_OPTIONS }.into()),
        _ => Ok((kind.usual)()),
    }
}

fn body(kind: &Kind, discipline: &Discipline) -> Result<AttributeList, EncodeError> {
    let bytes = match kind.record {
        Record::None => 0,
        Record::Bare(bytes, _) | Record::Leading(bytes) | Record::Attribute(_, bytes, _) => bytes,
    };
    let (mut record, mut attributes) = (vec![0; bytes], Vec::new());
    if let Record::Attribute(_, _, Some(version)) = kind.record {
        put(&mut record, 0, &version.to_ne_bytes());
    }
    for option in kind.options {
        let numbers = (option.field.get)(discipline);
        let first = numbers.first().copied();
        match option.wire {
            Wire::Nowhere => {}
            Wire::Attribute(kind, width) => attributes.extend(first.map(|number| (kind, bytes_of(width, number)))),
            Wire::Each(..) if numbers.is_empty() => {}
            Wire::Each(list, item, width) => {
                let mut inner = AttributeList::default();
                numbers.iter().try_for_each(|number| inner.put(item, &bytes_of(width, *number)))?;
                attributes.push((list | NLA_F_NESTED, inner.into_bytes()));
            }
            Wire::Struct(at, width) => {
                let bytes: Vec<_> = numbers.into_iter().flat_map(|number| bytes_of(width, number)).collect();
                put(&mut record, at, &bytes);
            }
            Wire::ZeroIsNone(at) => put(&mut record, at, &bytes_of(Width::U32, first.unwrap_or(0))),
            Wire::Or(at, missing) => {
                put(&mut record, at, &bytes_of(Width::U32, first.unwrap_or_else(|| missing.into())))
            }
            Wire::Bit(at, mask) => {
                let set = if first == Some(1) { mask } else { 0 };
                let word = word(&record, at) | set;
                put(&mut record, at, &word.to_ne_bytes());
            }
            Wire::Time(at, kind) => {
                let ns = i64::try_from(first.unwrap_or(0)).map_err(|_too_long| EncodeError::Delay)?;
                let ticks = u32::try_from(ns.unsigned_abs() / TICK_NS).unwrap_or(u32::MAX);
                put(&mut record, at, &ticks.to_ne_bytes());
                attributes.push((kind, ns.to_ne_bytes().to_vec()));
            }
        }
    }
    candor_core::order::sort_by_key(&mut attributes, |(kind, _)| kind & !NLA_F_NESTED);
    let mut list = AttributeList::default();
    if let Record::Attribute(kind, ..) = kind.record {
        list.put(kind, &record)?;
        record.clear();
    }
    attributes.iter().try_for_each(|(kind, value)| list.put(*kind, value))?;
    Ok(list.after(record))
}

fn put(record: &mut [u8], at: usize, bytes: &[u8]) {
    record[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The number as in a message. No field of a discipline is wider.
fn bytes_of(width: Width, number: i128) -> Vec<u8> {
    match width {
        Width::U8 => vec![u8::try_from(number).unwrap_or_default()],
        Width::U32 => u32::try_from(number).unwrap_or_default().to_ne_bytes().to_vec(),
        Width::I32 => i32::try_from(number).unwrap_or_default().to_ne_bytes().to_vec(),
    }
}

fn number_of(width: Width, value: Attribute<'_>) -> Result<i128, DecodeError> {
    Ok(match width {
        Width::U8 => value.u8()?.into(),
        Width::U32 => value.u32()?.into(),
        Width::I32 => i32::from_ne_bytes(*value.array()?).into(),
    })
}

/// A word of a struct; 0 beyond its end.
fn word(record: &[u8], at: usize) -> u32 {
    record.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_ne_bytes(*word))
}

fn read_body(kind: &Kind, options: Attribute<'_>) -> Result<Discipline, Unread> {
    let start = match kind.record {
        Record::None | Record::Attribute(..) => 0,
        Record::Bare(..) => options.value.len(),
        Record::Leading(bytes) => bytes,
    };
    let attributes: [_; ATTRIBUTES] = codec::by_number(options.value.get(start..).unwrap_or_default())?;
    let (record, expected) = match kind.record {
        Record::None => (options, 0),
        Record::Bare(_, least) | Record::Leading(least) => (options, least),
        Record::Attribute(kind, bytes, _) => (codec::needed(attributes[usize::from(kind)], kind)?, bytes),
    };
    if record.value.len() < expected {
        let (kind, len) = (record.kind, record.value.len());
        return Err(DecodeError::ShortAttribute { kind, len, expected }.into());
    }
    let is_zero = |part: Attribute<'_>| part.value.iter().all(|byte| *byte == 0);
    ensure_supported(kind.no_bits.iter().all(|(at, mask)| word(record.value, *at) & mask == 0))?;
    ensure_supported(kind.no_attributes.iter().all(|kind| attributes[usize::from(*kind)].is_none()))?;
    ensure_supported(kind.zero_attributes.iter().all(|kind| attributes[usize::from(*kind)].is_none_or(is_zero)))?;
    let mut discipline = (kind.usual)();
    for option in kind.options {
        if let Some(numbers) = numbers(option, record, &attributes)? {
            (option.field.set)(&mut discipline, &numbers).ok_or(Unread::Unsupported)?;
        }
    }
    Ok(discipline)
}

/// The numbers of an option; `None` leaves the usual ones.
fn numbers(
    option: &Opt,
    record: Attribute<'_>,
    attributes: &[Option<Attribute<'_>>],
) -> Result<Option<Vec<i128>>, Unread> {
    let attribute = |kind: u16| attributes[usize::from(kind)];
    let word = |at: usize| word(record.value, at);
    Ok(match option.wire {
        Wire::Nowhere => None,
        Wire::Attribute(kind, width) if option.always => {
            Some(vec![number_of(width, codec::needed(attribute(kind), kind)?)?])
        }
        Wire::Attribute(kind, width) => {
            attribute(kind).map(|found| number_of(width, found)).transpose()?.map(|number| vec![number])
        }
        Wire::Each(list, item, width) => {
            let mut found = Vec::new();
            for inner in Attributes::new(attribute(list).map_or(&[], |list| list.value)) {
                let inner = inner?;
                ensure_supported(inner.kind == item)?;
                found.push(number_of(width, inner)?);
            }
            Some(found)
        }
        Wire::Struct(at, Width::U8) => {
            record.value.get(at..at + option.most).map(|bytes| bytes.iter().copied().map(i128::from).collect())
        }
        Wire::Struct(at, width) => {
            let value = record.value.get(at..).unwrap_or_default();
            number_of(width, Attribute { value, ..record }).ok().map(|number| vec![number])
        }
        Wire::ZeroIsNone(at) => Some(vec![word(at).into()]).filter(|number| *number != [0]),
        Wire::Or(at, _) => Some(vec![word(at).into()]),
        Wire::Bit(at, mask) => Some(vec![i128::from(word(at) & mask != 0)]),
        Wire::Time(at, kind) => Some(vec![match codec::u64_of(attribute(kind))? {
            // A negative delay is none; the kernel takes the size of a negative jitter.
            Some(ns) if i64::try_from(ns).is_err() => return Err(Unread::Unsupported),
            Some(ns) => ns.into(),
            None => i128::from(word(at)) * i128::from(TICK_NS),
        }]),
    })
}

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_PRATE64: u16 = 5;
const TCA_TBF_BURST: u16 = 6;
const TCA_TBF_PBURST: u16 = 7;
/// Bytes of `struct tc_ratespec`.
const SPEC_BYTES: usize = 12;

pub(super) fn encode_tbf(tbf: &Tbf) -> Result<Vec<u8>, EncodeError> {
    let peak = tbf.peak.map(|peak| codec::rate_spec(peak.rate, 0)).transpose()?;
    // The kernel takes the bursts from their own attributes (Linux 3.13) and ignores the ticks, but reports them
    // in ticks, so those that do not fit could not be read back.
    let peak_ticks = tbf.peak.map(|peak| codec::burst_ticks(peak.burst_bytes, peak.rate)).transpose()?;
    let parameters = StructWriter::default()
        .bytes(&codec::rate_spec(tbf.rate, 0)?)
        .bytes(&peak.unwrap_or_else(|| vec![0; SPEC_BYTES]))
        .u32(tbf.limit_bytes)
        .u32(codec::burst_ticks(tbf.burst_bytes, tbf.rate)?)
        .u32(peak_ticks.unwrap_or(0));
    let mut list = AttributeList::default();
    list.put(TCA_TBF_PARMS, &parameters.done())?;
    codec::put_wide(&mut list, TCA_TBF_RATE64, tbf.rate)?;
    list.put_u32(TCA_TBF_BURST, tbf.burst_bytes)?;
    if let Some(peak) = tbf.peak {
        codec::put_wide(&mut list, TCA_TBF_PRATE64, peak.rate)?;
        list.put_u32(TCA_TBF_PBURST, peak.burst_bytes)?;
    }
    Ok(list.into_bytes())
}

pub(super) fn decode_tbf(options: Attribute<'_>) -> Result<Tbf, Unread> {
    let [_, parameters, _, _, rate64, peak64, burst, peak_burst] = codec::by_number(options.value)?;
    let mut fields = Fields::of(codec::needed(parameters, TCA_TBF_PARMS)?);
    let rate = codec::read_rate(&mut fields, rate64)?;
    let peak = codec::read_rate(&mut fields, peak64)?;
    let (limit_bytes, ticks, peak_ticks) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let bytes =
        |given, ticks, rate| Ok::<_, Unread>(codec::u32_of(given)?.unwrap_or_else(|| codec::burst_bytes(ticks, rate)));
    let peak = match peak {
        ByteRate(0) => None,
        rate => Some(Peak { rate, burst_bytes: bytes(peak_burst, peak_ticks, rate)? }),
    };
    Ok(Tbf { rate, burst_bytes: bytes(burst, ticks, rate)?, limit_bytes, peak })
}

const TCA_STAB_BASE: u16 = 1;
const TCA_STAB_DATA: u16 = 2;
/// `TC_LINKLAYER_ETHERNET`, used by tc to fill the table.
const LINKLAYER_ETHERNET: u32 = 1;

const MOST_ENTRIES: usize = 1 << 15;

pub(super) fn encode_stab(table: &SizeTable) -> Result<AttributeList, EncodeError> {
    let too_long = |_| EncodeError::TooLong { len: table.sizes.len() };
    let base = StructWriter::default()
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

pub(super) fn decode_stab(bytes: &[u8]) -> Result<SizeTable, DecodeError> {
    let [_, base, data] = codec::by_number(bytes)?;
    let mut fields = Fields::of(codec::needed(base, TCA_STAB_BASE)?);
    let (cell_log, size_log, cell_align) = (fields.u8()?, fields.u8()?, fields.i16()?);
    let (overhead_bytes, linklayer) = (fields.i32()?, fields.u32()?);
    let (mpu_bytes, mtu_bytes, entries) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (sizes, _) = data.map(|data| data.value).unwrap_or_default().as_chunks();
    let sizes = sizes.iter().map(|size| u16::from_ne_bytes(*size)).collect();
    let reported = SizeTable { overhead_bytes, mpu_bytes, cell_log, size_log, cell_align, mtu_bytes, sizes };
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    if !reported.sizes.is_empty() || linklayer != LINKLAYER_ETHERNET || !(1..=MOST_ENTRIES).contains(&entries) {
        return Ok(reported);
    }
    let even = SizeTable::even(overhead_bytes, mpu_bytes, mtu_bytes, entries);
    let is_even = reported == SizeTable { sizes: Vec::new(), ..even.clone() };
    Ok(if is_even { even } else { reported })
}
