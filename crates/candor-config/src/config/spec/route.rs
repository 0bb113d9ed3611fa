//! `[[route]]` as written, and the tables in it.

use toml::de::DeValue;

use super::operand::operand;
use super::realtime::time;
use super::sections::named_text;
use super::{ALLOW, BUS_NAME, DENY, ListSpec, MATCH, NamedText, SOURCE, TARGET, TEXTS};
use super::{CheckSpec, GuardSpec, ProtectSpec};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::entry::Entry;
use candor_core::document::keys::{Key, KeyTable, Keyed, Part, Shape, Table, Value, one_or_list};
use candor_core::document::{Flag, Number, Spanned, Text};
use candor_core::keys;

const TIME: Key = Key::new("a time with its unit, such as \"20ms\"").shape(Shape::Text);
const POSITION: Key = Key::new("a position in the payload, such as 7, or -1 for the last byte").range(-64, 63);
const HEX_BYTE: Key = Key::new("one byte in hex, such as \"FF\"");
const PAYLOADS: Key =
    Key::new("").about("payloads to forward, see [Payloads](#payloads)").default("any").kernel("eBPF or user space");
const LISTS: &str = "restrict `match`, see [Lists](#lists-of-identifiers)";
const OPERAND: Key = Key::new("a table of fields")
    .shape(Shape::Table(<OperandSpec as Keyed>::KEYS))
    .about("modifications, see [Modifications](#modifications)")
    .default("none")
    .kernel("`CGW_MOD_AND` … `CGW_FDMOD_SET` (`-m`, `-M`)");
const CHECKSUM: &str = "see [Checksums](#checksums)";

keys! {
    /// `[[route]]`; its span is the header. Keys that few routes have are boxed, because there may be many routes.
    pub struct RouteSpec {}
    "name" => name: Option<Text> = Key::new("a name, such as \"speed\"")
        .required("a name of its own, such as name = \"speed\"")
        .about("unique name; counters are reported under it");
    "from" => from: Option<Text> = BUS_NAME
        .required("the source bus, such as from = \"powertrain\"")
        .aliases(SOURCE)
        .about("name of the bus on which frames are received")
        .kernel("`CGW_SRC_IF` (`-s`)");
    "to" => to: Option<Text> = BUS_NAME
        .required("the destination bus, such as to = \"body\"")
        .aliases(TARGET)
        .about("name of the bus on which they are sent; must differ from `from` unless `back-to-incoming` is set")
        .kernel("`CGW_DST_IF` (`-d`)");
    "mode" => mode: Option<Text> = Key::new("the name of a mode, such as \"service\"")
        .about("the route exists only in this mode, see [Modes](firewall.md#modes)")
        .default("the route always exists");
    "match" => filter: Option<ListSpec> = MATCH
        .about("identifiers to forward: a filter or a list, see [Filters](#filters) and [Lists](#lists-of-identifiers)")
        .default("every frame")
        .kernel("`CGW_FILTER` (`-f`)");
    "errors" => errors: Option<Text> = Key::new("a mask of error classes in hex, such as \"1FF\"")
        .aliases(&["error-mask"])
        .about("error message frames, in place of `match`, see [Error message frames](#error-message-frames)")
        .default("none")
        .kernel("`CGW_FILTER` with 20000000 in the mask");
    "allow" => allow: Option<ListSpec> = ALLOW
        .about(LISTS).default("no restriction").kernel("fewer or other filters");
    "deny" => deny: Option<ListSpec> = DENY
        .about(LISTS).default("no restriction").kernel("fewer or other filters");
    "frames" => frames: Option<Text> = Key::words(&["classic", "fd", "any", "xl"])
        .aliases(&["type"])
        .about("`\"classic\"` (CAN CC), `\"fd\"` (CAN FD), `\"any\"` of both, or `\"xl\"`, see [CAN XL](#can-xl)")
        .default("`\"any\"`")
        .kernel("`CGW_FLAGS_CAN_FD` (`-X`); `\"any\"` makes two jobs");
    "vcid" => vcid: Option<Text> = HEX_BYTE
        .aliases(&["network"])
        .about("with frames = \"xl\": the virtual CAN network of the frames, see [CAN XL](#can-xl)")
        .default("any")
        .kernel("eBPF only");
    "payload" => payload: Option<Vec<Text>> | one_or_list = Key {
        wanted: "bytes in hex with ? for digits of any value, such as \"01 ?? 3?\", or a list of such texts",
        ..PAYLOADS
    }
        .shape(TEXTS)
        .aliases(&["data"]);
    "mux" => mux: Option<Box<Table<MuxSpec>>> = Key {
        wanted: "a table, such as { start-bit = 0, bits = 8, byte-order = \"little\", values = [1, 2] }",
        ..PAYLOADS
    }
        .aliases(&["multiplexer"]);
    "both-ways" => both_ways: Option<Flag> = Key::new("")
        .aliases(&["bidirectional"])
        .about("add a second route `NAME/back` from `to` to `from`, otherwise identical. Not for routes that modify \
            frames")
        .default("`false`")
        .kernel("a second job");
    "back-to-incoming" => back_to_incoming: Option<Flag> = Key::new("")
        .about("allow a frame to be sent on the interface on which this machine received it")
        .default("`false`")
        .kernel("`CGW_FLAGS_CAN_IIF_TX_OK` (`-i`)");
    "send-as" => send_as: Option<Text> = Key::words(&["classic", "fd", "fd-brs"])
        .aliases(&["convert"])
        .about("`\"classic\"`, `\"fd\"` or `\"fd-brs\"`: format in which all frames are sent, see [Formats](#formats)")
        .default("unchanged")
        .kernel("user space only");
    "to-id" => to_id: Option<Text> =
        Key::new("an identifier in hex such as \"456\", or the first one of a range such as \"500..\"")
        .aliases(&["new-id", "remap"])
        .about("new identifiers, see [Changing identifiers](#changing-identifiers)")
        .default("unchanged")
        .kernel("`CGW_MOD_SET`, or `CGW_MOD_AND` and `CGW_MOD_OR`");
    "change" => change: Vec<NamedText> | named_text =
        Key::new("a table of signals, such as { \"ABS1.VehSpd\" = \"x * 1.02\" }")
        .shape(Shape::Named("\"MESSAGE.SIGNAL\"", &Shape::Text))
        .aliases(&["signals"])
        .about("new values of signals, computed from those of the received frame, see [Signals](signals.md)")
        .default("unchanged")
        .kernel("a constant: `CGW_MOD_AND` and `CGW_MOD_OR`; otherwise user space only");
    "and" => and: Option<Box<Table<OperandSpec>>> | operand = OPERAND;
    "or" => or: Option<Box<Table<OperandSpec>>> | operand = OPERAND;
    "xor" => xor: Option<Box<Table<OperandSpec>>> | operand = OPERAND;
    "set" => set: Option<Box<Table<OperandSpec>>> | operand = OPERAND;
    "checksum-xor" => checksum_xor: Option<Box<Table<XorSpec>>> = Key::new("a table, such as { from = 0, to = 6, result = 7 }")
        .about(CHECKSUM).default("none").kernel("`CGW_CS_XOR` (`-x`)");
    "checksum-crc8" => checksum_crc8: Option<Box<Table<Crc8Spec>>> =
        Key::new("a table, such as { from = 0, to = 6, result = 7, preset = \"sae-j1850\" }")
        .aliases(&["crc8"])
        .about(CHECKSUM).default("none").kernel("`CGW_CS_CRC8` (`-c`, `-p`)");
    "guard" => guard: Option<Box<Table<GuardSpec>>> = Key::new("a table, such as { rate = \"120 frames/s\", on-violation = \"drop\" }")
        .about("what received frames must be like, and how soon they may follow each other, see [Guards](firewall.md)")
        .default("none")
        .kernel("user space only");
    "check" => check: Option<Box<Table<CheckSpec>>> =
        Key::new("a table, such as { e2e = \"P01\", data-id = 0x123 }")
        .about("the checksum and counter that a received frame must have, see [Checksums and counters](integrity.md)")
        .default("none")
        .kernel("user space only");
    "protect" => protect: Option<Box<Table<ProtectSpec>>> =
        Key::new("a table, such as { e2e = \"P01\", data-id = 0x123 }")
        .about("checksum and counter that are written into each frame, after all other changes")
        .default("none")
        .kernel("`CGW_CS_CRC8`, `CGW_CS_XOR` [where they do the same](integrity.md), otherwise user space only");
    "echo" => echo: Option<Flag> = Key::new("")
        .about("deliver sent frames to local sockets on the outgoing interface; on vcan, sockets receive them only with \
            echo")
        .default("`false`")
        .kernel("`CGW_FLAGS_CAN_ECHO` (`-e`)");
    "hop-limit" => hop_limit: Option<Spanned<u8>> = Key::new("a number of hops, such as 1")
        .range(1, 6)
        .help("can-gw counts at most 6 hops; a limit above 1 also needs the module parameter max_hops")
        .aliases(&["hops"])
        .about("number of gateway hops a frame may make on this machine, this one included: 1 to 6. Above 1, can-gw \
            must be loaded with `max_hops` of at least that. Applies only on the first route that forwards a frame")
        .default("the module's `max_hops`, normally 1")
        .kernel("`CGW_LIM_HOPS` (`-l`)");
    "keep-timestamp" => keep_timestamp: Option<Flag> = Key::new("")
        .about("keep the receive timestamp of frames")
        .default("`false`")
        .kernel("`CGW_FLAGS_CAN_SRC_TSTAMP` (`-t`)");
    "exclusive" => exclusive: Option<Flag> = Key::new("")
        .about("nobody else on this machine needs the frames of this route. An eBPF program then sends the frame itself in \
            place of a copy; no other program and no route of another engine receives it")
        .default("`false`")
        .kernel("eBPF only: `mirred` with `redirect` in place of `mirror`");
    "max-age" => max_age: Option<Text> | time = TIME
        .about("maximum age of a frame when it is sent, counted from its reception, such as `\"20ms\"`; older frames \
            are dropped and counted as `expired`. Not with the receiver `uring`, which has no timestamps")
        .default("any age")
        .kernel("user space only");
    "when-full" => when_full: Option<Text> = Key::words(&["drop-newest", "drop-oldest", "block"])
        .about("action when the queue of the outgoing interface is full: `\"drop-newest\"`, `\"drop-oldest\"` (candor \
            queues up to 64 frames, then drops the oldest) or `\"block\"` (stops reading from the incoming bus)")
        .default("`\"drop-newest\"`, as can-gw does")
        .kernel("user space only");
    "block-limit" => block_limit: Option<Text> | time = TIME
        .about("time that `when-full = \"block\"` waits before it drops the frame, at most `\"10s\"`")
        .default("`\"10ms\"`")
        .kernel("user space only");
    "cycle" => cycle: Option<Text> | time = TIME
        .about("send the newest frame at this interval, see [Timing](#timing)")
        .default("when it is received")
        .kernel("user space only");
    "min-delay" => min_delay: Option<Text> | time = TIME
        .aliases(&["debounce", "min-interval"])
        .about("the least time between two frames; a later frame waits, and a newer one takes its place")
        .default("0")
        .kernel("user space only");
    "on-change" => on_change: Option<OnChangeSpec> =
        Key::new("true, bytes in hex such as \"FF 0F\", or signals such as [\"ABS1.VehSpd\"]")
        .about("send only frames that differ from the last one: `true`, or in these bits or signals")
        .default("all")
        .kernel("user space only");
    "timeout" => timeout: Option<Text> | time = TIME
        .about("time without a frame after which `on-timeout` happens")
        .default("none")
        .kernel("user space only");
    "on-timeout" => on_timeout: Option<Text> = Key::new("\"stop\", \"keep\", or \"substitute:\" and bytes in hex")
        .about("what happens: nothing is sent (`stop`), the last frame is sent again (`keep`), or this payload")
        .default("`\"stop\"`")
        .kernel("user space only");
    "uid" => uid: Option<Text> = Key::new("a number in hex, such as \"0000ABCD\"")
        .about("1 to 8 hexadecimal digits, not 0, by which other programs find the job to update its modifications. \
            The route must have a modification, one filter and one frame format. No effect in user space")
        .default("none")
        .kernel("`CGW_MOD_UID` (`-u`)");
    ..notes: Notes = "";

    /// `mux`.
    pub struct MuxSpec {}
    "start-bit" => start_bit: Option<Number> = Key::new("the number of a bit, such as 0")
        .range(0, 511)
        .required("the start bit, as in a DBC file, such as start-bit = 0")
        .aliases(&["start"])
        .about("start bit of the multiplexer, as in a DBC file");
    "bits" => bits: Option<Spanned<u8>> = Key::new("a number of bits, such as 8")
        .range(1, 32)
        .help("a multiplexer has few bits; longer ones are matched with `payload`")
        .required("its length in bits, such as bits = 8")
        .aliases(&["length"])
        .about("length of the multiplexer in bits, 1 to 32");
    "byte-order" => byte_order: Option<Text> = Key::words(&["little", "big"])
        .required("byte-order = \"little\" (Intel, @1 in a DBC file) or \"big\" (Motorola, @0)")
        .aliases(&["endianness"])
        .about("`\"little\"` (Intel, `@1` in a DBC file) or `\"big\"` (Motorola, `@0`)");
    "values" => values: Option<Vec<Number>> | numbers = Key::new("a list of numbers, such as [1, 2]")
        .shape(Shape::List(&Shape::Integer(0, u32::MAX as i64)))
        .required("the values to match, such as values = [1, 2]")
        .aliases(&["value"])
        .about("values of the multiplexer; a frame must have one of them");

    /// The operand of `and`, `or`, `xor` or `set`.
    pub struct OperandSpec {}
    "id" => id: Option<Text> = Key::new("an identifier in hex, such as \"7FF\" or \"12345678\"")
        .aliases(&["can_id", "identifier"])
        .about("hexadecimal operand for the whole `can_id`, see below")
        .default("all");
    "len" => len: Option<Number> = Key::new("a length, such as 8")
        .range(0, 255)
        .aliases(&["dlc", "length"])
        .about("classic: operand for the raw DLC, 0 to 15. FD: operand for the length in bytes (`and` up to 255, `or` \
            and `xor` up to 127); for `set` a valid length (0 to 8, 12, 16, 20, 24, 32, 48, 64)")
        .default("`\"classic\"`, `\"fd\"`");
    "flags" => flags: Option<Text> = Key::new("CAN FD flags in hex, such as \"01\"")
        .about("operand for the FD flags: 01 bit-rate switch, 02 error state indicator")
        .default("`\"fd\"`");
    "data" => data: Option<Text> = Key::new("data bytes in hex, such as \"11 22\"")
        .about("data bytes in hexadecimal; white space between them is ignored")
        .default("all; `set` and more than 8 bytes need `\"classic\"` or `\"fd\"`");
    "raw-id" => raw_id: Option<Text> = Key::new("a 32-bit word in hex, such as \"80000123\"")
        .about("in place of `id`: the 32-bit word passed to the kernel, 8 digits")
        .default("all");
    "raw-len" => raw_len: Option<Spanned<u8>> = Key::new("a length byte, such as 8")
        .range(0, 255)
        .help("the kernel takes one byte")
        .about("in place of `len`: the byte passed to the kernel, 0 to 255")
        .default("`\"classic\"`, `\"fd\"`");

    /// The three positions of a checksum.
    pub struct PositionsSpec {}
    "from" => from: Option<Number> = POSITION
        .required("the first byte covered, such as from = 0")
        .aliases(SOURCE)
        .about("first and last byte covered, -8 to 7 (FD: -64 to 63). If `from` is above `to`, the bytes are processed \
            in descending order");
    "to" => to: Option<Number> = POSITION
        .required("the last byte covered, such as to = 6")
        .aliases(TARGET)
        .about("first and last byte covered, -8 to 7 (FD: -64 to 63). If `from` is above `to`, the bytes are processed \
            in descending order");
    "result" => result: Option<Number> = POSITION
        .required("the byte for the result, such as result = 7")
        .about("byte in which the result is stored");

    /// `checksum-xor`.
    pub struct XorSpec {}
    ..positions: PositionsSpec = "";
    "init" => init: Option<Text> = HEX_BYTE.about("initial value, one byte in hex").default("`\"00\"`");

    /// `checksum-crc8`.
    pub struct Crc8Spec {}
    ..positions: PositionsSpec = "";
    "preset" => preset: Option<Text> = Key::new("a preset, such as \"sae-j1850\"")
        .about("`checksum-crc8`: a well-known CRC, see below")
        .default("one of `preset`, `polynomial` and `table` is required");
    "init" => init: Option<Text> = HEX_BYTE.about("initial value, one byte in hex").default("`\"00\"`");
    "final-xor" => final_xor: Option<Text> = HEX_BYTE
        .about("`checksum-crc8`: value XORed into the result, one byte in hex").default("`\"00\"`");
    "polynomial" => polynomial: Option<Text> = Key::new("a polynomial in hex, such as \"1D\"")
        .about("`checksum-crc8`: polynomial of the CRC, most significant bit first, one byte in hex");
    "table" => table: Option<Text> = Key::new("256 bytes in hex")
        .about("`checksum-crc8`: lookup table with the CRC of every byte value, 256 bytes in hex");
    "profile" => profile: Option<Table<ProfileSpec>> =
        Key::new("a table: { id-xor = true }, { byte = \"2F\" } or { bytes = \"00 01 …\" }")
        .about("`checksum-crc8`: additional input to the CRC after the data").default("none");

    /// `checksum-crc8.profile`.
    pub struct ProfileSpec {}
    "id-xor" => id_xor: Option<Flag> = Key::new("")
        .about("`true`: the XOR of the two identifier bytes (`CGW_CRC8PRF_SFFID_XOR`)");
    "byte" => byte: Option<Text> = HEX_BYTE.about("a fixed byte, in hex (`CGW_CRC8PRF_1U8`)");
    "bytes" => bytes: Option<Text> = Key::new("16 bytes in hex")
        .about("16 bytes in hex, one of which the low nibble of data byte 1 selects (`CGW_CRC8PRF_16U8`)");
}

/// Keys of a route whose text only people read. The plan keeps it, and `candor show` prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes(pub Vec<(&'static str, Text)>);

impl Keyed for Notes {
    const KEYS: &'static KeyTable = &KeyTable::new(
        "Notes",
        &[Part::Key(
            Key::new("a text, such as \"speed for the display\"")
                .of_field("comment", Shape::TextUpTo(200))
                .about("text of up to 200 characters in one line, printed by `candor show` and `candor explain`. No effect on frames")
                .default("none"),
        )],
    );

    fn put(&mut self, name: &str, entry: &Entry<'_>, findings: &mut Findings) -> Option<(&'static Key, bool)> {
        let key = Self::KEYS.keys().into_iter().find(|key| key.name == name)?;
        let text = Text::read(entry, key, findings);
        let is_text = text.is_some();
        self.0.extend(text.map(|text| (key.name, text)));
        Some((key, is_text))
    }
}

/// A list of numbers. The finding about a number alone, the likely mistake, says how to write it.
fn numbers(into: &mut Option<Vec<Number>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let number = match entry.value.get_ref() {
        DeValue::Array(_) => return one_or_list(into, entry, key, findings),
        DeValue::Integer(number) => number.to_string(),
        _ => "1".to_owned(),
    };
    entry.wrong_type::<()>("a list of numbers", Some(format!("write [{number}]")), findings).is_some()
}

/// `on-change` as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnChangeSpec {
    /// From the start to the end of the value.
    pub span: Span,
    /// Bytes or signals; none for `true`.
    pub texts: Vec<Text>,
}

impl Value for OnChangeSpec {
    const SHAPE: Shape = Shape::OneOrList(&Shape::AnyOf(&[Shape::Boolean, Shape::Text]));

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let span = entry.span();
        if let DeValue::Boolean(true) = entry.value.get_ref() {
            return Some(Self { span, texts: Vec::new() });
        }
        let mut texts = None;
        one_or_list::<Text>(&mut texts, entry, key, findings);
        texts.filter(|texts| !texts.is_empty()).map(|texts| Self { span, texts })
    }
}
