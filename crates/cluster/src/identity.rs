//! Identity of a run in the queue, for as long as its folder exists: work that was sent before its coordinator was
//! killed is recognized afterwards.

use std::io::Write as _;
use std::path::Path;

use crate::address::read_text;
use gputexel_io::{Error, Result};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

/// File name in the folder of a run.
const FILE: &str = "queue.json";

const FORMAT: &str = "gputexel-queue";

/// The name of a run in the queue, and the secret for its tickets.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    format: String,
    /// 32 hexadecimal digits, part of subjects.
    pub run: String,
    /// 64 hexadecimal digits, known to the coordinator alone.
    secret: String,
    /// Nodes per second of the machine that clocks refer to, the one on which the run began; `None` if there is no time
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_per_second: Option<u64>,
}

impl Identity {
    /// Creates a random one.
    pub fn draw(nodes_per_second: Option<u64>) -> Self {
        let mut bytes = [0u8; 48];
        rand::rng().fill(&mut bytes[..]);
        let (run, secret) = bytes.split_at(16);
        Self { format: FORMAT.to_string(), run: hex(run), secret: hex(secret), nodes_per_second }
    }

    /// Returns the identity of the run in a folder, created if it has none; `speed` is called in that case, if clocks
    /// need it.
    ///
    /// # Errors
    /// [`Error::Input`] for an invalid file, [`Error::Io`].
    pub fn of_folder(folder: &Path, speed: impl FnOnce() -> Option<u64>) -> Result<Self> {
        let path = folder.join(FILE);
        if path.exists() {
            let text = read_text(&path)?;
            let identity: Self = serde_json::from_str(&text)
                .map_err(|e| Error::json(&path, "what a run is in a queue", &e))?;
            let is_hex =
                |text: &str, digits| text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
            if identity.format != FORMAT || !is_hex(&identity.run, 32) || !is_hex(&identity.secret, 64) {
                return Err(Error::input(
                    &path,
                    "not what a run is in a queue; without it, the run gets another identity",
                ));
            }
            return Ok(identity);
        }
        let identity = Self::draw(speed());
        let text = format!("{}\n", serde_json::json!(identity));
        write_private(&path, text.as_bytes()).map_err(|e| Error::io(&path, e))?;
        Ok(identity)
    }

    /// Returns a ticket that only a recipient of this work can show: 32 hexadecimal digits.
    pub fn ticket(&self, number: u64, digest: &str) -> String {
        let key = blake3::hash(self.secret.as_bytes());
        let text = format!("{}/{number}/{digest}", self.run);
        hex(&blake3::keyed_hash(key.as_bytes(), text.as_bytes()).as_bytes()[..16])
    }

    /// Returns true if a ticket belongs to this work. The comparison takes constant time.
    pub fn accepts(&self, number: u64, digest: &str, ticket: &str) -> bool {
        let whole = |text: &str| blake3::hash(text.as_bytes());
        whole(&self.ticket(number, digest)) == whole(ticket)
    }
}

/// Writes a file that only its owner can read, completely or not at all.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let staged = path.with_extension("json.tmp");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&staged)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&staged, path)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_identity_and_others_have_other_tickets() {
        let folder = tempfile::tempdir().unwrap();
        let first = Identity::of_folder(folder.path(), || Some(5)).unwrap();
        let again = Identity::of_folder(folder.path(), || panic!("it is known")).unwrap();
        assert_eq!((again.run.clone(), again.nodes_per_second), (first.run.clone(), Some(5)));
        let ticket = first.ticket(3, "d");
        assert!(again.accepts(3, "d", &ticket));
        for (identity, number, digest) in
            [(&first, 4, "d"), (&first, 3, "e"), (&Identity::draw(None), 3, "d")]
        {
            assert!(!identity.accepts(number, digest, &ticket));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        for damaged in ["", "{}", "{\"format\":\"gputexel-queue\",\"run\":\"*\",\"secret\":\"1\"}"] {
            std::fs::write(folder.path().join(FILE), damaged).unwrap();
            assert!(Identity::of_folder(folder.path(), || None).is_err(), "{damaged}");
        }
    }
}
