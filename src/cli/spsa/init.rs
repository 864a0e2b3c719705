//! `gputexel spsa init`: a configuration to begin with.

use std::collections::BTreeMap;
use std::fmt::Write as _; // to strings, which cannot fail
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gputexel::matches::client::{EngineCommand, OptionKind, Setting, UciPlayer};
use gputexel::matches::{TimeControl, deadline_from_seconds};
use gputexel::model::Prior;
use gputexel::spsa::config::{
    EngineSection, GamesSection, OptionValue, RunConfig, RunSection, parameter_table,
};
use gputexel::spsa::variables::positive;
use gputexel::spsa::{MethodKind, Rounding, Schedule, Variable, check_draw_rate};
use gputexel::{Error, Result, write_atomically};
use serde_json::json;

use super::super::targets::check_target;
use super::super::{Context, say};
use super::candidates::{Candidates, Settings, builtin, uci};
use super::convert::remark;

/// Flags of `spsa init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Parameters of a UCI engine are its spin options; without --tune all but those that no one tunes, such \
as Hash and Threads. Of the built-in engine, queen, queen.mg or (of piece-square tables) knight.f3.eg \
stand for all values of that name, which are moved together.\n\n\
c_end is a 20th of an option's range and r_end 0.002; with --elo both, s and sigma are what 'spsa plan' \
says for a best value at a tenth of the range. Everything can be edited in the file.")]
#[command(group(clap::ArgGroup::new("who").required(true).args(["engine", "params"])))]
pub struct InitArgs {
    /// Command line of a UCI engine
    #[arg(long, value_name = "COMMAND")]
    engine: Option<String>,
    /// Parameters of the built-in engine: a file, or material[:P,N,B,R,Q]
    #[arg(long, value_name = "FILE")]
    params: Option<String>,
    /// What is tuned; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tune: Vec<String>,
    /// A UCI option; of a tuned one it is the start
    #[arg(long, value_name = "NAME=VALUE", requires = "engine")]
    option: Vec<Setting>,
    /// spsa, bspsas, bspsa or constant
    #[arg(long, value_name = "METHOD", default_value = "spsa")]
    method: MethodKind,
    /// Number of games (two a pair)
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    games: u64,
    /// Share of the games that will be drawn
    #[arg(long, value_name = "D", default_value_t = 0.5)]
    draw_rate: f64,
    /// Elo that each parameter may gain, to plan settings by
    #[arg(long, value_name = "ELO")]
    elo: Option<f64>,
    /// nodes=N, depth=N, move-time=MS or time=BASE+INC
    #[arg(long, value_name = "LIMIT", default_value = "time=8+0.08")]
    limit: TimeControl,
    /// Openings: EPD, FEN or PGN [default: random, balanced]
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Pairs at a time [default: number of cores]
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Seconds for the engine to become ready [default: 10]
    #[arg(long, value_name = "SECONDS", requires = "engine")]
    start_deadline: Option<f64>,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over an existing file
    #[arg(long)]
    force: bool,
}

/// Runs `spsa init`.
///
/// # Errors
/// Bad usage, engines that do not start or have no such option, parameter files that cannot be read.
pub fn run(args: &InitArgs, context: &Context) -> anyhow::Result<()> {
    check_target(args.output.as_deref(), args.force)?;
    if args.games < 2 {
        return Err(Error::Usage(format!("--games {}: must be at least 2, a pair", args.games)).into());
    }
    check_draw_rate(args.draw_rate)?;
    if let Some(elo) = args.elo {
        positive("--elo", elo)?;
    }
    let pairs = args.games / 2;
    let settings = Settings { pairs, draw_rate: args.draw_rate, elo: args.elo };
    let (engine, found) = match (&args.engine, &args.params) {
        (Some(command), _) => args.uci(command, settings, context.cancel)?,
        (None, Some(params)) => args.builtin(params, settings)?,
        (None, None) => return Err(Error::Usage("give --engine or --params".to_string()).into()),
    };
    let schedule = Schedule::new(pairs);
    let run = RunSection {
        method: args.method,
        iterations: pairs,
        // What follows from the number of pairs does so when that is changed.
        a: None,
        alpha: schedule.alpha,
        gamma: schedule.gamma,
        tau: None,
        draw_rate: Some(args.draw_rate),
        rounding: Rounding::default(),
        as_published: false,
        seed: 1,
    };
    let games = GamesSection {
        limit: args.limit.to_string(),
        concurrency: args.concurrency,
        book: args.book.as_ref().map(|book| self::place(book, args.output.as_deref())),
        ..GamesSection::default()
    };
    let config = RunConfig { run, engine, opponent: None, games, parameters: found.tuned };
    config.validate()?;
    let mut text = config.to_toml();
    if !found.left_out.is_empty() {
        text += "\n# Not tuned; take the # away from those that should be.\n";
        for (variable, why) in &found.left_out {
            let _ = writeln!(text, "\n# {why}");
            for line in parameter_table(variable).lines() {
                let _ = writeln!(text, "# {line}");
            }
        }
    }
    if let Some(path) = &args.output {
        write_atomically(path, text.as_bytes())?;
    }
    let names = |variables: &[Variable]| variables.iter().map(|v| v.name.clone()).collect::<Vec<String>>();
    if context.json {
        let mut report = json!({
            "parameters": config.parameters, "notes": found.notes,
            "left_out": found.left_out.iter().map(|(v, _)| &v.name).collect::<Vec<_>>(),
        });
        match &args.output {
            Some(path) => report["output"] = json!(path.display().to_string()),
            None => report["text"] = json!(text),
        }
        return Ok(say(&format!("{report}\n"))?);
    }
    match &args.output {
        None => say(&text)?,
        Some(path) if !context.quiet => {
            let names = names(&config.parameters);
            let some: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
            let more = if names.len() > some.len() { ", ..." } else { "" };
            let mut said =
                format!("{}: {} to tune: {}{more}\n", path.display(), names.len(), some.join(", "));
            if !found.left_out.is_empty() {
                let _ = writeln!(said, "{} left out, at the end of the file", found.left_out.len());
            }
            say(&said)?;
        }
        Some(_) => {}
    }
    Ok(remark(&found.notes, context)?)
}

impl InitArgs {
    fn uci(
        &self,
        text: &str,
        settings: Settings,
        stop: &'static AtomicBool,
    ) -> Result<(EngineSection, Candidates)> {
        let mut command: EngineCommand = text.parse()?;
        command.settings = self.option.clone();
        if let Some(seconds) = self.start_deadline {
            command.start_deadline = deadline_from_seconds(seconds).map_err(|_| {
                Error::Usage("--start-deadline: expected seconds, more than 0 and at most a day".to_string())
            })?;
        }
        let player = UciPlayer::start_stoppable(command.clone(), stop)?;
        let mut found = uci(player.options(), &self.option, &self.tune, settings)?;
        let mut options = BTreeMap::new();
        for option in player.options() {
            let is_set = self.option.iter().any(|setting| setting.name.eq_ignore_ascii_case(&option.name));
            if option.name.eq_ignore_ascii_case("OwnBook")
                && option.kind == (OptionKind::Check { default: true })
                && !is_set
            {
                options.insert(option.name.clone(), OptionValue::Flag(false));
                found
                    .notes
                    .push(format!("{} is turned off: games begin with the run's own openings", option.name));
            }
        }
        drop(player);
        let tuned = |name: &str| found.tuned.iter().any(|v| v.name.eq_ignore_ascii_case(name));
        for Setting { name, value } in &self.option {
            if !tuned(name) {
                options.insert(name.clone(), option_value(value));
            }
        }
        // The file may be elsewhere than the folder that relative paths begin at.
        let mut command_line = text.to_string();
        if command.program.components().count() > 1 {
            command.program = place(&command.program, self.output.as_deref());
            command_line = command.to_command_line()?;
        }
        let start_deadline = self.start_deadline;
        let engine = EngineSection {
            command: Some(command_line),
            start_deadline,
            options,
            ..EngineSection::default()
        };
        Ok((engine, found))
    }

    fn builtin(&self, params: &str, settings: Settings) -> Result<(EngineSection, Candidates)> {
        let found = builtin(params, &self.tune, settings)?;
        let params = match Prior::is_word(params) {
            true => params.to_string(),
            false => place(Path::new(params), self.output.as_deref()).display().to_string(),
        };
        Ok((EngineSection { params: Some(params), ..EngineSection::default() }, found))
    }
}

/// A path as it is to be written in a file at `output`: as it is typed where that is in the current
/// folder, else absolute.
fn place(path: &Path, output: Option<&Path>) -> PathBuf {
    let elsewhere = output.and_then(Path::parent).is_some_and(|folder| !folder.as_os_str().is_empty());
    if !elsewhere {
        return path.to_path_buf();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Numbers and flags without quotes.
fn option_value(text: &str) -> OptionValue {
    match (text, text.parse::<i64>()) {
        ("true", _) => OptionValue::Flag(true),
        ("false", _) => OptionValue::Flag(false),
        // Written as it was.
        (_, Ok(number)) if number.to_string() == text => OptionValue::Whole(number),
        _ => OptionValue::Text(text.to_string()),
    }
}
