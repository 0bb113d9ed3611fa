//! `candor-lab replay`: sends recorded frames at their times.
//!
//! ```text
//!  file ─▶ reading (a thread) ─▶ channel ─▶ Pace: when a frame is due ─▶ Lane: its interface ─▶ Late
//! ```

mod lane;
mod late;
mod pace;
mod reading;
mod view;

use std::error::Error;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use candor_cli::{Exit, Outcome, render};
use candor_io::clock::{self, MonotonicNs};
use candor_io::poll::set_timer_slack;
use candor_io::signal::EndingSignals;

use super::convert::{self, ConvertError, files};
use super::method::Failed;
use crate::cli::ReplayArgs;
use lane::Lane;
use pace::Pace;
use reading::Step;
pub(super) use view::View;

/// From the first frame that was read until it is due.
const LEAD_NS: i64 = 10_000_000;
/// A wait can be interrupted up to this time before its end.
const SURE_NS: i64 = 20_000_000;
/// Frames without a wait until signals are looked for.
const WITHOUT_A_LOOK: u32 = 256;

pub(crate) fn run(args: &ReplayArgs) -> Outcome {
    let command = |from: &str| format!("candor-lab replay --from {from} - …");
    let format = convert::input_format(&args.file, args.from, command)?;
    if args.repeat.get() > 1 && files::is_standard(&args.file) {
        return Err("--repeat needs a file, because standard input can be read only once".into());
    }
    let mut lanes = lane::open(&args.onto)?;
    let signals = EndingSignals::block()?;
    let (to, steps) = mpsc::sync_channel(reading::CHUNKS);
    let (sent, read) = thread::scope(|scope| {
        let reading = scope.spawn(move || reading::read(args, format, &to));
        let sent = send(args, &steps, &mut lanes, &signals);
        // Ends the reading, too.
        drop(steps);
        (sent, reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (sent, read) = (sent.map_err(as_error)?, read.map_err(as_error)?);
    let name = files::name(&args.file);
    let view = View::of(args, lanes, &read, sent.unordered, sent.took_ns);
    if let (0, Some(error)) = (view.frames(), &read.ended) {
        return Err(ConvertError::unreadable(&args.file, format, error).into());
    }
    render::out(&if args.json { render::object(&view) } else { view.text() })?;
    if let Some(error) = &read.ended {
        render::err(&format!("candor-lab: {name} ends at {error}; what is before it was sent\n"));
    }
    Ok(if view.frames() == 0 || read.ended.is_some() { Exit::No } else { Exit::Fine })
}

fn as_error(error: Failed) -> Box<dyn Error> {
    error
}

#[derive(Debug, Default)]
struct Sent {
    unordered: u64,
    /// Since the first frame was due.
    took_ns: i64,
}

/// Sends all frames at their times, until the end or a signal.
fn send(
    args: &ReplayArgs,
    steps: &Receiver<Step>,
    lanes: &mut [Lane],
    signals: &EndingSignals,
) -> Result<Sent, Failed> {
    // No real-time policy: if frames are late, it would keep the kernel's threads from delivering them.
    set_timer_slack(1)?;
    let mut pace: Option<Pace> = None;
    let mut start_ns = 0;
    let mut before_look = WITHOUT_A_LOOK;
    'all: for step in steps {
        let frames = match step {
            Step::Again => {
                pace.iter_mut().for_each(Pace::again);
                continue;
            }
            Step::Frames(frames) => frames,
        };
        if pace.is_none() {
            start_ns = clock::monotonic()?.0 + LEAD_NS;
        }
        let pace = pace.get_or_insert_with(|| Pace::new(start_ns, args.speed));
        for frame in frames {
            let due_ns = pace.due(frame.at_ns);
            before_look -= 1;
            let long_ns = due_ns - clock::monotonic()?.0 - SURE_NS;
            if long_ns > 0 || before_look == 0 {
                before_look = WITHOUT_A_LOOK;
                let long = Duration::from_nanos(u64::try_from(long_ns).unwrap_or_default());
                if signals.wait(long)?.is_some() {
                    break 'all;
                }
            }
            clock::sleep_until(MonotonicNs(due_ns))?;
            lanes[frame.lane].send(&frame.frame, due_ns)?;
        }
    }
    let Some(Pace { unordered, .. }) = pace else { return Ok(Sent::default()) };
    Ok(Sent { unordered, took_ns: (clock::monotonic()?.0 - start_ns).max(0) })
}
