//! The array of a marker: its numbers and their nesting. Text before a bracket (`S(`, `new int[] {`) is kept;
//! anything but a number cannot be replaced.

use crate::languages::Language;
use crate::lexer::{Kind, Token, begins_line, logical_end};
use crate::number::Number;

const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub start: usize,
    pub end: usize,
    pub number: Result<Number, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub start: usize,
    pub end: usize,
    pub entries: Vec<Entry>,
    /// Lengths from outermost to innermost, without those of 1; `None` if rows differ in length.
    pub shape: Option<Vec<usize>>,
    /// True if all innermost brackets hold two entries, regardless of their surroundings.
    pub pairs_inside: bool,
    /// The first entry that stands beside pairs without being one, as in `{S(1, 2), 0}`.
    pub beside_pairs: Option<usize>,
    /// Brackets and their entries; `None` for numbers of a line.
    pub node: Option<Node>,
}

impl Array {
    /// Numbers in each row, if there are rows of different lengths.
    pub fn jagged_rows(&self) -> Option<Vec<usize>> {
        match self.node.as_ref().filter(|_| self.shape.is_none())?.unwrapped() {
            Node::Group(rows) => Some(rows.iter().map(Node::count).collect()),
            Node::Entry => None,
        }
    }

    /// Names of entries by row and entry, if there are rows of different lengths.
    pub fn jagged_names(&self, name: &str, pairs: bool) -> Option<Vec<String>> {
        let node = self.node.as_ref().filter(|_| self.shape.is_none())?;
        let mut names = Vec::new();
        node.name(name, pairs, &mut names);
        Some(names)
    }
}

pub(super) type Wrong = (usize, String);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Entry,
    Group(Vec<Node>),
}

impl Node {
    fn count(&self) -> usize {
        match self {
            Self::Entry => 1,
            Self::Group(nodes) => nodes.iter().map(Self::count).sum(),
        }
    }

    /// Without brackets around brackets, as `std::array` has them.
    fn unwrapped(&self) -> &Self {
        match self {
            Self::Group(nodes) if matches!(nodes[..], [Self::Group(_)]) => nodes[0].unwrapped(),
            _ => self,
        }
    }

    fn is_pair(&self) -> bool {
        matches!(self, Self::Group(nodes) if matches!(nodes[..], [Self::Entry, Self::Entry]))
    }

    fn name(&self, name: &str, pairs: bool, names: &mut Vec<String>) {
        match self {
            // A row of one pair is none of the brackets of `std::array`.
            Self::Group(nodes) if pairs && matches!(&nodes[..], [one] if one.is_pair()) => {
                names.push(format!("{name}_0"));
            }
            Self::Group(nodes) if matches!(nodes[..], [Self::Group(_)]) => nodes[0].name(name, pairs, names),
            Self::Group(nodes) if !(pairs && self.is_pair()) => {
                for (index, node) in nodes.iter().enumerate() {
                    node.name(&format!("{name}_{index}"), pairs, names);
                }
            }
            _ => names.push(name.to_string()),
        }
    }
}

/// Finds the array of a marker at bytes `marker.0..marker.1`. `code` holds the tokens without comments.
pub(super) fn find(
    source: &str,
    code: &[Token],
    marker: (usize, usize),
    language: Language,
) -> Result<Array, Wrong> {
    let before = code.partition_point(|token| token.start < marker.0);
    let line_start = source[..marker.0].rfind('\n').map_or(0, |at| at + 1);
    let line_end = source[marker.1..].find('\n').map_or(source.len(), |at| marker.1 + at);
    let line_first = code.partition_point(|token| token.start < line_start);
    let code_follows = code.get(before).is_some_and(|token| token.start < line_end);
    let parser = Parser { source, code, language };
    if line_first == before || code_follows {
        return parser.array(before, marker.0);
    }
    // The marker ends a line and belongs to the code that begins on it.
    let closes = |token: &Token| matches!(token.kind, Kind::Mark(b'}' | b']' | b')' | b',' | b';'));
    let first = line_first + code[line_first..before].iter().take_while(|token| closes(token)).count();
    if first == before {
        return Err((
            marker.0,
            "the marker stands behind the end of something; put it above the array".into(),
        ));
    }
    let array = parser.array(first, marker.0)?;
    let rest = code[first..before].iter().skip_while(|token| token.start < array.end);
    if rest.clone().any(|token| !closes(token)) {
        let why = "the marker's line holds more than one thing; put it right before the one that is meant";
        return Err((marker.0, why.to_string()));
    }
    Ok(array)
}

struct Parser<'a> {
    source: &'a str,
    code: &'a [Token],
    language: Language,
}

impl Parser<'_> {
    fn text(&self, at: usize) -> &str {
        self.code.get(at).map_or("", |token| &self.source[token.start..token.end])
    }

    fn is(&self, at: usize, mark: u8) -> bool {
        self.code.get(at).is_some_and(|token| token.is(mark))
    }

    fn opens(&self, at: usize) -> bool {
        self.is(at, b'(') || self.is(at, b'[') || self.is(at, b'{')
    }

    fn closes(&self, at: usize) -> bool {
        self.is(at, b')') || self.is(at, b']') || self.is(at, b'}')
    }

    fn begins_line(&self, at: usize) -> bool {
        begins_line(self.source, self.code, at)
    }

    /// The first token after a line, continued lines included.
    fn next_line(&self, at: usize) -> usize {
        let end = logical_end(self.source.as_bytes(), self.code[at].start);
        self.code.partition_point(|token| token.start < end)
    }

    fn close(&self, open: usize) -> Result<usize, Wrong> {
        let mut stack: Vec<usize> = Vec::new();
        for at in open..self.code.len() {
            if self.opens(at) {
                stack.push(at);
            } else if self.closes(at) {
                let opened = stack.pop().unwrap_or(open);
                let wanted = match self.text(opened) {
                    "(" => ")",
                    "[" => "]",
                    _ => "}",
                };
                if self.text(at) != wanted {
                    let why = format!("'{}' is closed by '{}'", self.text(opened), self.text(at));
                    return Err((self.code[opened].start, why));
                }
                if stack.is_empty() {
                    return Ok(at);
                }
            }
        }
        let opened = stack.last().copied().unwrap_or(open);
        let why = format!("'{}' is not closed before the end of the file", self.text(opened));
        Err((self.code[opened].start, why))
    }

    /// The array that begins at token `at` or after it; `marker` is the byte for messages.
    fn array(&self, mut at: usize, marker: usize) -> Result<Array, Wrong> {
        let none = || (marker, "no array follows the marker".to_string());
        // Attributes and preprocessor lines may stand in between.
        let mut limit = self.code.len();
        loop {
            if self.is(at, b'#') && self.language == Language::RUST {
                let open = if self.is(at + 1, b'!') { at + 2 } else { at + 1 };
                if !self.is(open, b'[') {
                    return Err(none());
                }
                at = self.close(open)? + 1;
            } else if self.is(at, b'#') && self.begins_line(at) {
                let next = self.next_line(at);
                if self.text(at + 1) == "define" {
                    let name = self.code.get(at + 2).ok_or_else(none)?;
                    if self.is(at + 3, b'(') && self.code[at + 3].start == name.end {
                        return Err((
                            name.start,
                            format!("'{}' is a macro with arguments", self.text(at + 2)),
                        ));
                    }
                    limit = next;
                    at += 3;
                    break;
                }
                at = next;
            } else if self.is(at, b'[') && self.attribute(at) {
                at = self.close(at)? + 1;
            } else {
                break;
            }
        }
        if at >= limit {
            return Err(none());
        }
        let first = self.value(at, limit)?;
        let end = self.end(first, limit);
        if first >= end {
            return Err(none());
        }
        let (first, last) = match self.initializer(first, end) {
            Some(open) => (open, self.close(open)?),
            None => (first, end - 1),
        };
        if let Some(other) = self.declared_beside(at, first, last) {
            let why = format!(
                "the marker's declaration goes on with '{}'; put the marker right before the name that is meant",
                self.text(other)
            );
            return Err((self.code[first].start, why));
        }
        let mut array = Array {
            start: self.code[first].start,
            end: self.code[last].end,
            entries: Vec::new(),
            shape: None,
            pairs_inside: false,
            beside_pairs: None,
            node: None,
        };
        if let Some(directive) = (first..=last).find(|&at| self.is(at, b'#')) {
            let why = "the array holds a line of the preprocessor or an attribute, and cannot be counted";
            return Err((self.code[directive].start, why.to_string()));
        }
        let node = self.element(first, last + 1, &mut array.entries, 0)?;
        if array.entries.is_empty() {
            return Err((array.start, "the array is empty".to_string()));
        }
        array.shape = node.as_ref().and_then(shape);
        array.pairs_inside = node.as_ref().is_some_and(pairs_inside);
        array.beside_pairs = node.as_ref().and_then(|node| beside_pairs(node, &mut 0));
        array.node = node;
        Ok(array)
    }

    fn attribute(&self, at: usize) -> bool {
        let inner = (at..self.code.len()).find(|&i| !self.is(i, b'['));
        self.language.has_directives && inner.is_some_and(|i| self.code[i].kind == Kind::Word)
    }

    /// The beginning of the value declared at `at`: after `=`, or where braces open; for a mere entry, `at`.
    fn value(&self, at: usize, limit: usize) -> Result<usize, Wrong> {
        let mut i = at;
        let mut angles = 0usize;
        let mut colon = None;
        while i < limit {
            if self.is(i, b'{') {
                return Ok(i);
            }
            if self.is(i, b'(') || self.is(i, b'[') {
                i = self.close(i)? + 1;
                continue;
            }
            if self.is(i, b';') || self.closes(i) || (self.is(i, b',') && angles == 0) {
                break;
            }
            if self.is(i, b'=') && !self.is(i + 1, b'=') && angles == 0 {
                return Ok(if self.is(i + 1, b'>') { i + 2 } else { i + 1 });
            }
            if self.is(i, b'<') {
                angles += 1;
            } else if self.is(i, b'>') {
                angles = angles.saturating_sub(1);
            } else if self.is(i, b':') {
                if self.is(i + 1, b':') {
                    i += 1;
                } else {
                    colon.get_or_insert(i + 1);
                }
            }
            i += 1;
        }
        Ok(colon.unwrap_or(at))
    }

    /// The name of the next value of the same declaration: `int a[] = {1}, b[] = {2};`.
    fn declared_beside(&self, at: usize, first: usize, last: usize) -> Option<usize> {
        let is_word = |at: usize| self.code.get(at).is_some_and(|token| token.kind == Kind::Word);
        // A single word is the name before which the marker was put.
        let is_typed = (at..first).filter(|&at| is_word(at)).count() > 1;
        if !self.language.has_directives || !is_typed || !self.is(last + 1, b',') {
            return None;
        }
        let name = if self.is(last + 2, b'*') { last + 3 } else { last + 2 };
        let mut next = name + 1;
        while self.is(next, b'[') {
            next = self.close(next).ok()? + 1;
        }
        (is_word(name) && self.is(next, b'=') && !self.is(next + 1, b'=')).then_some(name)
    }

    fn end(&self, at: usize, limit: usize) -> usize {
        let mut i = at;
        let mut angles = 0usize;
        while i < limit {
            if self.opens(i) {
                // An unclosed bracket is reported when it is read.
                i = self.close(i).map_or(limit, |close| close + 1);
                continue;
            }
            if self.is(i, b';') || self.closes(i) || (self.is(i, b',') && angles == 0) {
                break;
            }
            if i > at && self.language.ends_with_line && self.begins_line(i) {
                break;
            }
            if self.is(i, b'<') {
                angles += 1;
            } else if self.is(i, b'>') {
                angles = angles.saturating_sub(1);
            }
            i += 1;
        }
        i.min(limit)
    }

    fn initializer(&self, first: usize, end: usize) -> Option<usize> {
        let outside = |mark: u8| {
            let mut i = first;
            while i < end {
                if self.is(i, mark) {
                    return Some(i);
                }
                i = if self.opens(i) { self.close(i).map_or(end, |close| close + 1) } else { i + 1 };
            }
            None
        };
        match () {
            () if self.language == Language::RUST => {
                outside(b'[').filter(|&open| open == first || self.literal(open))
            }
            () if self.language == Language::PYTHON => self.is(first, b'[').then_some(first),
            () => outside(b'{').or_else(|| self.is(first, b'[').then_some(first)),
        }
    }

    /// Reads an element with the tokens `from..to`; `None` if there is nothing.
    fn element(
        &self,
        from: usize,
        to: usize,
        entries: &mut Vec<Entry>,
        depth: usize,
    ) -> Result<Option<Node>, Wrong> {
        if from >= to {
            return Ok(None);
        }
        if depth > MAX_DEPTH {
            return Err((self.code[from].start, "brackets are nested too deep".to_string()));
        }
        let at = self.designator(from, to)?.1;
        let (start, end) = (self.code[at].start, self.code[to - 1].end);
        let sign = match self.code[at].kind {
            Kind::Mark(mark @ (b'-' | b'+')) => Some(mark),
            _ => None,
        };
        let literal = at + usize::from(sign.is_some());
        if literal + 1 == to && self.code[literal].kind == Kind::Number {
            let number = Number::parse(sign, self.text(literal), self.language);
            entries.push(Entry { start, end, number });
            return Ok(Some(Node::Entry));
        }
        // Words and their separators may stand before a bracket: `S(`, `Score::new(`, `&[`.
        let mut open = (at..to).find(|&i| self.opens(i));
        let mut words = open.unwrap_or(at);
        // `new int[2] { 1, 2 }`
        if let Some(index) = open.filter(|&open| open > at && self.is(open, b'['))
            && let behind = self.close(index)? + 1
            && behind < to
            && self.is(behind, b'{')
        {
            (open, words) = (Some(behind), index);
        }
        if let Some(open) = open
            && self.prefix(at, words, open)
            && self.close(open)? + 1 == to
            && let Some(nodes) = self.group(open, to - 1, entries, depth)?
        {
            return Ok(if nodes.is_empty() { None } else { Some(Node::Group(nodes)) });
        }
        let shown: String = self.source[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = match shown.char_indices().nth(40) {
            Some((cut, _)) => format!("{}...", &shown[..cut]),
            None => shown,
        };
        entries.push(Entry {
            start,
            end,
            number: Err(format!("'{shown}' is not a number that can be replaced")),
        });
        Ok(Some(Node::Entry))
    }

    /// Returns true if the tokens `from..to` may stand before a bracket. Those before `[` are indexed.
    fn prefix(&self, from: usize, to: usize, open: usize) -> bool {
        let joins = |i: usize| {
            let token = &self.code[i];
            token.kind == Kind::Word
                || [b':', b'.', b'!', b'<', b'>', b'&'].iter().any(|&mark| token.is(mark))
        };
        (from..to).all(joins) && (from == open || !self.is(open, b'[') || self.literal(open))
    }

    fn literal(&self, open: usize) -> bool {
        open > 0 && (self.is(open - 1, b'!') || self.is(open - 1, b'&'))
    }

    /// Returns the elements between brackets; `None` if they are something else, as in `[0; 64]`.
    fn group(
        &self,
        open: usize,
        close: usize,
        entries: &mut Vec<Entry>,
        depth: usize,
    ) -> Result<Option<Vec<Node>>, Wrong> {
        let mut parts = Vec::new();
        let mut from = open + 1;
        let mut i = from;
        while i <= close {
            if i == close || self.is(i, b',') {
                parts.extend((from < i).then_some((from, i)));
                from = i + 1;
            } else if self.is(i, b';') {
                return Ok(None);
            } else if self.opens(i) {
                i = self.close(i)?;
            }
            i += 1;
        }
        if open > 0 && self.is(open, b'(') && self.code[open - 1].kind == Kind::Word {
            parts = self.table_argument(&parts)?.map_or(parts, |table| vec![table]);
        }
        let mut nodes = Vec::new();
        let mut names = Vec::new();
        for (from, to) in parts {
            names.push(self.designator(from, to)?.0);
            nodes.extend(self.element(from, to, entries, depth + 1)?);
        }
        let start = self.code[open].start;
        if names.len() > 2 && names.iter().any(Option::is_some) {
            return Err((start, "entries with names are not counted; mark each by itself".to_string()));
        }
        if let [Some(first), Some(second)] = &names[..]
            && let [first, second] = [first.to_lowercase(), second.to_lowercase()]
            && first.contains("eg") | first.starts_with("end")
            && second.contains("mg") | second.starts_with("mid")
        {
            let why = format!("'{first}' stands before '{second}'; pairs begin with the middlegame");
            return Err((start, why));
        }
        Ok(Some(nodes))
    }

    /// The only argument in brackets, if others are no values of the table: `np.array([1, 2], dtype=np.int16)`.
    fn table_argument(&self, arguments: &[(usize, usize)]) -> Result<Option<(usize, usize)>, Wrong> {
        let is_name = |at: usize| {
            matches!(self.code[at].kind, Kind::Word | Kind::Text) || self.is(at, b'.') || self.is(at, b':')
        };
        let (mut table, mut has_named) = (None, false);
        for &(from, to) in arguments {
            let (name, value) = self.designator(from, to)?;
            if self.opens(value) && self.close(value)? + 1 == to {
                if table.replace(((from, to), name.is_some())).is_some() {
                    return Ok(None);
                }
            } else if !(value..to).all(is_name) {
                if name.is_none() {
                    return Ok(None);
                }
                has_named = true;
            }
        }
        Ok(table.filter(|(_, named)| !(*named && has_named)).map(|(table, _)| table))
    }

    /// The name in `name: value` and `.name = value`, and the beginning of the value.
    fn designator(&self, from: usize, to: usize) -> Result<(Option<&str>, usize), Wrong> {
        let assigned = |at: usize| at + 1 < to && self.is(at, b'=') && !self.is(at + 1, b'=');
        let text = |names: std::ops::Range<usize>| {
            &self.source[self.code[names.start].start..self.code[names.end - 1].end]
        };
        let placed = |name: &str| {
            let why = format!("'[{name}] =' places an entry; write all entries, in order and without places");
            Err((self.code[from].start, why))
        };
        if self.is(from, b'[') {
            let close = self.close(from)?;
            if close > from + 1 && assigned(close + 1) {
                return placed(text(from + 1..close));
            }
        }
        let dot = usize::from(self.is(from, b'.'));
        let name = from + dot;
        if name + 2 >= to {
            return Ok((None, from));
        }
        let mut then = name + 1;
        // `chess.PAWN:` of Python, `board.Pawn:` of Go.
        while dot == 0 && self.language.ends_with_line && self.is(then, b'.') && then + 2 < to {
            then += 2;
        }
        let colon = self.is(then, b':') && !self.is(then + 1, b':') && then + 1 < to;
        let fits = match self.code[name].kind {
            Kind::Word => colon || (then == name + 1 && assigned(then)),
            Kind::Text => colon && self.language == Language::PYTHON,
            Kind::Number => colon && self.language.ends_with_line,
            _ => false,
        };
        match fits {
            // Entries of maps and of arrays with indices look the same there.
            true if self.language == Language::GO && self.code[name].kind == Kind::Number => {
                placed(text(name..then))
            }
            true => Ok((Some(text(name..then)), then + 1)),
            false => Ok((None, from)),
        }
    }
}

fn pairs_inside(node: &Node) -> bool {
    match node {
        Node::Entry => false,
        Node::Group(nodes) => match nodes.iter().all(|node| matches!(node, Node::Entry)) {
            true => nodes.len() == 2,
            false => nodes.iter().all(pairs_inside),
        },
    }
}

/// The first entry beside pairs that is none; `next` is the number of the entry that comes next.
fn beside_pairs(node: &Node, next: &mut usize) -> Option<usize> {
    let Node::Group(nodes) = node else {
        *next += 1;
        return None;
    };
    let has_pairs =
        nodes.iter().any(|node| matches!(node, Node::Group(own) if own.len() == 2 && pairs_inside(node)));
    nodes.iter().find_map(|node| match node {
        Node::Entry if has_pairs => Some(*next),
        _ => beside_pairs(node, next),
    })
}

/// Returns lengths from outermost to innermost, without those of 1; `None` if rows differ.
fn shape(node: &Node) -> Option<Vec<usize>> {
    let Node::Group(nodes) = node else { return Some(Vec::new()) };
    let first = shape(nodes.first()?)?;
    for other in &nodes[1..] {
        if shape(other)? != first {
            return None;
        }
    }
    Some(if nodes.len() == 1 { first } else { [&[nodes.len()], &first[..]].concat() })
}

#[cfg(test)]
mod tests;
