//! Bounds beside what was observed, as a table and as JSON.

use std::fmt::Write as _;

use candor_bounds::{MessageId, Ns};
use candor_cli::gateway_file::plural;
use candor_cli::table::{cells, table};
use candor_config::bounds::{Model, milliseconds};
use serde::Serialize;

use super::schedules::Way;
use super::{Guests, Observed, Variant};

/// All messages. Times are in nanoseconds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    /// The gateway file.
    file: &'a str,
    /// No response is longer than its bound.
    holds: bool,
    /// Error frames that bounds assume. Simulated buses have none.
    error_frames: u32,
    /// Of the guest; null without `--guest`.
    kernel_release: Option<&'a str>,
    /// Of the gateway in the guest, in the order of `guests_ns`.
    engines: Vec<&'static str>,
    /// By queue and message.
    messages: Vec<Line>,
}

/// A message on a bus.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Line {
    message: String,
    bus: String,
    /// Of the gateway: `file`, `fifo`, `bands` or `arbitration`.
    queue: &'static str,
    deadline_ns: u64,
    /// null: there is no bound.
    bound_ns: Option<u64>,
    /// Longest response on simulated buses; null if no frame was sent.
    simulated_ns: Option<u64>,
    /// Longest response with the gateway in a guest; null without `--guest`.
    guest_ns: Option<u64>,
    /// The same by engine.
    guests_ns: Vec<Option<u64>>,
    /// The longest of all, divided by the bound.
    ratio: Option<f64>,
    /// How the schedule of `simulated_ns` was found.
    how: Option<Way>,
    /// A response is longer than the bound.
    is_exceeded: bool,
}

impl<'a> View<'a> {
    pub(super) fn of(
        file: &'a str,
        model: &Model<'_>,
        variants: &[Variant],
        guests: &'a Guests,
        error_frames: u32,
    ) -> Self {
        let messages: Vec<_> = variants.iter().flat_map(|variant| lines(model, variant)).collect();
        Self {
            file,
            holds: messages.iter().all(|line| !line.is_exceeded),
            error_frames,
            kernel_release: guests.kernel_release.as_deref(),
            engines: guests.engines.clone(),
            messages,
        }
    }

    pub(super) fn is_exceeded(&self) -> bool {
        !self.holds
    }

    /// How many messages could not be compared, if there are any.
    fn not_compared(&self) -> String {
        let unbounded = self.messages.iter().filter(|line| line.bound_ns.is_none()).count();
        let unobserved = self.messages.iter().filter(|line| line.simulated_ns.or(line.guest_ns).is_none()).count();
        let part = |count: usize, what: &str| if count > 0 { format!("; {count} {what}") } else { String::new() };
        part(unbounded, "without a bound") + &part(unobserved, "without an observation")
    }

    /// Queues, in their order.
    fn queues(&self) -> Vec<&'static str> {
        let mut queues: Vec<_> = self.messages.iter().map(|line| line.queue).collect();
        queues.dedup();
        queues
    }

    pub(super) fn text(&self) -> String {
        let queues = self.queues();
        let mut text = match (&*queues, &*self.engines) {
            ([queue], _) => self.one_queue(queue),
            (_, []) => self.side_by_side(),
            _ => {
                let tables: Vec<_> =
                    queues.iter().map(|queue| format!("queue {queue}\n{}", self.one_queue(queue))).collect();
                tables.join("\n")
            }
        };
        if let Some(release) = self.kernel_release {
            let _ = writeln!(text, "\nguest: Linux {release}");
        }
        if self.error_frames > 0 {
            let frames = plural(usize::try_from(self.error_frames).unwrap_or(usize::MAX), "error frame");
            let _ = writeln!(text, "\nbounds are for {frames} on each bus; observed buses have none");
        }
        let exceeded = self.messages.iter().filter(|line| line.is_exceeded).count();
        let _ = match exceeded {
            0 => writeln!(
                text,
                "\nNo bound of {} is exceeded{}",
                plural(self.messages.len() / self.queues().len().max(1), "message"),
                self.not_compared()
            ),
            _ => writeln!(
                text,
                "\n{} exceeded: the bound or the simulation is wrong; keep the schedule with --schedules FILE",
                plural(exceeded, "bound")
            ),
        };
        text
    }

    fn one_queue(&self, queue: &str) -> String {
        let mut header = cells(["message", "deadline", "bound", "simulated"]);
        match &*self.engines {
            [_] => header.push("guest".to_owned()),
            engines => header.extend(engines.iter().map(|engine| format!("guest, {engine}"))),
        }
        header.extend(cells(["ratio", "found by", ""]));
        let mut rows = vec![header];
        for line in self.messages.iter().filter(|line| line.queue == queue) {
            let how = match line.how {
                Some(Way::Critical) => "critical instant",
                Some(Way::Random) => "random schedule",
                Some(Way::Directed) => "directed search",
                None => "",
            };
            let ratio = line.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}"));
            let mut row =
                vec![line.message.clone(), milliseconds(Ns(line.deadline_ns)), line.bound(), ms(line.simulated_ns)];
            row.extend(line.guests_ns.iter().copied().map(ms));
            row.extend([ratio, how.to_owned(), line.mark().to_owned()]);
            rows.push(row);
        }
        table(&rows, 1..5 + self.engines.len())
    }

    fn side_by_side(&self) -> String {
        let queues = self.queues();
        let mut header = cells(["message", "deadline"]);
        header.extend(queues.iter().flat_map(|queue| [(*queue).to_owned(), "simulated".to_owned()]));
        header.push(String::new());
        let mut rows = vec![header];
        let of_queue = self.messages.len() / queues.len().max(1);
        for at in 0..of_queue {
            let lines: Vec<&Line> = self.messages.iter().skip(at).step_by(of_queue).collect();
            let Some(first) = lines.first() else { break };
            let mut row = vec![first.message.clone(), milliseconds(Ns(first.deadline_ns))];
            row.extend(lines.iter().flat_map(|line| [line.bound(), ms(line.simulated_ns)]));
            row.push(lines.iter().map(|line| line.mark()).find(|mark| !mark.is_empty()).unwrap_or_default().to_owned());
            rows.push(row);
        }
        table(&rows, 1..2 + 2 * queues.len())
    }
}

impl Line {
    fn bound(&self) -> String {
        self.bound_ns.map_or_else(|| "none".to_owned(), |ns| milliseconds(Ns(ns)))
    }

    const fn mark(&self) -> &'static str {
        if self.is_exceeded { "EXCEEDED" } else { "" }
    }
}

fn lines(model: &Model<'_>, variant: &Variant) -> Vec<Line> {
    let Variant { queue, analysis, kept, observed, .. } = variant;
    let line = |(message, bound): (MessageId, candor_bounds::Bound)| {
        let one: &Observed = &observed[message.0];
        let most = one.most();
        let is_exceeded = most.zip(bound.response).is_some_and(|(most, bound)| most > bound);
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let ratio = most.zip(bound.response).map(|(most, bound)| most.0 as f64 / bound.0.max(1) as f64);
        Line {
            message: model.name(message),
            bus: model.bus(model.network.bus_of(message)).to_owned(),
            queue: queue.name(),
            deadline_ns: bound.deadline.0,
            bound_ns: bound.response.map(|bound| bound.0),
            simulated_ns: one.simulated.map(|time| time.0),
            guest_ns: one.in_guest.iter().copied().flatten().max().map(|time| time.0),
            guests_ns: one.in_guest.iter().map(|time| time.map(|time| time.0)).collect(),
            ratio,
            how: kept.iter().find(|kept| kept.message == message).map(|kept| kept.how),
            is_exceeded,
        }
    };
    analysis.bounds().map(line).collect()
}

fn ms(ns: Option<u64>) -> String {
    ns.map_or_else(|| "–".to_owned(), |ns| milliseconds(Ns(ns)))
}
