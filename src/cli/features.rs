//! `gputexel features`: what a feature set counts, and what its parameters are called.

use std::fmt::Write as _;

use gputexel::chess::PhaseSettings;
use gputexel::model::{FeatureKind, FeatureSet};
use serde_json::{Value, json};

use super::table::grouped;
use super::{Context, say};

/// Flags of `features`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every feature has a middlegame and an endgame parameter, such as knight_mobility_4.mg. The names of \
features and groups are the ones used by --freeze, bases, `spsa` and `uci`.")]
pub struct FeaturesArgs {
    /// The feature set: pst, material or classical
    #[arg(value_name = "MODEL", default_value = "classical")]
    model: String,
    /// List only the features of this group, by name
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// List every feature by name, not only the groups
    #[arg(long)]
    names: bool,
}

/// Runs `features`.
///
/// # Errors
/// [`gputexel::Error::Usage`] for feature sets and groups that there are not.
pub fn run(args: &FeaturesArgs, context: &Context) -> anyhow::Result<()> {
    let set = FeatureSet::new(FeatureKind::parse(&args.model)?, PhaseSettings::default());
    let chosen = args.group.as_deref();
    let groups: Vec<_> = set
        .features
        .chunk_by(|a, b| a.group == b.group)
        .filter(|g| chosen.is_none_or(|c| c == g[0].group))
        .collect();
    if groups.is_empty() {
        let group = chosen.unwrap_or_default();
        let text = format!("group '{group}': feature set '{}' has no such group", set.name());
        return Err(gputexel::Error::Usage(text).into());
    }
    let definition = |group: &str| set.definition(group).unwrap_or_default();
    if context.json {
        let groups: Vec<Value> = groups
            .iter()
            .map(|features| {
                let names: Vec<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
                let name = &features[0].group;
                json!({ "name": name, "definition": definition(name), "features": names })
            })
            .collect();
        return Ok(say(&format!("{}\n", json!({ "model": set.name(), "groups": groups })))?);
    }
    let count: usize = groups.iter().map(|features| features.len()).sum();
    let mut text = format!(
        "{}: {} features, {} parameters\n",
        set.name(),
        grouped(count as u64),
        grouped(2 * count as u64)
    );
    for features in groups {
        let name = &features[0].group;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{name} ({})\n  {}", features.len(), definition(name));
        if args.names || chosen.is_some() {
            for row in features.chunks(8) {
                let names: Vec<&str> = row.iter().map(|feature| feature.name.as_str()).collect();
                let _ = writeln!(text, "    {}", names.join(" "));
            }
        }
    }
    Ok(say(&text)?)
}
