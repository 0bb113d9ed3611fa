//! Changes user-mode Linux for hosts that it was not built for: processors with more registers than it supports, and C
//! libraries older than it needs.
//!
//! # Registers
//!
//! Linux 6.1 as a user-mode kernel keeps 2696 bytes of extended processor state per task. It reads the host's state
//! with `PTRACE_GETREGSET`, which the host truncates silently, and writes it back with `PTRACE_SETREGSET`, which fails
//! with `EFAULT` unless it gets the full size: on processors with AMX the guest's first process dies at its first
//! instruction. The host uses less than it is offered, and nothing after the 2696 bytes is read, because the header of
//! the state marks those registers as unused. So it is enough to offer more: one number in the program.
//!
//! Without extended state the kernel boots too, but then every page fault of the guest clears the AVX registers, which
//! the C library uses to look for `%` in a format. Linux 6.13 and later ask the host for the size.
//!
//! # Libraries
//!
//! Loader and C library of a newer Debian are in a directory next to the program. The program header names the loader
//! relative to the working directory, because an absolute path of the cache does not fit, and the library path begins at
//! the program, so that it starts itself again (`/proc/self/exe`) with the same ones.

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

/// First release that asks the host for the size of the state.
const ASKS_SINCE: (u32, u32) = (6, 13);

/// Directory with [`OWN_LIBRARIES`], next to the program.
pub(super) const LIBRARIES: &str = "lib";
pub(super) const OWN_LIBRARIES: [&str; 2] = ["ld-linux-x86-64.so.2", "libc.so.6"];

/// What the program contains, and what replaces it: at most as long.
const LOADER: [&[u8]; 2] = [b"\0/lib64/ld-linux-x86-64.so.2\0", b"\0lib/ld-linux-x86-64.so.2\0"];
const LIBRARY_PATH: [&[u8]; 2] = [b"\0/lib64:/lib\0", b"\0$ORIGIN/lib\0"];

/// Lets the program use the libraries in [`LIBRARIES`] if it runs in the directory above. `None` if it has none of the
/// usual paths.
pub(super) fn use_own_libraries(program: &mut [u8]) -> Option<()> {
    let places = [LOADER, LIBRARY_PATH].map(|[old, new]| Some((only(program, old)?, new)));
    for place in places {
        let (at, new) = place?;
        program[at..at + new.len()].copy_from_slice(new);
    }
    Some(())
}

/// Where the pattern is, if it is there once.
fn only(program: &[u8], pattern: &[u8]) -> Option<usize> {
    let mut found = program.windows(pattern.len()).enumerate().filter(|(_, window)| *window == pattern);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

/// Changes the program in place if that is necessary and safe.
pub(super) fn widen(program: &mut [u8], release: &str) -> Room {
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= ASKS_SINCE {
        return Room::Any;
    }
    let Some(at) = only(program, &OFFER) else { return Room::AsBuilt };
    program[at..at + size_of::<u32>()].copy_from_slice(&MORE_BYTES.to_le_bytes());
    Room::Any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_number_changes() {
        let mut program = [[1; 9], OFFER, [2; 9]].concat();
        assert_eq!(widen(&mut program, "6.1.140"), Room::Any);
        let widened = [0x00, 0x40, 0x00, 0x00, 0xBF, 0x05, 0x42, 0x00, 0x00];
        assert_eq!(program, [[1; 9], widened, [2; 9]].concat());
    }

    #[test]
    fn unknown_programs_are_unchanged() {
        for program in [vec![], vec![0; 100], [OFFER, OFFER].concat()] {
            let mut changed = program.clone();
            assert_eq!(widen(&mut changed, "6.12.9"), Room::AsBuilt);
            assert_eq!(widen(&mut changed, "7.2.7"), Room::Any);
            assert_eq!(use_own_libraries(&mut changed), None);
            assert_eq!(changed, program);
        }
    }

    #[test]
    fn paths_of_libraries_change_in_place() {
        let mut program = b"ELF\0/lib64/ld-linux-x86-64.so.2\0...\0libc.so.6\0/lib64:/lib\0.".to_vec();
        use_own_libraries(&mut program).unwrap();
        assert_eq!(program, b"ELF\0lib/ld-linux-x86-64.so.2\0.2\0...\0libc.so.6\0$ORIGIN/lib\0.");
    }
}
