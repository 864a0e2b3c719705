//! Declarations with marked numbers, made variables, and the uses of their names.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use super::code::{Place, Scan, Scope};
use super::{loader, tags};
use crate::sources::Loaded;
use crate::tables::sources::{Edit, MarkedNumber, apply};
use gputexel_io::Result;

/// What is wrong, and at which byte.
type Wrong = (usize, String);

/// Names that are variables now, with the files and tokens that declare them.
type Names = BTreeMap<String, Vec<(usize, usize)>>;

type Edits = Vec<Edit>;

/// The texts of sources with their numbers made variables, which are in a header in `folder`.
pub(super) fn expose(sources: &[Loaded], all: &[Vec<MarkedNumber>], folder: &Path) -> Result<Vec<String>> {
    let scans: Vec<Scan<'_>> = sources.iter().map(|source| Scan::of(&source.text)).collect();
    let mut edits: Vec<Edits> = Vec::new();
    let mut names = Names::new();
    for (file, (numbers, scan)) in all.iter().zip(&scans).enumerate() {
        let (own, declared) =
            FileWork { numbers, scan }.edits().map_err(|(at, reason)| sources[file].error(at, reason))?;
        for token in declared {
            names.entry(scan.word(token).to_string()).or_default().push((file, token));
        }
        edits.push(own);
    }
    open_declarations(&scans, &names, &mut edits);
    let mut texts = Vec::with_capacity(sources.len());
    for (((source, numbers), scan), mut own) in sources.iter().zip(all).zip(&scans).zip(edits) {
        if !numbers.is_empty() {
            let up = loader::path_up(folder, &source.path);
            own.push(reading(&up, scan, &own));
        }
        // Insertions stand before what is at their place.
        own.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = source.text.clone();
        apply(&mut text, own);
        texts.push(text);
    }
    Ok(texts)
}

fn reading(up: &str, scan: &Scan<'_>, edits: &Edits) -> Edit {
    let first = edits.iter().map(|(range, _)| range.start).min().unwrap_or(0);
    // Below the last #include that is not in a part of the file that may be left out.
    let (mut depth, mut best) = (0, None::<(usize, usize)>);
    for at in 0..scan.at(first) {
        if scan.places[at].directive != Some(at) {
            continue;
        }
        match scan.word(at + 1) {
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" => {
                depth -= 1;
                best = best.filter(|&(_, own)| own <= depth);
            }
            "include" => {
                let line = scan.tokens[at].start;
                let end = scan.text[line..].find('\n').map_or(scan.text.len(), |n| line + n + 1);
                best = Some((end, depth));
            }
            _ => {}
        }
    }
    let mark = if scan.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let at = best.map_or(mark, |(at, _)| at);
    (at..at, tags::inserted(&format!("#include \"{up}{}\"\n", loader::HEADER)))
}

struct FileWork<'a> {
    numbers: &'a [MarkedNumber],
    scan: &'a Scan<'a>,
}

impl FileWork<'_> {
    fn edits(&self) -> Result<(Edits, Vec<usize>), Wrong> {
        let scan = self.scan;
        let (mut edits, mut declared) = (Edits::new(), Vec::new());
        let mut statements: BTreeMap<usize, Vec<&MarkedNumber>> = BTreeMap::new();
        let mut done: BTreeMap<usize, &str> = BTreeMap::new();
        for own in self.numbers {
            if let Some(other) = done.insert(own.range.start, &own.name) {
                return Err((own.at, format!("'{}' is the same number as '{other}'", own.name)));
            }
            let at = scan.at(own.range.start);
            let place = scan.places[at];
            self.check(own, place)?;
            if let Some(hash) = place.directive {
                declared.push(hash + 2);
                edits.push((own.range.clone(), self.value(own)));
                continue;
            }
            if self.is_declaration(place) {
                statements.entry(place.statement).or_default().push(own);
            } else {
                edits.push((own.range.clone(), self.value(own)));
            }
        }
        for (&statement, numbers) in &statements {
            let own = match scan.places[statement].scope == Scope::File {
                true => self.filled(statement, numbers, &mut edits),
                false => self.dynamic(statement, numbers, &mut edits),
            };
            declared.push(own.map_err(|reason| (numbers[0].at, reason))?);
        }
        Ok((edits, declared))
    }

    fn check(&self, own: &MarkedNumber, place: Place) -> Result<(), Wrong> {
        let reason = match place.scope {
            Scope::Structure if place.directive.is_none() => {
                "is a member of a structure; move its constant out of it"
            }
            Scope::Enum if place.directive.is_none() => {
                "is a value of an enumeration, which must be constant"
            }
            _ => return Ok(()),
        };
        Err((own.range.start, format!("'{}' {reason}", own.name)))
    }

    fn is_declaration(&self, place: Place) -> bool {
        let head = |word: &str| {
            let end = self.scan.equals(place.statement).unwrap_or(self.scan.end(place.statement));
            (place.statement..end).any(|at| self.scan.word(at) == word)
        };
        place.scope == Scope::File || ["constexpr", "static"].into_iter().any(head)
    }

    fn value(&self, own: &MarkedNumber) -> String {
        tags::replaced(&self.scan.text[own.range.clone()], &bare(own))
    }

    fn name_token(&self, statement: usize, equals: usize) -> Option<usize> {
        let scan = self.scan;
        let own = || scan.outside(statement).take_while(|&at| at < equals);
        let array = own().find(|&at| scan.is_name(at) && scan.is(at + 1, b'['));
        // Not attributes with arguments.
        let word = || own().filter(|&at| scan.is_name(at) && !scan.is(at + 1, b'(')).last();
        array.or_else(word)
    }

    fn declaration(&self, statement: usize) -> Result<(usize, usize, usize), String> {
        let scan = self.scan;
        let end = scan.end(statement);
        let equals = scan.equals(statement);
        let equals = equals.ok_or("the number is in no declaration with a value, nor in a function")?;
        if scan.outside(statement).any(|at| scan.is(at, b',')) {
            return Err("the declaration has several names; give each its own".to_string());
        }
        let name = self.name_token(statement, equals).ok_or("the declaration has no name")?;
        Ok((name, equals, end))
    }

    fn dynamic(
        &self,
        statement: usize,
        numbers: &[&MarkedNumber],
        edits: &mut Edits,
    ) -> Result<usize, String> {
        let scan = self.scan;
        let (name, head, _) = self.declaration(statement)?;
        let is_const = (statement..head).any(|at| scan.word(at) == "const");
        for at in statement..head {
            let new = match scan.word(at) {
                "constexpr" if is_const => "",
                "constexpr" => "const",
                "static" => "",
                _ => continue,
            };
            let token = scan.tokens[at];
            edits.push((token.start..token.end, tags::replaced(scan.word(at), new)));
        }
        edits.extend(numbers.iter().map(|own| (own.range.clone(), self.value(own))));
        Ok(name)
    }

    fn filled(
        &self,
        statement: usize,
        numbers: &[&MarkedNumber],
        edits: &mut Edits,
    ) -> Result<usize, String> {
        let scan = self.scan;
        let (name, head, end) = self.declaration(statement)?;
        let mut copy = String::new();
        let starts: HashMap<usize, &MarkedNumber> =
            numbers.iter().map(|own| (own.range.start, *own)).collect();
        let (mut behind, mut written) = (0, scan.tokens[statement].start);
        for at in statement..=end {
            let token = scan.tokens[at];
            if scan.places[at].directive.is_some() {
                return Err("the declaration has lines of the preprocessor in it".to_string());
            }
            if token.start < behind {
                continue;
            }
            let gap = &scan.text[written..token.start];
            copy.push_str(if gap.contains('\n') {
                "\n    "
            } else if gap.is_empty() {
                ""
            } else {
                " "
            });
            written = token.end;
            match (starts.get(&token.start), scan.word(at)) {
                (Some(own), _) => {
                    copy.push_str(&bare(own));
                    (behind, written) = (own.range.end, own.range.end);
                }
                (None, "static" | "const" | "constexpr" | "extern" | "register") if at < head => {}
                _ if at == name => copy.push_str("gputexel_new"),
                (None, word) => copy.push_str(word),
            }
        }
        edits.extend(without_const(scan, statement..head));
        let name_text = scan.word(name);
        let text = format!(
            "\nGPUTEXEL_FILLS(gputexel_fills_{name_text}) {{\n    gputexel_read();\n    {}\n    memcpy(&{name_text}, &gputexel_new, sizeof gputexel_new);\n}}\n",
            copy.trim_start()
        );
        let behind = scan.tokens[end].end;
        edits.push((behind..behind, tags::inserted(&text)));
        Ok(name)
    }
}

fn bare(own: &MarkedNumber) -> String {
    let sign = if own.negative { "-" } else { "" };
    let cast = if own.number.suffix().is_empty() { "" } else { "(float)" };
    match (sign, cast) {
        ("", "") => format!("GPUTEXEL({})", own.name),
        _ => format!("({sign}{cast}GPUTEXEL({}))", own.name),
    }
}

/// Takes 'const' out of the 'extern' declarations of variables. Where a constant is needed, the compiler
/// reports it.
fn open_declarations(scans: &[Scan<'_>], names: &Names, edits: &mut [Edits]) {
    for (file, scan) in scans.iter().enumerate() {
        for at in (0..scan.tokens.len()).filter(|&at| is_use(scan, file, at, names)) {
            let place = scan.places[at];
            if place.directive.is_none() && (place.statement..at).any(|word| scan.word(word) == "extern") {
                // A declaration elsewhere is constant no longer than the definition.
                edits[file].extend(without_const(scan, place.statement..at));
            }
        }
    }
}

fn without_const<'s>(
    scan: &'s Scan<'_>,
    tokens: Range<usize>,
) -> impl Iterator<Item = (Range<usize>, String)> + 's {
    tokens.filter(|&at| matches!(scan.word(at), "const" | "constexpr")).map(|at| {
        let token = &scan.tokens[at];
        (token.start..token.end, tags::replaced(scan.word(at), ""))
    })
}

/// True if a token is one of the names, but neither its declaration nor a member of something else.
fn is_use(scan: &Scan<'_>, file: usize, at: usize, names: &Names) -> bool {
    let Some(places) = names.get(scan.word(at)).filter(|_| scan.is_name(at)) else { return false };
    let member =
        at > 0 && (scan.is(at - 1, b'.') || (at > 1 && scan.is(at - 1, b'>') && scan.is(at - 2, b'-')));
    !member && !places.contains(&(file, at))
}
