//! Result of a run, for machines: the object printed by `--json`.

use gputexel_io::median;
use gputexel_tune::{ErrorStatus, Polish, ProgramDiagnostics, RoundingOutcome, TermDiagnostics};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::tuned::{SwarmLosses, Tuned};
use crate::uncertainty::{Answer, Findings};

/// Summarizes a run. Losses are exact, and without regularization unless their names say otherwise.
pub fn run_summary(tuned: &Tuned) -> Value {
    let (outcome, config) = (&tuned.outcome, tuned.config());
    let is_swarm = config.optimizer.swarms().is_some();
    let mut out = Object::default();
    out.put("folder", &tuned.folder);
    out.put("positions", tuned.positions);
    out.put("k", config.k);
    if is_swarm {
        let losses = tuned.swarm_losses.map(|SwarmLosses { original, best }| (original, best)).unzip();
        let basis = config.parameterization().name;
        out.extend(json!({ "basis": basis, "original": losses.0, "swarm": losses.1 }));
    }
    out.put("loss_before", tuned.loss_before);
    out.put("loss", tuned.loss);
    out.put_known("regularized_loss", tuned.regularized_loss());
    out.put("held_out_before", tuned.held_out_before);
    out.put("held_out", tuned.held_out);
    out.extend(match is_swarm {
        true => json!({ "iterations": outcome.epochs }),
        false => json!({ "score_ratio": tuned.score_ratio, "epochs": outcome.epochs }),
    });
    out.put("seconds", outcome.seconds);
    out.put("reason", outcome.reason);
    out.put("optimizer", &outcome.optimizer);
    if is_swarm {
        swarm_details(&mut out, tuned)
    } else {
        details(&mut out, tuned)
    }
    out.extend(json!(tuned.conclusion()));
    Value::Object(out.0)
}

#[derive(Default)]
struct Object(Map<String, Value>);

impl Object {
    fn put(&mut self, name: &str, value: impl Serialize) {
        self.0.insert(name.to_string(), json!(value));
    }

    fn put_known(&mut self, name: &str, value: Option<impl Serialize>) {
        value.into_iter().for_each(|value| self.put(name, value));
    }

    fn extend(&mut self, object: Value) {
        if let Value::Object(fields) = object {
            self.0.extend(fields);
        }
    }
}

/// Adds what only runs of `tune` have.
fn details(out: &mut Object, tuned: &Tuned) {
    let member = |(optimizer, best): &(String, f64)| json!({ "optimizer": optimizer, "best": best });
    out.put("best_epoch", tuned.outcome.best_epoch);
    out.put("members", tuned.outcome.members.iter().map(member).collect::<Vec<_>>());
    out.put_known("pieces", Some(tuned.pieces()).filter(|pieces| !pieces.is_empty()));
    out.put_known("constant_term", tuned.constant_term.as_ref());
    out.put("unsupported", tuned.unsupported());
    out.put("filled", tuned.filled());
    out.put("weak", tuned.weak());
    out.put_known("uncertainty", uncertainty(tuned));
    rounding(out, tuned.rounding.as_ref());
    if let Some((blend, record)) = tuned.config().blend.zip(tuned.record.blend) {
        let mut fields = Object::default();
        let against = tuned.against_results;
        fields.extend(json!({ "share": blend.share, "k": blend.k, "against_results": against }));
        fields.extend(json!(record));
        out.put("blend", fields.0);
    }
    out.put_known("strength", tuned.record.strength.as_ref());
    out.put_known("program", tuned.program.as_ref().map(program));
}

fn swarm_details(out: &mut Object, tuned: &Tuned) {
    let basis = tuned.config().parameterization();
    let named = basis.coordinates.iter().zip(&tuned.outcome.z);
    out.put("best_iteration", tuned.outcome.best_epoch);
    out.put("polish", tuned.polish.as_ref().map(polish));
    let coordinates: Map<String, Value> =
        named.map(|(coordinate, z)| (coordinate.name.clone(), json!(z))).collect();
    out.put("coordinates", coordinates);
    out.put_known("uncertainty", uncertainty(tuned));
    rounding(out, tuned.rounding.as_ref());
}

fn rounding(out: &mut Object, outcome: Option<&RoundingOutcome>) {
    let Some(RoundingOutcome { rounded, exact_steps, survey, seconds }) = outcome else { return };
    let rounding = rounded.as_ref().map(|(method, rounded)| {
        json!({
            "method": method, "loss_real": rounded.loss_real, "loss_naive": rounded.loss_naive,
            "loss_successive": rounded.loss_successive, "loss": rounded.loss, "steps": rounded.steps,
            "seconds": seconds,
        })
    });
    out.put_known("rounding", rounding);
    let single_steps = survey.as_ref().map(|survey| {
        json!({
            "count": survey.steps, "untried": survey.untried, "improving": survey.improving.len(),
            "smallest_increase": survey.smallest_increase, "without_effect": survey.without_effect,
            "taken_exactly": exact_steps, "seconds": seconds,
        })
    });
    out.put_known("single_steps", single_steps);
}

/// Summarizes polishing, whose losses include regularization.
fn polish(polish: &Polish) -> Value {
    json!({
        "swarm": polish.swarm, "optimum": polish.optimum, "loss": polish.polished,
        "closed": polish.closed(), "refused": polish.refused, "seconds": polish.seconds,
    })
}

/// Summarizes the nonlinear parts of an evaluation. Pairs have the prior's first.
fn program(program: &ProgramDiagnostics) -> Value {
    let term = |term: &TermDiagnostics| {
        let activity = &term.activity;
        json!({
            "formula": term.formula, "active": [activity[0].share(), activity[1].share()],
            "dead": [activity[0].is_dead(), activity[1].is_dead()],
        })
    };
    let mut out = Object::default();
    out.put("worth", &program.worth);
    out.put("terms", program.terms.iter().map(term).collect::<Vec<_>>());
    let factor = program.factor.as_ref().map(
        |factor| json!({ "mean": factor.histogram.means, "at_min": factor.at_min, "at_max": factor.at_max }),
    );
    out.put_known("factor", factor);
    Value::Object(out.0)
}

fn uncertainty(tuned: &Tuned) -> Option<Value> {
    match &tuned.uncertainty {
        Answer::None => None,
        Answer::LeftOut(reason) => Some(json!({ "left_out": reason })),
        Answer::Found(found) => Some(errors(found, tuned)),
    }
}

fn errors(findings: &Findings, tuned: &Tuned) -> Value {
    let sandwich = &findings.sandwich;
    let (estimated, beyond) = findings.beyond(&tuned.config().prior_theta, tuned.parameters());
    let mut errors: Vec<f64> = sandwich.theta.iter().flatten().copied().collect();
    let mut out = Object::default();
    out.extend(json!({
        "clusters": sandwich.clusters,
        "clustered_by": if sandwich.by_game { "game" } else { "position" },
        "curvature": sandwich.curvature,
        "undetermined": sandwich.undetermined,
        "estimated": estimated,
        "unsupported": findings.count(ErrorStatus::Unsupported),
        "ineffective": findings.count(ErrorStatus::Ineffective),
        "rare": findings.count(ErrorStatus::Rare),
        "at_bound": findings.count(ErrorStatus::AtBound),
        "not_determined": sandwich.not_determined,
        "median_error": median(&mut errors),
        "beyond_two_errors": beyond,
        "off_optimum": findings.off_optimum(),
    }));
    out.put_known("prior_share", findings.prior_share());
    let bootstrap = findings.bootstrap.as_ref().map(|bootstrap| {
        json!({
            "members": bootstrap.members, "used": bootstrap.used, "unfinished": bootstrap.unfinished,
            "evaluations": bootstrap.evaluations, "seed": findings.seed,
            "ratio": median(&mut findings.ratios()),
        })
    });
    out.put_known("bootstrap", bootstrap);
    Value::Object(out.0)
}
