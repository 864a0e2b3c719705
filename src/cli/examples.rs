//! Examples for `--help`: one list, so that a test can hold every line against the parser.

use clap::{Command, CommandFactory};

use super::Cli;

/// Command lines by the command that they are of.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "tune",
        &[
            "gputexel tune data/sample.bin",
            "gputexel tune d.bin --holdout 0.1 --l2 1e-4 --out runs/first",
            "gputexel tune d.bin --basis mirrored --round local --freeze king",
            "gputexel tune --resume runs/first",
        ],
    ),
    (
        "sweep",
        &[
            "gputexel sweep d.bin --scale 0.2:3:1024 --svg k.svg",
            "gputexel sweep d.bin --grid l2=0,1e-5,1e-4,1e-3 --grid learning-rate=5,20 --epochs 60 --best runs/best",
        ],
    ),
    ("pso", &["gputexel pso d.bin --k-e 1.886 --polish"]),
    (
        "spsa simulate",
        &[
            "gputexel spsa simulate --method spsa,bspsa --parameters 8 --elo 20 -N 10000 --grid c-end=x0.5,x1,x2",
        ],
    ),
    ("spsa plan", &["gputexel spsa plan --games 20000 --draw-rate 0.6 -p \"King Safety,100,0,400,50,5\""]),
    ("spsa run", &["gputexel spsa run spsa.toml --out runs/toga --verify 1000"]),
    ("spsa report", &["gputexel spsa report runs/toga --svg paths.svg"]),
    ("spsa verify", &["gputexel spsa verify runs/toga --games 2000"]),
    (
        "spsa init",
        &[
            "gputexel spsa init --engine /usr/games/toga2 --tune \"King Safety\" --games 6000 --limit depth=3 -o spsa.toml",
        ],
    ),
    ("spsa convert", &["gputexel spsa convert list.txt --to openbench"]),
    (
        "extract",
        &[
            "gputexel extract games.pgn.zst more.pgn -o dataset.bin",
            "gputexel extract games.pgn --preset unique --per-game 20 -o d.bin",
            "gputexel extract positions.epd --model material -o d.bin",
        ],
    ),
    (
        "convert",
        &[
            "gputexel convert games.pgn -o games.binpack",
            "gputexel convert data.binpack -o quiet.bf --keep-checks=false --keep-captures=false",
        ],
    ),
    (
        "import",
        &[
            "gputexel import --schema-from trace.svm -o schema.json",
            "gputexel import trace.svm --schema schema.json -o dataset.bin",
        ],
    ),
    ("trace", &["gputexel trace dataset.bin -o trace.svm --schema schema.json"]),
    (
        "check",
        &[
            "gputexel check trace.svm --schema schema.json",
            "gputexel check dataset.bin --params runs/first/params.json",
        ],
    ),
    ("verify", &["gputexel verify after.svm --schema schema.json --params runs/first"]),
    ("info", &["gputexel info dataset.bin"]),
    ("eval", &["gputexel eval dataset.bin runs/first/params.json"]),
    (
        "features",
        &["gputexel features classical", "gputexel features classical --group knight_mobility --names"],
    ),
    (
        "compare",
        &[
            "gputexel compare runs/first runs/second --dataset dataset.bin",
            "gputexel compare old.json runs/second --html changes.html --sort errors",
        ],
    ),
    (
        "report",
        &[
            "gputexel report runs/first --open",
            "gputexel report runs/first -o first.html --dataset dataset.bin",
        ],
    ),
    ("serve", &["gputexel serve runs --open", "gputexel serve . --port 8080"]),
    ("demo", &["gputexel demo", "gputexel demo try-it"]),
    (
        "export",
        &[
            "gputexel export runs/first --to cpp -o src/psqt.hpp",
            "gputexel export params.json --to c --orientation a8 --split-material",
            "gputexel export params.json --to rust --fixed 256 --normalize pawn.eg=100",
            "gputexel export params.json --to csharp --colors both --module Psqt",
            "gputexel export params.json --files 4 -o tables.go --force",
            "gputexel export params.json --to uci --style pascal --prefix Tune",
            "gputexel export params.json --to csv --decimals 2 --no-header",
        ],
    ),
    (
        "wdl",
        &[
            "gputexel wdl games.pgn.zst --out wdl",
            "gputexel wdl games.pgn --by move --normalized-by 356",
            "gputexel wdl games.pgn --to rust",
        ],
    ),
    (
        "import-params",
        &[
            "gputexel import-params tables.hpp -o params.json",
            "gputexel import-params src/psqt.cpp --model pst -o psqt.json",
            "gputexel import-params options.txt --like runs/first -o changed.json",
        ],
    ),
    (
        "match",
        &[
            "gputexel match runs/first/params.json material --nodes 5000 --games 2000",
            "gputexel match a.json b.json --time 5+0.05 --openings book.epd --sprt elo0=0,elo1=5",
            "gputexel match new.json \"/usr/games/toga2\" --depth 3 --option-b \"Hash=16\"",
        ],
    ),
    (
        "selfplay",
        &[
            "gputexel selfplay --games 10000 --nodes 5000 -o runs/games",
            "gputexel selfplay --params runs/first --win-score 1000 --draw-after 40 --seed 2 -o runs/second-games",
            "gputexel selfplay --engine ./engine --option Hash=16 --depth 8 --openings book.epd --random-plies 2",
            "gputexel selfplay --resume runs/games",
        ],
    ),
    (
        "rescore",
        &[
            "gputexel rescore quiet.epd -o rescored.binpack --engine /usr/games/stockfish --nodes 20000",
            "gputexel rescore games.binpack -o endings.binpack --syzygy /data/syzygy --skip-missing",
            "gputexel rescore quiet.epd -o rescored.txt --engine runs/first --depth 8 --resume",
        ],
    ),
    ("patch tune", &["gputexel patch tune engine.tune src"]),
    ("patch apply", &["gputexel patch apply engine.tune src --params runs/x/values.params"]),
    ("patch check", &["gputexel patch check engine.tune src"]),
    ("patch undo", &["gputexel patch undo src"]),
    (
        "patch init",
        &[
            "gputexel patch init src/search.cpp:120 --declaration TUNE_HERE --options OPTIONS_HERE -o engine.tune",
        ],
    ),
    (
        "patch tables",
        &[
            "gputexel patch tables runs/first/params.json src/psqt.cpp --dry-run",
            "gputexel patch tables params.json --list",
        ],
    ),
    ("basis", &["gputexel basis madchess -o mine.json", "gputexel basis mirrored+tied --model pst"]),
    ("bench", &["gputexel bench", "gputexel bench d.bin --device radeon", "gputexel bench -o report.json"]),
    (
        "worker",
        &[
            "gputexel worker nats://den.example",
            "gputexel worker tls://den.example --config worker.toml --queue-token-file token.txt",
        ],
    ),
    ("uci", &["gputexel uci --params runs/first/params.json"]),
    (
        "devices",
        &["gputexel devices", "gputexel devices --check", "gputexel devices --check --device radeon"],
    ),
    (
        "completions",
        &[
            "gputexel completions bash",
            "gputexel completions fish -o ~/.config/fish/completions/gputexel.fish",
        ],
    ),
    ("man", &["gputexel man", "gputexel man -o ~/.local/share/man/man1"]),
];

/// The program's command line, with examples in the help of each command.
pub fn command() -> Command {
    EXAMPLES.iter().fold(Cli::command(), |command, (path, lines)| {
        let words: Vec<&str> = path.split(' ').collect();
        with(command, &words, lines)
    })
}

fn with(command: Command, path: &[&str], lines: &[&str]) -> Command {
    let Some((first, rest)) = path.split_first() else {
        let examples = format!("Examples:\n  {}", lines.join("\n  "));
        let help = match command.get_after_help() {
            Some(about) => format!("{about}\n\n{examples}"),
            None => examples,
        };
        return command.after_help(help);
    };
    command.mut_subcommand(*first, |command| with(command, rest, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths of all commands that do something themselves.
    fn leaves(command: &Command, path: &str, out: &mut Vec<String>) {
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let path = format!("{path} {}", sub.get_name()).trim().to_string();
            match sub.has_subcommands() {
                true => leaves(sub, &path, out),
                false => out.push(path),
            }
        }
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        let mut paths = Vec::new();
        leaves(&Cli::command(), "", &mut paths);
        for path in &paths {
            let found = EXAMPLES.iter().find(|(own, _)| own == path);
            let (_, lines) = found.unwrap_or_else(|| panic!("'{path}' has no examples"));
            for line in *lines {
                assert!(line.starts_with(&format!("gputexel {path}")), "{line}");
                let words = shlex::split(line).unwrap();
                if let Err(error) = command().try_get_matches_from(words) {
                    panic!("{line}: {error}");
                }
            }
        }
        // Nothing is said of commands that are gone, or twice.
        assert_eq!(paths.len(), EXAMPLES.len());
        command().debug_assert();
    }

    #[test]
    fn help_ends_with_the_examples() {
        let mut all = command();
        let help = all.find_subcommand_mut("basis").unwrap().render_long_help().to_string();
        let (before, after) = help.split_once("Examples:\n").unwrap();
        assert!(
            before.contains("A basis lists coordinates")
                && after.contains("  gputexel basis madchess -o mine.json")
        );
    }
}
