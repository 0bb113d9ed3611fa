//! A database written as a KCD file is read as it was.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::time::Duration;

use candor_signals::{ByteOrder, Database, Kind, Message, MessageId, NamedValue, Presence, Ratio, Signal, Timing, kcd};
use proptest::prelude::*;

/// A text of an attribute or element.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|one| if one.is_ascii_alphanumeric() { one.to_string() } else { format!("&#{};", u32::from(one)) })
        .collect()
}

fn written(database: &Database) -> String {
    let mut text = "<NetworkDefinition xmlns='http://kayak.2codeornot2code.org/1.0'>\n".to_owned();
    for (id, node) in database.nodes.iter().enumerate() {
        writeln!(text, "<Node id='n{id}' name='{}'/>", escaped(node)).unwrap();
    }
    text += "<Bus name='B'>\n";
    let refs = |names: &[String]| {
        let id = |name: &String| database.nodes.iter().position(|one| one == name).unwrap();
        names.iter().map(|name| format!("<NodeRef id='n{}'/>", id(name))).collect::<String>()
    };
    for message in &database.messages {
        let id = message.id.unwrap();
        let format = if id.raw().is_eff() { "extended" } else { "standard" };
        let interval = message.timing.cycle.map_or(0, |cycle| cycle.as_millis());
        let triggered = message.timing.send_type.is_some();
        write!(text, "<Message id='0x{id}' name='{}' length='{}'", escaped(&message.name), message.len).unwrap();
        writeln!(text, " format='{format}' interval='{interval}' triggered='{triggered}'>").unwrap();
        writeln!(text, "<Notes>{}</Notes>", escaped(&message.comment)).unwrap();
        writeln!(text, "<Producer>{}</Producer>", refs(&message.senders)).unwrap();
        for (at, signal) in message.signals.iter().enumerate().filter(|(_, one)| one.present.is_none()) {
            let tag = if signal.is_switch { "Multiplex" } else { "Signal" };
            open(&mut text, tag, signal, &refs);
            let selected = message.signals.iter().filter_map(|one| {
                let present = one.present.as_ref().filter(|present| present.switch == at)?;
                Some((one, &present.ranges))
            });
            for (inner, ranges) in selected {
                for (value, _) in ranges {
                    writeln!(text, "<MuxGroup count='{value}'>").unwrap();
                    open(&mut text, "Signal", inner, &refs);
                    text += "</Signal></MuxGroup>\n";
                }
            }
            writeln!(text, "</{tag}>").unwrap();
        }
        text += "</Message>\n";
    }
    text + "</Bus></NetworkDefinition>\n"
}

/// A signal without its end.
fn open(text: &mut String, tag: &str, signal: &Signal, refs: &impl Fn(&[String]) -> String) {
    let (order, offset) = match signal.order {
        ByteOrder::Little => ("little", signal.start),
        ByteOrder::Big => ("big", 8 * (signal.start / 8) + 7 - signal.start % 8),
    };
    let kind = match signal.kind {
        Kind::Unsigned => "unsigned",
        Kind::Signed => "signed",
        Kind::Float32 => "single",
        Kind::Float64 => "double",
    };
    write!(
        text,
        "<{tag} name='{}' offset='{offset}' length='{}' endianess='{order}'>",
        escaped(&signal.name),
        signal.bits
    )
    .unwrap();
    write!(text, "<Notes>{}</Notes><Consumer>{}</Consumer>", escaped(&signal.comment), refs(&signal.receivers))
        .unwrap();
    write!(text, "<Value type='{kind}' slope='{}' intercept='{}'", signal.factor, signal.offset).unwrap();
    for (name, limit) in [("min", signal.min), ("max", signal.max)] {
        limit.map_or(Ok(()), |limit| write!(text, " {name}='{limit}'")).unwrap();
    }
    write!(text, " unit='{}'/><LabelSet>", escaped(&signal.unit)).unwrap();
    for value in &signal.values {
        write!(text, "<Label name='{}' value='{}'/>", escaped(&value.name), value.raw).unwrap();
    }
    text.push_str("</LabelSet>\n");
}

/// A decimal number.
fn number() -> impl Strategy<Value = Ratio> {
    (-1_000_000_000_000i128..1_000_000_000_000, 0..9u32)
        .prop_map(|(digits, places)| Ratio::new(digits, 10i128.pow(places)).unwrap())
}

/// A text without white space at its ends, as comments have none.
fn any_text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| {
        let kept: String = text.chars().filter(|one| *one >= ' ' && *one != '\u{FFFE}' && *one != '\u{FFFF}').collect();
        kept.trim().to_owned()
    })
}

fn signal() -> impl Strategy<Value = Signal> {
    let place = (any::<bool>(), 0..4u8, 1..=64u16).prop_flat_map(|(is_big, kind, bits)| {
        let kind = [Kind::Unsigned, Kind::Signed, Kind::Float32, Kind::Float64][usize::from(kind)];
        let bits = match kind {
            Kind::Float32 => 32,
            Kind::Float64 => 64,
            _ => bits,
        };
        let order = if is_big { ByteOrder::Big } else { ByteOrder::Little };
        (0..=512 - bits).prop_map(move |at| (if is_big { at ^ 7 } else { at }, bits, order, kind))
    });
    let range = (prop::option::of(number()), prop::option::of(number()));
    let nodes = prop::collection::vec(prop::sample::select(vec!["A".to_owned(), "B c".to_owned()]), 0..3);
    let values = prop::collection::vec((-3..3i128, any_text()), 0..3);
    (place, number(), number(), range, any_text(), nodes, values, any_text()).prop_map(
        |((start, bits, order, kind), factor, offset, (mut min, mut max), unit, receivers, values, comment)| {
            if min.zip(max).is_some_and(|(min, max)| min.compare(max).is_ge()) {
                (min, max) = (None, None);
            }
            let values = values.into_iter().map(|(raw, name)| NamedValue { raw, name }).collect();
            Signal {
                start,
                bits,
                order,
                kind,
                factor,
                offset,
                min,
                max,
                unit,
                receivers,
                values,
                comment,
                ..Signal::plain(String::new(), 0)
            }
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let id =
        prop_oneof![(0..0x800u32).prop_map(MessageId::standard), (0..0x2000_0000u32).prop_map(MessageId::extended)];
    let signals = prop::collection::vec((signal(), prop::collection::btree_set(0..4u64, 0..3)), 0..8);
    (id, signals, 0..3u8, any_text()).prop_map(|(id, signals, timing, comment)| {
        let mut kept: Vec<Signal> = Vec::new();
        for (at, (mut signal, groups)) in signals.into_iter().enumerate() {
            // Each third one selects those after it.
            signal.name = format!("S {at}");
            signal.is_switch = at % 3 == 2;
            let switch = kept.iter().rposition(|one| one.is_switch).filter(|_| !signal.is_switch && !groups.is_empty());
            let ranges = groups.into_iter().map(|group| (group, group)).collect();
            signal.present = switch.map(|switch| Presence { switch, ranges });
            kept.push(signal);
        }
        let timing = Timing {
            cycle: (timing == 1).then_some(Duration::from_millis(20)),
            send_type: (timing == 2).then(|| "triggered".to_owned()),
            ..Timing::default()
        };
        Message {
            name: "M".into(),
            id,
            len: 64,
            senders: vec!["A".into()],
            signals: kept,
            timing,
            format: None,
            comment,
            line: 0,
        }
    })
}

/// Without lines and refusals, and the signals by their names.
fn comparable(mut message: Message) -> Vec<String> {
    let signals = std::mem::take(&mut message.signals);
    message.line = 0;
    let switch_of = |at: usize| signals[at].name.clone();
    let texts = signals.iter().map(|signal| {
        let present = signal.present.as_ref().map(|one| (switch_of(one.switch), one.ranges.clone()));
        let signal = Signal { line: 0, refusal: None, present: None, ..signal.clone() };
        format!("{signal:?} {present:?}")
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts.push(format!("{message:?}"));
    texts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_database_is_read_as_it_was_written(message in message()) {
        let nodes = vec!["A".to_owned(), "B c".to_owned()];
        let database = Database { nodes, messages: vec![message.clone()], oddities: Vec::new() };
        let text = written(&database);
        let mut read = kcd::read(text.as_bytes());
        prop_assert_eq!(&read.nodes, &database.nodes);
        prop_assert_eq!(read.messages.len(), 1, "{:?}", read.oddities);
        prop_assert_eq!(comparable(read.messages.remove(0)), comparable(message), "{}", text);
    }
}
