//! Bounds of response times as a page: loads, bars against deadlines, the worst case of each message, and the way through
//! gateways.
//!
//! Equal input gives equal bytes.

use candor_bounds::{Analysis, Bound, BusId, MessageId, Network, Ns, Origin, Slot, Stage, Timeline, Use};
use candor_config::bounds::percent;
use maud::{Markup, html as markup};

use super::claims;
use super::parts::{columns, page};

const STYLE: &str = include_str!("bounds.css");
/// Width of bars and timelines in units of the picture.
const WIDTH: f64 = 720.0;
const BAR: f64 = 10.0;
const ROW: f64 = 22.0;
/// Room for the names of bars.
const NAMES: f64 = 190.0;

/// What was computed and observed.
#[derive(Clone, Copy, Debug)]
pub struct BoundsPage<'a> {
    /// The gateway file.
    pub file: &'a str,
    pub version: &'a str,
    pub analysis: &'a Analysis,
    pub network: &'a Network,
    /// Names of buses.
    pub buses: &'a [String],
    /// Names of messages.
    pub messages: &'a [String],
    /// The longest response that was observed of each message, if any was.
    pub observed: &'a [Option<Ns>],
    /// How it was observed.
    pub how: &'a str,
    /// Queues or engines of the gateway to compare.
    pub beside: &'a [Beside],
}

/// A queue or an engine of the gateway.
#[derive(Clone, Debug)]
pub struct Beside {
    pub name: String,
    /// By message; empty if they are those of the page.
    pub bounds: Vec<Option<Ns>>,
    /// By message.
    pub observed: Vec<Option<Ns>>,
}

/// A page without external references.
#[must_use]
pub fn bounds_html(of: &BoundsPage<'_>) -> String {
    let all: Vec<_> = of.analysis.bounds().collect();
    let missed = all.iter().filter(|(_, bound)| !bound.holds()).count();
    let lead = match (missed, all.len()) {
        (0, all) => format!("All {all} deadlines hold."),
        (missed, all) => format!("{missed} of {all} deadlines can be missed."),
    };
    let name = format!("Bounds of {}", of.file);
    let main = markup! {
        header {
            p.eyebrow { "candor-lab bounds · candor " (of.version) }
            h1 { (name) }
            p.lead { (lead) }
        }
        section {
            h2 { "Load of the buses" }
            p.note { "Each message with the longest frame of its identifier, at its shortest period." }
            @for (bus, name) in of.buses.iter().enumerate() { (load(of, BusId(bus), name)) }
        }
        section {
            h2 { "Bounds and deadlines" }
            p.note {
                "Bar: the bound, from the release at the first sender to the end of the frame. Line: the deadline. Dot: " (of.how) "."
            }
            @for (bus, name) in of.buses.iter().enumerate() {
                h3 { (name) }
                (bars(of, &all, BusId(bus)))
                div.scroll { table {
                    (columns(1, &["message", "frame ms", "deadline ms", "bound ms", "observed ms", "observed / bound", "slack ms"]))
                    tbody { @for (message, bound) in on_bus(of, &all, BusId(bus)) { (row(of, message, &bound)) } }
                } }
            }
        }
        @if of.beside.len() > 1 { section {
            h2 { "Side by side" }
            p.note { "Bound and longest observed response of each message in ms, by queue or engine of the gateway." }
            div.scroll { table.beside {
                (columns(1, &beside_names(of)))
                tbody { @for (message, bound) in &all { (beside_row(of, *message, bound)) } }
            } }
        } }
        section {
            h2 { "Worst cases" }
            p.note { "Who uses the bus from the critical instant to the end of the frame." }
            (legend())
            @for (message, _) in &all {
                @if let Some(timeline) = of.analysis.timeline(*message) { (worst(of, *message, &timeline)) }
            }
        }
        @if all.iter().any(|(message, _)| is_forwarded(of, *message)) { section {
            h2 { "Through the gateway" }
            p.note { "Upper bounds of the time since the release at the first sender, at the end of each stage." }
            div.scroll { table {
                (columns(2, &["message", "stage", "until ms"]))
                tbody { @for (message, _) in &all { @if is_forwarded(of, *message) {
                    @for (at, stage) in of.analysis.stages(*message).iter().enumerate() { (stage_row(of, *message, at, stage)) }
                } } }
            } }
        } }
    };
    page(&name, &format!("{}{STYLE}", claims::STYLE), "wide", &main, &markup! {})
}

fn beside_names<'a>(of: &BoundsPage<'a>) -> Vec<&'a str> {
    let mut names = vec!["message", "deadline"];
    names.extend(of.beside.iter().map(|one| one.name.as_str()));
    names
}

fn beside_row(of: &BoundsPage<'_>, message: MessageId, bound: &Bound) -> Markup {
    let text = |time: Option<Ns>, none: &str| time.map_or_else(|| none.to_owned(), ms);
    let one = |one: &Beside| {
        let at = message.0;
        let bound = one.bounds.get(at).copied().unwrap_or(bound.response);
        format!("{} / {}", text(bound, "no bound"), text(one.observed.get(at).copied().flatten(), "–"))
    };
    markup! {
        tr.first {
            th scope="row" { (name(of, message)) }
            td.n { (ms(bound.deadline)) }
            @for beside in of.beside { td.n { (one(beside)) } }
        }
    }
}

/// As in the text of `candor bounds`, without the unit.
fn ms(time: Ns) -> String {
    time.up_to_us().to_string().replace(" ms", "")
}

/// A part of a whole, at most 1.
#[expect(clippy::cast_precision_loss, reason = "a position in a picture")]
fn part(of: u64, whole: u64) -> f64 {
    (of as f64 / whole.max(1) as f64).clamp(0.0, 1.0)
}

fn name<'a>(of: &BoundsPage<'a>, message: MessageId) -> &'a str {
    &of.messages[message.0]
}

fn is_forwarded(of: &BoundsPage<'_>, message: MessageId) -> bool {
    matches!(of.network.messages[message.0].origin, Origin::Forwarded { .. })
}

fn on_bus(of: &BoundsPage<'_>, all: &[(MessageId, Bound)], bus: BusId) -> Vec<(MessageId, Bound)> {
    all.iter().filter(|(message, _)| of.network.bus_of(*message) == bus).copied().collect()
}

fn load(of: &BoundsPage<'_>, bus: BusId, name: &str) -> Markup {
    let load = of.analysis.load(bus);
    let mut at = 0;
    let terms = load.terms.iter().map(|term| {
        let (from, to) = (at, at + term.ppm);
        at = to;
        (term, WIDTH * part(from, 1_000_000), WIDTH * (part(to, 1_000_000) - part(from, 1_000_000)))
    });
    let terms: Vec<_> = terms.collect();
    let class = if load.ppm > 1_000_000 { "load over" } else { "load" };
    markup! {
        p { strong { (name) } " " (percent(load.ppm)) }
        svg.(class) viewBox=(format!("0 0 {WIDTH} 18")) role="img" {
            rect.frame x="0" y="1" width=(WIDTH) height="16" {}
            @for (number, (term, x, width)) in terms.iter().enumerate() {
                rect class=(if number % 2 == 0 { "even" } else { "odd" }) x=(format!("{x:.2}")) y="1" width=(format!("{width:.2}")) height="16" {
                    title { (format!("{}: {} every {} ms", of.messages[term.message.0], ms(term.frame), ms(term.period))) }
                }
            }
        }
    }
}

fn bars(of: &BoundsPage<'_>, all: &[(MessageId, Bound)], bus: BusId) -> Markup {
    let rows = on_bus(of, all, bus);
    let longest =
        rows.iter().map(|(_, bound)| bound.response.unwrap_or(bound.deadline).max(bound.deadline).0).max().unwrap_or(1);
    let x = |time: Ns| NAMES + (WIDTH - NAMES) * part(time.0, longest);
    #[expect(clippy::cast_precision_loss, reason = "a number of rows")]
    let height = ROW * rows.len() as f64 + 4.0;
    markup! {
        svg.bars viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            @for (number, (message, bound)) in (0_u32..).zip(&rows) {
                @let y = ROW * f64::from(number) + 4.0;
                @let end = bound.response.map_or(WIDTH, x);
                text x=(NAMES - 8.0) y=(y + BAR - 1.0) text-anchor="end" { (name(of, *message)) }
                rect class=(if bound.holds() { "holds" } else { "missed" }) x=(NAMES) y=(y) width=(format!("{:.2}", end - NAMES)) height=(BAR) {
                    title { (bound.response.map_or_else(|| "no bound".to_owned(), |time| format!("{} ms", ms(time)))) }
                }
                line.deadline x1=(format!("{:.2}", x(bound.deadline))) x2=(format!("{:.2}", x(bound.deadline))) y1=(y - 3.0) y2=(y + BAR + 3.0) {}
                @if let Some(time) = of.observed.get(message.0).copied().flatten() {
                    circle.observed cx=(format!("{:.2}", x(time))) cy=(y + BAR / 2.0) r="4" { title { "observed " (ms(time)) " ms" } }
                }
            }
        }
    }
}

fn row(of: &BoundsPage<'_>, message: MessageId, bound: &Bound) -> Markup {
    let observed = of.observed.get(message.0).copied().flatten();
    let ratio = observed.zip(bound.response).map(|(observed, bound)| format!("{:.3}", part(observed.0, bound.0)));
    let slack = bound.slack_ns().map(|slack| {
        let text = ms(Ns(slack.unsigned_abs()));
        if slack < 0 { format!("−{text}") } else { text }
    });
    let dash = || "–".to_owned();
    markup! {
        tr.first.missed[!bound.holds()] {
            th scope="row" { (name(of, message)) }
            td.n { (ms(bound.frame.received)) }
            td.n { (ms(bound.deadline)) }
            td.n { (bound.response.map_or_else(|| "no bound".to_owned(), ms)) }
            td.n { (observed.map_or_else(dash, ms)) }
            td.n { (ratio.unwrap_or_else(dash)) }
            td.n { (slack.unwrap_or_else(dash)) }
        }
    }
}

const USES: [(Use, &str, &str); 6] = [
    (Use::Blocking, "blocking", "a frame that started just before"),
    (Use::Errors, "errors", "error frames and repetitions"),
    (Use::Controller, "controller", "frames that the controller of the node holds"),
    (Use::Queue, "queue", "frames of the same node that go first"),
    (Use::Arbitration, "arbitration", "frames of other nodes that win arbitration"),
    (Use::Message, "message", "the frame itself"),
];

fn class(used_for: Use) -> &'static str {
    USES.iter().find(|(one, ..)| *one == used_for).map_or("", |(_, class, _)| class)
}

fn legend() -> Markup {
    markup! { ul.uses { @for (_, class, text) in USES { li { span class=(class) {} (text) } } } }
}

/// A worst case as a strip, and who is in it.
fn worst(of: &BoundsPage<'_>, message: MessageId, timeline: &Timeline) -> Markup {
    let end = timeline.slots.last().map_or(0, |slot| slot.end.0);
    let x = |time: Ns| WIDTH * part(time.0, end);
    let who = |slot: &Slot| slot.message.map_or("errors", |message| name(of, message));
    markup! {
        details {
            summary { strong { (name(of, message)) } " " (format!("{} ms on {}", ms(Ns(end)), of.buses[of.network.bus_of(message).0])) }
            svg.worst viewBox=(format!("0 0 {WIDTH} 24")) role="img" {
                @for slot in &timeline.slots {
                    rect class=(class(slot.used_for)) x=(format!("{:.2}", x(slot.start))) y="2" width=(format!("{:.2}", x(slot.end) - x(slot.start))) height="20" {
                        title { (format!("{}: {} to {} ms", who(slot), ms(slot.start), ms(slot.end))) }
                    }
                }
            }
            div.scroll { table {
                (columns(2, &["frame of", "because", "from ms", "to ms"]))
                tbody { @for slot in &timeline.slots {
                    tr.first {
                        td { (who(slot)) }
                        td { (USES.iter().find(|(one, ..)| *one == slot.used_for).map_or("", |(.., text)| text)) }
                        td.n { (ms(slot.start)) } td.n { (ms(slot.end)) }
                    }
                } }
            } }
        }
    }
}

fn stage_row(of: &BoundsPage<'_>, message: MessageId, at: usize, stage: &Stage) -> Markup {
    let (what, until) = match stage {
        Stage::Bus { message, until } => {
            (format!("on {} as {}", of.buses[of.network.bus_of(*message).0], name(of, *message)), until)
        }
        Stage::Gateway { latency, until } => (format!("gateway, at most {} ms", ms(latency.longest)), until),
    };
    markup! {
        tr.first[at == 0] {
            th scope="row" { @if at == 0 { (name(of, message)) } }
            td { (what) }
            td.n { (until.map_or_else(|| "no bound".to_owned(), ms)) }
        }
    }
}

#[cfg(test)]
mod tests;
