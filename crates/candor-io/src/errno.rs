//! Errno numbers of the architecture this is built for: MIPS and SPARC number most of those above 34 differently from x86
//! and Arm. Crates without libc compare [`std::io::Error::raw_os_error`] with these.

pub use libc::{
    EACCES, EAFNOSUPPORT, EAGAIN, EBUSY, ECONNRESET, EEXIST, EINVAL, EMSGSIZE, ENETDOWN, ENOBUFS, ENODEV, ENOENT,
    ENOMEM, ENOSYS, ENXIO, EOPNOTSUPP, EOVERFLOW, EPERM, EPFNOSUPPORT, EPIPE, EPROTO, EPROTONOSUPPORT, ERANGE,
};
