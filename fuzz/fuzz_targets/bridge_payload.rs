#![no_main]

// The crate itself brings Zenoh.
#[path = "../../crates/candor-bridge/src/payload.rs"]
mod payload;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| payload::check(bytes));
