//! Which flags mend an error: the library says what would, and the flags are the command line's.

use gputexel::{Error, patch, tables};

/// The error with the flag that mends it, if there is one.
pub fn with_flags(error: anyhow::Error) -> anyhow::Error {
    let error = match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => return error,
    };
    let hint = error.remedy().copied().map(of_patch).or_else(|| error.remedy().copied().map(of_tables));
    match hint {
        Some(hint) => error.with_hint(hint).into(),
        None => error.into(),
    }
}

/// The command that gives a folder without parameters its parameters, as the end of a message.
pub fn of_unfinished(error: &Error) -> String {
    use gputexel::model::Unfinished;
    let (Error::Mendable { error: inner, .. }, Some(unfinished)) = (error, error.remedy()) else {
        return String::new();
    };
    let Error::Input { path, .. } = &**inner else { return String::new() };
    let folder = gputexel::printable(&path.display().to_string()).into_owned();
    match unfinished {
        Unfinished::Run => format!("; resume it with 'gputexel tune --resume {folder}' (or pso)"),
        Unfinished::Sweep => format!("; 'gputexel sweep --resume {folder} --best FILE' trains them"),
        Unfinished::Spsa => format!("; resume it with 'gputexel spsa run --resume {folder}'"),
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
    }
}
