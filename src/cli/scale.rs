//! Flags for the scale constant, and K in all its forms.

use gputexel::objective::{GivenScale, ScaleForms};
use gputexel::tuning::ScaleMode;
use gputexel::{Error, Result};

/// The scale constant in the forms used by tuners.
#[derive(Debug, clap::Args)]
#[group(id = "Scale", multiple = false)]
pub struct ScaleArgs {
    /// K of 1 / (1 + 10^(-K s / 400)), or how to fit it: prior (on the prior); joint (with the parameters, so that
    /// scores keep the scale of the prior's; tune only); auto (joint if the scale of scores would otherwise change)
    /// [default: auto for tune, otherwise prior]
    #[arg(long, value_name = "K", help_heading = "Objective")]
    k: Option<Scale>,
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

#[derive(Clone, Copy, Debug)]
enum Scale {
    Given(f64),
    Fitted(ScaleMode),
}

impl std::str::FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.parse::<f64>(), text.parse::<ScaleMode>()) {
            (Ok(k), _) => Ok(Self::Given(k)),
            (_, Ok(mode)) => Ok(Self::Fitted(mode)),
            _ => Err("expected a number, auto, prior or joint".to_string()),
        }
    }
}

impl ScaleArgs {
    pub fn mode(&self) -> Option<ScaleMode> {
        match self.k {
            Some(Scale::Fitted(mode)) => Some(mode),
            _ => None,
        }
    }

    /// Returns K in base-10 form if given, for commands that can fit it on the prior only.
    pub fn k(&self) -> Result<Option<f64>> {
        match self.mode() {
            None | Some(ScaleMode::Prior) => self.given(),
            Some(_) => {
                Err(Error::Usage("--k auto and joint only apply to tune, and not to swarms".to_string()))
            }
        }
    }

    pub fn given(&self) -> Result<Option<f64>> {
        let number = match self.k {
            Some(Scale::Given(k)) => Some(k),
            _ => None,
        };
        let given = [
            number.map(GivenScale::K),
            self.k_e.map(GivenScale::KE),
            self.win_scale.map(GivenScale::WinScale),
            self.e_scale.map(GivenScale::EScale),
        ];
        given.into_iter().flatten().next().map(GivenScale::k).transpose()
    }
}

pub fn scale_forms(k: f64) -> String {
    let forms = ScaleForms::new(k);
    format!(
        "{:.6} base 10 = {:.6} base e = win scale {:.2} (MadChess) = scale {:.2} (pliers)",
        forms.k, forms.k_e, forms.win_scale, forms.e_scale
    )
}
