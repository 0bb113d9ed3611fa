//! What a queue must do, in simple code.

use super::Options;

/// A queue that holds something of each frame.
#[derive(Clone, Debug)]
pub struct Oracle<T> {
    options: Options,
    /// In the order in which they leave.
    waiting: Vec<Waiting<T>>,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    key: u32,
    /// Of the frame that took the place.
    socket: Option<u64>,
    arrival_ns: u64,
    frame: T,
}

/// What became of a frame that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival<T> {
    /// Dropped: the queue is full.
    Full,
    /// It replaced this frame.
    Replaced(T),
    /// Dropped: its socket has its share.
    Socket,
    Waits,
}

/// What a departure took out of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure<T> {
    /// Dropped because they had waited too long.
    pub expired: Vec<T>,
    /// `None` if none is left.
    pub frame: Option<T>,
}

impl<T> Oracle<T> {
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self { options, waiting: Vec::new() }
    }

    #[must_use]
    pub const fn len(&self) -> usize {
        self.waiting.len()
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A frame with this [`key`](super::key) comes.
    pub fn arrive(&mut self, key: u32, socket: Option<u64>, now_ns: u64, frame: T) -> Arrival<T> {
        if self.options.replace_same_id
            && let Some(same) = self.waiting.iter_mut().find(|waiting| waiting.key == key)
        {
            same.arrival_ns = now_ns;
            return Arrival::Replaced(std::mem::replace(&mut same.frame, frame));
        }
        if self.waiting.len() >= self.options.limit as usize {
            return Arrival::Full;
        }
        let own = self.waiting.iter().filter(|waiting| socket.is_some() && waiting.socket == socket).count();
        if self.options.limit_per_socket.is_some_and(|limit| own >= limit as usize) {
            return Arrival::Socket;
        }
        let place = self.waiting.partition_point(|waiting| waiting.key <= key);
        self.waiting.insert(place, Waiting { key, socket, arrival_ns: now_ns, frame });
        Arrival::Waits
    }

    /// All frames are lost, for example because the interface goes down.
    pub fn reset(&mut self) -> Vec<T> {
        self.waiting.drain(..).map(|waiting| waiting.frame).collect()
    }

    /// The controller has room for a frame.
    pub fn depart(&mut self, now_ns: u64) -> Departure<T> {
        let mut expired = Vec::new();
        while !self.waiting.is_empty() {
            let first = self.waiting.remove(0);
            if self.options.max_age_ns.is_none_or(|age| now_ns - first.arrival_ns <= age) {
                return Departure { expired, frame: Some(first.frame) };
            }
            expired.push(first.frame);
        }
        Departure { expired, frame: None }
    }
}
