//! Flags that give the scale constant, and K in all its forms.

use gputexel::Result;
use gputexel::objective::{GivenScale, ScaleForms};

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

impl ScaleArgs {
    /// K in base-10 form, if it was given.
    ///
    /// # Errors
    /// Those of [`GivenScale::k`].
    pub fn k(&self) -> Result<Option<f64>> {
        let given = [
            self.k.map(GivenScale::K),
            self.k_e.map(GivenScale::KE),
            self.win_scale.map(GivenScale::WinScale),
            self.e_scale.map(GivenScale::EScale),
        ];
        given.into_iter().flatten().next().map(GivenScale::k).transpose()
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
