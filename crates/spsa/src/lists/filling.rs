//! Planning what a list lacks and another format needs.

use super::{ListEntry, ListFormat, Setting};
use crate::planner::{Advice, Guess, elo_of_curve, gain, too_few};
use crate::settings::check_draw_rate;
use crate::variables::positive;
use gputexel_io::Error;

/// Perturbation at the end where nothing is known: a share of the range, as `tune.py` has it.
const C_END_OF_RANGE: f64 = 1.0 / 20.0;
/// c_end in guessed distances: (19) of arXiv:2205.15602.
const C_END_OF_DISTANCE: f64 = 2.2;

#[derive(Clone, Copy, Debug)]
pub struct FillingPlan {
    pub pairs: u64,
    pub draw_rate: f64,
    /// `None` takes what its `simul_elo` says.
    pub elo: Option<f64>,
}

#[derive(Debug, thiserror::Error)]
pub enum FillingError {
    /// Neither the plan nor the list says what Elo per parameter may gain.
    #[error("{parameter}: what Elo it may gain is not known")]
    UnknownElo { parameter: String },
    #[error(transparent)]
    Other(#[from] Error),
}

/// Gives parameters the settings that `format` needs and they lack: c_end = a 20th of the range, the best
/// value being at a distance of s, or of c_end / 2.2; `r_end` by [`gain`], `s` and `sigma` by [`Advice`].
///
/// # Errors
/// [`FillingError::UnknownElo`] for parameters without Elo; [`Error::Usage`] for parameters without bounds,
/// and for too few games.
pub fn fill(
    entries: &mut [ListEntry],
    format: ListFormat,
    plan: &FillingPlan,
) -> Result<Vec<String>, FillingError> {
    check_draw_rate(plan.draw_rate)?;
    positive("number of pairs", plan.pairs as f64)?;
    if let Some(elo) = plan.elo {
        positive("Elo", elo)?;
    }
    let mut filled: Vec<&'static str> = Vec::new();
    for entry in entries {
        let lacks: Vec<Setting> =
            format.needs().iter().copied().filter(|setting| entry.lacks(*setting)).collect();
        if lacks.is_empty() {
            continue;
        }
        let (Some(min), Some(max)) = (entry.min, entry.max) else {
            let reason = format!("{}: has no bounds, so nothing can be planned", entry.name);
            return Err(Error::Usage(reason).into());
        };
        let usual = C_END_OF_RANGE * (max - min);
        let c_end = entry.c_end.unwrap_or(if entry.integer { usual.max(0.5) } else { usual });
        let distance = entry.s.unwrap_or(c_end / C_END_OF_DISTANCE);
        // What BSPSA was told of the curve of strength says it, too.
        let curve = entry.s.zip(entry.sigma).map(|(s, sigma)| elo_of_curve(s, sigma));
        let known = entry.simul_elo.filter(|elo| *elo > 0.0).map(|elo| elo * (distance / 100.0).powi(2));
        let known = curve.or(known);
        let elo =
            || plan.elo.or(known).ok_or_else(|| FillingError::UnknownElo { parameter: entry.name.clone() });
        let advice = |elo: f64| {
            let name = entry.name.clone();
            let guess = Guess { name, start: entry.start, min, max, integer: entry.integer, distance, elo };
            Advice::new(&guess, plan.pairs, plan.draw_rate).map(|advice| (guess, advice))
        };
        for setting in lacks {
            match setting {
                Setting::CEnd => entry.c_end = Some(c_end),
                Setting::REnd => {
                    let (guess, advice) = advice(elo()?)?;
                    let r_end = gain(plan.pairs as f64, guess.elo, c_end / distance, plan.draw_rate);
                    let r_end = r_end.ok_or_else(|| too_few(&guess, &advice, plan.pairs))?;
                    entry.r_end = Some(r_end);
                }
                Setting::S => entry.s = Some(distance),
                Setting::Sigma => entry.sigma = Some(advice(elo()?)?.1.sigma),
                Setting::Min | Setting::Max | Setting::SimulElo | Setting::Comment => continue,
            }
            if !filled.contains(&setting.name()) {
                filled.push(setting.name());
            }
        }
    }
    Ok(match &filled[..] {
        [] => Vec::new(),
        names => vec![format!("planned: {}", names.join(", "))],
    })
}
