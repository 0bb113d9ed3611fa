//! Every system call of candor, behind safe types. **The only crate with `unsafe`.**
//!
//! One file per kind of kernel object. Functions return [`std::io::Error`]; the crates above interpret the errnos.
//! A function that lists no errors fails only if the kernel is not correct.

// Static programs are linked for the C library of Rust 1.93 and later (.cargo/config.toml), and that of an older one would not
// start. This constant came with it.
#[cfg(target_env = "musl")]
const _IS_RUST_1_93: usize = char::MAX_LEN_UTF8;

pub mod bpf;
pub mod can;
pub mod clock;
pub mod control_group;
pub mod dma_latency;
pub mod errno;
pub mod guest;
pub mod lock;
pub mod machine;
pub mod module;
pub mod netlink;
pub mod netns;
pub mod own_netns;
pub mod packet;
pub mod poll;
pub mod process;
pub mod schedule;
pub mod signal;
mod socket;
mod socket_filter;
pub mod uring;
pub mod version;
