//! Any bytes as a file that may be compressed or an archive: reading it ends, within the memory of its buffers, with
//! text or one error.
#![no_main]

use std::io::Write as _;
use std::sync::Arc;

use gputexel_files::input::{Filled, Input};
use libfuzzer_sys::fuzz_target;

/// Decompressed bytes after which an input is left: a few bytes may stand for any number.
const ENOUGH: usize = 1 << 24;

fuzz_target!(|data: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(data).unwrap();
    let Ok(mut input) = Input::open(file.path(), Arc::default()) else { return };
    let (mut read, mut buffer) = (0, Vec::new());
    while read < ENOUGH {
        buffer.clear();
        match input.fill_member(&mut buffer, 1 << 16) {
            Err(_) => break,
            Ok(Filled::End) => break,
            Ok(_) => read += buffer.len(),
        }
        assert!(buffer.len() <= 1 << 16);
    }
});
