#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| groma_fuzz::targets::lmbench(data));
