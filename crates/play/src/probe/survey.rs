//! What an engine's numbers are: found by asking about a few positions, again, mirrored, and under other values.

use std::collections::BTreeMap;

use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::answer::{EvalPattern, Number, has_decimal_comma};
use super::asking::{Ask, Asker, Failed, Source, Way};
use super::linearity::Tester;
use super::output::groups as groups_of;
use super::plan::{Plan, Step, Tree};
use super::positions::{Labeled, Positions};
use super::search::Search;
use gputexel_chess::fen::mirrored;
use gputexel_io::Result;

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
/// Number of sets of values after which a factor common to all evaluations is no coincidence.
const TRIES: usize = 10;
/// Share of positions that may differ once colors are exchanged.
const ASYMMETRIC: f64 = 0.01;

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
        if failed.stopped { Self::Stopped(failed) } else { Self::Because(failed.failure) }
    }
}

fn useless<T>(reason: impl Into<String>) -> Result<T, Useless> {
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
    let every = if matches!(way.ask, Ask::Nodes | Ask::Depth) { 2 } else { 1 };
    let few: Vec<&Labeled> = sample.iter().step_by(every).copied().collect();
    let base = base.into_iter().step_by(every).collect();
    let mut tester = Tester::new(asker, source, way.clone(), &few, base, [resolution_cp, noise_cp], steps);
    let failures = tester.classify_all().map_err(|failed| failed.into_error(source))?;
    let steps = tester.steps;
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
        unmirrored: Vec::new(),
        block,
        per_position: 0.0,
    };
    let before = asker.asked;
    let search = Search::begin(asker, (&plan, way), source, &sample, (0, sample.len()));
    let tally = search.and_then(Search::tallies).map_err(|failed| failed.into_error(source))?.tally;
    let asked = asker.asked - before;
    prune(&mut plan, &tally, asked, sample.len(), source.is_program);
    plan.unmirrored =
        unmirrored(asker, source, &sample, &plan).map_err(|failed| failed.into_error(source))?;
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
) -> Result<Method, Useless> {
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
    let resolution_cp = resolution_cp * common_factor(asker, &way, source, sample, (steps, resolution_cp))?;
    Ok(Method { way, resolution_cp, noise_cp, base })
}

/// Of all evaluations, also under other values, in units of their last digit.
fn common_factor(
    asker: &mut Asker<'_>,
    way: &Way,
    source: &Source,
    sample: &[&Labeled],
    (steps, unit_cp): (&[Step], f64),
) -> Result<f64, Useless> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let (mut values, mut factor) = (source.start(), 0);
    for _ in 0..TRIES {
        match asker.evaluate(way, &values, asked(sample)) {
            Ok(found) => {
                let whole = found.iter().filter(|value| !value.is_nan());
                factor = whole.map(|value| (value / unit_cp).round() as i64).fold(factor, gcd);
            }
            Err(failed) if failed.stopped => return Err(Useless::Stopped(failed)),
            Err(_) => {}
        }
        if factor == 1 {
            break;
        }
        values = moved(source, steps, 0..steps.len() as u32, &mut random);
    }
    Ok(factor.max(1) as f64)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.saturating_abs() } else { gcd(b, a.checked_rem(b).unwrap_or(0)) }
}

/// Some of the parameters, each by another amount.
fn moved(
    source: &Source,
    steps: &[Step],
    which: impl IntoIterator<Item = u32>,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<f64> {
    let mut values = source.start();
    for i in which.into_iter().map(|i| i as usize) {
        let change = steps[i].group * random.random_range(-1.0..1.0);
        let change = if source.parameters[i].integer { change.round() } else { change };
        values[i] = steps[i].towards(values[i], change);
    }
    values
}

/// Groups of parameters that let evaluations of positions with colors exchanged differ, where those under the engine's
/// own values agree.
fn unmirrored(
    asker: &mut Asker<'_>,
    source: &Source,
    sample: &[&Labeled],
    plan: &Plan,
) -> Result<Vec<String>, Failed> {
    let Ok(way) = plan.way() else { return Ok(Vec::new()) };
    let mirrored = sample.iter().filter_map(|one| mirrored(&one.fen).map(|other| (*one, other)));
    let pairs: Vec<(&Labeled, String)> = mirrored.collect();
    let mut differ = |which: &[&[u32]]| -> Result<bool, Failed> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let values = moved(source, &plan.steps, which.concat(), &mut random);
        let own =
            asker.evaluate(&way, &values, pairs.iter().map(|(one, _)| (one.fen.as_str(), one.black)))?;
        let other =
            asker.evaluate(&way, &values, pairs.iter().map(|(one, fen)| (fen.as_str(), !one.black)))?;
        let most = 2.0 * (plan.resolution_cp + plan.noise_cp) + 1e-9;
        let differing = own.iter().zip(&other).filter(|(own, other)| (*own + *other).abs() > most).count();
        Ok(differing as f64 > ASYMMETRIC * pairs.len() as f64)
    };
    // What fails under such values is found out elsewhere.
    let mut differ = |which: &[&[u32]]| match differ(which) {
        Err(failed) if !failed.stopped => Ok(false),
        found => found,
    };
    let names: Vec<&str> = source.parameters.iter().map(|one| one.name.as_str()).collect();
    let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (i, (group, _)) in (0..).zip(groups_of(&names)).filter(|(i, _)| plan.tree.order.contains(i)) {
        groups.entry(group).or_default().push(i);
    }
    let groups: Vec<&[u32]> = groups.values().map(Vec::as_slice).collect();
    let (mut found, mut open) = (Vec::new(), vec![&groups[..]]);
    if differ(&[])? {
        open.clear();
    }
    while let Some(part) = open.pop() {
        match part {
            [] => {}
            part if !differ(part)? => {}
            [group] => found.push(common_name(&names, group)),
            part => {
                let (first, second) = part.split_at(part.len() / 2);
                open.extend([second, first]);
            }
        }
    }
    Ok(found)
}

/// `n_*` for `n_a1` and others.
fn common_name(names: &[&str], group: &[u32]) -> String {
    let first = names[group[0] as usize];
    if group.len() == 1 {
        return first.to_string();
    }
    let starts = |end: usize| group.iter().all(|i| names[*i as usize].starts_with(&first[..end]));
    let ends = first.char_indices().map(|(end, _)| end).take_while(|end| starts(*end));
    format!("{}*", &first[..ends.last().unwrap_or(0)])
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
) -> Result<f64, Useless> {
    let start = source.start();
    let reversed: Vec<&Labeled> = sample.iter().rev().copied().collect();
    let mut twice = |way: &Way| -> Result<[f64; 2], Failed> {
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
fn by_mover(asker: &mut Asker<'_>, way: &Way, source: &Source, sample: &[&Labeled]) -> Result<bool, Useless> {
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
) -> Result<bool, Useless> {
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
