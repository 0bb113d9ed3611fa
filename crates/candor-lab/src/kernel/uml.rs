//! Extends user-mode Linux for processors with more registers than it supports.
//!
//! Linux 6.1 as a user-mode kernel keeps 2696 bytes of extended processor state per task. It reads the host's state
//! with `PTRACE_GETREGSET`, which the host truncates silently, and writes it back with `PTRACE_SETREGSET`, which fails
//! with `EFAULT` unless it gets the full size: on processors with AMX the guest's first process dies at its first
//! instruction. The host uses less than it is offered, and nothing after the 2696 bytes is read, because the header of
//! the state marks those registers as unused. So it is enough to offer more: one number in the program.
//!
//! Without extended state the kernel boots too, but then every page fault of the guest clears the AVX registers, which
//! the C library uses to look for `%` in a format.

/// `iov.iov_len = 2696` and `PTRACE_SETREGSET` as the first argument, as compiled by gcc for x86-64.
const OFFER: [u8; 9] = [0x88, 0x0A, 0x00, 0x00, 0xBF, 0x05, 0x42, 0x00, 0x00];
/// More than the state of any current processor; a multiple of 8 bytes.
const MORE_BYTES: u32 = 0x4000;

/// Support of a user-mode Linux for hosts with a large processor state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Room {
    Any,
    /// The code was not found, or not unique.
    AsBuilt,
}

/// Changes the program in place if that is safe.
pub(super) fn widen(program: &mut [u8]) -> Room {
    let mut found = program.windows(OFFER.len()).enumerate().filter(|(_, window)| *window == OFFER);
    let (Some((at, _)), None) = (found.next(), found.next()) else { return Room::AsBuilt };
    program[at..at + size_of::<u32>()].copy_from_slice(&MORE_BYTES.to_le_bytes());
    Room::Any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_number_changes() {
        let mut program = [[1; 9], OFFER, [2; 9]].concat();
        assert_eq!(widen(&mut program), Room::Any);
        let widened = [0x00, 0x40, 0x00, 0x00, 0xBF, 0x05, 0x42, 0x00, 0x00];
        assert_eq!(program, [[1; 9], widened, [2; 9]].concat());
    }

    #[test]
    fn unknown_programs_are_unchanged() {
        for program in [vec![], vec![0; 100], [OFFER, OFFER].concat()] {
            let mut changed = program.clone();
            assert_eq!(widen(&mut changed), Room::AsBuilt);
            assert_eq!(changed, program);
        }
    }
}
