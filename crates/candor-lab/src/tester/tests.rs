use std::collections::VecDeque;

use Behaviour::{Drop, Forward, Late, Twice};
use candor_core::frame::{FrameFormat, RawId};
use candor_core::units::BitRate;

use super::*;

/// Scripted behaviour of the gateway for a frame.
#[derive(Clone, Copy)]
enum Behaviour {
    /// Delay in nanoseconds.
    Forward(i64),
    Drop,
    Twice(i64),
    /// Delivered during the wait for the next frame.
    Late,
}

#[derive(Default)]
struct Script {
    now: i64,
    behaviours: Vec<Behaviour>,
    sent: usize,
    far: VecDeque<Stamped>,
    held: Option<Frame>,
    near: VecDeque<Stamped>,
    slow: VecDeque<Stamped>,
    monitor_is_slow: bool,
    /// Expiry of the timer, and its frame.
    timed: Option<(i64, Frame)>,
    /// Adapter clock at a time of the kernel's clock.
    adapter: Option<fn(i64) -> i64>,
}

impl Script {
    fn new(behaviours: &[Behaviour]) -> Self {
        Self { now: 5_000, behaviours: behaviours.to_vec(), ..Self::default() }
    }

    fn stamped(&self, frame: Frame, at: i64) -> Stamped {
        Stamped { frame, at: RealtimeNs(at), adapter: self.adapter.map(|clock| AdapterNs(clock(at))) }
    }

    fn deliver(&mut self, frame: Frame, after: i64) {
        self.far.push_back(self.stamped(frame, self.now + after));
    }
}

impl Bench for Script {
    fn now(&mut self) -> io::Result<RealtimeNs> {
        Ok(RealtimeNs(self.now))
    }

    fn pause(&mut self, duration: Duration) {
        self.now += i64::try_from(duration.as_nanos()).unwrap();
    }

    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.now += 10;
        let seen = self.stamped(*frame, self.now);
        let monitor = if self.monitor_is_slow { &mut self.slow } else { &mut self.near };
        monitor.push_back(seen);
        if let Some(held) = self.held.take() {
            self.deliver(held, 1);
        }
        match self.behaviours[self.sent] {
            Forward(after) => self.deliver(*frame, after),
            Drop => {}
            Twice(after) => {
                self.deliver(*frame, after);
                self.deliver(*frame, after + 5);
            }
            Late => self.held = Some(*frame),
        }
        self.sent += 1;
        Ok(())
    }

    fn sending(&mut self, position: u32) -> io::Result<[Option<RealtimeNs>; 2]> {
        let sent = i64::from(position) * 1_000_000;
        Ok([Some(RealtimeNs(sent)), None])
    }

    fn send_now_and_later(&mut self, lead: &Frame, frame: &Frame, after: Duration) -> io::Result<()> {
        self.send(lead)?;
        self.timed = Some((self.now + i64::try_from(after.as_nanos()).unwrap(), *frame));
        Ok(())
    }

    fn receive(&mut self, timeout: Duration) -> io::Result<Option<Stamped>> {
        let end = self.now + i64::try_from(timeout.as_nanos()).unwrap();
        if let Some((due, frame)) = self.timed.filter(|(due, _)| self.far.is_empty() && *due <= end) {
            self.timed = None;
            self.now = due;
            self.send(&frame)?;
        }
        let seen = self.far.pop_front();
        self.now = match &seen {
            Some(seen) => self.now.max(seen.at.0),
            None => self.now + i64::try_from(timeout.as_nanos()).unwrap(),
        };
        Ok(seen)
    }

    fn monitored(&mut self, timeout: Duration) -> io::Result<Option<Stamped>> {
        if self.near.is_empty() && !timeout.is_zero() {
            // The slow monitor delivers only to callers that wait.
            return Ok(self.slow.pop_front());
        }
        Ok(self.near.pop_front())
    }
}

fn pattern(frames: usize) -> Pattern {
    Pattern {
        template: Frame::classic(RawId(0x123), &[0, 0, 3, 4]).unwrap(),
        frames: u32::try_from(frames).unwrap(),
        warm_up: 0,
        gap: (Duration::from_micros(1), Duration::from_micros(1)),
        seed: 1,
        timeout: Duration::from_secs(1),
        wire: None,
        inside: Stamps::Off,
        stamps: StampSource::Kernel,
        origin: Origin::Call,
    }
}

fn run(behaviours: &[Behaviour]) -> Series {
    measure(&mut Script::new(behaviours), &pattern(behaviours.len()), |_| {}).unwrap()
}

fn latencies(series: &Series) -> Vec<Option<i64>> {
    series.samples.iter().map(|sample| sample.latency().map(|latency| latency.0)).collect()
}

#[test]
fn every_frame_has_its_own_latency() {
    let series = run(&[Forward(300), Forward(100), Forward(200)]);
    assert_eq!(latencies(&series), [Some(300), Some(100), Some(200)]);
    assert_eq!((series.late_or_duplicate, series.foreign), (0, 0));
    assert_eq!(series.samples.iter().map(|sample| sample.tag).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn waits_for_a_slow_monitor() {
    let mut script = Script::new(&[Forward(300), Forward(100)]);
    script.monitor_is_slow = true;
    let series = measure(&mut script, &pattern(2), |_| {}).unwrap();
    assert_eq!(latencies(&series), [Some(300), Some(100)]);
}

#[test]
fn lost_frame_does_not_shift_the_pairs() {
    let series = run(&[Forward(300), Drop, Forward(200)]);
    assert_eq!(latencies(&series), [Some(300), None, Some(200)]);
    assert!(series.samples[1].monitor_ns.is_some());
}

#[test]
fn duplicates_and_late_frames_do_not_shift_the_pairs() {
    let series = run(&[Twice(300), Forward(100), Late, Forward(200)]);
    assert_eq!(latencies(&series), [Some(300), Some(100), None, Some(200)]);
    assert_eq!((series.late_or_duplicate, series.foreign), (2, 0));
}

#[test]
fn duplicate_of_the_last_frame_is_counted() {
    assert_eq!(run(&[Twice(300)]).late_or_duplicate, 1);
}

#[test]
fn foreign_frames_are_counted() {
    let mut script = Script::new(&[Forward(300)]);
    script.deliver(Frame::classic(RawId(0x7FF), &[0xFF, 0xFF]).unwrap(), 0);
    script.deliver(Frame::classic(RawId(0x7FF), &[]).unwrap(), 0);
    let series = measure(&mut script, &pattern(1), |_| {}).unwrap();
    assert_eq!((series.late_or_duplicate, series.foreign), (0, 2));
    assert_eq!(latencies(&series), [Some(300)]);
}

#[test]
fn warm_up_frames_are_sent_but_not_recorded() {
    let mut script = Script::new(&[Forward(900), Forward(1), Forward(2)]);
    let mut progress = Vec::new();
    let series = measure(&mut script, &Pattern { warm_up: 1, ..pattern(2) }, |done| progress.push(done)).unwrap();
    assert_eq!(latencies(&series), [Some(1), Some(2)]);
    assert_eq!(series.samples.iter().map(|sample| (sample.sequence, sample.tag)).collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(progress, [1, 2]);
}

#[test]
fn tags_wrap_without_losses() {
    let behaviours = vec![Forward(50); 65_540];
    let series = run(&behaviours);
    assert!(series.samples.iter().all(|sample| sample.latency().is_some()));
    assert_eq!(series.samples.last().map(|sample| sample.tag), Some(3));
}

fn timed(behaviours: &[Behaviour]) -> (Series, Script) {
    let mut script = Script::new(behaviours);
    let gap = Duration::from_millis(1);
    let pattern = Pattern { origin: Origin::Timer, gap: (gap, gap), ..pattern(behaviours.len() / 2) };
    (measure(&mut script, &pattern, |_| {}).unwrap(), script)
}

#[test]
fn every_second_frame_from_a_timer_is_measured() {
    let (series, script) = timed(&[Forward(10), Forward(300), Forward(20), Forward(100)]);
    assert_eq!(latencies(&series), [Some(300), Some(100)]);
    assert_eq!(series.samples.iter().map(|sample| sample.tag).collect::<Vec<_>>(), [1, 3]);
    // Sent when the timer expired.
    assert_eq!(series.samples.iter().map(|sample| sample.sent_ns).collect::<Vec<_>>(), [1_000_000, 2_000_320]);
    assert_eq!((script.sent, series.late_or_duplicate, series.foreign), (4, 0, 0));
}

#[test]
fn leading_frames_may_be_lost_late_or_doubled() {
    let behaviours = [[Drop, Forward(300)], [Late, Forward(100)], [Twice(10), Forward(200)], [Forward(10), Drop]];
    let (series, _) = timed(&behaviours.concat());
    assert_eq!(latencies(&series), [Some(300), Some(100), Some(200), None]);
    assert_eq!((series.late_or_duplicate, series.foreign, series.overlapped), (1, 0, 1));
}

/// As on a real-time kernel: a frame takes longer than the shortest pause.
#[test]
fn timer_waits_for_slow_leading_frames() {
    let slow = [Forward(1_500_000), Forward(400)];
    let (series, _) = timed(&slow.repeat(5));
    // The first overlaps, because nothing is known yet. From then on the leading frame has twice its latency.
    assert_eq!((series.overlapped, series.late_or_duplicate), (1, 0));
    let between = series.samples.windows(2).map(|pair| pair[1].sent_ns - pair[0].sent_ns);
    assert!(
        between.clone().all(|between| (3_000_000..3_010_000).contains(&between)),
        "{:?}",
        between.collect::<Vec<_>>()
    );
    // Overlaps during warm-up do not count.
    let mut script = Script::new(&slow.repeat(5));
    let gap = Duration::from_millis(1);
    let pattern = Pattern { origin: Origin::Timer, gap: (gap, gap), warm_up: 1, ..pattern(4) };
    assert_eq!(measure(&mut script, &pattern, |_| {}).unwrap().overlapped, 0);
}

#[test]
fn time_on_the_second_wire_is_subtracted() {
    let rate = BitRate::from_bits_per_second(1_000_000).unwrap();
    let wire = Some(Wire { nominal: rate, data: None });
    let pattern = Pattern { template: Frame::classic(RawId(0x123), &[0, 0]).unwrap(), wire, ..pattern(1) };
    let series = measure(&mut Script::new(&[Forward(100_000)]), &pattern, |_| {}).unwrap();
    // 123#0000 has 67 bits including stuff bits and 3 bits of intermission: 64 µs at 1 Mbit/s without intermission.
    assert_eq!(latencies(&series), [Some(36_000)]);
}

#[test]
fn template_needs_room_for_the_number() {
    let mut short = pattern(1);
    short.template = Frame::classic(RawId(0x123), &[1]).unwrap();
    assert!(short.check().is_err());
    let mut remote = pattern(1);
    remote.template = Frame { id: RawId(0x4000_0123), ..remote.template };
    assert!(remote.check().is_err());
    assert_eq!(pattern(1).template.format, FrameFormat::Classic);
    assert!(pattern(1).check().is_ok());
}

#[test]
fn pauses_leave_time_for_the_leading_frame() {
    let gap = |shortest, longest| (Duration::from_micros(shortest), Duration::from_micros(longest));
    assert_eq!(Pattern { gap: gap(2, 1), ..pattern(1) }.check(), Err(PatternError::Gap));
    let short = Pattern { gap: gap(199, 500), ..pattern(1) };
    assert!(short.check().is_ok());
    let error = Pattern { origin: Origin::Timer, ..short }.check().unwrap_err();
    assert_eq!(error.to_string(), "With frames from a timer, --gap-min must be at least 200 us, for the leading frame");
}

#[test]
fn transmit_stamps_belong_to_their_frame() {
    let mut script = Script::new(&[Forward(100), Drop]);
    let series = measure(&mut script, &Pattern { inside: Stamps::On, ..pattern(2) }, |_| ()).unwrap();
    let inside = |sample: &Sample| (sample.inside.queued_ns, sample.inside.handed_ns);
    // The script's clock starts at 5000, and its stamps encode the position of the frame.
    assert_eq!(series.samples.iter().map(inside).collect::<Vec<_>>(), [(Some(-5_000), None), (Some(995_000), None)]);
    assert!(series.samples[0].inside.read_ns.is_some() && series.samples[1].inside.read_ns.is_none());
    let mut script = Script::new(&[Forward(100)]);
    let series = measure(&mut script, &pattern(1), |_| ()).unwrap();
    assert_eq!(series.samples[0].inside, Inside::default());
}

/// Starts elsewhere and runs a tenth faster, so that the difference is visible.
fn fast_clock(at: i64) -> i64 {
    9_000_000_000 + at + at / 10
}

#[test]
fn latencies_use_the_adapter_clock() {
    let behaviours = [Forward(300), Drop, Forward(1000)];
    let mut script = Script { adapter: Some(fast_clock), ..Script::new(&behaviours) };
    let pattern = Pattern { stamps: StampSource::Hardware, ..pattern(3) };
    let series = measure(&mut script, &pattern, |_| {}).unwrap();
    assert_eq!(latencies(&series), [Some(330), None, Some(1100)]);
    // The first stamp is placed at the kernel's; all others keep the adapter's distances.
    let by_kernel = run(&behaviours).samples;
    let monitored: Vec<_> = series.samples.iter().filter_map(|sample| sample.monitor_ns).collect();
    let by_kernel: Vec<_> = by_kernel.iter().filter_map(|sample| sample.monitor_ns).collect();
    let since_first = |stamps: &[i64]| stamps.iter().map(|at| at - stamps[0]).collect::<Vec<_>>();
    assert_eq!(monitored[0], by_kernel[0]);
    assert_ne!(since_first(&monitored), since_first(&by_kernel));
    assert_eq!(series.samples[1].disposition, Disposition::Lost);
}

/// Decisions during the measurement use the kernel's clock.
#[test]
fn timer_uses_the_kernel_clock() {
    let slow = [Forward(1_500_000), Forward(400)];
    let gap = Duration::from_millis(1);
    let pattern = Pattern { origin: Origin::Timer, gap: (gap, gap), stamps: StampSource::Hardware, ..pattern(5) };
    let mut script = Script { adapter: Some(fast_clock), ..Script::new(&slow.repeat(5)) };
    let series = measure(&mut script, &pattern, |_| {}).unwrap();
    assert_eq!((series.overlapped, series.late_or_duplicate), (1, 0));
    assert!(latencies(&series).iter().all(|latency| matches!(latency, Some(440 | 441))), "{:?}", latencies(&series));
}
