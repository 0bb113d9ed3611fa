//! [`Plan`] → candor.toml, [`Plan`] → cangw script, and jobs → [`Plan`].
//!
//! ```text
//!  [Job] ──of_jobs──▶ Plan ──write───▶ candor.toml ──config::load──▶ the same Plan
//!                      └─────script──▶ cangw script ─import::cangw─▶ the same [Job]
//! ```
//!
//! Raw values are written only if no other notation means the same.

mod changes;
mod identifiers;
mod jobs;
mod payload;
mod script;

pub use identifiers::{Taken, taken};
pub use jobs::of_jobs;
pub use script::script;

use std::time::Duration;

use crate::plan::{Bus, Echo, Formats, Incoming, OnTimeout, Plan, Route, SendAs, Timestamp, Timing, WhenFull};
use candor_core::frame::FrameFormat;
use candor_core::realtime::Realtime;
use candor_egress::text::{self, Unsayable};
use candor_egress::tree::Tree;

/// The text of a file that [`crate::config::load`] reads as an equal plan.
///
/// That holds for every plan from a file or from [`of_jobs`], except if `payload` and `mux` of a route overlap in a way
/// that no other keys express. Derived keys (`both-ways`, `allow`, `[ids]`) are written as their effect. `[egress]` is not
/// written: plans of jobs have none.
pub fn write(plan: &Plan) -> String {
    let mut text = format!("engine = {}\n", string(plan.engine().name()));
    if !plan.realtime().is_empty() {
        text.push_str("\n[realtime]\n");
        push(&mut text, realtime(plan.realtime()));
    }
    for bus in plan.buses() {
        text.push_str(&format!("\n[bus.{}]\n", key(&bus.name)));
        push(&mut text, self::bus(plan, bus));
    }
    for route in plan.routes() {
        text.push_str("\n[[route]]\n");
        push(&mut text, self::route(plan, route));
    }
    text
}

/// A file with these trees, for buses with the names of their interfaces.
///
/// # Errors
/// Everything of the first tree with something that the language of `tc` cannot express.
pub fn of_trees(trees: &[(String, Tree)]) -> Result<String, (String, Vec<Unsayable>)> {
    let mut file = String::new();
    for (interface, _) in trees {
        file.push_str(&format!("\n[bus.{}]\ninterface = {}\n", key(interface), string(interface)));
    }
    for (interface, tree) in trees {
        let lines = text::lines(tree).map_err(|unsayable| (interface.clone(), unsayable))?;
        file.push_str(&format!("\n[egress.{}]\ntree = '''\n{lines}'''\n", key(interface)));
    }
    Ok(file)
}

type Lines = Vec<(&'static str, String)>;

fn push(text: &mut String, lines: Lines) {
    for (key, value) in lines {
        text.push_str(&format!("{key} = {value}\n"));
    }
}

fn realtime(realtime: &Realtime) -> Lines {
    let cpus: Vec<_> = realtime.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let mut lines = Vec::new();
    lines.extend(realtime.sched.map(|sched| ("sched", string(&sched.to_string()))));
    lines.extend((!cpus.is_empty()).then(|| ("cpus", format!("[{}]", cpus.join(", ")))));
    lines.extend(realtime.lock_memory.then(|| ("lock-memory", "true".to_owned())));
    lines.extend(realtime.cpu_dma_latency.map(|latency| ("cpu-dma-latency", string(&duration(latency)))));
    lines
}

fn bus(plan: &Plan, bus: &Bus) -> Lines {
    let mut lines = vec![("interface", string(&bus.interface))];
    lines.extend(bus.bitrate.map(|rate| ("bitrate", string(&rate.to_string()))));
    lines.extend(bus.data_bitrate.map(|rate| ("data-bitrate", string(&rate.to_string()))));
    lines.extend(bus.restart_after.map(|wait| ("restart-after", string(&duration(wait)))));
    lines.extend(bus.vxcan_peer.map(|peer| ("vxcan-peer", string(&plan.bus(peer).name))));
    lines
}

/// A time that is read as the same.
fn duration(time: Duration) -> String {
    match time.as_nanos() {
        nanos if nanos % 1_000_000 == 0 => format!("{}ms", nanos / 1_000_000),
        nanos if nanos % 1_000 == 0 => format!("{}us", nanos / 1_000),
        nanos => format!("{nanos}ns"),
    }
}

fn route(plan: &Plan, route: &Route) -> Lines {
    let mut lines = vec![
        ("name", string(&route.name)),
        ("from", string(&plan.bus(route.from).name)),
        ("to", string(&plan.bus(route.to).name)),
    ];
    lines.extend(identifiers::lines(&route.selections, route.formats));
    match route.formats {
        Formats::Only(_) if lines.iter().any(|(key, _)| *key == identifiers::ERRORS) => {}
        Formats::Only(format) => lines.push(("frames", string(format_name(format)))),
        Formats::Xl => lines.push(("frames", string("xl"))),
        Formats::Any => {}
    }
    lines.extend(payload::lines(&route.payload));
    lines.extend(route.send_as.map(|send_as| {
        let word = match send_as {
            SendAs::Classic => "classic",
            SendAs::Fd { bit_rate_switch: false } => "fd",
            SendAs::Fd { bit_rate_switch: true } => "fd-brs",
        };
        ("send-as", string(word))
    }));
    // Frames are modified after the conversion.
    let outgoing = route.send_as.map_or(route.formats, |send_as| Formats::Only(send_as.format()));
    lines.extend(changes::modifications(&route.modifications, outgoing));
    lines.extend(changes::checksums(&route.checksums));
    let switches = [
        ("echo", route.echo == Echo::On),
        ("keep-timestamp", route.timestamp == Timestamp::Kept),
        ("back-to-incoming", route.incoming == Incoming::Allowed),
        ("exclusive", route.is_exclusive),
    ];
    lines.extend(switches.into_iter().filter(|(_, is_on)| *is_on).map(|(key, _)| (key, "true".to_owned())));
    lines.extend(route.max_age.map(|age| ("max-age", string(&duration(age)))));
    lines.extend(route.timing.iter().flat_map(timing));
    match route.when_full {
        WhenFull::DropNewest => {}
        WhenFull::DropOldest => lines.push(("when-full", string("drop-oldest"))),
        WhenFull::Block { limit } => {
            lines.extend([("when-full", string("block")), ("block-limit", string(&duration(limit)))]);
        }
    }
    lines.extend(route.hop_limit.map(|hops| ("hop-limit", hops.to_string())));
    lines.extend(route.uid.map(|uid| ("uid", string(&format!("{uid:08X}")))));
    lines.extend(route.notes.iter().map(|(key, text)| (*key, string(text))));
    lines
}

const fn format_name(format: FrameFormat) -> &'static str {
    match format {
        FrameFormat::Classic => "classic",
        FrameFormat::Fd => "fd",
    }
}

fn timing(timing: &Timing) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    lines.extend(timing.cycle.map(|cycle| ("cycle", string(&duration(cycle)))));
    lines.extend((!timing.min_delay.is_zero()).then(|| ("min-delay", string(&duration(timing.min_delay)))));
    lines.extend(timing.on_change.as_ref().map(|mask| {
        let is_whole = mask.iter().all(|byte| *byte == 0xFF);
        ("on-change", if is_whole { "true".to_owned() } else { string(&hex(mask)) })
    }));
    if let Some((after, action)) = &timing.timeout {
        lines.push(("timeout", string(&duration(*after))));
        lines.push((
            "on-timeout",
            match action {
                OnTimeout::Keep => string("keep"),
                OnTimeout::Stop => string("stop"),
                OnTimeout::Substitute(payload) => string(&format!("substitute:{}", hex(payload))),
            },
        ));
    }
    lines
}

/// A string of TOML.
fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if character.is_control() => quoted.push_str(&format!("\\U{:08X}", u32::from(character))),
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// A key of TOML: bare where it may be.
fn key(text: &str) -> String {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { text.to_owned() } else { string(text) }
}

/// One value, or a list of them, wrapped.
fn one_or_list(values: &[String]) -> String {
    const MAX_WIDTH: usize = 100;
    if let [value] = values {
        return value.clone();
    }
    let one_line = format!("[{}]", values.join(", "));
    if one_line.len() <= MAX_WIDTH {
        return one_line;
    }
    let mut text = String::from("[");
    let mut width = MAX_WIDTH;
    for value in values {
        if width + value.len() + 2 > MAX_WIDTH {
            text.push_str("\n    ");
            width = 4;
        } else {
            text.push(' ');
        }
        text.push_str(value);
        text.push(',');
        width += value.len() + 2;
    }
    text.push_str("\n]");
    text
}

/// Bytes as two digits each.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests;
