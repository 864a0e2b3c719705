//! Flags that give the scale constant, and K in all its forms.

use gputexel::objective::ScaleForms;
use gputexel::{Error, Result};

/// The scale constant in the forms in which tuners write it.
#[derive(Debug, clap::Args)]
#[group(id = "Scale", multiple = false)]
pub struct ScaleArgs {
    /// K of 1 / (1 + 10^(-K s / 400)) [default: fitted on the prior]
    #[arg(long, value_name = "K", help_heading = "Objective")]
    k: Option<f64>,
    /// K of 1 / (1 + e^(-K s / 400)), as in texel-tuner and Ethereal
    #[arg(long, value_name = "K", help_heading = "Objective")]
    k_e: Option<f64>,
    /// Scale of 1 / (1 + 10^(-s / scale)), as in MadChess
    #[arg(long, value_name = "SCALE", help_heading = "Objective")]
    win_scale: Option<f64>,
    /// Scale of 1 / (1 + e^(-s / scale)), as in pliers
    #[arg(long, value_name = "SCALE", help_heading = "Objective")]
    e_scale: Option<f64>,
}

/// K that is told apart: beyond, every score is a draw or decides the game.
const SCALES: (f64, f64) = (1e-4, 1e4);

impl ScaleArgs {
    /// K in base-10 form, if it was given.
    ///
    /// # Errors
    /// [`Error::Usage`] for numbers that are not finite and positive.
    pub fn k(&self) -> Result<Option<f64>> {
        let ln10 = std::f64::consts::LN_10;
        let forms = [
            ("--k", self.k, self.k),
            ("--k-e", self.k_e, self.k_e.map(|k| k / ln10)),
            ("--win-scale", self.win_scale, self.win_scale.map(|scale| 400.0 / scale)),
            ("--e-scale", self.e_scale, self.e_scale.map(|scale| 400.0 / (scale * ln10))),
        ];
        for (flag, given, k) in forms {
            if let (Some(given), Some(k)) = (given, k) {
                if !(k.is_finite() && k > 0.0 && given.is_finite()) {
                    return Err(Error::Usage(format!("{flag} {given}: must be a positive number")));
                }
                if !(SCALES.0..=SCALES.1).contains(&k) {
                    let (low, high) = SCALES;
                    return Err(Error::Usage(format!(
                        "{flag} {given}: corresponds to {k:e} in base-10 form, which must be from {low} to {high}"
                    )));
                }
                return Ok(Some(k));
            }
        }
        Ok(None)
    }
}

/// K in all forms, for people.
pub fn scale_forms(k: f64) -> String {
    let forms = ScaleForms::new(k);
    format!(
        "{:.6} base 10 = {:.6} base e = win scale {:.2} (MadChess) = scale {:.2} (pliers)",
        forms.k, forms.k_e, forms.win_scale, forms.e_scale
    )
}
