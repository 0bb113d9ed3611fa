//! The checks, in the order of the table.

mod content;

use std::io;
use std::time::{Duration, Instant};

use super::frames::{self, Random};
use super::volley::{Flown, Knocks, Pace, Volleys};
use super::{Bench, ConformanceError, Continue, Line, Options, Progress, Report, Side, Verdict, Wanted};
use content::content;

/// Interval of attempts to get a first frame through.
const KNOCK_EVERY: Duration = Duration::from_millis(50);
/// Frames in a row.
const BURST: usize = 64;
const BURST_FRAMES: usize = 1024;
/// Frames, frames at a time, and pause between them: 1000 frames per second.
const STEADY: (usize, usize, Duration) = (500, 5, Duration::from_millis(5));
const STAMPED_FRAMES: usize = 5;
/// Required silence at the end.
const SILENCE: Duration = Duration::from_millis(300);

/// Shared by the checks.
pub(super) struct Context<'a, 'b, B> {
    volleys: &'a mut Volleys<'b, B>,
    options: &'a Options,
    random: Random,
    /// Frames that arrived only when sent again.
    retried: usize,
    /// Result of `bursts`, which `order` uses too.
    bursts: Option<Flown>,
}

type Answer = io::Result<(Verdict, String)>;

struct Check<B> {
    name: &'static str,
    property: &'static str,
    run: fn(&mut Context<'_, '_, B>) -> Answer,
}

const CROSSES: (&str, &str) = ("crosses", "frames cross at all");
/// Checks that send nothing and judge all frames that arrived.
const OF_ALL_FRAMES: [&str; 4] = ["doubled", "returned", "invented", "silence"];

pub(super) fn run<B: Bench>(
    volleys: &mut Volleys<'_, B>,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> Continue,
) -> Result<Report, ConformanceError> {
    let checks = all::<B>();
    let mut tell = |told| match progress(told) {
        Continue::Yes => Ok(()),
        Continue::No => Err(ConformanceError::Stopped),
    };
    let start = Instant::now();
    let mut knocks = Knocks::default();
    for number in 0.. {
        tell(Progress::Waiting)?;
        volleys.knock(&frames::knock(number), KNOCK_EVERY, &mut knocks)?;
        if knocks.crossed {
            break;
        }
        if start.elapsed() >= options.wait {
            let mut detail = format!("none of {} frames within {} ms", number + 1, start.elapsed().as_millis());
            for (count, what) in
                [(knocks.returned, "came back to where they were sent"), (knocks.foreign, "others came")]
            {
                if count > 0 {
                    detail.push_str(&format!(", {count} {what}"));
                }
            }
            let line = Line { name: CROSSES.0, property: CROSSES.1, verdict: Verdict::No, detail };
            return Ok(Report { first_frame_after: None, sent: volleys.total.sent, lines: vec![line] });
        }
    }
    let first_frame_after = Some(start.elapsed());
    volleys.settle()?;
    let random = Random::new(options.seed);
    let mut context = Context { volleys, options, random, retried: 0, bursts: None };
    let mut lines = Vec::new();
    for (done, check) in checks.iter().enumerate() {
        tell(Progress::Check { done, of: checks.len(), property: check.property })?;
        let (verdict, detail) = unless_flooded(check, &mut context)?;
        lines.push(Line { name: check.name, property: check.property, verdict, detail });
    }
    Ok(Report { first_frame_after, sent: context.volleys.total.sent, lines })
}

/// Endless frames hide what happens to others, so other checks are left out then.
fn unless_flooded<B: Bench>(check: &Check<B>, all: &mut Context<'_, '_, B>) -> Answer {
    let left_out = || Ok((Verdict::NotApplicable, "left out: more and more frames come".into()));
    if OF_ALL_FRAMES.contains(&check.name) {
        return (check.run)(all);
    }
    if all.volleys.total.flooded {
        return left_out();
    }
    match (check.run)(all)? {
        (Verdict::No, _) if all.volleys.total.flooded => left_out(),
        answer => Ok(answer),
    }
}

fn all<B: Bench>() -> Vec<Check<B>> {
    let check = |name, property, run| Check { name, property, run };
    vec![
        check("classic-lengths", "data frames of 0 to 8 bytes", |all| {
            let frames = frames::classic_lengths(&mut all.random);
            content(all, Side::From, &frames)
        }),
        check("raw-dlc", "8 bytes with a raw DLC of 9 to 15", |all| {
            let frames = frames::raw_dlcs(&mut all.random);
            content(all, Side::From, &frames)
        }),
        check("remote", "remote frames, 11 and 29 bit", |all| content(all, Side::From, &frames::remote())),
        check("standard-ids", "all 2048 11-bit identifiers", |all| {
            let frames = frames::standard_identifiers(&mut all.random);
            content(all, Side::From, &frames)
        }),
        check("extended-ids", "29-bit identifiers: each bit, random ones", |all| {
            let frames = frames::extended_identifiers(&mut all.random);
            content(all, Side::From, &frames)
        }),
        check("payload-bits", "each bit of 8 bytes", |all| content(all, Side::From, &frames::payload_bits())),
        check("fd-lengths", "CAN FD: all 16 lengths", |all| {
            let frames = frames::fd_lengths(&mut all.random);
            fd(all, &frames)
        }),
        check("fd-flags", "CAN FD: BRS and ESI", |all| {
            let frames = frames::fd_flags(&mut all.random);
            fd(all, &frames)
        }),
        check("fd-ids", "CAN FD: each bit of 11 and 29-bit identifiers", |all| {
            let frames = frames::fd_identifiers(&mut all.random);
            fd(all, &frames)
        }),
        check("fd-payload-bits", "CAN FD: each bit of 64 bytes", |all| fd(all, &frames::fd_payload_bits())),
        check("bursts", "64 frames in a row arrive complete", bursts),
        check("order", "frames arrive in the order in which they were sent", order),
        check("losses", "nothing is lost at a moderate rate", losses),
        check("error-frames", "error frames are not forwarded", error_frames),
        check("timestamps", "time stamps are all fresh, or all kept", timestamps),
        check("reverse", "the way back carries frames as well", reverse),
        check("doubled", "no frame arrives twice", doubled),
        check("returned", "nothing comes back to where it was sent", returned),
        check("invented", "nothing arrives that nobody sent", invented),
        check("silence", "it is quiet at the end: nothing circulates", silence),
    ]
}

fn fd<B: Bench>(all: &mut Context<'_, '_, B>, frames: &[candor_core::frame::Frame]) -> Answer {
    match &all.options.fd {
        Wanted::Yes => content(all, Side::From, frames),
        Wanted::No(reason) => Ok((Verdict::NotApplicable, reason.clone())),
    }
}

fn bursts<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let frames = frames::numbered(BURST_FRAMES, &mut all.random);
    let flown = all.volleys.fly(Side::From, &frames, Pace::Bursts(BURST))?;
    let lost = flown.missing().count();
    let first = flown.missing().next();
    let sent = flown.frames.len();
    all.bursts = Some(flown);
    Ok(match first {
        None => (Verdict::Ok, format!("{sent} frames in bursts of {BURST}")),
        Some(first) => {
            (Verdict::No, format!("{lost} of {sent} lost, the first at place {} of its burst", first % BURST))
        }
    })
}

fn order<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let Some(flown) = &all.bursts else { return Ok((Verdict::NotApplicable, "no burst was sent".into())) };
    let mut furthest = 0;
    let mut overtaken = Vec::new();
    for &at in &flown.order {
        if at < furthest {
            overtaken.push((at, furthest));
        }
        furthest = furthest.max(at);
    }
    Ok(match overtaken.first() {
        _ if flown.order.len() < 2 => (Verdict::NotApplicable, "fewer than two frames of the bursts arrived".into()),
        None => (Verdict::Ok, format!("{} frames in bursts of {BURST}", flown.order.len())),
        Some((at, before)) => {
            let (count, of) = (overtaken.len(), flown.order.len());
            (Verdict::No, format!("{count} of {of} came too late; first: number {at} after number {before}"))
        }
    })
}

fn losses<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let (count, group, pause) = STEADY;
    let frames = frames::numbered(count, &mut all.random);
    let flown = all.volleys.fly(Side::From, &frames, Pace::Steady(group, pause))?;
    let lost: Vec<_> = flown.missing().collect();
    let mut wrong = Vec::new();
    if let Some(first) = lost.first() {
        wrong.push(format!("{} of {count} lost; first: number {first}", lost.len()));
    }
    if all.retried > 0 {
        wrong.push(format!("{} frames of the checks above arrived only when they were sent again", all.retried));
    }
    if wrong.is_empty() {
        return Ok((Verdict::Ok, format!("{count} frames, {group} every {} ms", pause.as_millis())));
    }
    Ok((Verdict::No, wrong.join("; ")))
}

fn error_frames<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    if let Wanted::No(reason) = &all.options.error_frames {
        return Ok((Verdict::NotApplicable, reason.clone()));
    }
    let flown = all.volleys.fly(Side::From, &frames::error_frames(), Pace::Bursts(BURST))?;
    let (arrived, sent) = (flown.order.len(), flown.frames.len());
    Ok(match flown.order.first() {
        None => (Verdict::Ok, format!("none of {sent} arrived")),
        Some(&first) => (Verdict::No, format!("{arrived} of {sent} arrived; first: {}", flown.frames[first])),
    })
}

fn timestamps<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let (mut kept, mut fresh) = (0, 0);
    for frame in frames::numbered(STAMPED_FRAMES, &mut all.random) {
        match all.volleys.stamps(&frame)? {
            Some((sent, arrived)) if sent == arrived => kept += 1,
            Some(_) => fresh += 1,
            None => {}
        }
    }
    Ok(match (kept, fresh) {
        (0, 0) => (Verdict::NotApplicable, "no frame of this check arrived".into()),
        (0, _) => (Verdict::Ok, "fresh: the time at which the frame left the gateway".into()),
        (_, 0) => (Verdict::Ok, "kept: the time at which the frame reached the gateway".into()),
        _ => (Verdict::No, format!("{kept} kept, {fresh} fresh")),
    })
}

fn reverse<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    if let Some(Wanted::No(reason)) = &all.options.both_ways {
        return Ok((Verdict::NotApplicable, reason.clone()));
    }
    if all.options.both_ways.is_none() && !all.volleys.any_crosses(Side::To, &mut all.random)? {
        return Ok((Verdict::NotApplicable, "nothing crosses: this gateway is one-way".into()));
    }
    let frames = frames::mixture(all.options.fd == Wanted::Yes, &mut all.random);
    content(all, Side::To, &frames)
}

fn doubled<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let total = &all.volleys.total;
    Ok(match total.first_doubled {
        None => (Verdict::Ok, format!("{} frames", total.sent)),
        Some(first) => {
            let copies = if total.doubled == 1 { "copy" } else { "copies" };
            (Verdict::No, format!("{} {copies} too many of {} frames; first: {first}", total.doubled, total.sent))
        }
    })
}

fn returned<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let total = &all.volleys.total;
    Ok(match total.first_returned {
        None => (Verdict::Ok, format!("{} frames", total.sent)),
        Some(first) => (Verdict::No, format!("{} came back of {} frames; first: {first}", total.returned, total.sent)),
    })
}

fn invented<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let total = &all.volleys.total;
    Ok(match total.first_foreign {
        None => (Verdict::Ok, format!("{} frames", total.sent)),
        Some(first) => {
            (Verdict::No, format!("{} unknown frames; first: {first} (does anything else send?)", total.foreign))
        }
    })
}

fn silence<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let heard = all.volleys.listen(SILENCE)?;
    Ok(match heard.first() {
        None if all.volleys.total.flooded => (Verdict::No, "more and more frames had come before".into()),
        None => (Verdict::Ok, format!("nothing within {} ms", SILENCE.as_millis())),
        Some(first) => (Verdict::No, format!("{} frames of which nobody knows; first: {}", heard.len(), first.frame)),
    })
}
