//! Paths in a configuration, which begin at the folder of its file.

use std::path::{Path, PathBuf};

use super::RunConfig;
use gputexel_io::absolute;
use gputexel_model::Prior;
use gputexel_play::absolute_command;
use gputexel_play::client::EngineCommand;

impl RunConfig {
    fn map_paths(&mut self, place: impl Fn(&Path) -> PathBuf, command: impl Fn(&str) -> String) {
        for engine in std::iter::once(&mut self.engine).chain(&mut self.opponent) {
            engine.command.iter_mut().for_each(|line| *line = command(line));
            engine.directions.iter_mut().for_each(|path| *path = place(path));
            for params in engine.params.iter_mut().filter(|params| !Prior::is_word(params)) {
                *params = place(Path::new(&*params)).display().to_string();
            }
        }
        let games = &mut self.games;
        let paths = [&mut games.book, &mut games.pgn, &mut games.log].into_iter().flatten();
        paths.for_each(|path| *path = place(path));
    }

    pub(super) fn resolve_paths(&mut self, file: &Path) {
        let folder = file.parent().unwrap_or(Path::new(""));
        self.map_paths(|path| resolve(path, folder), |command| resolve_command(command, folder));
    }

    /// Makes a configuration mean the same in another folder than the current one.
    pub fn make_absolute(&mut self) {
        let command = |line: &str| absolute_command(line).unwrap_or_else(|_| line.to_string());
        self.map_paths(|path| absolute(path), command);
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

/// A command line whose program begins at `folder`, unless it is absolute or to be looked for in `PATH`; as it is if it
/// is none.
pub(super) fn resolve_command(text: &str, folder: &Path) -> String {
    let Ok(mut command) = text.parse::<EngineCommand>() else { return text.to_string() };
    if folder.as_os_str().is_empty() || command.program.components().count() < 2 {
        return text.to_string();
    }
    command.program = folder.join(&command.program);
    command.to_command_line().unwrap_or_else(|_| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_folders_begin_at_that_of_the_file() {
        for (text, expected) in [
            ("toga2 -x", "toga2 -x"),
            ("/bin/sh 'a b.sh'", "/bin/sh 'a b.sh'"),
            ("./engine --net x.nn", "'my runs/./engine' --net x.nn"),
            ("'bin/the engine' ''", "'my runs/bin/the engine' ''"),
            ("./engine 'a", "./engine 'a"),
        ] {
            assert_eq!(resolve_command(text, Path::new("my runs")), expected);
        }
        assert_eq!(resolve_command("./engine  a", Path::new("")), "./engine  a");
    }
}
