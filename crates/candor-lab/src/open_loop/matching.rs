//! Matches frames that arrived with frames that were sent.

use std::collections::{HashMap, VecDeque};

use candor_core::frame::Frame;
use candor_io::clock::AdapterNs;

use super::{Expected, Frames, Pattern, Series};
use crate::record::{Disposition, Inside, Sample};
use crate::tester::{TimeLine, tag_of, tag_of_number, wire_ns};

/// Everything that happened, each kind in order.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) start_realtime_ns: i64,
    pub(super) sent: Vec<Sent>,
    pub(super) monitored: Vec<Passed>,
    pub(super) arrived: Vec<Passed>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) due_ns: i64,
    pub(super) sent_ns: i64,
    /// True if the interface had room for it.
    pub(super) is_taken: bool,
    pub(super) inside: Inside,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) frame: Frame,
    /// Kernel stamp. Used for matching, because it has the clock of sending.
    pub(super) at_ns: i64,
    /// Adapter stamp, if the samples are to have it.
    pub(super) adapter: Option<AdapterNs>,
}

/// Positions of frames that look alike, oldest first.
type Queues<K> = HashMap<K, VecDeque<usize>>;

impl Events {
    pub(super) fn with_room_for(frames: usize) -> Self {
        Self {
            start_realtime_ns: 0,
            sent: Vec::with_capacity(frames),
            monitored: Vec::with_capacity(frames),
            arrived: Vec::with_capacity(frames),
        }
    }

    pub(super) fn passed(&self) -> usize {
        self.monitored.len() + self.arrived.len()
    }
}

/// Key that identifies a frame before a gateway has changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Look {
    Bytes(Frame),
    Tag(u16),
}

impl Look {
    fn of(frame: &Frame, pattern: &Pattern) -> Option<Self> {
        match pattern.frames {
            Frames::Given(_) => Some(Self::Bytes(*frame)),
            Frames::Numbered(_) => tag_of(frame).map(Self::Tag),
        }
    }
}

/// Result of each frame. With `expected`, arriving frames are matched by all of their bytes, so a gateway may even
/// change the number; without it by the number alone, or unchanged if they have none.
pub(super) fn series(pattern: &Pattern, events: &Events, expected: Option<Expected<'_>>) -> Series {
    let mut as_sent: Queues<Look> = HashMap::new();
    let mut on_first: Queues<Look> = HashMap::new();
    let mut by_bytes: Queues<Frame> = HashMap::new();
    let mut is_let_through = vec![true; events.sent.len()];
    for (index, _) in events.sent.iter().enumerate().filter(|(_, sent)| sent.is_taken) {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let frame = pattern.frame(number);
        if let Some(look) = Look::of(&frame, pattern) {
            on_first.entry(look).or_default().push_back(index);
            as_sent.entry(look).or_default().push_back(index);
        }
        match expected.map(|expected| expected(&frame)) {
            Some(Some(out)) => by_bytes.entry(out).or_default().push_back(index),
            Some(None) => is_let_through[index] = false,
            None => {}
        }
    }
    let mut line = TimeLine::default();
    let mut monitored: Vec<Option<i64>> = vec![None; events.sent.len()];
    for Passed { frame, at_ns, adapter } in &events.monitored {
        if let Some(index) =
            Look::of(frame, pattern).and_then(|look| take(&mut on_first, &look, events, *at_ns, pattern))
        {
            monitored[index] = Some(line.place(*at_ns, *adapter));
        }
    }
    let mut arrived: Vec<Option<Arrival>> = vec![None; events.sent.len()];
    let (mut youngest, mut doubled, mut strange) = (None, 0, 0);
    for passed in &events.arrived {
        let look = Look::of(&passed.frame, pattern);
        let as_expected = take(&mut by_bytes, &passed.frame, events, passed.at_ns, pattern);
        let is_altered = expected.is_some() && as_expected.is_none();
        let by_look = || look.and_then(|look| take(&mut as_sent, &look, events, passed.at_ns, pattern));
        let found = as_expected.or_else(by_look).filter(|index| arrived[*index].is_none());
        let Some(index) = found else {
            let is_known = match look {
                Some(Look::Bytes(frame)) => as_sent.contains_key(&Look::Bytes(frame)) || by_bytes.contains_key(&frame),
                Some(Look::Tag(tag)) => usize::from(tag) < events.sent.len(),
                None => false,
            };
            *(if is_known { &mut doubled } else { &mut strange }) += 1;
            continue;
        };
        let is_overtaken = youngest.is_some_and(|youngest| index < youngest);
        youngest = youngest.max(Some(index));
        let is_late = is_past(pattern, &events.sent[index], passed.at_ns);
        let far_ns = line.place(passed.at_ns, passed.adapter);
        arrived[index] = Some(Arrival { far_ns, frame: passed.frame, is_altered, is_late, is_overtaken });
    }
    let sample = |index: usize| {
        let (sent, monitor_ns, arrival) = (&events.sent[index], monitored[index], arrived[index]);
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        Sample {
            sequence: number.saturating_sub(pattern.warm_up),
            tag: tag_of_number(number),
            due_ns: sent.due_ns,
            sent_ns: sent.sent_ns,
            monitor_ns,
            far_ns: arrival.map(|arrival| arrival.far_ns),
            inside: sent.inside,
            wire_ns: arrival.map_or(0, |arrival| wire_ns(pattern.wire, &arrival.frame)),
            disposition: disposition(sent, monitor_ns, arrival, is_let_through[index]),
        }
    };
    let samples = (pattern.warm_up as usize..events.sent.len()).map(sample).collect();
    Series { samples, doubled, strange, start_realtime_ns: events.start_realtime_ns }
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    far_ns: i64,
    frame: Frame,
    is_altered: bool,
    is_late: bool,
    is_overtaken: bool,
}

fn disposition(sent: &Sent, monitor_ns: Option<i64>, arrival: Option<Arrival>, is_let_through: bool) -> Disposition {
    match arrival {
        _ if !sent.is_taken => Disposition::Refused,
        None if monitor_ns.is_some() && !is_let_through => Disposition::Filtered,
        None => Disposition::of_stamps(monitor_ns, None),
        Some(arrival) if arrival.is_altered => Disposition::Altered,
        Some(arrival) if arrival.is_late => Disposition::Late,
        Some(arrival) if arrival.is_overtaken => Disposition::Reordered,
        Some(_) => Disposition::Ok,
    }
}

fn is_past(pattern: &Pattern, sent: &Sent, at_ns: i64) -> bool {
    u64::try_from(at_ns - sent.sent_ns).is_ok_and(|age| u128::from(age) > pattern.lost_after.as_nanos())
}

/// The oldest matching frame sent before this time. Numbers repeat after 65 536 frames: an expired one is skipped if a
/// younger one matches.
fn take<K: std::hash::Hash + Eq>(
    queues: &mut Queues<K>,
    look: &K,
    events: &Events,
    at_ns: i64,
    pattern: &Pattern,
) -> Option<usize> {
    let queue = queues.get_mut(look)?;
    let was_sent = |index: &usize| events.sent[*index].sent_ns <= at_ns;
    while queue.len() > 1 && is_past(pattern, &events.sent[queue[0]], at_ns) && queue.get(1).is_some_and(was_sent) {
        queue.pop_front();
    }
    queue.front().copied().filter(was_sent)?;
    queue.pop_front()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use Disposition::{Altered, Filtered, Late, Lost, Refused, Reordered, Unseen};

    const PERIOD: i64 = 1000;

    fn pattern(frames: u32) -> Pattern {
        Pattern {
            frames: Frames::Numbered("123#00001122".parse().unwrap()),
            moments: (0..u64::from(frames)).map(|number| number * 1000).collect(),
            warm_up: 0,
            lost_after: Duration::from_micros(100),
            wire: None,
        }
    }

    /// A gateway of 400 ns that changes the last byte.
    fn changed(frame: &Frame) -> Option<Frame> {
        let mut out = *frame;
        out.data[3] = 0x99;
        Some(out)
    }

    fn events(pattern: &Pattern) -> Events {
        let mut events = Events::default();
        for number in 0..u32::try_from(pattern.moments.len()).unwrap() {
            let due_ns = i64::from(number) * PERIOD;
            events.sent.push(Sent { due_ns, sent_ns: due_ns + 5, is_taken: true, inside: Inside::default() });
            events.monitored.push(Passed { frame: pattern.frame(number), at_ns: due_ns + 10, adapter: None });
            let frame = changed(&pattern.frame(number)).unwrap();
            events.arrived.push(Passed { frame, at_ns: due_ns + 410, adapter: None });
        }
        events
    }

    fn dispositions(pattern: &Pattern, events: &Events) -> (Vec<Disposition>, u32, u32) {
        let series = series(pattern, events, Some(&changed));
        (series.samples.iter().map(|sample| sample.disposition).collect(), series.doubled, series.strange)
    }

    #[test]
    fn forwarded_frames_are_ok_and_have_a_latency() {
        let pattern = pattern(5);
        let series = series(&pattern, &events(&pattern), Some(&changed));
        assert!(series.samples.iter().all(|sample| sample.disposition == Disposition::Ok));
        assert!(series.samples.iter().all(|sample| sample.latency().is_some_and(|latency| latency.0 == 400)));
        let warm = Pattern { warm_up: 2, ..pattern.clone() };
        let samples = super::series(&warm, &events(&pattern), None).samples;
        assert_eq!(samples.iter().map(|sample| sample.sequence).collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// Matching uses the kernel's clock: the adapter's may lag until stamps are earlier than sending.
    #[test]
    fn adapter_stamps_give_latencies_and_kernel_stamps_dispositions() {
        let pattern = pattern(8);
        let mut all = events(&pattern);
        all.arrived[6].at_ns += 200_000;
        let clock = |at_ns: i64| Some(AdapterNs(7_000_000_000 + at_ns / 2));
        for passed in all.monitored.iter_mut().chain(&mut all.arrived) {
            passed.adapter = clock(passed.at_ns);
        }
        let samples = series(&pattern, &all, Some(&changed)).samples;
        let latencies: Vec<_> = samples.iter().filter_map(|sample| sample.latency()).map(|latency| latency.0).collect();
        assert_eq!(latencies, [200, 200, 200, 200, 200, 200, 100_200, 200]);
        let monitored: Vec<_> = samples.iter().filter_map(|sample| sample.monitor_ns).collect();
        assert_eq!(monitored, [10, 510, 1010, 1510, 2010, 2510, 3010, 3510]);
        assert!(monitored[7] < samples[7].sent_ns);
        let late = samples.iter().filter(|sample| sample.disposition != Disposition::Ok);
        assert_eq!(late.map(|sample| (sample.sequence, sample.disposition)).collect::<Vec<_>>(), [(6, Late)]);
    }

    #[test]
    fn every_frame_has_one_disposition() {
        let pattern = pattern(8);
        let mut all = events(&pattern);
        all.sent[0].is_taken = false;
        all.monitored.remove(0);
        all.arrived.remove(0);
        // 1 unseen, 2 lost, 3 altered, 4 after 5, 6 late, 7 twice, and an unknown frame.
        all.monitored.remove(0);
        all.arrived.drain(..2);
        all.arrived[0].frame = pattern.frame(3);
        all.arrived.swap(1, 2);
        all.arrived[3].at_ns += 200_000;
        let twice = all.arrived[4];
        all.arrived.push(twice);
        all.arrived.push(Passed { frame: "7FF#FFFF".parse().unwrap(), at_ns: 300_000, adapter: None });
        let (dispositions, doubled, strange) = dispositions(&pattern, &all);
        assert_eq!(dispositions, [Refused, Unseen, Lost, Altered, Reordered, Disposition::Ok, Late, Disposition::Ok]);
        assert_eq!((doubled, strange), (1, 1));
    }

    #[test]
    fn gateway_may_overwrite_the_number() {
        let pattern = pattern(4);
        let wiped = |_: &Frame| "123#DEADBEEF".parse::<Frame>().ok();
        let mut all = events(&pattern);
        for passed in &mut all.arrived {
            passed.frame = "123#DEADBEEF".parse().unwrap();
        }
        let series = series(&pattern, &all, Some(&wiped));
        assert!(series.samples.iter().all(|sample| sample.disposition == Disposition::Ok));
    }

    /// A log: frames without numbers, two of them equal, and two that the rules do not forward.
    fn replayed() -> Pattern {
        let frames = ["100#11", "200#", "100#11", "300#22334455", "200#01"].map(|frame| frame.parse().unwrap());
        Pattern { frames: Frames::Given(frames.into()), ..pattern(5) }
    }

    /// Does not forward 200, and changes the other identifiers.
    fn moved(frame: &Frame) -> Option<Frame> {
        let mut out = *frame;
        out.id.0 += 0x400;
        (frame.id.0 != 0x200).then_some(out)
    }

    fn replayed_events(pattern: &Pattern) -> Events {
        let mut events = events(pattern);
        events.arrived.clear();
        for Passed { frame, at_ns, .. } in &events.monitored {
            events.arrived.extend(moved(frame).map(|frame| Passed { frame, at_ns: at_ns + 400, adapter: None }));
        }
        events
    }

    #[test]
    fn frames_of_a_log_are_matched_by_their_bytes_and_the_rules() {
        let pattern = replayed();
        let mut all = replayed_events(&pattern);
        let results = |all: &Events| {
            let series = series(&pattern, all, Some(&moved));
            (series.samples.iter().map(|sample| sample.disposition).collect::<Vec<_>>(), series.doubled, series.strange)
        };
        let usual = [Disposition::Ok, Filtered, Disposition::Ok, Disposition::Ok, Filtered];
        assert_eq!(results(&all), (usual.into(), 0, 0));
        let latencies = series(&pattern, &all, Some(&moved)).samples;
        assert!(latencies.iter().filter_map(Sample::latency).all(|latency| latency.0 == 400));
        // A filtered frame arrives unchanged, one arrives twice, one is lost, and an unknown one arrives.
        all.arrived[2] = Passed { frame: pattern.frame(4), at_ns: 4_900, adapter: None };
        let twice = Passed { at_ns: 4_950, ..all.arrived[0] };
        all.arrived.extend([twice, Passed { frame: "7FF#".parse().unwrap(), at_ns: 4_960, adapter: None }]);
        let dispositions = [Disposition::Ok, Filtered, Disposition::Ok, Lost, Altered];
        assert_eq!(results(&all), (dispositions.into(), 1, 1));
        // A frame that never reached the first bus was not filtered.
        all.monitored.remove(1);
        assert_eq!(results(&all).0[1], Unseen);
    }

    #[test]
    fn black_box_is_expected_to_change_nothing() {
        let pattern = replayed();
        let mut all = replayed_events(&pattern);
        all.arrived.clear();
        all.arrived.extend(all.monitored.iter().map(|passed| Passed { at_ns: passed.at_ns + 100, ..*passed }));
        all.arrived.remove(1);
        let dispositions: Vec<_> =
            series(&pattern, &all, None).samples.iter().map(|sample| sample.disposition).collect();
        assert_eq!(dispositions, [Disposition::Ok, Lost, Disposition::Ok, Disposition::Ok, Disposition::Ok]);
    }

    #[test]
    fn numbers_repeat_after_65536_frames() {
        let pattern = pattern(65_536 + 10);
        let mut all = events(&pattern);
        // The first frame is lost; 65 536 later there is another with its number.
        all.arrived.remove(0);
        let (dispositions, doubled, strange) = dispositions(&pattern, &all);
        assert_eq!(dispositions.iter().filter(|disposition| **disposition == Disposition::Ok).count(), 65_545);
        assert_eq!((dispositions[0], doubled, strange), (Lost, 0, 0));
    }
}
