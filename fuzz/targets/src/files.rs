//! Compressed inputs and archives.

use std::io::Write as _;
use std::sync::Arc;

use gputexel_io::input::{Filled, Input};

/// Number of decompressed bytes after which reading stops: a few bytes may expand to any size.
const ENOUGH: usize = 1 << 22;

/// Any bytes as a file that may be compressed or an archive: reading it ends, in bounded memory, with text or one
/// error.
pub(crate) fn archive(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("room for a temporary file");
    let Ok(mut input) = Input::open(file.path(), Arc::default()) else { return };
    let _ = (input.name().len(), input.text_name(), input.place(), input.require_text());
    let (mut read, mut buffer) = (0, Vec::new());
    while read < ENOUGH {
        buffer.clear();
        match input.fill_member(&mut buffer, 1 << 16) {
            Err(_) | Ok(Filled::End) => break,
            Ok(_) => read += buffer.len(),
        }
        assert!(buffer.len() <= 1 << 16);
    }
    let _ = input.warnings().len();
}
