//! The queue of frames to a bus.

use super::queued::Queued;

/// A ring buffer of fixed capacity, allocated once.
#[derive(Debug)]
pub(super) struct Queue {
    /// A power of two; the oldest is at `start`.
    places: Box<[Queued]>,
    start: usize,
    len: usize,
}

impl Queue {
    /// # Panics
    /// If the capacity is not a power of two.
    pub(super) fn new(room: usize) -> Self {
        assert!(room.is_power_of_two(), "a place is found by its lowest bits");
        Self { places: vec![Queued::EMPTY; room].into(), start: 0, len: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len == self.places.len()
    }

    /// The slot of the next frame, which [`push_next`](Self::push_next) appends.
    ///
    /// The queue must not be full.
    pub(super) fn next(&mut self) -> &mut Queued {
        debug_assert!(!self.is_full(), "the queue has room");
        let end = self.place(self.len);
        &mut self.places[end]
    }

    /// Appends the frame written to [`next`](Self::next).
    ///
    /// The queue must not be full.
    pub(super) fn push_next(&mut self) {
        debug_assert!(!self.is_full(), "the queue has room");
        self.len += 1;
    }

    /// The oldest frames, as far as they are contiguous in memory.
    pub(super) fn oldest(&self) -> &[Queued] {
        let end = (self.start + self.len).min(self.places.len());
        &self.places[self.start..end]
    }

    pub(super) fn forget(&mut self, count: usize) {
        let count = count.min(self.len);
        self.len -= count;
        // An empty queue restarts at 0, so that the next frames are contiguous and can be sent with one call.
        self.start = if self.len == 0 { 0 } else { self.place(count) };
    }

    /// Modifies all frames, and removes those for which `keep` returns false.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Queued) -> bool) {
        for _ in 0..self.len {
            let mut queued = self.places[self.start];
            self.forget(1);
            if keep(&mut queued) {
                *self.next() = queued;
                self.push_next();
            }
        }
    }

    fn place(&self, position: usize) -> usize {
        (self.start + position) & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    fn push(queue: &mut Queue, job: usize) {
        queue.next().job = job;
        queue.push_next();
    }

    fn room() -> impl Strategy<Value = usize> {
        prop::sample::select(vec![1, 2, 4, 8])
    }

    proptest! {
        #[test]
        fn who_goes_leaves_the_rest_in_order(room in room(), skip in 0_usize..9, keep in 1_usize..4) {
            let mut queue = Queue::new(room);
            (0..skip).for_each(|_| {
                push(&mut queue, 0);
                queue.forget(1);
            });
            (0..room).for_each(|number| push(&mut queue, number));
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
        fn frames_in_an_empty_queue_follow_each_other(room in room(), before in 0_usize..9) {
            let mut queue = Queue::new(room);
            (0..before.min(room)).for_each(|number| push(&mut queue, number));
            queue.forget(before);
            (0..room).for_each(|number| push(&mut queue, number));
            prop_assert_eq!(queue.oldest().len(), room);
        }

        #[test]
        fn it_is_a_queue(room in room(), steps in prop::collection::vec(prop::option::of(0_usize..5), 0..60)) {
            let (mut queue, mut model, mut next) = (Queue::new(room), VecDeque::new(), 0);
            for step in steps {
                match step {
                    None if !queue.is_full() => {
                        push(&mut queue, next);
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
