//! `gputexel learn`: from nothing to values that win games, in rounds of self-play, labels, tuning and a match.

use std::path::{Path, PathBuf};

use gputexel::io::absolute;
use gputexel::io::run_folder::{Kind, PARAMETERS, REPORT, RunFolder};
use gputexel::matches::openings::Openings;
use gputexel::matches::statistics::Pentanomial;
use gputexel::matches::{Contestant, EngineConfig, GameSettings, MatchRecord, Side, judge};
use gputexel::model::ParameterFile;
use gputexel::report::{Conclusion, Judgement, Page, Part, Table, quoted};
use gputexel::{Error, Result};
use serde::{Deserialize, Serialize};

mod clock;

use self::clock::Clock;
use super::conclusion::{add, ending};
use super::context::Context;
use super::output::{print_result, print_text};
use super::steps::{self, Words, existing};
use super::subcommand::Subcommand;
use super::table::{aligned, counted, duration, grouped};

/// Model that labels positions and plays: richer than the tables that are wanted, so that its scores teach them
/// something.
const TEACHER: &str = "full";
/// Nodes per move of the games that leaves are drawn from: many games matter more than good ones.
const GAME_NODES: u64 = 300;
const MATCH_NODES: u64 = 1000;
/// One in this many evaluated positions is drawn: 13 to 25 from a game.
const ONE_IN: u64 = 512;
/// Rounds that make do with shorter searches for labels.
const QUICK: u32 = 3;
const MATCH_GAMES: u64 = 1000;
/// Elo by which values may be weaker than the best for their leaves to be tuned to once more.
const NEAR: f64 = 60.0;
/// Times that the model which is wanted draws leaves of its own, from a part of a round's games.
const OWN_DRAWS: u32 = 2;
/// Rounds in a row without a gain after which learning ends.
const PATIENCE: usize = 2;
const ROUND: &str = "round.json";
const LABELED: &str = "labeled.fens";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
In each round, the built-in engine plays itself with the best values so far, and positions that its searches evaluate are drawn; \
a longer search labels them; values are tuned to these labels, and to those of rounds before whose values were nearly as \
strong; and a match against the values before decides: those that score more are kept. \
All of that is done with the model 'full', whose values play and \
label; in the end the model that was asked for draws positions of its own, which 'full' labels, is tuned, does so once more, and \
is measured against the start and PeSTO's tables: DIR/params.json if it beats the start with a likelihood of 95 %, DIR/values in any case.\n\n\
A killed run is continued by --resume, as long as its --hours last. DIR/round-NN has the folders of the commands that a round \
consists of.\n\n\
Examples:\n  \
gputexel learn -o runs/learned\n  \
gputexel learn -o runs/tables --model pst --hours 2 --openings book.epd\n  \
gputexel learn -o runs/taught --labels stockfish --hours 0.5\n  \
gputexel learn --resume runs/learned --hours 3")]
pub struct LearnArgs {
    #[command(flatten)]
    start: Start,
    /// Hours to learn for, over all resumptions; a round that would not end in time is not begun, except the first, and
    /// the last tuning and its matches come on top [default: 1; resumed runs keep theirs]
    #[arg(long, value_name = "H")]
    hours: Option<f64>,
    /// Folder to create
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", required_unless_present = "resume", value_parser = super::target::file())]
    out: Option<PathBuf>,
    /// Continue the run in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "Start")]
    resume: Option<PathBuf>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plan {
    hours: f64,
    /// The engine of `--labels`, as it was at the start.
    #[serde(default)]
    teacher: Option<EngineConfig>,
    #[serde(flatten)]
    start: Start,
}

#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[group(id = "Start", multiple = true)]
struct Start {
    /// Model whose values are wanted: pst, classical or full [default: pst]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Values to begin with, for the model 'full' or one that it contains [default: material]
    #[arg(long, value_name = "PARAMS")]
    params: Option<String>,
    /// UCI engine that labels positions, instead of the values learned so far
    #[arg(long, value_name = "COMMAND")]
    labels: Option<String>,
    /// Openings of the games, as for selfplay
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,
    /// Games of a round [default: 6000, and twice as many after a round without a gain]
    #[arg(long, value_name = "N")]
    games: Option<u64>,
    /// Nodes per position for labels [default: 2000, from the fourth round 8000], and twice as many after a round
    /// without a gain
    #[arg(long, value_name = "N")]
    label_nodes: Option<u64>,
    /// Games of each match [default: 1000]
    #[arg(long, value_name = "N")]
    match_games: Option<u64>,
    /// Seed of openings
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Round {
    round: u32,
    games: u64,
    positions: u64,
    label_nodes: u64,
    /// Elo over the values before, and half the width of its 95 % interval.
    elo: f64,
    error95: f64,
    kept: bool,
    seconds: f64,
}

/// Result of a match: Elo, half the width of its 95 % interval, likelihood of superiority.
#[derive(Clone, Copy, Debug, Serialize)]
struct Played {
    elo: f64,
    error95: f64,
    los: f64,
    #[serde(skip)]
    pairs: Pentanomial,
}

impl Played {
    fn wins(&self) -> bool {
        self.los > 0.95
    }
}

impl Round {
    fn verdict(&self) -> &'static str {
        if self.kept { "kept" } else { "not kept" }
    }
}

impl Subcommand for LearnArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        if let Some(hours) = self.hours.filter(|hours| !(hours.is_finite() && *hours > 0.0)) {
            return Err(Error::setting("hours", hours, "expected a number above 0").into());
        }
        let (folder, Plan { hours, start, .. }) = match (&self.resume, &self.out) {
            (Some(path), _) => {
                let folder = RunFolder::enter(path, Kind::Learn)?;
                let mut plan: Plan = folder.record(Kind::Learn)?;
                if let Some(teacher) = &mut plan.teacher {
                    open(teacher, context)?;
                }
                (folder, Plan { hours: self.hours.unwrap_or(plan.hours), ..plan })
            }
            (None, Some(path)) => {
                let start = self.start.absolute();
                let teacher = start.check(context)?;
                let plan = Plan { hours: self.hours.unwrap_or(1.0), teacher, start };
                let folder = RunFolder::create(Some(path), Kind::Learn, false)?;
                folder.write_record(Kind::Learn, &plan)?;
                (folder, plan)
            }
            (None, None) => unreachable!("clap requires one of them"),
        };
        folder.lock()?;
        let learning = Learning { folder: &folder, start, context, hours, clock: Clock::default() };
        learning.run().map_err(|error| match error.downcast_ref::<Error>() {
            Some(Error::Interrupted(_)) => {
                let path = folder.path().display();
                Error::Interrupted(format!("while learning; continue with 'gputexel learn --resume {path}'"))
                    .into()
            }
            _ => error,
        })
    }
}

fn open(engine: &mut EngineConfig, context: &Context) -> Result<()> {
    Contestant::open(engine, 1, &context.cancel.into(), Kind::Learn.name()).map(|_| ())
}

impl Start {
    fn absolute(&self) -> Self {
        let params = self.params.as_ref().map(|text| match Path::new(text).exists() {
            true => absolute(text).display().to_string(),
            false => text.clone(),
        });
        let labels = self
            .labels
            .as_ref()
            .map(|text| gputexel::matches::absolute_command(text).unwrap_or_else(|_| text.clone()));
        Self { params, labels, openings: self.openings.as_ref().map(absolute), ..self.clone() }
    }

    fn check(&self, context: &Context) -> Result<Option<EngineConfig>> {
        if !["pst", "classical", TEACHER].contains(&self.model()) {
            return Err(Error::setting("model", self.model(), "expected pst, classical or full"));
        }
        gputexel::model::named_parameters(self.params())?;
        if let Some(games) = self.match_games {
            gputexel::matches::check_games("match-games", games)?;
        }
        if let Some(path) = &self.openings {
            Openings::read(Some(path), GameSettings::default().book_plies, 1)?;
        }
        for (name, value) in [("games", self.games), ("label-nodes", self.label_nodes)] {
            if value == Some(0) {
                return Err(Error::setting(name, 0, "expected at least 1"));
            }
        }
        let Some(labels) = &self.labels else { return Ok(None) };
        let opened = || {
            let mut engine = Side::new(labels.as_str()).describe()?;
            open(&mut engine, context).map(|()| Some(engine))
        };
        opened().map_err(|error| Error::setting("labels", labels, format!("cannot be used: {error}")))
    }

    fn params(&self) -> &str {
        self.params.as_deref().unwrap_or("material")
    }

    fn model(&self) -> &str {
        self.model.as_deref().unwrap_or("pst")
    }
}

struct Learning<'a> {
    folder: &'a RunFolder,
    start: Start,
    context: &'a Context,
    hours: f64,
    clock: Clock,
}

impl Learning<'_> {
    fn run(&self) -> anyhow::Result<()> {
        let mut rounds: Vec<Round> = Vec::new();
        let mut best = self.start.params().to_string();
        // Where the labels of the last gain are.
        let mut labels = None;
        loop {
            let round = rounds.len() as u32 + 1;
            let path = self.round_folder(round);
            let done = if let Some(file) = existing(&path, ROUND) {
                self.read_round(&file)?
            } else {
                // A round after one without a gain takes twice as long.
                let next = rounds.last().map_or(0.0, |last| last.seconds * if last.kept { 1.1 } else { 2.1 });
                // The model that is wanted takes about as long, in the end.
                let own = if self.start.model() == TEACHER { 0.0 } else { next };
                if round > 1 && self.clock.spent() + next + own > 3600.0 * self.hours || is_over(&rounds) {
                    break;
                }
                self.play_round(&rounds, &path, &best)?
            };
            self.show(&done)?;
            if done.kept {
                best = path.join("values").display().to_string();
            }
            if done.kept || labels.is_none() {
                labels = Some(path.join(LABELED));
            }
            rounds.push(done);
            self.clock.set(rounds.iter().map(|round| round.seconds).sum());
            self.folder.write(REPORT, self.page(&rounds, None).to_html())?;
        }
        let labels = labels.ok_or_else(|| Error::Usage("no round was played".to_string()))?;
        self.finish(&rounds, &best, &labels)
    }

    fn round_folder(&self, round: u32) -> PathBuf {
        self.folder.file(&format!("round-{round:02}"))
    }

    fn read_round(&self, file: &Path) -> Result<Round> {
        let bytes = std::fs::read(file).map_err(|e| Error::io(file, e))?;
        serde_json::from_slice(&bytes).map_err(|e| Error::input(file, e.to_string()))
    }

    fn step(&self, what: &str, words: &Words) -> anyhow::Result<()> {
        if !self.context.quiet && !self.context.json {
            let [now, all] = [self.clock.spent(), 3600.0 * self.hours].map(duration);
            note!("{now:>12} of {all}  {what}");
        }
        steps::run(words, true, self.context)
    }

    fn play_round(&self, rounds: &[Round], path: &Path, best: &str) -> anyhow::Result<Round> {
        let round = rounds.len() as u32 + 1;
        let before = self.clock.enter(path)?;
        let (games, label_nodes) = self.effort(round, without_gain(rounds));
        let at = |name: &str| path.join(name);
        self.label(round, path, best, self.start.labels.as_deref().unwrap_or(best), (games, label_nodes))?;
        let values = at("values");
        let tuned_to = std::iter::once(round).chain(near(rounds, label_nodes));
        let labeled: Vec<PathBuf> = tuned_to.map(|round| self.round_folder(round).join(LABELED)).collect();
        self.tune(&labeled, TEACHER, &values)?;
        let folder = at("match");
        let played = self.play(&values, best, &folder, round)?;
        let tuned = ParameterFile::read(&values.join(PARAMETERS))?;
        let done = Round {
            round,
            games,
            positions: tuned.provenance.positions,
            label_nodes,
            elo: played.elo,
            error95: played.error95,
            // Rounds gain about as much as the error of their match: to wait for certainty would lose every second gain.
            kept: played.elo > 0.0,
            seconds: self.clock.spent() - before,
        };
        gputexel::io::write_atomically(&at(ROUND), format!("{}\n", serde_json::json!(done)).as_bytes())?;
        Ok(done)
    }

    /// Games of a round, and nodes for labels; twice as many of both after each round without a gain.
    fn effort(&self, round: u32, failed: usize) -> (u64, u64) {
        let nodes = if round > QUICK { 8000 } else { 2000 };
        let more = |given: Option<u64>, own: u64| given.unwrap_or(own).saturating_mul(1 << failed);
        (more(self.start.games, 6000), more(self.start.label_nodes, nodes))
    }

    /// Writes `labeled.fens` in a folder.
    fn label(
        &self,
        round: u32,
        path: &Path,
        params: &str,
        engine: &str,
        (games, label_nodes): (u64, u64),
    ) -> anyhow::Result<()> {
        let labeled = path.join(LABELED);
        if labeled.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))?;
        let folder = path.join("games");
        let words = match existing(&folder, "selfplay.jsonl") {
            Some(_) => Words::new("selfplay").path(Some("--resume"), &folder),
            None => Words::new("selfplay")
                .flag("--params", Some(params))
                .flag("--games", Some(games))
                .flag("--nodes", Some(GAME_NODES))
                .flag("--leaves", Some(ONE_IN))
                .flag("--seed", Some(self.start.seed.unwrap_or(1).wrapping_add(u64::from(round))))
                .flag("--openings", self.start.openings.as_ref().map(|path| path.display()))
                // Books shorter than the number of games are used more than once.
                .flag("--random-plies", self.start.openings.as_ref().map(|_| 2))
                .path(Some("--out"), &folder),
        };
        self.step(&format!("{} games at {GAME_NODES} nodes", grouped(games)), &words)?;
        let words = Words::new("rescore")
            .path(None, &folder.join("leaves.fens"))
            .flag("--engine", Some(engine))
            .flag("--nodes", Some(label_nodes))
            .flag("--quiescence-margin", Some(0))
            .path(Some("--output"), &labeled)
            .and(existing(path, "labeled.fens.rescore").map(|_| "--resume"));
        self.step(&format!("labels from {} nodes", grouped(label_nodes)), &words)?;
        // Labels are what is worth keeping; games are large.
        let _ = std::fs::remove_dir_all(folder);
        Ok(())
    }

    fn tune(&self, labeled: &[PathBuf], model: &str, values: &Path) -> anyhow::Result<()> {
        let data = labeled[0].with_extension("bin");
        let words = Words::new("extract --force --target score");
        let words = labeled
            .iter()
            .fold(words, |words, file| words.path(None, file))
            .flag("--model", Some(model))
            .path(Some("--output"), &data);
        self.step(&format!("tune {model}"), &words)?;
        let words = Words::new("tune --force").path(None, &data).path(Some("--out"), values);
        steps::run(&words, true, self.context)?;
        let _ = std::fs::remove_file(data);
        Ok(())
    }

    fn play(&self, a: &Path, b: &str, folder: &Path, seed: u32) -> anyhow::Result<Played> {
        let words = match existing(folder, "match.jsonl") {
            Some(_) => Words::new("match").path(Some("--resume"), folder),
            None => Words::new("match")
                .path(None, a)
                .and([b])
                .flag("--nodes", Some(MATCH_NODES))
                .flag("--games", Some(self.start.match_games.unwrap_or(MATCH_GAMES)))
                .flag("--seed", Some(1000 + seed))
                .flag("--openings", self.start.openings.as_ref().map(|path| path.display()))
                .path(Some("--out"), folder),
        };
        self.step(&format!("match against {b}"), &words)?;
        let tally = MatchRecord::read(folder)?.tally;
        let elo = tally.pairs.elo();
        Ok(Played { elo: elo.elo, error95: elo.error95, los: tally.pairs.los(), pairs: tally.pairs })
    }

    fn finish(&self, rounds: &[Round], best: &str, labels: &Path) -> anyhow::Result<()> {
        let model = self.start.model();
        // What comes after so many rounds; more of them will have another end.
        let end = self.folder.file(&format!("after-{:02}", rounds.len()));
        self.clock.enter(&end)?;
        let values = if model == TEACHER && rounds.iter().any(|round| round.kept) {
            PathBuf::from(best)
        } else {
            // What a search evaluates depends on the values that it searches with, so the model that is wanted
            // draws its own positions, and again with the values tuned to them; the teacher labels them.
            let engine = self.start.labels.as_deref().unwrap_or(best);
            let (games, label_nodes) = self.effort(rounds.len() as u32, 0);
            let effort = (games.div_ceil(OWN_DRAWS.into()), label_nodes);
            let mut drawn: Vec<PathBuf> = Vec::new();
            for draw in 1..=OWN_DRAWS {
                let path = end.join(format!("draw-{draw}"));
                let labeled = path.join(LABELED);
                if !labeled.exists() {
                    std::fs::create_dir_all(&path).map_err(|e| Error::io(&path, e))?;
                    let params = path.join("player");
                    let known = if drawn.is_empty() { &[labels.to_path_buf()][..] } else { &drawn };
                    self.tune(known, model, &params)?;
                    self.label(999 + draw, &path, &params.display().to_string(), engine, effort)?;
                }
                drawn.push(labeled);
            }
            let values = self.folder.file("values");
            self.tune(&drawn, model, &values)?;
            values
        };
        let start = self.start.params();
        let mut played = Vec::new();
        for name in [start, "pesto"].into_iter().skip(usize::from(start == "pesto")) {
            let folder = end.join(format!("against-{}", word(name)));
            played.push((name.to_string(), self.play(&values, name, &folder, 0)?));
        }
        let wins = played[0].1.wins();
        let parameters = ParameterFile::read(&values.join(PARAMETERS))?;
        if wins {
            self.folder.write(PARAMETERS, parameters.to_json())?;
        }
        let conclusion = self.conclude(rounds, &played, &values);
        self.folder.write(REPORT, self.page(rounds, Some((&played, &conclusion))).to_html())?;
        let path = self.folder.path().display();
        let mut object = serde_json::json!({
            "folder": self.folder.path(), "model": model, "rounds": rounds, "kept": wins,
            "against": played.iter().map(|(name, played)| serde_json::json!({"name": name, "match": played})).collect::<Vec<_>>(),
        });
        add(&mut object, &conclusion);
        print_result(self.context, &object, || {
            let written = if wins { "written    " } else { "not written" };
            let result = format!("{written} {path}/{PARAMETERS}: {model}\n");
            let line = |(name, played): &(String, Played)| {
                format!("against     {name}: Elo {:+.0} ± {:.0}\n", played.elo, played.error95)
            };
            let lines: String = played.iter().map(line).collect();
            let table = aligned(&table(rounds), 0);
            format!("\n{table}\n{result}report      {path}/{REPORT}\n{lines}{}", ending(&conclusion))
        })
    }

    fn conclude(&self, rounds: &[Round], all: &[(String, Played)], values: &Path) -> Conclusion {
        let (model, start) = (self.start.model(), self.start.params());
        let stronger = all.get(1).filter(|(_, played)| played.pairs.elo().high < 0.0);
        let played = &all[0].1;
        let mut verdict = judge(&played.pairs, [model, start]);
        if !played.wins() {
            verdict.words = format!(
                "{} do not show that {model} beats {start}, so no {PARAMETERS} is written; its values are in {}",
                counted(played.pairs.games(), "game"),
                values.display()
            );
        } else if verdict.judgement != Judgement::Better {
            verdict.words = format!("{model} scores more than {start}, within the error");
        }
        if let Some((name, _)) = stronger {
            verdict.words += &format!(", and {name} is stronger");
        }
        let more =
            || format!("gputexel learn --resume {} --hours {}", quoted(self.folder.path()), 2.0 * self.hours);
        let is_enough = is_over(rounds) || played.wins() && stronger.is_none();
        let next = if is_enough { String::new() } else { more() };
        Conclusion { verdict, findings: Vec::new(), next }
    }

    fn show(&self, this: &Round) -> Result<()> {
        if self.context.quiet || self.context.json {
            return Ok(());
        }
        let Round { round, elo, error95, positions, seconds, .. } = this;
        print_text(&format!(
            "round {round}     Elo {elo:+.0} ± {error95:.0} over the values before, {} positions, {}: {}\n",
            grouped(*positions),
            duration(*seconds),
            this.verdict(),
        ))
    }

    fn page(&self, rounds: &[Round], end: Option<(&[(String, Played)], &Conclusion)>) -> Page {
        let (against, conclusion) = end.unzip();
        let model = self.start.model();
        let mut facts = vec![("rounds".to_string(), rounds.len().to_string())];
        for (name, played) in against.unwrap_or_default() {
            facts.push((format!("Elo over {name}"), format!("{:+.0} ± {:.0}", played.elo, played.error95)));
        }
        let [titles, rows @ ..] = &table(rounds)[..] else { unreachable!("there are titles") };
        Page {
            title: format!("gputexel learn: {}", self.folder.path().display()),
            about: format!(
                "Values of {model} from self-play, beginning with {}. Each round's values play against those before.",
                self.start.params()
            ),
            facts,
            conclusion: conclusion.cloned(),
            parts: vec![Part {
                id: "rounds",
                name: "Rounds",
                tables: vec![Table { header: titles.clone(), rows: rows.to_vec(), ..Table::default() }],
            }],
        }
    }
}

/// Rounds whose leaves are as good as new ones, latest first: their values were nearly as strong, their labels about as
/// deep.
fn near(rounds: &[Round], label_nodes: u64) -> impl Iterator<Item = u32> {
    let mut behind = 0.0;
    let is_near = move |round: &&Round| {
        behind += if round.kept { round.elo } else { 0.0 };
        behind <= NEAR && 2 * round.label_nodes >= label_nodes
    };
    rounds.iter().rev().take_while(is_near).map(|round| round.round)
}

/// Rounds without a gain since the last one with one.
fn without_gain(rounds: &[Round]) -> usize {
    rounds.iter().rev().take_while(|round| !round.kept).count()
}

fn is_over(rounds: &[Round]) -> bool {
    without_gain(rounds) >= PATIENCE
}

fn word(name: &str) -> String {
    let end =
        Path::new(name).file_name().map_or_else(|| name.into(), |end| end.to_string_lossy().into_owned());
    end.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

fn table(rounds: &[Round]) -> Vec<Vec<String>> {
    let titles = ["round", "games", "positions", "label nodes", "Elo", "", "time"].map(String::from).to_vec();
    let row = |round: &Round| {
        vec![
            round.round.to_string(),
            grouped(round.games),
            grouped(round.positions),
            grouped(round.label_nodes),
            format!("{:+.0} ± {:.0}", round.elo, round.error95),
            round.verdict().to_string(),
            duration(round.seconds),
        ]
    };
    std::iter::once(titles).chain(rounds.iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_of_rounds_that_are_nearly_as_strong_are_tuned_to_again() {
        let gains = [(360.0, 2000), (88.0, 2000), (76.0, 2000), (56.0, 8000), (34.0, 8000), (6.0, 8000)];
        let rounds: Vec<Round> = (1..)
            .zip(gains)
            .map(|(round, (elo, label_nodes))| {
                let kept = elo > 20.0;
                Round { round, games: 1, positions: 1, label_nodes, elo, error95: 20.0, kept, seconds: 1.0 }
            })
            .collect();
        let numbers = |count: usize, nodes: u64| near(&rounds[..count], nodes).collect::<Vec<u32>>();
        assert_eq!(numbers(6, 16000), [6, 5]);
        assert_eq!(numbers(4, 8000), [4]);
        // Too weak, and with labels that are not deep enough.
        assert!([numbers(0, 2000), numbers(2, 2000), numbers(4, 32000)].iter().all(Vec::is_empty));
    }
}
