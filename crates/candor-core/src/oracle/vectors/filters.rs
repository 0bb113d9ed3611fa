//! a.2: which frames a job gets, and in which order the jobs get them.

use super::Vector;
use super::script::{forward, job, shows};
use crate::frame::{CAN_EFF_FLAG, CAN_ERR_FLAG, CAN_RTR_FLAG};
use crate::job::Job;
use crate::rule::Operation::Set;

/// A job that shows by the identifier of what it sends that it was there.
fn marked(id: u32) -> Job {
    forward().id(Set, id)
}

pub(super) fn lists_come_in_their_order() -> Vector {
    shows("delivery: mask 0, masked, inverted, single identifiers; in each the newest first", 2)
        .add(&marked(0x501).filtered(0x123, 0xC000_07FF))
        .add(&marked(0x502).filtered(0x123, 0x7FF))
        .add(&marked(0x503).inverted(0x456, 0x7FF))
        .add(&marked(0x504).filtered(0, 0))
        .add(&marked(0x505).filtered(0x120, 0x7F0))
        .send("123#", &[(1, "504#"), (1, "505#"), (1, "502#"), (1, "503#"), (1, "501#")])
}

pub(super) fn lists_of_29_bit_identifiers_come_in_the_same_order() -> Vector {
    let extended = |id: u32| marked(id | CAN_EFF_FLAG);
    shows("29-bit identifiers are delivered in the same order, single ones last", 2)
        .add(&extended(0x501).filtered(0x9234_5678, 0xDFFF_FFFF))
        .add(&extended(0x502).filtered(0x9234_5600, 0x9FFF_FF00))
        .add(&extended(0x503).inverted(0x8000_0001, 0xDFFF_FFFF))
        .add(&extended(0x504).filtered(0, 0))
        .send("12345678#", &[(1, "00000504#"), (1, "00000502#"), (1, "00000503#"), (1, "00000501#")])
}

pub(super) fn single_identifiers_of_remote_frames_are_masked_filters() -> Vector {
    let remote = |id: u32| marked(id | CAN_RTR_FLAG);
    shows("a filter for one identifier of remote frames comes with the masked ones, before the inverted", 2)
        .add(&remote(0x501).filtered(0x123 | CAN_RTR_FLAG, 0xC000_07FF))
        .add(&remote(0x502).inverted(0x456, 0x7FF))
        .send("123#R", &[(1, "501#R"), (1, "502#R")])
        .send("123#", &[(1, "502#R")])
}

pub(super) fn newest_first_within_a_list() -> Vector {
    let exact = |id| marked(id).filtered(0x123, 0xC000_07FF);
    shows("within a list the newest job is first", 2)
        .add(&exact(0x501))
        .add(&exact(0x502))
        .add(&exact(0x503))
        .send("123#", &[(1, "503#"), (1, "502#"), (1, "501#")])
}

pub(super) fn every_matching_job_gets_the_frame_as_it_came() -> Vector {
    shows("every matching job gets the frame as it came in; there is no first match", 3)
        .add(&job(0, 2))
        .add(&forward().id(Set, 0x456).data(Set, &[0xAA]))
        .send("123#11", &[(1, "456#AA"), (2, "123#11")])
}

pub(super) fn a_loose_filter_takes_remote_and_extended_frames() -> Vector {
    shows("123:7FF is also for remote frames and for 29-bit identifiers with the same low 11 bits", 2)
        .add(&forward().filtered(0x123, 0x7FF))
        .send("123#11", &[(1, "123#11")])
        .send("123#R", &[(1, "123#R")])
        .send("00000123#11", &[(1, "00000123#11")])
        .send("1FFFF923#11", &[(1, "1FFFF923#11")])
        .send("124#11", &[])
}

pub(super) fn a_tight_filter_takes_standard_data_frames_only() -> Vector {
    shows("123:C00007FF is for 11-bit data frames only", 2)
        .add(&forward().filtered(0x123, 0xC000_07FF))
        .send("123#11", &[(1, "123#11")])
        .send("123#R", &[])
        .send("00000123#11", &[])
        .send("00000123#R", &[])
}

pub(super) fn a_29_bit_mask_on_an_11_bit_identifier_is_cut() -> Vector {
    shows("123:DFFFFFFF is the same as 123:C00007FF", 2)
        .add(&forward().filtered(0x123, 0xDFFF_FFFF))
        .send("123#11", &[(1, "123#11")])
        .send("00000123#11", &[])
        .send("123#R", &[])
}

pub(super) fn inverted_filters_take_the_others() -> Vector {
    shows("123~7FF is for all that 123:7FF is not for", 2)
        .add(&forward().inverted(0x123, 0x7FF))
        .send("123#11", &[])
        .send("123#R", &[])
        .send("00000123#11", &[])
        .send("124#11", &[(1, "124#11")])
        .send("12345678#R", &[(1, "12345678#R")])
}

pub(super) fn an_inverted_filter_with_mask_0_takes_nothing() -> Vector {
    shows("inversion is looked at before mask 0, so 0~0 is for nothing", 2)
        .add(&forward().inverted(0, 0))
        .send("123#11", &[])
        .send("12345678#11", &[])
        .add(&forward().inverted(0, 1))
        .send("123#11", &[(1, "123#11")])
}

pub(super) fn error_frames_reach_error_filters_only() -> Vector {
    let bus_off = forward().filtered(0, CAN_ERR_FLAG | 0x40);
    let error = "20000040#0000000000000000";
    shows("an error frame is for error filters with a bit of its class, and for nobody else", 2)
        .add(&forward())
        .add(&forward().inverted(0x123, 0x7FF))
        .add(&forward().filtered(0, CAN_ERR_FLAG | 0x4))
        .send(error, &[])
        .add(&bus_off)
        .send(error, &[(1, error)])
        .send("040#11", &[(1, "040#11"), (1, "040#11")])
        .add(&forward().filtered(CAN_EFF_FLAG | 0x123, CAN_ERR_FLAG | 0x40))
        .send(error, &[(1, error), (1, error)])
}

pub(super) fn frames_of_local_sockets_are_routed() -> Vector {
    shows("frames of local sockets are routed after their loopback", 2)
        .add(&forward())
        .send("123#11", &[(1, "123#11")])
        .list(&[(&forward(), [1, 0, 0])])
}

pub(super) fn frames_without_loopback_are_not_routed() -> Vector {
    shows("frames that are sent without loopback are not routed", 2)
        .add(&forward())
        .send_without_loopback("123#11")
        .list(&[(&forward(), [0, 0, 0])])
        .send("123#22", &[(1, "123#22")])
}
