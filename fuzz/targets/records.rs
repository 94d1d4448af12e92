#![no_main]

use libfuzzer_sys::fuzz_target;
use postrider_tests::hostile::try_records;

fuzz_target!(|input: &[u8]| {
    try_records(input);
});
