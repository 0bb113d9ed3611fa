//! Control groups: frames by the service that sends them.
//!
//! ```text
//!  cgroup, unit ──▶ GroupName ──a machine looks──▶ Place ──▶ program ──▶ cls_bpf
//!                                                     ▲                     │
//!                                                     └── label (its name) ◀┘
//! ```
//!
//! No filter of `tc` looks at a control group of version 2, but a program of a few instructions does: it asks the kernel
//! which group is the ancestor of the frame's socket at some level. The kernel gives programs of others back as numbers that
//! say nothing, so candor writes into the name of its filter what the program looks for ([`label()`]).
//!
//! # Kernel
//! Linux 4.19 (`bpf_skb_ancestor_cgroup_id`), `CONFIG_NET_CLS_BPF` and `CONFIG_SOCK_CGROUP_DATA`, which comes with
//! `CONFIG_CGROUP_BPF`. A socket belongs to the group in which its process was when it opened it, also if that process has
//! moved since. Before Linux 5.15 a machine that also uses `net_cls` or `net_prio` of version 1 loses that.
//!
//! # Source
//! `cgroup_sk_alloc()` in `kernel/cgroup/cgroup.c`, `__bpf_sk_ancestor_cgroup_id()` in `net/core/filter.c` of Linux 6.1.

mod group;
mod label;
mod program;

pub use group::{ControlGroup, GroupName, MOST_GROUPS, MOST_NAME_BYTES, NameError, Place, words};
pub use label::{label, labelled};
pub use program::{INSTRUCTION_BYTES, program};

#[cfg(test)]
mod tests;
