//! BPF classifier programs, and their maps.

use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd, OwnedFd};

/// `BPF_PROG_LOAD`.
pub const LOAD: u32 = 5;
/// `BPF_PROG_TYPE_SCHED_CLS`.
const CLASSIFIER: u32 = 3;
/// Room for the verifier log of a program of some thousand instructions.
const LOG_BYTES: usize = 1 << 20;
/// `BPF_MAP_CREATE`, `BPF_MAP_LOOKUP_ELEM`, `BPF_MAP_UPDATE_ELEM`.
const CREATE_MAP: u32 = 0;
const READ_MAP: u32 = 1;
const WRITE_MAP: u32 = 2;

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

/// The part of `union bpf_attr` for BPF_MAP_CREATE.
#[repr(C)]
#[derive(Clone, Copy)]
struct MapAttributes {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    numa_node: u32,
    name: [u8; 16],
}

const _: () = assert!(size_of::<MapAttributes>() == 44, "include/uapi/linux/bpf.h");

/// The part of `union bpf_attr` for elements of a map.
#[repr(C)]
#[derive(Clone, Copy)]
struct ElementAttributes {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

const _: () = assert!(size_of::<ElementAttributes>() == 32, "include/uapi/linux/bpf.h");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// `BPF_MAP_TYPE_HASH`.
    Hash,
    /// `BPF_MAP_TYPE_ARRAY`, with keys of 4 bytes.
    Array,
}

/// A map of the kernel, which lives as long as the descriptor or a program that uses it.
#[derive(Debug)]
pub struct Map {
    map: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

impl Map {
    /// # Kernel
    /// `CONFIG_BPF_SYSCALL`; needs CAP_BPF (before Linux 5.8 CAP_SYS_ADMIN).
    ///
    /// # Errors
    /// `EPERM` without the capability, `E2BIG` or `EINVAL` for sizes that the kernel refuses, `ENOMEM`.
    pub fn create(kind: MapKind, key_bytes: u32, value_bytes: u32, entries: u32) -> io::Result<Self> {
        let mut name = [0; 16];
        name[..6].copy_from_slice(b"candor");
        let kind = match kind {
            MapKind::Hash => 1,
            MapKind::Array => 2,
        };
        let attributes =
            MapAttributes { kind, key_bytes, value_bytes, entries, flags: 0, inner: 0, numa_node: 0, name };
        let place = &raw const attributes;
        // SAFETY: the kernel reads as many bytes as the live struct has, which holds no padding and no address.
        let returned = unsafe { libc::syscall(libc::SYS_bpf, CREATE_MAP, place, size_of::<MapAttributes>()) };
        let bytes = |count: u32| usize::try_from(count).map_err(io::Error::other);
        let (key_bytes, value_bytes) = (bytes(key_bytes)?, bytes(value_bytes)?);
        Ok(Self { map: new_descriptor(returned)?, key_bytes, value_bytes })
    }

    /// The value of a key.
    ///
    /// # Errors
    /// `ENOENT` if a hash has no such key; `EINVAL` if `key` or a value has another size than those of the map.
    pub fn read(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value_bytes];
        self.element(READ_MAP, key, &mut value)?;
        Ok(value)
    }

    /// Adds or replaces an element: programs see the old value or the new one.
    ///
    /// # Errors
    /// `E2BIG` if a hash is full; `EINVAL` if `key` or `value` has another size than those of the map.
    pub fn write(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.element(WRITE_MAP, key, &mut value.to_vec())
    }

    fn element(&self, command: u32, key: &[u8], value: &mut [u8]) -> io::Result<()> {
        if key.len() != self.key_bytes || value.len() != self.value_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let attributes = ElementAttributes {
            map: self.map.as_raw_fd().cast_unsigned(),
            padding: 0,
            key: key.as_ptr().expose_provenance() as u64,
            value: value.as_mut_ptr().expose_provenance() as u64,
            flags: 0,
        };
        let place = &raw const attributes;
        // SAFETY: the kernel reads as many bytes as the live struct has, which holds no padding; of this map, it reads a key
        // of the checked size, and reads or writes a value of the checked size, both borrowed until it returns.
        let returned = unsafe { libc::syscall(libc::SYS_bpf, command, place, size_of::<ElementAttributes>()) };
        if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

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

/// The descriptor that a call of bpf() has returned.
fn new_descriptor(returned: libc::c_long) -> io::Result<OwnedFd> {
    let descriptor = i32::try_from(returned).ok().filter(|descriptor| *descriptor >= 0);
    let descriptor = descriptor.ok_or_else(io::Error::last_os_error)?;
    // SAFETY: bpf() has made it (with O_CLOEXEC, as all of this call are) and nothing else has seen it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

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
    new_descriptor(returned)
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

    /// With and without privileges.
    #[test]
    fn maps_keep_what_is_written() {
        let map = match Map::create(MapKind::Hash, 4, 8, 2) {
            Ok(map) => map,
            Err(error) => return assert_eq!(error.raw_os_error(), Some(libc::EPERM)),
        };
        map.write(&[1, 0, 0, 0], &[7; 8]).unwrap();
        map.write(&[1, 0, 0, 0], &[8; 8]).unwrap();
        assert_eq!(map.read(&[1, 0, 0, 0]).unwrap(), [8; 8]);
        assert_eq!(map.read(&[2, 0, 0, 0]).unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert!(map.write(&[1], &[7; 8]).is_err() && map.read(&[1; 5]).is_err());
        let array = Map::create(MapKind::Array, 4, 3, 1).unwrap();
        assert_eq!(array.read(&[0; 4]).unwrap(), [0; 3]);
    }

    #[test]
    fn readers_leave() {
        wait_for_readers().unwrap();
    }
}
