//! Every line of the specification that says "seen on a real kernel", on this one.
//!
//! The scripts are candor-core's ([`candor_core::oracle::vectors`]), where the oracle runs them.

mod real;
mod unscripted;

use candor_core::oracle::vectors::{self, Vector};
use candor_core::oracle::{EchoBy, SameInterface};

use crate::kernel::{self, WithMaxHops};
use crate::require::{Feature, require, skip};
use real::Real;

fn run(name: &str) {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let vector = vectors::all().into_iter().find(|vector| vector.name == name).unwrap();
    if let Some(missing) = not_here(&vector) {
        return skip(missing, &format!("{name} needs it, and the kernel is {}", kernel::release()));
    }
    let _max_hops = if vector.kernel.max_hops == kernel::max_hops() {
        None
    } else {
        let Some(with) = WithMaxHops::new(vector.kernel.max_hops) else { return };
        Some(with)
    };
    if let Err(mismatch) = vector.run(&mut Real::new(&vector.interfaces)) {
        panic!("{mismatch}");
    }
}

/// What a vector needs that this kernel has not.
fn not_here(vector: &Vector) -> Option<Feature> {
    let drivers = vector.interfaces.iter().any(|interface| interface.echo_by == EchoBy::Driver);
    let refuses = real::refuses_same_interface();
    match vector.kernel.same_interface {
        // Both answers are right, each for its kernels, and only vectors about that depend on it.
        SameInterface::Refused if !refuses => Some(Feature::NoSelfJobs),
        SameInterface::Accepted if refuses && vector.name == "from_an_interface_to_itself_never_fires" => {
            Some(Feature::SelfJobs)
        }
        _ if drivers => Some(Feature::Controllers),
        _ if counts_crc8_from_the_end(vector) && !candor_engine::relative_crc8_by_trial().unwrap() => {
            Some(Feature::RelativeCrc8)
        }
        _ => None,
    }
}

fn counts_crc8_from_the_end(vector: &Vector) -> bool {
    vector.events.iter().any(|event| match event {
        vectors::Event::Add { job, answer: Ok(()) } => job.checksums.crc8.is_some_and(|crc8| crc8.span.is_relative()),
        _ => false,
    })
}

macro_rules! verified {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_vector_is_a_test() {
            let names: Vec<_> = vectors::all().iter().map(|vector| vector.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

verified! {
    added_twice_does_everything_twice,
    unknown_interfaces_are_refused,
    hop_limits_are_from_1_to_max_hops,
    positions_of_checksums_are_within_the_buffer,
    checksums_and_uid_need_a_modification,
    interfaces_may_be_down_when_a_job_is_added,
    from_an_interface_to_itself_never_fires,
    from_an_interface_to_itself_is_refused_by_newer_kernels,
    a_uid_changes_modifications_in_place,
    a_uid_changes_neither_flags_nor_hop_limit,
    a_uid_belongs_to_its_interfaces_and_filter,
    the_newest_match_is_deleted,
    delete_compares_everything_without_a_uid,
    delete_compares_only_the_uid_with_one,
    delete_compares_filters_as_given,
    flush_deletes_all,
    jobs_are_listed_newest_first,
    a_removed_interface_takes_its_jobs_along,
    a_renamed_interface_keeps_its_jobs,
    down_and_up_keeps_jobs_and_counters,
    lists_come_in_their_order,
    lists_of_29_bit_identifiers_come_in_the_same_order,
    single_identifiers_of_remote_frames_are_masked_filters,
    newest_first_within_a_list,
    every_matching_job_gets_the_frame_as_it_came,
    a_loose_filter_takes_remote_and_extended_frames,
    a_tight_filter_takes_standard_data_frames_only,
    a_29_bit_mask_on_an_11_bit_identifier_is_cut,
    inverted_filters_take_the_others,
    an_inverted_filter_with_mask_0_takes_nothing,
    error_frames_reach_error_filters_only,
    frames_of_local_sockets_are_routed,
    frames_without_loopback_are_not_routed,
    each_format_needs_its_own_job,
    a_frame_with_all_its_hops_is_deleted,
    a_frame_for_an_interface_that_is_down_is_dropped,
    a_ring_ends_where_the_frame_first_appeared,
    back_to_incoming_is_allowed_on_request,
    a_hop_limit_of_1_allows_no_further_hop,
    a_hop_limit_counts_on_the_first_job_only,
    a_frame_too_large_for_the_interface_is_dropped,
    handled_is_what_the_queue_took,
    without_echo_a_vcan_frame_disappears_and_is_handled,
    a_two_way_bridge_with_echo_deletes_one_frame_each_time,
    a_time_stamp_is_made_anew,
    a_time_stamp_is_kept_on_request,
    a_vxcan_pair_forgets_the_hops,
    and_or_xor_set_is_the_order,
    or_makes_an_extended_frame,
    and_makes_a_standard_data_frame,
    set_beyond_11_bits_leaves_a_malformed_identifier,
    length_or_4_on_raw_dlc_b_is_f,
    length_or_4_on_8_is_raw_dlc_c,
    length_or_4_on_3_is_7,
    length_set_9_and_f_are_kept,
    length_set_16_is_deleted,
    a_raw_dlc_passes_unchanged,
    fd_length_is_not_rounded,
    fd_length_beyond_64_is_deleted,
    fd_flags_are_a_plain_byte_and_fdf_comes_back,
    data_is_changed_beyond_the_length,
    data_of_remote_frames_is_changed,
    xor_from_the_start,
    xor_from_the_end,
    xor_from_the_end_of_an_empty_frame,
    xor_of_eight_bytes_from_the_end,
    xor_before_the_start_leaves_the_frame_alone,
    crc8_from_the_start,
    crc8_from_the_end,
    crc8_over_itself_to_the_end,
    crc8_over_itself_to_the_end_of_four_bytes,
    crc8_profile_1_takes_its_byte_in,
    crc8_profile_2_takes_the_byte_of_the_counter_in,
    crc8_profile_3_takes_the_identifier_in,
    crc8_profile_3_takes_the_identifier_that_is_sent,
    xor_covers_the_crc8,
    crc8_downwards,
    positions_from_the_start_are_not_bound_by_the_length,
    checksums_of_fd_frames,
}
