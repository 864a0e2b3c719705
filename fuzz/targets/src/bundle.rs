//! Several files as one input: parts that start with a line `=== NAME`.

use std::path::Path;

const MARK: &[u8] = b"=== ";

/// Returns the parts by name, in order; text before the first mark belongs to none.
pub(crate) fn parts(data: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut starts: Vec<usize> =
        data.windows(MARK.len()).enumerate().filter(|(_, w)| *w == MARK).map(|(at, _)| at).collect();
    starts.retain(|&at| at == 0 || data[at - 1] == b'\n');
    let mut parts = Vec::new();
    for (i, &start) in starts.iter().enumerate() {
        // The line break before the next mark is not part of the file.
        let end = starts.get(i + 1).map_or(data.len(), |next| (next - 1).max(start));
        let body = &data[start + MARK.len()..end];
        let line = body.iter().position(|&byte| byte == b'\n').unwrap_or(body.len());
        parts.push((body[..line].trim_ascii(), body.get(line + 1..).unwrap_or_default()));
    }
    parts
}

pub(crate) fn part<'a>(data: &'a [u8], name: &str) -> &'a [u8] {
    parts(data).into_iter().find(|(known, _)| *known == name.as_bytes()).map_or(&[][..], |(_, body)| body)
}

pub(crate) fn write(data: &[u8], names: &[&str], folder: &Path) {
    for (name, body) in parts(data) {
        if let Some(known) = names.iter().find(|known| known.as_bytes() == name) {
            std::fs::write(folder.join(known), body).expect("a temporary folder takes files");
        }
    }
}

pub(crate) fn join(files: &[(&str, impl AsRef<[u8]>)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, body) in files {
        if !all.is_empty() {
            all.push(b'\n');
        }
        all.extend_from_slice(MARK);
        all.extend_from_slice(name.as_bytes());
        all.push(b'\n');
        all.extend_from_slice(body.as_ref());
    }
    all
}
