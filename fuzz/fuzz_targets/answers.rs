//! libFuzzer's way into [`fuzz::answers`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::answers::check(data));
