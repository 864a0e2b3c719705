//! What an engine's numbers are: found by asking about a few positions, again, mirrored, and under other values.

use super::answer::{EvalPattern, Number, has_decimal_comma};
use super::asking::{Ask, Asker, Failed, Source, Way};
use super::linearity::Tester;
use super::plan::{Plan, Step, Tree};
use super::positions::{Labeled, Positions, mirrored};
use super::search::Search;
use gputexel_io::{Error, Result};

const SAMPLE: usize = 200;

/// In which the evaluation is looked for.
const ANSWERS: usize = 24;

/// Numbers with decimals are pawns if half of them are smaller.
const PAWNS: f64 = 20.0;

/// Between answers to the same question, root mean square, in units of their last digit.
const MOST_NOISE: f64 = 2.0;

/// Ratio of sums at which the sign decides the point of view.
const CLEAR: f64 = 4.0;

/// A group is not asked about as a whole if it changes more than this share of positions.
const OFTEN: f64 = 0.6;

/// Evaluations in the time in which a program is started.
const START: f64 = 1000.0;

/// Least share of positions for which a question has to be answered: one that answers better may follow.
const ANSWERED: [f64; 2] = [0.5, 0.98];

#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    pub ask: Option<Ask>,
    pub pattern: Option<EvalPattern>,
    pub by_mover: Option<bool>,
}

/// A way to ask that works, and the evaluations that it gives.
struct Method {
    way: Way,
    resolution_cp: f64,
    noise_cp: f64,
    base: Vec<f64>,
}

enum Useless {
    Because(String),
    Stopped(Failed),
}

impl From<Failed> for Useless {
    fn from(failed: Failed) -> Self {
        match failed.stopped {
            true => Self::Stopped(failed),
            false => Self::Because(failed.failure),
        }
    }
}

fn useless<T>(reason: impl Into<String>) -> std::result::Result<T, Useless> {
    Err(Useless::Because(reason.into()))
}

pub(super) fn survey(
    asker: &mut Asker<'_>,
    source: &Source,
    positions: &Positions,
    wishes: &Wishes,
    block: usize,
) -> Result<Plan> {
    let sample: Vec<&Labeled> =
        positions.spread(SAMPLE).iter().map(|n| &positions.all[*n as usize]).collect();
    let steps: Vec<Step> = source.parameters.iter().map(Step::long).collect();
    if steps.iter().all(|step| step.change == 0.0) {
        return Err(source.error("no parameter can be changed: each has a range of one value"));
    }
    let (found, passed_over) = find(asker, source, &sample, wishes, &steps)?;
    let Method { way, resolution_cp, noise_cp, base } = found;
    // Searches take their time.
    let every = if matches!(way.ask, Ask::Nodes | Ask::Depth) { 2 } else { 1 };
    let few: Vec<&Labeled> = sample.iter().step_by(every).copied().collect();
    let base = base.into_iter().step_by(every).collect();
    let mut tester = Tester::new(asker, source, way.clone(), &few, base, [resolution_cp, noise_cp], steps);
    let failures = tester.classify_all().map_err(|failed| failed.into_error(source))?;
    let steps = tester.into_steps();
    let mut plan = Plan {
        ask: way.ask.name().to_string(),
        pattern: way.pattern.as_ref().map(ToString::to_string),
        fresh: way.fresh,
        by_mover: way.by_mover,
        unit_cp: way.unit_cp,
        resolution_cp,
        noise_cp,
        tree: Tree::new(source, &steps),
        steps,
        failures,
        passed_over,
        block,
        per_position: 0.0,
    };
    let before = asker.asked;
    let search = Search::begin(asker, (&plan, way), source, &sample, (0, sample.len()));
    let tally = search.and_then(Search::tallies).map_err(|failed| failed.into_error(source))?.tally;
    let asked = asker.asked - before;
    prune(&mut plan, &tally, asked, sample.len(), source.is_program);
    Ok(plan)
}

/// Decides which groups are not worth a question of their own.
fn prune(plan: &mut Plan, tally: &[[u64; 2]], asked: u64, sample: usize, is_program: bool) {
    let mut saved = 0;
    let sizes = plan.tree.sizes();
    let in_block = plan.block as f64 / sample.max(1) as f64;
    for (number, [open, changed]) in tally.iter().enumerate() {
        let (all, same) = (*open as f64, open.saturating_sub(*changed) as f64);
        // What a question of its own costs a program, and what it may save.
        let is_dear = is_program && in_block * same * sizes[number] as f64 <= START + in_block * all;
        if *open > 0 && (*changed as f64 > OFTEN * all || is_dear) {
            plan.tree.asked[number] = false;
            saved += open;
        }
    }
    let twice = if plan.is_linear() { 1.0 } else { 1.5 };
    plan.per_position = twice * (asked.saturating_sub(saved)) as f64 / sample.max(1) as f64 + 2.0;
}

fn find(
    asker: &mut Asker<'_>,
    source: &Source,
    sample: &[&Labeled],
    wishes: &Wishes,
    steps: &[Step],
) -> Result<(Method, Vec<String>)> {
    let ways = match (source.is_program, wishes.ask) {
        (true, _) => vec![Ask::Lines],
        (false, Some(ask)) => vec![ask],
        (false, None) if wishes.pattern.is_some() => vec![Ask::Eval],
        (false, None) => vec![Ask::Eval, Ask::Nodes, Ask::Depth],
    };
    let mut reasons = Vec::new();
    for ask in ways {
        match attempt(ask, asker, source, sample, wishes, steps) {
            Ok(found) => return Ok((found, reasons)),
            Err(Useless::Stopped(failed)) => return Err(failed.into_error(source)),
            Err(Useless::Because(reason)) => reasons.push(format!("{}: {reason}", ask.words())),
        }
    }
    Err(source.error(&format!("gives no evaluation that can be used; {}", reasons.join("; "))))
}

fn attempt(
    ask: Ask,
    asker: &mut Asker<'_>,
    source: &Source,
    sample: &[&Labeled],
    wishes: &Wishes,
    steps: &[Step],
) -> std::result::Result<Method, Useless> {
    let fens: Vec<&str> = sample.iter().map(|position| position.fen.as_str()).collect();
    let start = source.start();
    let mut way = Way { ask, pattern: wishes.pattern.clone(), fresh: false, by_mover: false, unit_cp: 1.0 };
    if ask == Ask::Eval && way.pattern.is_none() {
        let first = &fens[..fens.len().min(ANSWERS)];
        let answers = asker.answers(&way, &start, first)?;
        way.pattern = EvalPattern::find(&answers);
        if way.pattern.is_none() {
            return match answers.iter().flatten().find(|line| has_decimal_comma(line)) {
                Some(line) => useless(format!(
                    "numbers with a comma are not read, as in '{}'",
                    gputexel_io::shown(line.trim())
                )),
                None => useless("its answers have no number after a word such as 'evaluation'"),
            };
        }
    }
    let numbers = asker.numbers(&way, &start, &fens)?;
    let known: Vec<Number> = numbers.iter().flatten().copied().collect();
    let is_optional = ask == Ask::Nodes && wishes.ask.is_none();
    let least = ANSWERED[usize::from(is_optional)];
    if (known.len() as f64) < least * fens.len().max(1) as f64 {
        return useless(format!("{} of {} positions have a number", known.len(), fens.len()));
    }
    let decimals = known.iter().filter_map(|number| number.decimals).max();
    let mut sizes: Vec<f64> = known.iter().map(|number| number.value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let in_pawns = decimals.is_some() && sizes[sizes.len() / 2] < PAWNS;
    way.unit_cp = if in_pawns { 100.0 } else { 1.0 };
    let resolution_cp = way.unit_cp * 0.1f64.powi(decimals.unwrap_or(0).min(9) as i32);
    let mut noise_cp = noise(asker, &mut way, source, sample, resolution_cp)?;
    if noise_cp < 1e-9 {
        noise_cp = 0.0;
    }
    way.by_mover = match wishes.by_mover {
        Some(by_mover) => by_mover,
        None => by_mover(asker, &way, source, sample)?,
    };
    let base = asker.evaluate(&way, &start, asked(sample))?;
    if !responds(asker, &way, source, sample, &base, (steps, noise_cp))? {
        return useless("its numbers do not change with any parameter");
    }
    Ok(Method { way, resolution_cp, noise_cp, base })
}

fn asked<'p>(sample: &'p [&Labeled]) -> impl Iterator<Item = (&'p str, bool)> {
    sample.iter().map(|position| (position.fen.as_str(), position.black))
}

/// Largest difference between two answers, centipawns. Lets tables be emptied for each position if that makes it
/// smaller.
fn noise(
    asker: &mut Asker<'_>,
    way: &mut Way,
    source: &Source,
    sample: &[&Labeled],
    resolution_cp: f64,
) -> std::result::Result<f64, Useless> {
    let start = source.start();
    let reversed: Vec<&Labeled> = sample.iter().rev().copied().collect();
    let mut twice = |way: &Way| -> std::result::Result<[f64; 2], Failed> {
        let first = asker.evaluate(way, &start, asked(sample))?;
        let second = asker.evaluate(way, &start, asked(&reversed))?;
        let differences: Vec<f64> =
            first.iter().zip(second.iter().rev()).map(|(a, b)| (a - b).abs()).collect();
        let known: Vec<f64> = differences.into_iter().filter(|difference| !difference.is_nan()).collect();
        let largest = known.iter().copied().fold(0.0, f64::max);
        let mean_square = known.iter().map(|d| d * d).sum::<f64>() / known.len().max(1) as f64;
        Ok([largest, mean_square.sqrt()])
    };
    let [mut largest, mut rms] = twice(way)?;
    if largest > 0.0 && !source.is_program {
        let fresh = Way { fresh: true, ..way.clone() };
        let [own, own_rms] = twice(&fresh)?;
        if own < largest {
            (*way, largest, rms) = (fresh, own, own_rms);
        }
    }
    if rms > MOST_NOISE * resolution_cp {
        return useless(format!(
            "it gives other numbers each time: {rms:.1} cp apart (root mean square), at most {largest:.1}"
        ));
    }
    Ok(largest)
}

/// With colors exchanged the numbers are the same.
fn by_mover(
    asker: &mut Asker<'_>,
    way: &Way,
    source: &Source,
    sample: &[&Labeled],
) -> std::result::Result<bool, Useless> {
    let pairs: Vec<(&str, String)> =
        sample.iter().filter_map(|one| Some((one.fen.as_str(), mirrored(&one.fen)?))).collect();
    let own: Vec<&str> = pairs.iter().map(|pair| pair.0).collect();
    let other: Vec<&str> = pairs.iter().map(|pair| pair.1.as_str()).collect();
    let start = source.start();
    let own = asker.numbers(way, &start, &own)?;
    let other = asker.numbers(way, &start, &other)?;
    let (mut same, mut opposite) = (0.0, 0.0);
    for (a, b) in own.iter().zip(&other).filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?))) {
        same += (a.value - b.value).abs();
        opposite += (a.value + b.value).abs();
    }
    if same * CLEAR < opposite {
        return Ok(true);
    }
    if opposite * CLEAR < same {
        return Ok(false);
    }
    // Searches have a point of view by their protocol.
    match way.ask {
        Ask::Nodes | Ask::Depth => Ok(true),
        Ask::Eval | Ask::Lines => useless(
            "with colors exchanged its numbers are neither the same nor the opposite, so their point of view is unknown (--eval-view)",
        ),
    }
}

/// True if some evaluation changes with the parameters.
fn responds(
    asker: &mut Asker<'_>,
    way: &Way,
    source: &Source,
    sample: &[&Labeled],
    base: &[f64],
    (steps, noise_cp): (&[Step], f64),
) -> std::result::Result<bool, Useless> {
    let mut failure = None;
    // Some engines fail at extreme values, and equal changes of all may cancel.
    for (divisor, pattern) in [(1.0, 1), (1.0, 2), (4.0, 1), (16.0, 2)] {
        let mut values = source.start();
        for (i, (value, parameter)) in values.iter_mut().zip(&source.parameters).enumerate() {
            let change = steps[i].change / divisor;
            let change = if parameter.integer { change.trunc() } else { change };
            *value += if i % 3 % pattern == 0 { change } else { 0.0 };
        }
        match asker.evaluate(way, &values, asked(sample)) {
            Ok(found) => {
                let changed = |(a, b): (&f64, &f64)| (a - b).abs() > noise_cp + 1e-9;
                if found.iter().zip(base).any(changed) {
                    return Ok(true);
                }
            }
            Err(failed) if failed.stopped => return Err(Useless::Stopped(failed)),
            Err(failed) => failure = Some(failed.failure),
        }
    }
    match failure {
        // Which values it fails at is found out later.
        Some(_) => Ok(true),
        None => Ok(false),
    }
}

pub(super) fn no_positions(source: &str) -> Error {
    Error::Usage(format!("{source}: no position has a legal move"))
}
