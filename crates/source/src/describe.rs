//! Formats plans and reports as lines of text.

use std::fmt::{Display, Formatter, Result};

use super::check::{BlockCheck, BlockState, CheckReport};
use super::plan::{ParamsSummary, PlannedBlock};
use super::undo::Undone;
use gputexel_io::{counted, shown};

/// `search.cpp:10: fm: tuned, fm_1 = 100, fm_2 = 30 (was 25)`.
impl Display for PlannedBlock {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let line = self.source_line.map(|line| format!(":{line}")).unwrap_or_default();
        let name = if self.name.is_empty() { "unnamed" } else { &self.name };
        write!(f, "{}{line}: {}: {}", self.file.display(), shown(name), self.action)?;
        for value in &self.values {
            let same = value.before == value.value || value.before == value.name || value.before.is_empty();
            let was = if same { String::new() } else { format!(" (was {})", shown(&value.before)) };
            write!(f, ", {} = {}{was}", shown(&value.name), shown(&value.value))?;
        }
        Ok(())
    }
}

/// `x.params: 3 parameters used, 1 new`.
impl Display for ParamsSummary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}: {} used", self.path.display(), counted(self.used as u64, "parameter"))?;
        for (count, what) in [(self.new, "new"), (self.not_used, "not used")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// Whole lines: one for the block unless its source is unreadable, one for each problem.
impl Display for BlockCheck {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let name = if self.name.is_empty() { "unnamed".into() } else { shown(&self.name) };
        let line = self.source_lines.first().map(|line| format!(":{line}")).unwrap_or_default();
        let lines = || self.source_lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let what = match self.state {
            BlockState::Ready if self.values.is_empty() => "matches".to_string(),
            BlockState::Ready => {
                let value = |(name, text): &(String, String)| format!("{} = {}", shown(name), shown(text));
                format!("matches, {}", self.values.iter().map(value).collect::<Vec<_>>().join(", "))
            }
            BlockState::Done if self.name.is_empty() => "is already patched".to_string(),
            BlockState::Done => "is already tuned".to_string(),
            BlockState::Several => {
                format!("matches in {} places, lines {}", self.source_lines.len(), lines())
            }
            BlockState::Missing => "no match".to_string(),
            BlockState::Unreadable => String::new(),
        };
        if self.state != BlockState::Unreadable {
            writeln!(f, "{}{line}: {name} (block in line {}): {what}", self.file.display(), self.line)?;
        }
        if let Some(near) = &self.near {
            writeln!(
                f,
                "  closest match, {} % similar, is line {}:\n    source  {}\n    block   {}",
                (near.likeness * 100.0).round(),
                near.line,
                near.source,
                near.context
            )?;
        }
        self.problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
    }
}

/// Whole lines: the blocks, the parameters, the warnings.
impl Display for CheckReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.blocks.iter().try_for_each(|block| write!(f, "{block}"))?;
        let params = self.params.display();
        match (&self.params_problem, self.params_count) {
            (Some(problem), _) => writeln!(f, "{problem}")?,
            (None, None) => writeln!(f, "{params}: does not exist yet")?,
            (None, Some(count)) => {
                write!(f, "{params}: {}", counted(count as u64, "parameter"))?;
                if !self.params_missing.is_empty() {
                    write!(f, "; missing {}", self.params_missing.join(", "))?;
                }
                writeln!(f)?;
            }
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}

impl Undone {
    /// Whole lines: one for each file, and one for the command.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let copy = self.changed.iter().find(|(changed, _)| changed == file);
            let copy = copy.map(|(_, copy)| format!("; the changed file is kept as {}", copy.display()));
            text += &format!("{}: restored{}\n", file.display(), copy.unwrap_or_default());
        }
        for file in &self.removed {
            text += &format!("{}: removed, because it did not exist before\n", file.display());
        }
        for file in &self.kept {
            text += &format!("{}: left unchanged, because it was modified since\n", file.display());
        }
        let how = if self.interrupted { "was interrupted and has been undone" } else { "has been undone" };
        text + &format!("patch {} {how}\n", self.command)
    }
}
