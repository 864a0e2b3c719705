//! Commands of the program that a command runs in turn.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use gputexel::Error;

use super::context::Context;

fn typed(words: &[String]) -> String {
    let words = words.iter().map(|word| shlex::try_quote(word).unwrap_or_else(|_| word.into()));
    format!("gputexel {}", words.collect::<Vec<_>>().join(" "))
}

/// Runs a command of the program; if it is to be `quiet`, it prints errors only.
pub fn run(Words(words): &Words, quiet: bool, context: &Context) -> anyhow::Result<()> {
    let inner = Context { json: false, quiet, command_line: typed(words), ..*context };
    (context.program.run)(words, &inner)?;
    if context.cancel.load(Ordering::Relaxed) {
        return Err(Error::Interrupted(format!("after '{}'", words[0])).into());
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub struct Words(Vec<String>);

impl Words {
    pub fn new(command: &str) -> Self {
        Self(command.split(' ').map(str::to_string).collect())
    }

    #[must_use]
    pub fn and<T: ToString>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.0.extend(words.into_iter().map(|word| word.to_string()));
        self
    }

    /// Adds a flag and its value, if there is one.
    #[must_use]
    pub fn flag<T: ToString>(self, flag: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.and([flag.to_string(), value.to_string()]),
            None => self,
        }
    }

    /// Adds a path, after a flag if one is given.
    #[must_use]
    pub fn path(self, flag: Option<&str>, path: &Path) -> Self {
        self.and(flag).and([path.display()])
    }
}

pub fn existing(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(name)).filter(|path| path.exists())
}
