//! The words of a message.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_MAX_DLEN, CAN_SFF_MASK, Frame, RawId};

use super::{MAX_BUS_BYTES, Message};
use crate::stream::fault;
use crate::{Clock, DecodeError, Fault, Stamp};

/// After a command: those of `send` with 8 bytes.
const MOST_WORDS: usize = 2 + CAN_MAX_DLEN;
const NS_PER_S: u64 = 1_000_000_000;

/// A word and its position in the stream.
#[derive(Clone, Copy)]
struct Word<'b> {
    at: u64,
    text: &'b str,
}

impl Word<'_> {
    fn is_wrong<T>(self, mistake: Fault) -> Result<T, DecodeError> {
        fault(self.at, 0, mistake)
    }
}

/// Reads what is between the brackets, which are printable ASCII characters.
pub(super) fn message(at: u64, inside: &[u8]) -> Result<Message, DecodeError> {
    let text = std::str::from_utf8(inside).unwrap_or_default();
    let mut offset = 0;
    let mut words = text.split(' ').filter_map(|word| {
        let at = at + offset;
        offset += word.len() as u64 + 1;
        (!word.is_empty()).then_some(Word { at, text: word })
    });
    let command = words.next().unwrap_or(Word { at, text: "" });
    // Frames are read without an allocation.
    let mut list = [command; MOST_WORDS];
    let mut found = 0;
    for word in words {
        if let Some(place) = list.get_mut(found) {
            *place = word;
        }
        found += 1;
    }
    let rest = &list[..found.min(MOST_WORDS)];
    let simple = |message| match found {
        0 => Ok(message),
        found => command.is_wrong(Fault::TooManyWords { found, most: 0 }),
    };
    match command.text {
        "send" if found > MOST_WORDS => command.is_wrong(Fault::TooManyWords { found, most: MOST_WORDS }),
        "hi" => simple(Message::Hi),
        "ok" => simple(Message::Ok),
        "echo" => simple(Message::Echo),
        "rawmode" => simple(Message::RawMode),
        "open" => match rest[..] {
            [bus] if bus.text.len() <= MAX_BUS_BYTES => Ok(Message::Open(bus.text.to_owned())),
            [bus] => bus.is_wrong(Fault::BusName(u8::try_from(bus.text.len()).unwrap_or(u8::MAX))),
            _ => command.is_wrong(count(rest, 1, 1)),
        },
        "send" => send(command, rest),
        "frame" => received(command, rest),
        "error" => Ok(error(rest).unwrap_or_else(|| Message::Error(after_command(text)))),
        other => Ok(Message::Other(other.to_owned())),
    }
}

/// What follows the first word, `error`.
fn after_command(text: &str) -> String {
    text.trim().get(5..).unwrap_or_default().trim().to_owned()
}

const fn count(words: &[Word<'_>], least: usize, most: usize) -> Fault {
    let found = words.len();
    if found < least { Fault::MissingWords { found, needs: least } } else { Fault::TooManyWords { found, most } }
}

fn send(command: Word<'_>, words: &[Word<'_>]) -> Result<Message, DecodeError> {
    let [id, length, bytes @ ..] = words else { return command.is_wrong(count(words, 2, MOST_WORDS)) };
    let id_of = identifier(*id)?;
    let is_number = length.text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(len) = length.text.parse().ok().filter(|len| is_number && *len <= CAN_MAX_DLEN) else {
        return length.is_wrong(Fault::Length);
    };
    if bytes.len() != len {
        return length.is_wrong(Fault::DataCount { found: bytes.len(), length: len });
    }
    let mut data = [0; CAN_MAX_DLEN];
    for (byte, word) in data.iter_mut().zip(bytes) {
        let value =
            u8::from_str_radix(word.text, 16).ok().filter(|_| (1..=2).contains(&word.text.len()) && is_hex(word));
        let Some(value) = value else { return word.is_wrong(Fault::DataByte) };
        *byte = value;
    }
    frame(*id, id_of, &data[..len]).map(Message::Send)
}

fn received(command: Word<'_>, words: &[Word<'_>]) -> Result<Message, DecodeError> {
    let (id, time, bytes) = match words {
        [id, time] => (*id, *time, ""),
        [id, time, bytes] => (*id, *time, bytes.text),
        _ => return command.is_wrong(count(words, 2, 3)),
    };
    let id_of = identifier(id)?;
    let Some(stamp) = stamp(time.text) else { return time.is_wrong(Fault::Stamp) };
    let at = words.get(2).copied().unwrap_or(time);
    if bytes.len() > 2 * CAN_MAX_DLEN {
        return at.is_wrong(Fault::DataCount { found: bytes.len().div_ceil(2), length: CAN_MAX_DLEN });
    }
    let mut data = [0; CAN_MAX_DLEN];
    for (index, pair) in bytes.as_bytes().chunks(2).enumerate() {
        let digits = std::str::from_utf8(pair).unwrap_or_default();
        let word = Word { at: at.at + 2 * index as u64, text: digits };
        let value = u8::from_str_radix(digits, 16).ok().filter(|_| pair.len() == 2 && is_hex(&word));
        let Some(value) = value else { return word.is_wrong(Fault::DataByte) };
        data[index] = value;
    }
    let frame = frame(id, id_of, &data[..bytes.len() / 2])?;
    Ok(Message::Frame { frame, stamp })
}

/// `CLASS SECONDS`, of a driver and not of the server.
fn error(words: &[Word<'_>]) -> Option<Message> {
    let [class, time] = words else { return None };
    let class = u32::from_str_radix(class.text, 16).ok().filter(|value| is_hex(class) && *value <= CAN_EFF_MASK)?;
    stamp(time.text).filter(|_| time.text.contains('.')).map(|stamp| Message::ErrorMessage { class, stamp })
}

fn frame(word: Word<'_>, id: RawId, data: &[u8]) -> Result<Frame, DecodeError> {
    // Never longer than a classic frame.
    Frame::classic(id, data).or_else(|_too_long| word.is_wrong(Fault::Length))
}

/// 8 digits are 29 bits, up to 3 are 11 bits.
fn identifier(word: Word<'_>) -> Result<RawId, DecodeError> {
    let (flag, most) = match word.text.len() {
        8 => (CAN_EFF_FLAG, CAN_EFF_MASK),
        1..=3 => (0, CAN_SFF_MASK),
        _ => return word.is_wrong(Fault::IdDigits),
    };
    match u32::from_str_radix(word.text, 16) {
        Ok(id) if is_hex(&word) && id <= most => Ok(RawId(id | flag)),
        Ok(id) if is_hex(&word) => word.is_wrong(Fault::IdRange(id)),
        _ => word.is_wrong(Fault::IdDigits),
    }
}

/// Numbers of the standard library may have a sign.
fn is_hex(word: &Word<'_>) -> bool {
    word.text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Seconds with up to nine decimals.
fn stamp(text: &str) -> Option<Stamp> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(decimals) || decimals.len() > 9 {
        return None;
    }
    let seconds = seconds.parse::<u64>().ok().filter(|seconds| *seconds < 1 << 34)?;
    let scale = 10_u64.pow(9 - u32::try_from(decimals.len()).unwrap_or(9));
    let ns = seconds * NS_PER_S + decimals.parse::<u64>().ok()? * scale;
    Some(Stamp { ns, clock: Clock::Realtime })
}
