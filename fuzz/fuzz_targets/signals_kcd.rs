#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_signals::invariants::check_kcd(bytes));
