//! Frames that wait for room at a bus.

use super::send::Queued;

/// A queue with room for a fixed number of frames, made once.
#[derive(Debug)]
pub(super) struct Queue {
    /// The oldest is at `start`; behind the last place comes the first.
    places: Box<[Queued]>,
    start: usize,
    len: usize,
}

impl Queue {
    pub(super) fn new(room: usize) -> Self {
        Self { places: vec![Queued::EMPTY; room].into(), start: 0, len: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len == self.places.len()
    }

    /// Adds the youngest frame.
    ///
    /// # Panics
    /// If there is no room.
    pub(super) fn push(&mut self, queued: Queued) {
        assert!(!self.is_full(), "whoever pushes has made room");
        let end = self.place(self.len);
        self.places[end] = queued;
        self.len += 1;
    }

    /// The oldest frames: all that follow each other in memory.
    pub(super) fn oldest(&self) -> &[Queued] {
        let end = (self.start + self.len).min(self.places.len());
        &self.places[self.start..end]
    }

    /// Forgets the oldest frames.
    pub(super) fn forget(&mut self, count: usize) {
        let count = count.min(self.len);
        self.start = self.place(count);
        self.len -= count;
    }

    /// Changes all frames, and forgets those for which the answer is no.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Queued) -> bool) {
        for _ in 0..self.len {
            let mut queued = self.places[self.start];
            self.forget(1);
            if keep(&mut queued) {
                self.push(queued);
            }
        }
    }

    fn place(&self, position: usize) -> usize {
        (self.start + position) % self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    fn numbered(job: usize) -> Queued {
        let mut queued = Queued::EMPTY;
        queued.job = job;
        queued
    }

    proptest! {
        #[test]
        fn who_goes_leaves_the_rest_in_order(room in 1_usize..9, skip in 0_usize..9, keep in 1_usize..4) {
            let mut queue = Queue::new(room);
            (0..skip).for_each(|_| {
                queue.push(numbered(0));
                queue.forget(1);
            });
            (0..room).for_each(|number| queue.push(numbered(number)));
            queue.retain(|queued| {
                queued.job += 100;
                queued.job % keep == 0
            });
            let mut left = Vec::new();
            while let Some(queued) = queue.oldest().first() {
                left.push(queued.job);
                queue.forget(1);
            }
            prop_assert_eq!(left, (100..100 + room).filter(|job| job % keep == 0).collect::<Vec<_>>());
        }

        #[test]
        fn it_is_a_queue(room in 1_usize..9, steps in prop::collection::vec(prop::option::of(0_usize..5), 0..60)) {
            let (mut queue, mut model, mut next) = (Queue::new(room), VecDeque::new(), 0);
            for step in steps {
                match step {
                    None if !queue.is_full() => {
                        queue.push(numbered(next));
                        model.push_back(next);
                        next += 1;
                    }
                    None => prop_assert_eq!(model.len(), room),
                    Some(count) => {
                        let count = count.min(queue.oldest().len());
                        queue.forget(count);
                        model.drain(..count);
                    }
                }
                prop_assert_eq!(queue.is_empty(), model.is_empty());
                let oldest: Vec<_> = queue.oldest().iter().map(|queued| queued.job).collect();
                prop_assert!(model.iter().copied().take(oldest.len()).eq(oldest.iter().copied()));
                prop_assert_eq!(oldest.is_empty(), model.is_empty());
            }
        }
    }
}
