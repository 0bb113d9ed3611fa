//! `check` and `protect` of a route as written.

use candor_core::diagnostic::Findings;
use candor_core::document::entry::Entry;
use candor_core::document::keys::{Key, Keyed, Shape, Table, Value, one_or_list};
use candor_core::document::{Flag, Spanned, Text};
use candor_core::keys;

use super::TEXTS;

const BYTE_OR_BITS: Key =
    Key::new("the number of a byte, such as 7, or a table { start-bit = 60, bits = 4, byte-order = \"little\" }");
const HEX: Key = Key::new("a number in hex, such as \"1D\"");

keys! {
    /// How payloads are protected.
    pub struct SchemeSpec {}
    "e2e" => e2e: Option<Text> = Key::words(&["P01", "P02", "P04", "P05", "P06", "P07", "P11", "P22"])
        .about("profile of AUTOSAR E2E. Its checksum, counter and Data-ID are where the profile has them")
        .default("the keys `checksum` and `at`");
    "data-id" => data_id: Option<Vec<Spanned<u32>>> | one_or_list =
        Key::new("a number such as 0x123, or 16 numbers")
        .range(0, u32::MAX as i64)
        .help("a Data-ID has at most 32 bits")
        .shape(Shape::OneOrList(&Shape::Integer(0, u32::MAX as i64)))
        .about("with `e2e`: the Data-ID; 16 of them in P02 and P22");
    "mode" => mode: Option<Text> = Key::words(&["both", "alternating", "low", "nibble"])
        .about("with P01 and P11: which part of the Data-ID is protected (variants A, B, low byte and C)")
        .default("`\"both\"`");
    "offset" => offset: Option<Spanned<u8>> = Key::new("the number of a byte, such as 8")
        .range(0, 63)
        .help("a frame has at most 64 bytes")
        .about("with `e2e`: the first byte of the header")
        .default("0");
    "len" => len: Option<Spanned<u8>> = Key::new("a length in bytes, such as 8")
        .range(1, 64)
        .help("a frame has at most 64 bytes")
        .about("length of the payload in bytes; other frames are bad")
        .default("that of the message in the database of the bus; otherwise 8");
    "max-delta" => max_delta: Option<Spanned<u32>> = Key::new("a number, such as 1")
        .range(1, u32::MAX as i64)
        .help("1 accepts the next counter only")
        .about("up to this step of the counter, frames are lost but accepted")
        .default("1");
    "resync" => resync: Option<Spanned<u32>> = Key::new("a number, such as 3")
        .range(0, u32::MAX as i64)
        .help("0 means never")
        .about("after this many bad frames whose counters follow each other, a check begins again with the next one, for \
            example when the sender has restarted")
        .default("3");
    "checksum" => checksum: Option<Text> =
        Key::new("the name of a CRC, such as \"SAE-J1850\", or \"xor\", \"sum\", \"xor-nibbles\" or \"sum-nibbles\"")
        .about("without `e2e`: the checksum: a CRC of the catalogue by its name, `\"xor\"` or `\"sum\"` of bytes, or of their halves");
    "crc" => crc: Option<Box<Table<CrcSpec>>> = Key::new("a table, such as { width = 8, polynomial = \"1D\" }")
        .about("in place of `checksum`: a CRC with these parameters");
    "init" => init: Option<Text> = HEX.about("with `\"xor\"` and `\"sum\"`: the start value").default("0");
    "negated" => negated: Option<Flag> = Key::new("").about("with `\"sum\"`: the sum is subtracted from 0").default("`false`");
    "final-xor" => final_xor: Option<Text> = HEX.about("with `\"sum\"`: value XORed into the result").default("0");
    "at" => at: Option<PlaceSpec> = BYTE_OR_BITS.about("without `e2e`: where the checksum is");
    "over" => over: Option<Text> = Key::new("two bytes, such as \"0..6\"")
        .about("the first and the last byte that the checksum covers; those of the checksum itself are left out")
        .default("all");
    "counter-at" => counter_at: Option<PlaceSpec> = BYTE_OR_BITS.about("without `e2e`: where the counter is").default("no counter");
    "counter-max" => counter_max: Option<Spanned<u32>> = Key::new("a number, such as 14")
        .range(1, u32::MAX as i64)
        .help("the counter goes from there to 0")
        .about("the largest value of the counter")
        .default("that of its bits");
    "before" => before: Option<Vec<Text>> | one_or_list = Key::new("bytes in hex, such as \"01 23\", or a list of them")
        .shape(TEXTS)
        .about("bytes that the checksum covers before the payload, such as a Data-ID; one of a list by the counter")
        .default("none");
    "after" => after: Option<Vec<Text>> | one_or_list = Key::new("bytes in hex, such as \"01\", or a list of them")
        .shape(TEXTS)
        .about("bytes that the checksum covers after the payload")
        .default("none");
    ..secoc: SecocSpec = "";

    /// How frames are authenticated.
    pub struct SecocSpec {}
    "secoc" => secoc: Option<Text> = Key::words(&["P01", "P02", "P03", "sync"])
        .about("profile of AUTOSAR SecOC, or the sync frame of P03, see [Authenticated frames](integrity.md#authenticated-frames)")
        .default("none");
    "key" => key: Option<Text> = Key::new("the path of a file with a key, such as \"/etc/candor/body.key\"")
        .about("with `secoc`: the file of the key, which only its owner can read; a path in `${CREDENTIALS_DIRECTORY}` for a \
            credential of systemd");
    "sync" => sync: Option<Text> = Key::new("the name of a route, such as \"sync\"")
        .about("with P03: the route whose `check = { secoc = \"sync\" }` has the trip and reset counters");
    "payload" => payload: Option<Spanned<u8>> = Key::new("a length in bytes, such as 4")
        .range(0, 63)
        .help("a frame has at most 64 bytes")
        .about("with `secoc`: length of the plain payload in bytes, after which freshness value and MAC follow")
        .default("the bytes of `len` that these do not need");
    "mac-bits" => mac_bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 28")
        .range(8, 128)
        .help("a MAC has 128 bits, of which the most significant ones are sent")
        .about("with `secoc`: sent bits of the MAC")
        .default("24; in P03 and sync frames 28");
    "counter-bits" => counter_bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 32")
        .range(1, 64)
        .help("a freshness value has at most 64 bits")
        .about("with P01 and P03: bits of the counter in the freshness value, of which `sent-bits` are sent")
        .default("32; in P03 8");
    "sent-bits" => sent_bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 8")
        .range(0, 64)
        .help("a freshness value has at most 64 bits")
        .about("with P01 and P03: sent bits of the counter")
        .default("8; in P03 2");
    "trip-bits" => trip_bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 16")
        .range(0, 63)
        .help("a freshness value has at most 64 bits")
        .about("with P03 and sync frames: bits of the trip counter")
        .default("16");
    "reset-bits" => reset_bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 20")
        .range(1, 63)
        .help("a freshness value has at most 64 bits")
        .about("with P03 and sync frames: bits of the reset counter")
        .default("20");
    "flag-bits" => flag_bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 2")
        .range(0, 8)
        .help("they are sent after those of the counter")
        .about("with P03: low bits of the reset counter that are sent, too")
        .default("2");
    "attempts" => attempts: Option<Spanned<u8>> = Key::new("a number, such as 2")
        .range(1, 16)
        .help("each attempt costs a MAC")
        .about("with P01 and P03: how many values that end in the sent bits are tried, which tolerates more lost frames")
        .default("1");
    "start" => start: Option<Text> = HEX
        .about("with `secoc`: the smallest freshness value, with all counters in one number")
        .default("0");

    /// `check`.
    pub struct CheckSpec {}
    ..scheme: SchemeSpec = "";
    "strip" => strip: Option<Flag> = Key::new("")
        .about("with `secoc`: the plain payload is sent, without freshness value and MAC")
        .default("`false`");
    "on-bad" => on_bad: Option<Text> = Key::new("\"drop\", \"pass\", or \"substitute:\" and bytes in hex")
        .about("what happens to a bad frame: it is dropped, only counted (`\"pass\"`), or this payload is sent in its place; not with `secoc`")
        .default("`\"drop\"`");

    /// `protect`.
    pub struct ProtectSpec {}
    ..scheme: SchemeSpec = "";
    "counter" => counter: Option<Text> = Key::words(&["own", "follow"])
        .about("whose counter a frame has: candor counts (`\"own\"`), or that of the received frame (`\"follow\"`)")
        .default("`\"own\"`");

    /// `crc`.
    pub struct CrcSpec {}
    "width" => width: Option<Spanned<u8>> = Key::new("a number of bits, such as 8")
        .range(1, 64)
        .help("a CRC has at most 64 bits")
        .required("its bits, such as width = 8")
        .about("its number of bits");
    "polynomial" => polynomial: Option<Text> = HEX.required("its polynomial in hex, such as polynomial = \"1D\"").about("its polynomial, without the highest bit");
    "init" => init: Option<Text> = HEX.about("the register before the first byte").default("0");
    "final-xor" => final_xor: Option<Text> = HEX.about("value XORed into the result").default("0");
    "reflect-in" => reflect_in: Option<Flag> = Key::new("").about("the least significant bit of a byte comes first").default("`false`");
    "reflect-out" => reflect_out: Option<Flag> = Key::new("").about("the result is reversed").default("`false`");

    /// Bits of a payload.
    pub struct BitsSpec {}
    "start-bit" => start_bit: Option<Spanned<u32>> = Key::new("the number of a bit, such as 0")
        .range(0, 511)
        .help("counted as in a DBC file")
        .required("the start bit, as in a DBC file, such as start-bit = 0")
        .about("its start bit, as in a DBC file");
    "bits" => bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 4")
        .range(1, 64)
        .help("a field has at most 64 bits")
        .required("its length in bits, such as bits = 4")
        .about("its number of bits");
    "byte-order" => byte_order: Option<Text> = Key::words(&["little", "big"])
        .about("`\"little\"` (Intel) or `\"big\"` (Motorola)")
        .default("`\"little\"`");
}

/// Where a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceSpec {
    Byte(Spanned<u8>),
    Bits(Table<BitsSpec>),
}

impl Value for PlaceSpec {
    const SHAPE: Shape = Shape::AnyOf(&[Shape::Integer(0, 63), Shape::Table(<BitsSpec as Keyed>::KEYS)]);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        if entry.value.get_ref().is_table() {
            return Table::read(entry, key, findings).map(Self::Bits);
        }
        const BYTE: Key = Key::new("the number of a byte").range(0, 63).help("a frame has at most 64 bytes");
        Spanned::<u8>::read(entry, &Key { name: key.name, ..BYTE }, findings).map(Self::Byte)
    }
}
