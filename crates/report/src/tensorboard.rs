//! Event files for TensorBoard: TFRecord framing around `Event` messages, of which scalars, the
//! file's version and the session's start are written.
//!
//! A record is its length (u64, little-endian), the masked CRC-32C of these eight bytes, the data,
//! and the masked CRC-32C of the data. The messages are those of `event.proto` and `summary.proto`
//! in TensorFlow; the few fields are encoded here, since no crate that does is kept up.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gputexel_files::{Error, Result};

/// Writes scalars to an event file.
#[derive(Debug)]
pub struct EventWriter {
    file: File,
    path: PathBuf,
}

impl EventWriter {
    /// Begins a file in a folder, which is made where it is not there. Steps after `after` of
    /// files that were written before are to be forgotten: they are written again.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(folder: &Path, after: u64) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        // TensorBoard reads files in the order of their names; a file is never written over.
        let mut number = 0;
        let (file, path) = loop {
            let name =
                format!("events.out.tfevents.{:010}.gputexel.{}.{number}", now as u64, std::process::id());
            let path = folder.join(name);
            match File::create_new(&path) {
                Ok(file) => break (file, path),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
                Err(e) => return Err(Error::io(&path, e)),
            }
        };
        let mut writer = Self { file, path };
        writer.write(&event(now, 0, |message| bytes(message, 3, b"brain.Event:2")))?;
        if after > 0 {
            // SessionLog { status: START }: what follows that step in older files is no longer true.
            writer.write(&event(now, (after as i64).wrapping_add(1), |message| {
                bytes(message, 7, &[0x08, 0x01])
            }))?;
        }
        Ok(writer)
    }

    /// Writes numbers of a step, by name; what is not finite is left out.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn scalars(&mut self, step: u64, scalars: &[(&str, f64)]) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        self.write(&scalars_at(now, step as i64, scalars))
    }

    fn write(&mut self, message: &[u8]) -> Result<()> {
        self.file.write_all(&record(message)).map_err(|e| Error::io(&self.path, e))
    }
}

/// An event with the fields that every one has, and what else is put in.
fn event(time: f64, step: i64, rest: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut message = vec![0x09]; // field 1, fixed64: wall_time
    message.extend(time.to_le_bytes());
    if step != 0 {
        message.push(0x10); // field 2, varint: step
        varint(&mut message, step as u64);
    }
    rest(&mut message);
    message
}

fn scalars_at(time: f64, step: i64, scalars: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, value) in scalars.iter().filter(|(_, value)| value.is_finite()) {
        let mut entry = Vec::new();
        bytes(&mut entry, 1, tag.as_bytes());
        entry.push(0x15); // field 2, fixed32: simple_value
        entry.extend((*value as f32).to_le_bytes());
        bytes(&mut summary, 1, &entry);
    }
    event(time, step, |message| bytes(message, 5, &summary))
}

/// A field with a length: a text or a message.
fn bytes(message: &mut Vec<u8>, field: u8, contents: &[u8]) {
    message.push(field << 3 | 2);
    varint(message, contents.len() as u64);
    message.extend(contents);
}

fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// CRC-32C, rotated and moved, as TFRecord has it.
fn masked(data: &[u8]) -> [u8; 4] {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), message, &masked(message)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, B.4: 32 bytes of zeros, of ones, ascending.
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c::crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        // ((crc >> 15 | crc << 17) + 0xa282ead8) mod 2^32, by hand for the first of them.
        let crc: u64 = 0x8a91_36aa;
        let expected = ((crc >> 15 | (crc << 17 & 0xffff_ffff)) + 0xa282_ead8) & 0xffff_ffff;
        assert_eq!(masked(&[0; 32]), (expected as u32).to_le_bytes());
    }

    #[test]
    fn messages_are_encoded_field_by_field() {
        let message = scalars_at(1.5, 300, &[("loss", 0.25), ("none", f64::NAN)]);
        let expected = [
            &[0x09][..],
            &1.5f64.to_le_bytes(), // wall_time
            &[0x10, 0xac, 0x02],   // step 300
            &[0x2a, 13],           // summary
            &[0x0a, 11],           // its value
            &[0x0a, 4],
            b"loss",                   // tag
            &[0x15, 0, 0, 0x80, 0x3e], // 0.25f32
        ];
        assert_eq!(message, expected.concat());
        assert_eq!(event(0.0, 0, |_| {}), [0x09, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn files_begin_with_their_version_and_are_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er");
        let mut first = EventWriter::create(&path, 0).unwrap();
        first.scalars(1, &[("loss", 0.5)]).unwrap();
        let second = EventWriter::create(&path, 7).unwrap();
        assert_ne!(first.path, second.path);
        let read = |writer: &EventWriter| std::fs::read(&writer.path).unwrap();
        let text = read(&first);
        let length = u64::from_le_bytes(text[..8].try_into().unwrap()) as usize;
        assert_eq!(text[8..12], masked(&text[..8]));
        assert_eq!(&text[12 + length - 13..12 + length], b"brain.Event:2");
        assert_eq!(text[12 + length..16 + length], masked(&text[12..12 + length]));
        assert!(
            read(&second).windows(4).any(|bytes| bytes == [0x10, 8, 0x3a, 2]),
            "steps from 8 on are forgotten"
        );
    }
}
