//! `sweep --grid`: creates a sweep from flags, and runs it to the end.

use std::cell::Cell;

use gputexel::dataset;
use gputexel::io::{check_outputs, write_atomically};
use gputexel::run::PriorStrength;
use gputexel::sweep::{SweepResults, SweepSettings};
use gputexel::tuning::sweep::{MakeEvaluator, SweepMethod};
use gputexel::{Error, Result};

use super::super::context::Context;
use super::super::output::print_text;
use super::super::settings::parsed;
use super::SweepArgs;
use super::output;
use super::progress::Observer;

pub fn run(args: &SweepArgs, context: &Context) -> anyhow::Result<()> {
    // All checks come before anything is computed.
    check_outputs(&[args.csv.as_deref(), args.best.as_deref()], &args.datasets, args.force)?;
    let settings = settings(args)?;
    let backend = args.backend.open()?;
    let data = dataset::read_positions(&args.datasets)?.with_sections(args.sections)?;
    let config = settings.config(&data)?;
    let talks = !context.quiet && !context.json;
    let announce = Cell::new(talks);
    let make_evaluator: &MakeEvaluator<'_> = &|layout| {
        let (evaluator, line) = backend.evaluator(layout)?;
        if announce.take() {
            print_text(&format!("backend     {line}\n"))?;
        }
        Ok(evaluator)
    };
    if talks {
        output::print_opening(&config, &data)?;
    }
    let mut observer = Observer::new(context, matches!(config.method, SweepMethod::GaussNewton { .. }));
    let results = SweepResults::train(config, &data, make_evaluator, context.cancel, &mut |event| {
        observer.observe(event);
        Ok(())
    });
    observer.finish();
    let results = results?;
    args.csv.as_deref().map_or(Ok(()), |path| results.write_csv(path))?;
    let best = match &args.best {
        None => None,
        Some(path) => results.train_best(make_evaluator, context.cancel)?.map(|best| (&**path, best)),
    };
    if let Some((path, best)) = &best {
        write_atomically(path, best.file.to_json().as_bytes())?;
    }
    output::print_results(context, &results, best.as_ref().map(|(path, best)| (*path, best)))?;
    if let Some(progress) = results.unfinished() {
        return Err(Error::Interrupted(format!("after {progress} of all runs")).into());
    }
    match results.best() {
        Some(_) => Ok(()),
        None => Err(Error::Numeric("the losses of all runs are no longer finite".to_string()).into()),
    }
}

fn settings(args: &SweepArgs) -> Result<SweepSettings> {
    let (basis, frozen) = args.basis.names();
    let default = SweepSettings::default();
    let strength = args.prior_strength.as_deref().map(PriorStrength::read).transpose()?;
    let settings = SweepSettings {
        axes: args.grid.clone(),
        prior: parsed(&args.prior)?,
        basis: basis.map(str::to_string),
        freeze: frozen.to_vec(),
        constraints: args.basis.constraints(),
        penalties: match &strength {
            Some(strength) => strength.weights()?.map(str::to_string),
            None => None,
        },
        loss: parsed(&args.loss)?,
        k: args.k.k()?,
        blend_k: args.blend_k,
        folds: args.folds.unwrap_or(default.folds),
        seed: args.seed.unwrap_or(default.seed),
        method: method(args)?,
        epochs: args.epochs,
    };
    for (name, given, flag) in [
        ("seed", args.seed.is_some(), "--seed"),
        ("loss", settings.loss.is_some(), "--loss"),
        ("k", settings.k.is_some(), "a fixed K"),
    ] {
        if given && settings.varies(name) {
            return Err(Error::Usage(format!("{flag} and --grid {name}: give only one of them")));
        }
    }
    if args.blend_k.is_some() && !settings.varies("blend") {
        return Err(Error::Usage("--blend-k: needs --grid blend, for example blend=0:1:3".to_string()));
    }
    Ok(settings)
}

fn method(args: &SweepArgs) -> Result<SweepMethod> {
    match args.optimizer.as_deref().unwrap_or("adam") {
        "adam" => Ok(SweepMethod::Adam { schedule: parsed(&args.schedule)?.unwrap_or_default() }),
        "gauss-newton" if args.schedule.is_some() => {
            Err(Error::Usage("--schedule only applies to adam".to_string()))
        }
        "gauss-newton" => Ok(SweepMethod::GaussNewton { improvement: 1e-8 }),
        other => Err(Error::Usage(format!("optimizer '{other}': expected adam or gauss-newton"))),
    }
}
