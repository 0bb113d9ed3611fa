//! A database for people.

use std::time::Duration;

use candor_cli::gateway_file::plural;
use candor_cli::table::{cells, table};
use candor_signals::{ByteOrder, Database, Effect, Kind, Message, Oddity, SendMode, Signal};

use super::conditions;
use super::picture::{letter, picture};

/// Oddities of the overview.
const MOST_ODDITIES: usize = 20;
/// Pictures of a multiplexed message.
const MOST_PICTURES: usize = 16;

pub(super) fn overview(file: &str, database: &Database) -> String {
    let signals: usize = database.messages.iter().map(|one| one.signals.len()).sum();
    let mut text = format!(
        "{file}: {}, {}, {}\n",
        plural(database.messages.len(), "message"),
        plural(signals, "signal"),
        match database.oddities.len() {
            1 => "1 oddity".to_owned(),
            count => format!("{count} oddities"),
        },
    );
    let mut rows = vec![cells(["id", "message", "bytes", "signals", "cycle", "sender"])];
    rows.extend(database.messages.iter().map(|message| {
        vec![
            message.id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
            message.name.clone(),
            message.len.to_string(),
            message.signals.len().to_string(),
            message.timing.cycle.map_or_else(|| "-".to_owned(), time),
            if message.senders.is_empty() { "-".to_owned() } else { message.senders.join(", ") },
        ]
    }));
    if rows.len() > 1 {
        text += &format!("\n{}", table(&rows, 2..5));
    } else {
        text += if database.refusal().is_some() { "no messages\n" } else { "no messages: is it a DBC or KCD file?\n" };
    }
    text + &oddities(file, database.oddities.iter(), MOST_ODDITIES)
}

pub(super) fn messages(file: &str, database: &Database, messages: &[&Message]) -> String {
    let texts = messages.iter().map(|message| {
        let name = &message.name;
        let of_message = |one: &&Oddity| {
            one.subject.as_ref().is_some_and(|subject| {
                subject.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        self::message(message) + &oddities(file, database.oddities.iter().filter(of_message), usize::MAX)
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn message(message: &Message) -> String {
    let mut facts = vec![match message.id {
        Some(id) => format!("{id} ({} bits)", if id.raw().is_eff() { 29 } else { 11 }),
        None => "no valid identifier".to_owned(),
    }];
    facts.push(plural(message.len.into(), "byte"));
    if !message.senders.is_empty() {
        facts.push(format!("from {}", message.senders.join(", ")));
    }
    let timing = &message.timing;
    facts.extend(timing.send_type.clone().filter(|_text| timing.send_mode() != Some(SendMode::None)));
    let times = [
        ("every", timing.cycle),
        ("while active every", timing.fast_cycle),
        ("at least", timing.min_delay),
        ("first after", timing.start_delay),
    ];
    facts.extend(times.iter().filter_map(|(what, value)| Some(format!("{what} {}", time((*value)?)))));
    facts.extend(timing.repetitions.map(|count| format!("events sent {} more", plural(count as usize, "time"))));
    facts.extend(message.format.clone());
    let mut text = format!("{}: {}\n", message.name, facts.join(", "));
    if !message.comment.is_empty() {
        text += &format!("  {}\n", message.comment.trim().replace('\n', "\n  "));
    }
    text + &pictures(message) + &signals(message)
}

/// One picture, or one for each value of a switch.
fn pictures(message: &Message) -> String {
    let everywhere: Vec<usize> =
        (0..message.signals.len()).filter(|at| message.signals[*at].present.is_none()).collect();
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for at in 0..message.signals.len() {
        let Some(when) = when(message, at) else { continue };
        match groups.iter_mut().find(|(one, _)| *one == when) {
            Some((_, signals)) => signals.push(at),
            None => groups.push((when, vec![at])),
        }
    }
    if groups.is_empty() {
        return format!("\n{}", picture(message, &everywhere));
    }
    let mut text = String::new();
    for (when, signals) in groups.iter().take(MOST_PICTURES) {
        text += &format!("\n{when}:\n{}", picture(message, &[&everywhere[..], signals].concat()));
    }
    if let Some(more) = groups.len().checked_sub(MOST_PICTURES).filter(|more| *more > 0) {
        text += &format!("\n{} more\n", plural(more, "picture"));
    }
    text
}

fn signals(message: &Message) -> String {
    if message.signals.is_empty() {
        return String::new();
    }
    let mut rows =
        vec![cells(["", "signal", "start", "bits", "order", "type", "factor", "offset", "range", "unit", "present"])];
    rows.extend(message.signals.iter().enumerate().map(|(at, signal)| {
        vec![
            letter(at),
            signal.name.clone(),
            signal.start.to_string(),
            signal.bits.to_string(),
            order(signal.order).to_owned(),
            kind(signal.kind).to_owned(),
            signal.factor.to_string(),
            signal.offset.to_string(),
            range(signal),
            if signal.unit.is_empty() { "-".to_owned() } else { signal.unit.clone() },
            match (&signal.refusal, when(message, at)) {
                (Some(_), _) => "cannot be used".to_owned(),
                (None, Some(when)) => when,
                (None, None) => "always".to_owned(),
            },
        ]
    }));
    let mut text = format!("\n{}", table(&rows, 2..4));
    for signal in message.signals.iter().filter(|one| is_described(one)) {
        text += &format!("\n{}\n", signal.name);
        if !signal.comment.is_empty() {
            text += &format!("  {}\n", signal.comment.trim().replace('\n', "\n  "));
        }
        let raw = [("start", signal.start_value), ("inactive", signal.inactive_value)];
        for (what, value) in raw.iter().filter_map(|(what, value)| Some((what, (*value)?))) {
            text += &format!("  {value}  ({what} value)\n");
        }
        if let Some(timeout) = signal.timeout {
            text += &format!("  {timeout:?}  (timeout)\n");
        }
        text.extend(signal.values.iter().map(|value| format!("  {}  {}\n", value.raw, value.name)));
    }
    text
}

const fn is_described(signal: &Signal) -> bool {
    !signal.comment.is_empty()
        || !signal.values.is_empty()
        || signal.start_value.is_some()
        || signal.inactive_value.is_some()
        || signal.timeout.is_some()
}

/// `Mode = 0, 3-5`, and what selects the switch itself.
fn when(message: &Message, at: usize) -> Option<String> {
    let conditions = conditions(message, at);
    let one = |(switch, ranges): &(&str, &[(u64, u64)])| {
        let values = ranges.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
        format!("{switch} = {}", values.collect::<Vec<_>>().join(", "))
    };
    (!conditions.is_empty()).then(|| conditions.iter().map(one).collect::<Vec<_>>().join(" and "))
}

fn range(signal: &Signal) -> String {
    match (signal.min, signal.max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("from {min}"),
        (None, Some(max)) => format!("to {max}"),
        (None, None) => "-".to_owned(),
    }
}

fn oddities<'a>(file: &str, oddities: impl Iterator<Item = &'a Oddity>, most: usize) -> String {
    let all: Vec<_> = oddities.collect();
    if all.is_empty() {
        return String::new();
    }
    let line = |one: &&Oddity| {
        let subject = one.subject.as_ref().map_or_else(String::new, |subject| format!("{subject}: "));
        format!("{file}:{}: {subject}{}\n", one.line, one.kind)
    };
    // What has consequences comes first if not all are shown.
    let mut shown = all.clone();
    if all.len() > most {
        shown.sort_by_key(|one| one.effect() == Effect::Noted);
        shown.truncate(most);
    }
    let mut text = format!("\n{}", shown.iter().map(line).collect::<String>());
    if all.len() > shown.len() {
        text += &format!("{file}: {} more; --json lists all\n", all.len() - shown.len());
    }
    text
}

pub(super) const fn order(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Big => "big",
        ByteOrder::Little => "little",
    }
}

pub(super) const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Float32 | Kind::Float64 => "float",
        Kind::Signed => "signed",
        Kind::Unsigned => "unsigned",
    }
}

fn time(time: Duration) -> String {
    let whole = time.as_millis();
    if time.as_nanos().is_multiple_of(1_000_000) {
        format!("{whole} ms")
    } else {
        format!("{} ms", time.as_secs_f64() * 1e3)
    }
}
