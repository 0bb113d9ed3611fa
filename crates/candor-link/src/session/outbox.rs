//! Bytes that wait for the socket.

use std::time::Duration;

/// Bytes for the peer, and how many frames are in them.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    written: usize,
    frames: u64,
    /// When the first of them came, or the socket took the last.
    since: Duration,
}

impl Outbox {
    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) const fn frames(&self) -> u64 {
        self.frames
    }

    pub(crate) const fn since(&self) -> Duration {
        self.since
    }

    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// The buffer, to append to it.
    pub(crate) fn bytes(&mut self, now: Duration) -> &mut Vec<u8> {
        if self.is_empty() {
            self.since = now;
        }
        &mut self.bytes
    }

    pub(crate) const fn add_frame(&mut self) {
        self.frames += 1;
    }

    /// Returns the number of frames that are gone now.
    pub(crate) fn written(&mut self, now: Duration, bytes: usize) -> u64 {
        if bytes == 0 {
            return 0;
        }
        self.since = now;
        self.written += bytes;
        if self.written < self.bytes.len() {
            return 0;
        }
        self.clear()
    }

    /// Returns the number of frames that were in it.
    pub(crate) fn clear(&mut self) -> u64 {
        self.bytes.clear();
        self.written = 0;
        std::mem::take(&mut self.frames)
    }
}
