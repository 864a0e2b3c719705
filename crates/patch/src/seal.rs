//! Seals on records, by which those that this user wrote on this computer are known again.
//!
//! Records of replacements lie in source trees, and anyone can put a folder into a tree that others will
//! download. The key lies outside of all trees, in the user's folder for the state of programs: unlike
//! devices and inodes it survives a tree's restoring from a backup, is there on every file system, and
//! cannot be read off or guessed.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::folder::read_file;
use gputexel_files::{Error, Result};

/// Keeps seals of other programs and of other kinds of records apart.
const CONTEXT: &str = "gputexel patch record ";

/// A record with its seal.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed<T> {
    /// Keyed BLAKE3 of the record as JSON, in hexadecimal.
    seal: String,
    record: T,
}

/// What seals and knows its seals.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// The user's key, made if there is none.
    ///
    /// # Errors
    /// [`Error::Input`] if it can be neither read nor kept.
    pub fn load() -> Result<Self> {
        let state = dirs::state_dir().or_else(dirs::data_local_dir);
        let Some(state) = state else {
            let reason = "the key by which old files are known again needs a home folder; set HOME";
            return Err(Error::input("patch-key", reason));
        };
        let folder = state.join("gputexel");
        let path = folder.join("patch-key");
        let hint = |e: &dyn std::fmt::Display| {
            let reason =
                format!("{e}; old files are known again by a key there; XDG_STATE_HOME names another place");
            Error::input(&path, reason)
        };
        if !path.exists() {
            make(&folder, &path).map_err(|e| hint(&e))?;
        }
        let bytes = read_file(&path)?;
        let hash = std::str::from_utf8(&bytes).ok().and_then(|text| blake3::Hash::from_hex(text.trim()).ok());
        match hash {
            Some(hash) => Ok(Self(*hash.as_bytes())),
            None => Err(Error::input(&path, "is not a valid key; delete it, and a new one will be created")),
        }
    }

    /// A record as JSON with its seal.
    pub fn seal<T: Serialize>(&self, record: T, kind: &str) -> serde_json::Result<Vec<u8>> {
        let seal = self.hash(&record, kind)?.to_hex().to_string();
        serde_json::to_vec_pretty(&Sealed { seal, record })
    }

    /// A record, and whether its seal is this key's; none if it is no such record.
    pub fn unseal<T: Serialize + DeserializeOwned>(&self, bytes: &[u8], kind: &str) -> Option<(T, bool)> {
        let Sealed { seal, record } = serde_json::from_slice::<Sealed<T>>(bytes).ok()?;
        let ours = self.hash(&record, kind).ok()?;
        // Hashes are compared in constant time.
        let ours = blake3::Hash::from_hex(seal).is_ok_and(|seal| seal == ours);
        Some((record, ours))
    }

    fn hash<T: Serialize>(&self, record: &T, kind: &str) -> serde_json::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(CONTEXT.as_bytes()).update(kind.as_bytes()).update(b"\0");
        hasher.update(&serde_json::to_vec(record)?);
        Ok(hasher.finalize())
    }
}

/// Makes a key that only the user can read. If another process was faster, its key counts.
fn make(folder: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(file, "{}", blake3::Hash::from_bytes(rand::random()).to_hex())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(e) if e.error.kind() != ErrorKind::AlreadyExists => Err(e.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_for_one_key_kind_and_record() {
        let (key, other) = (Key([1; 32]), Key([2; 32]));
        let bytes = key.seal(vec![1, 2], "journal").unwrap();
        let read = |key: &Key, bytes: &[u8], kind| key.unseal::<Vec<u32>>(bytes, kind);
        assert_eq!(read(&key, &bytes, "journal"), Some((vec![1, 2], true)));
        assert_eq!(read(&key, &bytes, "pending"), Some((vec![1, 2], false)));
        assert_eq!(read(&other, &bytes, "journal"), Some((vec![1, 2], false)));
        let changed = String::from_utf8(bytes).unwrap().replace('2', "3");
        assert!(!read(&key, changed.as_bytes(), "journal").unwrap().1);
        assert_eq!(read(&key, b"[1, 2]", "journal"), None);
    }
}
