//! `gputexel features`: lists the features of a model and the names of its parameters.

use gputexel::chess::PhaseSettings;
use gputexel::model::{FeatureGroup, FeatureKind, FeatureSet};
use serde_json::json;

use super::context::Context;
use super::output::{print_text, write_stdout};
use super::subcommand::Subcommand;
use super::table::{counted, grouped};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every feature has a middlegame and an endgame parameter, such as knight_mobility_4.mg. The names of \
features and groups are the ones used by --freeze, bases, `spsa` and `uci`.\n\n\
Examples:\n  \
gputexel features classical\n  \
gputexel features classical --group knight_mobility --names")]
pub struct FeaturesArgs {
    #[arg(value_name = "MODEL", default_value = "classical", help = format!("Feature set: {}", FeatureKind::names()))]
    model: String,
    /// List only the features of this group, by name
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// List every feature by name, not only the groups
    #[arg(long)]
    names: bool,
}

impl Subcommand for FeaturesArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let set = FeatureSet::new(FeatureKind::parse(&self.model)?, PhaseSettings::default());
        let chosen = self.group.as_deref();
        let mut groups: Vec<(FeatureGroup<'_>, String)> =
            set.groups().into_iter().zip(set.arrangements()).collect();
        groups.retain(|(group, _)| chosen.is_none_or(|chosen| chosen == group.name));
        if groups.is_empty() {
            let group = chosen.unwrap_or_default();
            let text = format!("group '{group}': feature set '{}' has no such group", set.name());
            return Err(gputexel::Error::Usage(text).into());
        }
        if context.json {
            let groups: Vec<FeatureGroup<'_>> = groups.into_iter().map(|(group, _)| group).collect();
            return Ok(write_stdout(&format!("{}\n", json!({ "model": set.name(), "groups": groups })))?);
        }
        if context.quiet {
            return Ok(());
        }
        let count: usize = groups.iter().map(|(group, _)| group.features.len()).sum();
        let mut text = format!(
            "{}: {}, {} parameters\n",
            set.name(),
            counted(count as u64, "feature"),
            grouped(2 * count as u64)
        );
        for (FeatureGroup { name, definition, features }, arrangement) in groups {
            let count = match arrangement.as_str() {
                "" => features.len().to_string(),
                arrangement => format!("{}, {arrangement}", features.len()),
            };
            text += &format!("\n{name} ({count})\n  {definition}\n");
            if self.names || chosen.is_some() {
                for row in features.chunks(8) {
                    text += &format!("    {}\n", row.join(" "));
                }
            }
        }
        Ok(print_text(&text)?)
    }
}
