//! `apply`: writes the values of the `.params` file into the sources.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use super::blocks::{Setting, TuneFile};
use super::characters::{is_digit, is_word, line_end, line_start, next_line};
use super::layout::{apart, remove_lines, replace_part};
use super::lexer::{Kind, lex};
use super::order::uncover;
use super::plan::{PatchPlan, PlannedBlock, PlannedValue, params_path, read_params};
use super::sources::{Source, Sources};
use super::state::{Placed, State, place, refuse_others};
use super::tune::value_text;
use gputexel_io::params::{ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result, shown};

/// Returns the rest of a text after tokens that blanks may stand before.
fn after<'a>(mut text: &'a str, tokens: &[&str]) -> Option<&'a str> {
    for token in tokens {
        text = text.trim_start().strip_prefix(token)?;
    }
    Some(text)
}

/// Finds what `tune` writes for a parameter in a line, and returns its value.
type Written = for<'a> fn(line: &'a str, name: &str) -> Option<&'a str>;

/// `int NAME = VALUE;`, or `float`, and perhaps a comment.
fn declaration<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = after(line, &["int"]).or_else(|| after(line, &["float"]))?;
    let rest = after(rest.strip_prefix(char::is_whitespace)?, &[name, "="])?.trim_start();
    let (value, rest) = rest.split_at(rest.find(|c| !(is_digit(c) || "-+.eE".contains(c)))?);
    let rest = after(rest, &[";"])?.trim_start();
    (!value.is_empty() && (rest.is_empty() || rest.starts_with("//"))).then_some(value)
}

/// `TUNE(SetRange(…), NAME, SetDefaultRange);`, without a value.
fn option<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (range, rest) = after(line, &["TUNE", "(", "SetRange", "("])?.split_once(')')?;
    let rest = after(rest, &[",", name, ",", "SetDefaultRange", ")", ";"])?.trim_start();
    (!range.contains('(') && rest.is_empty()).then_some(rest)
}

/// Takes the values of the `.params` file next to the `.tune` file, or of another such as the result of an SPSA run.
pub fn plan_apply(tune: &Path, folder: &Path, params: Option<&Path>) -> Result<PatchPlan> {
    let params_path = &params.map_or_else(|| params_path(tune), |path| Ok(path.to_path_buf()))?;
    let tune = TuneFile::read(tune)?;
    let mut sources = Sources::open(folder)?;
    let placed = place(&tune, &mut sources)?;
    let (params, bytes) = read_params(params_path)?;
    let named = placed.iter().filter(|p| !p.block.name.is_empty());
    let needed = named.flat_map(|p| p.context.names().map(move |name| (p.block.line, name)));
    for (line, name) in needed {
        if params.get(name).is_none() {
            let (path, name) = (params_path.display(), shown(name));
            let reason = if bytes.is_none() {
                format!("{path} is missing, which has the value of {name}; 'gputexel patch tune' writes it")
            } else {
                format!("{name} is not in {path}")
            };
            return Err(Error::line(&tune.path, line, reason));
        }
    }
    let used: Vec<&ParamEntry> =
        placed.iter().flat_map(|p| p.context.names()).filter_map(|name| params.get(name)).collect();
    // The largest integers of sources have 64 bits.
    const LARGEST: f64 = 9_223_372_036_854_775_807.0;
    if let Some(entry) =
        used.iter().find(|entry| entry.kind == ParamKind::Int && entry.v.value.abs() > LARGEST)
    {
        let reason =
            format!("{} = {} is too large for an integer", shown(&entry.name), shown(&entry.v.to_string()));
        return Err(Error::input(params_path, reason));
    }
    let mut states: Vec<State> = placed.iter().map(|p| p.state(&sources.files[p.file])).collect();
    uncover(&placed, &mut states, &sources);
    refuse_others(&placed, &states, &sources, &tune.path, |p, state| {
        matches!(state, State::Ready(_) | State::Done(_)) || p.block.name.is_empty()
    })?;

    let mut planned: Vec<Option<PlannedBlock>> = placed.iter().map(|_| None).collect();
    let work = |p| BlockApply { tune: &tune, p, params: &params };
    // Later insertions lie on top, and may have split those of a plain patch before them.
    for (i, (p, state)) in placed.iter().zip(&states).enumerate().rev() {
        let source = &mut sources.files[p.file];
        let is_done = |state: &State| matches!(state, State::Done(_));
        if is_done(state) || (p.block.name.is_empty() && is_done(&p.state(&source.as_now()))) {
            planned[i] = Some(work(p).restore(source, state)?);
        }
    }
    for (i, (p, state)) in placed.iter().zip(&states).enumerate() {
        if planned[i].is_none() {
            planned[i] = Some(work(p).apply(&mut sources.files[p.file], state)?);
        }
    }
    for (p, _) in placed.iter().zip(&states).filter(|(_, state)| matches!(state, State::Done(_))) {
        let declared = p.block.settings.declaration.is_some() || p.under_markers().next().is_some();
        if declared && !p.block.name.is_empty() {
            refuse_leftovers(p, &sources.files[p.file], &tune)?;
        }
    }
    let problems = used.iter().filter_map(|entry| entry.range_problem());
    let mut plan = PatchPlan {
        blocks: planned.into_iter().flatten().collect(),
        warnings: problems.map(|problem| format!("{}: {problem}", params_path.display())).collect(),
        ..PatchPlan::default()
    };
    plan.take_sources(sources)?;
    Ok(plan)
}

struct BlockApply<'a> {
    tune: &'a TuneFile,
    p: &'a Placed<'a>,
    params: &'a ParamsFile,
}

impl BlockApply<'_> {
    fn entry(&self, name: &str) -> &ParamEntry {
        self.params.get(name).expect("all names were looked up")
    }

    fn error(&self, line: u64, reason: String) -> Error {
        self.p.block.error(&self.tune.path, line, reason)
    }

    fn apply(&self, source: &mut Source, state: &State) -> Result<PlannedBlock> {
        let p = self.p;
        let found = p.pattern.find_all(&source.text);
        let found = p.only(found, state, source, &self.tune.path)?;
        let at = match state {
            State::Ready(found) => Some(found.range.start),
            _ => None,
        };
        if p.block.name.is_empty() {
            let body = p.block.replacement().map(|add| &add.body.text);
            let planned = p.planned(source, at, if body.is_some() { "patched" } else { "kept" });
            if let Some(body) = body {
                replace_part(&mut source.text, found.range, body, source.newline);
            }
            return Ok(planned);
        }
        let mut planned = p.planned(source, at, "applied");
        let marks = p.context.names().zip(&found.marks);
        let value = |(name, mark): (&str, &Range<usize>)| {
            let before = source.text[mark.clone()].to_string();
            let value = value_text(self.entry(name), Some(&before), false);
            PlannedValue { name: name.to_string(), before, value }
        };
        planned.values = marks.map(value).collect();
        for (mark, own) in found.marks.into_iter().zip(&planned.values).rev() {
            if own.value != own.before {
                let new = apart(&source.text, &mark, &own.value);
                source.text.replace_range(mark, &new);
            }
        }
        Ok(planned)
    }

    fn restore(&self, source: &mut Source, state: &State) -> Result<PlannedBlock> {
        let p = self.p;
        let plain = p.block.name.is_empty();
        let at = match state {
            State::Done(found) => Some(found.range.start),
            _ => None,
        };
        let mut planned = p.planned(source, at, if plain { "kept" } else { "restored" });
        let names: Vec<&str> = p.context.names().collect();
        let mut declared: HashMap<&str, String> = HashMap::new();
        if let Some(marker) = &p.block.settings.options {
            for name in names.iter().rev() {
                self.take_line(source, name, marker, option, "option")?;
            }
        }
        if let Some(marker) = &p.block.settings.declaration {
            for name in names.iter().rev() {
                let text = self.take_line(source, name, marker, declaration, "declaration")?;
                declared.insert(name, text);
            }
        }
        for (add, marker, template) in p.under_markers().rev() {
            // After `apply`, a plain patch is in place without these.
            if !p.take_out(source, marker, template) && !plain {
                let file = source.file.shown.display();
                let reason = format!("what this #add put below {} is gone from {file}", shown(marker));
                return Err(self.error(add.line, reason));
            }
        }
        if plain {
            return Ok(planned);
        }
        let pattern = p.tuned.as_ref().expect("the state is Done, which needs one");
        let mut now = pattern.find_all(&source.text);
        if now.len() != 1 {
            let reason =
                format!("its place in {} was changed by a block behind it", source.file.shown.display());
            return Err(self.error(p.block.line, reason));
        }
        let now = now.remove(0);
        let value = |name: &str| {
            let text = declared.get(name).map(String::as_str);
            value_text(self.entry(name), text, false)
        };
        planned.values = names
            .iter()
            .map(|name| PlannedValue { name: name.to_string(), before: name.to_string(), value: value(name) })
            .collect();
        if p.replacement().is_some() {
            let body = p.context.filled(value);
            replace_part(&mut source.text, now.range, &body, source.newline);
            return Ok(planned);
        }
        for (mark, name) in now.marks.into_iter().zip(names).rev() {
            let new = apart(&source.text, &mark, &value(name));
            source.text.replace_range(mark, &new);
        }
        Ok(planned)
    }

    fn take_line(
        &self,
        source: &mut Source,
        name: &str,
        marker: &Setting,
        written: Written,
        what: &str,
    ) -> Result<String> {
        let mut lines = lines_about(&source.text, name, written);
        match lines.len() {
            1 => {
                let (start, value) = lines.remove(0);
                let end = next_line(&source.text, start);
                remove_lines(&mut source.text, start..end);
                Ok(value)
            }
            count => {
                let (file, name) = (source.file.shown.display(), shown(name));
                let found =
                    if count == 0 { "is gone".to_string() } else { format!("is there {count} times") };
                let reason =
                    format!("the {what} of {name} {found} in {file}; 'gputexel patch undo' restores files");
                Err(self.error(marker.line, reason))
            }
        }
    }
}

fn lines_about(text: &str, name: &str, written: Written) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for at in memchr::memmem::find_iter(text.as_bytes(), name.as_bytes()) {
        let alone = !text[..at].chars().next_back().is_some_and(is_word)
            && !text[at + name.len()..].chars().next().is_some_and(is_word);
        let start = line_start(text, at);
        if alone && let Some(value) = written(&text[start..line_end(text, at)], name) {
            lines.push((start, value.to_string()));
        }
    }
    lines.dedup();
    lines
}

impl Placed<'_> {
    fn take_lines_off(&self, source: &mut Source) {
        let settings: [(_, Written); 2] =
            [(&self.block.settings.options, option), (&self.block.settings.declaration, declaration)];
        for (_, written) in settings.into_iter().filter(|(marker, _)| marker.is_some()) {
            for name in self.context.names() {
                for (start, _) in lines_about(&source.text, name, written).into_iter().rev() {
                    let end = next_line(&source.text, start);
                    remove_lines(&mut source.text, start..end);
                }
            }
        }
        for (_, marker, template) in self.under_markers().rev() {
            self.take_out(source, marker, template);
        }
    }

    pub fn take_off(&self, source: &mut Source) {
        self.take_lines_off(source);
        if let (true, Some(tuned)) = (self.block.name.is_empty(), &self.tuned)
            && let [found] = &tuned.find_all(&source.text)[..]
        {
            let body = self.context.filled(str::to_string);
            replace_part(&mut source.text, found.range.clone(), &body, source.newline);
        }
    }
}

fn refuse_leftovers(p: &Placed<'_>, source: &Source, tune: &TuneFile) -> Result<()> {
    let names: Vec<&str> = p.context.names().collect();
    let text = &source.text;
    let used = lex(text, source.file.language)
        .into_iter()
        .find(|token| token.kind == Kind::Word && names.contains(&&text[token.start..token.end]));
    let Some(token) = used else { return Ok(()) };
    let (name, file) = (shown(&text[token.start..token.end]), source.file.shown.display());
    let line = text[line_start(text, token.start)..line_end(text, token.start)].trim();
    let reason = format!(
        "{name} is in another place of {file}, too, and would be declared no longer: '{}'",
        shown(line)
    );
    Err(p.block.error(&tune.path, p.block.line, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_lines_are_recognized() {
        for (line, value) in [
            ("int a = 12;", Some("12")),
            ("\t float  a=-1.5e3 ; // was 2", Some("-1.5e3")),
            ("int a = 12", None),
            ("int a = ;", None),
            ("int ab = 12;", None),
            ("inta = 12;", None),
            ("double a = 12;", None),
            ("int a = 12; b();", None),
        ] {
            assert_eq!(declaration(line, "a"), value, "{line}");
        }
        for (line, found) in [
            ("TUNE(SetRange(0, 10), a, SetDefaultRange);", true),
            (" TUNE ( SetRange ( x ) , a , SetDefaultRange ) ; ", true),
            ("TUNE(SetRange(f(0), 10), a, SetDefaultRange);", false),
            ("TUNE(SetRange(0, 10), ab, SetDefaultRange);", false),
            ("TUNE(SetRange(0, 10), a, SetDefaultRange); // x", false),
        ] {
            assert_eq!(option(line, "a").is_some(), found, "{line}");
        }
    }
}
