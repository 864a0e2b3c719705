//! Fingerprints that identify engines across machines.

use std::path::Path;

use gputexel_io::{Error, RECORD_BYTES, Result, read_whole};
use gputexel_play::client::{EngineCommand, find_program};

use crate::identity::hex;
use crate::speed;

/// Returns the fingerprint of an engine's program and arguments, regardless of where its files are: blake3 over the
/// bytes of the program and, for each argument, the bytes of the file that it names or else its text. Libraries, and
/// files that the engine finds by itself, are not included.
///
/// # Errors
/// [`Error::Input`] when there is no such program, [`Error::Io`] when a file cannot be read.
pub fn fingerprint(command: &EngineCommand) -> Result<String> {
    let program = find_program(&command.program)
        .ok_or_else(|| Error::input(&command.program, "there is no such program"))?;
    let mut hasher = blake3::Hasher::new();
    let mut add = |kind: &[u8], bytes: &[u8]| {
        hasher.update(kind).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    let read = |path: &Path| read_whole(path, RECORD_BYTES).map_err(|e| Error::io(path, e));
    add(b"program", &read(&program)?);
    for argument in &command.arguments {
        let path = Path::new(argument);
        match path.is_file() {
            true => add(b"file", &read(path)?),
            false => add(b"text", argument.as_bytes()),
        }
    }
    Ok(hex(&hasher.finalize().as_bytes()[..16]))
}

/// Returns the fingerprint of the built-in engine: the program's version, and the number of nodes that it needs for
/// fixed searches.
pub fn built_in_fingerprint() -> String {
    format!("{}/{}", env!("CARGO_PKG_VERSION"), speed::reference_nodes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_make_the_difference_and_places_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let program = std::env::current_exe().unwrap();
        for (name, text) in [("one.nnue", "net"), ("same.nnue", "net"), ("other.nnue", "ten")] {
            std::fs::write(path(name), text).unwrap();
        }
        let of = |arguments: &[&str]| {
            let arguments = arguments.iter().map(ToString::to_string).collect();
            fingerprint(&EngineCommand { arguments, ..EngineCommand::new(&program) }).unwrap()
        };
        let file = |name: &str| of(&["--net", path(name).to_str().unwrap()]);
        assert_eq!(file("one.nnue"), file("same.nnue"));
        assert_ne!(file("one.nnue"), file("other.nnue"));
        // Texts differ from files, and the boundaries of arguments matter.
        assert_ne!(of(&["net"]), file("one.nnue"));
        assert_ne!(of(&["a", "b"]), of(&["ab"]));
        assert_eq!(of(&[]).len(), 32);
        assert!(fingerprint(&EngineCommand::new(path("none"))).is_err());
    }
}
