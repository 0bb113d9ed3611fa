//! `TCA_OPTIONS` of a queueing discipline, as the table of [kinds] describes it.

use crate::discipline::Discipline;
use crate::kinds::option::{Record, Width, Wire};
use crate::kinds::{self, Kind, Opt};
use crate::ticks::TICK_NS;

use super::constants::{TCA_KIND, TCA_OPTIONS};
use super::error::EncodeError;
use super::read::{self, Unread, speakable};
use super::shaper;
use super::write::{AttributeList, NLA_F_NESTED};
use candor_netlink::codec::{Attribute, Attributes, DecodeError};

/// Attributes of a body are numbered below this.
const ATTRIBUTES: usize = 16;

/// Writes `TCA_KIND` and, where there are any, `TCA_OPTIONS`.
pub(super) fn encode(discipline: &Discipline, list: &mut AttributeList) -> Result<(), EncodeError> {
    list.put_kind(TCA_KIND, discipline.kind())?;
    match discipline {
        Discipline::Clsact => Ok(()),
        Discipline::Other { options, .. } if options.is_empty() => Ok(()),
        Discipline::Other { options, .. } => list.put(TCA_OPTIONS, options),
        Discipline::Tbf(tbf) => list.put(TCA_OPTIONS, &shaper::encode_tbf(tbf)?),
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

/// The discipline of this kind with these options.
pub(super) fn decode(kind: &str, options: Option<Attribute<'_>>) -> Result<Discipline, DecodeError> {
    let kept = || Discipline::Other {
        kind: kind.to_owned(),
        options: options.map(|options| options.value.to_vec()).unwrap_or_default(),
    };
    read::or_kept(known(kind, options), kept)
}

fn known(name: &str, options: Option<Attribute<'_>>) -> Result<Discipline, Unread> {
    match name {
        "clsact" => return Ok(Discipline::Clsact),
        "noqueue" => return Ok(Discipline::Noqueue),
        "tbf" => return Ok(Discipline::Tbf(shaper::decode_tbf(read::needed(options, TCA_OPTIONS)?)?)),
        _ => {}
    }
    let kind = kinds::kind(name).ok_or(Unread::Unspoken)?;
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
    attributes.sort_by_key(|(kind, _)| kind & !NLA_F_NESTED);
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

/// The number as it is in a message. No field of a discipline is wider than its place there.
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
    let attributes: [_; ATTRIBUTES] = read::by_number(options.value.get(start..).unwrap_or_default())?;
    let (record, expected) = match kind.record {
        Record::None => (options, 0),
        Record::Bare(_, least) | Record::Leading(least) => (options, least),
        Record::Attribute(kind, bytes, _) => (read::needed(attributes[usize::from(kind)], kind)?, bytes),
    };
    if record.value.len() < expected {
        let (kind, len) = (record.kind, record.value.len());
        return Err(DecodeError::ShortAttribute { kind, len, expected }.into());
    }
    let is_zero = |part: Attribute<'_>| part.value.iter().all(|byte| *byte == 0);
    speakable(kind.no_bits.iter().all(|(at, mask)| word(record.value, *at) & mask == 0))?;
    speakable(kind.no_attributes.iter().all(|kind| attributes[usize::from(*kind)].is_none()))?;
    speakable(kind.zero_attributes.iter().all(|kind| attributes[usize::from(*kind)].is_none_or(is_zero)))?;
    let mut discipline = (kind.usual)();
    for option in kind.options {
        if let Some(numbers) = numbers(option, record, &attributes)? {
            (option.field.set)(&mut discipline, &numbers).ok_or(Unread::Unspoken)?;
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
            Some(vec![number_of(width, read::needed(attribute(kind), kind)?)?])
        }
        Wire::Attribute(kind, width) => {
            attribute(kind).map(|found| number_of(width, found)).transpose()?.map(|number| vec![number])
        }
        Wire::Each(list, item, width) => {
            let mut found = Vec::new();
            for inner in Attributes::new(attribute(list).map_or(&[], |list| list.value)) {
                let inner = inner?;
                speakable(inner.kind == item)?;
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
        Wire::Time(at, kind) => Some(vec![match read::u64_of(attribute(kind))? {
            // A negative delay is none; the kernel takes the size of a negative jitter.
            Some(ns) if i64::try_from(ns).is_err() => return Err(Unread::Unspoken),
            Some(ns) => ns.into(),
            None => i128::from(word(at)) * i128::from(TICK_NS),
        }]),
    })
}
