//! Paths in a configuration, which begin at the folder of its file.

use std::path::{Path, PathBuf};

use super::{EngineSection, RunConfig};
use gputexel_io::Result;
use gputexel_model::Prior;
use gputexel_play::absolute_command;
use gputexel_play::client::EngineCommand;

impl RunConfig {
    pub(super) fn resolve_paths(&mut self, file: &Path) -> Result<()> {
        let folder = file.parent().unwrap_or(Path::new(""));
        for engine in std::iter::once(&mut self.engine).chain(&mut self.opponent) {
            resolve_engine(engine, folder)?;
        }
        let games = &mut self.games;
        for path in [&mut games.book, &mut games.pgn, &mut games.log].into_iter().flatten() {
            *path = resolve(path, folder);
        }
        Ok(())
    }
}

impl RunConfig {
    /// Makes a configuration mean the same in another folder than the current one.
    pub fn make_absolute(&mut self) {
        let absolute = |path: &mut PathBuf| {
            if let Ok(whole) = std::path::absolute(&*path) {
                *path = whole;
            }
        };
        let games = &mut self.games;
        [&mut games.book, &mut games.pgn, &mut games.log].into_iter().flatten().for_each(absolute);
        for engine in std::iter::once(&mut self.engine).chain(&mut self.opponent) {
            engine.directions.iter_mut().for_each(absolute);
            if let Some(params) = engine.params.as_mut().filter(|text| Path::new(text).exists()) {
                let mut path = PathBuf::from(&*params);
                absolute(&mut path);
                *params = path.display().to_string();
            }
            if let Some(command) = &mut engine.command
                && let Ok(whole) = absolute_command(command)
            {
                *command = whole;
            }
        }
    }

    /// A log or a file of games that is there already and that a run would replace.
    pub fn existing_output(&self) -> Option<PathBuf> {
        let games = self.games.pgn.as_deref().map(existing_games).unwrap_or_default();
        self.games.log.iter().filter(|path| path.exists()).chain(&games).next().cloned()
    }
}

pub(crate) fn existing_games(pgn: &Path) -> Vec<PathBuf> {
    let text = pgn.to_string_lossy();
    let numbers = if text.contains("$THREAD") { 1..=4096 } else { 1..=1 };
    let paths = numbers.map(|number: u32| PathBuf::from(text.replace("$THREAD", &number.to_string())));
    paths.filter(|path| path.exists()).collect()
}

/// A path that begins at `folder`, unless it is absolute.
pub(super) fn resolve(path: &Path, folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() { path.to_path_buf() } else { folder.join(path) }
}

fn resolve_engine(engine: &mut EngineSection, folder: &Path) -> Result<()> {
    if let Some(command) = &mut engine.command {
        *command = resolve_command(command, folder)?;
    }
    if let Some(path) = &mut engine.directions {
        *path = resolve(path, folder);
    }
    if let Some(params) = &mut engine.params
        && !Prior::is_word(params)
    {
        *params = resolve(Path::new(params), folder).display().to_string();
    }
    Ok(())
}

/// A command line whose program begins at `folder`, unless it is absolute or to be looked for in `PATH`.
pub(super) fn resolve_command(text: &str, folder: &Path) -> Result<String> {
    let mut command: EngineCommand = text.parse()?;
    if folder.as_os_str().is_empty() || command.program.components().count() < 2 {
        return Ok(text.to_string());
    }
    command.program = folder.join(&command.program);
    command.to_command_line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_folders_begin_at_that_of_the_file() {
        let folder = Path::new("my runs");
        let resolved = |text| resolve_command(text, folder).unwrap();
        assert_eq!(resolved("toga2 -x"), "toga2 -x");
        assert_eq!(resolved("/bin/sh 'a b.sh'"), "/bin/sh 'a b.sh'");
        assert_eq!(resolved("./engine --net x.nn"), "'my runs/./engine' --net x.nn");
        assert_eq!(resolved("'bin/the engine' ''"), "'my runs/bin/the engine' ''");
        assert_eq!(resolve_command("./engine 'a", Path::new("")).unwrap_err().exit_code(), 2);
        assert!(resolve_command("", folder).is_err());
        assert_eq!(resolve_command("./engine  a", Path::new("")).unwrap(), "./engine  a");
    }
}
