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
    let words = if folder.is_none() { &["material", "schema"][..] } else { &[] };
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
    let quoted = |words: &[String]| format!("'{}'", line_of(words));
    let command = words.iter().find(|word| !word.starts_with('-'))?;
    match command.as_str() {
        "version" => return Some(quoted(&["--version".to_string()])),
        "match" => {
            if let Some(line) = of_match(words) {
                return Some(quoted(&line));
            }
        }
        "tune" => {
            if let Some(flag) = words.iter().position(|word| word.split('=').next() == Some("--model")) {
                return Some(of_model(words, flag));
            }
        }
        _ => {}
    }
    let known = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        FOREIGN.iter().find(|(foreign, _)| *foreign == name || (*foreign == "-j" && is_jobs(name)))
    };
    words.iter().find_map(known).map(|(_, own)| (*own).to_string())
}

/// Formats a command line for reading: only words with blanks are quoted.
fn line_of(words: &[String]) -> String {
    let word = |word: &String| match word.contains(char::is_whitespace) {
        true => format!("\"{word}\""),
        false => word.clone(),
    };
    format!("gputexel {}", words.iter().map(word).collect::<Vec<_>>().join(" "))
}

/// Returns true for `-j8`.
fn is_jobs(word: &str) -> bool {
    word.strip_prefix("-j").is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Says where the model of games is chosen; `flag` is the place of `--model` in the words.
fn of_model(words: &[String], flag: usize) -> String {
    let model = words[flag].split_once('=').map(|(_, model)| model.to_string());
    let model = model.or_else(|| words.get(flag + 1).cloned()).unwrap_or_else(|| "classical".to_string());
    let inputs = words.iter().filter(|word| Path::new(word).is_file()).cloned();
    let mut extract: Vec<String> = std::iter::once("extract".to_string()).chain(inputs).collect();
    if extract.len() == 1 {
        extract.push("games.pgn".to_string());
    }
    let tail = ["--model", &model, "-o", "games.bin"].map(str::to_string);
    extract.extend(tail);
    let tune = ["tune", "games.bin"].map(str::to_string);
    format!(
        "games get their model when they are extracted: '{}', then '{}'",
        line_of(&extract),
        line_of(&tune)
    )
}

/// Translates a command line of fastchess or cutechess; `None` if nothing in it is theirs.
fn of_match(words: &[String]) -> Option<Vec<String>> {
    let (mut line, mut sprt) = (Vec::new(), Vec::new());
    let (mut engines, mut each, mut pgn, mut foreign) = (0, false, false, false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let mut flag = |flag: &str, value: String| line.extend([flag.to_string(), value]);
        let key = word.split_once('=').filter(|(key, _)| !key.starts_with("--"));
        match (word.as_str(), key) {
            ("-engine" | "-each" | "-openings" | "-sprt" | "-repeat" | "-recover" | "-pgnout", _) => {
                engines += usize::from(word == "-engine");
                (each, pgn) = (word == "-each", word == "-pgnout");
            }
            ("--tc", _) => flag("--time", rest.next()?.clone()),
            ("-concurrency" | "-j", _) => flag("--concurrency", rest.next()?.clone()),
            ("-rounds", _) => flag("--games", (2 * rest.next()?.parse::<u64>().ok()?).to_string()),
            // Games are always played in pairs.
            ("-games", _) => drop(rest.next()),
            (_, Some(("cmd", command))) => line.push(command.to_string()),
            (_, Some(("tc", time))) => flag("--time", time.to_string()),
            (_, Some(("st", time))) => {
                flag("--move-time", (time.parse::<f64>().ok()? * 1000.0).round().to_string())
            }
            (_, Some(("nodes" | "depth", number))) => {
                flag(&format!("--{}", word.split('=').next()?), number.to_string())
            }
            (_, Some(("file", file))) => flag(if pgn { "--pgn" } else { "--openings" }, file.to_string()),
            (_, Some(("name", name))) if engines > 0 => {
                flag(if engines > 1 { "--name-b" } else { "--name-a" }, name.to_string());
            }
            (_, Some(("elo0" | "elo1" | "alpha" | "beta", _) | ("model", "normalized"))) => {
                sprt.push(word.clone());
            }
            (_, Some(("proto" | "format" | "order" | "plies" | "model", _))) => {}
            (_, Some((option, value))) if option.starts_with("option.") => {
                let value = format!("{}={value}", &option["option.".len()..]);
                for (side, own) in [("--option-a", engines == 1), ("--option-b", engines > 1)] {
                    if own || each {
                        flag(side, value.clone());
                    }
                }
            }
            _ => {
                line.push(word.clone());
                continue;
            }
        }
        foreign = true;
    }
    if !sprt.is_empty() {
        line.extend(["--sprt".to_string(), sprt.join(",")]);
    }
    foreign.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(line: &str) -> Option<String> {
        of_words(&shlex::split(line).unwrap())
    }

    #[test]
    fn lines_of_other_programs_are_translated() {
        let fastchess = "match -engine cmd=./new name=new option.Hash=16 -engine cmd=./old -each tc=8+0.08 option.Threads=1 \
            -rounds 500 -repeat -concurrency 8 -openings file=book.epd format=epd order=random -sprt elo0=0 elo1=5";
        let own = "'gputexel match ./new --name-a new --option-a Hash=16 ./old --time 8+0.08 --option-a Threads=1 --option-b Threads=1 \
            --games 1000 --concurrency 8 --openings book.epd --sprt elo0=0,elo1=5'";
        assert_eq!(hint(fastchess).unwrap(), own);
        assert_eq!(hint("match a b tc=8+0.08").unwrap(), "'gputexel match a b --time 8+0.08'");
        assert_eq!(hint("match a b --tc 8+0.08").unwrap(), "'gputexel match a b --time 8+0.08'");
        assert_eq!(hint("match a b -each st=0.1").unwrap(), "'gputexel match a b --move-time 100'");
        for (line, own) in [
            ("version", "'gputexel --version'"),
            ("tune d.bin --cpu", "--backend cpu"),
            ("tune d.bin --lr=0.5", "--learning-rate RATE"),
            ("selfplay -j8", "--threads N, or --concurrency N for games"),
        ] {
            assert_eq!(hint(line).unwrap(), own, "{line}");
        }
        for line in ["match a b --tiem 5", "tune", "", "tune x --epoch 3", "match -rounds x"] {
            assert_eq!(hint(line), None, "{line}");
        }
        assert_eq!(
            hint("tune games.pgn --model=full").unwrap(),
            "games get their model when they are extracted: 'gputexel extract games.pgn --model full -o games.bin', then \
             'gputexel tune games.bin'"
        );
    }
}
