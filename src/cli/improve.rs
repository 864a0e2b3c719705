//! `gputexel improve`: a run proposes directions, games decide how far to go.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gputexel::dataset::{shards, tensors};
use gputexel::io::run_folder::{Kind, PARAMETERS, REPORT, RunFolder};
use gputexel::io::{absolute, escaped};
use gputexel::matches::client::{EngineCommand, OptionKind, PARAMETERS_WORD, Setting, UciPlayer};
use gputexel::matches::statistics::{Sprt, SprtState};
use gputexel::matches::{Changes, MatchResult, Stop, TimeControl, check_games};
use gputexel::model::ParameterFile;
use gputexel::report::{Judgement, Page, Part, Table, quoted};
use gputexel::spsa::config::{EngineSection, GamesSection, OptionValue, RunConfig, RunSection};
use gputexel::spsa::planner::{Advice, Guess};
use gputexel::spsa::run::{Direction, Directions, SpsaRun, Verification, VerifyOptions, conclude_test};
use gputexel::spsa::{MethodKind, Rounding, Schedule};
use gputexel::tables::option_names;
use gputexel::tuning::RunRecord;
use gputexel::{Error, Result};
use serde::{Deserialize, Serialize};

use super::conclusion::{add, ending, findings};
use super::context::Context;
use super::games::{Progress, RuleFlags, settings};
use super::output::print_result;
use super::steps::existing;
use super::subcommand::{Subcommand, short_help};
use super::table::{aligned, grouped};

/// SPSA of more needs more games.
const DIRECTIONS: usize = 12;
const PAIRS: u64 = 5000;
const TEST_GAMES: u64 = 40_000;
const CONFIRMING_GAMES: u64 = 2000;
const FACTORS: [f64; 2] = [-0.5, 1.5];
/// The factor with which each direction begins: a run goes too far more often than not far enough, and half of the way
/// is better than all of it in most of docs/strength.md.
const START: f64 = 0.5;
/// Expected distance of the best factor from that. Of directions that games cannot tell from noise, little changes.
const DISTANCE: f64 = 0.35;
/// Elo that is expected to be lost at that distance in all directions: if half of the way gains 25, 25 (0.35 / 0.5)².
const ELO: f64 = 12.0;
const FILES: [&str; 3] = ["improve.json", "start.json", "directions.json"];
/// File of the values that the search proposes, whether or not they pass the test.
const PROPOSAL: &str = "result.json";
/// Has the folder of the test in it.
const SEARCH: &str = "search";

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "engine", "option", "pairs", "sprt", "nodes", "time", "openings", "concurrency", "out",
        "resume",
    ])),
    allow_negative_numbers = true,
    after_help = "\
The loss on games that are there proposes a step from the values of an engine; whether it wins games is another question. \
The step is cut into at most a dozen directions, by group of parameters and phase; Bayesian SPSA over their lengths, which \
begin at a half, plays games; and a sequential test of the result against the start decides. If it does not pass, the start is kept. \
If it does, other games tell by how much: a test that stops when it has decided overestimates. Gains at few nodes are often \
gone at five times as many, so test at the limit that you care about (--test-time, --test-nodes). \
--pairs 0 skips the search and tests half of the step.\n\n\
The built-in engine plays, or with --engine any UCI engine that has the parameters as options, named as by 'export --to uci' or, \
after 'probe', as they are, with the run's start as their defaults. An engine of 'patch expose' reads them from a file instead: \
'env GPUTEXEL_VALUES={params} ./engine'.\n\n\
Examples:\n  \
gputexel improve runs/first --nodes 1000 --openings book.epd -o runs/improved\n  \
gputexel improve runs/own --engine ./engine --test-time 1+0.01 -o improved\n  \
gputexel improve --resume runs/improved"
)]
pub struct ImproveArgs {
    /// Folder of a finished run of tune
    #[arg(value_name = "RUN", required_unless_present = "resume", conflicts_with = "resume")]
    run: Option<PathBuf>,
    /// UCI engine that has the parameters as options, or reads them from the file {params}: a program or a quoted
    /// command line [default: the built-in engine]
    #[arg(long, value_name = "COMMAND", conflicts_with = "resume", help_heading = "Engines")]
    engine: Option<String>,
    /// Other UCI option; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "engine", help_heading = "Engines")]
    option: Vec<String>,
    /// Pairs of games of the search; 0 skips it and tests half of the step [default: 5000]
    #[arg(long, value_name = "N", conflicts_with = "resume", help_heading = "Games")]
    pairs: Option<u64>,
    /// Test of the result against the start, as for match [default: elo0=0,elo1=5]
    #[arg(long, value_name = "TEST", conflicts_with = "resume", help_heading = "Games")]
    sprt: Option<String>,
    /// Largest number of games of the test; one that has not decided by then is not passed [default: 40000; more go on
    /// with a resumed test]
    #[arg(long, value_name = "N", help_heading = "Games")]
    test_games: Option<u64>,
    /// Nodes per move in the test and its confirmation [default: the limit of the search]
    #[arg(long, value_name = "NODES", conflicts_with_all = ["resume", "test_time"], help_heading = "Games")]
    test_nodes: Option<u64>,
    /// Time control of the test and its confirmation
    #[arg(long, value_name = "[MOVES/]BASE[+INC]", conflicts_with = "resume", help_heading = "Games")]
    test_time: Option<String>,
    /// Games that confirm a passed test, from other openings; 0 plays none [default: 2000]
    #[arg(long, value_name = "N", conflicts_with = "resume", help_heading = "Games")]
    confirm_games: Option<u64>,
    #[command(flatten)]
    rules: RuleFlags,
    /// Concurrent games [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Games")]
    concurrency: Option<usize>,
    /// Folder to create
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", required_unless_present = "resume", value_parser = super::target::file(), help_heading = "Games")]
    out: Option<PathBuf>,
    /// Continue in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "RuleFlags", help_heading = "Games")]
    resume: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    run: PathBuf,
    search: RunConfig,
    /// True if the search is skipped, and the factors that it would begin with are tested.
    #[serde(default)]
    test_only: bool,
    sprt: String,
    test_games: u64,
    test_limit: TimeControl,
    confirm_games: u64,
}

impl Subcommand for ImproveArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let folder = match (&self.resume, &self.run, &self.out) {
            (Some(folder), ..) => RunFolder::enter(folder, Kind::Improve)?,
            (None, Some(run), Some(out)) => self.begin(run, out, context)?,
            _ => unreachable!("clap requires them"),
        };
        folder.lock()?;
        let mut plan: Plan = folder.record(Kind::Improve)?;
        if let Some(games) = self.test_games.filter(|games| *games != plan.test_games) {
            check_games("test-games", games)?;
            if games < plan.test_games {
                let reason = format!("has {}; a test can only be extended", plan.test_games);
                return Err(Error::setting("test-games", games, reason).into());
            }
            plan.test_games = games;
            folder.write_record(Kind::Improve, &plan)?;
        }
        let interrupted = |what: &str| {
            let path = folder.path().display();
            Error::Interrupted(format!("{what}; continue with 'gputexel improve --resume {path}'"))
        };
        // Where nothing began, nothing is left behind.
        let mut search = self.search(&folder, &plan, context).inspect_err(|_| {
            if self.resume.is_none() && folder.making(&FILES).is_ok() {
                folder.discard();
            }
        })?;
        if !plan.test_only {
            match play_search(&mut search, context)? {
                Stop::Cancelled => return Err(interrupted("during the search").into()),
                Stop::Failures(why) => return Err(Error::input(folder.path(), why).into()),
                Stop::AllPlayed | Stop::Decided(_) => (),
            }
        }
        let search_pairs = search.state().tuner.completed_pairs();
        let factors = search.state().tuner.values().to_vec();
        let errors = search.state().tuner.standard_errors();
        let names: Vec<String> =
            plan.search.parameters.iter().map(|variable| variable.name.clone()).collect();
        drop(search);
        let play = |confirms| {
            let played = play_test(&folder.file(SEARCH), &plan, confirms, self.concurrency, context)?;
            match &played.stop {
                Stop::Cancelled => Err(interrupted("during the test")),
                Stop::Failures(why) => Err(Error::input(folder.path(), why.clone())),
                Stop::Decided(_) | Stop::AllPlayed => Ok(played),
            }
        };
        let tested = play(false)?;
        let passed = tested.stop == Stop::Decided(SprtState::AcceptedH1);
        let confirmed = (passed && plan.confirm_games > 0).then(|| play(true)).transpose()?;
        let resume = format!("gputexel improve --resume {}", quoted(folder.path()));
        let conclusion = conclude_test(&tested, confirmed.as_ref(), &plan.sprt.parse()?, &resume);
        let passed = passed && !(confirmed.is_some() && conclusion.verdict.judgement == Judgement::Worse);
        let directions = Directions::read(&folder.file("directions.json"))?;
        let start = ParameterFile::read(&folder.file("start.json"))?;
        let values = |factors: &[f64]| with_values(start.clone(), &directions.values(factors)).to_json();
        folder.write(PROPOSAL, values(&factors))?;
        let used = if passed { factors.clone() } else { vec![0.0; factors.len()] };
        folder.write(PARAMETERS, values(&used))?;
        let counted = |played: &MatchResult| {
            let elo = played.tally.pairs.elo();
            let games = grouped(played.tally.games());
            format!("Elo {:+.1} ± {:.1} in {games} games, {}", elo.elo, elo.error95, plan.test_limit)
        };
        let elo = confirmed.as_ref().unwrap_or(&tested).tally.pairs.elo();
        let path = folder.path().join(PARAMETERS);
        let mut object = serde_json::json!({
            "folder": folder.path(), "passed": passed, "elo": elo.elo, "elo_error95": elo.error95,
            "test_games": tested.tally.games(), "confirm_games": confirmed.as_ref().map(|own| own.tally.games()),
            "search_pairs": search_pairs,
            "factors": names.iter().cloned().zip(factors.iter().copied()).collect::<std::collections::BTreeMap<_, _>>(),
        });
        add(&mut object, &conclusion);
        let titles = ["direction", "share of the step", ""].map(String::from).to_vec();
        let lengths = names.iter().zip(&factors).zip(&errors).map(|((name, factor), error)| {
            // Without a search, that is the prior's.
            let error = if plan.test_only { String::new() } else { format!("± {error:.2}") };
            vec![name.clone(), format!("{factor:+.2}"), error]
        });
        let lengths: Vec<Vec<String>> = lengths.collect();
        let mut played = vec![("search", format!("{} games", grouped(2 * search_pairs)))];
        played.push(("test", counted(&tested)));
        played.extend(confirmed.as_ref().map(|own| ("confirmed", counted(own))));
        let page = Page {
            title: format!("gputexel improve: {}", escaped(&folder.path().display().to_string())),
            about: format!("How far to follow the step of {}, by games.", plan.run.display()),
            facts: played.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
            conclusion: Some(conclusion.clone()),
            parts: vec![Part {
                id: "lengths",
                name: "Lengths",
                tables: vec![Table {
                    caption: "0 is the start, 1 the whole step".to_string(),
                    header: titles.clone(),
                    rows: lengths.clone(),
                }],
            }],
        };
        folder.write(REPORT, page.to_html())?;
        print_result(context, &object, || {
            let lines = played.iter().map(|(name, value)| format!("{name:<12}{value}\n"));
            format!(
                "{}{}{}{}written     {}\nproposal    {}\nreport      {}\n",
                aligned(&[&[titles][..], &lengths].concat(), 0),
                lines.collect::<String>(),
                findings(&conclusion, true),
                ending(&conclusion),
                path.display(),
                folder.file(PROPOSAL).display(),
                folder.file(REPORT).display(),
            )
        })
    }
}

impl ImproveArgs {
    /// Cuts the step of a run into directions, and writes the plan.
    fn begin(&self, run: &Path, out: &Path, context: &Context) -> anyhow::Result<RunFolder> {
        let record: RunRecord = RunFolder::enter(run, Kind::Run)?.record(Kind::Run)?;
        let tuned = ParameterFile::read(&run.join(PARAMETERS))?;
        let start = record.config.prior_theta;
        let sprt = self.sprt.clone().unwrap_or_else(|| "elo0=0,elo1=5".to_string());
        sprt.parse::<Sprt>()?;
        let test_games = self.test_games.unwrap_or(TEST_GAMES);
        check_games("test-games", test_games)?;
        let confirm_games = self.confirm_games.unwrap_or(CONFIRMING_GAMES);
        if confirm_games > 0 {
            check_games("confirm-games", confirm_games)?;
        }
        let changes = Changes { concurrency: self.concurrency, ..Changes::default() };
        let play = self.rules.settings(changes, context)?;
        let test_limit = match (self.test_nodes, &self.test_time) {
            (Some(nodes), _) => format!("nodes={nodes}").parse()?,
            (_, Some(time)) => format!("time={time}").parse()?,
            _ => play.limit,
        };
        let options = settings(&self.option)?;
        let (names, bounds, fractions, start) = match &self.engine {
            None => {
                let set = tuned.computed_set().ok_or_else(|| {
                    let reason =
                        "its features are those of another engine: give --engine, which plays with them";
                    Error::input(run, reason)
                })?;
                let names = (0..start.len()).map(|i| set.parameter_name(i)).collect();
                (names, None, Vec::new(), start)
            }
            Some(command) if command.parse::<EngineCommand>()?.reads_values() => {
                let (names, bounds, fractions) = values_read(&record.config.datasets, &tuned)?;
                let whole =
                    |(value, name): (f64, _)| if fractions.contains(name) { value } else { value.round() };
                let start = start.into_iter().zip(&names).map(whole).collect();
                (names, Some(bounds), fractions, start)
            }
            Some(command) => {
                let start: Vec<f64> = start.iter().map(|value| value.round()).collect();
                let (names, bounds) = engine_options(command, &tuned, &start)?;
                (names, Some(bounds), Vec::new(), start)
            }
        };
        let (mut directions, shares) = cut(&tuned, names, start, self.engine.is_some())?;
        directions.fractions = fractions;
        if let Some(bounds) = bounds {
            directions = directions.bounded(bounds)?;
        }
        let folder = RunFolder::create(Some(out), Kind::Improve, false)?;
        folder.making(&FILES)?;
        let [path, params] = ["directions.json", "start.json"].map(|name| absolute(folder.file(name)));
        let test_only = self.pairs == Some(0);
        // A search that is skipped is planned all the same, because the test reads its values.
        let schedule = Schedule::new(self.pairs.filter(|&pairs| pairs > 0).unwrap_or(PAIRS));
        let variable = |(direction, share): (&Direction, &f64)| {
            let guess = Guess {
                name: direction.name.clone(),
                start: START,
                min: FACTORS[0],
                max: FACTORS[1],
                integer: false,
                distance: DISTANCE,
                elo: ELO * share.max(1e-3),
            };
            Ok::<_, Error>(Advice::new(&guess, schedule.iterations, 0.0)?.variable(&guess))
        };
        let variables = directions.directions.iter().zip(&shares).map(variable).collect::<Result<_>>()?;
        let mut search = RunConfig {
            run: RunSection {
                method: MethodKind::Bspsa,
                iterations: schedule.iterations,
                a: None,
                alpha: schedule.alpha,
                gamma: schedule.gamma,
                tau: None,
                draw_rate: None,
                rounding: Rounding::default(),
                as_published: false,
                seed: play.seed,
            },
            engine: EngineSection {
                command: self.engine.clone(),
                params: self.engine.is_none().then(|| params.display().to_string()),
                directions: Some(path),
                hash_mib: self.engine.is_none().then_some(play.hash_mib),
                options: options
                    .into_iter()
                    .map(|Setting { name, value }| (name, OptionValue::Text(value)))
                    .collect(),
                ..EngineSection::default()
            },
            opponent: None,
            games: GamesSection {
                limit: play.limit.to_string(),
                deadline: Some(play.deadline.as_secs_f64()),
                concurrency: play.concurrency,
                book: play.book.clone(),
                book_plies: play.book.as_ref().map(|_| play.book_plies),
                draw: play.adjudication.draw,
                win: play.adjudication.win,
                max_plies: play.adjudication.max_plies,
                ..GamesSection::default()
            },
            parameters: variables,
        };
        search.make_absolute();
        let plan =
            Plan { run: absolute(run), search, test_only, sprt, test_games, test_limit, confirm_games };
        let write = || {
            folder.write("directions.json", directions.to_json())?;
            folder.write("start.json", with_values(tuned, &directions.start).to_json())?;
            plan.search.validate()?;
            folder.write_record(Kind::Improve, &plan)
        };
        write().inspect_err(|_| folder.discard())?;
        Ok(folder)
    }

    fn search(&self, folder: &RunFolder, plan: &Plan, context: &Context) -> Result<SpsaRun> {
        let path = folder.file(SEARCH);
        if existing(&path, "spsa.jsonl").is_some() {
            return SpsaRun::resume(&path, self.concurrency, context.cancel);
        }
        let mut search = SpsaRun::new(plan.search.clone(), &context.command_line, context.cancel)?;
        search.create_folder(Some(&path), false)?;
        Ok(search)
    }
}

fn play_search(search: &mut SpsaRun, context: &Context) -> Result<Stop> {
    let tuner = &search.state().tuner;
    let mut progress = Progress::new(context, 2 * tuner.iterations());
    let bar = progress.bar();
    let stop = search.run(|state| {
        let done = 2 * state.tuner.completed_pairs();
        progress.show(done, || "search".to_string());
    });
    bar.finish_and_clear();
    stop
}

/// The search's values against the start, or the rest of these games.
fn play_test(
    folder: &Path,
    plan: &Plan,
    confirms: bool,
    concurrency: Option<usize>,
    context: &Context,
) -> Result<MatchResult> {
    let games = if confirms { plan.confirm_games } else { plan.test_games };
    let sprt: Sprt = plan.sprt.parse()?;
    let options = VerifyOptions {
        games,
        concurrency,
        sprt: (!confirms).then_some(sprt),
        max_failures: Some((games / 10).clamp(10, 100)),
        replace: false,
        limit: Some(plan.test_limit),
        confirms,
    };
    let test = Verification::open(folder, options, context.cancel)?;
    let mut progress = Progress::new(context, games);
    let bar = progress.bar();
    let result = test.run(move |tally| {
        progress.show(tally.games(), || {
            let (elo, ratio) = (tally.pairs.elo(), sprt.llr(&tally.pairs));
            let what = if confirms { "confirmation".to_string() } else { format!("test, LLR {ratio:.2}") };
            format!("{what}, Elo {:+.1} ± {:.1}", elo.elo, elo.error95)
        });
    });
    bar.finish_and_clear();
    result
}

/// By group and phase, the largest directions by themselves and the rest together. Steps count as often as positions
/// have the feature. Also returns the share of each direction in the sum of squared changes of evaluations.
fn cut(
    tuned: &ParameterFile,
    names: Vec<String>,
    start: Vec<f64>,
    integer: bool,
) -> Result<(Directions, Vec<f64>)> {
    let records = &tuned.parameters;
    let count = records.len();
    if start.len() != 2 * count {
        return Err(Error::Usage("the run's parameters and its prior differ in length".to_string()));
    }
    let value = |i: usize| if i < count { records[i].mg } else { records[i - count].eg };
    let changed: BTreeSet<&String> =
        (0..2 * count).filter(|&i| value(i) != start[i]).map(|i| &names[i]).collect();
    // A few parameters need no groups, and a single group says nothing.
    let has_groups = records.iter().any(|record| record.group != records[0].group);
    let group = |i: usize| match &records[i % count] {
        _ if changed.len() <= DIRECTIONS || !has_groups => names[i].clone(),
        // One that is both phases goes one way.
        record if names[i % count] == names[i % count + count] => record.group.clone(),
        record => format!("{}.{}", record.group, ["mg", "eg"][i / count]),
    };
    let mut found: Vec<(String, Vec<f64>, f64)> = Vec::new();
    for i in 0..2 * count {
        let step = value(i) - start[i];
        if step == 0.0 {
            continue;
        }
        let name = group(i);
        let at = found.iter().position(|(other, ..)| *other == name).unwrap_or_else(|| {
            found.push((name, vec![0.0; 2 * count], 0.0));
            found.len() - 1
        });
        found[at].1[i] = step;
        found[at].2 += step * step * records[i % count].occurrences.unwrap_or(1) as f64;
    }
    if found.is_empty() {
        return Err(Error::Usage("the run's values are those that it started from".to_string()));
    }
    found.sort_by(|one, other| other.2.total_cmp(&one.2));
    if found.len() > DIRECTIONS {
        let rest = found.split_off(DIRECTIONS - 1);
        let mut step = vec![0.0; 2 * count];
        for (_, own, _) in &rest {
            step.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        found.push(("others".to_string(), step, rest.iter().map(|(.., size)| size).sum()));
    }
    let total: f64 = found.iter().map(|(.., size)| size).sum();
    let shares = found.iter().map(|(.., size)| size / total.max(f64::MIN_POSITIVE)).collect();
    let directions = found.into_iter().map(|(name, step, _)| Direction { name, step }).collect();
    Ok((Directions::try_new(names, start, integer, directions)?, shares))
}

/// Without errors and losses, which are those of the run's result.
fn with_values(mut file: ParameterFile, theta: &[f64]) -> ParameterFile {
    let (mg, eg) = theta.split_at(file.parameters.len());
    for (record, (mg, eg)) in file.parameters.iter_mut().zip(mg.iter().zip(eg)) {
        (record.mg, record.eg, record.errors, record.bootstrap) = (*mg, *eg, None, None);
    }
    file.uncertainty = None;
    let known = &mut file.provenance;
    (known.loss, known.loss_held_out, known.rounding, known.single_steps) = (None, None, None, None);
    file
}

/// Names and bounds of the parameters that the engine reads, once for each phase, and those that may have fractions, as
/// the probe has recorded them, or the engine itself, which knows its numbers by their places.
fn values_read(
    datasets: &[String],
    tuned: &ParameterFile,
) -> Result<(Vec<String>, Vec<[f64; 2]>, Vec<String>)> {
    let paths = shards(datasets)?;
    let (metadata, _) = tensors(&paths[0])?;
    let refuse = |reason: &str| Err(Error::input(&paths[0], reason));
    if let Some(names) = metadata.feature_set.places() {
        let bounds = vec![[-1e6, 1e6]; names.len()];
        return Ok((names, bounds, Vec::new()));
    }
    let Some(probing) = metadata.probing else {
        return refuse(
            "is not a dataset of 'gputexel probe', so it does not say which values the engine reads",
        );
    };
    let mut bounds = Vec::new();
    for record in &tuned.parameters {
        let Some(own) = probing.parameters.iter().find(|own| own.name == record.name) else {
            return refuse(&format!("has no parameter {}, which the run has tuned", record.name));
        };
        bounds.push([own.min, own.max]);
    }
    let names: Vec<String> = tuned.parameters.iter().map(|record| record.name.clone()).collect();
    let fractions = probing.parameters.into_iter().filter(|own| !own.integer).map(|own| own.name).collect();
    Ok(([names.clone(), names].concat(), bounds.repeat(2), fractions))
}

/// Names and bounds of the engine's options, of the middlegame and then of the endgame. An option that has the name
/// of a parameter, without a phase, is both.
fn engine_options(
    command: &str,
    tuned: &ParameterFile,
    start: &[f64],
) -> Result<(Vec<String>, Vec<[f64; 2]>)> {
    let parsed: EngineCommand = command.parse()?;
    let player = UciPlayer::start(parsed)?;
    let find = |name: &str| player.options().iter().find(|option| option.name.eq_ignore_ascii_case(name));
    let names: Vec<&str> = tuned.parameters.iter().map(|record| record.name.as_str()).collect();
    let pairs = option_names(&names, None)?;
    let count = names.len();
    let refuse = |reason: String| Err(Error::Engine { engine: command.to_string(), reason });
    let mut found = (Vec::new(), Vec::new());
    for (i, start) in start.iter().enumerate() {
        let name = &pairs[i % count][i / count];
        let Some(option) = find(names[i % count]).or_else(|| find(name)) else {
            return refuse(format!(
                "has no option {name}; 'gputexel patch tune' makes options of numbers in a source, 'gputexel probe' tunes options that are there, \
                 and an engine of 'gputexel patch expose' has {PARAMETERS_WORD} in its command"
            ));
        };
        let OptionKind::Spin { default, min, max } = option.kind else {
            return refuse(format!("option {} has no number", option.name));
        };
        if (default as f64 - start).abs() > 0.5 {
            return refuse(format!(
                "plays with {} = {default}, and the run started from {start}: tune from the values that the engine has",
                option.name
            ));
        }
        found.0.push(option.name.clone());
        found.1.push([min as f64, max as f64]);
    }
    Ok(found)
}
