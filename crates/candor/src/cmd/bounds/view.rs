//! What `candor bounds` prints.

use std::fmt;
use std::thread::ScopedJoinHandle;

use candor_bounds::{Analysis, Assumptions, Bound, BusId, Lengths, MessageId, Ns, Origin, Problem, Rule, Stage};
use candor_core::units::BitRate;
use serde::Serialize;

use super::id_text;
use super::propose::Proposals;
use crate::cli::BoundsArgs;
use candor_config::bounds::{Model, milliseconds, percent};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    file: &'a str,
    holds: bool,
    assumptions: Assumed,
    buses: Vec<Bus<'a>>,
    messages: Vec<Message<'a>>,
    /// What bounds do not know of frames that candor sends.
    left_out: Vec<String>,
    /// With `--limits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Limits>,
    /// With `--propose`.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposals: Option<Proposals>,
}

/// What was asked for in addition.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) limits: Option<Limits>,
    pub(super) proposals: Option<Proposals>,
    /// By message: the probability that a frame misses its deadline.
    pub(super) misses: Option<Vec<f64>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Assumed {
    controller_frames: u32,
    error_frames: u32,
    error_frame_bits: u32,
    /// `exact` or `published`.
    lengths: &'static str,
    /// Of `--faults`, or `null`.
    faults_per_s: Option<f64>,
    /// `null` without `--latency`.
    latency_ns: Option<u64>,
    /// `null` if the latency is a budget.
    latency_quantile: Option<f64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Bus<'a> {
    name: &'a str,
    bitrate: u32,
    load_ppm: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Message<'a> {
    bus: &'a str,
    id: String,
    /// `null`: a node for this message alone.
    sender: Option<&'a str>,
    /// Bus of the message that the gateway forwards.
    forwarded_from: Option<&'a str>,
    length: u8,
    period_ns: u64,
    frame_ns: u64,
    /// `null`: there is none.
    bound_ns: Option<u64>,
    waiting_ns: Option<u64>,
    jitter_ns: Option<u64>,
    deadline_ns: u64,
    slack_ns: Option<i64>,
    holds: bool,
    /// Upper bound of the probability that a frame misses its deadline. `null` without `--faults`.
    miss_probability: Option<f64>,
    rule: &'static str,
    /// End of each part of the way, from the release.
    stages_ns: Vec<Option<u64>>,
}

/// What still holds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Limits {
    /// Factor of the traffic in thousandths; `null` if nothing holds.
    growth_per_mille: Option<u32>,
    breaks: Vec<String>,
    lowest_bit_rates: Vec<LowestBitRate>,
    longest_latency_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LowestBitRate {
    bus: String,
    /// `null` if a deadline can be missed with the present one.
    bitrate: Option<u32>,
}

impl Limits {
    pub(super) fn of(model: &Model<'_>, assumptions: Assumptions) -> Result<Self, Vec<Problem>> {
        let network = &model.network;
        // Each search takes seconds for some hundred messages.
        let (growth, rates, latency) = std::thread::scope(|scope| {
            let growth = scope.spawn(|| network.highest_load(assumptions));
            let rate = |bus| scope.spawn(move || network.lowest_bit_rate(BusId(bus), assumptions));
            let rates: Vec<_> = (0..network.buses.len()).map(rate).collect();
            let latency = network.longest_latency(assumptions);
            (joined(growth), rates.into_iter().map(joined).collect::<Result<Vec<_>, _>>(), latency)
        });
        let growth = growth?;
        let bus = |(bus, rate): (usize, Option<BitRate>)| LowestBitRate {
            bus: model.bus(BusId(bus)).to_owned(),
            bitrate: rate.map(BitRate::bits_per_second),
        };
        Ok(Self {
            growth_per_mille: growth.as_ref().map(|growth| growth.per_mille),
            breaks: growth.into_iter().flat_map(|growth| growth.breaks).map(|message| model.name(message)).collect(),
            lowest_bit_rates: rates?.into_iter().enumerate().map(bus).collect(),
            longest_latency_ns: latency?.map(|latency| latency.0),
        })
    }

    fn remarks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(growth) = self.growth_per_mille {
            let (whole, thousandths) = (growth / 1000, growth % 1000);
            lines.push(format!(
                "traffic can grow to {whole}.{thousandths:03} times; then these break: {}",
                self.breaks.join(", ")
            ));
        }
        for LowestBitRate { bus, bitrate } in &self.lowest_bit_rates {
            lines.extend(bitrate.map(|rate| format!("bus {bus}: holds down to {rate} bit/s")));
        }
        if self.lowest_bit_rates.iter().any(|one| one.bitrate.is_none()) {
            lines.push("a deadline can be missed already, so no bit rate and no latency is low enough".to_owned());
        }
        if let Some(latency) = self.longest_latency_ns {
            lines.push(format!("the latency of the gateway holds up to {}", milliseconds(Ns(latency))));
        }
        lines
    }
}

impl<'a> View<'a> {
    pub(super) fn of(
        file: &'a str,
        model: &'a Model<'_>,
        analysis: &Analysis,
        args: &BoundsArgs,
        answers: Answers,
    ) -> Self {
        let bus = |bus: BusId| Bus {
            name: model.bus(bus),
            bitrate: model.network.buses[bus.0].nominal.bits_per_second(),
            load_ppm: analysis.load(bus).ppm,
        };
        let Assumptions { error_frames, error_frame_bits, lengths } = analysis.assumptions();
        let Answers { limits, proposals, misses } = answers;
        let miss = |MessageId(at): MessageId| misses.as_ref().and_then(|misses| misses.get(at).copied());
        let latency = args.assumed.latency.map(|latency| Ns::from(latency).0);
        Self {
            file,
            holds: analysis.holds(),
            assumptions: Assumed {
                controller_frames: args.assumed.question().controller.get(),
                error_frames,
                error_frame_bits,
                lengths: if lengths == Lengths::Published { "published" } else { "exact" },
                faults_per_s: args.faults,
                latency_ns: latency,
                latency_quantile: args.assumed.quantile,
            },
            buses: (0..model.network.buses.len()).map(BusId).map(bus).collect(),
            messages: analysis
                .bounds()
                .map(|(message, bound)| Message::of(model, analysis, (message, &bound), miss(message)))
                .collect(),
            left_out: model.left_out(),
            limits,
            proposals,
        }
    }

    pub(super) fn buses(&self) -> impl Iterator<Item = &Bus<'a>> {
        self.buses.iter()
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &Message<'a>> {
        self.messages.iter()
    }

    pub(super) const fn has_misses(&self) -> bool {
        self.assumptions.faults_per_s.is_some()
    }

    /// What `--propose` found.
    pub(super) fn proposed(&self) -> String {
        self.proposals.as_ref().map_or_else(String::new, Proposals::text)
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        let mut lines = self.limits.as_ref().map_or_else(Vec::new, Limits::remarks);
        let Assumed { latency_ns, latency_quantile, controller_frames, .. } = self.assumptions;
        if let Some(latency) = latency_ns.map(Ns) {
            let basis = latency_quantile.map_or_else(
                || "a budget".to_owned(),
                |quantile| format!("a measured quantile of {quantile}: bounds do not hold for slower frames"),
            );
            lines.push(format!("latency of the gateway: {}, {basis}", milliseconds(latency)));
        }
        if self.assumptions.lengths == "published" {
            lines.push("lengths of frames: the longest with any identifier".to_owned());
        }
        if let Some(rate) = self.assumptions.faults_per_s {
            lines.push(format!("faults: {rate} per second on each bus; missed: probability for a frame, at most"));
        }
        let frames = if controller_frames == 1 { "frame" } else { "frames" };
        lines.push(format!("controllers of this machine: {controller_frames} {frames}"));
        lines.extend(self.left_out.iter().map(|what| format!("not known: {what}")));
        lines
    }

    pub(super) fn verdict(&self) -> String {
        let missed = self.messages.iter().filter(|message| !message.holds).count();
        let all = self.messages.len();
        match missed {
            0 => format!("{}: all {all} deadlines hold", self.file),
            missed => format!("{}: {missed} of {all} deadlines can be missed", self.file),
        }
    }
}

impl<'a> Message<'a> {
    fn of(
        model: &'a Model<'_>,
        analysis: &Analysis,
        (message, bound): (MessageId, &Bound),
        miss_probability: Option<f64>,
    ) -> Self {
        let one = &model.network.messages[message.0];
        let first = |mut at: MessageId| loop {
            match model.network.messages[at.0].origin {
                Origin::Queued { period, .. } => break period,
                Origin::Forwarded { from, .. } => at = from,
            }
        };
        let from = match one.origin {
            Origin::Queued { .. } => None,
            Origin::Forwarded { from, .. } => Some(model.bus(model.network.bus_of(from))),
        };
        let until = |stage: Stage| match stage {
            Stage::Bus { until, .. } | Stage::Gateway { until, .. } => until.map(|until| until.0),
        };
        let sender = model.sender(message);
        Self {
            bus: model.bus(model.network.bus_of(message)),
            id: id_text(one.id),
            sender: Some(sender).filter(|_| model.has_name(message)),
            forwarded_from: from,
            length: one.len,
            period_ns: first(message).0,
            frame_ns: bound.frame.received.0,
            bound_ns: bound.response.map(|response| response.0),
            waiting_ns: bound.waiting.map(|waiting| waiting.0),
            jitter_ns: bound.jitter.map(|jitter| jitter.0),
            deadline_ns: bound.deadline.0,
            slack_ns: bound.slack_ns(),
            holds: bound.holds(),
            miss_probability,
            rule: rule(bound.rule),
            stages_ns: analysis.stages(message).into_iter().map(until).collect(),
        }
    }

    pub(super) fn row(&self) -> Vec<String> {
        let known = |time: Option<u64>| time.map_or_else(|| "none".to_owned(), |time| milliseconds(Ns(time)));
        let slack = match self.slack_ns {
            None => "none".to_owned(),
            Some(slack) if slack < 0 => format!("-{}", milliseconds(Ns(slack.unsigned_abs()))),
            Some(slack) => milliseconds(Ns(slack.unsigned_abs())),
        };
        let sender = self
            .forwarded_from
            .map_or_else(|| self.sender.unwrap_or("-").to_owned(), |from| format!("candor, from {from}"));
        let mark = if self.holds { "" } else { "MISSED" };
        vec![
            self.bus.to_owned(),
            self.id.clone(),
            sender,
            milliseconds(Ns(self.period_ns)),
            milliseconds(Ns(self.frame_ns)),
            known(self.bound_ns),
            milliseconds(Ns(self.deadline_ns)),
            slack,
            self.miss_probability.map_or_else(String::new, |probability| format!("{probability:.1e}")),
            mark.to_owned(),
        ]
    }
}

impl fmt::Display for Bus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bus {}: load {} at {} bit/s", self.name, percent(self.load_ppm), self.bitrate)
    }
}

const fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::Bus => "bus",
        Rule::Controller => "controller",
        Rule::Fifo => "fifo",
        Rule::Node => "node",
        Rule::Priority => "priority",
    }
}

fn joined<T>(search: ScopedJoinHandle<'_, T>) -> T {
    search.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
