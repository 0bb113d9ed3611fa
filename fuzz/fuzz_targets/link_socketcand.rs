#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_link::invariants::check_socketcand(bytes));
