//! Reader of KCD files, the XML format of Kayak.
//!
//! ```text
//!  bytes ──text::decode──▶ text ──xml::Reader──▶ elements ──Network──▶ Database ──check──▶ with oddities
//! ```
//!
//! Elements and attributes that the format does not have, and those of other namespaces, are skipped. Numbers are read from
//! their text, never through a floating-point number.
//!
//! # Source
//! Names and meanings: Definition.xsd of Kayak (<https://github.com/dschanoeh/Kayak>). The place of big-endian signals is that
//! of cantools and canmatrix, which the schema leaves open.

use crate::check;
use crate::database::{ByteOrder, Database, Kind, Message, NamedValue, Presence, Signal, Timing, mirrored};
use crate::id::MessageId;
use crate::index::{self, Index};
use crate::number::{milliseconds, whole};
use crate::oddity::{Oddity, OddityKind, Refusal};
use crate::place::{Unexpected, beginning};
use crate::text;
use crate::xml::{Element, Event, Reader};

mod join;

const NAMESPACE: &str = "http://kayak.2codeornot2code.org/1.0";

/// Reads a KCD file: the messages of all its buses. Bytes that are not UTF-8 are read as Windows-1252.
///
/// There is no error: what cannot be read is in [`Database::oddities`]. A file that is not well-formed XML, or another format,
/// has no messages.
///
/// ```
/// let database = candor_signals::kcd::read(
///     br#"<NetworkDefinition xmlns="http://kayak.2codeornot2code.org/1.0"><Bus name="Motor">
///       <Message id="0x123" name="ABS1" length="8">
///         <Signal name="VehSpd" offset="0" length="16" endianess="big"><Value slope="0.01" unit="km/h"/></Signal>
///       </Message></Bus></NetworkDefinition>"#,
/// );
/// let (message, signal) = database.signal("ABS1.VehSpd").unwrap();
/// assert_eq!(message.id.unwrap().to_string(), "123");
/// assert_eq!((signal.start, signal.factor.to_string().as_str()), (7, "0.01"));
/// ```
#[must_use]
pub fn read(bytes: &[u8]) -> Database {
    let text = text::decode(bytes);
    let mut network = Network::default();
    let mut database = match network.read(&mut Reader::new(&text)) {
        Ok(()) => network.named(),
        Err(oddity) => Database { oddities: vec![oddity], ..Database::default() },
    };
    check::check(&mut database);
    database
}

/// An element without an end. Numbers are those of signals in the last message.
#[derive(Clone, Copy)]
enum Open {
    Root,
    Bus,
    Message,
    Producer,
    /// Also a multiplexer.
    Signal(usize),
    /// The multiplexer, and its value.
    Group(usize, Option<u64>),
    Consumer(usize),
    Labels(usize),
    /// Of a signal, or of the message.
    Notes(Option<usize>),
    /// Skipped.
    Other,
}

#[derive(Default)]
struct Network<'a> {
    /// Senders and receivers are identifiers of nodes.
    database: Database,
    /// Identifiers of [`Database::nodes`].
    node_ids: Vec<String>,
    open: Vec<Open>,
    /// That of the outermost element, with its colon.
    prefix: &'a str,
    /// The length of the last message is that of its signals.
    is_auto: bool,
}

impl<'a> Network<'a> {
    fn read(&mut self, reader: &mut Reader<'a>) -> Result<(), Oddity> {
        let whole = |Unexpected { expected, found, line }| Oddity {
            line,
            subject: None,
            kind: OddityKind::NotWellFormed { expected, found },
        };
        while let Some(event) = reader.next().map_err(whole)? {
            match event {
                Event::Start(element) => {
                    let open = match self.open.last() {
                        Some(outer) => self.start(*outer, &element),
                        None => self.root(&element)?,
                    };
                    self.open.push(open);
                }
                Event::End => self.end(),
                Event::Text(text) => {
                    if let Some(Open::Notes(of)) = self.open.last().copied() {
                        self.comment(of).push_str(&text);
                    }
                }
            }
        }
        Ok(())
    }

    fn odd(&mut self, line: u32, subject: Option<String>, kind: OddityKind) {
        self.database.oddities.push(Oddity { line, subject, kind });
    }

    fn root(&mut self, element: &Element<'a>) -> Result<Open, Oddity> {
        let line = element.line;
        let at = element.name.rfind(':').map_or(0, |colon| colon + 1);
        let (prefix, name) = element.name.split_at(at);
        if name != "NetworkDefinition" {
            let (what, help) = match name {
                "AUTOSAR" => ("an ARXML file", OddityKind::CANTOOLS),
                "FIBEX" => ("a FIBEX file", OddityKind::CANMATRIX),
                _ => ("XML, but not a KCD file", ""),
            };
            return Err(Oddity { line, subject: None, kind: OddityKind::OtherFormat { what, help } });
        }
        self.prefix = prefix;
        let namespace = element.namespace(prefix).unwrap_or_default();
        if namespace != NAMESPACE {
            self.odd(line, None, OddityKind::Namespace(beginning(namespace)));
        }
        Ok(Open::Root)
    }

    fn start(&mut self, outer: Open, element: &Element<'_>) -> Open {
        let Some(name) = element.name.strip_prefix(self.prefix) else { return Open::Other };
        if element.namespace(self.prefix).is_some_and(|own| own != NAMESPACE) {
            return Open::Other;
        }
        match (outer, name) {
            (Open::Root | Open::Bus, "Node") => {
                let (id, name) = (name_of(element, "id"), name_of(element, "name"));
                self.database.nodes.push(if name.is_empty() { id.clone() } else { name });
                self.node_ids.push(id);
                Open::Other
            }
            (Open::Root, "Bus") => Open::Bus,
            (Open::Bus, "Message") => {
                self.message(element);
                Open::Message
            }
            (Open::Message, "Producer") => Open::Producer,
            (Open::Producer, "NodeRef") => {
                self.last().senders.push(name_of(element, "id"));
                Open::Other
            }
            (Open::Message, "Signal" | "Multiplex") => self.signal(element, name, None),
            (Open::Group(switch, value), "Signal" | "Multiplex") => self.signal(element, name, Some((switch, value))),
            (Open::Signal(at), "MuxGroup") if self.last().signals[at].is_switch => {
                Open::Group(at, element.attribute("count").and_then(|count| count.trim().parse().ok()))
            }
            (Open::Signal(at), "Value") => {
                value(&mut self.last().signals[at], element);
                Open::Other
            }
            (Open::Signal(at), "Consumer") => Open::Consumer(at),
            (Open::Consumer(at), "NodeRef") => {
                self.last().signals[at].receivers.push(name_of(element, "id"));
                Open::Other
            }
            (Open::Signal(at), "LabelSet") => Open::Labels(at),
            (Open::Labels(at), "Label") => {
                self.label(at, element);
                Open::Other
            }
            (Open::Signal(at), "Notes") => Open::Notes(Some(at)),
            (Open::Message, "Notes") => Open::Notes(None),
            (Open::Notes(of), _) => Open::Notes(of),
            _ => Open::Other,
        }
    }

    fn end(&mut self) {
        match self.open.pop() {
            Some(Open::Message) => {
                let is_auto = self.is_auto;
                let message = self.last();
                if is_auto {
                    let end = |one: &Signal| match one.order {
                        ByteOrder::Little => u32::from(one.start) + u32::from(one.bits),
                        ByteOrder::Big => mirrored(one.start.into()) + u32::from(one.bits),
                    };
                    let bits = message.signals.iter().map(end).max().unwrap_or(0);
                    message.len = bits.div_ceil(8).try_into().unwrap_or(u16::MAX);
                }
                join::groups(&mut message.signals);
            }
            Some(Open::Notes(of)) => {
                let comment = self.comment(of);
                *comment = comment.trim().to_owned();
            }
            _ => {}
        }
    }

    /// The message whose element is open. Elements of other places are [`Open::Other`], so there is one.
    fn last(&mut self) -> &mut Message {
        self.database.messages.last_mut().expect("an element of a message is in a message")
    }

    fn comment(&mut self, of: Option<usize>) -> &mut String {
        let message = self.last();
        match of {
            Some(signal) => &mut message.signals[signal].comment,
            None => &mut message.comment,
        }
    }

    fn message(&mut self, element: &Element<'_>) {
        let (line, name) = (element.line, name_of(element, "name"));
        let text = |attribute| element.attribute(attribute).map_or("", str::trim);
        let mut odd = |kind| self.odd(line, Some(name.clone()), kind);
        if name.is_empty() {
            odd(ignored("a name", "nothing"));
        }
        let format = text("format");
        if !matches!(format, "" | "standard" | "extended") {
            odd(ignored("format standard or extended", format));
        }
        let number = text("id");
        let id = match number.strip_prefix("0x").or_else(|| number.strip_prefix("0X")) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        let id = match id {
            Ok(id) if format == "extended" => MessageId::extended(id).ok_or(OddityKind::IdTooWide(id)),
            Ok(id) => MessageId::standard(id).map_or_else(
                || {
                    let wide = MessageId::extended(id).ok_or(OddityKind::IdTooWide(id))?;
                    odd(OddityKind::NotExtended(wide));
                    Ok(wide)
                },
                Ok,
            ),
            Err(_) => Err(OddityKind::NoId(beginning(number))),
        };
        let id = id.map_err(&mut odd).ok();
        let mut timing = Timing::default();
        let interval = text("interval");
        if whole(interval).is_some() {
            timing.cycle = milliseconds(interval);
        } else if !interval.is_empty() {
            odd(ignored("an interval in milliseconds", interval));
        }
        // Some programs mark each cyclic message as triggered.
        if matches!(text("triggered"), "true" | "1") && timing.cycle.is_none() {
            timing.send_type = Some("triggered".to_owned());
        }
        let length = text("length");
        let len = length.parse().ok();
        if !matches!(length, "" | "auto") && len.is_none() {
            odd(ignored("a length in bytes, or auto", length));
        }
        self.is_auto = len.is_none();
        self.database.messages.push(Message {
            name,
            id,
            len: len.unwrap_or_default(),
            senders: Vec::new(),
            signals: Vec::new(),
            timing,
            format: None,
            comment: String::new(),
            line,
        });
    }

    fn signal(&mut self, element: &Element<'_>, kind: &str, group: Option<(usize, Option<u64>)>) -> Open {
        let mut signal = Signal::plain(name_of(element, "name"), element.line);
        let mut refusal = None;
        let mut refuse = |expected, found: Option<&str>| {
            refusal = Some(Refusal::Attribute { expected, found: found.map_or_else(|| "nothing".into(), beginning) });
        };
        if signal.name.is_empty() {
            refuse("a name", None);
        }
        let mut number = |attribute, default, expected| {
            let text = element.attribute(attribute).or(default);
            let number = text.and_then(|text| text.trim().parse().ok());
            number.unwrap_or_else(|| {
                refuse(expected, text);
                0
            })
        };
        signal.start = number("offset", None, "the offset in bits");
        signal.bits = number("length", Some("1"), "the length in bits");
        // The schema has the first spelling, people write the second one.
        match element.attribute("endianess").or_else(|| element.attribute("endianness")) {
            None | Some("little") => {}
            Some("big") => {
                signal.order = ByteOrder::Big;
                // Bits are counted as on the wire, up to the most significant one.
                signal.start = mirrored(signal.start.into()).try_into().unwrap_or_default();
            }
            other => refuse("endianess little or big", other),
        }
        if let Some((switch, value)) = group {
            match value {
                Some(value) => signal.present = Some(Presence { switch, ranges: vec![(value, value)] }),
                None => refuse("a group with a count", None),
            }
        }
        signal.refusal = refusal;
        signal.is_switch = kind == "Multiplex";
        let signals = &mut self.last().signals;
        signals.push(signal);
        Open::Signal(signals.len() - 1)
    }

    fn label(&mut self, at: usize, element: &Element<'_>) {
        let value = element.attribute("value").unwrap_or_default();
        match whole(value.trim()) {
            Some(raw) => {
                let name = element.attribute("name").unwrap_or_default().to_owned();
                self.last().signals[at].values.push(NamedValue { raw, name });
            }
            None => {
                let message = self.last();
                let subject = format!("{}.{}", message.name, message.signals[at].name);
                self.odd(element.line, Some(subject), ignored("a label with the whole number of its value", value));
            }
        }
    }

    /// The database with the names of nodes.
    fn named(self) -> Database {
        let Self { mut database, node_ids, .. } = self;
        let by_id = Index::new(node_ids.iter().map(|id| index::of_name(id)));
        let mut odd = Vec::new();
        let nodes = &database.nodes;
        let mut name = |ids: &mut Vec<String>, line: u32, subject: &dyn Fn() -> String| {
            ids.retain_mut(|id| {
                let known = by_id.at(index::of_name(id)).find(|at| node_ids[*at] == *id);
                match known {
                    Some(at) => id.clone_from(&nodes[at]),
                    None => odd.push(Oddity {
                        line,
                        subject: Some(subject()),
                        kind: OddityKind::UnknownNode(beginning(id)),
                    }),
                }
                known.is_some()
            });
        };
        for Message { name: message, senders, signals, line, .. } in &mut database.messages {
            name(senders, *line, &|| message.clone());
            for Signal { name: signal, receivers, line, .. } in signals {
                name(receivers, *line, &|| format!("{message}.{signal}"));
            }
        }
        database.oddities.append(&mut odd);
        database
    }
}

fn value(signal: &mut Signal, element: &Element<'_>) {
    let text = |attribute, default| element.attribute(attribute).map_or(default, str::trim);
    signal.set_scale(text("slope", "1"), text("intercept", "0"));
    signal.set_range(text("min", ""), text("max", ""));
    element.attribute("unit").unwrap_or_default().clone_into(&mut signal.unit);
    signal.kind = match text("type", "unsigned") {
        "unsigned" => Kind::Unsigned,
        "signed" => Kind::Signed,
        "single" => Kind::Float32,
        "double" => Kind::Float64,
        other => {
            let expected = "type unsigned, signed, single or double";
            signal.refusal = Some(Refusal::Attribute { expected, found: beginning(other) });
            return;
        }
    };
}

/// A name in one line.
fn name_of(element: &Element<'_>, attribute: &str) -> String {
    element.attribute(attribute).unwrap_or_default().replace(char::is_control, " ")
}

fn ignored(expected: &'static str, found: &str) -> OddityKind {
    OddityKind::Attribute { expected, found: beginning(found) }
}
