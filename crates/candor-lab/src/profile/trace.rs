//! The log of executed instructions.

use std::io::{self, BufRead};

/// Addresses of instructions in the order of their execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub instructions: Vec<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("Cannot read the log of instructions")]
    Read(#[from] io::Error),
    #[error("Line {line} of QEMU's log of instructions is in an unknown form: {text}")]
    Form { line: usize, text: String },
}

impl Trace {
    /// Reads the log that QEMU writes for `exec` with one instruction for each block:
    /// `Trace 0: 0x7f5c [00000000/ffffffff81000000/0040c0b0/ff020001]`, where the second number in brackets is the address.
    ///
    /// # Errors
    /// [`TraceError`] for a log of another form. A last line without an end is left out.
    pub fn read(log: &mut impl BufRead) -> Result<Self, TraceError> {
        let (mut trace, mut text, mut line) = (Self::default(), String::new(), 0);
        loop {
            text.clear();
            line += 1;
            if log.read_line(&mut text)? == 0 || !text.ends_with('\n') {
                return Ok(trace);
            }
            if text.starts_with("Trace ") {
                let address = address(&text).ok_or_else(|| TraceError::Form { line, text: text.trim().to_owned() })?;
                trace.instructions.push(address);
            } else if text.starts_with("Stopped execution of TB") || text.starts_with("cpu_io_recompile: ") {
                // An interrupt came first, or the instruction begins again because it uses a device.
                trace.instructions.pop();
            }
        }
    }
}

fn address(line: &str) -> Option<u64> {
    let (_, fields) = line.split_once('[')?;
    let (fields, _) = fields.split_once(']')?;
    u64::from_str_radix(fields.split('/').nth(1)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> Result<Vec<u64>, TraceError> {
        Trace::read(&mut log.as_bytes()).map(|trace| trace.instructions)
    }

    #[test]
    fn instructions_that_did_not_run_are_left_out() {
        let log = "Trace 0: 0x7f00 [00000000/0000000000000010/0040c0b0/ff020001] \n\
                   Trace 0: 0x7f01 [00000000/0000000000000013/0040c0b0/ff020001] \n\
                   Stopped execution of TB chain before 0x7f01 [0000000000000013] \n\
                   Trace 0: 0x7f02 [00000000/ffffffff81000000/0040c0b0/ff020001] \n\
                   Trace 0: 0x7f02 [00000000/ffffffff81000005/0040c0b0/ff020001] \n\
                   cpu_io_recompile: rewound execution of TB to ffffffff81000005\n\
                   Trace 0: 0x7f02 [00000000/ffffffff81000005/0040c0b0/ff020001] \n\
                   Trace 0: 0x7f03 [0000";
        assert_eq!(read(log).unwrap(), [0x10, 0xffff_ffff_8100_0000, 0xffff_ffff_8100_0005]);
    }

    #[test]
    fn other_forms_are_refused() {
        for line in ["Trace 0: 0x7f00 [10]\n", "Trace 0: 0x7f00\n", "Trace 0: 0x7f00 [0/xyz/0]\n"] {
            assert!(matches!(read(line), Err(TraceError::Form { line: 1, .. })), "{line}");
        }
    }
}
