//! The bit-level model of a bus stands alone: its frames against known vectors, its errors against scenarios worked
//! out by hand.

#[path = "bit_model/mod.rs"]
mod bit_model;

#[path = "bit_model_tests/arbitration.rs"]
mod arbitration;
#[path = "bit_model_tests/confinement.rs"]
mod confinement;
#[path = "bit_model_tests/flips.rs"]
mod flips;
#[path = "bit_model_tests/invariants.rs"]
mod invariants;
#[path = "bit_model_tests/membership.rs"]
mod membership;
#[path = "bit_model_tests/vectors.rs"]
mod vectors;
#[path = "bit_model_tests/watch.rs"]
mod watch;
