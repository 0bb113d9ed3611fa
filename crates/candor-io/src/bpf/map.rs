//! Maps of BPF programs, and the types that describe their values.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// `BPF_MAP_CREATE`.
pub(super) const CREATE: u32 = 0;
/// `BPF_MAP_LOOKUP_ELEM`.
pub(super) const LOOK_UP: u32 = 1;
/// `BPF_MAP_UPDATE_ELEM`.
pub(super) const UPDATE: u32 = 2;
/// `BPF_MAP_GET_NEXT_ID`.
const NEXT_ID: u32 = 12;
/// `BPF_MAP_GET_FD_BY_ID`.
const OPEN_ID: u32 = 14;
/// `BPF_OBJ_GET_INFO_BY_FD`.
const INFORM: u32 = 15;
/// `BPF_BTF_LOAD`.
pub(super) const LOAD_TYPES: u32 = 18;
/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;
/// `BPF_F_LINK`.
const WITH_LINK: u32 = 1 << 13;

/// `BPF_MAP_TYPE_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    Array,
    Hash,
    /// A structure of operations by the number of its value among the types of the kernel: one value, key 0. It is
    /// registered by [`register`](super::register).
    Operations(u32),
}

/// Types of keys and values, loaded by [`load_types`]. A map of operations needs types of the program, too, but none of
/// them describes it: key and value are 0.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    pub types: BorrowedFd<'a>,
    pub key: u32,
    pub value: u32,
}

/// A map, which lives as long as this or a program that uses it.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

/// For commands with elements.
#[repr(C)]
struct Element {
    map: i32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Map {
    /// # Kernel
    /// As [`load_classifier`](super::load_classifier).
    ///
    /// # Errors
    /// `EINVAL` or `E2BIG` for sizes that the kind does not have, `EPERM` without the capabilities, `ENOTSUPP` (524) if
    /// the kernel has no such operations.
    pub fn new(
        name: &CStr,
        kind: MapKind,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
        described: Option<Described<'_>>,
    ) -> io::Result<Self> {
        #[repr(C)]
        struct Attributes {
            kind: u32,
            key_bytes: u32,
            value_bytes: u32,
            entries: u32,
            flags: u32,
            inner: u32,
            node: u32,
            name: [u8; 16],
            interface: u32,
            types: i32,
            key_type: u32,
            value_type: u32,
            kernel_type: u32,
        }
        const _: () = assert!(size_of::<Attributes>() == 64, "include/uapi/linux/bpf.h");
        let (number, flags, kernel_type) = match kind {
            MapKind::Array => (ARRAY, 0, 0),
            MapKind::Hash => (1, 0, 0),
            MapKind::Operations(kernel_type) => (26, WITH_LINK, kernel_type),
        };
        let mut attributes = Attributes {
            kind: number,
            key_bytes,
            value_bytes,
            entries,
            flags,
            inner: 0,
            node: 0,
            name: super::object_name(name),
            interface: 0,
            types: described.map_or(0, |described| described.types.as_raw_fd()),
            key_type: described.map_or(0, |described| described.key),
            value_type: described.map_or(0, |described| described.value),
            kernel_type,
        };
        let size = |bytes: u32| usize::try_from(bytes).map_err(io::Error::other);
        let (key_bytes, value_bytes) = (size(key_bytes)?, size(value_bytes)?);
        // SAFETY: the attributes hold neither padding nor addresses.
        let descriptor = unsafe { super::make(CREATE, &mut attributes) }?;
        Ok(Self { descriptor, key_bytes, value_bytes })
    }

    /// Creates or replaces an element.
    ///
    /// # Errors
    /// As the kind of the map has them; `InvalidInput` if key or value have another size than those of the map.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.check(key.len(), value.len())?;
        let mut element = self.element(key, value.as_ptr());
        // SAFETY: no padding; the kernel reads a key and a value behind the two addresses, whose sizes were compared with
        // those of the map, and which are borrowed until it returns.
        unsafe { super::call(UPDATE, &mut element) }.map(drop)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// `ENOENT` without such a key; `InvalidInput` if the key has another size than those of the map.
    pub fn get(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        self.check(key.len(), self.value_bytes)?;
        // The kernel writes multiples of 8 bytes per processor only for kinds that do not exist here.
        let mut value = vec![0; self.value_bytes];
        let mut element = self.element(key, value.as_mut_ptr());
        // SAFETY: no padding; the kernel reads a key behind the first address, whose size was compared, and writes a value
        // behind the second one, which is as long as those of the map; both are borrowed until it returns.
        unsafe { super::call(LOOK_UP, &mut element) }?;
        Ok(value)
    }

    fn element(&self, key: &[u8], value: *const u8) -> Element {
        let [key, value] = [key.as_ptr(), value].map(|address| address.expose_provenance() as u64);
        Element { map: self.descriptor.as_raw_fd(), padding: 0, key, value, flags: 0 }
    }

    /// All arrays of the machine with this name.
    ///
    /// # Kernel
    /// Needs CAP_SYS_ADMIN in the initial user namespace.
    ///
    /// # Errors
    /// `EPERM` without it.
    pub fn find(name: &CStr) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        let mut last = 0;
        loop {
            #[repr(C)]
            struct Attributes {
                id: u32,
                next: u32,
                flags: u32,
            }
            let mut attributes = Attributes { id: last, next: 0, flags: 0 };
            // SAFETY: the attributes hold neither padding nor addresses.
            match unsafe { super::call(NEXT_ID, &mut attributes) } {
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(found),
                outcome => outcome?,
            };
            last = attributes.next;
            let mut attributes = Attributes { id: last, next: 0, flags: 0 };
            // SAFETY: as above; the command makes a descriptor.
            match unsafe { super::make(OPEN_ID, &mut attributes) } {
                // It has gone since.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                opened => found.extend(Self::with_name(opened?, name)?),
            }
        }
    }

    /// `None` if it has another name, or is no array.
    fn with_name(descriptor: OwnedFd, name: &CStr) -> io::Result<Option<Self>> {
        /// The start of `struct bpf_map_info`.
        #[repr(C)]
        #[derive(Default)]
        struct Info {
            kind: u32,
            id: u32,
            key_bytes: u32,
            value_bytes: u32,
            entries: u32,
            flags: u32,
            name: [u8; 16],
        }
        #[repr(C)]
        struct Attributes {
            descriptor: i32,
            bytes: u32,
            info: u64,
        }
        let mut info = Info::default();
        let mut attributes = Attributes {
            descriptor: descriptor.as_raw_fd(),
            bytes: u32::try_from(size_of::<Info>()).map_err(io::Error::other)?,
            info: (&raw mut info).expose_provenance() as u64,
        };
        // SAFETY: no padding; the kernel writes at most `bytes` behind the address of the live struct, which are as many as
        // it has.
        unsafe { super::call(INFORM, &mut attributes) }?;
        let size = |bytes: u32| usize::try_from(bytes).map_err(io::Error::other);
        let (key_bytes, value_bytes) = (size(info.key_bytes)?, size(info.value_bytes)?);
        // Values of other kinds may be longer than their size: one for each processor.
        let is_it = info.kind == ARRAY && info.name == super::object_name(name);
        Ok(is_it.then_some(Self { descriptor, key_bytes, value_bytes }))
    }

    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    fn check(&self, key_bytes: usize, value_bytes: usize) -> io::Result<()> {
        if (key_bytes, value_bytes) == (self.key_bytes, self.value_bytes) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "an element has another size than those of its map"))
    }
}

/// Loads types in the BPF type format, in host byte order.
///
/// # Kernel
/// As [`load_classifier`](super::load_classifier).
///
/// # Errors
/// `EINVAL` for types that the kernel does not understand, `EPERM` without the capabilities.
pub fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        types: u64,
        log: u64,
        bytes: u32,
        log_bytes: u32,
        log_level: u32,
        padding: u32,
    }
    let mut attributes = Attributes {
        types: types.as_ptr().expose_provenance() as u64,
        log: 0,
        bytes: u32::try_from(types.len()).map_err(io::Error::other)?,
        log_bytes: 0,
        log_level: 0,
        padding: 0,
    };
    // SAFETY: no padding; the kernel reads `bytes` behind the first address, which are borrowed until it returns, and does
    // not follow the second one.
    unsafe { super::make(LOAD_TYPES, &mut attributes) }
}
