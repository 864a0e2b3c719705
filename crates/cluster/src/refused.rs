//! Results that came back and were not used: counted by reason, with the names that senders claim.

use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of names; further senders are counted together.
const MAX_NAMES: usize = 20;

/// Results that were refused, and workers that declined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedResults {
    /// Messages that are not results.
    pub unreadable: u64,
    /// Results of work that their sender was not given, by the name that it claims.
    pub forged: BTreeMap<String, u64>,
    /// Results whose games cannot have been played, by worker.
    pub impossible: BTreeMap<String, u64>,
    /// Results of pairs that already had one, or are no longer wanted.
    pub late: u64,
    /// Work that workers declined, by worker and reason.
    pub declined: BTreeMap<String, u64>,
}

impl RefusedResults {
    /// Counts one more of a name; returns true if it is the first.
    pub(crate) fn count(names: &mut BTreeMap<String, u64>, name: String) -> bool {
        let known = names.contains_key(&name);
        let place = if known || names.len() < MAX_NAMES { name } else { "others".to_string() };
        let count = names.entry(place).or_default();
        *count += 1;
        *count == 1
    }

    /// Returns the number of refused results without late ones, which are a normal consequence of leases.
    pub fn bad(&self) -> u64 {
        self.unreadable + self.forged.values().sum::<u64>() + self.impossible.values().sum::<u64>()
    }

    /// Returns true if nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// On one line.
impl fmt::Display for RefusedResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |names: &BTreeMap<String, u64>| {
            let each = names.iter().map(|(name, count)| format!("{count} from '{name}'"));
            each.collect::<Vec<_>>().join(", ")
        };
        let mut parts = Vec::new();
        if self.unreadable > 0 {
            parts.push(format!("{} unreadable", self.unreadable));
        }
        if !self.forged.is_empty() {
            parts.push(format!("{} forged ({})", self.forged.values().sum::<u64>(), named(&self.forged)));
        }
        if !self.impossible.is_empty() {
            let count: u64 = self.impossible.values().sum();
            parts.push(format!("{count} with impossible games ({})", named(&self.impossible)));
        }
        if self.late > 0 {
            parts.push(format!("{} of pairs that had one already", self.late));
        }
        if !parts.is_empty() {
            write!(f, "refused results: {}", parts.join(", "))?;
        }
        if !self.declined.is_empty() {
            let each = self.declined.iter().map(|(who, count)| format!("{who} ({count} times)"));
            let separator = if parts.is_empty() { "" } else { "; " };
            write!(f, "{separator}work declined: {}", each.collect::<Vec<_>>().join("; "))?;
        }
        Ok(())
    }
}
