//! Traffic control: the disciplines, classes and filters of this crate as messages of rtnetlink.
//!
//! ```text
//!  Qdisc, Class, Filter ──request──▶ bytes ──▶ kernel ──▶ bytes ──dump──▶ Qdisc, Class, Filter, counters
//!                                                                            └──observe──▶ Tree of an interface
//! ```
//!
//! Anything that the types cannot express is kept as bytes under the kernel's name (`Other`). A value that no message can carry
//! is an [`EncodeError`] before anything is sent.
//!
//! Attributes are nested without `NLA_F_NESTED`, as old kernels require, except those of `ets`, which needs it.
//!
//! # Kernel
//! Listing needs no privilege. Changing needs CAP_NET_ADMIN over the network namespace. `ets` exists since Linux 5.6,
//! `etf` since 4.19, `police` in frames since 5.13, `bpf` by control group since 4.19; modules are loaded on demand.
//!
//! # Source
//! Linux 6.1: [`struct tcmsg`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/rtnetlink.h#L601),
//! [`struct tc_sizespec`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_sched.h#L102),
//! [`TCA_U32_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_cls.h#L223),
//! [`TCA_STATS_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/gen_stats.h#L8);
//! [`qdisc_create()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L1237),
//! [`tc_ctl_tclass()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L2100),
//! [`tc_new_tfilter()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_api.c#L2057).

mod action;
pub mod arbitration;
mod class;
mod codec;
mod discipline;
mod ematch;
mod error;
mod filter;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
mod list;
mod message;
mod observe;
pub mod program;
mod replace;
mod request;
mod stats;

pub use error::{EncodeError, ProgramError, QueueError, TcError};
pub use list::{ListedQdisc, qdiscs};
pub use message::InterfaceNames;
pub use observe::{Observed, observe};
pub(crate) use replace::make_qdisc;
pub use replace::replace_qdisc;
pub use request::delete_qdisc;
pub(crate) use request::{Mode, delete_filters, make_filter, send_class};
pub use stats::{ClassStats, FilterStats, Hits, HtbStats, QdiscStats};

#[cfg(test)]
mod tests;
