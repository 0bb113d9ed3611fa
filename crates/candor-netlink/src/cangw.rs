//! can-gw: values of jobs, and requests to add, delete and list them.
//!
//! # Kernel
//! Module can-gw, which netlink does not load on demand (`modprobe can-gw`). Adding and deleting need CAP_NET_ADMIN in
//! the initial user namespace; listing needs no privileges. FD jobs since Linux 5.4.
//!
//! # Examples
//! ```no_run
//! use candor_core::filter::Filter;
//! use candor_core::frame::FrameFormat;
//! use candor_core::job::{BusIndex, Job};
//! use candor_netlink::client::Client;
//! use candor_netlink::{cangw, link};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = Client::open()?;
//! let mut index = |name| link::by_name(&mut client, name).map(|link| link.expect("it exists").index);
//! let (can0, can1) = (index("can0")?, index("can1")?);
//! let filter = Filter::parse("123:7FF")?;
//! let job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, filter);
//! let job = cangw::CangwJob::new(&job, can0, can1);
//! cangw::add(&mut client, &job)?;
//! let installed = cangw::dump(&mut client)?.into_iter().find(|one| one.is_same_job(&job));
//! println!("{} frames forwarded", installed.map_or(0, |job| job.counters.handled));
//! cangw::delete(&mut client, &job)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Source
//! [`include/uapi/linux/can/gw.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/gw.h),
//! [`cgw_create_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1071),
//! [`cgw_remove_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L1196),
//! [`cgw_put_job()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L627).

mod checksum;
mod error;
mod exact;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
mod job;
mod operand;
mod request;

pub use error::CangwError;
pub use exact::ExactJob;
pub use job::{CangwJob, JobCounters, JobFlags};
pub use request::{add, add_exact, delete, delete_exact, dump, dump_exact, probe};

const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_GETROUTE: u16 = 26;
/// `AF_CAN`, the first byte of `struct rtcanmsg`.
const AF_CAN: u8 = 29;
/// `CGW_TYPE_CAN_CAN`, the second.
const CGW_TYPE_CAN_CAN: u8 = 1;
/// Bytes of `struct rtcanmsg`.
const HEADER_BYTES: usize = 4;

const CGW_MOD_AND: u16 = 1;
const CGW_MOD_OR: u16 = 2;
const CGW_MOD_XOR: u16 = 3;
const CGW_MOD_SET: u16 = 4;
const CGW_CS_XOR: u16 = 5;
const CGW_CS_CRC8: u16 = 6;
const CGW_HANDLED: u16 = 7;
const CGW_DROPPED: u16 = 8;
const CGW_SRC_IF: u16 = 9;
const CGW_DST_IF: u16 = 10;
const CGW_FILTER: u16 = 11;
const CGW_DELETED: u16 = 12;
const CGW_LIM_HOPS: u16 = 13;
const CGW_MOD_UID: u16 = 14;
const CGW_FDMOD_AND: u16 = 15;
const CGW_FDMOD_OR: u16 = 16;
const CGW_FDMOD_XOR: u16 = 17;
const CGW_FDMOD_SET: u16 = 18;

#[cfg(test)]
mod tests;
