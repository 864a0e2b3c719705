//! What `tune` and `apply` say of their work.

use gputexel::patch::{Plan, PlannedBlock};
use gputexel::shown;
use serde_json::{Value, json};

/// One object: blocks, files, parameters.
pub fn plan_json(plan: &Plan, command: &str) -> Value {
    let files: Vec<Value> = plan
        .changes
        .iter()
        .map(
            |change| json!({ "path": change.shown, "new": change.before.is_none(), "params": change.params }),
        )
        .collect();
    json!({ "command": command, "blocks": plan.blocks, "files": files, "params": plan.params, "warnings": plan.warnings })
}

/// A line for each block, and one for the parameters.
pub fn plan_text(plan: &Plan) -> String {
    let mut text: String = plan.blocks.iter().map(block).collect();
    if let Some(params) = &plan.params {
        let count =
            |count: usize, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
        let (new, not_used) = (count(params.new, "new"), count(params.not_used, "not used"));
        text +=
            &format!("{}: {} used{new}{not_used}\n", params.path.display(), plural(params.used, "parameter"));
    }
    text
}

/// `1 block`, `2 blocks`.
pub fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `search.cpp:10: fm: tuned, fm_1 = 100, fm_2 = 30 (was 25)`.
fn block(block: &PlannedBlock) -> String {
    let line = block.source_line.map(|line| format!(":{line}")).unwrap_or_default();
    let name = if block.name.is_empty() { "unnamed" } else { &block.name };
    let mut values = String::new();
    for value in &block.values {
        let same = value.before == value.value || value.before == value.name || value.before.is_empty();
        let was = if same { String::new() } else { format!(" (was {})", shown(&value.before)) };
        values += &format!(", {} = {}{was}", shown(&value.name), shown(&value.value));
    }
    format!("{}{line}: {}: {}{values}\n", block.file.display(), shown(name), block.action)
}
