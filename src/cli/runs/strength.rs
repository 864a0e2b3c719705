use gputexel::model::Penalty;
use gputexel::run::Start;
use gputexel::tuning::{HeldOutGain, ScaleMode, StartsRecord, Strength};

use super::super::scale::scale_forms;
use super::super::style::lower_is_better;
use super::super::table::grouped;

pub fn gain_text(gain: &HeldOutGain) -> String {
    let HeldOutGain { before, after, error } = *gain;
    let change = after - before;
    let text = format!("{before:.6} -> {after:.6}, {change:+.6} ± {error:.6}");
    // Changes within the error are not highlighted.
    if change.abs() > error { lower_is_better(change, &text) } else { text }
}

pub fn folds_text(strength: &Strength) -> String {
    let what = if strength.by_game { "games" } else { "positions" };
    format!("{} folds of {} {what}", strength.folds, grouped(strength.clusters))
}

pub fn strength_lines(start: &Start<'_>) -> String {
    let mut out = String::new();
    let Some(strength) = &start.record.strength else {
        let weighted: Vec<&Penalty> = start.record.config.penalties.iter().collect();
        if !weighted.is_empty() {
            let mut kinds: Vec<String> = weighted.iter().map(|penalty| penalty.kind.to_string()).collect();
            kinds.dedup();
            out += &format!("penalties   {} with given weights: {}\n", weighted.len(), kinds.join(", "));
        }
        return out;
    };
    if strength.keeps_prior {
        out += "strength    nothing beats the prior on held-out positions: the prior is kept\n";
    }
    if let Some(gain) = &strength.gain {
        let (folds, gain) = (folds_text(strength), gain_text(gain));
        out += &format!("strength    chosen over {folds}: held-out loss {gain}\n");
    }
    if strength.keeps_prior {
        return out;
    }
    out += "            penalty     weight\n";
    for kind in &strength.kinds {
        let weight = if kind.weight > 0.0 { format!("{:.1e}", kind.weight) } else { "0".to_string() };
        out += &format!("            {:<9} {weight:>8}\n", kind.kind.name());
    }
    let (effective, all) = (strength.effective, grouped(strength.coordinates as u64));
    out += &format!("            {effective:.0} effective of {all} parameters\n");
    if effective < 0.5 {
        out += "            too few games to support any change: the values stay those of the prior\n";
    }
    out
}

/// Line about the starting point, if there was a choice.
pub fn starts_line(start: &Start<'_>) -> String {
    let Some(StartsRecord { losses, best }) = &start.record.starts else { return String::new() };
    let from = match best {
        0 => "the prior".to_string(),
        _ => format!("{:.6} from point {}", losses[*best], best + 1),
    };
    format!(
        "starts      {}, a short fit from each: loss {:.6} from the prior; goes on from {from}\n",
        losses.len(),
        losses[0]
    )
}

pub fn scale_line(start: &Start<'_>) -> String {
    let origin = match (start.record.scale, start.fitted_loss) {
        (Some(scale), _) if scale.mode == ScaleMode::Joint => {
            format!(", fitted with the parameters ({:.6} on the prior)", scale.on_prior)
        }
        (_, Some(loss)) => format!(", fitted on the prior: loss {loss:.6}"),
        _ => String::new(),
    };
    format!("K           {}{origin}\n", scale_forms(start.record.config.k))
}
