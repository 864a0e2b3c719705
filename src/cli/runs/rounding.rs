use gputexel::tuning::{Rounding, RoundingOutcome};

use super::super::table::{counted, grouped};

/// Lines about how a result was rounded; `wanted` is the way that was asked for.
pub fn rounding_lines(outcome: &RoundingOutcome, wanted: Rounding) -> String {
    let mut out = String::new();
    if let Some((rounding, rounded)) = &outcome.rounded {
        let share = |loss: f64| format!("{:+.2e}", (loss - rounded.loss_real) / rounded.loss_real);
        out += &format!("rounded     {rounding}: ");
        if *rounding == Rounding::Local {
            let (loss, steps) = (share(rounded.loss), counted(rounded.steps, "step"));
            out += &format!("relative loss {loss}, {steps}; ");
            if let Some(loss) = rounded.loss_successive {
                out += &format!("successive rounding alone {}, ", share(loss));
            }
            out += &format!("naive {}; {:.1} s\n", share(rounded.loss_naive), outcome.seconds);
        } else {
            out += &format!("relative loss {}\n", share(rounded.loss));
            if wanted == Rounding::Local {
                out += "            not local: held-out positions chose these values before the training loss was \
                        minimal; single steps would lead on to there\n";
            }
        }
    }
    let Some(survey) = &outcome.survey else { return out };
    let count = grouped(survey.steps as u64);
    if outcome.exact_steps > 0 {
        out +=
            &format!("exact       {} improved the exact loss\n", counted(outcome.exact_steps, "more step"));
    }
    out += &match (survey.improving.len(), survey.smallest_increase) {
        (0, Some(least)) => format!(
            "verified    none of {count} single steps improves the exact loss (smallest increase {least:.2e}){}\n",
            match survey.untried {
                0 => String::new(),
                rest => format!(
                    "\n            {} more raise it by its slopes; trying them all would have taken too long",
                    grouped(rest as u64)
                ),
            }
        ),
        (0, None) => "verified    there are no single steps to try\n".to_string(),
        (_, _) => String::new(),
    };
    if outcome.rounded.is_none() && survey.improving.is_empty() {
        out += "            this is a local minimum; Gauss-Newton with --round local usually ends lower\n";
    }
    out
}
