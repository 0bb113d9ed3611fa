//! The columns of all forms.

use super::Origin;
use crate::record::{Header, Sample};

/// A number that each frame has, or may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) of: fn(&Header, &Sample) -> Option<i64>,
}

/// In their order, behind the columns of [`constant`]. The last column of all is [`DISPOSITION`].
pub(super) const NUMBERS: [Number; 13] = [
    Number { name: "instruction_ns", of: |header, _| header.instruction_ns.map(i64::from) },
    Number { name: "sequence", of: |_, sample| Some(sample.sequence.into()) },
    Number { name: "tag", of: |_, sample| Some(sample.tag.into()) },
    Number { name: "due_ns", of: |_, sample| Some(sample.due_ns) },
    Number { name: "sent_ns", of: |_, sample| Some(sample.sent_ns) },
    Number { name: "queued_ns", of: |_, sample| sample.inside.queued_ns },
    Number { name: "handed_ns", of: |_, sample| sample.inside.handed_ns },
    Number { name: "monitor_ns", of: |_, sample| sample.monitor_ns },
    Number { name: "far_ns", of: |_, sample| sample.far_ns },
    Number { name: "read_ns", of: |_, sample| sample.inside.read_ns },
    Number { name: "wire_ns", of: |_, sample| Some(sample.wire_ns.into()) },
    Number { name: "service_ns", of: |_, sample| sample.latency().map(|latency| latency.0) },
    Number {
        name: "response_ns",
        of: |header, sample| sample.response().filter(|_| !header.has_two_clocks()).map(|latency| latency.0),
    },
];

pub(super) const DISPOSITION: &str = "disposition";

/// Texts that all frames of a record share.
const TEXTS: [&str; 5] = ["cell", "state", "device", "engine", "kernel_release"];

/// Names of the columns that all frames of a record share.
pub(super) fn names(factors: &[String]) -> impl Iterator<Item = &str> {
    TEXTS.into_iter().chain(factors.iter().map(String::as_str))
}

/// What stands in them.
pub(super) fn constant<'a>(
    factors: &'a [String],
    origin: Origin<'a>,
    header: &'a Header,
) -> impl Iterator<Item = &'a str> {
    let texts = [origin.cell, origin.state, &header.device, &header.engine, &header.kernel_release];
    let level = move |factor: &String| {
        origin.levels.iter().find(|(known, _)| known == factor).map_or("", |(_, level)| level.as_str())
    };
    texts.into_iter().chain(factors.iter().map(level))
}
