//! a.4: the golden vectors of the checksums.

use super::Vector;
use super::script::{fd_job, forward, frame, shows};
use crate::frame::Frame;
use crate::job::Job;
use crate::rule::Crc8Profile;
use crate::rule::Operation::Set;

const SEVEN: &str = "123#0102030405060700";

fn computes(what: &'static str, job: &Job, before: &str, after: &str) -> Vector {
    shows(what, 2).add(job).send(before, &[(1, after)])
}

fn xor(positions: [i8; 3], init: u8) -> Job {
    forward().no_op().xor(positions, init)
}

fn crc8(positions: [i8; 3], profile: Crc8Profile) -> Job {
    forward().no_op().crc8(positions, profile)
}

pub(super) fn xor_from_the_start() -> Vector {
    computes("-x 0:6:7:00", &xor([0, 6, 7], 0), "123#0102040810204000", "123#010204081020407F")
}

pub(super) fn xor_from_the_end() -> Vector {
    computes("-x 0:-2:-1:00", &xor([0, -2, -1], 0), "123#01020400", "123#01020407")
}

pub(super) fn xor_from_the_end_of_an_empty_frame() -> Vector {
    computes("-x 0:-2:-1:00 on nothing, and on 2 bytes", &xor([0, -2, -1], 0), "123#", "123#")
        .send("123#0500", &[(1, "123#0505")])
}

pub(super) fn xor_of_eight_bytes_from_the_end() -> Vector {
    computes("-x -8:-2:-1:A5", &xor([-8, -2, -1], 0xA5), "123#0102040810204000", "123#01020408102040DA")
}

pub(super) fn xor_before_the_start_leaves_the_frame_alone() -> Vector {
    computes("-x -8:-2:-1:A5 on 4 bytes, and on 8", &xor([-8, -2, -1], 0xA5), "123#01020400", "123#01020400")
        .send("123#0102040810204000", &[(1, "123#01020408102040DA")])
}

pub(super) fn crc8_from_the_start() -> Vector {
    computes("-c 0:6:7", &crc8([0, 6, 7], Crc8Profile::None), SEVEN, "123#0102030405060744")
}

pub(super) fn crc8_from_the_end() -> Vector {
    computes("-c 0:-2:-1", &crc8([0, -2, -1], Crc8Profile::None), "123#01020300", "123#010203C1")
}

pub(super) fn crc8_over_itself_to_the_end() -> Vector {
    computes("-c 1:-1:0", &crc8([1, -1, 0], Crc8Profile::None), SEVEN, "123#E002030405060700")
}

pub(super) fn crc8_over_itself_to_the_end_of_four_bytes() -> Vector {
    computes("-c 1:-1:0 on 4 bytes", &crc8([1, -1, 0], Crc8Profile::None), "123#01020300", "123#26020300")
}

pub(super) fn crc8_profile_1_takes_its_byte_in() -> Vector {
    computes("-p 1:2F", &crc8([0, 6, 7], Crc8Profile::Byte(0x2F)), SEVEN, "123#0102030405060760")
}

pub(super) fn crc8_profile_2_takes_the_byte_of_the_counter_in() -> Vector {
    let counting = Crc8Profile::ByteByCounter([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    computes("-p 2:00 to 0F", &crc8([0, 6, 7], counting), SEVEN, "123#0102030405060766")
}

pub(super) fn crc8_profile_3_takes_the_identifier_in() -> Vector {
    computes("-p 3", &crc8([0, 6, 7], Crc8Profile::IdXor), SEVEN, "123#01020304050607E1")
}

pub(super) fn crc8_profile_3_takes_the_identifier_that_is_sent() -> Vector {
    let job = forward().id(Set, 0x456).crc8([0, 6, 7], Crc8Profile::IdXor);
    computes("-p 3 after SET of the identifier", &job, SEVEN, "456#01020304050607B8")
}

pub(super) fn xor_covers_the_crc8() -> Vector {
    let both = crc8([0, 5, 6], Crc8Profile::None).xor([0, 6, 7], 0);
    computes("-c 0:5:6 and -x 0:6:7:00", &both, "123#0102030405060000", "123#010203040506F7F0")
}

pub(super) fn crc8_downwards() -> Vector {
    let (down, up) = (crc8([2, 0, 3], Crc8Profile::None), crc8([0, 2, 3], Crc8Profile::None));
    shows("from > to takes the bytes in downwards", 2)
        .add(&down)
        .send("123#01020300", &[(1, "123#010203F8")])
        .delete(&down)
        .add(&up)
        .send("123#01020300", &[(1, "123#010203C1")])
        .send("123#03020100", &[(1, "123#030201F8")])
}

pub(super) fn positions_from_the_start_are_not_bound_by_the_length() -> Vector {
    let mut beyond: Frame = frame("123#0102");
    beyond.data[7] = 3;
    shows("positions from the start are not bound by the length; what is written beyond it is kept unseen", 2)
        .add(&xor([0, 6, 7], 0))
        .send_raw(0, frame("123#0102"), vec![(1, beyond)])
}

pub(super) fn checksums_of_fd_frames() -> Vector {
    let job = fd_job(0, 1).no_op().xor([0, -2, -1], 0);
    let before = "123##5010203040506070809000000";
    computes("-X -x 0:-2:-1:00", &job, before, "123##5010203040506070809000001")
}
