//! Engines by name in `engines.toml`: the file in `GPUTEXEL_ENGINES`, or those in the current folder and in the
//! system's folder for settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::client::EngineCommand;
use super::contestant::Side;
use gputexel_io::{Error, Result, SETTINGS_BYTES, absolute, read_whole};

const FILE: &str = "engines.toml";
const VARIABLE: &str = "GPUTEXEL_ENGINES";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    command: String,
    name: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Value {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl Side {
    /// An engine of [`engine_files`].
    ///
    /// # Errors
    /// [`Error::Usage`] for an unknown name; [`Error::Input`] for a file that cannot be parsed.
    pub fn named(name: &str) -> Result<Self> {
        Self::named_in(name, &engine_files())
    }

    /// The first file that has the name counts; missing files are skipped.
    pub fn named_in(name: &str, files: &[PathBuf]) -> Result<Self> {
        let mut known = Vec::new();
        for path in files.iter().filter(|path| path.exists()) {
            let mut entries = read(path)?;
            if let Some(entry) = entries.remove(name) {
                return side(entry, path).map_err(|error| Error::input(path, format!("{name}: {error}")));
            }
            known.extend(entries.into_keys());
        }
        let places: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let has = match known.len() {
            0 => "which names none".to_string(),
            1..=20 => format!("which has {}", known.join(", ")),
            count => format!("which has {count} others"),
        };
        Err(Error::Usage(format!("engine '{name}': is not in {}, {has}", places.join(" or "))))
    }
}

/// Files that are searched, in this order, whether they exist or not.
pub fn engine_files() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return vec![PathBuf::from(path)];
    }
    let settings = dirs::config_dir().map(|folder| folder.join("gputexel").join(FILE));
    std::iter::once(PathBuf::from(FILE)).chain(settings).collect()
}

fn read(path: &Path) -> Result<BTreeMap<String, Entry>> {
    let bytes = read_whole(path, SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Error::input(path, "is not UTF-8 text"))?;
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        Error::line(path, line as u64, error.message().lines().next().unwrap_or_default())
    })
}

/// Paths are relative to the folder of the file.
fn side(entry: Entry, path: &Path) -> Result<Side> {
    let mut command: EngineCommand = entry.command.parse()?;
    if command.program.is_relative() && command.program.components().count() > 1 {
        let file = absolute(path);
        command.program = file.parent().unwrap_or(Path::new("")).join(&command.program);
    }
    let mut side = Side::new(format!("cmd:{}", command.to_command_line()?));
    if let Some(name) = entry.name {
        side = side.name(name);
    }
    for (option, value) in entry.options {
        let text = match value {
            Value::Flag(flag) => flag.to_string(),
            Value::Whole(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text,
        };
        side = side.option(option, text);
    }
    Ok(side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_found_by_name_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let [near, far] = ["near.toml", "far.toml"].map(|name| folder.path().join(name));
        let text = "[crafty]\ncommand = \"./crafty 'a b'\"\nname = \"Crafty 25\"\n\
                    options = { Hash = 16, Ponder = false, Style = \"risky\" }\n";
        std::fs::write(&near, text).unwrap();
        std::fs::write(&far, "[crafty]\ncommand = \"other\"\n[fish]\ncommand = \"stockfish\"\n").unwrap();
        let files = [near.clone(), folder.path().join("none.toml"), far.clone()];
        let program = folder.path().join("./crafty").display().to_string();
        let expected = Side::new(format!("cmd:{program} 'a b'")).name("Crafty 25");
        let expected = expected.option("Hash", "16").option("Ponder", "false").option("Style", "risky");
        assert_eq!(Side::named_in("crafty", &files).unwrap(), expected);
        assert_eq!(Side::named_in("fish", &files).unwrap(), Side::new("cmd:stockfish"));
        let why = |name: &str| Side::named_in(name, &files).unwrap_err().to_string();
        assert!(
            why("toga").starts_with("engine 'toga': is not in ")
                && why("toga").ends_with("which has crafty, crafty, fish")
        );
        for (text, says) in [
            ("[x]\ncommand = 3\n", ":2: invalid type"),
            ("[x]\nname = \"x\"\n", ": missing field `command`"),
            ("[x]\ncommand = \"a\"\ncolour = 1\n", ":3: unknown field `colour`"),
            ("[x]\ncommand = \"a 'b\"\n", ": x: engine 'a 'b': a quote is not closed"),
            ("[x\n", ":1: "),
        ] {
            std::fs::write(&near, text).unwrap();
            assert!(why("x").contains(says) && !why("x").contains('\n'), "{}", why("x"));
        }
    }
}
