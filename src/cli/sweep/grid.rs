//! `sweep --grid`: creates a sweep from flags or its folder, and runs it to the end.

use std::cell::Cell;
use std::path::Path;

use gputexel::dataset::{self, Dataset};
use gputexel::run::PriorStrength;
use gputexel::sweep::{StartedSweep, SweepFiles, SweepSettings};
use gputexel::tuning::sweep::{MakeEvaluator, SweepConfig, SweepMethod};
use gputexel::{Error, Result};

use super::super::backend::{Backend, program};
use super::super::context::Context;
use super::super::output::print_text;
use super::super::runs::checkpoint_every;
use super::super::settings::parsed;
use super::super::table::grouped;
use super::progress::Observer;
use super::{MANY, NewSweepArgs, SweepArgs, output};

pub fn start(args: &SweepArgs, context: &Context) -> anyhow::Result<()> {
    // All checks come before anything is written.
    let files = files(args, context)?;
    files.check(&args.datasets)?;
    let backend = args.backend.open()?;
    let mut data = dataset::read_positions(&args.datasets)?.with_sections(args.fresh.sections)?;
    data.unite_games(&data.repeated_games());
    let config = configure(args, &data)?;
    carry_out(&files.begin(config, data)?, args, context, &backend)
}

pub fn resume(args: &SweepArgs, path: &Path, context: &Context) -> anyhow::Result<()> {
    let files = files(args, context)?;
    let backend = args.backend.open()?;
    carry_out(&files.resume(path)?, args, context, &backend)
}

fn files(args: &SweepArgs, context: &Context) -> Result<SweepFiles> {
    let checkpoint_every = checkpoint_every(args.checkpoint_every)?;
    if args.top == 0 {
        return Err(Error::Usage("--top 0: must be at least 1".to_string()));
    }
    Ok(SweepFiles {
        folder: args.out.clone(),
        best: args.best.clone(),
        csv: args.csv.clone(),
        overwrite: args.force,
        command_line: context.command_line.clone(),
        checkpoint_every,
    })
}

fn configure(args: &SweepArgs, data: &Dataset) -> Result<SweepConfig> {
    let fresh = &args.fresh;
    let usage = |text: &str| Err(Error::Usage(text.to_string()));
    let (basis, frozen) = args.basis.names();
    let default = SweepSettings::default();
    let strength = fresh.prior_strength.as_deref().map(PriorStrength::read).transpose()?;
    let settings = SweepSettings {
        datasets: args.datasets.clone(),
        axes: fresh.grid.clone(),
        prior: parsed(&fresh.prior)?,
        basis: basis.map(str::to_string),
        freeze: frozen.to_vec(),
        constraints: args.basis.constraints(),
        penalties: match &strength {
            Some(strength) => strength.weights()?.map(str::to_string),
            None => None,
        },
        loss: parsed(&fresh.loss)?,
        judge: parsed(&fresh.judge)?,
        k: args.k.k()?,
        k_base: fresh.k_base.parse()?,
        blend_k: fresh.blend_k,
        folds: fresh.folds.unwrap_or(default.folds),
        seed: fresh.seed.unwrap_or(default.seed),
        method: method(fresh)?,
        epochs: fresh.epochs,
    };
    for (name, given, flag) in [
        ("seed", fresh.seed.is_some(), "--seed"),
        ("loss", settings.loss.is_some(), "--loss"),
        ("k", settings.k.is_some(), "a fixed K"),
    ] {
        if given && settings.varies(name) {
            return usage(&format!("{flag} and --grid {name}: give only one of them"));
        }
    }
    let unscaled = settings.without_scales(data)?;
    let runs = unscaled.runs();
    if runs > MANY && !fresh.yes {
        return usage(&format!("{} runs; confirm with --yes", grouped(runs as u64)));
    }
    if fresh.blend_k.is_some() && !unscaled.blends() {
        return usage("--blend-k: needs --grid blend, for example blend=0:1:3");
    }
    settings.config(data)
}

fn method(fresh: &NewSweepArgs) -> Result<SweepMethod> {
    match fresh.optimizer.as_deref().unwrap_or("adam") {
        "adam" => Ok(SweepMethod::Adam { schedule: parsed(&fresh.schedule)?.unwrap_or_default() }),
        "gauss-newton" if fresh.schedule.is_some() => {
            Err(Error::Usage("--schedule only applies to adam".to_string()))
        }
        "gauss-newton" => Ok(SweepMethod::GaussNewton { improvement: 1e-8 }),
        other => Err(Error::Usage(format!("optimizer '{other}': expected adam or gauss-newton"))),
    }
}

fn carry_out(
    sweep: &StartedSweep,
    args: &SweepArgs,
    context: &Context,
    backend: &Backend,
) -> anyhow::Result<()> {
    let (config, folder) = (sweep.config(), sweep.folder.as_ref());
    sweep.warnings().iter().for_each(|warning| note!("gputexel: warning: {warning}"));
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
        output::print_opening(sweep)?;
    }
    let mut observer = Observer::new(context, matches!(config.method, SweepMethod::GaussNewton { .. }));
    let end = sweep.carry_out(make_evaluator, context.cancel, &mut |event| {
        observer.observe(event);
        Ok(())
    });
    observer.finish();
    let end = end?;
    if let Err(error) = &end.report {
        alert!("gputexel: warning: no report: {error}");
    }
    let unfinished = end.results.unfinished();
    output::print_results(context, args.top, &end)?;
    let how = match folder {
        Some(folder) => format!("resume with '{} sweep --resume {}'", program(), folder.path().display()),
        None => "use --out to be able to resume".to_string(),
    };
    end.finish().map_err(|error| match error {
        Error::Interrupted(when) if unfinished.is_some() => Error::Interrupted(format!("{when}; {how}")),
        error => error,
    })?;
    if talks {
        print_text(&args.written())?;
    }
    Ok(())
}
