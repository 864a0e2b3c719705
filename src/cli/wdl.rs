//! `gputexel wdl`: fits the win/draw/loss model of an engine to games with scores.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::{Path, PathBuf};

use gputexel::wdl::{ConstantsFormat, ScoreUnit, Variable, WdlReport, WdlRequest};
use gputexel::{Error, Result};
use serde_json::json;

use super::context::Context;
use super::output::print_result;
use super::reading::parse_view;
use super::reading_progress::with_progress;
use super::settings::parsed;
use super::subcommand::Subcommand;
use super::table::{aligned, counted, grouped};

/// Flags of `wdl`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
W(x) = 1 / (1 + e^((a - x) / b)), L(x) = W(-x), D = 1 - W - L, with a and b cubic in material or moves, as in \
Stockfish. docs/wdl.md explains the constants and how to use them.\n\n\
Examples:\n  \
gputexel wdl games.pgn.zst --out wdl\n  \
gputexel wdl games.pgn --by move --normalized-by 356\n  \
gputexel wdl games.pgn --to rust"
)]
pub struct WdlArgs {
    /// Games with scores in their comments, or labeled positions with scores
    #[arg(required = true, value_name = "GAMES")]
    inputs: Vec<PathBuf>,
    /// Variable that a and b depend on: material (1, 3, 3, 5, 9 for both sides), move or ply [default: material]
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    /// Lowest and highest material, move or ply to use [default: 17:78, 1:120 or 0:240]
    #[arg(long, value_name = "LOW:HIGH")]
    range: Option<String>,
    /// Material, move or ply at which a is the value of a pawn [default: 58, 32 or 64]
    #[arg(long, value_name = "N")]
    target: Option<u16>,
    /// Degree of the polynomials, 0 to 3 [default: 3]
    #[arg(long, value_name = "N")]
    degree: Option<usize>,
    /// Largest score to use, in printed centipawns [default: 400]
    #[arg(long, value_name = "CP")]
    max_score: Option<f64>,
    /// Normalization of the engine's printed scores: its NormalizeToPawnValue, or the file of its constants
    /// (wdl.json); the constants are then in its own units
    #[arg(long, value_name = "N|FILE")]
    normalized_by: Option<String>,
    /// Game terminations to accept: normal (no time forfeits or crashes) or any [default: normal]
    #[arg(long, value_name = "HOW")]
    termination: Option<String>,
    /// Leave out positions after this ply of the game, counting moves before a FEN tag
    #[arg(long, value_name = "PLY")]
    max_ply: Option<u32>,
    /// Point of view of scores: white, stm (the side to move; after a move, the side that moved) or auto
    #[arg(long, value_name = "VIEW", default_value = "auto")]
    score_pov: String,
    /// Print only the constants, as cpp, rust, uci or json
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Write a page with pictures, and the constants in all formats, to this folder
    #[arg(short, long, value_name = "DIR", value_parser = super::target::file())]
    out: Option<PathBuf>,
    /// Overwrite files in the folder
    #[arg(long, requires = "out")]
    force: bool,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl WdlArgs {
    fn request(&self) -> Result<WdlRequest> {
        let default = WdlRequest::default();
        let unit = self.normalized_by.as_deref().map(ScoreUnit::read).transpose()?;
        Ok(WdlRequest {
            inputs: self.inputs.clone(),
            by: parsed::<Variable>(&self.by)?.unwrap_or_default(),
            range: self.range()?,
            target: self.target,
            degree: self.degree.unwrap_or(default.degree),
            max_score_cp: self.max_score.unwrap_or(default.max_score_cp),
            unit: unit.unwrap_or_default(),
            termination: parsed(&self.termination)?.unwrap_or(default.termination),
            max_ply: self.max_ply,
            score_view: parse_view(&self.score_pov)?,
            threads: self.threads,
        })
    }

    fn range(&self) -> Result<Option<(u16, u16)>> {
        let Some(text) = &self.range else { return Ok(None) };
        let ends = text.split_once(':').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
        match ends {
            Some(ends) => Ok(Some(ends)),
            None => Err(Error::Usage(format!("--range {text}: expected LOW:HIGH, for example 17:78"))),
        }
    }
}

impl Subcommand for WdlArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let format = parsed::<ConstantsFormat>(&self.to)?;
        let request = self.request()?;
        if let Some(folder) = &self.out {
            WdlReport::check_folder(folder, self.force)?;
        }
        let report = with_progress(context, |hooks| request.run(hooks))?;
        if !context.quiet && !context.json {
            for source in &report.reading.sources {
                for warning in &source.warnings {
                    let line = format!("gputexel: warning: {}: {warning}", source.record.path);
                    note!("{}", gputexel::io::printable(&line));
                }
            }
        }
        let written = match &self.out {
            Some(folder) => Some((folder.as_path(), report.write_to(folder, self.force)?)),
            None => None,
        };
        if let Some(format) = format {
            let text = report.constants().text(format);
            return Ok(super::output::write_stdout(&match context.json {
                true => format!("{}\n", json!({ "format": format.name(), "text": text })),
                false => text,
            })?);
        }
        let model = &report.fit.model;
        let object = json!({
            "pawn_value": model.pawn_value(), "draw_rate": model.draw_rate(), "report": report,
            "folder": self.out,
        });
        print_result(context, &object, || describe(&report, written.as_ref()))
    }
}

fn describe(report: &WdlReport, written: Option<&(&Path, Vec<&str>)>) -> String {
    let (fit, reading) = (&report.fit, &report.reading);
    let (model, errors) = (&fit.model, &fit.errors);
    let (by, target) = (model.by, model.target);
    let mut out = String::new();
    let [wins, draws, losses] = reading.counted.map(grouped);
    let _ = writeln!(
        out,
        "positions   {} of {}: won {wins}, drawn {draws}, lost {losses} by the side to move",
        grouped(reading.counted.iter().sum()),
        counted(reading.games, "game")
    );
    for (count, what) in [
        (reading.outside_range, "outside the range of material or moves"),
        (reading.large_score, "with a larger score or a mate"),
        (reading.other_result, "with another result than win, draw or loss"),
    ] {
        if count > 0 {
            let _ = writeln!(out, "left out    {} {what}", grouped(count));
        }
    }
    let _ = writeln!(out, "fitted by   maximum likelihood: {:.6} per position", fit.mean_log_likelihood);
    let independent = match fit.by_game {
        true if reading.games == reading.counted.iter().sum::<u64>() => {
            "positions counted as independent: games are unknown, so true errors may be several times as large"
                .to_string()
        }
        true if reading.games_for_errors < reading.games => {
            format!("games counted as independent, from a sample of {}", grouped(reading.games_for_errors))
        }
        true => "games counted as independent".to_string(),
        false => {
            "positions counted as independent, although they are not: too few games are known".to_string()
        }
    };
    let _ = writeln!(out, "errors      {independent}");
    let _ = writeln!(out);
    let mut rows = vec![["power", "a", "±", "b", "±"].map(String::from).to_vec()];
    for (power, (a, b)) in model.a.iter().zip(&model.b).enumerate() {
        let (error_a, error_b) = (format!("{:.2}", errors.a[power]), format!("{:.2}", errors.b[power]));
        rows.push(vec![power.to_string(), format!("{a:.2}"), error_a, format!("{b:.2}"), error_b]);
    }
    out += &aligned(&rows, 0);
    let _ = writeln!(out);
    let (a, b) = model.curves(f64::from(target));
    let _ = writeln!(out, "at {by} {target}, in the engine's units:");
    let _ = writeln!(out, "  a = {a:.1} ± {:.1}: this score wins half of the games", errors.a_target);
    let _ = writeln!(out, "  b = {b:.1} ± {:.1}", errors.b_target);
    let (rate, error) = (100.0 * model.draw_rate(), 100.0 * errors.draw_rate);
    let _ = writeln!(out, "  {rate:.1} ± {error:.1} % of even positions are drawn");
    let per_pawn = 100.0 * a / report.units_per_pawn;
    let _ = writeln!(out, "  a is {per_pawn:.0} of the centipawns that were printed");
    let _ = writeln!(out);
    out += &calibration(report);
    let _ = writeln!(out);
    out += &report.constants().text(ConstantsFormat::Cpp);
    if let Some((folder, files)) = written {
        let _ = writeln!(out, "\nwritten     {}: {}", folder.display(), files.join(", "));
    }
    out
}

/// Formats observed shares next to those of the model.
fn calibration(report: &WdlReport) -> String {
    let titles = ["score / a", "positions", "wins", "model", "draws", "model", "losses", "model"];
    let mut rows = vec![titles.map(String::from).to_vec()];
    for row in &report.calibration {
        let mut cells = vec![row.interval(), grouped(row.positions)];
        for i in 0..3 {
            cells.extend([row.observed[i], row.model[i]].map(|share| format!("{:.1} %", 100.0 * share)));
        }
        rows.push(cells);
    }
    aligned(&rows, 0)
}
