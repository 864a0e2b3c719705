//! The constants of a model as a file, and as text for engines.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use gputexel_io::{Error, Result, SETTINGS_BYTES, read_whole_text};
use serde::{Deserialize, Serialize};

use crate::wdl::fit::MAX_DEGREE;
use crate::wdl::model::WdlModel;
use crate::wdl::variable::Variable;

/// The constants of a model; `wdl.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// The model.
    pub model: WdlModel,
}

/// The fields of the file. Stockfish's fitting script reads these names as `--NormalizeData`; its arrays descend.
#[derive(Serialize, Deserialize)]
struct File {
    #[serde(rename = "momType")]
    by: Variable,
    #[serde(rename = "momMin")]
    low: u16,
    #[serde(rename = "momMax")]
    high: u16,
    #[serde(rename = "momTarget")]
    target: u16,
    #[serde(rename = "as")]
    a: Vec<f64>,
    /// Missing where a file only normalizes.
    #[serde(rename = "bs", default)]
    b: Vec<f64>,
}

/// A way of writing constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantsFormat {
    /// C++.
    Cpp,
    /// Rust.
    Rust,
    /// Lines of `setoption`.
    Uci,
    /// JSON, as in `wdl.json`.
    Json,
}

impl ConstantsFormat {
    /// Returns the name of its file in a folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Cpp => "wdl.hpp",
            Self::Rust => "wdl.rs",
            Self::Uci => "wdl.uci",
            Self::Json => "wdl.json",
        }
    }
}

gputexel_io::names!(ConstantsFormat setting "to": Cpp "cpp", Rust "rust", Uci "uci", Json "json");

/// Returns the coefficients of a cubic, highest power first.
fn descending(coefficients: &[f64]) -> Vec<f64> {
    let zeros = std::iter::repeat_n(0.0, (MAX_DEGREE + 1).saturating_sub(coefficients.len()));
    zeros.chain(coefficients.iter().rev().copied()).collect()
}

impl Constants {
    /// Reads a file of constants: a `wdl.json`, or a file for `--NormalizeData` of Stockfish's fitting script, which
    /// contains no b.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, [`Error::Input`] when it is not of this format or a is not positive.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_whole_text(path, SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
        let file: File = serde_json::from_str(&text)
            .map_err(|error| Error::json(path, "the constants of a WDL model", &error))?;
        let wrong = |why: String| Err(Error::input(path, why));
        let File { by, low, high, target, mut a, mut b } = file;
        if a.is_empty() || a.len() > MAX_DEGREE + 1 || b.len() > MAX_DEGREE + 1 {
            return wrong("must have 1 to 4 numbers as \"as\", and at most 4 as \"bs\"".to_string());
        }
        if low > high || target == 0 {
            return wrong("the range must ascend, and the target must not be 0".to_string());
        }
        a.reverse();
        b.reverse();
        let model = WdlModel { by, range: (low, high), target, a, b };
        for m in low..=high {
            let (a, b) = model.curves(f64::from(m));
            let positive = |x: f64| x.is_finite() && x > 0.0;
            if !positive(a) || !(model.b.is_empty() || positive(b)) {
                return wrong(format!("a and b must be positive, and are not at {by} {m}"));
            }
        }
        Ok(Self { model })
    }

    /// Returns the constants as text in a format, ending with a line break.
    pub fn text(&self, format: ConstantsFormat) -> String {
        let model = &self.model;
        let (by, (low, high), target) = (model.by, model.range, model.target);
        let [a, b] = [&model.a, &model.b].map(|of| descending(of));
        let list = |of: &[f64]| of.iter().map(|c| format!("{c:.8}")).collect::<Vec<_>>().join(", ");
        let pawn = model.pawn_value().round();
        let about = match by {
            Variable::Material => "pawns + 3 knights + 3 bishops + 5 rooks + 9 queens of both sides",
            Variable::Move => "number of the move",
            Variable::Ply => "plies since the start of the game",
        };
        let mut out = String::new();
        match format {
            ConstantsFormat::Json => {
                let file = File { by, low, high, target, a, b };
                out = serde_json::to_string(&file).unwrap_or_default() + "\n";
            }
            ConstantsFormat::Cpp => {
                let _ = write!(
                    out,
                    "// W(x) = 1 / (1 + exp((a - x) / b)), L(x) = W(-x); a and b are cubic in m / {target}, where m is\n\
                     // {by}: {about}, clamped to {low}..{high}.\n\
                     // Scores are in the engine's units; a wins half of the games.\n\
                     constexpr int    WdlMin = {low}, WdlMax = {high};\n\
                     constexpr double WdlTarget = {target}.0;\n\
                     constexpr double WdlAs[] = {{{}}};\n\
                     constexpr double WdlBs[] = {{{}}};\n\
                     constexpr int    NormalizeToPawnValue = {pawn:.0};\n",
                    list(&a),
                    list(&b)
                );
            }
            ConstantsFormat::Rust => {
                let _ = write!(
                    out,
                    "// W(x) = 1 / (1 + exp((a - x) / b)), L(x) = W(-x); a and b are cubic in m / {target}, where m is\n\
                     // {by}: {about}, clamped to {low}..={high}.\n\
                     // Scores are in the engine's units; a wins half of the games.\n\
                     pub const WDL_RANGE: std::ops::RangeInclusive<i32> = {low}..={high};\n\
                     pub const WDL_TARGET: f64 = {target}.0;\n\
                     pub const WDL_AS: [f64; 4] = [{}];\n\
                     pub const WDL_BS: [f64; 4] = [{}];\n\
                     pub const NORMALIZE_TO_PAWN_VALUE: i32 = {pawn:.0};\n",
                    list(&a),
                    list(&b)
                );
            }
            ConstantsFormat::Uci => {
                let options = [("WdlMin", low), ("WdlMax", high), ("WdlTarget", target)];
                for (name, value) in options {
                    let _ = writeln!(out, "setoption name {name} value {value}");
                }
                for (name, coefficients) in [("WdlA", &a), ("WdlB", &b)] {
                    for (power, c) in (0..coefficients.len()).rev().zip(coefficients) {
                        let _ = writeln!(out, "setoption name {name}{power} value {c:.8}");
                    }
                }
                let _ = writeln!(out, "setoption name NormalizeToPawnValue value {pawn:.0}");
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants() -> Constants {
        let model = WdlModel {
            by: Variable::Material,
            range: (17, 78),
            target: 58,
            a: vec![301.25, -50.5, 20.0],
            b: vec![60.0],
        };
        Constants { model }
    }

    #[test]
    fn files_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wdl.json");
        let constants = constants();
        std::fs::write(&path, constants.text(ConstantsFormat::Json)).unwrap();
        let read = Constants::read(&path).unwrap();
        for m in 17..=78 {
            assert_eq!(read.model.curves(f64::from(m)), constants.model.curves(f64::from(m)));
        }
        // Files for Stockfish's script have no b.
        let theirs = r#"{"momType": "move", "momMin": 11, "momMax": 120, "momTarget": 32, "as": [0.4, -2.8, 23.2, 307.4]}"#;
        std::fs::write(&path, theirs).unwrap();
        assert!((Constants::read(&path).unwrap().model.pawn_value() - 328.2).abs() < 1e-9);
        for bad in [
            "",
            "{}",
            r#"{"momType": "material", "momMin": 17, "momMax": 78, "momTarget": 58, "as": []}"#,
            r#"{"momType": "material", "momMin": 17, "momMax": 78, "momTarget": 58, "as": [-5.0]}"#,
            r#"{"momType": "material", "momMin": 17, "momMax": 78, "momTarget": 0, "as": [5.0]}"#,
            r#"{"momType": "material", "momMin": 78, "momMax": 17, "momTarget": 58, "as": [5.0]}"#,
        ] {
            std::fs::write(&path, bad).unwrap();
            let error = Constants::read(&path).unwrap_err().to_string();
            assert!(error.contains("wdl.json"), "{error}");
        }
    }

    #[test]
    fn texts_have_four_coefficients_highest_power_first() {
        let constants = constants();
        let cpp = constants.text(ConstantsFormat::Cpp);
        assert!(cpp.contains("WdlAs[] = {0.00000000, 20.00000000, -50.50000000, 301.25000000};"), "{cpp}");
        assert!(cpp.contains("NormalizeToPawnValue = 271;"), "{cpp}");
        let rust = constants.text(ConstantsFormat::Rust);
        assert!(
            rust.contains("WDL_BS: [f64; 4] = [0.00000000, 0.00000000, 0.00000000, 60.00000000];"),
            "{rust}"
        );
        let uci = constants.text(ConstantsFormat::Uci);
        assert!(uci.contains("setoption name WdlA0 value 301.25000000\n"), "{uci}");
        assert_eq!(uci.lines().count(), 12);
        for format in ConstantsFormat::ALL {
            assert_eq!(format.name().parse::<ConstantsFormat>().unwrap(), format);
        }
    }
}
