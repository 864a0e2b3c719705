//! `sweep --scale`: computes the loss as a function of K.

use std::cell::RefCell;

use gputexel::io::check_output;
use gputexel::sweep::{ScaleSweep, ScaleSweepResults};
use gputexel::tuning::{MinimumAt, Values};
use gputexel::{Error, dataset};

use super::super::context::Context;
use super::super::output::print_result;
use super::super::scale::scale_forms;
use super::super::settings::parsed;
use super::super::table::{counted, grouped};
use super::{MANY, SweepArgs};

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
        ("--basis, --freeze or a constraint", args.basis.is_given()),
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
    let sweep = ScaleSweep {
        values,
        base: fresh.k_base.parse()?,
        loss: parsed(&fresh.loss)?.unwrap_or_default(),
        prior: parsed(&fresh.prior)?,
    };
    sweep.validate()?;
    let count = sweep.values.numbers.len();
    if count > MANY && !fresh.yes {
        let count = grouped(count as u64);
        return Err(Error::Usage(format!("--scale: {count} values of K; confirm with --yes")).into());
    }
    check_output(args.csv.as_deref(), &args.datasets, args.force)?;
    let backend = args.backend.open()?;
    let data = dataset::read_positions(&args.datasets)?.with_sections(fresh.sections)?;
    let line = RefCell::default();
    let results = sweep.run(&data, &|layout| {
        let (evaluator, told) = backend.evaluator(layout)?;
        line.replace(told);
        Ok(evaluator)
    })?;
    args.csv.as_deref().map_or(Ok(()), |path| results.write_csv(path))?;
    print_result(context, &results.summary(), || describe(&results, &line.into_inner()) + &args.written())
}

fn describe(results: &ScaleSweepResults, line: &str) -> String {
    let ScaleSweepResults { curve, loss, prior, base, .. } = results;
    let end = match curve.at {
        MinimumAt::Inside => "",
        MinimumAt::LowerEnd => {
            "warning     the minimum is at the lower end of the range; the true one may be lower\n"
        }
        MinimumAt::UpperEnd => {
            "warning     the minimum is at the upper end of the range; the true one may be higher\n"
        }
    };
    format!(
        "dataset     {}\nbackend     {line}\nprior       {prior}\n\n\
         {} of K (base {base}), {loss} loss\n\
         minimum     {:.10}\nK           {}\n{end}",
        counted(results.positions, "position"),
        counted(curve.points.len() as u64, "value"),
        curve.minimum.loss,
        scale_forms(curve.minimum.k),
    )
}
