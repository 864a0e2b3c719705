//! `gputexel verify`: checks whether an engine uses the tuned values.

mod probed;

use std::path::PathBuf;

use gputexel::Error;
use gputexel::checking::verification::{
    ChangedRows, EvaluationKind, StartValues, Verdict, Verification, VerificationRequest,
};
use gputexel::checking::{Cause, Explanation};
use gputexel::model::ValueChange;
use gputexel::run::{are_datasets, datasets_of};
use gputexel::tables::sources::start_of;

use super::check::{explained, outliers, rounding, unusable};
use super::context::Context;
use super::output::print_result;
use super::reading_progress::with_progress;
use super::subcommand::{Subcommand, short_help};
use super::table::{counted, grouped, some_of};
use super::trace_command::TraceCommandArgs;
use probed::{EngineArgs, Probed};

const UNSEEN: usize = 6;
/// Share of the differences that a change must explain to be named as one of several reasons.
const CLAIMED: f64 = 0.5;
/// Differences up to this many centipawns may be those of roundings.
const ROUNDINGS_CP: f64 = 3.0;

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&["params", "schema", "before", "trace-command", "as-built", "set"])),
    after_help = "\
Write the tuned values back, compile the engine, let it trace the same positions again, and compare: the column \
`eval`, the engine's own evaluation, must equal the one computed from its coefficients and the tuned values, rounded to whole \
numbers if that is closer. If it is not, tables and values that seem to differ are named. The exit code is 0 only if \
the engine evaluates with the tuned values.

  engine trace < quiet.fens | gputexel verify - --schema schema.json --params runs/first
  gputexel verify quiet.fens --trace-command 'engine trace' --schema schema.json --params runs/first

For parameters of gputexel's own features (pst, classical ...) the engine need not trace: lines 'FEN | EVALUATION | RESULT', \
in centipawns from White's view, or positions in any format with scores, suffice.

An engine whose values were tuned by 'probe' and 'tune' is asked itself: it gets the tuned values as options (not with \
--as-built), and its evaluations are compared with those that are predicted:

  gputexel verify ./engine --params runs/probed\n\n\
Examples:\n  \
gputexel verify after.svm --schema schema.json --params runs/first")]
pub struct VerifyArgs {
    /// Output of the engine with the tuned values: traces, datasets made from them, or positions with evaluations; -
    /// is standard input. With --trace-command, the positions to trace. The engine itself, a program or a quoted
    /// command line, if it was probed
    #[arg(required = true, value_name = "TRACE|ENGINE")]
    inputs: Vec<PathBuf>,
    /// Tuned values: a params.json or the folder of a run [default with --played: those of the trace]
    #[arg(long, value_name = "PARAMS|RUN", required_unless_present = "played")]
    params: Option<PathBuf>,
    /// Schema that defines the indices of traces
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Values from before tuning [default: those the run started from, otherwise the priors of the schema]
    #[arg(long, value_name = "PARAMS|RUN")]
    start: Option<PathBuf>,
    /// Earlier datasets of the same positions, whose coefficients must not have changed [default: those of the run]
    #[arg(long, value_name = "DATASET")]
    before: Vec<PathBuf>,
    /// Difference between evaluations that is attributed to rounding, in centipawns
    #[arg(long, value_name = "CP", default_value_t = 1.0)]
    tolerance: f64,
    /// Stop if more than this share of a trace's lines is unusable
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, default_value_t = 0.1)]
    max_bad_share: f64,
    #[command(flatten)]
    tracing: TraceCommandArgs,
    /// Build of a program that traces itself that plays, compiled without -DGPUTEXEL (or the feature): its evaluations
    /// are compared in place of the recorded ones
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "trace_command",
        conflicts_with = "schema",
        help_heading = "Tracing"
    )]
    played: Option<String>,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Subcommand for VerifyArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let is_traced = self.schema.is_some() || self.tracing.command()?.is_some();
        if let Some(engine) = probed::engine_in(&self.inputs).filter(|_| !is_traced)
            && let Some(params) = &self.params
            && let Some(probed) = Probed::find(&engine, params, &self.before)?
        {
            if self.start.is_some() {
                return Err(Error::Usage("--start: that of a probe is in its dataset".to_string()).into());
            }
            return probed.verify(&engine, params, self, context);
        }
        if let Some(flag) = self.engine.given() {
            let reason = "is for an engine whose dataset was made by 'gputexel probe'";
            return Err(Error::Usage(format!("{flag} {reason}, and that of --params was not")).into());
        }
        self.compare(context)
    }
}

impl VerifyArgs {
    fn compare(&self, context: &Context) -> anyhow::Result<()> {
        let kind = match (&self.schema, self.tracing.command()?) {
            (schema, Some(command)) => {
                let played = self.played.as_deref().map(|text| self.tracing.try_new(text)).transpose()?;
                EvaluationKind::Traced { schema: schema.clone(), command, played }
            }
            (Some(schema), None) => EvaluationKind::Traces(schema.clone()),
            (None, None) if are_datasets(&self.inputs).map_err(|error| self.advised(error))? => {
                EvaluationKind::Datasets
            }
            (None, None) => EvaluationKind::Positions,
        };
        let start = match (&self.start, &self.params) {
            (Some(path), _) => StartValues::File(path.clone()),
            (None, Some(params)) => start_of(params)?.map_or(StartValues::Schema, StartValues::Theta),
            (None, None) => StartValues::Theta(Vec::new()),
        };
        let before = match &self.before[..] {
            // Computed features do not depend on the engine.
            [] if matches!(kind, EvaluationKind::Positions) => Vec::new(),
            [] => self.params.as_deref().map_or_else(Vec::new, datasets_of),
            given => given.to_vec(),
        };
        let request = VerificationRequest {
            inputs: self.inputs.clone(),
            kind,
            params: self.params.clone(),
            start,
            before,
            tolerance_cp: self.tolerance,
            max_bad_share: self.max_bad_share,
        };
        let found =
            with_progress(context, |hooks| request.run(hooks)).map_err(|error| self.advised(error))?;
        print_result(context, &found, || describe(&found, self))?;
        match failure(&found, self) {
            None => Ok(()),
            Some(reason) => Err(Error::input(&self.inputs[0], reason).into()),
        }
    }

    /// Adds what is missing if an input seems to be an engine.
    fn advised(&self, error: Error) -> Error {
        match self.schema {
            None => probed::advised(error, &self.inputs),
            Some(_) => error,
        }
    }
}

fn failure(found: &Verification, args: &VerifyArgs) -> Option<String> {
    let text = match &found.verdict {
        Verdict::Tuned => return None,
        Verdict::Unclear => {
            "rounding explains so much that other differences would not show: let 'one' of sigmoid, scale and share be large, \
             and divide last"
                .to_string()
        }
        Verdict::Start => {
            "the engine still evaluates with the values from before: write the tuned ones into its source, compile it, and \
             trace with what was compiled"
                .to_string()
        }
        Verdict::Indistinguishable => {
            "the tuned values and those from before give the same evaluations, so that nothing can be verified; is it the \
             right --params?"
                .to_string()
        }
        Verdict::OtherRows if found.rows.as_ref().is_some_and(ChangedRows::in_phase) => {
            "the engine's phase is no longer that of before: is it computed from values that were tuned, such as those of \
             pieces? Give it weights of its own, and tune again"
                .to_string()
        }
        Verdict::OtherRows => format!(
            "{} of {} positions have other coefficients than in {}: was the engine compiled with other options, or are these \
             other positions?",
            grouped(found.rows.as_ref().and_then(|rows| rows.changed).unwrap_or(0)),
            grouped(found.rows.as_ref().map_or(0, |rows| rows.positions[1])),
            match &args.before[..] {
                [] => "the run's dataset".to_string(),
                [first, ..] => first.display().to_string(),
            }
        ),
        Verdict::Other => {
            let explanation = found.explanation.as_ref();
            let is_most = |one: &&Cause| match args.played {
                Some(_) => 2 * one.agreeing >= explanation.map_or(0, |all| all.differing),
                None => one.reduction >= CLAIMED,
            };
            let most = explanation.and_then(|one| one.partial.first()).filter(is_most);
            let what = match (explanation.and_then(Explanation::cause), most) {
                (Some(cause), _) => cause,
                (None, Some(most)) => format!("{}, and there is more", most.text),
                _ if args.played.is_some() && found.largest_cp <= ROUNDINGS_CP => {
                    let largest = found.worst.first().map_or(ROUNDINGS_CP, |one| one.difference().abs().ceil());
                    format!("if these are quotients that are rounded one by one, --tolerance {largest} allows for them")
                }
                _ if args.played.is_some() => {
                    "does only one of the builds have some code (#ifdef GPUTEXEL), is a number not recorded, or a sum divided \
                     at another place? Compare the positions listed"
                        .to_string()
                }
                (None, None) => "compare the positions listed with the engine's evaluation".to_string(),
            };
            let rows = match found.rows.as_ref().and_then(|rows| rows.changed) {
                Some(changed @ 1..) => {
                    format!("; besides, {} have other coefficients than before", counted(changed, "position"))
                }
                _ => String::new(),
            };
            let unseen = match unseen_text(found) {
                Some(text) => format!("; {text}: does the engine use them?"),
                None => String::new(),
            };
            format!(
                "{} of {} evaluations are not those of the {}: {what}{rows}{unseen}",
                grouped(found.differing),
                grouped(found.compared),
                if args.params.is_some() { "tuned values" } else { "trace" },
            )
        }
    };
    Some(text)
}

fn describe(found: &Verification, args: &VerifyArgs) -> String {
    let mut text: String = found.sources.iter().flatten().map(unusable).collect();
    let values = if found.whole { ", rounded to whole numbers" } else { "" };
    let is_played = args.played.is_some();
    let exact = match is_played {
        true => "but for the rounding of integer divisions".to_string(),
        false => format!("to {} cp", found.tolerance_cp),
    };
    text += &format!(
        "evaluations {} of {} are those of {}{values}, {exact}; mean absolute difference {:.3} cp, largest {:.1}\n",
        grouped(found.compared - found.differing - if is_played { 0 } else { found.near_kinks }),
        grouped(found.compared),
        args.params.as_ref().map_or("the trace".into(), |params| params.display().to_string()),
        found.mean_size_cp,
        found.largest_cp
    );
    text += &rounding(found.near_kinks, found.rounded.as_ref(), &args.inputs, args.schema.is_some());
    if let Some(differing) = found.differing_from_start {
        text += &format!(
            "            {} are those of the values from before\n",
            grouped(found.compared - differing)
        );
    }
    text += &match &found.rows {
        None if found.sources.is_none() || args.params.is_none() => String::new(),
        None => "rows        not compared: no dataset from before is known (--before)\n".to_string(),
        Some(rows) => match rows.changed {
            None => format!(
                "rows        not compared: {} before, {} now\n",
                counted(rows.positions[0], "position"),
                grouped(rows.positions[1])
            ),
            Some(0) => "rows        the same coefficients as before\n".to_string(),
            Some(changed) => format!(
                "rows        {} of {} changed since before, the first one position {}\n",
                grouped(changed),
                grouped(rows.positions[1]),
                rows.first.map_or(0, |first| first + 1)
            ),
        },
    };
    if let Some(unseen) = unseen_text(found) {
        text += &format!("not shown   {unseen}\n");
    }
    match &found.verdict {
        Verdict::Tuned if args.params.is_none() => text += "verified    what is recorded is what is played\n",
        Verdict::Tuned => text += "verified    the engine now evaluates with the tuned values\n",
        Verdict::Other => {
            text += "\n";
            text += &explained(found.explanation.as_ref());
            let names = if args.params.is_some() { ["engine", "tuned"] } else { ["played", "recorded"] };
            text += &outliers(&found.worst, names, &args.inputs, args.schema.is_some());
        }
        Verdict::Unclear | Verdict::Start | Verdict::Indistinguishable | Verdict::OtherRows => {}
    }
    text
}

/// A note if the trace does not show some values of the run.
fn unseen_text(found: &Verification) -> Option<String> {
    let text = |value: &ValueChange| if value.is_change() { value.to_string() } else { value.name.clone() };
    let unseen: Vec<String> = found.unseen.iter().map(text).collect();
    let what = if found.unseen.iter().any(ValueChange::is_change) { "changed values" } else { "values" };
    (!unseen.is_empty()).then(|| format!("the trace never shows these {what}: {}", some_of(&unseen, UNSEEN)))
}
