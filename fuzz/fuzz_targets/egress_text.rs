#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| candor_egress::text::invariants::check(bytes));
