//! Makes the contents of a report from the folder of a run.

use std::borrow::Cow;

use super::steps::steps;
use super::{ReportData, record, strength};
use crate::pieces::{piece_values, shown_worth};
use gputexel_dataset::objective::{Objective, ScaleForms};
use gputexel_io::run_folder::{Kind, PARAMETERS, RunFolder};
use gputexel_io::{Result, counted, escaped};
use gputexel_model::{Arrangement, Feature, FeatureSet, ParameterFile, PieceValues};
use gputexel_report::{CoordinateValue, Parameter, RunReport, grouped, remaining_seconds};
use gputexel_tune::{
    Checkpoint, CoordinateRecord, CoordinatesFile, OptimizerConfig, RunConfig, RunRecord, RunScores,
    diagnose, diagnose_program, training_score_ratio, worst_positions,
};

/// Returns the report of a run of `tune` or `pso`, which may still be in progress.
///
/// # Errors
/// [`Error::Input`](gputexel_io::Error::Input) and [`Error::Io`](gputexel_io::Error::Io) when the folder is not
/// that of a run, or a file is damaged.
pub fn run_report(folder: &RunFolder, known: &ReportData<'_>) -> Result<RunReport> {
    let record = match known.record {
        Some(record) => Cow::Borrowed(record),
        None => Cow::Owned(folder.record::<RunRecord>(Kind::Run)?),
    };
    let record = &*record;
    let config = &record.config;
    let checkpoint = match known.checkpoint {
        Some(checkpoint) => Some(Cow::Borrowed(checkpoint)),
        None => Checkpoint::read_from(folder)?.map(Cow::Owned),
    };
    let checkpoint = checkpoint.as_deref();
    let path = folder.file(PARAMETERS);
    let file = match known.parameters {
        Some(file) => Some(Cow::Borrowed(file)),
        None if path.exists() => Some(Cow::Owned(ParameterFile::read(&path)?)),
        None => None,
    };
    let file = file.as_deref();
    let finished = checkpoint.and_then(|c| c.progress.finished).filter(|_| file.is_some());
    let swarm = config.optimizer.swarms().is_some();
    let step_name = if swarm { "iteration" } else { "epoch" };
    let steps = steps(folder, known.positions.is_none())?;
    let theta = match file {
        Some(file) => {
            let (mg, eg) = (file.parameters.iter().map(|p| p.mg), file.parameters.iter().map(|p| p.eg));
            Some(mg.chain(eg).collect())
        }
        None => so_far(config, checkpoint),
    };
    let theta: Option<Vec<f64>> = theta.filter(|theta: &Vec<f64>| theta.len() == config.prior_theta.len());
    let features = known.positions.map(|(data, _)| &data.metadata().feature_set);
    let mut parameters = match (file, &theta, features) {
        (Some(file), Some(_), _) => of_file(file, config),
        (None, Some(theta), Some(set)) => of_theta(set, theta, config),
        _ => Vec::new(),
    };
    for part in features.map_or_else(Vec::new, |set| set.structure().parts) {
        if let Arrangement::Board(ids) = part.layout {
            for (square, id) in
                ids.iter().enumerate().filter_map(|(square, id)| Some((square, (*id)? as usize)))
            {
                parameters.get_mut(id).into_iter().for_each(|own| own.square = Some(square));
            }
        }
    }
    let fits = |count: usize| count == config.prior_theta.len() / 2;
    let positions = known.positions.filter(|(data, _)| fits(data.feature_count()) && !data.is_empty());
    let scores = positions.zip(theta.as_ref()).map(|((data, _), theta)| match known.scores {
        Some(scores) => Cow::Borrowed(scores),
        None => Cow::Owned(RunScores::new(data, &config.prior_theta, theta)),
    });
    let scored = positions.zip(scores.as_deref());
    let diagnostics = scored.map(|((data, split), scores)| {
        diagnose(data, split, Objective { k: config.k, loss: config.loss }, scores)
    });
    let program = match known.program {
        Some(program) => Some(program.clone()),
        None => positions.zip(theta.as_ref()).and_then(|((data, split), theta)| {
            let objective = Objective { k: config.k, loss: config.loss };
            diagnose_program(data, split, objective, theta, &config.prior_theta)
        }),
    };
    let score_ratio = known.score_ratio.or_else(|| {
        scored.and_then(|((data, split), scores)| training_score_ratio(data, config.k, split, scores))
    });
    let worst = scored.zip(theta.as_ref()).and_then(|(((data, split), scores), theta)| {
        let objective = Objective { k: config.k, loss: config.loss };
        worst_positions(data, split, objective, theta, &scores.result)
    });
    let path = folder.path().display().to_string();
    let command = if swarm { "pso" } else { "tune" };
    let last = steps.last().map_or(0, |step| step.number);
    let status = match finished {
        Some(reason) => format!("after {}: {reason}", counted(last, step_name)),
        None if record.undecided.is_some() => "choosing the strength of the prior".to_string(),
        None => format!("{} of at most {} {step_name}s", grouped(last), grouped(config.stopping.epochs)),
    };
    let remaining_seconds = steps.last().and_then(|last| {
        let by_time = config.stopping.seconds.map(|limit| (limit - last.seconds).max(0.0));
        let by_steps = remaining_seconds(last.number, config.stopping.epochs, last.seconds);
        by_steps.map(|seconds| by_time.map_or(seconds, |limit| limit.min(seconds)))
    });
    let pieces = match (positions.filter(|_| theta.is_some()), file.and_then(ParameterFile::computed_set)) {
        (Some((data, _)), _) => known.pieces.cloned().unwrap_or_else(|| piece_values(data)),
        (None, Some(_)) => PieceValues::of(parameters.iter().map(|one| (&*one.name, &*one.group))),
        (None, None) => Default::default(),
    };
    let mut report = RunReport {
        title: format!("gputexel {command}: {}", escaped(&path)),
        status,
        final_: finished.is_some(),
        conclusion: record.conclusion.clone(),
        remaining_seconds,
        loss_name: if config.regularizes() { "regularized loss" } else { "training loss" }.to_string(),
        step_name: step_name.to_string(),
        steps,
        worth: shown_worth(&pieces, &parameters),
        parameters,
        reference: "the prior".to_string(),
        coordinates: coordinates(folder, config, checkpoint),
        strength: Some(strength::of_record(record, score_ratio)),
        correlations: file.and_then(record::correlations),
        errors_note: file.map(record::errors_note).unwrap_or_default(),
        diagnostics_note: if diagnostics.is_none() { known.note.to_string() } else { String::new() },
        diagnostics,
        worst,
        program,
        configuration: record::configuration(record, file),
        inputs: Some(record::inputs(config, known.positions.map(|(data, _)| data))),
        ..RunReport::default()
    };
    let best_member = checkpoint.map_or(0, |checkpoint| checkpoint.progress.best_member);
    if let OptimizerConfig::Adam(adam) = &config.optimizer
        && best_member >= adam.runs.len()
    {
        let reason = format!("has no run {} of Adam, which checkpoint.safetensors has", best_member + 1);
        return Err(gputexel_io::Error::input(folder.file("run.json"), reason));
    }
    let penalty = finished
        .and(theta.as_ref())
        .filter(|_| config.regularizes())
        .map(|theta| config.regularization(best_member).value(theta));
    report.facts = facts(&report, record, file, penalty);
    Ok(report)
}

fn so_far(config: &RunConfig, checkpoint: Option<&Checkpoint>) -> Option<Vec<f64>> {
    let basis = config.parameterization();
    let z = checkpoint.map(|checkpoint| &checkpoint.progress.best_parameters)?;
    (z.len() == basis.dimension()).then(|| basis.theta(z))
}

fn of_file(file: &ParameterFile, config: &RunConfig) -> Vec<Parameter> {
    let (mg, eg) = config.prior_theta.split_at(config.prior_theta.len() / 2);
    let parameter = |(id, record): (usize, &gputexel_model::ParameterRecord)| Parameter {
        name: record.name.clone(),
        group: record.group.clone(),
        values: [record.mg, record.eg],
        reference: Some([mg[id], eg[id]]),
        errors: record.errors.map_or([None; 2], |errors| [errors.mg, errors.eg]),
        support: record.occurrences,
        summed: file.program.as_ref().and_then(|program| program.reads(id as u16)),
        square: None,
    };
    file.parameters.iter().enumerate().map(parameter).collect()
}

fn of_theta(set: &FeatureSet, theta: &[f64], config: &RunConfig) -> Vec<Parameter> {
    let features = &set.features;
    let count = features.len();
    let both = |all: &[f64], id: usize| [all[id], all[count + id]];
    let parameter = |(id, feature): (usize, &Feature)| Parameter {
        name: feature.name.clone(),
        group: feature.group.clone(),
        values: both(theta, id),
        reference: Some(both(&config.prior_theta, id)),
        summed: set.program.as_ref().and_then(|program| program.reads(id as u16)),
        ..Parameter::default()
    };
    if theta.len() == 2 * count { features.iter().enumerate().map(parameter).collect() } else { Vec::new() }
}

/// Returns the tuned coordinates, if they are not the parameters themselves.
fn coordinates(
    folder: &RunFolder,
    config: &RunConfig,
    checkpoint: Option<&Checkpoint>,
) -> Vec<CoordinateValue> {
    let Some(basis) = config.named_basis() else { return Vec::new() };
    if let Ok(file) = CoordinatesFile::read(&folder.file("z.json")) {
        let coordinate = |c: CoordinateRecord| CoordinateValue {
            name: c.name,
            value: c.value,
            min: c.min,
            max: c.max,
            error: c.uncertainty.and_then(|uncertainty| uncertainty.error),
        };
        return file.coordinates.into_iter().map(coordinate).collect();
    }
    let z = checkpoint.map(|checkpoint| &checkpoint.progress.best_parameters);
    let values = z.filter(|z| z.len() == basis.dimension()).into_iter().flatten();
    let coordinate = |(c, value): (&gputexel_model::Coordinate, &f64)| CoordinateValue {
        name: c.name.clone(),
        value: *value,
        min: c.min,
        max: c.max,
        error: None,
    };
    basis.coordinates.iter().zip(values).map(coordinate).collect()
}

fn facts(
    report: &RunReport,
    record: &RunRecord,
    file: Option<&ParameterFile>,
    penalty: Option<f64>,
) -> Vec<(String, String)> {
    let config = &record.config;
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_string(), value));
    let change = |before: f64, after: f64| {
        format!("{before:.8} → {after:.8} ({:+.2} %)", 100.0 * (after / before - 1.0))
    };
    let kind = config.loss.to_string();
    if let Some(diagnostics) = &report.diagnostics {
        for set in &diagnostics.sets {
            let name = if set.held_out { "held-out loss" } else { "training loss" };
            fact(&format!("{name} ({kind})"), change(set.prior_loss, set.loss));
            if let Some(penalty) = penalty.filter(|_| !set.held_out) {
                fact("with regularization", change(set.prior_loss, set.loss + penalty));
            }
        }
        let positions: u64 = diagnostics.sets.iter().map(|set| set.positions).sum();
        fact("positions", grouped(positions));
    } else {
        if let Some(file) = file {
            if let Some((before, after)) = file.provenance.loss_before.zip(file.provenance.loss) {
                fact(&format!("training loss ({kind})"), change(before, after));
                if let Some(penalty) = penalty {
                    fact("with regularization", change(before, after + penalty));
                }
            }
            if let Some(loss) = file.provenance.loss_held_out {
                fact(&format!("held-out loss ({kind})"), format!("{loss:.8}"));
            }
            fact("positions", grouped(file.provenance.positions));
        } else if let Some(last) = report.steps.last() {
            fact(&report.loss_name, format!("{:.8}", last.loss));
            if let Some(loss) = last.held_out {
                fact("held-out loss", format!("{loss:.8}"));
            }
        }
    }
    if let Some(strength) = &record.strength
        && let Some(gain) = strength.gain
    {
        fact(&format!("held-out loss, {} folds ({kind})", strength.folds), change(gain.before, gain.after));
    }
    fact("parameters", grouped(config.prior_theta.len() as u64));
    if let Some(basis) = config.named_basis() {
        fact("tuned", format!("{} coordinates ({})", grouped(basis.dimension() as u64), basis.name));
    }
    let forms = ScaleForms::new(config.k);
    fact("K", format!("{:.6} base 10, {:.6} base e", forms.k, forms.k_e));
    if let Some(last) = report.steps.last() {
        let name = if record.strength.is_some() { "time after choosing the strength" } else { "time" };
        fact(name, format!("{:.1} s, {}", last.seconds, counted(last.number, &report.step_name)));
    }
    fact("begun", record.started.clone());
    facts
}
