//! Result of a run, and the files that it is written to.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::doubts::Doubts;
use crate::page::{ReportData, run_report};
use gputexel_dataset::objective::Objective;
use gputexel_dataset::{Dataset, ProbingRecord};
use gputexel_io::run_folder::{
    Kind, METRICS, PARAMETERS, REPORT, SO_FAR, SO_FAR_TABLES, VALUES, VALUES_LIST, append_line,
};
use gputexel_io::{Error, RECORD_BYTES, Result, RunFolder, read_whole};
use gputexel_model::{FeatureSet, ParameterFile, PieceValues, PieceWorth, Provenance, ValueChange};
use gputexel_report::RunReport;
use gputexel_source::tables::{Language, tables};
use gputexel_tune::{
    Checkpoint, ConstantTerm, CoordinatesFile, EpochRecord, HeldOutGain, Outcome, Polish, ProgramDiagnostics,
    RoundingOutcome, RunConfig, RunParts, RunRecord, exact_loss,
};

use crate::event::{RunEvent, RunObserver};
use crate::uncertainty::Answer;

/// Number of positions below which a feature's values are called weakly supported.
pub const WEAK_SUPPORT: u64 = 100;
/// Distance from the prior above which a parameter is called far, centipawns.
pub const FAR_CP: f64 = 1000.0;

/// Result of a run. Losses are exact (in f64), without regularization.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("positions.epd");
/// # let wins = ["Q7/8/8/8/8/7k/8/K7 w - - c9 \"1-0\";", "q7/8/8/8/8/7K/8/k7 w - - c9 \"0-1\";"];
/// # let rest = ["R7/8/8/8/8/7k/8/K7 w - - c9 \"1/2-1/2\";", "r7/8/8/8/8/7K/8/k7 w - - c9 \"1-0\";"];
/// # std::fs::write(&file, [wins, rest].concat().join("\n") + "\n")?;
/// # let data = gputexel_runs::extract(&[file])?;
/// # use gputexel_runs::{Tuner, TunerSettings};
/// let limits = gputexel_tune::Limits { epochs: Some(3), ..Default::default() };
/// let settings = TunerSettings { limits, ..TunerSettings::default() };
/// # let settings = TunerSettings { k: Some(0.8), l2: vec![1e-4], ..settings };
/// let tuned = Tuner::new(&data, settings).run()?;
/// let file = tuned.parameter_file();
/// assert_eq!(2 * file.parameters.len(), tuned.parameters().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Tuned {
    pub record: RunRecord,
    pub features: FeatureSet,
    /// How an engine was asked for the positions' coefficients, if one was.
    pub probing: Option<ProbingRecord>,
    /// Number of positions, including those held out.
    pub positions: u64,
    /// Number of games that they are of, if that is known.
    pub games: Option<u64>,
    pub occurrences: Vec<u64>,
    /// The features that hold the values of pawn to king.
    pub piece_values: [PieceValues; 6],
    pub doubts: Doubts,
    /// K of the search scores that the dataset has as labels, if it has.
    pub labels_k: Option<String>,
    /// Number of games that were in the data more than once, and count once.
    pub united_games: u64,
    /// The constant term that accounts for much of the gain, if one does.
    pub constant_term: Option<ConstantTerm>,
    pub loss_before: Option<f64>,
    pub loss: Option<f64>,
    pub held_out_before: Option<f64>,
    pub held_out: Option<f64>,
    /// These two, with the error of their difference, by game.
    pub held_out_gain: Option<HeldOutGain>,
    /// Amount that regularization adds to the training loss of the result; that of the prior has none. `None` without
    /// regularization.
    pub penalty: Option<f64>,
    /// Training loss of the prior at the K fitted on it, if K was then fitted with the parameters.
    pub loss_at_prior_k: Option<f64>,
    pub outcome: Outcome,
    pub rounding: Option<RoundingOutcome>,
    /// Losses against results alone, if targets are blended with search scores.
    pub against_results: Option<AgainstResults>,
    pub polish: Option<Polish>,
    pub swarm_losses: Option<SwarmLosses>,
    pub uncertainty: Answer,
    /// Standard errors of θ, centipawns: those of the uncertainty, or computed for a display of values, see
    /// [`Tuner::display`](crate::Tuner::display).
    pub errors: Option<Vec<Option<f64>>>,
    pub program: Option<ProgramDiagnostics>,
    /// Factor of the scores over the prior's on the training positions, see [`score_ratio`](gputexel_tune::score_ratio).
    pub score_ratio: Option<f64>,
    pub failure: Option<Error>,
    /// The epochs of a run without a folder; otherwise they are in `metrics.jsonl`.
    pub epochs: Vec<EpochRecord>,
    pub folder: Option<PathBuf>,
    /// The state at the end, without vectors.
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// Exact losses against the results of the games alone.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct AgainstResults {
    /// True for held-out positions, false for training positions.
    pub held_out: bool,
    pub before: f64,
    pub after: f64,
}

/// Exact training losses of a run of swarms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwarmLosses {
    pub original: f64,
    /// Loss of the best position of all swarms, before polishing.
    pub best: f64,
}

impl SwarmLosses {
    pub(crate) fn from_outcome(parts: &RunParts<'_>, outcome: &Outcome) -> Self {
        let RunParts { config, data, split, .. } = *parts;
        let objective = Objective { k: config.k, loss: config.loss };
        let training: Vec<u32> = split.training().map(|n| n as u32).collect();
        let basis = config.parameterization();
        let exact = |z: &[f64]| exact_loss(data, objective, &basis.theta(z), &training);
        Self { original: exact(&basis.start()), best: exact(&outcome.z) }
    }
}

impl Tuned {
    /// Returns the worth of pawns to queens, as far as the features have values of them.
    pub fn pieces(&self) -> Vec<PieceWorth> {
        let count = self.features.features.len();
        let [before, after] = [&self.config().prior_theta[..], self.parameters()]
            .map(|theta| move |id: usize, phase: usize| theta[phase * count + id]);
        PieceWorth::of(&self.piece_values, before, after, |id| self.occurrences[id] as f64)
    }

    pub fn config(&self) -> &RunConfig {
        &self.record.config
    }

    /// Returns θ, the tuned values in centipawns: middlegame of every feature, then endgame of every feature.
    pub fn parameters(&self) -> &[f64] {
        &self.outcome.parameters
    }

    pub fn report(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(REPORT))
    }

    /// Returns the training loss of the result with regularization, if there is any, which the run has minimized.
    pub fn regularized_loss(&self) -> Option<f64> {
        Some(self.loss? + self.penalty?)
    }

    pub fn unsupported(&self) -> Vec<&str> {
        self.seen_by(|positions| positions == 0)
    }

    /// Returns the features that no position has and whose values changed anyway: squares determined by their
    /// neighbors, and values that a basis ties to others.
    pub fn filled(&self) -> Vec<ValueChange> {
        let unsupported = (0..self.features.features.len()).filter(|&id| self.occurrences[id] == 0);
        let prior = &self.config().prior_theta;
        let mut all = ValueChange::of(&self.features, unsupported, prior, self.parameters());
        all.retain(ValueChange::is_change);
        all
    }

    pub fn weak(&self) -> Vec<&str> {
        self.seen_by(|positions| positions > 0 && positions < WEAK_SUPPORT)
    }

    fn seen_by(&self, wanted: impl Fn(u64) -> bool) -> Vec<&str> {
        let features = self.features.features.iter().zip(&self.occurrences);
        features.filter(|(_, count)| wanted(**count)).map(|(feature, _)| feature.name.as_str()).collect()
    }

    /// Returns the features with a value that is more than [`FAR_CP`] away from its prior, without parameters of
    /// accumulators, because their values are not centipawns.
    pub fn far(&self) -> Vec<&str> {
        let accumulators = self.features.program.iter().flat_map(|program| &program.accumulators);
        let other_units: HashSet<u16> =
            accumulators.flat_map(|accumulator| &accumulator.features).copied().collect();
        let (features, prior) = (&self.features.features, &self.config().prior_theta);
        let distance = |i: usize| (self.parameters()[i] - prior[i]).abs();
        let farther = |id: usize| distance(id).max(distance(features.len() + id));
        let in_centipawns = |&id: &usize| !other_units.contains(&(id as u16));
        let far = (0..features.len()).filter(in_centipawns).filter(|&id| farther(id) > FAR_CP);
        far.map(|id| features[id].name.as_str()).collect()
    }

    pub fn at_bounds(&self) -> Vec<&str> {
        let Some(basis) = self.config().named_basis() else { return Vec::new() };
        let named = basis.coordinates.iter().zip(&self.outcome.z);
        let held = named.filter(|(c, z)| c.min == Some(**z) || c.max == Some(**z));
        held.map(|(c, _)| c.name.as_str()).collect()
    }

    pub fn fractions(&self) -> usize {
        let Some(basis) = &self.config().basis else { return 0 };
        let named = basis.coordinates.iter().zip(&self.outcome.z);
        named.filter(|(c, z)| c.integer && z.fract() != 0.0).count()
    }

    /// Returns the held-out loss before and after: that of the positions held out of the whole run, or if there are
    /// none, that of the folds by which the regularization was chosen.
    pub fn gain(&self) -> Option<HeldOutGain> {
        self.held_out_gain.or_else(|| self.record.strength.as_ref()?.gain)
    }

    /// Returns true if nothing was better than the start.
    pub fn is_start(&self) -> bool {
        let kept = self.record.strength.as_ref().is_some_and(|strength| strength.keeps_prior);
        kept || self.outcome.z == self.config().parameterization().start()
    }

    pub fn parameter_file(&self) -> ParameterFile {
        let config = self.config();
        let theta = &self.outcome.parameters;
        let mut file = ParameterFile::new(&self.features, theta, Some(&self.occurrences), Some(config.k));
        file.provenance = Provenance {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            datasets: config.checksum.split('+').map(str::to_string).collect(),
            positions: self.positions,
            optimizer: self.outcome.optimizer.clone(),
            loss_kind: config.loss.to_string(),
            prior: config.prior.clone(),
            seed: config.seed,
            loss_before: self.loss_before,
            loss: self.loss,
            loss_held_out: self.held_out,
            rounding: self.rounding.as_ref().and_then(RoundingOutcome::rounding_record),
            single_steps: self.rounding.as_ref().and_then(RoundingOutcome::single_steps_record),
            changed: None,
        };
        if let Some(findings) = self.uncertainty.findings() {
            let coordinates: Vec<String> = if let Some(basis) = self.config().named_basis() {
                basis.coordinates.iter().map(|coordinate| coordinate.name.clone()).collect()
            } else {
                let names = |phase: &'static str| {
                    file.parameters.iter().map(move |record| format!("{}.{phase}", record.name))
                };
                names("mg").chain(names("eg")).collect()
            };
            findings.annotate(&mut file, &coordinates);
        }
        file
    }

    pub fn coordinates(&self) -> Option<CoordinatesFile> {
        let basis = self.config().named_basis()?;
        let findings = self.uncertainty.findings();
        let uncertainty = |i: usize| findings.map(|findings| findings.coordinate(i));
        Some(CoordinatesFile::new(basis, &self.outcome.z, uncertainty))
    }

    /// Writes a new folder with the record of the run, its epochs and its results: `run.json`, `metrics.jsonl`,
    /// `params.json`, `z.json` if there is a basis, tables as source code, `values.txt` for an engine that traces itself, and the report, which without the positions
    /// has neither calibration nor residuals.
    ///
    /// # Errors
    /// [`Error::Usage`] when the folder exists and is not empty; [`Error::Io`].
    pub fn write_to(&self, path: impl AsRef<Path>) -> Result<()> {
        let folder = RunFolder::create(Some(path.as_ref()), Kind::Run, false)?;
        folder.write_record(Kind::Run, &self.record)?;
        let mut metrics = folder.metrics(0)?;
        match &self.folder {
            // Its epochs are there.
            Some(own) => {
                let path = own.join(METRICS);
                let text = read_whole(&path, RECORD_BYTES).map_err(|e| Error::io(&path, e))?;
                metrics.append(&text)?;
            }
            None => self.epochs.iter().try_for_each(|epoch| append_line(&mut metrics, epoch))?,
        }
        let parameters = self.write_files(&folder)?;
        self.checkpoint.as_ref().map_or(Ok(()), |checkpoint| checkpoint.write_to(&folder))?;
        let report_data = ReportData {
            record: Some(&self.record),
            checkpoint: self.checkpoint.as_ref(),
            parameters: Some(&parameters),
            program: self.program.as_ref(),
            note: "Calibration and residuals need the positions of the run.",
            ..ReportData::default()
        };
        write_report(&folder, &run_report(&folder, &report_data)?)
    }

    pub(crate) fn write_files(&self, folder: &RunFolder) -> Result<ParameterFile> {
        // Files of an interruption do not belong to the result, and a report would look finished.
        for name in SO_FAR_TABLES.into_iter().chain([SO_FAR, REPORT]) {
            folder.remove(name)?;
        }
        let file = self.parameter_file();
        for language in Language::RUN {
            folder.write(language.file_name(), tables(&file, language))?;
        }
        if let Some(coordinates) = self.coordinates() {
            folder.write("z.json", coordinates.to_json())?;
        }
        if let Some(names) = self.features.places() {
            let (mut values, mut list) = (String::new(), String::new());
            for (id, (name, value)) in names.iter().zip(&self.outcome.parameters).enumerate() {
                // A number without phases is there once.
                if !name.starts_with("unused.") && !names[..id].contains(name) {
                    let (whole, reach) = (value.round(), value.abs().ceil().max(50.0));
                    values += &format!("{name} {value}\n");
                    let pair = name.ends_with(".mg") || name.ends_with(".eg");
                    let own = self.features.parameter_name(id);
                    let own = if pair { &own } else { own.trim_end_matches(".mg") };
                    let ([low, high], step) = ([whole - reach, whole + reach], reach / 10.0);
                    list += &format!("{name}, int, {whole}, {low}, {high}, {step}, 0.002 //{own}\n");
                }
            }
            folder.write(VALUES, values)?;
            folder.write(VALUES_LIST, list)?;
        }
        folder.write(PARAMETERS, file.to_json())?;
        Ok(file)
    }
}

/// Writes the best values of an interrupted run, under names that cannot be mistaken for a result.
pub(crate) fn leave_so_far(
    folder: &RunFolder,
    record: &RunRecord,
    data: &Dataset,
    outcome: &Outcome,
    after: &str,
) -> Result<()> {
    let config = &record.config;
    let set = &data.metadata().feature_set;
    let mut file = ParameterFile::new(set, &outcome.parameters, Some(&data.occurrences()), Some(config.k));
    file.provenance = Provenance {
        program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
        datasets: config.checksum.split('+').map(str::to_string).collect(),
        positions: data.len() as u64,
        optimizer: format!("{}, interrupted {after}", outcome.optimizer),
        loss_kind: config.loss.to_string(),
        prior: config.prior.clone(),
        seed: config.seed,
        ..Provenance::default()
    };
    for (language, name) in Language::RUN.into_iter().zip(SO_FAR_TABLES) {
        folder.write(name, tables(&file, language))?;
    }
    folder.write(SO_FAR, file.to_json())
}

pub(crate) fn leave_report(
    folder: &RunFolder,
    report_data: &ReportData<'_>,
    observe: &mut RunObserver<'_>,
) -> Result<()> {
    let report = run_report(folder, report_data);
    match report.and_then(|report| write_report(folder, &report)) {
        Err(error) => observe(RunEvent::Alert(&format!("no report: {error}"))),
        Ok(()) => Ok(()),
    }
}

pub fn write_report(folder: &RunFolder, report: &RunReport) -> Result<()> {
    folder.write(REPORT, report.to_html(None))
}
