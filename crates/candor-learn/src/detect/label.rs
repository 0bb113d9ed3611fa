//! The labels of the data set ROAD.

use crate::traffic::Recorded;

/// Which frames of a capture are those of the attacker, as `capture_metadata.json` says it.
///
/// # Source
/// ROAD: <https://zenodo.org/records/10462796>; Verma et al., <https://doi.org/10.1371/journal.pone.0296879>
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// `injection_interval`, in ns after the first frame of the capture.
    pub interval_ns: (u64, u64),
    /// `injection_id`; `None` for `XXX`: any.
    pub id: Option<u32>,
    /// `injection_data_str` in half bytes; `None` for `X`: any. Empty: any payload.
    pub digits: Vec<Option<u8>>,
}

/// Why a label cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Not two times in seconds, the first before the second.
    #[error("injection_interval must be two times in seconds, such as [9.19, 30.05]")]
    Interval,
    /// Not an identifier in hex.
    #[error("injection_id {0:?} is neither hexadecimal, such as 0x6e0, nor XXX")]
    Id(String),
    /// A character that is neither a hexadecimal digit nor X.
    #[error("injection_data_str {0:?} has more than hexadecimal digits and X")]
    Data(String),
}

impl Label {
    /// Reads the values of a capture. Without data, any payload is meant.
    ///
    /// # Errors
    /// [`LabelError`] names the value.
    pub fn new(interval_s: [f64; 2], id: &str, data: Option<&str>) -> Result<Self, LabelError> {
        let [from, to] = interval_s;
        if !(from >= 0.0 && to >= from && to < 1e9) {
            return Err(LabelError::Interval);
        }
        // Times of logs are in microseconds.
        let ns = |seconds: f64| std::time::Duration::from_secs_f64(seconds).as_micros().saturating_mul(1000);
        let ns = |seconds: f64| u64::try_from(ns(seconds)).unwrap_or(u64::MAX);
        let number = id.trim().trim_start_matches("0x").trim_start_matches("0X");
        let id = match number.chars().all(|one| one.eq_ignore_ascii_case(&'X')) && !number.is_empty() {
            true => None,
            false => match u32::from_str_radix(number, 16) {
                Ok(number) if number <= 0x7FF => Some(number),
                Ok(number) if number < crate::EXTENDED => Some(number | crate::EXTENDED),
                _ => return Err(LabelError::Id(id.to_owned())),
            },
        };
        let text = data.unwrap_or_default();
        let digit = |one: char| match one {
            'x' | 'X' => Ok(None),
            _ => match one.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) {
                Some(digit) => Ok(Some(digit)),
                None => Err(LabelError::Data(text.to_owned())),
            },
        };
        let digits = text.chars().filter(|one| !one.is_whitespace()).map(digit).collect::<Result<_, _>>()?;
        Ok(Self { interval_ns: (ns(from), ns(to)), id, digits })
    }

    /// True for a frame of the attacker. `start_ns` is the time of the first frame of the capture.
    #[must_use]
    pub fn is_attack(&self, frame: &Recorded, start_ns: u64) -> bool {
        let (from, to) = self.interval_ns;
        let is_within = (from..=to).contains(&frame.at_ns.saturating_sub(start_ns));
        is_within && self.id.is_none_or(|id| id == frame.id) && self.has_data(&frame.payload)
    }

    fn has_data(&self, payload: &[u8]) -> bool {
        let halves = || payload.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
        let fits = |(digit, half): (&Option<u8>, u8)| digit.is_none_or(|digit| digit == half);
        self.digits.is_empty() || self.digits.len() == 2 * payload.len() && self.digits.iter().zip(halves()).all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_labelled_by_time_identifier_and_pattern() {
        let label = Label::new([1.5, 3.0], "0x6e0", Some("595945450000FFXX")).unwrap();
        let frame = |at_ms: u64, id, payload: [u8; 8]| Recorded {
            at_ns: 7_000_000_000 + at_ms * 1_000_000,
            id,
            is_remote: false,
            payload: payload.to_vec(),
        };
        let is_attack = |frame: Recorded| label.is_attack(&frame, 7_000_000_000);
        let hit = [0x59, 0x59, 0x45, 0x45, 0, 0, 0xFF, 0x12];
        assert!(is_attack(frame(1500, 0x6E0, hit)) && is_attack(frame(3000, 0x6E0, hit)));
        assert!(!is_attack(frame(1499, 0x6E0, hit)) && !is_attack(frame(2000, 0x6E1, hit)));
        assert!(!is_attack(frame(2000, 0x6E0, [0; 8])));
        let any = Label::new([0.0, 9.0], "XXX", Some("FFFFFFFFFFFFFFFF")).unwrap();
        assert!(any.id.is_none() && any.is_attack(&frame(1, 5, [0xFF; 8]), 7_000_000_000));
    }

    #[test]
    fn wrong_labels_are_named() {
        assert_eq!(Label::new([2.0, 1.0], "1", None), Err(LabelError::Interval));
        assert_eq!(Label::new([0.0, 1.0], "0xZZ", None), Err(LabelError::Id("0xZZ".into())));
        assert_eq!(Label::new([0.0, 1.0], "1", Some("0G")), Err(LabelError::Data("0G".into())));
    }
}
