//! Receive lists of the kernel: the jobs that match a frame, in the order of delivery.
//!
//! # Source
//! Linux 6.1:
//! [`can_rcv_list_find()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L364),
//! [`can_rcv_filter()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L578).

use crate::filter::{CAN_INV_FILTER, Filter};
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, Frame};
use crate::job::{BusIndex, Job};

/// The receive lists, in the order in which the kernel serves them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// Error frames only.
    Error,
    /// Nothing is compared.
    All,
    /// Some bits are compared.
    Masked,
    /// Some bits are compared, and at least one must differ.
    Inverted,
    /// All bits of one identifier, data frames only.
    Single,
}

const LISTS: [List; 5] = [List::Error, List::All, List::Masked, List::Inverted, List::Single];

/// Positions of the jobs that receive a frame, in the order of the receive lists, within a list in the given order.
pub(super) fn receivers<'a>(jobs: impl Iterator<Item = &'a Job>, from: BusIndex, frame: &Frame) -> Vec<usize> {
    let on_bus: Vec<_> = jobs.enumerate().filter(|(_, job)| job.from == from).collect();
    let of_list = |list| {
        let jobs = on_bus.iter().filter(move |(_, job)| list_of(job.filter) == list && matches(job.filter, frame));
        jobs.map(|(index, _)| *index)
    };
    LISTS.into_iter().flat_map(of_list).collect()
}

fn list_of(filter: Filter) -> List {
    let one_identifier = if filter.id & CAN_EFF_FLAG == 0 { CAN_SFF_MASK } else { CAN_EFF_MASK };
    match compared_bits(filter) {
        _ if filter.mask & CAN_ERR_FLAG != 0 => List::Error,
        _ if filter.id & CAN_INV_FILTER != 0 => List::Inverted,
        0 => List::All,
        bits if bits == CAN_EFF_FLAG | CAN_RTR_FLAG | one_identifier && filter.id & CAN_RTR_FLAG == 0 => List::Single,
        _ => List::Masked,
    }
}

fn matches(filter: Filter, frame: &Frame) -> bool {
    let id = frame.id.0;
    let is_error_frame = id & CAN_ERR_FLAG != 0;
    if filter.mask & CAN_ERR_FLAG != 0 {
        return is_error_frame && id & filter.mask & CAN_EFF_MASK != 0;
    }
    let all_equal = (id ^ filter.id) & compared_bits(filter) == 0;
    let is_inverted = filter.id & CAN_INV_FILTER != 0;
    !is_error_frame && all_equal != is_inverted
}

/// The compared bits. A filter for 11-bit identifiers compares at most 11 identifier bits.
fn compared_bits(Filter { id, mask }: Filter) -> u32 {
    let standard_only = mask & CAN_EFF_FLAG != 0 && id & CAN_EFF_FLAG == 0;
    let bits = mask & !CAN_ERR_FLAG;
    if standard_only { bits & (CAN_EFF_FLAG | CAN_RTR_FLAG | CAN_SFF_MASK) } else { bits }
}
