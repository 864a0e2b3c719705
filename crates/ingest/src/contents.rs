//! Detects inputs with the same content by size and hash.

use std::collections::HashMap;
use std::collections::hash_map;

use super::reading::Ending;
use gputexel_dataset::SourceRecord;

/// Contents of the inputs that have been read.
#[derive(Debug, Default)]
pub(crate) struct Contents(HashMap<(u64, u64), String>);

impl Contents {
    /// Processes the end of an input: sets the earlier input with the same content in `record`, if any, and
    /// adds to `warnings`.
    pub fn finish_source(&mut self, ending: &Ending, record: &mut SourceRecord, warnings: &mut Vec<String>) {
        warnings.extend(ending.warnings.iter().cloned());
        record.same_as = ending.content.and_then(|content| match self.0.entry(content) {
            hash_map::Entry::Occupied(earlier) => Some(earlier.get().clone()),
            hash_map::Entry::Vacant(entry) => {
                entry.insert(record.path.clone());
                None
            }
        });
        let repeated =
            |earlier: &String| format!("has the same content as {earlier}: everything in it was read twice");
        warnings.extend(record.same_as.as_ref().map(repeated));
    }
}
