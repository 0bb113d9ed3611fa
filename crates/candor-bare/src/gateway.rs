//! From interrupt to interrupt.

use alloc::collections::VecDeque;

use candor_core::job::{BusIndex, Job};
use candor_core::ruleset::{RuleSet, Visit};
use candor_sja1000::{FRAME_BYTES, Registers, Sja1000};

/// Frames that wait for a transmit buffer, per bus. As long as the queue of a Linux interface of a gateway under test.
const QUEUE_FRAMES: usize = 1000;

/// Numbers of frames since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Received from each bus.
    pub received: [u64; 2],
    /// Given to the controller of each bus.
    pub sent: [u64; 2],
    /// Deleted by rules, because their length became invalid.
    pub deleted: u64,
    /// Dropped because the queue was full, or because a job sends to a bus without a card.
    pub dropped: u64,
    /// Reports of each controller that its receive FIFO was full.
    pub overruns: [u64; 2],
    /// Times that a controller was connected again after bus-off.
    pub recoveries: u64,
}

impl Counters {
    /// Number of words of [`Counters::words`].
    pub const WORDS: usize = 9;

    /// All counters.
    #[must_use]
    #[inline]
    pub const fn words(&self) -> [u64; Self::WORDS] {
        let Self { received, sent, deleted, dropped, overruns, recoveries } = *self;
        [received[0], received[1], sent[0], sent[1], deleted, dropped, overruns[0], overruns[1], recoveries]
    }

    /// Counters from their words. `None` for another number of words.
    #[must_use]
    pub const fn of_words(words: &[u64]) -> Option<Self> {
        let &[received_0, received_1, sent_0, sent_1, deleted, dropped, overruns_0, overruns_1, recoveries] = words
        else {
            return None;
        };
        Some(Self {
            received: [received_0, received_1],
            sent: [sent_0, sent_1],
            deleted,
            dropped,
            overruns: [overruns_0, overruns_1],
            recoveries,
        })
    }
}

/// Two controllers and the rules between them.
#[derive(Debug)]
pub struct Gateway<R> {
    rules: RuleSet,
    ports: [Port<R>; 2],
    counters: Counters,
}

/// A controller, and frames that wait for its transmit buffer.
#[derive(Debug)]
struct Port<R> {
    card: Sja1000<R>,
    queue: VecDeque<[u8; FRAME_BYTES]>,
}

impl<R: Registers> Gateway<R> {
    /// A gateway with these jobs between the bus of the first and the bus of the second controller. Everything is allocated
    /// here.
    #[must_use]
    pub fn new(cards: [Sja1000<R>; 2], jobs: &[Job]) -> Self {
        let ports = cards.map(|card| Port { card, queue: VecDeque::with_capacity(QUEUE_FRAMES) });
        Self { rules: RuleSet::compile(jobs, ports.len()), ports, counters: Counters::default() }
    }

    /// Counters since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Handles everything that the controllers report, until none reports anything. `sent` is called after each command to
    /// transmit a frame that did not have to wait.
    #[inline]
    pub fn serve(&mut self, mut sent: impl FnMut()) {
        loop {
            let mut idle = true;
            for bus in 0..self.ports.len() {
                let events = self.ports[bus].card.interrupts();
                if events.is_empty() {
                    continue;
                }
                idle = false;
                if events.has_received() {
                    self.forward(bus, &mut sent);
                }
                if events.has_room() {
                    self.feed(bus);
                }
                if events.has_overrun() {
                    self.counters.overruns[bus] += 1;
                    self.ports[bus].card.clear_overrun();
                }
                if events.has_errors() {
                    self.check(bus);
                }
            }
            if idle {
                return;
            }
        }
    }

    /// Stops the controllers and returns their registers, if they answer.
    pub fn stop(self) -> [Option<R>; 2] {
        self.ports.map(|port| port.card.stop().ok())
    }

    #[inline]
    fn forward(&mut self, bus: usize, sent: &mut impl FnMut()) {
        let rules = self.rules.from_bus(BusIndex(bus));
        while let Some(frame) = self.ports[bus].card.receive() {
            self.counters.received[bus] += 1;
            rules.route(&frame, &mut Outlet { ports: &mut self.ports, counters: &mut self.counters, sent });
        }
    }

    /// Sends a waiting frame.
    #[inline]
    fn feed(&mut self, bus: usize) {
        let Port { card, queue } = &mut self.ports[bus];
        if !queue.is_empty()
            && card.has_room()
            && let Some(frame) = queue.pop_front()
        {
            card.send(&frame);
            self.counters.sent[bus] += 1;
        }
    }

    #[cold]
    fn check(&mut self, bus: usize) {
        if self.ports[bus].card.is_bus_off() && self.ports[bus].card.recover().is_ok() {
            self.counters.recoveries += 1;
            // The transmit buffer is free again, without an interrupt.
            self.feed(bus);
        }
    }
}

/// Sends the results of jobs.
struct Outlet<'a, R, F> {
    ports: &'a mut [Port<R>; 2],
    counters: &'a mut Counters,
    sent: &'a mut F,
}

impl<R: Registers, F: FnMut()> Outlet<'_, R, F> {
    #[inline]
    fn put(&mut self, bus: usize, frame: &[u8; FRAME_BYTES]) {
        let Some(Port { card, queue }) = self.ports.get_mut(bus) else {
            self.counters.dropped += 1;
            return;
        };
        if queue.is_empty() && card.has_room() {
            card.send(frame);
            self.counters.sent[bus] += 1;
            (self.sent)();
        } else if queue.len() < QUEUE_FRAMES {
            queue.push_back(*frame);
        } else {
            self.counters.dropped += 1;
        }
    }
}

impl<R: Registers, F: FnMut()> Visit for Outlet<'_, R, F> {
    #[inline]
    fn pass(&mut self, _job: usize, to: BusIndex, bytes: &[u8]) {
        if let Ok(frame) = bytes.try_into() {
            self.put(to.0, frame);
        }
    }

    fn send(&mut self, _job: usize, to: BusIndex, bytes: &[u8]) {
        match bytes.try_into() {
            Ok(classic) => self.put(to.0, classic),
            Err(_) => self.counters.dropped += 1,
        }
    }

    fn delete(&mut self, _job: usize) {
        self.counters.deleted += 1;
    }
}
