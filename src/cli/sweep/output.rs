use gputexel::Result;
use gputexel::sweep::{StartedSweep, SweepEnd, SweepResults};
use gputexel::tuning::sweep::{Ranked, Ranking, SweepConfig, SweepMethod};

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::scale::scale_forms;
use super::super::table::{aligned, counted, grouped};

pub fn print_opening(sweep: &StartedSweep) -> Result<()> {
    let (config, data) = (sweep.config(), &sweep.data);
    let mut out = String::new();
    let what = match data.has_games() {
        true => counted(data.metadata().games, "game"),
        false => "no games: folds by position".to_string(),
    };
    out += &format!(
        "dataset     {}, {what}, {} ({})\n",
        counted(data.len() as u64, "position"),
        counted(config.start.len() as u64, "parameter"),
        data.metadata().feature_set.name()
    );
    if let Some(basis) = &config.basis {
        out += &format!("basis       {}, {}\n", basis.name, counted(basis.dimension() as u64, "coordinate"));
    }
    let repeated = match config.seeds.len() {
        1 => String::new(),
        seeds => format!(", repeated {seeds} times"),
    };
    out += &format!(
        "runs        {}: {} on {} folds{repeated}; {}, {}{}\n",
        grouped(config.runs() as u64),
        counted(config.grid.len() as u64, "setting"),
        config.folds,
        config.method.name(),
        if matches!(config.method, SweepMethod::GaussNewton { .. }) { "at most " } else { "" },
        counted(config.epochs, "epoch")
    );
    for (loss, k) in &config.k {
        let of = if config.k.len() > 1 { format!(" ({loss})") } else { String::new() };
        out += &format!("K           {}{of}\n", scale_forms(*k));
    }
    if let Some(k) = config.blend_k {
        out += &format!("blend K     {}\n", scale_forms(k));
    }
    out += &if let Some(folder) = &sweep.folder {
        let how = if sweep.resumed { " (resumed)" } else { "" };
        format!("folder      {}{how}\n", folder.path().display())
    } else {
        "folder      none, nothing is kept: --out DIR keeps state, results and a report\n".to_string()
    };
    print_text(&out)
}

fn table_of_settings(config: &SweepConfig, ranking: &Ranking, top: usize) -> String {
    // The runs' own losses say more than the ones used for ranking.
    let own = config.blend_k.is_some() || config.grid.losses(config.loss) != [config.judge];
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

pub fn print_results(context: &Context, top: usize, end: &SweepEnd<'_>) -> Result<()> {
    if context.json {
        return write_stdout(&format!("{}\n", end.to_json()));
    }
    let SweepResults { config, outcome, ranking, .. } = &end.results;
    let interrupted = end.results.is_interrupted();
    if context.quiet {
        return Ok(());
    }
    let mut out = String::new();
    let (done, planned) = (grouped(outcome.epochs), grouped(outcome.planned));
    out += &match interrupted {
        true => format!("interrupted after {done} of {planned} epochs of all runs: not final\n"),
        false => format!(
            "finished    {} of all runs in {:.2} s\n",
            counted(outcome.epochs, "epoch"),
            outcome.seconds
        ),
    };
    if outcome.together > 0 && outcome.together < config.runs() / config.seeds.len() {
        out += &format!("population  {} at a time\n", counted(outcome.together as u64, "run"));
    }
    out += &format!(
        "judged by   {} loss on held-out positions against their results, with the K of each run\n\n",
        config.judge
    );
    if !ranking.ranked.is_empty() {
        if interrupted {
            out += &format!("so far, not final (interrupted after {done} of {planned} epochs):\n");
        }
        out += &table_of_settings(config, ranking, top);
    }
    if ranking.ranked.len() > top {
        out += &format!("and {} more\n", grouped((ranking.ranked.len() - top) as u64));
    }
    if ranking.incomplete > 0 {
        let have = if ranking.incomplete == 1 { "setting has" } else { "settings have" };
        out += &format!("{} {have} not been run on all folds\n", grouped(ranking.incomplete as u64));
    }
    let tied = ranking.ranked.iter().filter(|ranked| ranked.tied).count();
    if tied > 0 {
        let (settings, they_differ) = match tied {
            1 => ("setting", "it differs"),
            _ => ("settings", "they differ"),
        };
        out += &format!(
            "= {} {settings} statistically tied with the best: {they_differ} from it, fold by fold, by less than\n  \
             two standard errors\n",
            grouped(tied as u64)
        );
    }
    if let Some((path, best)) = &end.best {
        out += &format!(
            "written     {}: the best settings trained on all positions, loss {:.10}\n",
            path.display(),
            best.loss
        );
    }
    print_text(&out)
}
