//! `gputexel demo`: the process from games to a table in source code, on a built-in sample.

use std::path::{Path, PathBuf};

use gputexel::io::write_atomically;
use gputexel::{Error, Result};
use serde_json::json;

use super::context::Context;
use super::output::{print_result, print_text};
use super::steps::{self, typed};
use super::subcommand::Subcommand;

/// The games of data/README.md.
const SAMPLE: &[u8] = include_bytes!("../../data/sample.pgn.zst");

/// Flags of `demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is downloaded: the sample of 2,400 games is part of the program. Each command is shown before it runs, as you would type it.\n\n\
Examples:\n  \
gputexel demo\n  \
gputexel demo try-it")]
pub struct DemoArgs {
    /// Folder to create [default: gputexel-demo, or with a number if that exists]
    #[arg(value_name = "DIR", value_parser = super::target::file())]
    folder: Option<PathBuf>,
}

fn road(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let at = |name: &str| folder.join(name).display().to_string();
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (games, tuned, table) = (at("sample.pgn.zst"), at("tuned"), at("tables.h"));
    let (changes, played) = (at("changes.html"), at("match"));
    vec![
        (
            "Tune piece-square tables from games. A tenth of the games is held out, to see what others would gain.",
            words(&["tune", &games, "--holdout", "0.1", "--errors", "--out", &tuned]),
        ),
        (
            "Compare the result with plain piece values.",
            words(&["compare", "material", &tuned, "--top", "5", "--board", "knight", "--html", &changes]),
        ),
        (
            "Play: do the tuned tables win games against plain piece values?",
            words(&["match", &tuned, "material", "--nodes", "1000", "--games", "200", "--out", &played]),
        ),
        (
            "Write the tables as source code for your engine.",
            words(&["export", &tuned, "--to", "c", "--output", &table]),
        ),
    ]
}

fn default_folder() -> PathBuf {
    let numbered = (2u32..).map(|number| PathBuf::from(format!("gputexel-demo-{number}")));
    let mut all = std::iter::once(PathBuf::from("gputexel-demo")).chain(numbered);
    all.find(|folder| !folder.exists()).unwrap_or_default()
}

/// Or one that is there and empty.
fn new_folder(folder: &Path) -> Result<()> {
    let holds_something = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(Error::io(folder, error)),
    };
    if holds_something {
        return Err(Error::input(folder, "holds something already; name another folder"));
    }
    std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))
}

impl Subcommand for DemoArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let folder = &self.folder.clone().unwrap_or_else(default_folder);
        new_folder(folder)?;
        write_atomically(&folder.join("sample.pgn.zst"), SAMPLE)?;
        let talks = !context.quiet && !context.json;
        let mut commands = Vec::new();
        for (about, words) in road(folder) {
            let line = typed(&words);
            if talks {
                print_text(&format!("\n# {about}\n$ {line}\n\n"))?;
            }
            steps::run(&words, !talks, context)?;
            commands.push(line);
        }
        let reports = ["tuned/report.html", "changes.html", "match/report.html"];
        let reports: Vec<PathBuf> = reports.iter().map(|name| folder.join(name)).collect();
        let object = json!({ "folder": folder, "commands": commands, "reports": reports });
        print_result(context, &object, || {
            let tuned = folder.join("tuned");
            let tuned = typed(&["report".to_string(), tuned.display().to_string(), "--open".to_string()]);
            let listed = typed(&["serve".to_string(), folder.display().to_string(), "--open".to_string()]);
            format!(
                "\n# Look at what came of it:\n$ {tuned}\n$ {listed}\n\n# Then with your own games:\n\
             $ gputexel tune games.pgn --out first\n"
            )
        })
    }
}
