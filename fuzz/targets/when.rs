//! Fuzzes `exercise::when`.

#![no_main]

#[path = "../exercise.rs"]
#[expect(dead_code, reason = "each target uses one of the exercises")]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::when(data));
