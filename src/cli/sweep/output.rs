//! What `sweep` writes and shows: tables, CSV, pictures, JSON, the best parameters.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::{Path, PathBuf};

use gputexel::dataset::Dataset;
use gputexel::folder_lock::is_leftover;
use gputexel::model::{ParameterFile, Provenance};
use gputexel::objective::Objective;
use gputexel::tables::{Language, tables};
use gputexel::tuning::sweep::{Ranked, Ranking, Retrained, SweepConfig, SweepOutcome};
use gputexel::tuning::{StopReason, exact_loss};
use gputexel::{Error, Result, write_atomically};
use serde_json::{Value, json};

use super::super::run_folder::{Kind, RunFolder, check_contents};
use super::super::table::{aligned, grouped};
use super::super::targets::{check_target, is_one};
use super::super::tune::scale_forms;
use super::super::{Context, say};
use super::picture::picture;

/// Whether best parameters are meant to go to one file.
fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Refuses a place for the best parameters that holds something, unless `force` is set; makes
/// nothing.
///
/// # Errors
/// [`Error::Usage`]; [`Error::Io`].
pub fn check_best(path: &Path, force: bool) -> Result<()> {
    if is_file(path) {
        return check_target(Some(path), force);
    }
    if !path.exists() {
        return Ok(());
    }
    // What was killed before the parameters were there is not worth keeping.
    let begun = holds_best_only(path) && !path.join(PARAMETERS).exists();
    check_contents(path, Kind::Parameters, force || begun)
}

/// Whether there is nothing in a place for the best parameters but what a sweep writes there.
pub fn holds_best_only(path: &Path) -> bool {
    let ours = |name: &std::ffi::OsStr| {
        is_leftover(name)
            || name == PARAMETERS
            || Language::RUN.iter().any(|language| name == language.file_name())
    };
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(|entry| ours(&entry.file_name()))),
        Err(_) => is_file(path),
    }
}

/// Writes rows as CSV.
///
/// # Errors
/// [`Error::Io`].
pub fn write_csv(path: &Path, rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fail = |e: csv::Error| Error::io(path, std::io::Error::other(e));
    for row in rows {
        writer.write_record(&row).map_err(fail)?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::io(path, std::io::Error::other(e.to_string())))?;
    write_atomically(path, &bytes)
}

const PARAMETERS: &str = "params.json";

/// Where the best parameters go.
pub enum BestTarget<'a> {
    /// One file.
    File(PathBuf),
    /// A folder for parameters and tables.
    Folder(RunFolder),
    /// The folder of the sweep.
    Own(&'a RunFolder),
}

/// What was written of the best settings.
pub struct BestWritten {
    path: PathBuf,
    loss: f64,
}

impl<'a> BestTarget<'a> {
    /// Checks, and makes the folder where one is meant, before any work is done. `own` is the folder of
    /// the sweep.
    ///
    /// # Errors
    /// [`Error::Usage`] when it cannot be written to; [`Error::Io`].
    pub fn open(path: &Path, own: Option<&'a RunFolder>, force: bool) -> Result<Self> {
        if let Some(own) = own.filter(|own| is_one(path, own.path())) {
            return Ok(Self::Own(own));
        }
        check_best(path, force)?;
        if is_file(path) {
            return Ok(Self::File(path.to_path_buf()));
        }
        // Checked above.
        RunFolder::create(Some(path), Kind::Parameters, true).map(Self::Folder)
    }

    /// Takes a folder away again to which nothing was written.
    pub fn discard(&self) {
        if let Self::Folder(folder) = self {
            folder.discard();
        }
    }

    /// Writes parameters trained on all positions.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(
        &self,
        config: &SweepConfig,
        data: &Dataset,
        combination: usize,
        trained: &Retrained,
    ) -> Result<BestWritten> {
        let set = &data.metadata().feature_set;
        let setting = config.setting(combination);
        let all: Vec<u32> = (0..data.len() as u32).collect();
        let objective = Objective { k: setting.k, loss: setting.loss };
        let loss = exact_loss(data, objective, &trained.theta, &all);
        let mut file = ParameterFile::new(set, &trained.theta, Some(&data.occurrences()), Some(setting.k));
        let mut optimizer = trained.optimizer.clone();
        if setting.blend > 0.0 {
            let _ = write!(optimizer, ", blend {}", setting.blend);
        }
        for (source, factor) in config.grid.sources().iter().zip(&setting.sources) {
            let _ = write!(optimizer, ", source {} times {factor}", data.metadata().sources[*source].path);
        }
        file.provenance = Provenance {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            datasets: config.checksum.split('+').map(str::to_string).collect(),
            positions: data.len() as u64,
            optimizer,
            loss_kind: setting.loss.to_string(),
            prior: config.prior.clone(),
            seed: config.seeds[0],
            loss_before: Some(exact_loss(data, objective, &config.start, &all)),
            loss: Some(loss),
            ..Provenance::default()
        };
        let folder = match self {
            Self::File(path) => {
                write_atomically(path, file.to_json().as_bytes())?;
                return Ok(BestWritten { path: path.clone(), loss });
            }
            Self::Folder(folder) => folder,
            Self::Own(folder) => *folder,
        };
        for language in Language::RUN {
            folder.write(language.file_name(), &tables(&file, language))?;
        }
        folder.write(PARAMETERS, &file.to_json())?;
        Ok(BestWritten { path: folder.path().to_path_buf(), loss })
    }
}

/// Says what is about to happen.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_opening(
    config: &SweepConfig,
    data: &Dataset,
    folder: Option<&RunFolder>,
    resumed: bool,
) -> Result<()> {
    let mut out = String::new();
    let what = match data.has_games() {
        true => format!("{} games", grouped(data.metadata().games)),
        false => "no games: folds by position".to_string(),
    };
    let _ = writeln!(
        out,
        "dataset     {} positions, {what}, {} parameters ({})",
        grouped(data.len() as u64),
        config.start.len(),
        data.metadata().feature_set.name()
    );
    if let Some(basis) = &config.basis {
        let _ = writeln!(out, "basis       {}, {} coordinates", basis.name, basis.dimension());
    }
    let repeated = match config.seeds.len() {
        1 => String::new(),
        seeds => format!(", repeated {seeds} times"),
    };
    let _ = writeln!(
        out,
        "runs        {}: {} settings on {} folds{repeated}; {}, {} epochs",
        grouped(config.runs() as u64),
        grouped(config.grid.len() as u64),
        config.folds,
        config.method.name(),
        config.epochs
    );
    for (loss, k) in &config.k {
        let of = if config.k.len() > 1 { format!(" ({loss})") } else { String::new() };
        let _ = writeln!(out, "K           {}{of}", scale_forms(*k));
    }
    if let Some(k) = config.blend_k {
        let _ = writeln!(out, "blend K     {}", scale_forms(k));
    }
    if let Some(folder) = folder {
        let how = if resumed { " (resumed)" } else { "" };
        let _ = writeln!(out, "folder      {}{how}", folder.path().display());
    }
    say(&out)
}

/// Writes tables and pictures of what was ranked; `unfinished` says how far an interrupted sweep
/// has come.
///
/// # Errors
/// [`Error::Io`].
pub fn write_files(
    csv: Option<&Path>,
    svg: Option<&Path>,
    folder: Option<&RunFolder>,
    config: &SweepConfig,
    ranking: &Ranking,
    unfinished: Option<&str>,
) -> Result<()> {
    let in_folder = |name: &str| folder.map(|folder| folder.file(name));
    for path in csv.map(Path::to_path_buf).into_iter().chain(in_folder("runs.csv")) {
        write_csv(&path, table_of_runs(config, ranking))?;
    }
    if let Some(document) = picture(config, ranking, unfinished)? {
        for path in svg.map(Path::to_path_buf).into_iter().chain(in_folder("sweep.svg")) {
            write_atomically(&path, document.as_bytes())?;
        }
    }
    Ok(())
}

/// Every run, ranked.
fn table_of_runs(config: &SweepConfig, ranking: &Ranking) -> Vec<Vec<String>> {
    let mut header = vec!["rank".to_string()];
    header.extend(config.grid.axes.iter().map(|axis| axis.name.clone()));
    header.extend(["seed", "fold", "held_out", "own_held_out", "training"].map(str::to_string));
    let mut rows = vec![header];
    for (rank, ranked) in ranking.ranked.iter().enumerate() {
        for run in &ranked.runs {
            let mut row = vec![(rank + 1).to_string()];
            let indices = config.grid.indices(ranked.combination);
            row.extend(config.grid.axes.iter().zip(indices).map(|(axis, index)| {
                axis.number(index).map_or_else(|| axis.label(index), |number| number.to_string())
            }));
            row.extend([config.seeds[run.seed].to_string(), run.fold.to_string()]);
            let result = run.result;
            row.extend([result.held_out, result.own_held_out, result.training].map(|v| v.to_string()));
            rows.push(row);
        }
    }
    rows
}

/// Whether runs' own losses say more than the ones they are judged by.
fn has_own(config: &SweepConfig) -> bool {
    config.blend_k.is_some() || config.grid.losses(config.loss) != [config.judge]
}

/// The ranking as columns.
fn table_of_settings(config: &SweepConfig, ranking: &Ranking, top: usize) -> String {
    let own = has_own(config);
    let mut header = vec!["rank".to_string(), String::new()];
    header.extend(config.grid.axes.iter().map(|axis| axis.name.clone()));
    header.extend(["held-out", "±", "over best", "±", "training"].map(str::to_string));
    if own {
        header.push("own held-out".to_string());
    }
    let mut rows = vec![header];
    for (rank, ranked) in ranking.ranked.iter().take(top).enumerate() {
        let Ranked { held_out, difference, .. } = ranked;
        let mark = match (rank, ranked.tied) {
            (0, _) => "*",
            (_, true) => "=",
            _ => "",
        };
        let mut row = vec![(rank + 1).to_string(), mark.to_string()];
        row.extend(config.grid.labels(ranked.combination));
        row.extend([format!("{:.8}", held_out.mean), format!("{:.8}", held_out.standard_error)]);
        row.extend(match rank {
            0 => [String::new(), String::new()],
            _ => [format!("{:.8}", difference.mean), format!("{:.8}", difference.standard_error)],
        });
        row.push(format!("{:.8}", ranked.training));
        if own {
            row.push(format!("{:.8}", ranked.own_held_out));
        }
        rows.push(row);
    }
    aligned(&rows, 0)
}

/// A combination by name of its axes.
fn settings(config: &SweepConfig, combination: usize) -> Value {
    let indices = config.grid.indices(combination);
    let pairs = config.grid.axes.iter().zip(indices).map(|(axis, index)| {
        let value = axis.number(index).map_or_else(|| json!(axis.label(index)), |number| json!(number));
        (axis.name.clone(), value)
    });
    Value::Object(pairs.collect())
}

/// Shows the results.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_results(
    context: &Context,
    top: usize,
    config: &SweepConfig,
    data: &Dataset,
    outcome: &SweepOutcome,
    ranking: &Ranking,
    best: Option<&BestWritten>,
) -> Result<()> {
    let interrupted = outcome.reason == StopReason::Interrupted;
    if context.json {
        let entry = |(rank, ranked): (usize, &Ranked)| {
            let setting = config.setting(ranked.combination);
            let runs = ranked.runs.iter().map(|run| {
                json!({
                    "seed": config.seeds[run.seed], "fold": run.fold, "held_out": run.result.held_out,
                    "own_held_out": run.result.own_held_out, "training": run.result.training,
                })
            });
            json!({
                "rank": rank + 1, "settings": settings(config, ranked.combination),
                "k": setting.k, "loss_kind": setting.loss.to_string(),
                "held_out": ranked.held_out, "over_best": ranked.difference, "tied": ranked.tied,
                "own_held_out": ranked.own_held_out, "training": ranked.training,
                "runs": runs.collect::<Vec<_>>(),
            })
        };
        let written = best.map(|best| json!({ "path": best.path, "loss": best.loss }));
        let object = json!({
            "judged_by": config.judge.to_string(), "positions": data.len(), "folds": config.folds,
            "folds_by": if data.has_games() { "game" } else { "position" },
            "seeds": config.seeds, "optimizer": config.method.name(), "runs": config.runs(),
            "together": outcome.together, "epochs": outcome.epochs, "epochs_planned": outcome.planned,
            "interrupted": interrupted, "seconds": outcome.seconds, "blend_k": config.blend_k,
            "ranking": ranking.ranked.iter().enumerate().map(entry).collect::<Vec<_>>(),
            "best": written,
        });
        return say(&format!("{object}\n"));
    }
    if context.quiet {
        return Ok(());
    }
    let mut out = String::new();
    let (done, planned) = (grouped(outcome.epochs), grouped(outcome.planned));
    let _ = match interrupted {
        true => writeln!(out, "interrupted after {done} of {planned} epochs of all runs: not final"),
        false => writeln!(out, "finished    {done} epochs of all runs in {:.2} s", outcome.seconds),
    };
    if outcome.together > 0 && outcome.together < config.runs() / config.seeds.len() {
        let _ = writeln!(
            out,
            "population  {} runs at a time, limited by memory",
            grouped(outcome.together as u64)
        );
    }
    let _ = writeln!(
        out,
        "judged by   {} loss on held-out positions against their results, with the K of each run\n",
        config.judge
    );
    if !ranking.ranked.is_empty() {
        if interrupted {
            let _ = writeln!(out, "so far, not final (interrupted after {done} of {planned} epochs):");
        }
        out += &table_of_settings(config, ranking, top);
    }
    if ranking.ranked.len() > top {
        let _ = writeln!(out, "and {} more", grouped((ranking.ranked.len() - top) as u64));
    }
    if ranking.incomplete > 0 {
        let have = if ranking.incomplete == 1 { "setting has" } else { "settings have" };
        let _ = writeln!(out, "{} {have} not been run on all folds", grouped(ranking.incomplete as u64));
    }
    let tied = ranking.ranked.iter().filter(|ranked| ranked.tied).count();
    if tied > 0 {
        let (settings, they_differ) = match tied {
            1 => ("setting", "it differs"),
            _ => ("settings", "they differ"),
        };
        let _ = writeln!(
            out,
            "= {} {settings} statistically tied with the best: {they_differ} from it, fold by fold, by less than\n  \
             two standard errors",
            grouped(tied as u64)
        );
    }
    if let Some(best) = best {
        let _ = writeln!(
            out,
            "written     {}: the best settings trained on all positions, loss {:.10}",
            best.path.display(),
            best.loss
        );
    }
    say(&out)
}
