//! Why a run ended, with the flags that control it, and which loss it minimized.

use gputexel::io::weight_text;
use gputexel::model::Penalty;
use gputexel::run::Tuned;
use gputexel::tuning::{RunConfig, ScaleMode, StopReason};

use super::super::style::lower_is_better;
use super::super::table::counted;

pub fn reason_text(reason: StopReason, config: &RunConfig) -> String {
    let stopping = &config.stopping;
    let is_swarm = config.optimizer.swarms().is_some();
    match reason {
        StopReason::Epochs if is_swarm => {
            format!("iteration limit reached (--iterations {})", stopping.epochs)
        }
        StopReason::Epochs => format!("epoch limit reached (--epochs {})", stopping.epochs),
        StopReason::Time => {
            format!("time limit reached (--time {})", stopping.seconds.unwrap_or_default())
        }
        StopReason::Gradient => "converged: the gradient is 0".to_string(),
        StopReason::Improvement => format!(
            "converged: relative improvement of the loss below {:e} over {} (--improvement)",
            stopping.improvement,
            counted(stopping.window, "epoch")
        ),
        StopReason::HeldOut => {
            format!("no better held-out loss in {} (--patience)", counted(stopping.patience, "epoch"))
        }
        StopReason::Converged => match config.optimizer.spec().converged {
            "" => "converged".to_string(),
            meaning => format!("converged: {meaning}"),
        },
        StopReason::Interrupted => "interrupted".to_string(),
    }
}

pub fn change_text(before: f64, after: f64) -> String {
    let text = format!("{before:.10} -> {after:.10} ({:+.3} %)", 100.0 * (after - before) / before);
    lower_is_better(after - before, &text)
}

/// Line about the regularized loss that a run minimizes; empty without regularization.
pub fn regularized_line(tuned: &Tuned) -> String {
    let (Some(before), Some(after)) = (tuned.loss_before, tuned.regularized_loss()) else {
        return String::new();
    };
    match active_text(tuned.config(), tuned.outcome.best_member) {
        // The best of several runs may have no weight.
        active if active.is_empty() => String::new(),
        active => format!("regularized {}: loss plus {active}\n", change_text(before, after)),
    }
}

/// Describes the regularization of a run; empty if there is none.
fn active_text(config: &RunConfig, member: usize) -> String {
    let mut parts = Vec::new();
    let l2 = config.l2(member);
    if l2 > 0.0 {
        parts.push(format!("L2 {}", weight_text(l2)));
    }
    let active: Vec<&Penalty> = config.penalties.iter().filter(|penalty| penalty.weight > 0.0).collect();
    if !active.is_empty() {
        let mut kinds: Vec<String> = Vec::new();
        for kind in active.iter().map(|penalty| penalty.kind.to_string()) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let noun = if kinds.len() == 1 { "penalty" } else { "penalties" };
        parts.push(format!("{noun} {}", kinds.join(", ")));
    }
    parts.join(" and ")
}

/// Lines about a K that was fitted with the parameters: the prior's loss at each K.
pub fn joint_lines(tuned: &Tuned) -> String {
    let mut out = String::new();
    if let (Some(scale), Some(loss)) = (tuned.record.scale, tuned.loss_at_prior_k)
        && scale.mode == ScaleMode::Joint
    {
        out += &format!(
            "            both at K {:.6}; the prior has {loss:.10} at the K fitted on it, {:.6}\n",
            tuned.config().k,
            scale.on_prior
        );
    }
    out
}
