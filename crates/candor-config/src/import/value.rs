//! Values of the options of cangw. cangw reads them with `sscanf()`, which stops at the first invalid character; values
//! that it would silently misread are errors here.

use super::code;
use super::options::Value;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::FrameFormat;
use candor_core::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, Operation, XorChecksum};

/// A modification with all values that cangw sends: can-gw compares them to find a job to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawOperand {
    pub(super) has_id: bool,
    pub(super) has_len: bool,
    pub(super) has_flags: bool,
    pub(super) has_data: bool,
    pub(super) id: u32,
    pub(super) len: u8,
    pub(super) flags: u8,
    /// 8 or 64 bytes.
    pub(super) data: Vec<u8>,
}

/// `-f`
pub(super) fn filter(value: &Value<'_>, findings: &mut Findings) -> Option<Filter> {
    let mut reader = Reader::new(value, "write ID:MASK or ID~MASK, such as 123:C00007FF", findings);
    let id = reader.hex("the identifier", 32)?;
    let inverted = match reader.rest().chars().next() {
        Some(':') => 0,
        Some('~') => CAN_INV_FILTER,
        None => return reader.refuse(0, "cangw requires a mask after the identifier"),
        Some(_) => return reader.refuse(1, "cangw requires : or ~ between identifier and mask"),
    };
    reader.at += 1;
    let mask = reader.hex("the mask", 32)?;
    reader.end();
    Some(Filter { id: id | inverted, mask })
}

/// `-l`, decimal.
pub(super) fn hop_limit(value: &Value<'_>, findings: &mut Findings) -> Option<u8> {
    let mut reader = Reader::new(value, "write a decimal number from 1 to 6", findings);
    let hops = reader.decimal("the hop limit", 0, 255)?;
    if hops == 0 {
        reader.at = 0;
        return reader.refuse(value.text().len(), "cangw rejects a hop limit of 0");
    }
    reader.end();
    u8::try_from(hops).ok()
}

/// `-u`, hexadecimal.
pub(super) fn uid(value: &Value<'_>, findings: &mut Findings) -> Option<u32> {
    let mut reader = Reader::new(value, "write up to 8 hexadecimal digits", findings);
    let uid = reader.hex("the uid", 32)?;
    reader.end();
    Some(uid)
}

/// `-m` and `-M`.
pub(super) fn modification(
    value: &Value<'_>,
    format: FrameFormat,
    findings: &mut Findings,
) -> Option<(Operation, RawOperand)> {
    let (letters, help) = match format {
        FrameFormat::Classic => ("ILD", "write it like SET:ID:123.0.1122334455667788, with all 8 data bytes"),
        FrameFormat::Fd => ("IFLD", "write it like OR:F:0.1.0.00…, with all 64 data bytes"),
    };
    let mut reader = Reader::new(value, help, findings);
    let operation = match reader.field(':') {
        Some("AND") => Operation::And,
        Some("OR") => Operation::Or,
        Some("XOR") => Operation::Xor,
        Some("SET") => Operation::Set,
        Some(field) => {
            let length = field.len();
            return reader.refuse(length, "The operation must be AND, OR, XOR or SET, in upper case");
        }
        None => return reader.refuse(value.text().len(), "The first colon is missing, and cangw would crash"),
    };
    reader.at += operation.name().len() + 1;
    let Some(fields) = reader.field(':').map(str::to_owned) else {
        return reader.refuse(reader.rest().len(), "The second colon is missing, and cangw would crash");
    };
    if fields.is_empty() || fields.len() > letters.len() || !fields.chars().all(|field| letters.contains(field)) {
        let message = match format {
            FrameFormat::Classic => "The fields must be one or more of I (identifier), L (length) and D (data)",
            FrameFormat::Fd => "The fields must be one or more of I (identifier), F (flags), L (length) and D (data)",
        };
        return reader.refuse(fields.len(), message);
    }
    reader.at += fields.len() + 1;
    let id = reader.hex("the identifier", 32)?;
    reader.separator('.')?;
    let mut flags = 0;
    if format == FrameFormat::Fd {
        flags = reader.hex_byte("the flags")?;
        reader.separator('.')?;
    }
    let len = reader.hex_byte("the length")?;
    reader.separator('.')?;
    let data = reader.bytes("the data", format.max_len())?;
    reader.end();
    let has = |letter| fields.contains(letter);
    let (has_id, has_len, has_flags, has_data) = (has('I'), has('L'), has('F'), has('D'));
    Some((operation, RawOperand { has_id, has_len, has_flags, has_data, id, len, flags, data }))
}

/// `-x`: decimal positions, a hexadecimal start value.
pub(super) fn xor_checksum(value: &Value<'_>, findings: &mut Findings) -> Option<XorChecksum> {
    let help = "write FROM:TO:RESULT:INIT, with decimal positions and a hexadecimal start value, such as 0:6:7:FF";
    let mut reader = Reader::new(value, help, findings);
    let span = reader.checksum_span()?;
    let init = reader.hex_byte("the start value")?;
    reader.end();
    Some(XorChecksum { span, init })
}

/// `-c`, without its profile.
pub(super) fn crc8_checksum(value: &Value<'_>, findings: &mut Findings) -> Option<Crc8Checksum> {
    let help = "write FROM:TO:RESULT:INIT:FINAL:TABLE, with decimal positions, the rest in hexadecimal, and all 256 bytes \
                of the table";
    let mut reader = Reader::new(value, help, findings);
    let span = reader.checksum_span()?;
    let init = reader.hex_byte("the start value")?;
    reader.separator(':')?;
    let final_xor = reader.hex_byte("the final value")?;
    reader.separator(':')?;
    let table = reader.bytes("the table", 256)?.try_into().ok()?;
    reader.end();
    Some(Crc8Checksum { span, init, final_xor, table, profile: Crc8Profile::None })
}

/// `-p`: the number is decimal, the bytes are hexadecimal.
pub(super) fn crc8_profile(value: &Value<'_>, findings: &mut Findings) -> Option<Crc8Profile> {
    let mut reader = Reader::new(value, "write 1:BYTE, 2:BYTES (16 bytes) or 3:, with hexadecimal bytes", findings);
    let profile = match reader.decimal("the profile", 0, 255)? {
        1 => {
            reader.separator(':')?;
            Crc8Profile::Byte(reader.hex_byte("the byte")?)
        }
        2 => {
            reader.separator(':')?;
            let bytes = reader.bytes("the bytes", 16)?.try_into().ok()?;
            let more = reader.rest().len();
            if more > 0 {
                return reader.refuse(more, "cangw rejects more than 16 bytes");
            }
            Crc8Profile::ByteByCounter(bytes)
        }
        3 => {
            reader.at += usize::from(reader.rest().starts_with(':'));
            Crc8Profile::IdXor
        }
        _ => {
            reader.at = 0;
            return reader.refuse(value.text().len(), "can-gw has only the CRC8 profiles 1, 2 and 3");
        }
    };
    reader.end();
    Some(profile)
}

/// A cursor over the text of one value.
struct Reader<'v, 'f> {
    value: &'v Value<'v>,
    /// Bytes parsed so far.
    at: usize,
    /// Help for invalid values.
    help: &'static str,
    findings: &'f mut Findings,
}

impl<'v, 'f> Reader<'v, 'f> {
    const fn new(value: &'v Value<'v>, help: &'static str, findings: &'f mut Findings) -> Self {
        Self { value, at: 0, help, findings }
    }

    fn rest(&self) -> &'v str {
        self.value.text().get(self.at..).unwrap_or_default()
    }

    /// The text before the next separator.
    fn field(&self, separator: char) -> Option<&'v str> {
        self.rest().split_once(separator).map(|(field, _)| field)
    }

    fn refuse<T>(&mut self, length: usize, message: impl Into<String>) -> Option<T> {
        let rest = self.rest();
        let end = (length..=rest.len()).find(|&end| rest.is_char_boundary(end)).unwrap_or(rest.len());
        let span = self.value.part(self.at..self.at + end);
        self.findings.error(code::VALUE, &span, message, self.help);
        None
    }

    /// cangw ignores what follows a complete value.
    fn end(&mut self) {
        let rest = self.rest();
        if !rest.is_empty() {
            let span = self.value.part(self.at..self.at + rest.len());
            let message = format!("cangw ignores {rest:?} at the end of this value");
            self.findings.report(Diagnostic::warning(code::IGNORED, span, message).help(self.help));
        }
    }

    fn separator(&mut self, separator: char) -> Option<()> {
        if self.rest().starts_with(separator) {
            self.at += 1;
            return Some(());
        }
        let message = format!("cangw requires {separator:?} here");
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        self.refuse(length, message)
    }

    /// A hexadecimal number, with or without 0x.
    fn hex(&mut self, what: &str, bits: u32) -> Option<u32> {
        let rest = self.rest();
        let prefix = if rest.starts_with("0x") || rest.starts_with("0X") { 2 } else { 0 };
        let length = rest[prefix..].find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len() - prefix);
        if length == 0 {
            let found = rest.chars().next().map_or(0, char::len_utf8);
            return self.refuse(found, format!("{} must be a hexadecimal number", capital(what)));
        }
        let digits = &rest[prefix..prefix + length];
        match u32::from_str_radix(digits, 16) {
            Ok(number) if bits == 32 || number >> bits == 0 => {
                self.at += prefix + length;
                Some(number)
            }
            _ => self.refuse(
                prefix + length,
                format!("{digits} does not fit: {what} has {bits} bits, and cangw would ignore the others"),
            ),
        }
    }

    fn hex_byte(&mut self, what: &str) -> Option<u8> {
        self.hex(what, 8).and_then(|byte| u8::try_from(byte).ok())
    }

    fn decimal(&mut self, what: &str, low: i64, high: i64) -> Option<i64> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - sign);
        let length = sign + digits;
        let follows = rest[length..].chars().next();
        if digits == 0 || follows.is_some_and(|c| c.is_ascii_alphanumeric()) {
            let length = rest.find([':', '.']).unwrap_or(rest.len());
            return self
                .refuse(length, format!("{} must be a decimal number, unlike most others of cangw", capital(what)));
        }
        match rest[..length].parse::<i64>() {
            Ok(number) if (low..=high).contains(&number) => {
                self.at += length;
                Some(number)
            }
            _ => self.refuse(length, format!("{} does not fit: {what} is an 8-bit number", &rest[..length])),
        }
    }

    fn checksum_span(&mut self) -> Option<ChecksumSpan> {
        let mut position = |what| {
            let position = self.decimal(what, i64::from(i8::MIN), i64::from(i8::MAX))?;
            self.separator(':')?;
            i8::try_from(position).ok()
        };
        Some(ChecksumSpan {
            from: position("the first position")?,
            to: position("the last position")?,
            result: position("the position of the result")?,
        })
    }

    /// Exactly `count` bytes of two digits.
    fn bytes(&mut self, what: &str, count: usize) -> Option<Vec<u8>> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        if length < 2 * count {
            let (shown, found) = match rest[length..].chars().next() {
                Some(other) => (length + other.len_utf8(), format!("{other:?} after {length} digits")),
                None => (length, format!("{length} digits")),
            };
            let message = format!("{} needs {} hexadecimal digits, found {found}", capital(what), 2 * count);
            return self.refuse(shown, message);
        }
        self.at += 2 * count;
        let byte = |at: usize| u8::from_str_radix(&rest[at..at + 2], 16).ok();
        (0..count).map(|index| byte(2 * index)).collect()
    }
}

fn capital(what: &str) -> String {
    let mut characters = what.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
