//! A queue in the order of arbitration, as a kind of queueing discipline.
//!
//! The kernel does not report the options of such a queue, and only root may read its maps. So they are its name: `arb`, the
//! frames that may wait, and then those of a socket after `s`, the age in milliseconds after `a`, and `r` if a newer frame
//! replaces an older one, for example `arb100s20r`.

use candor_bpf::queue::{MAX_FRAMES, Options};

/// Frames that may wait in one queue.
pub const MOST_FRAMES: u32 = MAX_FRAMES;

/// `IFNAMSIZ` with its zero, the room for a kind.
const NAME_BYTES: usize = 15;
const PREFIX: &str = "arb";
const NS_PER_MS: u64 = 1_000_000;

/// What one can say about a queue in the order of arbitration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Frames that may wait, 1 to [`MOST_FRAMES`].
    pub frames: u32,
    /// Frames of one socket that may wait. Frames that can-gw forwards have no socket.
    pub per_socket: Option<u32>,
    /// Frames that have waited longer are dropped.
    pub max_age_ms: Option<u32>,
    /// A frame takes the place of one that waits with the same identifier.
    pub replace_same_id: bool,
}

/// A queue in the order of arbitration, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arbitration {
    limits: Limits,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArbitrationError {
    #[error("A queue in the order of arbitration has 1 to {MOST_FRAMES} frames, and not {0}")]
    Frames(u32),
    #[error("A queue whose frames or sockets have a limit of 0 sends nothing")]
    Nothing,
    #[error("The numbers of a queue in the order of arbitration are too long for the kernel ({0}): write rounder ones")]
    TooLong(String),
}

impl Arbitration {
    /// # Errors
    /// [`ArbitrationError`].
    pub fn new(limits: Limits) -> Result<Self, ArbitrationError> {
        if !(1..=MOST_FRAMES).contains(&limits.frames) {
            return Err(ArbitrationError::Frames(limits.frames));
        }
        if limits.per_socket == Some(0) || limits.max_age_ms == Some(0) {
            return Err(ArbitrationError::Nothing);
        }
        let part = |letter: char, number: Option<u32>| number.map(|number| format!("{letter}{number}"));
        let [socket, age] = [part('s', limits.per_socket), part('a', limits.max_age_ms)].map(Option::unwrap_or_default);
        let replace = if limits.replace_same_id { "r" } else { "" };
        let name = format!("{PREFIX}{}{socket}{age}{replace}", limits.frames);
        if name.len() > NAME_BYTES { Err(ArbitrationError::TooLong(name)) } else { Ok(Self { limits, name }) }
    }

    /// The queue of this name; `None` if it is that of another kind.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(PREFIX)?;
        let (rest, replace_same_id) = rest.strip_suffix('r').map_or((rest, false), |rest| (rest, true));
        let number = |digits: &str| -> Option<u32> { digits.parse().ok() };
        let last = |rest, letter| match str::rsplit_once(rest, letter) {
            Some((rest, digits)) => Some((rest, Some(number(digits)?))),
            None => Some((rest, None)),
        };
        let (rest, max_age_ms) = last(rest, 'a')?;
        let (rest, per_socket) = last(rest, 's')?;
        let read = Self::new(Limits { frames: number(rest)?, per_socket, max_age_ms, replace_same_id }).ok()?;
        // Digits can be written in several ways.
        (read.name == name).then_some(read)
    }

    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// `TCA_KIND`, at most 15 bytes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name and what it means.
    #[must_use]
    pub fn words(&self) -> String {
        let Limits { per_socket, max_age_ms, replace_same_id, .. } = self.limits;
        let socket = per_socket.map(|frames| format!(", {frames} frames per socket")).unwrap_or_default();
        let age = max_age_ms.map(|ms| format!(", {ms} ms at most")).unwrap_or_default();
        let replace = if replace_same_id { ", newest of each identifier" } else { "" };
        format!("{} (order of arbitration{socket}{age}{replace})", self.name)
    }

    #[must_use]
    pub fn options(&self) -> Options {
        let Limits { frames, per_socket, max_age_ms, replace_same_id } = self.limits;
        let max_age_ns = max_age_ms.map(|age| u64::from(age) * NS_PER_MS);
        Options { limit: frames, limit_per_socket: per_socket, max_age_ns, replace_same_id }
    }
}

#[cfg(test)]
mod tests {
    use proptest::option::of;
    use proptest::prelude::*;

    use super::*;

    const PLAIN: Limits = Limits { frames: 100, per_socket: None, max_age_ms: None, replace_same_id: false };

    #[test]
    fn the_name_says_all() {
        let name = |limits| Arbitration::new(limits).unwrap().name().to_owned();
        assert_eq!(name(PLAIN), "arb100");
        let all = Limits { per_socket: Some(20), max_age_ms: Some(50), replace_same_id: true, ..PLAIN };
        assert_eq!(name(all), "arb100s20a50r");
        let words =
            "arb100s20a50r (order of arbitration, 20 frames per socket, 50 ms at most, newest of each identifier)";
        assert_eq!(Arbitration::new(all).unwrap().words(), words);
    }

    #[test]
    fn impossible_queues_are_refused() {
        let error = |limits| Arbitration::new(limits).unwrap_err();
        assert_eq!(error(Limits { frames: 0, ..PLAIN }), ArbitrationError::Frames(0));
        assert_eq!(error(Limits { per_socket: Some(0), ..PLAIN }), ArbitrationError::Nothing);
        let long = Limits { frames: 10_000, per_socket: Some(1234), max_age_ms: Some(1000), ..PLAIN };
        assert_eq!(error(long), ArbitrationError::TooLong("arb10000s1234a1000".to_owned()));
        for other in ["arb", "arb0", "arb010", "arb+10", "arb10s", "arb10a5s5", "arb10rr", "prio", "arb10x"] {
            assert_eq!(Arbitration::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn names_are_read_back(
            frames in 1..=MOST_FRAMES, per_socket in of(1_u32..99), max_age_ms in of(1_u32..99), replace_same_id: bool,
        ) {
            let limits = Limits { frames, per_socket, max_age_ms, replace_same_id };
            let arbitration = Arbitration::new(limits).unwrap();
            prop_assert_eq!(Arbitration::parse(arbitration.name()), Some(arbitration));
        }
    }
}
