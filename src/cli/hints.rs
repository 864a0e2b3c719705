//! Flags that fix an error: the library reports the remedy, and the command line names its flags.

use std::path::{Path, PathBuf};

use gputexel::datagen::rescore::{Begun, MissingTables};
use gputexel::devices::FaultyDevice;
use gputexel::run_folder::Occupied;
use gputexel::{Error, patch, tables};

/// Returns the end of the message for an error with a known remedy: how the user can fix it.
pub fn of(error: &Error) -> Option<String> {
    let patch = || error.remedy().copied().map(of_patch);
    let tables = || error.remedy().copied().map(of_tables);
    let folder = || error.remedy().copied().map(of_folder);
    let begun = || error.remedy().copied().map(of_begun);
    let missing = || error.remedy().map(|MissingTables| "; --skip-missing leaves such positions as they are");
    let faulty = || {
        let text = "; 'gputexel devices --check' checks it again, --backend cpu works without it";
        error.remedy().map(|FaultyDevice| text)
    };
    let named = patch().or_else(tables).or_else(folder).or_else(begun).or_else(missing).or_else(faulty);
    named.map(str::to_string).or_else(|| of_unfinished(error)).or_else(|| of_missing(error))
}

/// Suggests the file that was perhaps meant if there is none of that name.
fn of_missing(error: &Error) -> Option<String> {
    let Error::Io { path, source } = error else { return None };
    if source.kind() != std::io::ErrorKind::NotFound || path.exists() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name()?.to_str()?;
    let others = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let others = others.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // These words are accepted in place of a parameter file.
    let words = if folder.is_none() { &["material", "schema"][..] } else { &[] };
    let best = gputexel::most_alike(name, others.chain(words.iter().map(|word| (*word).to_string())))?;
    let meant = folder.map_or_else(|| PathBuf::from(&best), |folder| folder.join(&best));
    Some(format!("; did you mean '{}'?", gputexel::printable(&meant.display().to_string())))
}

/// The command that gives a folder without parameters its parameters.
fn of_unfinished(error: &Error) -> Option<String> {
    use gputexel::model::Unfinished;
    let Error::Mendable { error: inner, .. } = error else { return None };
    let Error::Input { path, .. } = &**inner else { return None };
    let folder = gputexel::printable(&path.display().to_string()).into_owned();
    error.remedy().map(|unfinished| match unfinished {
        Unfinished::Run => format!("; resume it with 'gputexel tune --resume {folder}'"),
        Unfinished::Sweep => format!("; 'gputexel sweep --resume {folder} --best FILE' trains them"),
        Unfinished::Spsa => format!("; resume it with 'gputexel spsa run --resume {folder}'"),
    })
}

/// The flags of `rescore`, as the end of a message.
fn of_begun(remedy: Begun) -> &'static str {
    match remedy {
        Begun::Resumable => "; use --resume to continue it, or --force to start again",
        Begun::Other => "; give the same as then, or start again with --force instead of --resume",
    }
}

/// The flags by which a run begins in a folder, as the end of a message.
fn of_folder(remedy: Occupied) -> &'static str {
    match remedy {
        Occupied::Overwrite { resumable: true } => "; use --force to write into it, or --resume to continue",
        Occupied::Overwrite { resumable: false } => "; use --force to write into it",
        Occupied::OtherRun => ", which --force does not overwrite; choose another folder",
    }
}

/// The flags of `patch`, as the end of a message.
pub fn of_patch(remedy: patch::Remedy) -> &'static str {
    use patch::Remedy;
    match remedy {
        Remedy::AdoptMoved => {
            "; if you have moved or copied the tree, --adopt takes over the old files in it; else delete it"
        }
        Remedy::AdoptForeign => "; --adopt takes over the old files in it if they are yours",
        Remedy::AdoptSources => "; --adopt needs the folder with the sources",
        Remedy::AllowHidden => "; --hidden allows that",
        Remedy::UndoLaterFirst => ", or use --force",
        Remedy::UndoChanged => "; --force puts it back all the same",
        Remedy::AppendOrReplace => "; --append adds to it, --force overwrites it",
    }
}

/// The flags of `patch tables`, `export` and `import-params`, as the end of a message.
fn of_tables(remedy: tables::Remedy) -> &'static str {
    use tables::Remedy;
    match remedy {
        Remedy::Trust => ", or use --trust-marker",
        Remedy::GiveStart => {
            "; give --start with a parameter file of what the source holds, or use --trust-marker"
        }
        Remedy::ListNames => "; see --list",
        Remedy::LendValues => "; --like supplies the others",
        Remedy::Like => "; see --like",
        Remedy::OtherLike => "; see --like and --model",
        Remedy::OtherStyle => "; try another --style",
        Remedy::SnakeStyle => "; try --style snake",
        Remedy::MirroredBasis => " (tune with --basis mirrored)",
        Remedy::TiedBasis => " (tune with --basis tied)",
    }
}
