//! `sweep --scale`: the loss as a function of K.

use std::path::{Path, PathBuf};

use gputexel::dataset::{self, Layout};
use gputexel::model::Prior;
use gputexel::objective::LossKind;
use gputexel::report::{Curve, Spacing};
use gputexel::tuning::{MinimumAt, ScaleCurve, Values, scale_curve};
use gputexel::{Error, write_atomically};
use serde_json::json;

use super::super::table::grouped;
use super::super::targets::{check_apart, check_target};
use super::super::tune::scale_forms;
use super::super::{Context, say};
use super::output::write_csv;
use super::{MANY, SweepArgs, base_factor};

/// Runs `sweep --scale`.
///
/// # Errors
/// Bad usage, files that cannot be read or written, devices that fail.
pub fn run(args: &SweepArgs, values: &str, context: &Context) -> anyhow::Result<()> {
    let fresh = &args.fresh;
    let needless = [
        ("--folds", fresh.folds.is_some()),
        ("--seed", fresh.seed.is_some()),
        ("--judge", fresh.judge.is_some()),
        ("--blend-k", fresh.blend_k.is_some()),
        ("--optimizer", fresh.optimizer.is_some()),
        ("--schedule", fresh.schedule.is_some()),
        ("--epochs", fresh.epochs.is_some()),
        ("--basis and --freeze", args.basis.is_given()),
        ("a fixed K", args.k.k()?.is_some()),
    ];
    if let Some((flag, _)) = needless.iter().find(|(_, given)| *given) {
        return Err(
            Error::Usage(format!("--scale only varies K and does not train: {flag} needs --grid")).into()
        );
    }
    let typed = values;
    let values: Values = typed.parse().map_err(|e| Error::Usage(format!("--scale {e}")))?;
    if let (true, [first, .., last]) = (typed.contains(':'), &values.numbers[..])
        && first > last
    {
        let why = format!(
            "--scale '{typed}': the range goes down from {first} to {last}; give the lower end first"
        );
        return Err(Error::Usage(why).into());
    }
    let factor = base_factor(&fresh.k_base)?;
    if let Some(k) = values.numbers.iter().find(|k| **k <= 0.0) {
        return Err(Error::Usage(format!("--scale: K {k}: must be a positive number")).into());
    }
    if values.numbers.len() > MANY && !fresh.yes {
        let count = grouped(values.numbers.len() as u64);
        return Err(Error::Usage(format!("--scale: {count} values of K; confirm with --yes")).into());
    }
    check_target(args.csv.as_deref(), args.force)?;
    check_target(args.svg.as_deref(), args.force)?;
    let inputs: Vec<&Path> = args.datasets.iter().map(PathBuf::as_path).collect();
    check_apart(&[args.csv.as_deref(), args.svg.as_deref()], &inputs)?;
    let loss: LossKind = fresh.loss.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let prior: Option<Prior> = fresh.prior.as_deref().map(str::parse).transpose()?;
    let backend = args.backend.open()?;

    let data = dataset::read_many(&args.datasets)?;
    if data.is_empty() {
        return Err(Error::input(&args.datasets[0], "contains no positions").into());
    }
    let prior = prior.unwrap_or_else(|| Prior::default_for(&data.metadata().feature_set));
    let theta = prior.theta(&data.metadata().feature_set)?;
    let layout = Layout::whole(&data)?;
    let (mut evaluator, line) = backend.evaluator(&layout)?;
    let ks: Vec<f64> = values.numbers.iter().map(|k| k * factor).collect();
    let curve = scale_curve(&mut *evaluator, &layout, &data, &theta, &ks, loss)?;

    let picture = picture(&curve, loss, &fresh.k_base, factor, values.logarithmic);
    if let Some(path) = &args.svg {
        write_atomically(path, picture.to_svg()?.as_bytes())?;
    }
    if let Some(path) = &args.csv {
        let rows = curve.points.iter().map(|(k, loss)| {
            vec![k.to_string(), (k * std::f64::consts::LN_10).to_string(), loss.to_string()]
        });
        let header = ["k", "k_e", "loss"].map(str::to_string).to_vec();
        write_csv(path, std::iter::once(header).chain(rows))?;
    }
    if context.json {
        let point = |(k, loss): (f64, f64)| json!({ "k": k, "loss": loss });
        let object = json!({
            "points": curve.points.iter().copied().map(point).collect::<Vec<_>>(),
            "minimum": point((curve.minimum.k, curve.minimum.loss)),
            "minimum_at": curve.at,
            "positions": data.len(),
            "loss_kind": loss.to_string(),
            "prior": prior.to_string(),
        });
        return Ok(say(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    let end = match curve.at {
        MinimumAt::Inside => "",
        MinimumAt::LowerEnd => {
            "warning     the minimum is at the lower end of the range; the true one may be lower\n"
        }
        MinimumAt::UpperEnd => {
            "warning     the minimum is at the upper end of the range; the true one may be higher\n"
        }
    };
    Ok(say(&format!(
        "dataset     {} positions\nbackend     {line}\nprior       {prior}\n\n{}\n\
         {} values of K (base {}), {loss} loss; the dotted line marks the minimum\n\
         minimum     {:.10}\nK           {}\n{end}",
        grouped(data.len() as u64),
        picture.to_terminal(),
        grouped(curve.points.len() as u64),
        fresh.k_base,
        curve.minimum.loss,
        scale_forms(curve.minimum.k),
    ))?)
}

/// The curve in the form of K that was asked for.
fn picture(curve: &ScaleCurve, loss: LossKind, base: &str, factor: f64, logarithmic: bool) -> Curve {
    Curve {
        title: format!("Loss as a function of K (base {base})"),
        x_name: format!("K (base {base})"),
        y_name: format!("{loss} loss"),
        points: curve.points.iter().map(|&(k, loss)| (k / factor, loss)).collect(),
        errors: Vec::new(),
        mark: (curve.minimum.k / factor, curve.minimum.loss),
        spacing: if logarithmic { Spacing::Logarithmic } else { Spacing::Linear },
    }
}
