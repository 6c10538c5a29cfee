//! libFuzzer's way into [`fuzz::logins`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::logins::check(data));
