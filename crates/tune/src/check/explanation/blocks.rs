//! Parameters that a single mistake may concern: tables, lines and groups.

use std::collections::HashSet;

use gputexel_model::{Arrangement, FeatureSet, Part, Place};

/// Several parameters that belong together.
pub(super) struct Block {
    /// Its name in quotation marks, with its kind where the name alone is not clear.
    pub name: String,
    pub part: Part,
}

impl Block {
    /// Returns the features in the order in which they are declared.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = u16> + ExactSizeIterator {
        self.part.features.iter().map(|&(id, _)| id as u16)
    }
}

/// Returns the tables with more than one parameter, as they are declared and by group, and the lines.
pub(super) fn blocks(set: &FeatureSet) -> Vec<Block> {
    let parts = set.structure().parts;
    let named = |part: Part| Block { name: format!("'{}'", part.name), part };
    let mut out: Vec<Block> = parts.iter().cloned().map(named).collect();
    out.extend(set.tables().into_iter().map(named));
    for part in &parts {
        if let Arrangement::Lines(lines) = &part.layout {
            out.extend(lines.iter().filter_map(|ids| line(set, ids)));
        }
    }
    for (name, ids) in set.grouped() {
        out.push(Block { name: format!("group '{name}'"), part: plain(name, ids) });
    }
    let mut seen = HashSet::new();
    out.retain(|block| block.part.features.len() > 1 && seen.insert(block.ids().collect::<Vec<u16>>()));
    out
}

fn line(set: &FeatureSet, ids: &[u32]) -> Option<Block> {
    let place = &set.imported.as_ref()?.parameters[*ids.first()? as usize].place;
    let Some(Place::Line(name)) = place else { return None };
    Some(Block { name: format!("line '{name}'"), part: plain(name, ids.to_vec()) })
}

pub(super) fn plain(name: &str, ids: Vec<u32>) -> Part {
    let features = ids.into_iter().map(|id| (id, [true; 2])).collect();
    Part { name: name.to_string(), features, untapered: Vec::new(), layout: Arrangement::None }
}
