//! What a command found out: its verdict, its findings and the command to type next. Computed once, stored in the record,
//! and shown alike by the terminal, `--json` and the page.

use std::path::Path;

use gputexel_io::escaped;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    pub verdict: Verdict,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// The command to type next; empty if there is none.
    pub next: String,
}

impl Conclusion {
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let warnings = self.findings.iter().filter(|finding| finding.severity == Severity::Warning);
        warnings.map(|finding| finding.text.as_str())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub judgement: Judgement,
    /// The figure that it rests on, such as `Held-out error −3.7 % ± 0.5 %`.
    pub figure: String,
    /// What the figure was measured on, such as `5 folds of games`; empty if nothing was held out.
    pub measured_on: String,
    pub words: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    Better,
    /// Not distinguishable.
    Same,
    Worse,
    /// There are too few games or positions to tell.
    TooLittle,
    /// The positions do not allow a judgement: the words say why.
    CannotBeJudged,
    #[default]
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub severity: Severity,
    /// A sentence without a full stop.
    pub text: String,
    /// All names and values that it is about, where the text has only some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

impl Finding {
    /// Creates a warning, which is always shown.
    pub fn warning(kind: FindingKind, text: impl Into<String>, evidence: Vec<String>) -> Self {
        Self { kind, severity: Severity::Warning, text: text.into(), evidence }
    }

    /// Creates a note, which the terminal shows if asked for details.
    pub fn note(kind: FindingKind, text: impl Into<String>, evidence: Vec<String>) -> Self {
        Self { kind, severity: Severity::Note, text: text.into(), evidence }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Note,
    /// The result should not be used without thinking of it.
    Warning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Features do not add up to the evaluations that the engine printed.
    WrongTrace,
    MostlyDrawn,
    RepeatedGames,
    PieceFell,
    /// The prior's tables are relative to piece values that the engine has elsewhere.
    RelativeTables,
    /// The engine that was probed is not linear in its parameters.
    NotLinear,
    /// Much of the gain is that of a term that all positions have.
    ConstantTerm,
    /// Single steps would still lower the loss.
    NotOptimal,
    /// Whole numbers are wanted, and not all values are.
    Fractions,
    AtBound,
    NeverOccurs,
    SeldomToMove,
    Rare,
    FarFromPrior,
    NoErrors,
    /// Errors rest on the Gauss–Newton matrix, because the values are at no minimum.
    NoMinimum,
    /// Values are several errors from the optimum.
    OffOptimum,
    /// Resamples of the bootstrap did not converge, or drew nothing.
    Bootstrap,
    /// A factor of a nonlinear evaluation is often at its smallest or largest value.
    FactorAtLimit,
    /// A term of a nonlinear evaluation is hardly ever active.
    DeadTerm,
    EngineFailed,
    IgnoresLimit,
    NotCounted,
}

/// Quotes a path for a shell if it has characters that a shell would change.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:,+@%=".contains(c);
    match !path.is_empty() && path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", escaped(&path).replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_shells() {
        let text = |path: &str| quoted(Path::new(path));
        assert_eq!([text("runs/a"), text("a b"), text("it's")], ["runs/a", "'a b'", "'it'\\''s'"]);
    }
}
