//! Which frames of the network reach a bus: those of the allow-list, within its rates. Everything else is refused.

use candor_core::frame::{Frame, RawId};
use candor_core::ids::IdRange;
use candor_core::job::{Compute as _, RealtimeNs, Seen};
use candor_core::rule::Verdict;
use candor_guard::{Limits, OnViolation, Pace, Rate, States};

use crate::payload;

/// An entry of the allow-list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The bus.
    pub bus: String,
    /// Identifiers of data frames.
    pub ids: Vec<IdRange>,
    /// All frames of the entry together.
    pub rate: Rate,
}

/// Why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The interface took no more, or is not there.
    BusFull,
    /// No frame, no identifier in the key, or another one than in the key.
    Malformed,
    /// No entry has this bus and identifier; also for remote frames.
    NotAllowed,
    /// More frames than the rate of the entry.
    Rate,
}

impl Refusal {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 4] = [Self::BusFull, Self::Malformed, Self::NotAllowed, Self::Rate];

    /// Its name in counters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BusFull => "bus-full",
            Self::Malformed => "malformed",
            Self::NotAllowed => "not-allowed",
            Self::Rate => "rate",
        }
    }
}

/// The allow-list with its rates.
#[derive(Debug)]
pub struct Admission {
    entries: Vec<(Allowed, Pace)>,
}

impl Admission {
    /// All rates have their full bursts.
    #[must_use]
    pub fn new(entries: &[Allowed]) -> Self {
        let pace = |one: &Allowed| {
            let limits = Limits { rate: Some(one.rate), ..Limits::default() };
            (one.clone(), Pace::new(limits, States::One, OnViolation::Drop))
        };
        Self { entries: entries.iter().map(pace).collect() }
    }

    /// The frame of this payload for a bus, whose key has this identifier, at a time that never goes back.
    ///
    /// # Errors
    /// Why it is refused. A refused frame uses up nothing of a rate.
    pub fn admit(&self, bus: &str, id: RawId, bytes: &[u8], now_ns: i64) -> Result<Frame, Refusal> {
        let Some((_, pace)) = self.entries.iter().find(|(one, _)| one.bus == bus && one.has(id)) else {
            return Err(Refusal::NotAllowed);
        };
        let mut frame = payload::decode(bytes).map_err(|_no_frame| Refusal::Malformed)?.frame;
        if frame.id.is_rtr() {
            return Err(Refusal::NotAllowed);
        }
        if frame.id != id {
            return Err(Refusal::Malformed);
        }
        match pace.change(Seen { id, at: RealtimeNs(now_ns.max(1)) }, frame.payload_mut()) {
            Verdict::Delete => Err(Refusal::Rate),
            _ => Ok(frame),
        }
    }
}

impl Allowed {
    fn has(&self, id: RawId) -> bool {
        self.ids.iter().any(|range| range.is_extended == id.is_eff() && (range.first..=range.last).contains(&id.bits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{Sent, encode};

    fn admission() -> Admission {
        let entry = |range, per_second| Allowed {
            bus: "front".into(),
            ids: vec![IdRange::parse(range).unwrap()],
            rate: Rate::frames(per_second, 2).unwrap(),
        };
        Admission::new(&[entry("100..1FF", 10), entry("00000100..000001FF", 1000)])
    }

    fn bytes(text: &str) -> (RawId, Vec<u8>) {
        let frame: Frame = text.parse().unwrap();
        (frame.id, encode(&Sent { stamp_ns: 0, number: 0, frame }))
    }

    fn admit(admission: &Admission, bus: &str, text: &str, ms: i64) -> Result<(), Refusal> {
        let (id, bytes) = bytes(text);
        admission.admit(bus, id, &bytes, ms * 1_000_000).map(|frame| assert_eq!(frame, text.parse().unwrap()))
    }

    #[test]
    fn only_the_list_passes() {
        let admission = admission();
        assert_eq!(admit(&admission, "front", "100#11", 0), Ok(()));
        assert_eq!(admit(&admission, "front", "1FF##111", 0), Ok(()));
        assert_eq!(admit(&admission, "front", "00000100#", 0), Ok(()));
        for (bus, text) in [("rear", "100#11"), ("front", "200#11"), ("front", "00000200#"), ("front", "100#R")] {
            assert_eq!(admit(&admission, bus, text, 1000), Err(Refusal::NotAllowed), "{bus} {text}");
        }
    }

    #[test]
    fn the_rate_is_that_of_the_entry() {
        let admission = admission();
        let at = [0, 0, 0, 99, 101, 102, 1000].map(|ms| admit(&admission, "front", "123#", ms));
        let (yes, no) = (Ok(()), Err(Refusal::Rate));
        assert_eq!(at, [yes, yes, no, no, yes, no, yes]);
        assert_eq!(admit(&admission, "front", "00000123#", 102), Ok(()), "another entry");
    }

    #[test]
    fn bytes_and_key_must_agree() {
        let admission = admission();
        let (_, other) = bytes("101#11");
        assert_eq!(admission.admit("front", RawId(0x100), &other, 0), Err(Refusal::Malformed));
        assert_eq!(admission.admit("front", RawId(0x100), b"100#11", 0), Err(Refusal::Malformed));
        assert_eq!(admit(&admission, "front", "100#11", 0), Ok(()));
        assert_eq!(admit(&admission, "front", "100#11", 0), Ok(()), "refused frames used no token");
    }
}
