//! A gateway and frames for it.

use std::fmt;

use candor_config::plan::{Echo, Engine, SendAs};
use candor_config::text;
use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::frame::{Frame, FrameFormat};
use candor_core::job::Job;
use candor_core::rule::Modifications;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{ANY_PAYLOAD, BUSES, GATEWAY};

/// Frames of a list that are printed.
const SHOWN: usize = 24;

#[derive(Clone)]
pub(super) struct Case {
    pub(super) jobs: Vec<Job>,
    /// Frames that come one after another from one bus.
    pub(super) bursts: Vec<(usize, Vec<Frame>)>,
}

impl fmt::Debug for Case {
    /// As a gateway file and frames to try by hand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = candor_config::arbitrary::plan(&GATEWAY, &self.jobs, Engine::Auto);
        writeln!(f, "\n{}", text::write(&plan))?;
        for (from, frames) in &self.bursts {
            writeln!(f, "from {}: {}", GATEWAY[*from], listed(frames))?;
        }
        Ok(())
    }
}

pub(super) fn listed(frames: &[Frame]) -> String {
    let shown: Vec<_> = frames.iter().take(SHOWN).map(Frame::to_string).collect();
    let more = frames.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(" ") } else { format!("{} and {more} more", shown.join(" ")) }
}

/// Routes of any kind, some for user space only. All routes to a bus have the same echo, because user space has one socket
/// for each bus.
pub(super) fn case() -> impl Strategy<Value = Case> {
    let echo = vec(any::<bool>(), BUSES);
    let bursts = vec((0..BUSES, vec(arbitrary::wire_frame(), 1..24)), 1..6);
    (vec(route(), 1..12), echo, bursts).prop_map(|(mut jobs, echo, bursts)| {
        for job in &mut jobs {
            job.echo = if echo[job.to.0] { Echo::On } else { Echo::Off };
        }
        Case { jobs, bursts }
    })
}

fn route() -> impl Strategy<Value = Job> {
    let pattern = (any::<u8>(), prop::sample::select(vec![0x00_u8, 0x01, 0x80, 0xFF])).prop_map(|(value, mask)| {
        let mut pattern = ANY_PAYLOAD;
        (pattern.mask[0], pattern.value[0]) = (mask, value & mask);
        pattern
    });
    let filter = prop_oneof![2 => Just(Some(Filter::ALL)), 3 => Just(None)];
    (arbitrary::job(BUSES), filter, 0..10_u8, pattern, any::<bool>()).prop_map(
        |(mut job, filter, kind, pattern, bit_rate_switch)| {
            job.filter = filter.unwrap_or(job.filter);
            match kind {
                0..=1 => job.payload.push(pattern),
                2 if job.format == FrameFormat::Classic => job.send_as = Some(SendAs::Fd { bit_rate_switch }),
                2 => {
                    job.send_as = Some(SendAs::Classic);
                    let Modifications { and, or, xor, set } = &mut job.modifications;
                    [and, or, xor, set].into_iter().for_each(|operand| operand.flags = None);
                }
                _ => {}
            }
            job
        },
    )
}
