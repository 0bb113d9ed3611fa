//! BPF programs, maps and types.

mod map;

use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub use map::{Described, Map, MapKind, load_types};

/// `BPF_PROG_LOAD`.
pub const LOAD: u32 = 5;
/// All commands of this module.
pub const COMMANDS: [u32; 6] = [LOAD, LINK, map::CREATE, map::LOOK_UP, map::UPDATE, map::LOAD_TYPES];
/// `BPF_PROG_TYPE_SOCKET_FILTER`.
const SOCKET_FILTER: u32 = 1;
/// `BPF_PROG_TYPE_SCHED_CLS`.
const CLASSIFIER: u32 = 3;
/// `BPF_PROG_TYPE_STRUCT_OPS`.
const OPERATIONS: u32 = 27;
/// `BPF_LINK_CREATE`.
const LINK: u32 = 28;
/// `BPF_STRUCT_OPS`.
const ATTACH_OPERATIONS: u32 = 44;
/// Room for the verifier log of a small program.
const LOG_BYTES: usize = 1 << 20;

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
    interface: u32,
    attach_type: u32,
    types: u32,
    function_bytes: u32,
    functions: u64,
    function_count: u32,
    line_bytes: u32,
    lines: u64,
    line_count: u32,
    attach_id: u32,
}

const _: () = assert!(size_of::<Attributes>() == 112, "include/uapi/linux/bpf.h");

/// Waits until every processor has left the code that frames passed through when this was called (`synchronize_rcu()`).
///
/// # Kernel
/// `CONFIG_MEMBARRIER`; takes milliseconds.
///
/// # Errors
/// `ENOSYS` without it, `EINVAL` on machines with `nohz_full`, for which the kernel has no other answer.
pub fn wait_for_readers() -> io::Result<()> {
    /// `MEMBARRIER_CMD_GLOBAL`.
    const GLOBAL: libc::c_int = 1;
    // SAFETY: the call takes numbers only.
    let returned = unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) };
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A program that the kernel refused. Its text is the last thing that the verifier says, or the errno.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.why())]
pub struct LoadError {
    /// The errno of `bpf()`.
    pub errno: io::Error,
    /// The verifier log; empty if the verifier did not run.
    pub log: String,
}

impl LoadError {
    fn why(&self) -> String {
        let last = self.log.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("processed "));
        last.map_or_else(|| self.errno.to_string(), str::to_owned)
    }

    /// True if a capability is missing.
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        self.errno.kind() == io::ErrorKind::PermissionDenied && self.log.is_empty()
    }
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
    // Checked only for GPL helpers, which are not used.
    Load { kind: CLASSIFIER, name, license: c"MIT", instructions, attach_type: 0, attach_id: 0 }.run()
}

/// Loads a filter for sockets, as [`load_classifier`] does.
///
/// # Kernel
/// `CONFIG_BPF_SYSCALL`; needs CAP_BPF in the initial user namespace, unless `kernel.unprivileged_bpf_disabled` is 0.
///
/// # Errors
/// As [`load_classifier`].
pub(crate) fn load_socket_filter(name: &CStr, instructions: &[[u8; 8]]) -> Result<OwnedFd, LoadError> {
    Load { kind: SOCKET_FILTER, name, license: c"MIT", instructions, attach_type: 0, attach_id: 0 }.run()
}

/// Loads a program for a member of a structure of operations (`struct_ops`): its position in the structure, and the number
/// of the structure among the types of the kernel.
///
/// # Kernel
/// `CONFIG_BPF_JIT` and `CONFIG_DEBUG_INFO_BTF`; needs CAP_BPF and CAP_PERFMON in the initial user namespace. The kernel
/// takes only licenses that are compatible with the GPL.
///
/// # Errors
/// As [`load_classifier`]; `ENOTSUPP` (524) if the structure takes no programs.
pub fn load_operation(
    name: &CStr,
    license: &CStr,
    instructions: &[[u8; 8]],
    structure: u32,
    position: u32,
) -> Result<OwnedFd, LoadError> {
    Load { kind: OPERATIONS, name, license, instructions, attach_type: position, attach_id: structure }.run()
}

/// Registers the operations in a map of [`MapKind::Operations`], until the returned descriptor is closed. What uses them
/// then keeps the map.
///
/// # Errors
/// `EEXIST` if their name is taken, `EINVAL` if the map has no value.
pub fn register(operations: &Map) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        map: i32,
        target: u32,
        attach_type: u32,
        flags: u32,
    }
    let map = operations.descriptor().as_raw_fd();
    let mut attributes = Attributes { map, target: 0, attach_type: ATTACH_OPERATIONS, flags: 0 };
    // SAFETY: the attributes hold neither padding nor addresses.
    unsafe { make(LINK, &mut attributes) }
}

#[derive(Clone, Copy)]
struct Load<'a> {
    kind: u32,
    name: &'a CStr,
    license: &'a CStr,
    instructions: &'a [[u8; 8]],
    attach_type: u32,
    attach_id: u32,
}

impl Load<'_> {
    fn run(self) -> Result<OwnedFd, LoadError> {
        let quiet = match self.load(&mut []) {
            Ok(program) => return Ok(program),
            Err(source) => source,
        };
        // The log is requested only after an error: it costs time and can be too small.
        let mut log = vec![0; LOG_BYTES];
        match self.load(&mut log) {
            Ok(program) => Ok(program),
            Err(_same) => {
                let text = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
                Err(LoadError { errno: quiet, log: text.trim().to_owned() })
            }
        }
    }

    fn load(self, log: &mut [u8]) -> io::Result<OwnedFd> {
        let license: *const c_char = self.license.as_ptr();
        let mut attributes = Attributes {
            kind: self.kind,
            count: u32::try_from(self.instructions.len()).map_err(io::Error::other)?,
            instructions: self.instructions.as_ptr().expose_provenance() as u64,
            license: license.expose_provenance() as u64,
            log_level: u32::from(!log.is_empty()),
            log_bytes: u32::try_from(log.len()).map_err(io::Error::other)?,
            log: if log.is_empty() { 0 } else { log.as_mut_ptr().expose_provenance() as u64 },
            kernel_version: 0,
            flags: 0,
            name: object_name(self.name),
            interface: 0,
            attach_type: self.attach_type,
            types: 0,
            function_bytes: 0,
            functions: 0,
            function_count: 0,
            line_bytes: 0,
            lines: 0,
            line_count: 0,
            attach_id: self.attach_id,
        };
        // SAFETY: the attributes hold no padding; behind their three addresses the kernel reads `count` instructions of
        // 8 bytes and a C string, and writes at most `log_bytes`, all of which are borrowed until it returns. The program
        // itself is proven by the kernel.
        unsafe { make(LOAD, &mut attributes) }
    }
}

/// `BPF_OBJ_NAME_LEN`; a longer name is cut.
fn object_name(name: &CStr) -> [u8; 16] {
    let mut field = [0; 16];
    field.iter_mut().zip(name.to_bytes().iter().take(15)).for_each(|(to, from)| *to = *from);
    field
}

/// `bpf()`.
///
/// # Safety
/// `T` is the part of `union bpf_attr` for the command, without padding, and what the kernel reads and writes behind its
/// addresses is borrowed for the call.
unsafe fn call<T>(command: u32, attributes: &mut T) -> io::Result<i32> {
    let place = std::ptr::from_mut(attributes);
    // SAFETY: the kernel reads and writes at most as many bytes as the live struct has; the caller keeps what it points to.
    let returned = unsafe { libc::syscall(libc::SYS_bpf, command, place, size_of::<T>()) };
    let result = i32::try_from(returned).ok().filter(|result| *result >= 0);
    result.ok_or_else(io::Error::last_os_error)
}

/// A call that returns a new descriptor.
///
/// # Safety
/// As [`call`], and the command makes a descriptor.
unsafe fn make<T>(command: u32, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller says.
    let descriptor = unsafe { call(command, attributes) }?;
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
            |program: &[[u8; 8]]| load_classifier(c"candor_test", program).map_err(|error| error.errno.raw_os_error());
        let Err(errno) = refused(&[set, exit]) else {
            // With privileges the verifier explains an error.
            let without_end = load_classifier(c"candor_test", &[set]).unwrap_err();
            assert!(
                without_end.log.len() > without_end.to_string().len() && !without_end.is_privilege(),
                "{without_end:?}"
            );
            return;
        };
        assert!([Some(libc::EPERM), Some(libc::ENOSYS)].contains(&errno), "{errno:?}");
    }

    #[test]
    fn the_last_line_of_the_verifier_says_why() {
        let refused =
            |errno: i32, log: &str| LoadError { errno: io::Error::from_raw_os_error(errno), log: log.to_owned() };
        let log = "0: (95) exit\nR0 !read_ok\n\nprocessed 1 insns (limit 1000000) max_states_per_insn 0";
        let by_verifier = refused(libc::EACCES, log);
        assert_eq!((by_verifier.to_string().as_str(), by_verifier.is_privilege()), ("R0 !read_ok", false));
        let by_kernel = refused(libc::EPERM, "");
        assert_eq!((by_kernel.to_string(), by_kernel.is_privilege()), (by_kernel.errno.to_string(), true));
    }

    #[test]
    fn readers_leave() {
        wait_for_readers().unwrap();
    }
}
