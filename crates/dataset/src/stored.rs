//! The file of a dataset: its header, and its tensors read into owned memory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use bytemuck::Pod;
use safetensors::Dtype;
use safetensors::tensor::{Metadata as Header, TensorInfo};
use xxhash_rust::xxh3::Xxh3;

use super::Metadata;
use gputexel_io::{Error, Result, is_compressed};

pub(super) const METADATA_KEY: &str = "gputexel";

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChecksumState {
    Ok,
    Wrong,
    Missing,
}

/// Maximum header size in bytes, as for all readers of the format.
const HEADER_BYTES: u64 = 100_000_000;
/// Number of bytes that are read at a time and then hashed while in the cache.
const PIECE: usize = 1 << 18;

pub(super) struct Stored<'a> {
    path: &'a Path,
    file: File,
    header: Header,
    start: u64,
    /// Its metadata; only the schema version has been verified.
    pub metadata: Metadata,
}

impl<'a> Stored<'a> {
    pub fn open(path: &'a Path) -> Result<Self> {
        let io = |e| Error::io(path, e);
        let mut file = File::open(path).map_err(io)?;
        let meta = file.metadata().map_err(io)?;
        if meta.is_dir() {
            return Err(Error::input(path, "is a folder, not a dataset"));
        }
        if !meta.is_file() {
            return Err(Error::input(path, "is a pipe or device; datasets are read from files"));
        }
        if meta.len() < 8 {
            return Err(Error::input(path, format!("not a dataset: only {} bytes long", meta.len())));
        }
        let mut start = Vec::with_capacity(9);
        file.by_ref().take(9).read_to_end(&mut start).map_err(io)?;
        if start.get(8).is_some() && start[0] == b'{' {
            return Err(Error::input(path, "is JSON, not a dataset"));
        }
        if start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
            return Err(Error::input(path, "is text, not a dataset; 'gputexel extract' makes one of it"));
        }
        // The length of a header may look like anything.
        if start.get(8) != Some(&b'{') && is_compressed(&start) {
            let reason = "is compressed, not a dataset; 'gputexel extract' makes one of games and positions";
            return Err(Error::input(path, reason));
        }
        let foreign = |why: String| Error::input(path, format!("not a dataset, or truncated: {why}"));
        let length = start.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
        let length = length
            .filter(|&length| length <= HEADER_BYTES.min(meta.len() - 8))
            .ok_or_else(|| foreign("the header's length is out of range".to_string()))?;
        let mut bytes = Vec::with_capacity(length as usize);
        file.seek(SeekFrom::Start(8)).map_err(io)?;
        file.by_ref().take(length).read_to_end(&mut bytes).map_err(io)?;
        let header: Header = serde_json::from_slice(&bytes).map_err(|e| foreign(e.to_string()))?;
        if (8 + length).checked_add(header.data_len() as u64) != Some(meta.len()) {
            return Err(foreign("the tensors do not make up the rest of the file".to_string()));
        }
        let metadata = metadata(&header, path)?;
        Ok(Self { path, file, header, start: 8 + length, metadata })
    }

    /// Returns the names of its tensors, in storage order.
    pub fn names(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    pub fn info(&self, name: &str) -> &TensorInfo {
        self.header.info(name).expect("a tensor of this file")
    }

    pub fn dtype(&self, name: &str) -> Option<Dtype> {
        self.header.info(name).map(|info| info.dtype)
    }

    /// Reads an existing tensor only to verify its checksum.
    pub fn verify(&mut self, name: &str) -> Result<ChecksumState> {
        let (from, to) = self.info(name).data_offsets;
        let mut piece = vec![0; PIECE.min(to - from)];
        let mut hash = Xxh3::new();
        self.seek(from)?;
        for at in (from..to).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(to - at)];
            self.file.read_exact(piece).map_err(|e| Error::io(self.path, e))?;
            hash.update(piece);
        }
        Ok(self.state(name, &hash))
    }

    pub fn required<T: Pod>(&mut self, name: &str, dtype: Dtype, elements: usize) -> Result<Vec<T>> {
        const { assert!(cfg!(target_endian = "little"), "dataset files are little-endian") };
        let info = self
            .header
            .info(name)
            .ok_or_else(|| Error::input(self.path, format!("broken: tensor '{name}' is missing")))?;
        let from = info.data_offsets.0;
        if info.dtype != dtype || info.shape != [elements] || dtype.bitsize() != 8 * size_of::<T>() {
            return Err(match self.verify(name)? {
                // For a damaged tensor, a wrong length is a consequence of the damage.
                ChecksumState::Wrong => self.damaged(name),
                _ => self.misshapen(name, dtype, elements),
            });
        }
        let mut values = bytemuck::allocation::try_zeroed_vec::<T>(elements)
            .map_err(|()| Error::input(self.path, format!("'{name}' does not fit in memory")))?;
        let mut hash = Xxh3::new();
        self.seek(from)?;
        for piece in bytemuck::cast_slice_mut::<T, u8>(&mut values).chunks_mut(PIECE) {
            self.file.read_exact(piece).map_err(|e| Error::io(self.path, e))?;
            hash.update(piece);
        }
        match self.state(name, &hash) {
            ChecksumState::Ok => Ok(values),
            _ => Err(self.damaged(name)),
        }
    }

    /// Reads the elements of a tensor, or none if it does not exist.
    pub fn optional<T: Pod>(&mut self, name: &str, dtype: Dtype, elements: usize) -> Result<Vec<T>> {
        if self.dtype(name).is_none() { Ok(Vec::new()) } else { self.required(name, dtype, elements) }
    }

    pub fn damaged(&self, name: &str) -> Error {
        Error::input(self.path, format!("damaged: the checksum of '{name}' does not match"))
    }

    fn misshapen(&self, name: &str, dtype: Dtype, elements: usize) -> Error {
        let info = self.info(name);
        Error::input(
            self.path,
            format!(
                "broken: tensor '{name}' is {:?} {:?}, expected {dtype:?} [{elements}]",
                info.dtype, info.shape
            ),
        )
    }

    fn seek(&mut self, offset: usize) -> Result<()> {
        let to = SeekFrom::Start(self.start + offset as u64);
        self.file.seek(to).map(drop).map_err(|e| Error::io(self.path, e))
    }

    fn state(&self, name: &str, hash: &Xxh3) -> ChecksumState {
        match self.metadata.checksums.get(name) {
            None => ChecksumState::Missing,
            Some(stored) if *stored == format!("{:016x}", hash.digest()) => ChecksumState::Ok,
            Some(_) => ChecksumState::Wrong,
        }
    }
}

fn metadata(header: &Header, path: &Path) -> Result<Metadata> {
    let json = header
        .metadata()
        .as_ref()
        .and_then(|all| all.get(METADATA_KEY))
        .ok_or_else(|| Error::input(path, "a safetensors file, but not one that gputexel wrote"))?;
    let broken = |e: serde_json::Error| Error::input(path, format!("broken metadata: {e}"));
    let version: serde_json::Value = serde_json::from_str(json).map_err(broken)?;
    match version.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(Metadata::SCHEMA) => {}
        Some(schema) => {
            return Err(Error::input(
                path,
                format!("schema {schema} is not supported (this version reads {})", Metadata::SCHEMA),
            ));
        }
        None => return Err(Error::input(path, "broken metadata: no schema version")),
    }
    serde_json::from_value(version).map_err(broken)
}
