//! a.3, step 7: what a job changes.

use super::Vector;
use super::script::{fd_job, forward, frame, shows};
use crate::frame::{CAN_EFF_FLAG, CANFD_MAX_DLEN, Frame, RawId};
use crate::job::Job;
use crate::rule::Operation::{And, Or, Set, Xor};

/// A job, and what becomes of one frame after the other in it.
fn changes(what: &'static str, job: &Job, frames: &[(&str, &str)]) -> Vector {
    let vector = shows(what, 2).add(job);
    frames.iter().fold(vector, |vector, (before, after)| vector.send(before, &[(1, after)]))
}

fn deletes(what: &'static str, job: &Job, before: &str) -> Vector {
    shows(what, 2).add(job).send(before, &[]).list(&[(job, [0, 0, 1])])
}

pub(super) fn and_or_xor_set_is_the_order() -> Vector {
    let three = forward().id(Xor, 0x001).id(Or, 0x100).id(And, 0x0F0);
    let four = forward().data(Set, &[0x55]).data(Xor, &[0xFF]).data(Or, &[0x01]).data(And, &[0xF0]);
    let xor_last = forward().data(Xor, &[0xFF]).data(Or, &[0x01]).data(And, &[0xF0]);
    shows("AND, OR, XOR, SET, whatever the order on the command line", 2)
        .add(&three)
        .send("7FF#11", &[(1, "1F1#11")])
        .delete(&three)
        .add(&four)
        .send("123#AB", &[(1, "123#55")])
        .delete(&four)
        .add(&xor_last)
        .send("123#AB", &[(1, "123#5E")])
}

pub(super) fn or_makes_an_extended_frame() -> Vector {
    let job = forward().id(Or, CAN_EFF_FLAG);
    changes("OR 80000000 makes a 29-bit frame", &job, &[("123#11", "00000123#11")])
}

pub(super) fn and_makes_a_standard_data_frame() -> Vector {
    let frames = [("12345678#11", "678#11"), ("123#R", "123#")];
    changes("AND 7FF makes an 11-bit data frame of anything", &forward().id(And, 0x7FF), &frames)
}

pub(super) fn set_beyond_11_bits_leaves_a_malformed_identifier() -> Vector {
    let malformed = Frame { id: RawId(0x1234_5678), ..frame("123#11") };
    shows("SET of 29 bits without the EFF flag leaves an 11-bit frame with too many bits", 2)
        .add(&forward().id(Set, 0x1234_5678))
        .send_raw(0, frame("123#11"), vec![(1, malformed)])
}

pub(super) fn length_or_4_on_raw_dlc_b_is_f() -> Vector {
    let frames = [("123#1122334455667788_B", "123#1122334455667788_F")];
    changes("OR 4 on raw DLC B is F", &forward().len(Or, 4), &frames)
}

pub(super) fn length_or_4_on_8_is_raw_dlc_c() -> Vector {
    changes("OR 4 on 8 is raw DLC C", &forward().len(Or, 4), &[("123#1122334455667788", "123#1122334455667788_C")])
}

pub(super) fn length_or_4_on_3_is_7() -> Vector {
    changes("OR 4 on 3 is 7", &forward().len(Or, 4), &[("123#112233", "123#11223300000000")])
}

pub(super) fn length_set_9_and_f_are_kept() -> Vector {
    let (nine, fifteen) = (forward().len(Set, 9), forward().len(Set, 15));
    shows("SET 9 and SET F are raw DLCs", 2)
        .add(&nine)
        .send("123#11", &[(1, "123#1100000000000000_9")])
        .delete(&nine)
        .add(&fifteen)
        .send("123#11", &[(1, "123#1100000000000000_F")])
}

pub(super) fn length_set_16_is_deleted() -> Vector {
    deletes("a raw DLC above 15 deletes the frame", &forward().len(Set, 0x10), "123#11")
}

pub(super) fn a_raw_dlc_passes_unchanged() -> Vector {
    let frames = [("123#1122334455667788_9", "456#1122334455667788_9")];
    changes("a raw DLC stays unless the length is changed", &forward().id(Set, 0x456), &frames)
}

pub(super) fn fd_length_is_not_rounded() -> Vector {
    let nine = "123##5112200000000000000";
    changes("an FD length of 9 passes", &fd_job(0, 1).len(Set, 9), &[("123##11122", nine)])
}

pub(super) fn fd_length_beyond_64_is_deleted() -> Vector {
    deletes("an FD length above 64 deletes the frame", &fd_job(0, 1).len(Set, 65), "123##11122")
}

pub(super) fn fd_flags_are_a_plain_byte_and_fdf_comes_back() -> Vector {
    let (or, set) = (fd_job(0, 1).flags(Or, 2), fd_job(0, 1).flags(Set, 0));
    shows("FD flags are a plain byte; FDF is set again when the frame is sent", 2)
        .add(&or)
        .send("123##511", &[(1, "123##711")])
        .delete(&or)
        .add(&set)
        .send("123##511", &[(1, "123##411")])
}

pub(super) fn data_is_changed_beyond_the_length() -> Vector {
    let all = fd_job(0, 1).data(Set, &[0xAA; CANFD_MAX_DLEN]);
    let longer = forward().data(Or, &[0xF0; 8]).len(Set, 4);
    let grown = Frame { len: 4, ..frame("123#F1F0F0F0F0F0F0F0") };
    let hidden = Frame { data: [0xAA; CANFD_MAX_DLEN], ..frame("123##511") };
    shows("all 8 or 64 bytes are changed, and those beyond the length show when it grows", 2)
        .add(&longer)
        .send_raw(0, frame("123#11"), vec![(1, grown)])
        .add(&all)
        .send_raw(0, frame("123##511"), vec![(1, hidden)])
}

pub(super) fn data_of_remote_frames_is_changed() -> Vector {
    let changed = Frame { data: frame("123##5AABBCCDDEEFF1122").data, ..frame("123#R") };
    shows("the buffer of a remote frame is changed like any other", 2)
        .add(&forward().data(Set, &[0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x11, 0x22]))
        .send_raw(0, frame("123#R"), vec![(1, changed)])
}
