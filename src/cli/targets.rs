//! Files that commands write: what they may replace.

use std::path::{Path, PathBuf};

pub use gputexel::is_one;
use gputexel::{Error, Result, without_links};

/// Refuses to write where something is, unless `may_exist`, and where nothing can be written.
///
/// # Errors
/// [`Error::Exists`], [`Error::Usage`].
pub fn check_target(path: Option<&Path>, may_exist: bool) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let refuse = |why: &str| Err(Error::Usage(format!("{}: cannot be written: {why}", path.display())));
    match (folder_of(path).is_dir(), path.is_dir()) {
        (false, _) => refuse("its folder does not exist"),
        (_, true) => refuse("it is a folder"),
        // A link to nowhere is there, too.
        _ if !may_exist && path.symlink_metadata().is_ok() => Err(Error::Exists(path.to_path_buf())),
        _ => Ok(()),
    }
}

/// Refuses outputs that are inputs or one file: no flag makes these worth losing.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_apart(outputs: &[Option<&Path>], inputs: &[&Path]) -> Result<()> {
    // Devices such as /dev/null may be written twice.
    let is_file = |path: &&Path| !path.exists() || path.is_file();
    let outputs: Vec<&Path> = outputs.iter().copied().flatten().filter(is_file).collect();
    let inputs: Vec<PathBuf> = inputs.iter().map(|path| without_links(path)).collect();
    for (i, output) in outputs.iter().enumerate() {
        let place = without_links(output);
        if inputs.contains(&place) {
            return Err(Error::Usage(format!("{}: is also an input", output.display())));
        }
        if outputs[..i].iter().any(|other| without_links(other) == place) {
            return Err(Error::Usage(format!("{}: would be written twice", output.display())));
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
