//! a.1: adding, changing, deleting and listing jobs.

use super::super::{Errno, State};
use super::script::{fd_job, forward, job, shows};
use super::{Event, Vector};
use crate::job::BusIndex;
use crate::rule::Operation::{Or, Set};

pub(super) fn added_twice_does_everything_twice() -> Vector {
    shows("nothing looks for duplicates: each doubles every frame", 2)
        .add(&forward())
        .add(&forward())
        .send("123#11", &[(1, "123#11"), (1, "123#11")])
        .list(&[(&forward(), [1, 0, 0]), (&forward(), [1, 0, 0])])
}

pub(super) fn unknown_interfaces_are_refused() -> Vector {
    shows("ENODEV unless both interfaces exist in this namespace", 2)
        .add_refused(&job(0, 7), Errno::Enodev)
        .add_refused(&job(7, 0), Errno::Enodev)
        .list(&[])
}

pub(super) fn hop_limits_are_from_1_to_max_hops() -> Vector {
    shows("EINVAL for a hop limit outside of 1 to max_hops", 2)
        .max_hops(2)
        .add_refused(&forward().hop_limit(0), Errno::Einval)
        .add_refused(&forward().hop_limit(3), Errno::Einval)
        .add(&forward().hop_limit(1))
        .add(&forward().hop_limit(2))
}

pub(super) fn positions_of_checksums_are_within_the_buffer() -> Vector {
    let classic = |at| forward().no_op().xor([0, 0, at], 0);
    let fd = |at| fd_job(0, 1).no_op().xor([0, at, 0], 0);
    shows("EINVAL for a position outside of -8 to 7, for FD of -64 to 63", 2)
        .add_refused(&classic(8), Errno::Einval)
        .add_refused(&classic(-9), Errno::Einval)
        .add_refused(&fd(64), Errno::Einval)
        .add_refused(&fd(-65), Errno::Einval)
        .add(&classic(7))
        .add(&classic(-8))
        .add(&fd(63))
        .add(&fd(-64))
}

pub(super) fn checksums_and_uid_need_a_modification() -> Vector {
    let ignored = forward().xor([0, 6, 7], 0).uid(7);
    let impossible = forward().xor([0, 0, 99], 0);
    shows("without an active modification checksums and uid are ignored, wrong ones too", 2)
        .add(&ignored)
        .send("123#0102030405060700", &[(1, "123#0102030405060700")])
        .add(&impossible)
        .delete(&forward())
        .delete(&forward())
        .list(&[])
}

pub(super) fn interfaces_may_be_down_when_a_job_is_added() -> Vector {
    shows("a job may be added while its interfaces are down", 2)
        .set(1, State::Down)
        .add(&forward())
        .set(1, State::Up)
        .send("123#11", &[(1, "123#11")])
}

pub(super) fn from_an_interface_to_itself_never_fires() -> Vector {
    let itself = job(0, 0);
    shows("6.1 takes a job from an interface to itself; without -i it never fires", 2)
        .add(&itself)
        .send("123#11", &[])
        .add(&forward())
        .send("123#22", &[(1, "123#22")])
        .list(&[(&forward(), [1, 0, 0]), (&itself, [0, 0, 0])])
}

pub(super) fn from_an_interface_to_itself_is_refused_by_newer_kernels() -> Vector {
    shows("kernels of 2026 refuse a job from an interface to itself without -i", 1)
        .refusing_same_interface()
        .add_refused(&job(0, 0), Errno::Einval)
        .add(&job(0, 0).back_to_incoming())
}

pub(super) fn a_uid_changes_modifications_in_place() -> Vector {
    let (old, new) = (forward().uid(7).id(Set, 0x456), forward().uid(7).id(Set, 0x457));
    shows("with a uid in use, modifications and checksums are exchanged, counters and place are kept", 2)
        .add(&old)
        .add(&forward())
        .send("123#11", &[(1, "123#11"), (1, "456#11")])
        .add(&new)
        .send("123#11", &[(1, "123#11"), (1, "457#11")])
        .list(&[(&forward(), [2, 0, 0]), (&new, [2, 0, 0])])
}

pub(super) fn a_uid_changes_neither_flags_nor_hop_limit() -> Vector {
    let old = forward().uid(7).id(Set, 0x456);
    let other_flags = forward().uid(7).id(Set, 0x457).without_echo().hop_limit(1);
    let other_format = fd_job(0, 1).uid(7).id(Set, 0x458);
    shows("an update ignores flags and hop limit, even the one that says FD, and still says 0", 2)
        .add(&old)
        .add(&other_flags)
        .send("123#11", &[(1, "457#11")])
        .add(&other_format)
        .send("123#11", &[(1, "458#11")])
        .delete_refused(&other_flags)
        .delete(&old)
}

pub(super) fn a_uid_belongs_to_its_interfaces_and_filter() -> Vector {
    let old = forward().uid(7).id(Set, 0x456);
    shows("EINVAL for a uid in use with other interfaces or another filter", 3)
        .add(&old)
        .add_refused(&job(0, 2).uid(7).id(Set, 0x456), Errno::Einval)
        .add_refused(&old.clone().filtered(0x123, 0x7FF), Errno::Einval)
        .list(&[(&old, [0, 0, 0])])
}

pub(super) fn the_newest_match_is_deleted() -> Vector {
    shows("of several equal jobs the newest is deleted", 2)
        .add(&forward())
        .send("123#11", &[(1, "123#11")])
        .add(&forward())
        .delete(&forward())
        .list(&[(&forward(), [1, 0, 0])])
}

pub(super) fn delete_compares_everything_without_a_uid() -> Vector {
    let there = forward().filtered(0x123, 0x7FF).no_op().xor([0, 6, 7], 0).hop_limit(1);
    shows("EINVAL unless flags, hop limit, interfaces, filter, modifications and checksums are equal", 2)
        .add(&there)
        .delete_refused(&there.clone().without_echo())
        .delete_refused(&there.clone().keeping_stamps())
        .delete_refused(&there.clone().back_to_incoming())
        .delete_refused(&forward().filtered(0x123, 0x7FF).no_op().xor([0, 6, 7], 0))
        .delete_refused(&there.clone().filtered(0x123, 0x7FE))
        .delete_refused(&there.clone().id(Or, 0))
        .delete_refused(&there.clone().xor([0, 6, 7], 1))
        .delete_refused(&there.clone().without_checksums())
        .delete_refused(&there.clone().uid(7))
        .delete(&there)
        .delete_refused(&there)
}

pub(super) fn delete_compares_only_the_uid_with_one() -> Vector {
    let there = forward().uid(7).id(Set, 0x456);
    shows("if one of both has a uid the uids must be equal, and modifications are not compared", 2)
        .add(&there)
        .delete_refused(&forward().id(Set, 0x456))
        .delete_refused(&forward().uid(8).id(Set, 0x456))
        .delete(&forward().uid(7).id(Or, 1))
}

pub(super) fn delete_compares_filters_as_given() -> Vector {
    let there = forward().filtered(0x123, 0xDFFF_FFFF);
    shows("delete compares the filter as it was given, not what the kernel makes of it", 2)
        .add(&there)
        .delete_refused(&forward().filtered(0x123, 0xC000_07FF))
        .delete(&there)
}

pub(super) fn flush_deletes_all() -> Vector {
    shows("flush deletes all jobs", 2).add(&forward()).add(&fd_job(1, 0)).then(Event::Flush).list(&[])
}

pub(super) fn jobs_are_listed_newest_first() -> Vector {
    let [a, b, c] = [0x101, 0x102, 0x103].map(|id| forward().filtered(id, 0x7FF));
    let none = [0, 0, 0];
    shows("the list begins with the newest job", 2).add(&a).add(&b).add(&c).list(&[(&c, none), (&b, none), (&a, none)])
}

pub(super) fn a_removed_interface_takes_its_jobs_along() -> Vector {
    shows("jobs from and to an interface that is removed are gone, without a word", 3)
        .add(&job(0, 1))
        .add(&job(1, 2))
        .add(&job(0, 2))
        .then(Event::Detach(BusIndex(1)))
        .list(&[(&job(0, 2), [0, 0, 0])])
        .send("123#11", &[(2, "123#11")])
}

pub(super) fn a_renamed_interface_keeps_its_jobs() -> Vector {
    shows("jobs stay with an interface that gets another name", 2)
        .add(&forward())
        .then(Event::Rename(BusIndex(1), "other1"))
        .list(&[(&forward(), [0, 0, 0])])
        .send("123#11", &[(1, "123#11")])
}

pub(super) fn down_and_up_keeps_jobs_and_counters() -> Vector {
    shows("jobs and counters outlast down and up", 2)
        .add(&forward())
        .send("123#11", &[(1, "123#11")])
        .set(0, State::Down)
        .set(1, State::Down)
        .set(0, State::Up)
        .set(1, State::Up)
        .send("123#11", &[(1, "123#11")])
        .list(&[(&forward(), [2, 0, 0])])
}
