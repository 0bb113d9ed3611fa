//! The log of `candor-lab wire`, as far as figures need it.

use super::Unfit;

/// One event, with times in ms.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Frame {
        start: f64,
        end: f64,
        node: String,
        frame: String,
    },
    /// `at`: the time of detection.
    Error {
        start: f64,
        end: f64,
        at: f64,
        node: String,
    },
    State {
        at: f64,
        node: String,
        state: String,
        transmit: u16,
    },
}

/// Skips lines that no figure shows.
pub(super) fn read(text: &str) -> Result<Vec<Line>, Unfit> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ms = |seconds: &str| Ok::<f64, Unfit>(seconds.parse::<f64>()? * 1000.0);
        let understood = || match words[..] {
            ["frame", _, start, end, node, frame, ..] => {
                let (node, frame) = (node.to_owned(), frame.to_owned());
                Ok(Some(Line::Frame { start: ms(start)?, end: ms(end)?, node, frame }))
            }
            ["error", _, start, end, node, _frame, _kind, _bit, at, ..] => {
                let node = node.to_owned();
                Ok(Some(Line::Error { start: ms(start)?, end: ms(end)?, at: ms(at)?, node }))
            }
            ["state", _, at, node, state, transmit, ..] => {
                let (node, state) = (node.to_owned(), state.to_owned());
                Ok(Some(Line::State { at: ms(at)?, node, state, transmit: transmit.parse()? }))
            }
            _ => Ok::<_, Unfit>(None),
        };
        lines.extend(understood().map_err(|error| format!("`{line}`: {error}"))?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_each_kind_are_read() {
        let text = "# candor-lab wire log, form 1\nframe b0 1.000000000 1.500000000 can0 123#11 0 0\nlost b0 1.2 can1 7\n\
                    error b0 2.000000000 2.500000000 can0 123#11 bit 7 2.250000000 can1\nstate b0 2.500000000 can0 bus-off 256 0\n";
        let (node, frame, state) = ("can0".to_owned(), "123#11".to_owned(), "bus-off".to_owned());
        let expected = [
            Line::Frame { start: 1000.0, end: 1500.0, node: node.clone(), frame },
            Line::Error { start: 2000.0, end: 2500.0, at: 2250.0, node: node.clone() },
            Line::State { at: 2500.0, node, state, transmit: 256 },
        ];
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("frame b0 now 1.0 can0 123#11 0 0\n").is_err());
    }
}
