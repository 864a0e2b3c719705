//! Findings, verdict and next command, as all commands print them.

use gputexel::report::{Conclusion, Finding, Judgement, Severity, Verdict};
use serde_json::{Value, json};

use super::style::{bad, good};

/// Formats the warnings, and the notes if `all` is true.
pub fn findings(conclusion: &Conclusion, all: bool) -> String {
    let line = |finding: &Finding| match finding.severity {
        Severity::Warning => Some(format!("warning     {}\n", finding.text)),
        Severity::Note if all => Some(format!("note        {}\n", finding.text)),
        Severity::Note => None,
    };
    conclusion.findings.iter().filter_map(line).collect()
}

pub fn verdict(Verdict { judgement, words, .. }: &Verdict) -> String {
    let words = match judgement {
        Judgement::Better => &good(words),
        Judgement::TooLittle | Judgement::CannotBeJudged | Judgement::Worse => &bad(words),
        Judgement::Same | Judgement::Unknown => words,
    };
    format!("verdict     {words}\n")
}

pub fn next(conclusion: &Conclusion) -> String {
    match conclusion.next.as_str() {
        "" => String::new(),
        next => format!("next        {next}\n"),
    }
}

pub fn ending(conclusion: &Conclusion) -> String {
    verdict(&conclusion.verdict) + &next(conclusion)
}

pub fn add(object: &mut Value, conclusion: &Conclusion) {
    if let (Some(object), Value::Object(parts)) = (object.as_object_mut(), json!(conclusion)) {
        object.extend(parts);
    }
}
