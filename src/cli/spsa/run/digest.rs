//! `gputexel spsa report --openbench`: shows the state of an OpenBench tune.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use gputexel::spsa::lists::{Digest, DigestEntry};
use gputexel::spsa::numbers::shortest_digits;
use serde_json::json;

use super::super::super::context::Context;
use super::super::super::output::print_result;
use super::super::super::table::{aligned, counted};

/// Prints a digest.
///
/// # Errors
/// Files that cannot be read or are not digests.
pub fn report(path: &Path, context: &Context) -> anyhow::Result<()> {
    let digest = Digest::read(path)?;
    let parameters: Vec<_> = digest
        .parameters
        .iter()
        .map(|entry| {
            let mut json = json!(entry);
            json["change_in_c"] = json!(entry.change_in_c());
            json["near_bound"] = json!(entry.near_bound());
            json
        })
        .collect();
    print_result(context, &json!({ "progress": digest.progress(), "parameters": parameters }), || {
        text(path, &digest)
    })
}

fn text(path: &Path, digest: &Digest) -> String {
    let mut out =
        format!("digest      {}: {}\n", path.display(), counted(digest.parameters.len() as u64, "parameter"));
    let _ = match digest.progress() {
        Some(share) => writeln!(
            out,
            "progress    about {:.0} % of the iterations are done, by how far C has fallen (with Gamma 0.101)",
            100.0 * share
        ),
        None => writeln!(
            out,
            "progress    unknown: every C is 0.5, the least that OpenBench takes for whole numbers"
        ),
    };
    let mut rows =
        vec![["parameter", "start", "value", "change", "in C_end", "range", ""].map(str::to_string).to_vec()];
    rows.extend(digest.parameters.iter().map(row));
    out.push('\n');
    out += &aligned(&rows, 0);
    out
}

fn row(entry: &DigestEntry) -> Vec<String> {
    let change = entry.value - entry.start;
    let note = match entry.near_bound() {
        Some(bound) if bound == entry.value => "at its bound".to_string(),
        Some(bound) => format!("less than C_end from {}", shortest_digits(bound)),
        None => String::new(),
    };
    vec![
        entry.name.clone(),
        shortest_digits(entry.start),
        shortest_digits(entry.value),
        signed(change),
        signed(entry.change_in_c()),
        format!("{} to {}", shortest_digits(entry.min), shortest_digits(entry.max)),
        note,
    ]
}

fn signed(value: f64) -> String {
    match value {
        0.0 => "0".to_string(),
        _ if value > 0.0 => format!("+{}", shortest_digits(value)),
        _ => shortest_digits(value),
    }
}
