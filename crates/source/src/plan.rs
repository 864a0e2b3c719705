//! The plan of a command, computed before anything is written.

use std::borrow::Cow;
use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::path::{Path, PathBuf};

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

use super::sources::{Change, Source, Sources, decode};
use gputexel_io::params::ParamsFile;
use gputexel_io::{Error, Result, counted, shown};

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PlannedValue {
    pub name: String,
    /// The number or name in the source now; empty if only an `#add` has it.
    pub before: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PlannedBlock {
    /// The name of its context; empty for a plain patch.
    pub name: String,
    pub line: u64,
    pub file: PathBuf,
    /// `None` if an earlier block inserts it.
    pub source_line: Option<u64>,
    /// `tuned`, `applied`, `restored` (from the tuned state), `patched` or `kept`.
    pub action: &'static str,
    pub values: Vec<PlannedValue>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ParamsSummary {
    pub path: PathBuf,
    pub used: usize,
    pub new: usize,
    pub not_used: usize,
}

/// `search.cpp:10: fm: tuned, fm_1 = 100, fm_2 = 30 (was 25)`.
impl Display for PlannedBlock {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
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
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} used", self.path.display(), counted(self.used as u64, "parameter"))?;
        for (count, what) in [(self.new, "new"), (self.not_used, "not used")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PatchPlan {
    pub changes: Vec<Change>,
    pub blocks: Vec<PlannedBlock>,
    pub params: Option<ParamsSummary>,
    pub warnings: Vec<String>,
}

impl PatchPlan {
    /// Unified diff of all files, with headers for `patch -p1` and `git apply`.
    pub fn diff(&self) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let shown = change.shown.display().to_string().replace('\\', "/");
            let shown = shown.trim_start_matches(['.', '/']);
            let before = shown_text(change.before.as_deref().unwrap_or_default());
            let after = shown_text(&change.after);
            let old = if change.before.is_some() { format!("a/{shown}") } else { "/dev/null".to_string() };
            text += &unified(&before, &after, &old, &format!("b/{shown}"));
        }
        text
    }

    pub(super) fn take_sources(&mut self, sources: Sources) -> Result<()> {
        for Source { file, text, .. } in sources.files {
            self.changes.extend(file.change(text)?);
        }
        Ok(())
    }
}

/// Text of a file for a diff, which is UTF-8 whatever the encoding of the file.
fn shown_text(bytes: &[u8]) -> Cow<'_, str> {
    decode(bytes, Path::new("")).map_or_else(|_| String::from_utf8_lossy(bytes), |(text, _)| text)
}

/// `.params` file next to a `.tune` file.
pub fn params_path(tune: &Path) -> Result<PathBuf> {
    let path = tune.with_extension("params");
    if path == tune {
        let reason = format!("{}: expected a .tune file; parameters are read from beside it", tune.display());
        return Err(Error::Usage(reason));
    }
    Ok(path)
}

/// `.params` file and its bytes; empty if it does not exist.
pub(super) fn read_params(path: &Path) -> Result<(ParamsFile, Option<Vec<u8>>)> {
    match super::files::read_file(path) {
        Ok(bytes) => Ok((ParamsFile::parse(super::utf8(&bytes, path)?, path)?, Some(bytes))),
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok((ParamsFile::default(), None))
        }
        Err(error) => Err(error),
    }
}

/// Adds the changed files to a plan: the sources, and the parameters, of which so many were known before.
pub(super) fn finish(
    plan: &mut PatchPlan,
    sources: Sources,
    (path, before): (PathBuf, Option<Vec<u8>>),
    (params, known): (ParamsFile, usize),
) -> Result<()> {
    let not_used = params.entries().filter(|entry| entry.not_used).count();
    let all = params.entries().count();
    plan.params =
        Some(ParamsSummary { path: path.clone(), used: all - not_used, new: all - known, not_used });
    plan.take_sources(sources)?;
    let after = params.text().into_bytes();
    if before.as_ref() != Some(&after) {
        plan.changes.push(Change { path: resolved(&path)?, shown: path, before, after, params: true });
    }
    Ok(())
}

/// Path of the parameters: next to the blocks, which may have come with a tree, so that a link is followed
/// within that folder only.
fn resolved(params: &Path) -> Result<PathBuf> {
    let io = |e| Error::io(params, e);
    let folder = match params.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let root = folder.canonicalize().map_err(io)?;
    match params.canonicalize() {
        Ok(path) if path.starts_with(&root) => Ok(path),
        Ok(_) => {
            let folder = folder.display();
            Err(Error::input(
                params,
                format!("is a link that leads outside {folder}; put the file itself there"),
            ))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Ok(root.join(params.file_name().unwrap_or_default()))
        }
        Err(e) => Err(io(e)),
    }
}

const CONTEXT: u32 = 3;

/// Unified diff of two texts named `old` and `new`; empty if they are equal.
fn unified(before: &str, after: &str, old: &str, new: &str) -> String {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (a, b) = (lines(before), lines(after));
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let mut text = String::new();
    if !hunks.is_empty() {
        text += &format!("--- {old}\n+++ {new}\n");
    }
    for group in hunks.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        let (first, last) = (&group[0], &group[group.len() - 1]);
        let lead = first.before.start.min(CONTEXT);
        let trail = (a.len() as u32 - last.before.end).min(CONTEXT);
        let whole = first.before.start - lead..last.before.end + trail;
        let new = first.after.start - lead..last.after.end + trail;
        text += &format!("@@ -{} +{} @@\n", place(&whole), place(&new));
        let mut at = whole.start;
        for hunk in group {
            put(&mut text, ' ', &a, at..hunk.before.start);
            put(&mut text, '-', &a, hunk.before.clone());
            put(&mut text, '+', &b, hunk.after.clone());
            at = hunk.before.end;
        }
        put(&mut text, ' ', &a, at..whole.end);
    }
    text
}

/// Formats lines for the head of a hunk: the first, from 1, and their number if it is not one.
fn place(lines: &Range<u32>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn put(text: &mut String, sign: char, lines: &[&str], range: Range<u32>) {
    for line in &lines[range.start as usize..range.end as usize] {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_the_lines_around_them() {
        let lines = |changed: &[u32]| -> String {
            (1..=20)
                .map(|i| if changed.contains(&i) { format!("{i}!\n") } else { format!("{i}\n") })
                .collect()
        };
        let diff = unified(&lines(&[]), &lines(&[2, 9, 20]), "a/x", "b/x");
        let expected = "--- a/x\n+++ b/x\n@@ -1,12 +1,12 @@\n 1\n-2\n+2!\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n+9!\n \
                        10\n 11\n 12\n@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20!\n";
        assert_eq!(diff, expected);
        assert_eq!(unified("a\n", "a\n", "a", "b"), "");
        assert_eq!(
            unified("", "a", "/dev/null", "b"),
            "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
        );
    }
}
