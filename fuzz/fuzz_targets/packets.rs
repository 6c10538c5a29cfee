//! libFuzzer's way into [`fuzz::packets`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::packets::check(data));
