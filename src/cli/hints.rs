//! Errors of the library in one line, with the flags that mend them: the library says what would, and the flags are the
//! command line's.

use std::path::{Path, PathBuf};

use gputexel::{Advice, Error};

/// An error of the library in one line, with the flags that mend it.
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

/// Advice with settings as flags, as the end of a message.
pub fn of_advice(advice: &Advice) -> String {
    let text = advice.render(|name, value| match value {
        "" => format!("--{name}"),
        _ => format!("--{name} {value}"),
    });
    format!("{}{}", advice.joint(), gputexel::printable(&text))
}

/// The file that was perhaps meant where there is none of a name.
fn of_missing(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name()?.to_str()?;
    let others = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let others = others.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // Where parameters are asked for, these stand for some.
    let words = if folder.is_none() { &["material", "schema"][..] } else { &[] };
    let best = gputexel::most_alike(name, others.chain(words.iter().map(|word| (*word).to_string())))?;
    let meant = folder.map_or_else(|| PathBuf::from(&best), |folder| folder.join(&best));
    Some(format!("; did you mean '{}'?", gputexel::printable(&meant.display().to_string())))
}
