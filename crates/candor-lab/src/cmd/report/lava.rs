//! Results as commands of LAVA's test shell, which records them as test cases with measurements.

use candor_lab::cells::State;
use candor_lab::report::{Cell, Measured};

use crate::cmd::measure::status_table::in_words;

/// A shell script with lines of `lava-test-case`: p50, p99 and max of each cell in µs, and its lost frames.
pub(super) fn script(cells: &[Cell]) -> String {
    let mut text = "# For the test shell of LAVA; written by candor-lab report --lava.\n".to_owned();
    for Cell { name, levels, state, measured } in cells {
        let case = case_of(&in_words(levels), name);
        let result = match state {
            Some(State::Ok) => "pass",
            Some(State::Failed(_)) => "fail",
            // Measured, but not the gateway.
            Some(_) => "unknown",
            None => "skip",
        };
        let figures = measured.as_ref().and_then(|measured| measured.figures);
        for figure in ["p50", "p99", "max"] {
            let latency = figures.and_then(|figures| figures.named(figure));
            let measurement = latency
                .map_or_else(String::new, |latency| format!(" --measurement {:.3} --units us", latency.microseconds()));
            text += &format!("lava-test-case {case}-{figure} --result {result}{measurement}\n");
        }
        let lost = measured
            .as_ref()
            .map_or_else(String::new, |measured| format!(" --measurement {} --units frames", Measured::lost(measured)));
        text += &format!("lava-test-case {case}-lost --result {result}{lost}\n");
    }
    text
}

/// LAVA separates the words of its messages by spaces, and makes a directory of the name. The name of the cell makes it unique.
fn case_of(words: &str, cell: &str) -> String {
    let word = |word: &str| word.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
    let words: Vec<String> =
        words.split(|character: char| " ,\"".contains(character)).filter(|part| !part.is_empty()).map(word).collect();
    format!("{}-{cell}", words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_word() {
        assert_eq!(
            case_of("vcan, read-write, 12.5 %, replay a/b c.log", "f6ba"),
            "vcan-read-write-12-5---replay-a-b-c-log-f6ba"
        );
    }

    #[test]
    fn cells_without_figures_have_a_result() {
        let cell = |state| Cell {
            name: "c1".to_owned(),
            levels: vec![("gateway".to_owned(), "kernel".to_owned())],
            state,
            measured: None,
        };
        let text = script(&[
            cell(None),
            cell(Some(State::Failed("x".to_owned()))),
            cell(Some(State::Invalid("y".to_owned()))),
        ]);
        for wanted in
            ["kernel-c1-p50 --result skip\n", "kernel-c1-max --result fail\n", "kernel-c1-lost --result unknown\n"]
        {
            assert!(text.contains(&format!("lava-test-case {wanted}")), "{text}");
        }
    }
}
