//! What a run was good for, by positions that it did not learn from, and what is remarkable about its result.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use crate::pieces::relative_tables;
use crate::tuned::{FAR_CP, Tuned, WEAK_SUPPORT};
use crate::uncertainty::{Answer, Findings, OFF_OPTIMUM};
use gputexel_io::counted;
use gputexel_model::{Prior, program};
use gputexel_report::{
    Conclusion, FactorDiagnostics, Finding, FindingKind, Judgement, ProgramDiagnostics, Verdict, grouped,
    quoted,
};
use gputexel_tune::{Curvature, HeldOutGain, OptimizerConfig, space_of};

/// Standard errors beyond which a difference counts: of Student's t with the 9 degrees of freedom of ten folds, 97.5 %.
const CLEAR: f64 = 2.26;
/// Share of the loss below which a difference does not count, however certain it is.
const SLIGHT: f64 = 1e-4;
/// Number of games, or positions without games, below which nothing can be said.
const MIN_GAMES: u64 = 100;
const NAMED: usize = 6;

impl Tuned {
    /// Returns verdict, findings and next command.
    pub fn conclusion(&self) -> Cow<'_, Conclusion> {
        match &self.record.conclusion {
            Some(conclusion) => Cow::Borrowed(conclusion),
            None => Cow::Owned(conclude(self)),
        }
    }
}

pub(crate) fn conclude(tuned: &Tuned) -> Conclusion {
    let verdict = verdict(tuned);
    let next = next(tuned, verdict.judgement);
    Conclusion { findings: findings(tuned), verdict, next }
}

/// Judges a difference of held-out losses by its error; one without an error says nothing.
fn judge(HeldOutGain { before, after, error }: HeldOutGain) -> Judgement {
    let change = after - before;
    match () {
        // All from one game, it has an error of 0.
        () if change.abs() < SLIGHT * before || error <= 0.0 => Judgement::Same,
        () if change < -CLEAR * error => Judgement::Better,
        () if change > CLEAR * error => Judgement::Worse,
        () => Judgement::Same,
    }
}

/// Judges a result; without held-out positions, by the loss in training only if that is worse.
fn judgement(tuned: &Tuned) -> Judgement {
    let few_games = tuned.games.unwrap_or(tuned.positions) < MIN_GAMES;
    let is_worse = || tuned.loss_before.zip(tuned.loss).is_some_and(|(before, after)| after > before);
    match tuned.gain() {
        _ if tuned.doubts.compensated.is_some() && !tuned.is_start() => Judgement::CannotBeJudged,
        _ if few_games => Judgement::TooLittle,
        None if crate::are_few(tuned.positions, tuned.outcome.z.len()) => Judgement::TooLittle,
        _ if tuned.is_start() => Judgement::Same,
        Some(gain) => match judge(gain) {
            Judgement::Better | Judgement::Same if tuned.doubts.not_held_out.is_some() => {
                Judgement::CannotBeJudged
            }
            judgement => judgement,
        },
        None if is_worse() => Judgement::Worse,
        None => Judgement::Unknown,
    }
}

fn verdict(tuned: &Tuned) -> Verdict {
    let judgement = judgement(tuned);
    let (figure, measured_on) = match (tuned.gain(), tuned.loss_before.zip(tuned.loss)) {
        (Some(gain), _) => (format!("Held-out error {}", percent(gain)), measured_on(tuned)),
        (None, Some((before, after))) => {
            let change = format!("{:+.1} %", 100.0 * (after / before - 1.0)).replace('-', "−");
            (format!("Training error {change}"), String::new())
        }
        (None, None) => ("Held-out error unknown".to_string(), String::new()),
    };
    Verdict { judgement, figure, measured_on, words: words(tuned, judgement) }
}

fn percent(HeldOutGain { before, after, error }: HeldOutGain) -> String {
    let percent = |value: f64| 100.0 * value / before;
    let error = if error.is_finite() { format!(" ± {:.1} %", percent(error)) } else { String::new() };
    format!("{:+.1} %{error}", percent(after - before)).replace('-', "−")
}

fn measured_on(tuned: &Tuned) -> String {
    match (&tuned.held_out_gain, &tuned.record.strength) {
        (None, Some(strength)) if strength.by_game => format!("{} folds of games", strength.folds),
        (None, Some(strength)) => format!("{} folds", strength.folds),
        _ => "held-out positions".to_string(),
    }
}

fn words(tuned: &Tuned, judgement: Judgement) -> String {
    let start = if tuned.config().basis.is_some() { "start" } else { "prior" };
    match judgement {
        Judgement::TooLittle => format!(
            "TOO LITTLE DATA: {}{} for {}: expect noise",
            counted(tuned.positions, "position"),
            tuned.games.map_or(String::new(), |games| format!(" of {}", counted(games, "game"))),
            counted(tuned.outcome.z.len() as u64, "parameter")
        ),
        Judgement::CannotBeJudged => match (&tuned.doubts.compensated, &tuned.doubts.not_held_out) {
            (Some(why), _) => format!("do not play these values as they are: {why}"),
            (None, why) => {
                format!("cannot be judged: {}; a match would tell", why.as_deref().unwrap_or_default())
            }
        },
        Judgement::Better => "fits better than the prior: play a match".to_string(),
        Judgement::Same if tuned.is_start() => {
            let remedy = match tuned.config().optimizer {
                OptimizerConfig::Adam(_) => "try more epochs or positions",
                _ => "more positions are needed",
            };
            format!("nothing beats the {start}, which is kept: {remedy}")
        }
        Judgement::Same => {
            "fits no better than the prior within its error: more positions are needed".to_string()
        }
        Judgement::Worse if tuned.gain().is_some() => "fits worse than the prior: do not use it".to_string(),
        Judgement::Worse => {
            let hint = match tuned.config().named_basis() {
                Some(_) => "should the basis have \"base\": \"prior\"?",
                None => "do not use it",
            };
            format!("fits worse than the prior in training: {hint}")
        }
        Judgement::Unknown => "unknown, nothing was held out: --holdout 0.1 would tell".to_string(),
    }
}

/// Returns the command to type next; empty for a run without a folder.
fn next(tuned: &Tuned, judgement: Judgement) -> String {
    let Some(folder) = tuned.folder.as_deref() else { return String::new() };
    let folder = quoted(folder);
    let imported = tuned.features.imported.is_some();
    match judgement {
        // By name, which is how the engine takes values.
        Judgement::CannotBeJudged if tuned.doubts.compensated.is_some() => {
            format!("gputexel improve {folder}")
        }
        Judgement::Better | Judgement::CannotBeJudged if tuned.probing.is_some() => {
            format!("gputexel improve {folder} --engine ENGINE")
        }
        Judgement::Better | Judgement::CannotBeJudged if imported => {
            let own = tuned.features.imported.iter().flat_map(|own| &own.parameters);
            let files = own.filter_map(|own| own.at.as_deref()?.rsplitn(3, ':').nth(2).map(Path::new));
            let found: BTreeSet<String> = files.filter(|file| file.is_file()).map(quoted).collect();
            let sources =
                if found.is_empty() { "SOURCE".to_string() } else { Vec::from_iter(found).join(" ") };
            format!("gputexel patch tables {folder} {sources}")
        }
        Judgement::Better | Judgement::CannotBeJudged => {
            let prior = &tuned.config().prior;
            let usual = *prior == Prior::default().to_string();
            let other = if usual { "material".to_string() } else { quoted(Path::new(prior)) };
            format!("gputexel match {folder} {other} --nodes 5000")
        }
        Judgement::Same | Judgement::TooLittle => {
            let own = if imported { " --engine ENGINE" } else { "" };
            format!("gputexel selfplay{own} --games 20000 --nodes 5000 -o more-games")
        }
        Judgement::Unknown | Judgement::Worse => format!("gputexel report {folder} --open"),
    }
}

fn findings(tuned: &Tuned) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let doubts = [
        (FindingKind::WrongTrace, &tuned.doubts.wrong_trace),
        (FindingKind::MostlyDrawn, &tuned.doubts.mostly_drawn),
    ];
    let warned = |(kind, text): (_, &Option<String>)| Some(Finding::warning(kind, text.clone()?, Vec::new()));
    found.extend(doubts.into_iter().filter_map(warned));
    found.extend(fallen_pieces(tuned));
    let relative = relative_tables(&tuned.features, &tuned.config().prior_theta);
    found.extend(relative.map(|text| Finding::warning(FindingKind::RelativeTables, text, Vec::new())));
    found.extend(tuned.probing.as_ref().filter(|probing| !probing.is_linear()).map(|probing| {
        let text = format!(
            "{} is not linear in its parameters: what was measured holds near the values that it has; 'probe --rounds' \
             asks again around new ones",
            probing.command
        );
        Finding::warning(FindingKind::NotLinear, text, Vec::new())
    }));
    if tuned.united_games > 0 {
        let games = counted(tuned.united_games, "game");
        let text = format!("{games} of the data repeat others, and are held out with them");
        found.push(Finding::warning(FindingKind::RepeatedGames, text, Vec::new()));
    }
    let term = tuned.constant_term.as_ref().map(|term| term.warning());
    found.extend(term.map(|text| Finding::warning(FindingKind::ConstantTerm, text, Vec::new())));
    found.extend(not_optimal(tuned));
    found.extend(values(tuned));
    match &tuned.uncertainty {
        Answer::None => {}
        Answer::LeftOut(reason) => {
            found.push(Finding::note(FindingKind::NoErrors, format!("no errors: {reason}"), Vec::new()));
        }
        Answer::Found(findings) => found.extend(error_findings(findings, tuned)),
    }
    if let Some(program) = &tuned.program {
        found.extend(program_findings(program, tuned.features.imported.is_some()));
    }
    found
}

fn fallen_pieces(tuned: &Tuned) -> Option<Finding> {
    if tuned.is_start() {
        return None;
    }
    let pieces = tuned.pieces();
    let fallen = |phase: usize| pieces.iter().filter(move |one| one.falls(phase));
    let clause = |(phase, name)| {
        let names: Vec<&str> = fallen(phase).map(|one| one.piece).collect();
        (!names.is_empty()).then(|| format!("{} in the {name}", names.join(", ")))
    };
    let clauses: Vec<String> = [(0, "middlegame"), (1, "endgame")].into_iter().filter_map(clause).collect();
    let value = |phase: usize| {
        fallen(phase).map(move |one| {
            let phase_name = ["middlegame", "endgame"][phase];
            format!("{} {phase_name} {:.1} -> {:.1}", one.piece, one.before[phase], one.after[phase])
        })
    };
    (!clauses.is_empty()).then(|| {
        let text = format!(
            "worth less by a quarter or more: {}; a match shows whether that wins games",
            clauses.join(", ")
        );
        Finding::warning(FindingKind::PieceFell, text, [0, 1].into_iter().flat_map(value).collect())
    })
}

fn not_optimal(tuned: &Tuned) -> Option<Finding> {
    let survey = tuned.rounding.as_ref()?.survey.as_ref()?;
    let improving = survey.improving.len();
    (improving > 0).then(|| {
        let text = format!(
            "{} of {} single steps would improve the exact training loss",
            grouped(improving as u64),
            grouped(survey.steps as u64)
        );
        Finding::warning(FindingKind::NotOptimal, text, Vec::new())
    })
}

/// Values at bounds, without whole numbers, or that few positions know anything of.
fn values(tuned: &Tuned) -> Vec<Finding> {
    let mut found = Vec::new();
    let (held, fractions) = (tuned.at_bounds(), tuned.fractions());
    if !held.is_empty() {
        let text = format!("at a bound: {}", shortened(&held, "coordinates"));
        found.push(Finding::warning(
            FindingKind::AtBound,
            text,
            held.iter().map(ToString::to_string).collect(),
        ));
    }
    if fractions > 0 {
        let text = format!(
            "integer coordinates without whole values yet: {}; use --round local",
            grouped(fractions as u64)
        );
        found.push(Finding::note(FindingKind::Fractions, text, Vec::new()));
    }
    let unsupported = tuned.unsupported();
    if !unsupported.is_empty() {
        let filled: Vec<String> = tuned.filled().iter().map(ToString::to_string).collect();
        let filled: Vec<&str> = filled.iter().map(String::as_str).collect();
        let tied = match tuned.config().named_basis() {
            Some(_) => "which the basis ties to others",
            None => "squares between others",
        };
        let except = match filled.is_empty() {
            true => String::new(),
            false => format!(", except {tied}: {}", shortened(&filled, "features")),
        };
        let text =
            format!("never occur: {}; they keep their start{except}", shortened(&unsupported, "features"));
        found.push(Finding::note(FindingKind::NeverOccurs, text, Vec::new()));
    }
    let kept: Vec<&str> = tuned.record.kept.iter().map(String::as_str).collect();
    if !kept.is_empty() {
        let text = format!(
            "keep their values, because the side to move hardly ever has them here, and quiet positions do not tell what they \
             are worth: {}; --least-to-move 0 tunes them",
            shortened(&kept, "features")
        );
        found.push(Finding::warning(FindingKind::SeldomToMove, text, Vec::new()));
    }
    let (weak, far) = (tuned.weak(), tuned.far());
    if !weak.is_empty() {
        let text = format!("in fewer than {WEAK_SUPPORT} positions: {}", shortened(&weak, "features"));
        found.push(Finding::note(FindingKind::Rare, text, Vec::new()));
    }
    if !far.is_empty() {
        let text = format!(
            "more than {FAR_CP} centipawns from the prior: {}; --l2 or more positions would constrain them",
            shortened(&far, "features")
        );
        found.push(Finding::note(FindingKind::FarFromPrior, text, Vec::new()));
    }
    found
}

fn error_findings(findings: &Findings, tuned: &Tuned) -> Vec<Finding> {
    let (config, warning) = (tuned.config(), |kind, text: String| Finding::warning(kind, text, Vec::new()));
    let mut found = Vec::new();
    if findings.sandwich.curvature == Curvature::GaussNewton {
        let text = "this is not a minimum: errors are computed from the Gauss-Newton matrix";
        found.push(warning(FindingKind::NoMinimum, text.to_string()));
    }
    let off = findings.off_optimum();
    if off > 0 {
        let remedy = match () {
            () if config.holdout > 0.0 && tuned.outcome.epochs > 1 => {
                "the held-out games may have selected another step"
            }
            () if config.optimizer.uses_matrices() => "run longer",
            () => "run longer, or --optimizer gauss-newton",
        };
        let text = format!(
            "{} more than {OFF_OPTIMUM} standard errors from the optimum of the training games: {remedy}",
            counted(off as u64, "parameter")
        );
        found.push(warning(FindingKind::OffOptimum, text));
    }
    let Some(bootstrap) = &findings.bootstrap else { return found };
    if bootstrap.unfinished > 0 {
        let why = match space_of(&config.parameterization()).is_bounded() {
            true => ": the spread may be too small",
            false => ", which may be at infinity: try --l2",
        };
        let whose = if bootstrap.unfinished == 1 { "its" } else { "their" };
        let resamples = counted(bootstrap.unfinished as u64, "resample");
        found
            .push(warning(FindingKind::Bootstrap, format!("{resamples} did not reach {whose} optimum{why}")));
    }
    if bootstrap.used < bootstrap.members {
        let lost = counted((bootstrap.members - bootstrap.used) as u64, "resample");
        found.push(warning(FindingKind::Bootstrap, format!("left out {lost} that drew no positions")));
    }
    found
}

/// Terms of a nonlinear evaluation that are hardly ever active, and a factor that is often at a limit. `imported`
/// evaluations have a schema that can be changed.
fn program_findings(diagnostics: &ProgramDiagnostics, imported: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some((limit, share)) = diagnostics.factor.as_ref().and_then(FactorDiagnostics::often_at_limit) {
        let freeze = "--freeze those that count only there";
        let remedy = match (limit, imported) {
            ("smallest", _) => format!("start from larger values of them, or {freeze}"),
            (_, true) => format!("a larger \"max\" in the schema, or {freeze}"),
            (_, false) => freeze.to_string(),
        };
        let text = format!(
            "the factor is at its {limit} value in {:.1} % of the positions where it counts: there, nothing is known \
             of its parameters; {remedy}",
            100.0 * share
        );
        found.push(Finding::warning(FindingKind::FactorAtLimit, text, Vec::new()));
    }
    let after = diagnostics.terms.iter().map(|term| &term.activity[1]);
    found.extend(program::dead_terms(after, "with the result").into_iter().map(|clause| {
        let text = format!("{clause}; start from larger values of them");
        Finding::warning(FindingKind::DeadTerm, text, Vec::new())
    }));
    found
}

fn shortened(names: &[&str], what: &str) -> String {
    match names.len() {
        0..=NAMED => names.join(", "),
        n => format!("{} and {} more {what}", names[..NAMED].join(", "), n - NAMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_beyond_its_error() {
        let gain = |after: f64, error: f64| judge(HeldOutGain { before: 0.1, after, error });
        assert_eq!(gain(0.09, 0.004), Judgement::Better);
        assert_eq!(gain(0.09, 0.006), Judgement::Same);
        assert_eq!(gain(0.1, 0.0), Judgement::Same);
        assert_eq!(gain(0.09, 0.0), Judgement::Same, "all from one game");
        assert_eq!(gain(0.099_999, 1e-9), Judgement::Same);
        assert_eq!(gain(0.11, 0.004), Judgement::Worse);
        assert_eq!(gain(0.09, f64::NAN), Judgement::Same);
    }

    #[test]
    fn changes_are_in_percent_of_the_loss_before() {
        let text = |error: f64| percent(HeldOutGain { before: 0.1, after: 0.0963, error });
        assert_eq!([text(0.0005), text(f64::NAN)], ["−3.7 % ± 0.5 %", "−3.7 %"]);
    }
}
