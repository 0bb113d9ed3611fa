//! The newest values of signals for MQTT. A value is sent when it has changed, and at most once in an interval, so that a bus
//! with thousands of frames in a second is a few messages there.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The newest value of each topic.
#[derive(Debug)]
pub struct Board {
    interval: Duration,
    slots: BTreeMap<String, Slot>,
}

#[derive(Debug)]
struct Slot {
    newest: String,
    sent: Option<(Instant, String)>,
}

impl Board {
    /// Without values.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, slots: BTreeMap::new() }
    }

    /// A value of a topic.
    pub fn put(&mut self, topic: &str, value: String) {
        match self.slots.get_mut(topic) {
            Some(slot) => slot.newest = value,
            None => {
                self.slots.insert(topic.to_owned(), Slot { newest: value, sent: None });
            }
        }
    }

    /// Sends the values that have changed, if their interval is over. `send` says whether the value was taken; otherwise it is
    /// sent the next time.
    pub fn send_due(&mut self, now: Instant, mut send: impl FnMut(&str, &str) -> bool) {
        for (topic, slot) in &mut self.slots {
            let is_due = slot
                .sent
                .as_ref()
                .is_none_or(|(at, value)| *value != slot.newest && now.saturating_duration_since(*at) >= self.interval);
            if is_due && send(topic, &slot.newest) {
                slot.sent = Some((now, slot.newest.clone()));
            }
        }
    }

    /// A new connection: all values are sent again.
    pub fn forget_sent(&mut self) {
        self.slots.values_mut().for_each(|slot| slot.sent = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(board: &mut Board, now: Instant) -> Vec<(String, String)> {
        let mut sent = Vec::new();
        board.send_due(now, |topic, value| {
            sent.push((topic.to_owned(), value.to_owned()));
            true
        });
        sent
    }

    #[test]
    fn changes_are_sent_once_in_an_interval() {
        let mut board = Board::new(Duration::from_secs(1));
        let start = Instant::now();
        let at = |board: &mut Board, ms, value: &str| {
            board.put("speed", value.to_owned());
            due(board, start + Duration::from_millis(ms)).into_iter().map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(at(&mut board, 0, "1"), ["1"]);
        assert_eq!(at(&mut board, 500, "2"), [""; 0]);
        assert_eq!(at(&mut board, 600, "3"), [""; 0]);
        assert_eq!(at(&mut board, 1000, "3"), ["3"], "the newest, not those between");
        assert_eq!(at(&mut board, 9000, "3"), [""; 0], "it has not changed");
        board.forget_sent();
        assert_eq!(at(&mut board, 9001, "3"), ["3"]);
    }

    #[test]
    fn a_value_that_was_not_taken_is_sent_later() {
        let mut board = Board::new(Duration::from_secs(1));
        board.put("a", "1".to_owned());
        board.send_due(Instant::now(), |_, _| false);
        assert_eq!(due(&mut board, Instant::now()), [("a".to_owned(), "1".to_owned())]);
    }
}
