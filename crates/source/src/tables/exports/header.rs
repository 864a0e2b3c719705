//! The comment at the top of an export: the origin of the values, for readers and for `import-params`.

use serde::{Deserialize, Serialize};

use super::NameStyle;
use crate::tables::sources::{EXPORT_SIGN, escape_unseen};
use gputexel_chess::PhaseSettings;
use gputexel_model::{ParameterFile, Provenance};

const SIGN: &str = EXPORT_SIGN;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: String,
    pub feature_set: String,
    /// Number of features; 0 if unknown.
    #[serde(default)]
    pub features: usize,
    pub phase: PhaseSettings,
    /// Scale constant K, base-10 form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<f64>,
    /// Style of the names of UCI options, if they differ from those of the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<NameStyle>,
    #[serde(default)]
    pub provenance: Provenance,
}

impl Header {
    pub fn new(file: &ParameterFile, format: &str) -> Self {
        Self {
            format: format.to_string(),
            feature_set: file.feature_set.clone(),
            features: file.parameters.len(),
            phase: file.phase.clone(),
            k: file.k,
            style: None,
            provenance: file.provenance.clone(),
        }
    }

    pub fn lines(&self, file: &ParameterFile) -> Vec<String> {
        let units = match file.program {
            Some(_) => "centipawns, those of accumulators in units of their sums",
            None => "centipawns",
        };
        let mut lines = vec![format!(
            "Evaluation parameters in {units}, written by gputexel {}.",
            env!("CARGO_PKG_VERSION")
        )];
        // Python takes an encoding from the first two lines.
        let PhaseSettings { pawn, knight, bishop, rook, queen, max } = &self.phase;
        let pawn = if *pawn > 0 { format!("pawn {pawn}, ") } else { String::new() };
        let counted = [knight, bishop, rook, queen].into_iter().any(|weight| *weight > 0);
        lines.push(match counted {
            false => format!(
                "Phase: as the trace had it, at most {max}; score = (mg * phase + eg * ({max} - phase)) / {max}, eg times the trace's scale factor where it had one."
            ),
            true => format!(
            "Phase: {pawn}knight {knight}, bishop {bishop}, rook {rook}, queen {queen}, at most {max}; score = (mg * phase + eg * ({max} - phase)) / {max}."
        )});
        if let Some(program) = &file.program {
            let names: Vec<&str> = program.accumulators.iter().map(|one| one.name.as_str()).collect();
            lines.push(escape_unseen(&format!("Not linear: {} are summed up apart.", names.join(", "))));
            lines.extend(program.formulas().iter().map(|formula| escape_unseen(&format!("  {formula}"))));
        }
        let Provenance { datasets, positions, loss, loss_kind, changed, .. } = &self.provenance;
        let mut parts = vec![format!("{} parameters ({})", 2 * file.parameters.len(), self.feature_set)];
        if !datasets.is_empty() {
            parts.push(format!("dataset {}", datasets.join(" + ")));
        }
        if *positions > 0 {
            parts.push(format!("{positions} positions"));
        }
        parts.extend(loss.map(|loss| format!("loss {loss:.8} ({loss_kind})")));
        parts.extend(self.k.map(|k| format!("K {k:.6} (base 10)")));
        lines.push(escape_unseen(&format!("{}.", parts.join(", "))));
        if let Some(changed) = changed {
            lines.push(escape_unseen(&format!("Since then {changed}; the loss is from before.")));
        }
        lines
    }

    pub fn machine(&self) -> String {
        let json = serde_json::to_string(self).expect("plain data serializes");
        format!("{SIGN} {}", escape_unseen(&json))
    }

    /// The machine-readable line of a text: its number from 1, and its contents or what is wrong with them.
    pub fn find(text: &str) -> Option<(u64, Result<Self, String>)> {
        let (number, json) = (1..).zip(text.lines()).find_map(|(number, line)| {
            let line = line.trim_start_matches('\u{feff}').trim_start_matches(['/', '#', ' ']);
            Some((number, line.strip_prefix(SIGN)?))
        })?;
        let wrong =
            |error| format!("'{SIGN}' is followed by something else than this program writes: {error}");
        let header = serde_json::from_str::<Self>(json.trim()).map_err(wrong).and_then(|header| {
            if header.k.is_some_and(|k| !k.is_finite() || k <= 0.0) {
                return Err("k must be positive".into());
            }
            header.phase.validate().map(|()| header).map_err(|error| error.to_string())
        });
        Some((number, header))
    }
}
