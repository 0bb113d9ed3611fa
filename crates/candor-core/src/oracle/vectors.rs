//! Test vectors of observed can-gw behaviour, as scripts that run on any gateway.
//!
//! Each [`Vector`] is one line of section a of the specification (`docs/can-gw.md` tells the same): interfaces, jobs,
//! frames that a local socket sends, what the sockets of every interface see because of it, and what the jobs have
//! counted. The oracle's [`World`] runs them in this crate's tests, real kernels in laboratory guests.

mod checksums;
mod control;
mod filters;
mod modifications;
mod path;
mod script;

use super::{Errno, Interface, Kernel, Loopback, State, World};
use crate::frame::Frame;
use crate::job::Job;
use crate::job::{BusIndex, Timestamp};

/// One line of the specification as a script.
#[derive(Clone, Debug)]
pub struct Vector {
    /// The name of the test.
    pub name: &'static str,
    /// Title.
    pub shows: &'static str,
    /// The kernel that it needs.
    pub kernel: Kernel,
    /// The interfaces that it needs, in the order of their indices.
    pub interfaces: Vec<Interface>,
    /// Events with their expected results.
    pub events: Vec<Event>,
}

/// One thing that is done, and what must come of it.
#[derive(Clone, Debug)]
pub enum Event {
    /// A job is added.
    Add {
        /// The job.
        job: Job,
        /// Expected answer of the kernel.
        answer: Result<(), Errno>,
    },
    /// A job is deleted.
    Delete {
        /// The job.
        job: Job,
        /// Expected answer of the kernel.
        answer: Result<(), Errno>,
    },
    /// An interface is removed.
    Detach(BusIndex),
    /// All jobs are deleted.
    Flush,
    /// The jobs are listed.
    List(Vec<Expected>),
    /// An interface gets another name.
    Rename(BusIndex, &'static str),
    /// A local socket sends a frame.
    Send {
        /// Where.
        on: BusIndex,
        /// Frame.
        frame: Frame,
        /// True if other local sockets, and so can-gw, see it.
        loopback: Loopback,
        /// Expected frames on the sockets of each interface, in order, without the frame itself where it was sent.
        /// Between interfaces the order means nothing.
        sees: Vec<(BusIndex, Frame)>,
        /// The stamp of the last of these, if that is what the vector is about: kept means equal to that of the frame
        /// where it was sent.
        stamp: Option<Timestamp>,
    },
    /// An interface is set up or down.
    Set(BusIndex, State),
}

/// A job in a list: what it is, and handled, dropped and deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Source and destination.
    pub way: (BusIndex, BusIndex),
    /// The identifier of its filter.
    pub filter_id: u32,
    /// Counters: handled, dropped, deleted.
    pub counted: [u32; 3],
}

/// Something that vectors can run on: a model, a kernel, a program.
pub trait Gateway {
    /// Adds a job.
    ///
    /// # Errors
    /// What the kernel says.
    fn add(&mut self, job: &Job) -> Result<(), Errno>;
    /// Deletes a job.
    ///
    /// # Errors
    /// What the kernel says.
    fn delete(&mut self, job: &Job) -> Result<(), Errno>;
    /// Removes an interface.
    fn detach(&mut self, interface: BusIndex);
    /// Deletes all jobs.
    fn flush(&mut self);
    /// Lists the jobs, newest first.
    fn list(&mut self) -> Vec<Expected>;
    /// Gives an interface another name.
    fn rename(&mut self, interface: BusIndex, name: &str);
    /// Sends a frame from a local socket and gives what sockets on every interface see because of it, beside the frame
    /// itself where it was sent, each with its stamp where that is known.
    fn send(&mut self, on: BusIndex, frame: &Frame, loopback: Loopback) -> Vec<(BusIndex, Frame, Option<Timestamp>)>;
    /// Sets an interface up or down.
    fn set(&mut self, interface: BusIndex, state: State);
}

/// Where a gateway did something else than a vector says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}, event {event} ({shows}): expected {expected}, got {got}")]
pub struct Mismatch {
    /// The vector.
    pub name: &'static str,
    /// Title.
    pub shows: &'static str,
    /// Position in its events.
    pub event: usize,
    /// Expected result.
    pub expected: String,
    /// Actual result.
    pub got: String,
}

impl Vector {
    /// The world in which it takes place: its kernel, its interfaces, no job.
    #[must_use]
    pub fn world(&self) -> World {
        let mut world = World::new(self.kernel);
        for interface in &self.interfaces {
            world.attach(interface.clone());
        }
        world
    }

    /// Returns true if vcan interfaces are sufficient: no full queue, no pair, no driver with its own echo.
    #[must_use]
    pub fn needs_vcan_only(&self) -> bool {
        self.interfaces.iter().all(|interface| {
            let vcan = Interface::vcan(&interface.name);
            Interface { mtu: vcan.mtu, state: vcan.state, ..interface.clone() } == vcan
        })
    }

    /// Runs it on a gateway that has its interfaces and no job.
    ///
    /// # Errors
    /// The first difference.
    pub fn run(&self, gateway: &mut impl Gateway) -> Result<(), Mismatch> {
        for (position, event) in self.events.iter().enumerate() {
            let (expected, got) = self.step(event, gateway);
            if expected != got {
                let (name, shows) = (self.name, self.shows);
                return Err(Mismatch { name, shows, event: position, expected, got });
            }
        }
        Ok(())
    }

    /// Returns the expected and the actual result of an event as text.
    fn step(&self, event: &Event, gateway: &mut impl Gateway) -> (String, String) {
        match event {
            Event::Add { job, answer } => (format!("{answer:?}"), format!("{:?}", gateway.add(job))),
            Event::Delete { job, answer } => (format!("{answer:?}"), format!("{:?}", gateway.delete(job))),
            Event::List(expected) => (format!("{expected:?}"), format!("{:?}", gateway.list())),
            Event::Send { on, frame, loopback, sees, stamp } => {
                let seen = gateway.send(*on, frame, *loopback);
                let last = seen.last().and_then(|(_, _, stamp)| *stamp);
                let frames: Vec<_> = seen.into_iter().map(|(on, frame, _)| (on, frame)).collect();
                // Where the gateway cannot tell, nothing is compared.
                let stamps = stamp.zip(last).map_or((None, None), |(expected, got)| (Some(expected), Some(got)));
                (self.by_interface(sees, stamps.0), self.by_interface(&frames, stamps.1))
            }
            Event::Detach(interface) => {
                gateway.detach(*interface);
                Default::default()
            }
            Event::Flush => {
                gateway.flush();
                Default::default()
            }
            Event::Rename(interface, name) => {
                gateway.rename(*interface, name);
                Default::default()
            }
            Event::Set(interface, state) => {
                gateway.set(*interface, *state);
                Default::default()
            }
        }
    }

    fn by_interface(&self, frames: &[(BusIndex, Frame)], stamp: Option<Timestamp>) -> String {
        let of = |on: usize| -> Vec<String> {
            frames.iter().filter(|(bus, _)| bus.0 == on).map(|(_, frame)| script::bytes(frame)).collect()
        };
        let seen: Vec<_> = (0..self.interfaces.len()).map(of).collect();
        stamp.map_or_else(|| format!("{seen:?}"), |stamp| format!("{seen:?} {stamp:?}"))
    }
}

impl Gateway for World {
    fn add(&mut self, job: &Job) -> Result<(), Errno> {
        Self::add(self, job).map(drop)
    }

    fn delete(&mut self, job: &Job) -> Result<(), Errno> {
        Self::delete(self, job).map(drop)
    }

    fn detach(&mut self, interface: BusIndex) {
        Self::detach(self, interface);
    }

    fn flush(&mut self) {
        Self::flush(self);
    }

    fn list(&mut self) -> Vec<Expected> {
        let listed = Self::list(self).into_iter();
        let expected = listed.map(|listed| Expected {
            way: (listed.job.from, listed.job.to),
            filter_id: listed.job.filter.id,
            counted: [listed.handled, listed.dropped, listed.deleted],
        });
        expected.collect()
    }

    fn rename(&mut self, interface: BusIndex, name: &str) {
        if let Some(interface) = self.interface(interface) {
            interface.name = name.into();
        }
    }

    fn send(&mut self, on: BusIndex, frame: &Frame, loopback: Loopback) -> Vec<(BusIndex, Frame, Option<Timestamp>)> {
        // A socket that is refused makes nobody see anything.
        let seen = self.send_locally(on, frame, loopback).map(|outcome| outcome.seen).unwrap_or_default();
        let itself = match loopback {
            Loopback::Off => None,
            Loopback::On => seen.iter().position(|seen| seen.on == on),
        };
        let others = seen.into_iter().enumerate().filter(|(position, _)| Some(*position) != itself);
        others.map(|(_, seen)| (seen.on, seen.frame, Some(seen.stamp))).collect()
    }

    fn set(&mut self, interface: BusIndex, state: State) {
        if let Some(interface) = self.interface(interface) {
            interface.state = state;
        }
    }
}

#[cfg(test)]
mod tests;

/// All vectors, each a test of its name on the oracle.
macro_rules! vectors {
    ($($module:ident::$name:ident),* $(,)?) => {
        /// All vectors.
        #[must_use]
        pub fn all() -> Vec<Vector> {
            vec![$(Vector { name: stringify!($name), ..$module::$name() }),*]
        }

        #[cfg(test)]
        mod on_the_oracle {
            $(#[test]
            fn $name() {
                let vector = super::Vector { name: stringify!($name), ..super::$module::$name() };
                if let Err(mismatch) = vector.run(&mut vector.world()) {
                    panic!("{mismatch}");
                }
            })*
        }
    };
}

vectors! {
    control::added_twice_does_everything_twice,
    control::unknown_interfaces_are_refused,
    control::hop_limits_are_from_1_to_max_hops,
    control::positions_of_checksums_are_within_the_buffer,
    control::checksums_and_uid_need_a_modification,
    control::interfaces_may_be_down_when_a_job_is_added,
    control::from_an_interface_to_itself_never_fires,
    control::from_an_interface_to_itself_is_refused_by_newer_kernels,
    control::a_uid_changes_modifications_in_place,
    control::a_uid_changes_neither_flags_nor_hop_limit,
    control::a_uid_belongs_to_its_interfaces_and_filter,
    control::the_newest_match_is_deleted,
    control::delete_compares_everything_without_a_uid,
    control::delete_compares_only_the_uid_with_one,
    control::delete_compares_filters_as_given,
    control::flush_deletes_all,
    control::jobs_are_listed_newest_first,
    control::a_removed_interface_takes_its_jobs_along,
    control::a_renamed_interface_keeps_its_jobs,
    control::down_and_up_keeps_jobs_and_counters,
    filters::lists_come_in_their_order,
    filters::lists_of_29_bit_identifiers_come_in_the_same_order,
    filters::single_identifiers_of_remote_frames_are_masked_filters,
    filters::newest_first_within_a_list,
    filters::every_matching_job_gets_the_frame_as_it_came,
    filters::a_loose_filter_takes_remote_and_extended_frames,
    filters::a_tight_filter_takes_standard_data_frames_only,
    filters::a_29_bit_mask_on_an_11_bit_identifier_is_cut,
    filters::inverted_filters_take_the_others,
    filters::an_inverted_filter_with_mask_0_takes_nothing,
    filters::error_frames_reach_error_filters_only,
    filters::frames_of_local_sockets_are_routed,
    filters::frames_without_loopback_are_not_routed,
    path::each_format_needs_its_own_job,
    path::a_frame_with_all_its_hops_is_deleted,
    path::a_frame_for_an_interface_that_is_down_is_dropped,
    path::a_ring_ends_where_the_frame_first_appeared,
    path::back_to_incoming_is_allowed_on_request,
    path::a_hop_limit_of_1_allows_no_further_hop,
    path::a_hop_limit_counts_on_the_first_job_only,
    path::a_frame_too_large_for_the_interface_is_dropped,
    path::handled_is_what_the_queue_took,
    path::without_echo_a_vcan_frame_disappears_and_is_handled,
    path::a_two_way_bridge_with_echo_deletes_one_frame_each_time,
    path::a_time_stamp_is_made_anew,
    path::a_time_stamp_is_kept_on_request,
    path::a_vxcan_pair_forgets_the_hops,
    modifications::and_or_xor_set_is_the_order,
    modifications::or_makes_an_extended_frame,
    modifications::and_makes_a_standard_data_frame,
    modifications::set_beyond_11_bits_leaves_a_malformed_identifier,
    modifications::length_or_4_on_raw_dlc_b_is_f,
    modifications::length_or_4_on_8_is_raw_dlc_c,
    modifications::length_or_4_on_3_is_7,
    modifications::length_set_9_and_f_are_kept,
    modifications::length_set_16_is_deleted,
    modifications::a_raw_dlc_passes_unchanged,
    modifications::fd_length_is_not_rounded,
    modifications::fd_length_beyond_64_is_deleted,
    modifications::fd_flags_are_a_plain_byte_and_fdf_comes_back,
    modifications::data_is_changed_beyond_the_length,
    modifications::data_of_remote_frames_is_changed,
    checksums::xor_from_the_start,
    checksums::xor_from_the_end,
    checksums::xor_from_the_end_of_an_empty_frame,
    checksums::xor_of_eight_bytes_from_the_end,
    checksums::xor_before_the_start_leaves_the_frame_alone,
    checksums::crc8_from_the_start,
    checksums::crc8_from_the_end,
    checksums::crc8_over_itself_to_the_end,
    checksums::crc8_over_itself_to_the_end_of_four_bytes,
    checksums::crc8_profile_1_takes_its_byte_in,
    checksums::crc8_profile_2_takes_the_byte_of_the_counter_in,
    checksums::crc8_profile_3_takes_the_identifier_in,
    checksums::crc8_profile_3_takes_the_identifier_that_is_sent,
    checksums::xor_covers_the_crc8,
    checksums::crc8_downwards,
    checksums::positions_from_the_start_are_not_bound_by_the_length,
    checksums::checksums_of_fd_frames,
}
