#![no_main]

use candor_recording::{Format, invariants};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invariants::check(Format::Parquet, bytes));
