#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_config::signature::invariants::check(bytes));
