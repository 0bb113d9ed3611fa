//! Every statement of the specification that was observed on a real kernel, on this one.
//!
//! The scripts are those of [`candor_core::oracle::vectors`], which the oracle runs too.

mod real;
mod unscripted;

use candor_core::oracle::vectors::{self, Vector};
use candor_core::oracle::{EchoBy, SameInterface};

use crate::kernel::{self, WithMaxHops};
use crate::prelude::*;
use real::Real;

/// `CANDOR_VECTOR` selects one by name.
#[test]
#[ignore = "runs in a guest"]
fn kernel_agrees_with_every_vector() {
    let Some(_machine) = require(VCAN_AND_CANGW) else { return };
    let only = std::env::var("CANDOR_VECTOR").ok();
    let vectors = vectors::all().into_iter().filter(|vector| only.as_ref().is_none_or(|name| vector.name == name));
    let mut failed = Vec::new();
    for vector in vectors {
        // The last name is that of a vector that panics.
        println!("{}", vector.name);
        if let Some(missing) = missing(&vector) {
            skip(missing, &format!("{} needs it, and the kernel is {}", vector.name, kernel::release()));
            continue;
        }
        let _max_hops = if vector.kernel.max_hops == kernel::max_hops() {
            None
        } else {
            let Some(with) = WithMaxHops::new(vector.kernel.max_hops) else { continue };
            Some(with)
        };
        failed.extend(
            vector.run(&mut Real::new(&vector.interfaces)).err().map(|error| format!("{}: {error}", vector.name)),
        );
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A feature of the vector that this kernel lacks.
fn missing(vector: &Vector) -> Option<Feature> {
    let drivers = vector.interfaces.iter().any(|interface| interface.echo_by == EchoBy::Driver);
    let refuses = real::refuses_same_interface();
    match vector.kernel.same_interface {
        // Kernels differ, and only vectors about that depend on it.
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
