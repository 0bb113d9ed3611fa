//! Checks a scheme and makes a protection of it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::checksum::{Checksum, Engine};
use crate::error::{Part, SchemeError};
use crate::place::{Field, Place};
use crate::protection::{Choice, Counting, Eight, Protection};
use crate::scheme::{Counter, Scheme};

impl Protection {
    /// Compiles a scheme.
    ///
    /// # Errors
    /// If fields overlap, end outside the shortest payload or hold too little, and if a Data-ID list does not fit the counter.
    pub fn new(scheme: &Scheme) -> Result<Self, SchemeError> {
        let (min, max) = (*scheme.len.start(), *scheme.len.end());
        if min == 0 || min > max {
            return Err(SchemeError::Len { min, max });
        }
        let engine = Engine::new(&scheme.checksum)?;
        let mut fields: Vec<(Part, Field)> = Vec::new();
        let mut field = |part, place| field(part, place, min, &mut fields);
        let result = field(Part::Checksum, scheme.place)?;
        if let Checksum::Crc(algorithm) = scheme.checksum
            && u32::from(algorithm.width) < result.max().count_ones()
        {
            return Err(SchemeError::WiderThanCrc { bits: result.max().count_ones(), width: algorithm.width });
        }
        let counter = match scheme.counter {
            Some(counter) => Some(counting(&counter, field(Part::Counter, counter.place)?)?),
            None => None,
        };
        let mut constants = Vec::new();
        for (place, value) in &scheme.constants {
            let field = field(Part::Constant, *place)?;
            if *value > field.max() {
                return Err(SchemeError::Constant { value: *value, max: field.max() });
            }
            constants.push((field, *value));
        }
        let length = scheme.length.map(|place| field(Part::Length, place)).transpose()?;
        if let Some(field) = length.filter(|field| max as u64 > field.max()) {
            return Err(SchemeError::LengthField { len: max, max: field.max() });
        }
        let (first, last) = (usize::from(scheme.over.0), scheme.over.1.map_or(min - 1, usize::from));
        if first > last || last >= min {
            return Err(SchemeError::Range { first, last, len: min });
        }
        let end = scheme.over.1.map_or(usize::MAX, |last| usize::from(last) + 1);
        // The part of the range in which the result is; empty, at its start, if there is none.
        let (own_first, own_end) = (result.first().max(first), result.end().min(end));
        let own = if own_first < own_end { own_first..own_end } else { first..first };
        let before = chosen(&scheme.data_id.before, counter.as_ref())?;
        let after = chosen(&scheme.data_id.after, counter.as_ref())?;
        let entry = |list: &[Vec<u8>], at: usize| list.get(at).or_else(|| list.first()).cloned().unwrap_or_default();
        let choice = |at| Choice {
            start: engine.feed(engine.start(), [&entry(&before, at), &[], &[], &[]]),
            after: entry(&after, at).into(),
            zeros: 0,
        };
        let count = before.len().max(after.len());
        let list: Box<[Choice]> = if count > 1 { (0..count).map(choice).collect() } else { Box::default() };
        let mut protection = Self {
            choice: choice(0),
            list,
            eight: None,
            engine,
            over: first..end,
            own,
            zeroed: scheme.zeroed,
            result,
            counter,
            constants: constants.into(),
            has_header: length.is_some() || !scheme.constants.is_empty(),
            length,
            min,
            max,
        };
        protection.learn_eight();
        Ok(protection)
    }

    /// Fills the tables for 8 bytes, if the scheme can have them.
    fn learn_eight(&mut self) {
        let is_affine = matches!(self.engine, Engine::Crc(_) | Engine::Xor { .. });
        let len = self.choice.after.len();
        let is_even = self.list.iter().all(|choice| choice.after.len() == len);
        if !self.fits(8) || !is_affine || !is_even || self.result.max() > u16::MAX.into() {
            return;
        }
        let in_word = |field: &Field| Some((field.in_word()?, field.max()));
        let (Some((result, result_max)), Some((counter, counter_max))) =
            (in_word(&self.result), self.counter.as_ref().map_or(Some((0, 0)), |counting| in_word(&counting.field)))
        else {
            return;
        };
        let length = self.length.as_ref().map(|field| (field, 8));
        let constants = self.constants.iter().map(|(field, value)| (field, *value)).chain(length);
        let mut header = (0, 0);
        for (field, value) in constants {
            let Some((shift, max)) = in_word(field) else { return };
            header = (header.0 | max << shift, header.1 | value << shift);
        }
        let of = |choice: &Choice, payload: [u8; 8]| {
            let [low, high, ..] = self.checksum(choice, &payload).to_le_bytes();
            u16::from_le_bytes([low, high])
        };
        let zeros = of(&self.choice, [0; 8]);
        let mut tables = Box::new([[0; 256]; 8]);
        for (at, table) in tables.iter_mut().enumerate() {
            for (byte, value) in (0..=u8::MAX).zip(table) {
                let mut payload = [0; 8];
                payload[at] = byte;
                *value = of(&self.choice, payload) ^ zeros;
            }
        }
        let all: Vec<u16> = self.list.iter().map(|choice| of(choice, [0; 8])).collect();
        self.choice.zeros = zeros;
        self.list.iter_mut().zip(all).for_each(|(choice, zeros)| choice.zeros = zeros);
        let keep = !(result_max << result | counter_max << counter | header.0);
        self.eight = Some(Eight { tables, keep, header, counter, counter_max, result });
    }
}

/// Compiles a place and remembers its field.
fn field(part: Part, place: Place, len: usize, others: &mut Vec<(Part, Field)>) -> Result<Field, SchemeError> {
    let error = SchemeError::Place { part, start: place.start, bits: place.bits };
    let field = Field::new(place).ok_or(error)?;
    if field.end() > len {
        return Err(SchemeError::Outside { part, byte: field.end() - 1, len });
    }
    for (first, other) in &*others {
        let shared = |at: &usize| field.bits_in(*at) & other.bits_in(*at) != 0;
        if let Some(byte) = (field.first()..field.end()).find(shared) {
            return Err(SchemeError::Overlap { first: *first, second: part, byte });
        }
    }
    others.push((part, field));
    Ok(field)
}

fn counting(counter: &Counter, field: Field) -> Result<Counting, SchemeError> {
    let Counter { place, min, max, first, max_delta, widens, resync } = *counter;
    let Ok(largest) = u32::try_from(field.max()) else {
        return Err(SchemeError::CounterBits { bits: place.bits });
    };
    if min >= max || max > largest {
        return Err(SchemeError::CounterRange { min, max, largest });
    }
    if !(min..=max).contains(&first) {
        return Err(SchemeError::CounterFirst { first, min, max });
    }
    let values = u64::from(max - min) + 1;
    if max_delta == 0 || u64::from(max_delta) >= values {
        return Err(SchemeError::MaxDelta { value: max_delta, largest: values - 1 });
    }
    Ok(Counting { field, min, max, most: max - min, first, max_delta, widens, resync })
}

/// One entry, or one for each value of the counter.
fn chosen(list: &[Vec<u8>], counter: Option<&Counting>) -> Result<Vec<Vec<u8>>, SchemeError> {
    let count = list.len();
    match (list, counter) {
        ([], _) => Ok([Vec::new()].into()),
        ([one], _) => Ok([one.clone()].into()),
        (_, None) => Err(SchemeError::ListWithoutCounter { count }),
        (_, Some(counter)) => {
            let values = u64::from(counter.max - counter.min) + 1;
            if values > 256 || count as u64 > values {
                return Err(SchemeError::ListAndCounter { count, values });
            }
            let entry = |value: u32| list.get(value as usize % count).cloned().unwrap_or_default();
            Ok((counter.min..=counter.max).map(entry).collect())
        }
    }
}
