//! Candidates for tuning among the options of an engine, with initial settings.

use crate::lists::ListEntry;
use crate::planner::{Advice, Guess, too_few};
use crate::variables::Variable;
use gputexel_chess::evaluation::MAX_EVALUATION_CP;
use gputexel_io::{Error, Result, did_you_mean};
use gputexel_model::{FeatureKind, ParameterGroups, ROLE_NAMES, named_parameters};
use gputexel_play::client::{EngineOption, OptionKind, Setting};

/// The gain that fishtest's and zamar's users begin with.
const R_END: f64 = 0.002;
/// Where the best value is taken to be, as a share of the range.
const DISTANCE: f64 = 0.1;
const C_END: f64 = 0.05;
const USUAL_ELO: f64 = 2.0;
/// Bounds about a value of the built-in engine, centipawns.
const REACH_CP: f64 = 300.0;
/// Ranges from which bounds are taken to mean nothing.
const WIDE: f64 = 100_000.0;

/// Words in the names of options that have nothing to do with how good moves are.
#[rustfmt::skip]
const NOT_TUNED: [&str; 38] = [
    "hash", "thread", "threads", "cpu", "cpus", "core", "cores", "cache", "multipv", "overhead",
    "syzygy", "gaviota", "nalimov", "bitbase", "bitbases", "tablebase", "tablebases", "egtb",
    "egbb", "tb", "probe", "skill", "strength", "elo", "ponder", "nodestime", "mover", "book",
    "log", "debug", "contempt", "seed", "numa", "thinking", "emergency", "latency", "lag", "buffer",
];
/// Beginnings of words that have nothing to do with it, as names run together.
const NOT_TUNED_BEGINNINGS: [&str; 4] = ["syzygy", "uci_", "gaviota", "hash"];
const NOT_TUNED_NAMES: [&str; 6] =
    ["search time", "search depth", "max depth", "maxdepth", "movetime", "nodes"];

#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub pairs: u64,
    /// Share of the games that will be drawn, 0 to 1.
    pub draw_rate: f64,
    /// `None` takes usual settings instead of planned ones.
    pub elo: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    pub tuned: Vec<Variable>,
    /// Names of parameters that could be tuned and are not.
    pub left_out: Vec<String>,
    pub notes: Vec<String>,
}

/// The spin options of a UCI engine: those named, or all that are worth tuning. `set` are the options that
/// the user sets, from which tuning starts.
///
/// # Errors
/// [`Error::Setting`], named `tune`, for names that are no spin options, and when nothing is left;
/// [`Error::Usage`] when there is nothing to tune.
pub fn engine_candidates(
    options: &[EngineOption],
    set: &[Setting],
    names: &[String],
    budget: Budget,
) -> Result<Candidates> {
    let tunable: Vec<&EngineOption> =
        options.iter().filter(|option| spin(option).is_some_and(|(_, min, max)| min < max)).collect();
    let chosen: Vec<&EngineOption> = match names.is_empty() {
        true => tunable.iter().copied().filter(|option| is_worth_tuning(option)).collect(),
        false => named(options, names)?,
    };
    let is_chosen = |option: &EngineOption| chosen.iter().any(|other| other.name == option.name);
    let others = tunable.iter().filter(|option| !is_chosen(option));
    let left_out: Vec<String> = others.map(|option| option.name.clone()).collect();
    if chosen.is_empty() {
        return Err(match left_out.is_empty() {
            true => Error::Usage(
                "the engine has no spin option with more than one value, so there is nothing to tune".into(),
            ),
            false => Error::Setting {
                setting: "tune",
                value: None,
                reason: format!("there is nothing left to tune by default; options: {}", left_out.join(", ")),
            },
        });
    }
    let mut found = Candidates { left_out, ..Candidates::default() };
    for option in chosen {
        let Some((default, min, max)) = spin(option) else { continue };
        let set = set.iter().rev().find(|setting| setting.name.eq_ignore_ascii_case(&option.name));
        let start = set.and_then(|setting| setting.value.parse::<i64>().ok()).unwrap_or(default);
        let bounds = bounds(option, start, min, max, &mut found.notes);
        found.tuned.push(variable(&option.name, start as f64, bounds, true, budget, &mut found.notes)?);
    }
    Ok(found)
}

fn named<'a>(options: &'a [EngineOption], names: &[String]) -> Result<Vec<&'a EngineOption>> {
    let mut chosen: Vec<&EngineOption> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let refuse = |reason: String| Err(Error::setting("tune", name, reason));
        let Some(option) = options.iter().find(|option| option.name.eq_ignore_ascii_case(name)) else {
            let spins = options.iter().filter(|option| spin(option).is_some());
            let spins: Vec<&str> = spins.map(|option| option.name.as_str()).take(40).collect();
            return refuse(format!("the engine has no such option; it has {}", spins.join(", ")));
        };
        match spin(option) {
            None => return refuse("only spin options, which have bounds, can be tuned".to_string()),
            Some((_, min, max)) if min >= max => return refuse(format!("the engine only allows {min}")),
            Some(_) if chosen.iter().any(|other| other.name == option.name) => {
                return refuse("is given twice".to_string());
            }
            Some(_) => chosen.push(option),
        }
    }
    Ok(chosen)
}

fn spin(option: &EngineOption) -> Option<(i64, i64, i64)> {
    match option.kind {
        OptionKind::Spin { default, min, max } => Some((default, min, max)),
        _ => None,
    }
}

fn is_worth_tuning(option: &EngineOption) -> bool {
    let is_wide = spin(option).is_some_and(|(_, min, max)| max as f64 - min as f64 > WIDE);
    !is_wide && !is_chore(&option.name)
}

fn is_chore(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    NOT_TUNED_NAMES.contains(&lower.as_str())
        || NOT_TUNED_BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning))
        || words.any(|word| NOT_TUNED.contains(&word))
}

/// The option's bounds; where they are too wide to mean anything, 0 to twice the value within them, as
/// `tune.py` has it.
fn bounds(option: &EngineOption, start: i64, min: i64, max: i64, notes: &mut Vec<String>) -> (f64, f64) {
    let (low, high) = (min as f64, max as f64);
    if high - low <= WIDE {
        return (low, high);
    }
    let far = if start == 0 { 100.0 } else { 2.0 * start as f64 };
    let (near, far) = if start == 0 { (-far, far) } else { (far.min(0.0), far.max(0.0)) };
    let narrow = (near.max(low), far.min(high));
    notes.push(format!("{}: its bounds are meaningless; using {} to {}", option.name, narrow.0, narrow.1));
    narrow
}

/// The parameters of a list, for an engine that reads their values from a file: those named, or all. `set`
/// are values from which tuning starts in place of the list's.
///
/// # Errors
/// [`Error::Setting`], named `tune`, for names that the list does not have; [`Error::Usage`] for a parameter
/// without bounds, and values that are no numbers.
pub fn listed_candidates(
    list: &[ListEntry],
    set: &[Setting],
    names: &[String],
    budget: Budget,
) -> Result<Candidates> {
    let is = |entry: &ListEntry, name: &str| {
        // Numbers of an engine that traces itself are named by places, and by their comments.
        let names = [Some(&entry.name), entry.comment.as_ref()].into_iter().flatten();
        names.into_iter().any(|own| own.trim().eq_ignore_ascii_case(name.trim()))
    };
    if let Some(name) = names.iter().find(|name| !list.iter().any(|entry| is(entry, name))) {
        let near = did_you_mean(name, list.iter().map(|entry| entry.name.clone()));
        return Err(Error::setting("tune", name, format!("the list has no such parameter{near}")));
    }
    let mut found = Candidates::default();
    for entry in list.iter().filter(|entry| names.is_empty() || names.iter().any(|name| is(entry, name))) {
        let usage = |reason: &str| Error::Usage(format!("{}: {reason}", entry.name));
        let (Some(min), Some(max)) = (entry.min, entry.max) else {
            return Err(usage("the list has no bounds for it"));
        };
        let start = match set.iter().rev().find(|setting| is(entry, &setting.name)) {
            Some(setting) => setting.value.parse().map_err(|_| usage("its start is not a number"))?,
            None => entry.start,
        };
        let variable = variable(&entry.name, start, (min, max), entry.integer, budget, &mut found.notes)?;
        found.tuned.push(variable);
    }
    Ok(found)
}

/// Values of the built-in engine: those named, or pieces. `params` is a parameter file, or piece values such
/// as `material`.
pub fn parameter_candidates(params: &str, names: &[String], budget: Budget) -> Result<Candidates> {
    let (set, theta) = named_parameters(params)?;
    let pieces: Vec<String> = ROLE_NAMES[..5].iter().map(|role| (*role).to_string()).collect();
    let mut found = Candidates::default();
    let is_piece = |name: &str| {
        let role = name.split('.').next().unwrap_or_default().to_lowercase();
        let whole = name.split('.').skip(1).all(|part| ["mg", "eg"].contains(&part));
        let material = set.kind == FeatureKind::Material;
        pieces.contains(&role) && (material || whole)
    };
    let limit = f64::from(MAX_EVALUATION_CP);
    let one = |name: &str, mean: f64, notes: &mut Vec<String>| {
        let least = if is_piece(name) && mean >= 0.0 { 0.0 } else { -limit };
        let bounds = ((mean - REACH_CP).max(least).floor(), (mean + REACH_CP).min(limit).ceil());
        variable(name, mean, bounds, false, budget, notes)
    };
    let names: Vec<String> = names.iter().map(|name| name.trim().to_string()).collect();
    let chosen = if names.is_empty() { pieces[1..].to_vec() } else { names.clone() };
    let means = ParameterGroups::try_new(&set, &theta, &chosen)?.means();
    for (name, mean) in chosen.iter().zip(means) {
        let variable = one(name, mean, &mut found.notes)?;
        found.tuned.push(variable);
    }
    if names.is_empty() {
        found.left_out.push(pieces[0].clone());
    }
    Ok(found)
}

/// A parameter with settings: those that the planner advises for the Elo that was given, or the usual ones.
fn variable(
    name: &str,
    start: f64,
    (min, max): (f64, f64),
    integer: bool,
    budget: Budget,
    notes: &mut Vec<String>,
) -> Result<Variable> {
    let name = name.to_string();
    let Budget { pairs, draw_rate, elo } = budget;
    let distance = DISTANCE * (max - min);
    let guess = Guess { name, start, min, max, integer, distance, elo: elo.unwrap_or(USUAL_ELO) };
    let advice = Advice::new(&guess, pairs, draw_rate)?;
    let mut variable = advice.variable(&guess);
    if elo.is_none() {
        variable.simul_elo = 0.0;
        variable.c_end = C_END * (max - min);
        if integer {
            variable.c_end = variable.c_end.max(0.5);
        }
        variable.r_end = Some(R_END);
    } else if variable.r_end.is_none() {
        notes.push(format!("{}; using r_end {R_END}", too_few(&guess, &advice, pairs)));
        variable.r_end = Some(R_END);
    }
    // Digits that say nothing are in people's way.
    for value in
        [Some(&mut variable.c_end), variable.r_end.as_mut(), variable.s.as_mut(), variable.sigma.as_mut()]
            .into_iter()
            .flatten()
    {
        *value = format!("{value:.3e}").parse().unwrap_or(*value);
    }
    Ok(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_no_one_tunes_are_known() {
        let known = "Hash,Threads,Number of Threads,Move Overhead,MultiPV,Skill Level,UCI_Elo,SyzygyProbeDepth,\
                     Slow Mover,Bitbases Cache Size,Search Depth,Minimum Thinking Time";
        assert!(known.split(',').all(is_chore));
        let others = "King Safety,Futility Margin,LMRDepth,Piece Activity,Hanging,Tempo,Log2";
        assert!(!others.split(',').any(is_chore));
    }

    #[test]
    fn bounds_that_say_nothing_are_narrowed() {
        let option = |default, min, max| EngineOption {
            name: "x".to_string(),
            kind: OptionKind::Spin { default, min, max },
        };
        let budget = Budget { pairs: 10_000, draw_rate: 0.5, elo: None };
        let tuned = |default, min, max| {
            let named = ["X".to_string()];
            let found = engine_candidates(&[option(default, min, max)], &[], &named, budget).unwrap();
            assert_eq!(found.notes.len(), 1);
            (found.tuned[0].min, found.tuned[0].max)
        };
        assert_eq!(tuned(50, i64::MIN, i64::MAX), (0.0, 100.0));
        assert_eq!(tuned(-50, -70, 1_000_000), (-70.0, 0.0));
        assert_eq!(tuned(0, i64::MIN, i64::MAX), (-100.0, 100.0));
        // Unless it is named it is left out.
        let error =
            engine_candidates(&[option(50, i64::MIN, i64::MAX)], &[], &[], budget).unwrap_err().to_string();
        assert_eq!(error, "tune: there is nothing left to tune by default; options: x");
        assert!(
            engine_candidates(&[option(5, 5, 5)], &[], &[], budget)
                .unwrap_err()
                .to_string()
                .contains("no spin option")
        );
    }

    #[test]
    fn settings_are_the_usual_ones_or_planned() {
        let plan = |elo| Budget { pairs: 200_000, draw_rate: 0.82, elo };
        let make = |elo| variable("x", 100.0, (-500.0, 500.0), true, plan(elo), &mut Vec::new()).unwrap();
        let usual = make(None);
        assert_eq!((usual.c_end, usual.r_end, usual.s), (50.0, Some(0.002), Some(100.0)));
        assert_eq!(usual.sigma, Some(700.0));
        // The first row of the authors' table, by our formula.
        let planned = make(Some(2.0));
        assert_eq!((planned.c_end, planned.s, planned.sigma), (220.0, Some(100.0), Some(700.0)));
        assert!((planned.r_end.unwrap() / 7.3e-5 - 1.0).abs() < 0.02);
        let mut notes = Vec::new();
        let few = Budget { pairs: 100, draw_rate: 0.82, elo: Some(0.01) };
        let variable = variable("x", 100.0, (-500.0, 500.0), true, few, &mut notes).unwrap();
        assert_eq!(variable.r_end, Some(0.002));
        assert!(notes[0].contains("too few for 0.01 Elo"), "{notes:?}");
    }

    #[test]
    fn pieces_of_the_built_in_engine_are_their_means() {
        let budget = Budget { pairs: 4_000, draw_rate: 0.5, elo: None };
        let found = parameter_candidates("material:100,300,320,500,200", &[], budget).unwrap();
        let names: Vec<&str> = found.tuned.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["knight", "bishop", "rook", "queen"]);
        let queen = &found.tuned[3];
        assert_eq!((queen.start, queen.min, queen.max, queen.integer), (200.0, 0.0, 500.0, false));
        assert_eq!((found.tuned[2].min, found.left_out[0].as_str()), (200.0, "pawn"));
        let named = parameter_candidates("material", &["queen.mg".into(), "king".into()], budget).unwrap();
        assert_eq!((named.tuned[0].start, named.tuned[0].min), (900.0, 600.0));
        assert_eq!((named.tuned[1].min, named.tuned[1].max), (-300.0, 300.0));
        assert!(named.left_out.is_empty());
        assert!(parameter_candidates("material", &["quen".into()], budget).is_err());
    }
}
