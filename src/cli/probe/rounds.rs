//! Rounds of `gputexel probe`: tuning where evaluations are not linear. Coefficients hold near the values where they
//! were measured, so a run moves within a region around them; what it proposes counts only if the engine's own
//! evaluations fit better then.

use std::path::{Path, PathBuf};

use gputexel::dataset::{self, Dataset, Split};
use gputexel::io::run_folder::{Kind, PARAMETERS, RunFolder, check_contents};
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

#[derive(Clone, Debug, Serialize)]
pub struct Round {
    pub run: PathBuf,
    /// Largest move allowed, in steps.
    pub reach: f64,
    /// Loss of the engine's own evaluations on training positions, before and after.
    pub loss: [f64; 2],
    pub accepted: bool,
}

impl RoundArgs {
    /// Before anything is asked. Earlier runs are only replaced if `overwrite` is set.
    pub fn check(&self, overwrite: bool) -> Result<()> {
        if self.rounds == Some(0) {
            return Err(Error::Usage("--rounds must be at least 1".to_string()));
        }
        let first = self.out.as_ref().map(|out| out.join("round-1"));
        if let Some(first) = first.filter(|first| first.exists()) {
            check_contents(&first, Kind::Run, overwrite)?;
        }
        self.words().map(|_| ())
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
        std::fs::create_dir_all(out).map_err(|error| Error::io(out, error))?;
        let mut rounds: Vec<Round> = Vec::new();
        let mut reach = REACH[0];
        let mut config: Option<RunConfig> = None;
        let is_linear = probed.is_linear();
        for number in 1..=count {
            let data = match (is_linear, number) {
                (true, _) => dataset.to_path_buf(),
                (false, _) => {
                    let data = out.join(format!("round-{number}.bin"));
                    probed.write(Some(reach), &data, true)?;
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
            run(words.as_slice(), true, context)?;
            let record: RunRecord = RunFolder::view(&folder).record(Kind::Run)?;
            let settings = config.get_or_insert(record.config);
            let data = dataset::read(&data)?;
            let values = values_of(&folder)?;
            if values == probed.values() {
                break;
            }
            display.line(&name, "asking for the evaluations under the tuned values", context);
            let evaluations = probed.evaluate(&values, &mut |event| display.show(event, context))?;
            let loss = exact_losses(&data, settings, &evaluations)?;
            let accepted = loss[1] < loss[0];
            let verdict = if accepted { "accepted" } else { "not accepted" };
            display.line(&name, &format!("loss {:.6} -> {:.6}: {verdict}", loss[0], loss[1]), context);
            rounds.push(Round { run: folder, reach, loss, accepted });
            if is_linear || number == count {
                break;
            }
            if accepted {
                if loss[0] - loss[1] < WORTH * loss[0] {
                    break;
                }
                display.line(&name, "measuring around these values", context);
                probed.measure_at(&values, &mut |event| display.show(event, context))?;
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

fn values_of(folder: &Path) -> Result<Vec<f64>> {
    let file = ParameterFile::read(&folder.join(PARAMETERS))?;
    Ok(file.parameters.iter().map(|record| record.mg).collect())
}

/// Losses of an engine's own evaluations by the targets of a run, before and after a change of its values, on the
/// training positions. Positions without another evaluation keep theirs.
fn exact_losses(data: &Dataset, config: &RunConfig, others: &[f64]) -> Result<[f64; 2]> {
    if others.len() != data.len() {
        let reason = format!("{} evaluations for {} positions", others.len(), data.len());
        return Err(Error::Numeric(reason));
    }
    let data = with_targets(data, config)?;
    let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
    let before = |n: usize| f64::from(data.static_evaluations()[n]);
    let after = |n: usize| if others[n].is_nan() { before(n) } else { others[n] };
    Ok([
        mean_loss(&data, config, split.training(), before),
        mean_loss(&data, config, split.training(), after),
    ])
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
    let mut rows = vec![["round", "reach", "loss", "becomes", ""].map(str::to_string).to_vec()];
    for (number, round) in (1..).zip(rounds) {
        let number: u32 = number;
        let [before, after] = round.loss.map(|loss| format!("{loss:.6}"));
        let verdict = if round.accepted { "accepted" } else { "not accepted" }.to_string();
        rows.push(vec![number.to_string(), format!("{} steps", round.reach), before, after, verdict]);
    }
    format!("{}result      {}\n", aligned(&rows, 2), last.run.display())
}
