//! The columns of a dataset that is being written, each in a temporary file.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;
use xxhash_rust::xxh3::Xxh3;

use gputexel_io::{Error, Result};

pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) dtype: Dtype,
    pub(super) elements: usize,
    pub(super) needed: bool,
    /// Bytes not hashed or written yet: values come two or four bytes at a time, and both hashing and writing
    /// are several times as fast in bulk.
    pending: Vec<u8>,
    file: File,
    hash: Xxh3,
}

/// Number of pending bytes at which they are hashed and written.
const PENDING_BYTES: usize = 1 << 18;

impl Column {
    pub(super) fn try_new(name: &'static str, dtype: Dtype, folder: &Path) -> Result<Self> {
        // Unlinked on Unix: removed when the process ends, in any way.
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io(folder, e))?;
        Ok(Self {
            name,
            dtype,
            elements: 0,
            needed: true,
            pending: Vec::with_capacity(PENDING_BYTES + 256),
            file,
            hash: Xxh3::new(),
        })
    }

    pub(super) fn push(&mut self, bytes: &[u8], elements: usize) -> std::io::Result<()> {
        self.elements += elements;
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PENDING_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.hash.update(&self.pending);
        self.file.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    pub(super) fn reader(&mut self) -> std::io::Result<BufReader<File>> {
        self.flush()?;
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(BufReader::with_capacity(PENDING_BYTES, file))
    }

    pub(super) fn replacement(&self, folder: &Path) -> std::io::Result<Self> {
        let new = Self::try_new(self.name, self.dtype, folder).map_err(std::io::Error::other)?;
        Ok(Self { needed: self.needed, ..new })
    }

    /// Keeps the elements of `N` bytes whose flag in `keep` is true, transformed by `map`.
    pub(super) fn retain<const N: usize>(
        &mut self,
        keep: &[bool],
        folder: &Path,
        map: &mut dyn FnMut([u8; N]) -> [u8; N],
    ) -> std::io::Result<()> {
        if self.elements == 0 {
            return Ok(());
        }
        let mut kept = self.replacement(folder)?;
        let mut reader = self.reader()?;
        for &keep in keep {
            let bytes = read(&mut reader)?;
            if keep {
                kept.push(&map(bytes), 8 * N / self.dtype.bitsize())?;
            }
        }
        *self = kept;
        Ok(())
    }

    /// Returns the file header's entry for it if it begins at byte `start`, and its checksum. Nothing can be
    /// pushed afterwards.
    pub(super) fn finish(&mut self, start: usize) -> std::io::Result<(TensorInfo, String)> {
        self.flush()?;
        let bytes = self.elements * self.dtype.bitsize() / 8;
        let info = TensorInfo {
            dtype: self.dtype,
            shape: vec![self.elements],
            data_offsets: (start, start + bytes),
        };
        Ok((info, format!("{:016x}", self.hash.digest())))
    }

    /// Appends the column closed by [`finish`](Self::finish) to a file.
    pub(super) fn copy_to(&mut self, file: &mut File) -> std::io::Result<()> {
        // From file to file, the system copies without passing the data through this process.
        self.file.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut self.file, file).map(|_| ())
    }
}

pub(super) fn read<const N: usize>(reader: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns the bytes of plain numbers in the file's little-endian order.
pub(super) fn le_bytes<T: bytemuck::Pod>(values: &[T]) -> &[u8] {
    const { assert!(cfg!(target_endian = "little"), "dataset files are little-endian") };
    bytemuck::cast_slice(values)
}
