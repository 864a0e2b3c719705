//! Errors of the library in one line, with the flags that fix them: the library reports the remedy, and the command
//! line names its flags.

use std::path::{Path, PathBuf};

use gputexel::Error;
use gputexel::io::Advice;

/// Formats an error of the library in one line, with the flags that fix it.
pub fn in_flags(error: &Error) -> String {
    match error {
        Error::Exists(_) => format!("{error}; use --force to overwrite it"),
        Error::Setting { .. } => format!("--{error}"),
        Error::Advised { error, advice } => in_flags(error) + &of_advice(advice),
        Error::Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            format!("{error}{}", of_missing(path).unwrap_or_default())
        }
        error => error.to_string(),
    }
}

/// Formats advice with settings as flags, for the end of a message.
fn of_advice(advice: &Advice) -> String {
    let text = advice.render(|name, value| match value {
        "" => format!("--{name}"),
        _ => format!("--{name} {value}"),
    });
    format!("{}{}", advice.joint(), gputexel::io::printable(&text))
}

/// Suggests the file that was perhaps meant if there is none of that name.
fn of_missing(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name()?.to_str()?;
    let others = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let others = others.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // These words are accepted in place of a parameter file.
    let words = if folder.is_none() { &["material", "pesto", "schema", "zero"][..] } else { &[] };
    let best = gputexel::io::most_alike(name, others.chain(words.iter().map(|word| (*word).to_string())))?;
    let meant = folder.map_or_else(|| PathBuf::from(&best), |folder| folder.join(&best));
    Some(format!("; did you mean '{}'?", gputexel::io::printable(&meant.display().to_string())))
}
