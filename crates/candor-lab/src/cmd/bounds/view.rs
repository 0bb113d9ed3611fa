//! Bounds beside what was observed, as a table and as JSON.

use std::fmt::Write as _;

use candor_bounds::{Analysis, MessageId, Ns};
use candor_cli::gateway_file::plural;
use candor_cli::table::{cells, table};
use candor_config::bounds::Model;
use serde::Serialize;

use super::Observed;
use super::schedules::{Kept, Way};

/// All messages. Times are in nanoseconds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    /// The gateway file.
    file: &'a str,
    /// No response is longer than its bound.
    holds: bool,
    /// Of the guest; null without `--guest`.
    kernel_release: Option<&'a str>,
    messages: Vec<Line>,
}

/// A message on a bus.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Line {
    message: String,
    bus: String,
    deadline_ns: u64,
    /// null: there is no bound.
    bound_ns: Option<u64>,
    /// Longest response on simulated buses; null if no frame was sent.
    simulated_ns: Option<u64>,
    /// Longest response with the gateway in a guest; null without `--guest`.
    guest_ns: Option<u64>,
    /// The longer of both, divided by the bound.
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
        (analysis, kept, observed): (&Analysis, &[Kept], &[Observed]),
        kernel_release: Option<&'a str>,
    ) -> Self {
        let line = |(message, bound): (MessageId, candor_bounds::Bound)| {
            let Observed { simulated, in_guest } = observed[message.0];
            let most = simulated.max(in_guest);
            let is_exceeded = most.zip(bound.response).is_some_and(|(most, bound)| most > bound);
            #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
            let ratio = most.zip(bound.response).map(|(most, bound)| most.0 as f64 / bound.0.max(1) as f64);
            Line {
                message: model.name(message),
                bus: model.bus(model.network.bus_of(message)).to_owned(),
                deadline_ns: bound.deadline.0,
                bound_ns: bound.response.map(|bound| bound.0),
                simulated_ns: simulated.map(|time| time.0),
                guest_ns: in_guest.map(|time| time.0),
                ratio,
                how: kept.iter().find(|kept| kept.message == message).map(|kept| kept.how),
                is_exceeded,
            }
        };
        let messages: Vec<_> = analysis.bounds().map(line).collect();
        Self { file, holds: messages.iter().all(|line| !line.is_exceeded), kernel_release, messages }
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

    pub(super) fn text(&self) -> String {
        let has_guest = self.kernel_release.is_some();
        let mut rows = vec![cells(["message", "deadline", "bound", "simulated", "guest", "ratio", "found by", ""])];
        let ms = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), |ns| milliseconds(Ns(ns)));
        for line in &self.messages {
            let how = match line.how {
                Some(Way::Critical) => "critical instant",
                Some(Way::Random) => "random schedule",
                Some(Way::Directed) => "directed search",
                None => "",
            };
            let ratio = line.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}"));
            rows.push(vec![
                line.message.clone(),
                milliseconds(Ns(line.deadline_ns)),
                line.bound_ns.map_or_else(|| "none".to_owned(), |ns| milliseconds(Ns(ns))),
                ms(line.simulated_ns),
                ms(line.guest_ns),
                ratio,
                how.to_owned(),
                if line.is_exceeded { "EXCEEDED".to_owned() } else { String::new() },
            ]);
        }
        if !has_guest {
            rows.iter_mut().for_each(|row| drop(row.remove(4)));
        }
        let mut text = table(&rows, 1..if has_guest { 6 } else { 5 });
        if let Some(release) = self.kernel_release {
            let _ = writeln!(text, "\nguest: Linux {release}");
        }
        let exceeded = self.messages.iter().filter(|line| line.is_exceeded).count();
        let _ = match exceeded {
            0 => writeln!(
                text,
                "\nNo bound of {} is exceeded{}",
                plural(self.messages.len(), "message"),
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
}

fn milliseconds(time: Ns) -> String {
    format!("{}.{:03} ms", time.0 / 1_000_000, time.0 / 1000 % 1000)
}
