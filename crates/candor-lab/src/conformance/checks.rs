//! The checks, in the order of the table.

use std::io;
use std::time::{Duration, Instant};

use candor_cli::gateway_file::plural;
use candor_core::frame::{CANFD_BRS, CANFD_ESI, Frame, FrameFormat};

use super::frames::{self, Random};
use super::volley::{Outcome, Pace, Probes, Tally, Total, Volleys};
use super::{Bench, ConformanceError, Continue, Line, Options, Progress, Report, Side, Verdict, Wanted};

/// Interval of attempts to get a first frame through.
const PROBE_EVERY: Duration = Duration::from_millis(50);
/// Frames in a row.
const BURST: usize = 64;
const BURST_FRAMES: usize = 1024;
/// Frames, frames at a time, and pause between them: 1000 frames per second.
const STEADY: (usize, usize, Duration) = (500, 5, Duration::from_millis(5));
const STAMPED_FRAMES: usize = 5;
/// Required silence at the end.
const SILENCE: Duration = Duration::from_millis(300);
/// Frames in flight when contents are compared: every gateway has room for this many.
const AT_ONCE: usize = 16;
/// Attempts to send a frame that does not arrive.
const ATTEMPTS: usize = 3;

pub(super) struct Context<'a, 'b, B> {
    volleys: &'a mut Volleys<'b, B>,
    options: &'a Options,
    random: Random,
    /// Frames that arrived only when sent again.
    retried: usize,
    /// Result of `bursts`, which `order` uses too.
    bursts: Option<Outcome>,
}

type Answer = io::Result<(Verdict, String)>;

enum Check<B> {
    /// These frames arrive as they were sent.
    Content(fn(&mut Random) -> Vec<Frame>),
    Fd(fn(&mut Random) -> Vec<Frame>),
    Other(fn(&mut Context<'_, '_, B>) -> Answer),
    /// Sends nothing, and judges all frames that arrived.
    Totals(fn(&mut Context<'_, '_, B>) -> Answer),
}

const CROSSES: (&str, &str) = ("crosses", "frames cross at all");

fn all<B: Bench>() -> [(&'static str, &'static str, Check<B>); 20] {
    use Check::{Content, Fd, Other, Totals};
    [
        ("classic-lengths", "data frames of 0 to 8 bytes", Content(frames::classic_lengths)),
        ("raw-dlc", "8 bytes with a raw DLC of 9 to 15", Content(frames::raw_dlcs)),
        ("remote", "remote frames, 11 and 29 bit", Content(|_| frames::remote())),
        ("standard-ids", "all 2048 11-bit identifiers", Content(frames::standard_identifiers)),
        ("extended-ids", "29-bit identifiers: each bit, random ones", Content(frames::extended_identifiers)),
        ("payload-bits", "each bit of 8 bytes", Content(|_| frames::payload_bits())),
        ("fd-lengths", "CAN FD: all 16 lengths", Fd(frames::fd_lengths)),
        ("fd-flags", "CAN FD: BRS and ESI", Fd(frames::fd_flags)),
        ("fd-ids", "CAN FD: each bit of 11 and 29-bit identifiers", Fd(frames::fd_identifiers)),
        ("fd-payload-bits", "CAN FD: each bit of 64 bytes", Fd(|_| frames::fd_payload_bits())),
        ("bursts", "64 frames in a row arrive complete", Other(bursts)),
        ("order", "frames arrive in the order in which they were sent", Other(order)),
        ("losses", "nothing is lost at a moderate rate", Other(losses)),
        ("error-frames", "error frames are not forwarded", Other(error_frames)),
        ("timestamps", "timestamps are all fresh, or all kept", Other(timestamps)),
        ("reverse", "the reverse direction forwards frames", Other(reverse)),
        ("doubled", "no frame arrives twice", Totals(doubled)),
        ("returned", "no frame returns to its source bus", Totals(returned)),
        ("invented", "only frames that are sent arrive", Totals(invented)),
        ("silence", "no frame circulates at the end", Totals(silence)),
    ]
}

pub(super) fn run<B: Bench>(
    volleys: &mut Volleys<'_, B>,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> Continue,
) -> Result<Report, ConformanceError> {
    let checks = all::<B>();
    let mut report = |reached| match progress(reached) {
        Continue::Yes => Ok(()),
        Continue::No => Err(ConformanceError::Stopped),
    };
    let start = Instant::now();
    let mut probes = Probes::default();
    for number in 0.. {
        report(Progress::Waiting)?;
        volleys.probe(&frames::probe(number), PROBE_EVERY, &mut probes)?;
        if probes.crossed {
            break;
        }
        if start.elapsed() >= options.wait {
            let mut detail = format!("none of {} frames within {} ms", number + 1, start.elapsed().as_millis());
            let others = [(probes.returned, "returned to their source bus"), (probes.foreign, "others came")];
            for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
                detail.push_str(&format!(", {count} {what}"));
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
    for (done, (name, property, check)) in checks.iter().enumerate() {
        report(Progress::Check { done, of: checks.len(), property })?;
        let (verdict, detail) = unless_flooded(check, &mut context)?;
        lines.push(Line { name, property, verdict, detail });
    }
    Ok(Report { first_frame_after, sent: context.volleys.total.sent, lines })
}

/// Endless frames hide what happens to others, so only totals are judged then.
fn unless_flooded<B: Bench>(check: &Check<B>, all: &mut Context<'_, '_, B>) -> Answer {
    let left_out = || Ok((Verdict::NotApplicable, "not tested: the number of frames keeps growing".into()));
    if let Check::Totals(run) = check {
        return run(all);
    }
    if all.volleys.total.flooded {
        return left_out();
    }
    match check.run(all)? {
        (Verdict::No, _) if all.volleys.total.flooded => left_out(),
        answer => Ok(answer),
    }
}

impl<B: Bench> Check<B> {
    fn run(&self, all: &mut Context<'_, '_, B>) -> Answer {
        let frames = match self {
            Self::Other(run) | Self::Totals(run) => return run(all),
            Self::Content(frames) => frames,
            Self::Fd(frames) => match &all.options.fd {
                Wanted::Yes => frames,
                Wanted::No(reason) => return Ok((Verdict::NotApplicable, reason.clone())),
            },
        };
        let frames = frames(&mut all.random);
        content(all, Side::From, &frames)
    }
}

/// Sends frames and compares those that arrive. Occasional losses, copies and order are judged elsewhere.
fn content<B: Bench>(all: &mut Context<'_, '_, B>, side: Side, frames: &[Frame]) -> Answer {
    let mut missing = frames.to_vec();
    let mut changed: Vec<(Frame, Frame)> = Vec::new();
    for attempt in 0..ATTEMPTS {
        let outcome = all.volleys.send(side, &missing, Pace::Bursts(AT_ONCE))?;
        for (sent, copies) in outcome.frames.iter().zip(&outcome.copies) {
            changed.extend(copies.iter().find(|copy| !is_same(sent, copy)).map(|copy| (*sent, *copy)));
        }
        if attempt > 0 {
            all.retried += outcome.order.len();
        }
        let unsent = missing.split_off(outcome.frames.len());
        missing = outcome.missing().map(|at| outcome.frames[at]).chain(unsent).collect();
        if missing.is_empty() {
            break;
        }
    }
    Ok(judge(frames.len(), &missing, &changed))
}

fn judge(all: usize, missing: &[Frame], changed: &[(Frame, Frame)]) -> (Verdict, String) {
    let mut wrong = Vec::new();
    if missing.len() == all {
        wrong.push(format!("none of {all} arrived"));
    } else if let Some(first) = missing.first() {
        wrong.push(format!("{} of {all} did not arrive; first: {first}", missing.len()));
    }
    if let Some((sent, got)) = changed.first() {
        wrong.push(format!("{} of {all} changed; first: {sent} became {got}", changed.len()));
    }
    if wrong.is_empty() { (Verdict::Ok, format!("{all} of {all} as sent")) } else { (Verdict::No, wrong.join("; ")) }
}

/// True if both are the same on the bus.
fn is_same(sent: &Frame, got: &Frame) -> bool {
    let flags = |frame: &Frame| frame.flags & (CANFD_BRS | CANFD_ESI);
    let payload = |frame: &Frame| if frame.id.is_rtr() { Vec::new() } else { frame.payload().to_vec() };
    sent.format == got.format
        && sent.id == got.id
        && sent.raw_dlc() == got.raw_dlc()
        && (sent.format == FrameFormat::Classic || flags(sent) == flags(got))
        && payload(sent) == payload(got)
}

fn bursts<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let frames = frames::numbered(BURST_FRAMES, &mut all.random);
    let outcome = all.volleys.send(Side::From, &frames, Pace::Bursts(BURST))?;
    let lost = outcome.missing().count();
    let first = outcome.missing().next();
    let sent = outcome.frames.len();
    all.bursts = Some(outcome);
    Ok(match first {
        None => (Verdict::Ok, format!("{sent} frames in bursts of {BURST}")),
        Some(first) => {
            (Verdict::No, format!("{lost} of {sent} lost, the first at position {} of its burst", first % BURST))
        }
    })
}

fn order<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let Some(outcome) = &all.bursts else { return Ok((Verdict::NotApplicable, "no burst was sent".into())) };
    let mut furthest = 0;
    let mut overtaken = Vec::new();
    for &at in &outcome.order {
        if at < furthest {
            overtaken.push((at, furthest));
        }
        furthest = furthest.max(at);
    }
    Ok(match overtaken.first() {
        _ if outcome.order.len() < 2 => (Verdict::NotApplicable, "fewer than two frames of the bursts arrived".into()),
        None => (Verdict::Ok, format!("{} frames in bursts of {BURST}", outcome.order.len())),
        Some((at, before)) => {
            let (count, of) = (overtaken.len(), outcome.order.len());
            (Verdict::No, format!("{count} of {of} came too late; first: number {at} after number {before}"))
        }
    })
}

fn losses<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let (count, group, pause) = STEADY;
    let frames = frames::numbered(count, &mut all.random);
    let outcome = all.volleys.send(Side::From, &frames, Pace::Steady(group, pause))?;
    let lost: Vec<_> = outcome.missing().collect();
    let mut wrong = Vec::new();
    if let Some(first) = lost.first() {
        wrong.push(format!("{} of {count} lost; first: number {first}", lost.len()));
    }
    if all.retried > 0 {
        wrong.push(format!("{} of the checks above arrived only when sent again", plural(all.retried, "frame")));
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
    let outcome = all.volleys.send(Side::From, &frames::error_frames(), Pace::Bursts(BURST))?;
    let (arrived, sent) = (outcome.order.len(), outcome.frames.len());
    Ok(match outcome.order.first() {
        None => (Verdict::Ok, format!("none of {sent} arrived")),
        Some(&first) => (Verdict::No, format!("{arrived} of {sent} arrived; first: {}", outcome.frames[first])),
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
    let sent = all.volleys.total.sent;
    none_of(
        all,
        |total| &total.doubled,
        |count, first| {
            let copies = if count == 1 { "copy" } else { "copies" };
            format!("{count} {copies} too many of {sent} frames; first: {first}")
        },
    )
}

fn returned<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let sent = all.volleys.total.sent;
    none_of(all, |total| &total.returned, |count, first| format!("{count} of {sent} frames returned; first: {first}"))
}

fn invented<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    none_of(
        all,
        |total| &total.foreign,
        |count, first| format!("{count} unknown frames; first: {first} (does anything else send?)"),
    )
}

fn none_of<B: Bench>(
    all: &Context<'_, '_, B>,
    of: fn(&Total) -> &Tally,
    wrong: impl FnOnce(u64, Frame) -> String,
) -> Answer {
    let total = &all.volleys.total;
    Ok(match of(total).first {
        None => (Verdict::Ok, format!("{} frames", total.sent)),
        Some(first) => (Verdict::No, wrong(of(total).count, first)),
    })
}

fn silence<B: Bench>(all: &mut Context<'_, '_, B>) -> Answer {
    let received = all.volleys.listen(SILENCE)?;
    Ok(match received.first() {
        None if all.volleys.total.flooded => (Verdict::No, "the number of frames kept growing before".into()),
        None => (Verdict::Ok, format!("nothing within {} ms", SILENCE.as_millis())),
        Some(first) => (Verdict::No, format!("{} unknown frames; first: {}", received.len(), first.frame)),
    })
}
