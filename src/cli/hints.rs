//! Errors of the library in one line, with the flags that fix them: the library reports the remedy, and the command
//! line names its flags. Hints for flags of other programs.

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

/// Flags of other programs, and what they are called here.
const FOREIGN: [(&str, &str); 17] = [
    ("--tc", "--time 8+0.08"),
    ("--st", "--move-time MS"),
    ("--cpu", "--backend cpu"),
    ("--gpu", "--backend gpu"),
    ("--cuda", "--backend gpu"),
    ("-j", "--threads N, or --concurrency N for games"),
    ("-t", "--threads N, or --concurrency N for games"),
    ("--jobs", "--threads N, or --concurrency N for games"),
    ("--lr", "--learning-rate RATE"),
    ("--wdl", "--blend SHARE, the share of search scores in the targets"),
    ("--superbatches", "--epochs N"),
    ("--batch-size", "--batches N, the number of mini-batches per epoch"),
    ("--rounds", "--games N, two per opening"),
    ("--book", "--openings FILE"),
    ("--output-directory", "--out DIR"),
    ("--val", "--holdout SHARE"),
    ("--validation", "--holdout SHARE"),
];

/// Suggests what was perhaps meant by words that could not be parsed, as far as other programs have them.
pub fn of_words(words: &[String]) -> Option<String> {
    let command = words.iter().find(|word| !word.starts_with('-'))?;
    if command == "version" {
        return Some("'gputexel --version'".to_string());
    }
    let known = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        FOREIGN.iter().find(|(foreign, _)| *foreign == name || (*foreign == "-j" && is_jobs(name)))
    };
    words.iter().find_map(known).map(|(_, own)| (*own).to_string())
}

fn is_jobs(word: &str) -> bool {
    word.strip_prefix("-j").is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(line: &str) -> Option<String> {
        of_words(&shlex::split(line).unwrap())
    }

    #[test]
    fn flags_of_other_programs_are_translated() {
        for (line, own) in [
            ("version", "'gputexel --version'"),
            ("match a b --tc 8+0.08", "--time 8+0.08"),
            ("tune d.bin --cpu", "--backend cpu"),
            ("tune d.bin --lr=0.5", "--learning-rate RATE"),
            ("selfplay -j8", "--threads N, or --concurrency N for games"),
        ] {
            assert_eq!(hint(line).unwrap(), own, "{line}");
        }
        for line in ["match a b --tiem 5", "tune", "", "tune x --epoch 3"] {
            assert_eq!(hint(line), None, "{line}");
        }
    }
}
