#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(fault) = halo_fuzz::ulog(data) {
        panic!("{fault}");
    }
});
