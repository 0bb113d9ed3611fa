//! Frames that wait for a batch.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Counts, Flush, Outgoing, QueueOptions, WhenFull};

/// A bounded queue with bands: a frame leaves only when no frame of a lower band waits.
///
/// Frames are numbered when they leave or are dropped, in the order of both, so that the peer can count those that were
/// dropped.
#[derive(Debug)]
pub struct Queue {
    /// At least one.
    bands: Vec<VecDeque<Waiting>>,
    len: usize,
    options: QueueOptions,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    outgoing: Outgoing,
    since: Duration,
}

impl Queue {
    pub(crate) fn new(options: &QueueOptions) -> Self {
        // One band has its room at once, several take theirs when they need it.
        let room = if options.bands < 2 { options.frames } else { 0 };
        let bands = (0..options.bands.max(1)).map(|_| VecDeque::with_capacity(room)).collect();
        Self { bands, len: 0, options: options.clone(), next: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Number of the frame that leaves next.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn push(&mut self, now: Duration, outgoing: Outgoing, counts: &mut Counts) {
        let own = usize::from(outgoing.band).min(self.bands.len() - 1);
        if self.len >= self.options.frames {
            counts.dropped_full += 1;
            // The last band with frames makes room, unless the frame is behind all of them.
            let last = self.bands.iter().rposition(|band| !band.is_empty()).filter(|last| *last >= own);
            let dropped = match (last, self.options.when_full) {
                (None, _) => None,
                (Some(last), WhenFull::DropNewest) if last == own => None,
                (Some(last), WhenFull::DropNewest) => self.bands[last].pop_back(),
                (Some(last), WhenFull::DropOldest) => self.bands[last].pop_front(),
            };
            self.next = self.next.wrapping_add(1);
            if dropped.is_none() {
                return;
            }
            self.len -= 1;
        }
        self.bands[own].push_back(Waiting { outgoing, since: now });
        self.len += 1;
    }

    pub(crate) fn front(&self) -> Option<&Outgoing> {
        self.bands.iter().find_map(|band| band.front()).map(|one| &one.outgoing)
    }

    /// Takes the next frame, and its number.
    pub(crate) fn pop(&mut self) -> Option<(u64, Outgoing)> {
        let one = self.bands.iter_mut().find_map(VecDeque::pop_front)?;
        self.len -= 1;
        let number = self.next;
        self.next = number.wrapping_add(1);
        Some((number, one.outgoing))
    }

    /// Drops frames that are too old.
    pub(crate) fn expire(&mut self, now: Duration, counts: &mut Counts) {
        let Some(age) = self.options.max_age else { return };
        for band in &mut self.bands {
            while band.front().is_some_and(|one| one.since.saturating_add(age) < now) {
                band.pop_front();
                self.len -= 1;
                self.next = self.next.wrapping_add(1);
                counts.dropped_old += 1;
            }
        }
    }

    /// The first time at which a frame is too old.
    pub(crate) fn expires(&self) -> Option<Duration> {
        let age = self.options.max_age?.saturating_add(Duration::from_nanos(1));
        Some(self.oldest()?.saturating_add(age))
    }

    /// When the frames should leave: one has waited long enough, or there are enough of them.
    pub(crate) fn flush_at(&self, flush: &Flush) -> Option<Duration> {
        let oldest = self.oldest()?;
        Some(if self.len >= flush.frames { oldest } else { oldest.saturating_add(flush.delay) })
    }

    fn oldest(&self) -> Option<Duration> {
        self.bands.iter().filter_map(|band| Some(band.front()?.since)).min()
    }
}

#[cfg(test)]
mod tests {
    use candor_core::frame::Frame;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Expire { ms: u64 },
        Pop,
        Push { band: u8 },
    }

    /// A frame of the oracle: its number, its band and the time of its arrival.
    type Item = (usize, u8, u64);

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            1 => (0..30_u64).prop_map(|ms| Step::Expire { ms }),
            3 => Just(Step::Pop),
            5 => (0..5_u8).prop_map(|band| Step::Push { band }),
        ]
    }

    fn outgoing(number: usize, band: u8) -> Outgoing {
        Outgoing { band, bus: number, ..Outgoing::local(0, Frame::EMPTY, None) }
    }

    proptest! {
        /// The oracle keeps one list in the order of arrival and searches it.
        #[test]
        fn frames_leave_and_drop_as_the_oracle_says(
            steps in vec(step(), 0..80),
            frames in 0..6_usize,
            bands in 0..4_u8,
            when_full in select([WhenFull::DropNewest, WhenFull::DropOldest].as_slice()),
        ) {
            let options = QueueOptions { frames, bands, when_full, max_age: Some(Duration::from_millis(20)) };
            let (mut queue, mut counts) = (Queue::new(&options), Counts::default());
            let (mut list, mut gone, mut old, mut full, mut now): (Vec<Item>, u64, u64, u64, u64) = Default::default();
            for (number, step) in steps.iter().enumerate() {
                match *step {
                    Step::Expire { ms } => {
                        now += ms;
                        let before = list.len();
                        list.retain(|(_, _, since)| now - since <= 20);
                        let dropped = (before - list.len()) as u64;
                        (old, gone) = (old + dropped, gone + dropped);
                        queue.expire(Duration::from_millis(now), &mut counts);
                    }
                    Step::Pop => {
                        let first = list.iter().map(|(_, band, _)| *band).min();
                        let found = first.and_then(|first| list.iter().position(|(_, band, _)| *band == first));
                        let expected = found.map(|at| (gone, list.remove(at).0));
                        gone += u64::from(found.is_some());
                        prop_assert_eq!(queue.pop().map(|(number, one)| (number, one.bus)), expected);
                    }
                    Step::Push { band } => {
                        queue.push(Duration::from_millis(now), outgoing(number, band), &mut counts);
                        list.push((number, band.min(bands.max(1) - 1), now));
                        if list.len() > frames {
                            let last = list.iter().map(|(_, band, _)| *band).max().unwrap();
                            let is_last = |(_, band, _): &Item| *band == last;
                            let at = match when_full {
                                WhenFull::DropNewest => list.iter().rposition(is_last),
                                WhenFull::DropOldest => list.iter().position(is_last),
                            };
                            list.remove(at.unwrap());
                            (full, gone) = (full + 1, gone + 1);
                        }
                    }
                }
                prop_assert_eq!((queue.len(), queue.next()), (list.len(), gone));
                prop_assert_eq!((counts.dropped_old, counts.dropped_full), (old, full));
                let oldest = list.iter().map(|(_, _, since)| Duration::from_millis(*since)).min();
                prop_assert_eq!(queue.oldest(), oldest);
            }
        }
    }
}
