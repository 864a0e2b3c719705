//! `gputexel compare`: two parameter files or runs side by side.

mod losses;
mod output;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gputexel::model::{ParameterFile, ParameterRecord};
use gputexel::report::{Comparison, Parameter, Table, grouped};
use gputexel::{Error, Result, write_atomically};

use super::Context;
use super::targets::{check_apart, check_target};
use super::tune::ScaleArgs;
use losses::Losses;

/// Flags of `compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Changes are from A to B. Parameters are matched by name, so feature sets that only partly overlap can be \
compared, too.")]
pub struct CompareArgs {
    /// A parameter file, or the folder of a run
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The one to compare it with
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Compute the losses of both on this dataset (if given several times, on all of them together)
    #[arg(long, value_name = "DATASET")]
    dataset: Vec<PathBuf>,
    /// squared, cross-entropy, or power:Q
    #[arg(long, value_name = "LOSS", default_value = "squared", requires = "dataset")]
    loss: String,
    #[command(flatten)]
    scale: ScaleArgs,
    /// Write the comparison as an HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,
    /// Number of rows in the list of largest changes
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Sort changes by: change (centipawns), or errors (standard errors of the difference)
    #[arg(long, value_name = "BY", default_value = "change")]
    sort: Order,
    /// Show only the board of this table
    #[arg(long, value_name = "TABLE")]
    board: Option<String>,
}

/// By what changes are large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    Change,
    Errors,
}

/// One of the two.
pub struct Side {
    /// What it is called.
    pub name: String,
    /// Its parameter file.
    pub path: PathBuf,
    /// Its contents.
    pub file: ParameterFile,
}

/// A parameter's change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name, with the phase behind it.
    pub name: String,
    /// Values of A and B.
    pub values: [f64; 2],
    /// Standard errors of A and B.
    pub errors: [Option<f64>; 2],
}

impl Change {
    /// B less A.
    pub fn difference(&self) -> f64 {
        self.values[1] - self.values[0]
    }

    /// Standard error of the difference, as though A and B were independent.
    pub fn error(&self) -> Option<f64> {
        match self.errors {
            [Some(a), Some(b)] => Some(a.hypot(b)),
            _ => None,
        }
    }

    /// The difference in standard errors.
    pub fn in_errors(&self) -> Option<f64> {
        self.error().filter(|error| *error > 0.0).map(|error| self.difference() / error)
    }
}

/// What was found.
pub struct Found {
    /// A and B.
    pub sides: [Side; 2],
    /// Parameters of both: values of B, those of A as the reference, errors of the difference.
    pub both: Vec<Parameter>,
    /// Changes of all their values, the largest first.
    pub changes: Vec<Change>,
    /// Names that only A, or only B, has.
    pub only: [Vec<String>; 2],
    /// Losses on a dataset.
    pub losses: Option<Losses>,
}

/// Runs `compare`.
///
/// # Errors
/// Files that cannot be read or written, or that have nothing in common.
pub fn run(args: &CompareArgs, context: &Context) -> anyhow::Result<()> {
    check_target(args.html.as_deref(), args.force)?;
    let inputs = [&args.a, &args.b].into_iter().chain(&args.dataset).map(PathBuf::as_path);
    check_apart(&[args.html.as_deref()], &inputs.collect::<Vec<_>>())?;
    let k = args.scale.k()?;
    if k.is_some() && args.dataset.is_empty() {
        return Err(
            Error::Usage("a fixed K is only used for losses, which need --dataset".to_string()).into()
        );
    }
    let loss = args.loss.parse()?;
    if args.top == 0 {
        return Err(Error::Usage("--top 0: must be at least 1".to_string()).into());
    }
    let sides = [read(&args.a)?, read(&args.b)?];
    let mut found = find(sides, args.sort)?;
    if let Some(board) = &args.board
        && !found.both.iter().any(|parameter| parameter.group == *board)
    {
        return Err(
            Error::Usage(format!("--board {board}: A and B have no common table of this name")).into()
        );
    }
    if !args.dataset.is_empty() {
        found.losses = Some(Losses::on(&args.dataset, &found.sides, loss, k)?);
    }
    if let Some(path) = &args.html {
        write_atomically(path, page(&found, args.top).to_html().as_bytes())?;
    }
    output::print(context, &found, args.top, args.board.as_deref(), args.html.as_deref())
}

fn read(path: &Path) -> Result<Side> {
    let file = ParameterFile::locate(path)?;
    let read = ParameterFile::read(&file)?;
    Ok(Side { name: path.display().to_string(), path: file, file: read })
}

/// Matches parameters by name.
fn find(sides: [Side; 2], order: Order) -> Result<Found> {
    let [a, b] = &sides;
    if a.file.phase != b.file.phase {
        let text = format!(
            "{} has phase weights {}, {} has {}: their values are not comparable",
            a.name, a.file.phase, b.name, b.file.phase
        );
        return Err(Error::Usage(text));
    }
    let index = |side: &Side| -> Result<HashMap<String, usize>> {
        let mut index = HashMap::new();
        for (i, record) in side.file.parameters.iter().enumerate() {
            if index.insert(record.name.clone(), i).is_some() {
                return Err(Error::input(&side.path, format!("parameter '{}' is listed twice", record.name)));
            }
        }
        Ok(index)
    };
    let (in_a, in_b) = (index(a)?, index(b)?);
    let missing = |records: &[ParameterRecord], other: &HashMap<String, usize>| -> Vec<String> {
        records.iter().filter(|r| !other.contains_key(&r.name)).map(|r| r.name.clone()).collect()
    };
    let only = [missing(&a.file.parameters, &in_b), missing(&b.file.parameters, &in_a)];
    let mut both = Vec::new();
    let mut changes = Vec::new();
    for new in &b.file.parameters {
        let Some(old) = in_a.get(&new.name).map(|&i| &a.file.parameters[i]) else { continue };
        let error = |record: &ParameterRecord, phase: usize| {
            record.errors.and_then(|errors| if phase == 0 { errors.mg } else { errors.eg })
        };
        let of_phase = |phase: usize| {
            let (suffix, values) = match phase {
                0 => ("mg", [old.mg, new.mg]),
                _ => ("eg", [old.eg, new.eg]),
            };
            let errors = [error(old, phase), error(new, phase)];
            Change { name: format!("{}.{suffix}", new.name), values, errors }
        };
        let of_both = [of_phase(0), of_phase(1)];
        both.push(Parameter {
            name: new.name.clone(),
            group: new.group.clone(),
            values: [new.mg, new.eg],
            reference: Some([old.mg, old.eg]),
            errors: [of_both[0].error(), of_both[1].error()],
            support: new.occurrences,
        });
        changes.extend(of_both);
    }
    if both.is_empty() {
        let text = format!("{} and {} have no parameter in common", a.name, b.name);
        return Err(Error::Usage(text));
    }
    let size = |change: &Change| match order {
        Order::Change => change.difference().abs(),
        Order::Errors => change.in_errors().map_or(-1.0, f64::abs),
    };
    changes.sort_by(|x, y| size(y).total_cmp(&size(x)).then_with(|| x.name.cmp(&y.name)));
    Ok(Found { sides, both, changes, only, losses: None })
}

impl Found {
    /// Root mean square of the changes, centipawns.
    pub fn rms(&self) -> f64 {
        let squares: f64 = self.changes.iter().map(|change| change.difference().powi(2)).sum();
        (squares / self.changes.len().max(1) as f64).sqrt()
    }

    /// The largest change, centipawns.
    pub fn most(&self) -> f64 {
        self.changes.iter().map(|change| change.difference().abs()).fold(0.0, f64::max)
    }

    /// Values that differ.
    pub fn changed(&self) -> usize {
        self.changes.iter().filter(|change| change.difference() != 0.0).count()
    }

    /// Values with errors on both sides, and those of them that differ by more than two.
    pub fn beyond(&self) -> (usize, usize) {
        let known = || self.changes.iter().filter_map(Change::in_errors);
        (known().count(), known().filter(|z| z.abs() > 2.0).count())
    }
}

/// The page.
fn page(found: &Found, top: usize) -> Comparison {
    let row = |change: &Change| {
        let error = |error: Option<f64>| error.map_or("–".to_string(), |error| format!("±{error:.1}"));
        vec![
            change.name.clone(),
            format!("{:.1}", change.values[0]),
            error(change.errors[0]),
            format!("{:.1}", change.values[1]),
            error(change.errors[1]),
            format!("{:+.1}", change.difference()),
            change.in_errors().map_or("–".to_string(), |z| format!("{z:+.1}")),
        ]
    };
    let [a, b] = [0, 1].map(|side| found.sides[side].name.clone());
    let header = ["parameter", "A", "±", "B", "±", "change", "change / SE"];
    let (known, beyond) = found.beyond();
    let mut facts = vec![
        ("A".to_string(), a.clone()),
        ("B".to_string(), b.clone()),
        (
            "values of both".to_string(),
            format!("{}, {} differ", grouped(found.changes.len() as u64), grouped(found.changed() as u64)),
        ),
        ("change".to_string(), format!("{:.1} cp (RMS), at most {:.1}", found.rms(), found.most())),
    ];
    if known > 0 {
        facts.push((
            "beyond two standard errors".to_string(),
            format!("{} of {}", grouped(beyond as u64), grouped(known as u64)),
        ));
    }
    if let Some(losses) = &found.losses {
        facts.extend(losses.difference_in_words().map(|text| ("loss(B) - loss(A)".to_string(), text)));
    }
    Comparison {
        names: [a, b],
        facts,
        losses: found.losses.as_ref().map(Losses::table),
        parameters: found.both.clone(),
        largest: Table {
            caption: format!("The {} largest changes, centipawns", top.min(found.changes.len())),
            header: header.map(str::to_string).to_vec(),
            rows: found.changes.iter().take(top).map(row).collect(),
        },
        only: found.only.clone(),
        errors_note: if known > 0 { ERRORS.to_string() } else { String::new() },
    }
}

/// What is to be known about errors of differences.
pub const ERRORS: &str = "Errors of differences treat A and B as independent; when both were tuned on the same games \
                          they are not, and the differences are more precise than that.";
