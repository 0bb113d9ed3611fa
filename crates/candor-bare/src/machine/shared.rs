//! Memory that this program shares with the process that has started it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use candor_bare::{Counters, Own, Parameters, Report, State, memory};

use super::cpu::Area;

// SAFETY: below 4 GiB, aligned, and outside of the program, whose end `link.ld` checks.
const PARAMETERS: Area = unsafe { Area::new(memory::PARAMETERS, memory::REPORT - memory::PARAMETERS) };
// SAFETY: as above.
const REPORT: Area = unsafe { Area::new(memory::REPORT, Report::BYTES as u64) };

/// The parameters. `None` if nothing is there.
pub(super) fn parameters() -> Option<Result<Parameters, String>> {
    let bytes = |count: u64| -> Vec<u8> { (0..count).map(|offset| PARAMETERS.read_8(offset)).collect() };
    let header = bytes(Parameters::HEADER_BYTES as u64);
    let length = Parameters::length(header.first_chunk()?)? as u64;
    if length > memory::REPORT - memory::PARAMETERS {
        return Some(Err(format!("{length} bytes of parameters are too many")));
    }
    Some(Parameters::of_bytes(&bytes(length)).map_err(|_error| "the parameters are damaged".into()))
}

/// Writes state and counters, the state last.
#[inline]
pub(super) fn publish(state: State, counters: &Counters, own: &Own) {
    let words = Report::words(state, counters, own);
    for (place, word) in (0..).step_by(8).zip(words).skip(Report::STOP + 1) {
        REPORT.write_64(place, word);
    }
    REPORT.write_64(0, words[0]);
}

pub(super) fn is_asked_to_stop() -> bool {
    REPORT.read_64(8 * Report::STOP as u64) != 0
}

/// Writes the text of an error.
pub(super) fn describe(text: &str) {
    let first = 8 * Report::WORDS as u64;
    let text = text.bytes().take(Report::TEXT_BYTES - 1).chain([0]);
    (first..).zip(text).for_each(|(place, byte)| REPORT.write_8(place, byte));
}
