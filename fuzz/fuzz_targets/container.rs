//! Any bytes as a dataset file.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("room for a temporary file");
    let _ = gputexel::dataset::tensors(file.path());
    if let Ok(dataset) = gputexel::dataset::read(file.path()) {
        let _ = dataset.occurrences();
    }
});
