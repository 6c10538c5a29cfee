//! libFuzzer's way into [`fuzz::statements`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::statements::check(data));
