//! Conclusions of commands, which terminal, `--json` and page share.

use super::prelude::*;

/// Replaces what HTML escapes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Asserts that a terminal and a page say what `--json` says.
#[track_caller]
pub fn assert_one_conclusion(told: &Value, out: &str, page: Option<&str>) {
    let (words, next) = (told["verdict"]["words"].str(), told["next"].str());
    let warnings = told["findings"].list().iter().filter(|one| one["severity"] == "warning");
    let warnings: Vec<&str> = warnings.map(|one| one["text"].str()).collect();
    assert_has(out, format!("verdict     {words}\n"));
    assert_eq!(out.contains("next        "), !next.is_empty(), "{out}");
    assert_has(out, next);
    assert!(warnings.iter().all(|text| out.contains(&format!("warning     {text}\n"))), "{out}");
    let Some(page) = page else { return };
    // There it is a sentence.
    let sentence = |first: &str| format!("<p>{first}{}.</p>", escaped(&words[1..]).trim_end_matches('.'));
    let found =
        [sentence(&words[..1]), sentence(&words[..1].to_uppercase())].iter().any(|text| page.contains(text));
    assert!(found, "{words}: {page}");
    assert_eq!(page.contains(&format!("<code>{}</code>", escaped(next))), !next.is_empty(), "{next}");
    assert_eq!(page.matches("<ul class=\"warnings\"><li>").count(), usize::from(!warnings.is_empty()));
    assert!(warnings.iter().all(|text| page.contains(&escaped(text))), "{warnings:?}");
}
