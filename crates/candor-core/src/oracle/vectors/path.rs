//! a.3: the way of a frame through a job: formats, hops, interfaces, echo, stamps, counters.

use super::super::State;
use super::Vector;
use super::script::{fd_job, forward, job, shows};
use crate::frame::CAN_MTU;
use crate::job::{BusIndex, Timestamp};

pub(super) fn each_format_needs_its_own_job() -> Vector {
    let none = [0, 0, 0];
    shows("a classic job passes FD frames by and the other way round, and counts nothing", 2)
        .add(&forward())
        .send("123##11122", &[])
        .list(&[(&forward(), none)])
        .add(&fd_job(0, 1))
        .send("123##11122", &[(1, "123##11122")])
        .send("123#11", &[(1, "123#11")])
        .list(&[(&fd_job(0, 1), [1, 0, 0]), (&forward(), [1, 0, 0])])
}

pub(super) fn a_frame_with_all_its_hops_is_deleted() -> Vector {
    shows("a frame with max_hops gateways behind it is deleted", 3)
        .add(&job(0, 1))
        .add(&job(1, 2))
        .send("123#11", &[(1, "123#11")])
        .list(&[(&job(1, 2), [0, 0, 1]), (&job(0, 1), [1, 0, 0])])
}

pub(super) fn a_frame_for_an_interface_that_is_down_is_dropped() -> Vector {
    shows("a frame for an interface that is down is dropped", 2)
        .add(&forward())
        .set(1, State::Down)
        .send("123#11", &[])
        .list(&[(&forward(), [0, 1, 0])])
}

pub(super) fn a_ring_ends_where_the_frame_first_appeared() -> Vector {
    shows("a frame does not go back to where it first appeared, over several hops, and nothing is counted", 3)
        .max_hops(6)
        .add(&job(0, 1))
        .add(&job(1, 2))
        .add(&job(2, 0))
        .send("123#11", &[(1, "123#11"), (2, "123#11")])
        .list(&[(&job(2, 0), [0, 0, 0]), (&job(1, 2), [1, 0, 0]), (&job(0, 1), [1, 0, 0])])
}

pub(super) fn back_to_incoming_is_allowed_on_request() -> Vector {
    let itself = job(0, 0).back_to_incoming();
    shows("with -i a frame may go back, and meets the same job with one hop more", 1)
        .add(&itself)
        .send("123#11", &[(0, "123#11")])
        .list(&[(&itself, [1, 0, 1])])
}

pub(super) fn a_hop_limit_of_1_allows_no_further_hop() -> Vector {
    shows("a hop limit of 1 on the first job allows no further hop, whatever max_hops is", 3)
        .max_hops(2)
        .add(&job(0, 1).hop_limit(1))
        .add(&job(1, 2))
        .send("123#11", &[(1, "123#11")])
        .list(&[(&job(1, 2), [0, 0, 1]), (&job(0, 1), [1, 0, 0])])
}

pub(super) fn a_hop_limit_counts_on_the_first_job_only() -> Vector {
    shows("a hop limit on a later job has no effect", 4)
        .max_hops(3)
        .add(&job(0, 1))
        .add(&job(1, 2).hop_limit(1))
        .add(&job(2, 3))
        .send("123#11", &[(1, "123#11"), (2, "123#11"), (3, "123#11")])
}

pub(super) fn a_frame_too_large_for_the_interface_is_dropped() -> Vector {
    shows("an FD frame for an interface of classic frames is dropped", 2)
        .with(1, |interface| interface.mtu = CAN_MTU)
        .add(&fd_job(0, 1))
        .send("123##11122", &[])
        .list(&[(&fd_job(0, 1), [0, 1, 0])])
}

pub(super) fn handled_is_what_the_queue_took() -> Vector {
    let mut vector = shows("handled counts what the queue took, dropped what it did not", 2)
        .with(1, |interface| interface.room = Some(33))
        .add(&forward());
    for number in 0..100 {
        vector = vector.send("123#11", if number < 33 { &[(1, "123#11")] } else { &[] });
    }
    vector.list(&[(&forward(), [33, 67, 0])])
}

pub(super) fn without_echo_a_vcan_frame_disappears_and_is_handled() -> Vector {
    let silent = forward().without_echo();
    shows("on vcan nobody sees a frame without echo, and it is handled", 2)
        .add(&silent)
        .send("123#11", &[])
        .list(&[(&silent, [1, 0, 0])])
}

pub(super) fn a_two_way_bridge_with_echo_deletes_one_frame_each_time() -> Vector {
    shows("the echo of a two-way bridge meets the way back and is deleted there: no loop", 2)
        .add(&job(0, 1))
        .add(&job(1, 0))
        .send("123#11", &[(1, "123#11")])
        .send_from(1, "124#11", &[(0, "124#11")])
        .list(&[(&job(1, 0), [1, 0, 1]), (&job(0, 1), [1, 0, 1])])
}

pub(super) fn a_time_stamp_is_made_anew() -> Vector {
    shows("without -t receivers stamp the frame anew", 2).add(&forward()).send_stamped("123#11", 1, Timestamp::Fresh)
}

pub(super) fn a_time_stamp_is_kept_on_request() -> Vector {
    shows("with -t the frame carries the same stamp on both interfaces", 2)
        .add(&forward().keeping_stamps())
        .send_stamped("123#11", 1, Timestamp::Kept)
}

pub(super) fn a_vxcan_pair_forgets_the_hops() -> Vector {
    let into = job(0, 1).without_echo();
    shows("vxcan resets the hops; a frame that leaves it has no gateway behind it", 4)
        .with(1, |interface| interface.peer = Some(BusIndex(2)))
        .with(2, |interface| interface.peer = Some(BusIndex(1)))
        .add(&into)
        .send("123#11", &[(2, "123#11")])
        .add(&job(2, 3))
        .send("123#11", &[(2, "123#11"), (3, "123#11")])
        .list(&[(&job(2, 3), [1, 0, 0]), (&into, [2, 0, 0])])
}
