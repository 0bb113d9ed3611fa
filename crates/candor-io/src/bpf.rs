//! BPF classifier programs.

use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `BPF_PROG_LOAD`.
pub const LOAD: u32 = 5;
/// `BPF_PROG_TYPE_SCHED_CLS`.
const CLASSIFIER: u32 = 3;
/// Room for the verifier log of a small program.
const LOG_BYTES: usize = 1 << 14;

/// The part of `union bpf_attr` for BPF_PROG_LOAD; newer kernels take missing fields for 0.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
}

const _: () = assert!(size_of::<Attributes>() == 64, "include/uapi/linux/bpf.h");

#[derive(Debug)]
pub struct LoadError {
    /// The errno of `bpf()`.
    pub source: io::Error,
    /// The verifier log; empty if the verifier did not run.
    pub log: String,
}

/// Loads a classifier program, which lives as long as the descriptor or a filter that uses it. Each instruction is a
/// `struct bpf_insn` in host byte order.
///
/// # Kernel
/// `CONFIG_BPF_SYSCALL`; needs CAP_BPF and CAP_NET_ADMIN in the initial user namespace, before Linux 5.8 CAP_SYS_ADMIN.
/// Before 5.11 its memory counts for RLIMIT_MEMLOCK.
///
/// # Errors
/// `ENOSYS` without the system call, `EPERM` without the capabilities, `EINVAL` or `EACCES` if the verifier refuses it.
pub fn load_classifier(name: &CStr, instructions: &[[u8; 8]]) -> Result<OwnedFd, LoadError> {
    let quiet = match load(name, instructions, &mut []) {
        Ok(program) => return Ok(program),
        Err(source) => source,
    };
    // The log is requested only after an error: it costs time and can be too small.
    let mut log = vec![0; LOG_BYTES];
    match load(name, instructions, &mut log) {
        Ok(program) => Ok(program),
        Err(_same) => {
            let text = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
            Err(LoadError { source: quiet, log: text.trim().to_owned() })
        }
    }
}

fn load(name: &CStr, instructions: &[[u8; 8]], log: &mut [u8]) -> io::Result<OwnedFd> {
    // Checked only for GPL helpers, which are not used.
    let license: *const c_char = c"MIT".as_ptr();
    let mut field = [0; 16];
    field.iter_mut().zip(name.to_bytes().iter().take(15)).for_each(|(to, from)| *to = *from);
    let attributes = Attributes {
        kind: CLASSIFIER,
        count: u32::try_from(instructions.len()).map_err(io::Error::other)?,
        instructions: instructions.as_ptr().expose_provenance() as u64,
        license: license.expose_provenance() as u64,
        log_level: u32::from(!log.is_empty()),
        log_bytes: u32::try_from(log.len()).map_err(io::Error::other)?,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr().expose_provenance() as u64 },
        kernel_version: 0,
        flags: 0,
        name: field,
    };
    let place = &raw const attributes;
    // SAFETY: the kernel reads as many bytes as the live struct has, which holds no padding; behind its three addresses it
    // reads `count` instructions of 8 bytes and a C string, and writes at most `log_bytes`, all of which are borrowed until it
    // returns. The program itself is proven by the kernel.
    let returned = unsafe { libc::syscall(libc::SYS_bpf, LOAD, place, size_of::<Attributes>()) };
    let descriptor = i32::try_from(returned).ok().filter(|descriptor| *descriptor >= 0);
    let descriptor = descriptor.ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the call above has made it (with O_CLOEXEC, as all of this call are) and nothing else has seen it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With and without privileges.
    #[test]
    fn a_program_is_loaded_or_refused_for_a_reason_that_is_known() {
        let (set, exit) = ([0xB7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]);
        let refused =
            |program: &[[u8; 8]]| load_classifier(c"candor_test", program).map_err(|error| error.source.raw_os_error());
        let Err(errno) = refused(&[set, exit]) else {
            // With privileges the verifier explains an error.
            let without_end = load_classifier(c"candor_test", &[set]).unwrap_err();
            assert!(!without_end.log.is_empty());
            return;
        };
        assert!([Some(libc::EPERM), Some(libc::ENOSYS)].contains(&errno), "{errno:?}");
    }
}
