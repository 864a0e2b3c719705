//! Rounds of `gputexel probe`: tuning where evaluations are not linear. Coefficients hold near the values where they
//! were measured, so a run moves within a region around them; what it proposes counts only if the engine's own
//! evaluations fit better then.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use gputexel::dataset::{self, Dataset, Split};
use gputexel::io::folder_lock::FolderLock;
use gputexel::io::run_folder::{Kind, PARAMETERS, RunFolder, check_contents};
use gputexel::io::{NewFolders, check_target};
use gputexel::matches::probe::Probed;
use gputexel::model::ParameterFile;
use gputexel::tuning::{RunConfig, RunRecord};
use gputexel::{Error, Result};
use serde::Serialize;

use super::super::context::Context;
use super::super::steps::{Words, run};
use super::super::table::aligned;
use super::Display;
use super::losses::{mean_loss, with_targets};

/// In the first round, in steps, and in the last region that is tried.
const REACH: [f64; 2] = [4.0, 0.25];
/// Share of the loss that a round has to gain for another one to follow.
const WORTH: f64 = 1e-5;

/// Flags of the rounds.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rounds")]
pub struct RoundArgs {
    /// Then tune, and where evaluations are not linear go on: measure again around the new values and tune from there,
    /// at most N times. A round counts if the engine's own evaluations of all training positions fit better
    #[arg(long, value_name = "N", requires = "out")]
    pub rounds: Option<u32>,
    /// Folder for the runs, round-1 and so on
    #[arg(long, value_name = "DIR", requires = "rounds", value_parser = super::super::target::file())]
    pub out: Option<PathBuf>,
    /// Flags of `tune` for each round, such as '--holdout 0.2'
    #[arg(long, value_name = "FLAGS", requires = "rounds", allow_hyphen_values = true, default_value = "")]
    pub tune: String,
}

/// A round, as it is reported.
#[derive(Clone, Debug, Serialize)]
pub struct Round {
    /// Folder of the run.
    pub run: PathBuf,
    /// Largest move allowed, in steps.
    pub reach: f64,
    /// Loss of the engine's own evaluations on training positions, before and after.
    pub loss: [f64; 2],
    /// The same on positions that were held out.
    pub held_out: Option<[f64; 2]>,
    /// True if the values were accepted.
    pub accepted: bool,
}

impl RoundArgs {
    /// Before anything is asked: locks the folder of the runs, which is removed again if nothing comes into it. Earlier
    /// runs are only replaced if `overwrite` is set.
    pub fn begin(&self, overwrite: bool) -> Result<(NewFolders, Option<FolderLock>)> {
        if self.rounds == Some(0) {
            return Err(Error::Usage("--rounds must be at least 1".to_string()));
        }
        self.words()?;
        let Some(out) = &self.out else { return Ok((NewFolders::default(), None)) };
        let new = NewFolders::make(out)?;
        let lock = || {
            let lock = FolderLock::acquire(out)?;
            let first = out.join("round-1");
            if first.exists() {
                check_contents(&first, Kind::Run, overwrite)?;
            }
            check_target(Some(&first.with_extension("bin")), overwrite)?;
            Ok(Some(lock))
        };
        let lock = lock().inspect_err(|_| new.remove_empty())?;
        Ok((new, lock))
    }

    /// The folders of an earlier process; `None` if it has not come to its first round.
    pub fn finished(&self) -> Option<Vec<PathBuf>> {
        let (Some(count), Some(out)) = (self.rounds, &self.out) else { return Some(Vec::new()) };
        let folders = (1..=count).map(|number| out.join(format!("round-{number}")));
        let folders: Vec<PathBuf> = folders.take_while(|folder| folder.join(PARAMETERS).exists()).collect();
        (!folders.is_empty()).then_some(folders)
    }

    fn words(&self) -> Result<Vec<String>> {
        let words = shlex::split(&self.tune);
        words.ok_or_else(|| Error::Usage(format!("--tune '{}': a quote is not closed", self.tune)))
    }

    pub fn run(
        &self,
        probed: &mut Probed,
        dataset: &Path,
        context: &Context,
        (display, overwrite): (&mut Display, bool),
    ) -> anyhow::Result<Vec<Round>> {
        let (Some(count), Some(out)) = (self.rounds, &self.out) else { return Ok(Vec::new()) };
        let mut rounds: Vec<Round> = Vec::new();
        let mut reach = REACH[0];
        let mut config: Option<RunConfig> = None;
        let is_linear = probed.is_linear();
        for number in 1..=count {
            let data = match (is_linear, number) {
                (true, _) => dataset.to_path_buf(),
                (false, _) => {
                    let data = out.join(format!("round-{number}.bin"));
                    probed.write(Some(reach), &data.with_extension("svm"), &data, true)?;
                    // The trace was only needed for the import.
                    let _ = std::fs::remove_file(data.with_extension("svm"));
                    data
                }
            };
            let folder = out.join(format!("round-{number}"));
            let name = format!("round {number}");
            display.line(&name, "tuning", context);
            let mut words = Words::new("tune").path(None, &data).path(Some("--out"), &folder);
            let own = self.words()?;
            let says =
                |flag: &str| own.iter().any(|word| word == flag || word.starts_with(&format!("{flag}=")));
            if !says("--round") {
                words = words.and(["--round", "local"]);
            }
            // Losses of different rounds are compared.
            if !says("--k") {
                words = words.flag("--k", config.as_ref().map(|config| config.k));
            }
            words = words.and((overwrite && !says("--force")).then_some("--force")).and(own);
            run(&words, true, context).map_err(|error| {
                if context.cancel.load(Ordering::Relaxed) {
                    Error::Interrupted(format!("in {name}; the same command with --resume continues")).into()
                } else {
                    error
                }
            })?;
            let record: RunRecord = RunFolder::view(&folder).record(Kind::Run)?;
            let settings = config.get_or_insert(record.config);
            let data = dataset::read(&data)?;
            // The same for both phases.
            let tuned = ParameterFile::read(&folder.join(PARAMETERS))?;
            let values: Vec<f64> = tuned.parameters.iter().map(|record| record.mg).collect();
            if values == probed.values() {
                break;
            }
            display.line(&name, "asking for the evaluations under the tuned values", context);
            let evaluations = probed.evaluate(&values, &mut |event| display.show(event, context))?;
            let Exact { loss, held_out } = Exact::compare(&data, settings, &evaluations)?;
            let accepted = loss[1] < loss[0];
            let verdict = if accepted { "accepted" } else { "not accepted" };
            display.line(&name, &format!("loss {:.6} -> {:.6}: {verdict}", loss[0], loss[1]), context);
            rounds.push(Round { run: folder, reach, loss, held_out, accepted });
            if is_linear || number == count {
                break;
            }
            if accepted {
                if loss[0] - loss[1] < WORTH * loss[0] {
                    break;
                }
                display.line(&name, "measuring around these values", context);
                let beside = out.join(format!("round-{number}"));
                probed.measure_at(&values, &beside, &mut |event| display.show(event, context))?;
            } else {
                reach /= 2.0;
                if reach < REACH[1] {
                    break;
                }
            }
        }
        Ok(rounds)
    }
}

/// Losses of an engine's own evaluations, before and after a change of its values.
struct Exact {
    loss: [f64; 2],
    held_out: Option<[f64; 2]>,
}

impl Exact {
    /// Losses by the targets of a run, on the training positions and those held out. Positions without another
    /// evaluation keep theirs.
    fn compare(data: &Dataset, config: &RunConfig, others: &[f64]) -> Result<Self> {
        if others.len() != data.len() {
            let reason = format!("{} evaluations for {} positions", others.len(), data.len());
            return Err(Error::Numeric(reason));
        }
        let data = with_targets(data, config)?;
        let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
        let mean = |which: &[usize], after: bool| {
            mean_loss(&data, config, which.iter().copied(), |n| match after && !others[n].is_nan() {
                true => others[n],
                false => f64::from(data.static_evaluations()[n]),
            })
        };
        let both = |which: Vec<usize>| [mean(&which, false), mean(&which, true)];
        let held_out: Vec<usize> = split.held_out().collect();
        let held_out = (!held_out.is_empty()).then(|| both(held_out));
        Ok(Self { loss: both(split.training().collect()), held_out })
    }
}

pub fn describe(rounds: &[Round]) -> String {
    let Some(last) = rounds.iter().rev().find(|round| round.accepted) else {
        return match rounds {
            [] => String::new(),
            [round, ..] => format!(
                "no round makes the engine's evaluations fit better ({:.6}, after the first {:.6}): its values are kept\n",
                round.loss[0], round.loss[1]
            ),
        };
    };
    let header =
        ["round", "reach", "loss", "becomes", "held out", "becomes", ""].map(str::to_string).to_vec();
    let mut rows = vec![header];
    for (number, round) in (1..).zip(rounds) {
        let number: u32 = number;
        let [before, after] = round.loss.map(|loss| format!("{loss:.6}"));
        let [held_before, held_after] = round
            .held_out
            .map_or(["-".to_string(), "-".to_string()], |pair| pair.map(|loss| format!("{loss:.6}")));
        let verdict = if round.accepted { "accepted" } else { "not accepted" }.to_string();
        let reach = format!("{} steps", round.reach);
        rows.push(vec![number.to_string(), reach, before, after, held_before, held_after, verdict]);
    }
    format!("{}result      {}\n", aligned(&rows, 2), last.run.display())
}
