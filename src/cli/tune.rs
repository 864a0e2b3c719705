//! `gputexel tune`: from a dataset, or games or positions, to parameters and tables.

use std::path::{Path, PathBuf};

use gputexel::dataset::{self, Dataset, Layout, Split};
use gputexel::model::{Prior, ROLE_NAMES};
use gputexel::objective::{LossKind, Objective};
use gputexel::optimizer::{AdamSettings, GaussNewtonSettings, Schedule};
use gputexel::tuning::{
    Checkpoint, OptimizerConfig, RunConfig, RunRecord, StopReason, Stopping, Tuning, exact_loss,
    exact_scores, fit_scale,
};
use gputexel::{Error, Result};

use super::backend::BackendArgs;
use super::run_folder::RunFolder;
use super::tune_output::{self, Observer, Summary};
use super::{Context, inputs};

/// Above this many parameters the Gauss–Newton matrix and its factorisation take too long.
const GAUSS_NEWTON_LIMIT: usize = 4096;

/// Flags of `tune`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Without --out the run goes to a fresh folder under runs/. Numbers for Adam may be lists \
(--learning-rate 0.5,1,2): all combinations run side by side as one population, and the best one's \
parameters are kept."
)]
pub struct TuneArgs {
    /// A dataset (or several), or games or labelled positions, which are extracted first
    #[arg(value_name = "INPUT", required_unless_present = "resume", conflicts_with = "resume")]
    inputs: Vec<PathBuf>,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Go on with an interrupted run, to the very same result
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Fresh", "Scale"])]
    resume: Option<PathBuf>,
    // Beside `fresh` and not in it: clap leaves a group empty whose struct has a flattened one.
    #[command(flatten)]
    scale: ScaleArgs,
    #[command(flatten)]
    fresh: Fresh,
    /// The table to show as a board at the end: pawn, knight, bishop, rook, queen or king
    #[arg(long, value_name = "PIECE", default_value = "knight")]
    board: String,
    /// Seconds between checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    checkpoint_every: f64,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Flags that decide what a run computes; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Fresh", multiple = true)]
struct Fresh {
    /// Start and point of reference: material:P,N,B,R,Q, zero, or a params.json
    /// [default: material:100,300,320,500,900]
    #[arg(long, value_name = "PRIOR", help_heading = "Objective")]
    prior: Option<String>,
    /// squared, cross-entropy, or power:Q [default: squared]
    #[arg(long, value_name = "LOSS", help_heading = "Objective")]
    loss: Option<String>,
    /// Weight of the pull toward the prior: a parameter one pawn away costs this much [default: 0]
    #[arg(long, value_name = "LAMBDA", value_delimiter = ',', help_heading = "Objective")]
    l2: Vec<f64>,
    /// Share of the games held out to judge the parameters on positions they have not seen
    #[arg(long, value_name = "SHARE", help_heading = "Objective")]
    holdout: Option<f64>,
    /// Seed of everything random [default: 1]
    #[arg(long, value_name = "N", help_heading = "Objective")]
    seed: Option<u64>,
    /// gauss-newton or adam [default: gauss-newton where the loss is smooth and parameters are few]
    #[arg(long, value_name = "NAME", help_heading = "Optimizer")]
    optimizer: Option<String>,
    /// Gauss-Newton: damping at the start, relative to the diagonal [default: 0.0001]
    #[arg(long, value_name = "MU", help_heading = "Optimizer")]
    damping: Option<f64>,
    /// Adam: centipawns a step [default: 20]
    #[arg(long, value_name = "RATE", value_delimiter = ',', help_heading = "Optimizer")]
    learning_rate: Vec<f64>,
    /// Adam: decay of the first moment [default: 0.9]
    #[arg(long, value_name = "BETA", value_delimiter = ',', help_heading = "Optimizer")]
    beta1: Vec<f64>,
    /// Adam: decay of the second moment [default: 0.999]
    #[arg(long, value_name = "BETA", value_delimiter = ',', help_heading = "Optimizer")]
    beta2: Vec<f64>,
    /// Adam: epsilon, in loss a centipawn [default: 1e-12]
    #[arg(long, value_name = "EPS", value_delimiter = ',', help_heading = "Optimizer")]
    epsilon: Vec<f64>,
    /// Adam: leave out the bias correction, as some tuners do
    #[arg(long, help_heading = "Optimizer")]
    no_bias_correction: bool,
    /// Adam: constant, cosine, linear, or step:FACTOR:EPOCHS [default: cosine]
    #[arg(long, value_name = "NAME", help_heading = "Optimizer")]
    schedule: Option<String>,
    /// Adam: mini-batches an epoch [default: 1, the full batch]
    #[arg(long, value_name = "N", help_heading = "Optimizer")]
    batches: Option<usize>,
    /// At most this many epochs [default: 50 for gauss-newton, 500 for adam]
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    epochs: Option<u64>,
    /// At most this many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Stopping")]
    time: Option<f64>,
    /// Stop when no component of the gradient (loss a centipawn) exceeds this [default: 0]
    #[arg(long, value_name = "NORM", help_heading = "Stopping")]
    gradient_norm: Option<f64>,
    /// Stop when the loss improves by less than this share over the window
    /// [default: 1e-8 for gauss-newton, 0 for adam]
    #[arg(long, value_name = "SHARE", help_heading = "Stopping")]
    improvement: Option<f64>,
    /// Epochs over which the improvement is judged [default: 1 for gauss-newton, 50 for adam]
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    window: Option<u64>,
    /// With --holdout: epochs without a better held-out loss [default: 5 for gauss-newton, 50 for adam]
    #[arg(long, value_name = "N", help_heading = "Stopping")]
    patience: Option<u64>,
}

/// The scale constant in the forms in which tuners write it.
#[derive(Debug, clap::Args)]
#[group(id = "Scale", multiple = false)]
pub struct ScaleArgs {
    /// K of 1 / (1 + 10^(-K s / 400)) [default: fitted on the prior]
    #[arg(long, value_name = "K", help_heading = "Objective")]
    k: Option<f64>,
    /// K of 1 / (1 + e^(-K s / 400)), as texel-tuner and Ethereal write it
    #[arg(long, value_name = "K", help_heading = "Objective")]
    k_e: Option<f64>,
    /// The scale of 1 / (1 + 10^(-s / scale)), as MadChess writes it
    #[arg(long, value_name = "SCALE", help_heading = "Objective")]
    win_scale: Option<f64>,
    /// The scale of 1 / (1 + e^(-s / scale)), as pliers writes it
    #[arg(long, value_name = "SCALE", help_heading = "Objective")]
    e_scale: Option<f64>,
}

impl ScaleArgs {
    /// K in base-10 form, if it was given.
    ///
    /// # Errors
    /// [`Error::Usage`] for numbers that are not finite and positive.
    pub fn k(&self) -> Result<Option<f64>> {
        let ln10 = std::f64::consts::LN_10;
        let forms = [
            ("--k", self.k, self.k),
            ("--k-e", self.k_e, self.k_e.map(|k| k / ln10)),
            ("--win-scale", self.win_scale, self.win_scale.map(|scale| 400.0 / scale)),
            ("--e-scale", self.e_scale, self.e_scale.map(|scale| 400.0 / (scale * ln10))),
        ];
        for (flag, given, k) in forms {
            if let (Some(given), Some(k)) = (given, k) {
                if !(k.is_finite() && k > 0.0 && given.is_finite()) {
                    return Err(Error::Usage(format!("{flag} {given}: must be a positive number")));
                }
                return Ok(Some(k));
            }
        }
        Ok(None)
    }
}

impl Fresh {
    fn optimizer(&self, loss: LossKind, parameters: usize) -> Result<OptimizerConfig> {
        let name = match self.optimizer.as_deref() {
            Some(name) => name,
            None if loss.is_smooth() && parameters <= GAUSS_NEWTON_LIMIT && !self.names_adam() => {
                "gauss-newton"
            }
            None => "adam",
        };
        match name {
            "gauss-newton" => {
                if self.names_adam() {
                    return Err(Error::Usage("gauss-newton was given flags that are Adam's".to_string()));
                }
                let l2 = match self.l2[..] {
                    [] => 0.0,
                    [l2] => l2,
                    _ => return Err(Error::Usage("gauss-newton takes one --l2".to_string())),
                };
                let damping = self.damping.unwrap_or(GaussNewtonSettings::default().damping);
                Ok(OptimizerConfig::GaussNewton(GaussNewtonSettings { l2, damping }))
            }
            "adam" => {
                if self.damping.is_some() {
                    return Err(Error::Usage("--damping is for gauss-newton".to_string()));
                }
                let schedule = self.schedule.as_deref().map(str::parse).transpose()?;
                Ok(OptimizerConfig::Adam {
                    runs: self.adam_runs()?,
                    schedule: schedule.unwrap_or(Schedule::default()),
                    batches: self.batches.unwrap_or(1),
                })
            }
            other => Err(Error::Usage(format!("optimizer '{other}': expected gauss-newton or adam"))),
        }
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    fn names_adam(&self) -> bool {
        let lists = [&self.learning_rate, &self.beta1, &self.beta2, &self.epsilon];
        lists.iter().any(|list| !list.is_empty())
            || self.no_bias_correction
            || self.schedule.is_some()
            || self.batches.is_some()
    }

    /// All combinations of the lists.
    fn adam_runs(&self) -> Result<Vec<AdamSettings>> {
        let default = AdamSettings { bias_correction: !self.no_bias_correction, ..AdamSettings::default() };
        let mut runs = vec![default];
        let mut cross = |values: &[f64], set: fn(&mut AdamSettings, f64)| {
            if !values.is_empty() {
                let combine = |run: &AdamSettings, &value: &f64| {
                    let mut run = *run;
                    set(&mut run, value);
                    run
                };
                runs =
                    runs.iter().flat_map(|run| values.iter().map(move |value| combine(run, value))).collect();
            }
        };
        cross(&self.learning_rate, |run, value| run.learning_rate = value);
        cross(&self.beta1, |run, value| run.beta1 = value);
        cross(&self.beta2, |run, value| run.beta2 = value);
        cross(&self.epsilon, |run, value| run.epsilon = value);
        cross(&self.l2, |run, value| run.l2 = value);
        if runs.len() > 10_000 {
            return Err(Error::Usage(format!(
                "{} combinations of Adam's settings: at most 10000",
                runs.len()
            )));
        }
        Ok(runs)
    }

    fn stopping(&self, optimizer: &OptimizerConfig) -> Stopping {
        let smooth = matches!(optimizer, OptimizerConfig::GaussNewton(_));
        Stopping {
            epochs: self.epochs.unwrap_or(if smooth { 50 } else { 500 }),
            seconds: self.time,
            gradient_norm: self.gradient_norm.unwrap_or(0.0),
            improvement: self.improvement.unwrap_or(if smooth { 1e-8 } else { 0.0 }),
            window: self.window.unwrap_or(if smooth { 1 } else { 50 }),
            patience: self.patience.unwrap_or(if smooth { 5 } else { 50 }),
        }
    }
}

/// Runs `tune`.
///
/// # Errors
/// Anything that keeps the run from its end; an interrupted run can be resumed.
pub fn run(args: &TuneArgs, context: &Context) -> anyhow::Result<()> {
    if !(args.checkpoint_every.is_finite() && args.checkpoint_every >= 0.0) {
        return Err(Error::Usage("--checkpoint-every must be 0 or a positive number".to_string()).into());
    }
    if !ROLE_NAMES.contains(&args.board.as_str()) {
        return Err(Error::Usage(format!(
            "--board {}: expected one of {}",
            args.board,
            ROLE_NAMES.join(", ")
        ))
        .into());
    }
    match &args.resume {
        Some(folder) => resume(args, folder, context),
        None => start(args, context),
    }
}

fn start(args: &TuneArgs, context: &Context) -> anyhow::Result<()> {
    let fresh = &args.fresh;
    // Everything that can be refused is refused before anything is written.
    let backend = args.backend.open()?;
    let loss: LossKind = fresh.loss.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let prior: Prior = fresh.prior.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let given_k = args.scale.k()?;
    Split::check_share(fresh.holdout.unwrap_or(0.0))?;
    let optimizer = fresh.optimizer(loss, 0)?;
    fresh.stopping(&optimizer).validate()?;
    optimizer.build(&[0.0, 0.0], 1)?;
    if optimizer.batches() == 0 {
        return Err(Error::Usage("--batches must be at least 1".to_string()).into());
    }

    let ready = if inputs::are_datasets(&args.inputs)? {
        let data = dataset::read_many(&args.inputs)?;
        let theta = prior.theta(&data.metadata.feature_set)?;
        Ok(prepare(fresh, data, &args.inputs[0], loss, given_k, theta)?)
    } else {
        Err(prior.theta(&inputs::default_features())?)
    };
    let folder = RunFolder::create(args.out.as_deref(), args.force)?;
    let result = (|| -> anyhow::Result<()> {
        let (paths, prepared) = match ready {
            Ok(prepared) => (args.inputs.clone(), prepared),
            Err(theta) => {
                let path = folder.file("dataset.bin");
                if args.force && path.exists() {
                    std::fs::remove_file(&path).map_err(|e| Error::io(&path, e))?;
                }
                inputs::extract_first(&args.inputs, &path, context)?;
                let prepared = prepare(fresh, dataset::read(&path)?, &path, loss, given_k, theta)?;
                (vec![path], prepared)
            }
        };
        let Prepared { data, split, optimizer, theta, k, fitted_loss } = prepared;
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let config = RunConfig {
            datasets: paths.iter().map(|path| absolute(path).display().to_string()).collect(),
            checksum: data.checksum.clone(),
            prior: prior.to_string(),
            start: theta,
            k,
            loss,
            holdout: fresh.holdout.unwrap_or(0.0),
            seed: fresh.seed(),
            stopping: fresh.stopping(&optimizer),
            optimizer,
        };
        config.validate()?;
        let record = RunRecord {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            command_line: context.command_line.clone(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            config,
        };
        folder.write("run.json", &(serde_json::to_string_pretty(&record)? + "\n"))?;
        execute(args, context, &backend, &folder, &record.config, &data, &split, None, fitted_loss)
    })();
    if result.is_err() {
        folder.discard();
    }
    result
}

/// What the data decide about a run.
struct Prepared {
    data: Dataset,
    split: Split,
    optimizer: OptimizerConfig,
    theta: Vec<f64>,
    k: f64,
    /// Loss at K, where K was fitted.
    fitted_loss: Option<f64>,
}

fn prepare(
    fresh: &Fresh,
    data: Dataset,
    path: &Path,
    loss: LossKind,
    given_k: Option<f64>,
    theta: Vec<f64>,
) -> Result<Prepared> {
    if data.is_empty() {
        return Err(Error::input(path, "holds no position"));
    }
    let optimizer = fresh.optimizer(loss, theta.len())?;
    let split = Split::try_new(&data, fresh.holdout.unwrap_or(0.0), optimizer.batches(), fresh.seed())?;
    let (k, fitted_loss) = match given_k {
        Some(k) => (k, None),
        None => {
            let training: Vec<u32> = split.training().map(|n| n as u32).collect();
            let fit = fit_scale(&data, &exact_scores(&data, &theta, &training), &training, loss)?;
            (fit.k, Some(fit.loss))
        }
    };
    Ok(Prepared { data, split, optimizer, theta, k, fitted_loss })
}

fn resume(args: &TuneArgs, path: &Path, context: &Context) -> anyhow::Result<()> {
    let backend = args.backend.open()?;
    let (folder, record) = RunFolder::open(path)?;
    let config = record.config;
    config.validate().map_err(|e| Error::input(folder.file("run.json"), e.to_string()))?;
    let checkpoint = folder.read_checkpoint()?;
    // A run that ended before its result was stored still has its state.
    if let Some(checkpoint) = &checkpoint
        && let Some(reason) = checkpoint.progress.finished
        && (folder.file("params.json").exists() || checkpoint.optimizer.vectors.is_empty())
    {
        return Err(Error::Usage(format!("{}: the run is finished ({reason})", path.display())).into());
    }
    let data = dataset::read_many(&config.datasets)?;
    if data.checksum != config.checksum {
        return Err(Error::input(&config.datasets[0], "is not the dataset that the run began with").into());
    }
    if config.start.len() != 2 * data.feature_count() {
        return Err(Error::input(folder.file("run.json"), "does not belong to the dataset").into());
    }
    let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
    execute(args, context, &backend, &folder, &config, &data, &split, checkpoint, None)
}

#[allow(clippy::too_many_arguments, reason = "the two ways into a run share its parts, not a type")]
fn execute(
    args: &TuneArgs,
    context: &Context,
    backend: &super::backend::Backend,
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    checkpoint: Option<Checkpoint>,
    fitted_loss: Option<f64>,
) -> anyhow::Result<()> {
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n))?;
    let (evaluator, line) = backend.evaluator(&layout)?;
    let resumed = checkpoint.as_ref().map(|c| c.progress.epochs);
    let kept = checkpoint.as_ref().map_or(0, |c| c.progress.metrics);
    let mut run = match checkpoint {
        Some(checkpoint) => Tuning::resume(config, split, checkpoint, &folder.checkpoint())?,
        None => Tuning::try_new(config, split)?,
    };
    if !context.quiet && !context.json {
        tune_output::print_opening(folder, config, data, split, &line, fitted_loss, resumed)?;
    }
    let mut observer = Observer::new(context, folder, config, kept, args.checkpoint_every)?;
    let outcome = run.run(evaluator, |_| backend.replacement(&layout), context.cancel, &mut |event| {
        observer.observe(event)
    });
    observer.finish();
    let outcome = outcome?;
    if args.backend.stats {
        match outcome.stats {
            Some(stats) => eprintln!("GPU: {stats}"),
            None => eprintln!("GPU: not used"),
        }
    }
    if outcome.reason == StopReason::Interrupted {
        return Err(Error::Interrupted(format!(
            "after {} epochs; 'gputexel tune --resume {}' goes on",
            outcome.epochs,
            folder.path().display()
        ))
        .into());
    }

    let objective = Objective { k: config.k, loss: config.loss };
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let loss =
        |theta: &[f64], which: &[u32]| (!which.is_empty()).then(|| exact_loss(data, objective, theta, which));
    let summary = Summary {
        before: loss(&config.start, &training),
        after: loss(&outcome.parameters, &training),
        held_out_before: loss(&config.start, &held_out),
        held_out_after: loss(&outcome.parameters, &held_out),
        occurrences: data.occurrences(),
        outcome,
    };
    tune_output::write_results(folder, config, data, &summary)?;
    Ok(tune_output::print_results(context, folder, config, data, &summary, &args.board)?)
}
