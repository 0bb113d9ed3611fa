//! `candor-lab soak`: a gateway under load for a long time.

use std::io;
use std::time::Duration;

use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};
use candor_core::bits::FrameBits;
use candor_core::units::BitRate;
use candor_lab::processes::{Resident, resident};
use candor_lab::stats::LatencyNs;
use candor_lab::stream::{Bench, Matcher, Pattern, frames_in_turn};
use serde::Serialize;

use super::method::{self, Failed};
use super::tester;
use crate::cli::LabSoakArgs;

/// Frames between two readings of the taps.
const LOOK: u32 = 128;
/// Measurements of the memory.
const SAMPLES: u32 = 60;

pub(crate) fn run(args: &LabSoakArgs) -> Outcome {
    let gateway = std::slice::from_ref(&args.gateway);
    let Some(files) = tester::read(gateway, Form::running(args.json))? else { return Ok(Exit::No) };
    let devices = tester::devices_under_test(&files, false, false)?;
    let device = devices.first().ok_or("there is no gateway")?;
    method::set_down(&args.down)?;
    let pattern = pattern(args)?;
    let soak = method::as_tester(|| method::with_gateway(device, |id| soak(args, &pattern, id)))?;
    let engine = &device.engine;
    render::out(&if args.json {
        render::line(&View::of(&soak, &pattern, engine))
    } else {
        soak.text(&pattern, engine)
    })?;
    Ok(if soak.is_fine(&pattern) { Exit::Fine } else { Exit::No })
}

#[derive(Debug, Default)]
struct Soak {
    matcher: Matcher,
    longest: LatencyNs,
    /// Memory of the gateway after each sixtieth of the time.
    memory: Vec<Resident>,
}

fn pattern(args: &LabSoakArgs) -> Result<Pattern, String> {
    let period = period(args);
    let frames = args.time.as_nanos() / period.as_nanos().max(1);
    let frames =
        u32::try_from(frames).map_err(|_too_large| format!("{frames} frames are too many; reduce --time or --load"))?;
    Ok(Pattern { template: args.frame, period, frames, look: LOOK })
}

/// The mean frame time divided by the load, in whole microseconds, the resolution of the kernel's timer.
fn period(args: &LabSoakArgs) -> Duration {
    let of_frame = |bitrate: BitRate| {
        let times = frames_in_turn(&args.frame).map(|frame| FrameBits::of(&frame).wire_time_ns(bitrate, None));
        let (sum, count) = times.fold((0_u64, 0), |(sum, count), time| (sum + time, count + 1));
        sum / count.max(1)
    };
    Duration::from_micros((of_frame(args.bitrate) * 100 / u64::from(args.load.max(1)) / 1000).max(1))
}

fn soak(args: &LabSoakArgs, pattern: &Pattern, id: u32) -> Result<Soak, Failed> {
    let mut bench = Bench::open(&args.way)?;
    let mut longest = LatencyNs(0);
    let mut memory = Vec::with_capacity(SAMPLES as usize + 1);
    let matcher = bench.pass(
        pattern,
        |passage| longest = longest.max(LatencyNs(passage.left.0 - passage.came.0)),
        |matcher| {
            let due = u64::from(pattern.frames) * (memory.len() as u64 + 1) / u64::from(SAMPLES);
            if u64::from(matcher.came) >= due && memory.len() < SAMPLES as usize {
                memory.push(resident(id)?);
            }
            Ok::<(), io::Error>(())
        },
    )?;
    Ok(Soak { matcher, longest, memory })
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    engine: &'a str,
    kernel_release: String,
    period_ns: u64,
    /// `null` if fewer than two frames came in.
    real_period_ns: Option<i64>,
    frames: u32,
    came: u32,
    left: u32,
    overtaken: u32,
    strange: u32,
    max_ns: i64,
    memory_bytes: Vec<u64>,
    own_memory_bytes: Vec<u64>,
    /// `null` without two measurements.
    growth_bytes: Option<u64>,
    fine: bool,
}

impl<'a> View<'a> {
    fn of(soak: &Soak, pattern: &Pattern, engine: &'a str) -> Self {
        Self {
            engine,
            kernel_release: tester::kernel_release(),
            period_ns: u64::try_from(pattern.period.as_nanos()).unwrap_or(u64::MAX),
            real_period_ns: soak.matcher.period_ns(),
            frames: pattern.frames,
            came: soak.matcher.came,
            left: soak.matcher.left,
            overtaken: soak.matcher.overtaken,
            strange: soak.matcher.strange,
            max_ns: soak.longest.0,
            memory_bytes: soak.memory(|resident| resident.all),
            own_memory_bytes: soak.memory(|resident| resident.own),
            growth_bytes: soak.growth_bytes(),
            fine: soak.is_fine(pattern),
        }
    }
}

impl Soak {
    /// Returns true if every frame arrived once and in order, and the gateway's own memory did not grow.
    fn is_fine(&self, pattern: &Pattern) -> bool {
        let Matcher { came, left, overtaken, strange, .. } = self.matcher;
        came == pattern.frames && left == came && overtaken == 0 && strange == 0 && self.growth_bytes() == Some(0)
    }

    /// Growth of its own memory; `None` without two measurements.
    fn growth_bytes(&self) -> Option<u64> {
        let (first, rest) = self.memory.split_first()?;
        Some(rest.iter().map(|resident| resident.own).max()?.saturating_sub(first.own))
    }

    fn memory(&self, of: fn(&Resident) -> u64) -> Vec<u64> {
        self.memory.iter().map(of).collect()
    }

    fn text(&self, pattern: &Pattern, engine: &str) -> String {
        let Matcher { came, left, overtaken, strange, .. } = self.matcher;
        let [first, last] = [self.memory.first(), self.memory.last()]
            .map(|one| one.copied().unwrap_or_default())
            .map(|one| [one.own >> 10, one.all >> 10]);
        format!(
            "{engine}: {}, one every {} us: {came} received, {left} sent, {overtaken} reordered, {strange} \
             unknown; maximum latency {:.1} us\nmemory {} KiB at the start, {} KiB at the end; including pages of the program {} KiB \
             and {} KiB: {}\n",
            plural(pattern.frames as usize, "frame"),
            pattern.period.as_micros(),
            self.longest.microseconds(),
            first[0],
            last[0],
            first[1],
            last[1],
            if self.is_fine(pattern) { "fine" } else { "not fine" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> (Soak, Pattern) {
        let pattern =
            Pattern { template: "123#00".parse().unwrap(), period: Duration::from_micros(100), frames: 3, look: LOOK };
        let mut soak = Soak { memory: vec![Resident { all: 9 << 12, own: 4 << 12 }; 3], ..Soak::default() };
        for number in 0..3 {
            let at = |ns: i64| candor_io::clock::RealtimeNs(ns);
            soak.matcher.came(number, at(100 * i64::from(number)));
            soak.matcher.left(number, at(100 * i64::from(number) + 50)).unwrap();
        }
        (soak, pattern)
    }

    #[test]
    fn soak_is_fine_without_loss_and_growth() {
        let (soak, pattern) = fine();
        assert!(soak.is_fine(&pattern));
        candor_cli::schema::assert_valid("candor-lab soak", &View::of(&soak, &pattern, "kernel"));
        let (mut soak, pattern) = fine();
        soak.memory.push(Resident { all: 25 << 12, own: 4 << 12 });
        assert!(soak.is_fine(&pattern), "pages of the program are not counted");
        let spoils: [fn(&mut Soak); 5] = [
            |soak| soak.memory.push(Resident { all: 9 << 12, own: 5 << 12 }),
            |soak| soak.memory.truncate(1),
            |soak| soak.matcher.came += 1,
            |soak| soak.matcher.strange = 1,
            |soak| soak.matcher.left -= 1,
        ];
        for spoil in spoils {
            let (mut soak, pattern) = fine();
            spoil(&mut soak);
            assert!(!soak.is_fine(&pattern), "{soak:?}");
        }
        assert!(!soak.is_fine(&Pattern { frames: 4, ..pattern }), "one frame was never sent");
    }
}
