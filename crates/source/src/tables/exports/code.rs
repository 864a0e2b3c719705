//! Tables as source code.

use super::header::Header;
use super::naming::Identifiers;
use super::{CodeOptions, Rounding, check_untapered};
use crate::languages::Declaration;
use crate::tables::sources::{marker_name, quote};
use gputexel_io::{Error, Result};
use gputexel_model::{Feature, FeatureTable, FeatureTables, ParameterFile, ROLE_NAMES, SquareOrder};

const PHASES: [&str; 2] = ["mg", "eg"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    Refuse,
    Saturate,
}

/// Item to be declared once (pairs) or once per phase.
struct Item<'a> {
    identifier: String,
    /// Options of its marker, after the phase, each preceded by a space.
    options: String,
    what: String,
    /// Number of entries; `None` for a single value.
    length: Option<usize>,
    row: usize,
    numbers: [Vec<String>; 2],
    /// Names of its numbers, if nothing else gives them.
    notes: Option<Vec<&'a str>>,
    /// True for phases in which none of its numbers is used in a computation.
    unread: [bool; 2],
}

pub struct Writer<'a> {
    file: &'a ParameterFile,
    options: CodeOptions,
    rounding: Rounding,
    overflow: Overflow,
    features: Vec<Feature>,
    tables: FeatureTables,
    /// True if the features are not those of gputexel.
    imported: bool,
}

impl<'a> Writer<'a> {
    pub fn new(
        file: &'a ParameterFile,
        options: CodeOptions,
        rounding: Rounding,
        overflow: Overflow,
    ) -> Self {
        let features = crate::tables::features(file);
        let tables = FeatureTables::new(&features);
        let imported = file.computed_set().is_none();
        Self { file, options, rounding, overflow, features, tables, imported }
    }

    pub fn text(&self, header: &Header) -> Result<String> {
        let language = self.options.language;
        let comment = language.comment;
        if self.options.untapered {
            check_untapered(self.file)?;
        }
        let items = self.items()?;
        let lines = header.lines(self.file).into_iter().chain(self.about_squares());
        let mut text: String = lines.map(|line| format!("{comment} {line}\n")).collect();
        text += &format!("{comment} {}\n", header.machine());
        text += &(language.opening)(self.has_pairs(), self.rounding.is_whole());
        text.extend(items.iter().map(|item| self.declare(item)));
        text += language.closing;
        Ok(text)
    }

    fn has_pairs(&self) -> bool {
        self.options.language.pairs && !self.options.untapered
    }

    fn about_squares(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for table in self.tables.0.iter().filter(|table| table.is_squares()) {
            let line = describe_order(&self.order(table));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        if !lines.is_empty() {
            if self.options.split {
                lines.push(
                    "Piece values are apart: what a piece is worth is its value plus that of its square."
                        .into(),
                );
            }
        } else if self.tables.0.iter().any(|table| table.name == "material" && table.ids.len() == 6) {
            lines.push("Pawn, knight, bishop, rook, queen, king.".into());
        }
        lines
    }

    fn order(&self, table: &FeatureTable) -> SquareOrder {
        let listed = table.listed_order().filter(|_| self.imported);
        self.options.order.or(listed).unwrap_or_default()
    }

    fn items(&self) -> Result<Vec<Item<'a>>> {
        let CodeOptions { language, split, style, .. } = self.options;
        let endings: Vec<String> = match (self.writes_phases(), language.pair_ending) {
            (true, _) => PHASES.map(|phase| style.ending(phase)).to_vec(),
            (false, Some(ending)) => vec![style.ending(ending)],
            (false, None) => Vec::new(),
        };
        let mut identifiers = Identifiers::new(style, &endings, language.module);
        let mut take = |name: &str| identifiers.take(name);
        let mut items = Vec::new();
        let taken = self.tables.0.iter().any(|table| table.name.eq_ignore_ascii_case("material"));
        if split {
            match self.tables.pieces() {
                Some(tables) if !taken => {
                    items.push(self.piece_values("material", &tables, take("material"))?);
                }
                _ => {
                    let tables = self.tables.0.iter().enumerate();
                    for (at, table) in tables.filter(|(_, table)| table.is_squares()) {
                        let identifier = take(&format!("{} material", table.name));
                        let what = format!("{}.material", marker_name(&table.name));
                        items.push(self.piece_values(&what, &[at], identifier)?);
                    }
                }
            }
        }
        for at in 0..self.tables.0.len() {
            let identifier = take(&self.tables.0[at].name);
            items.push(match self.tables.0[at].is_squares() {
                true => self.squares(at, identifier)?,
                false => self.list(at, identifier)?,
            });
        }
        Ok(items)
    }

    fn writes_phases(&self) -> bool {
        !self.options.language.pairs && !self.options.untapered
    }

    fn piece_values(&self, what: &str, tables: &[usize], identifier: String) -> Result<Item<'a>> {
        let mut numbers = [Vec::new(), Vec::new()];
        for (phase, numbers) in numbers.iter_mut().enumerate() {
            for &table in tables {
                let name = || format!("{}.material.{}", self.tables.0[table].name, PHASES[phase]);
                numbers.push(self.number(self.mean(table, phase), name)?);
            }
        }
        let several = tables.len() > 1;
        Ok(Item {
            identifier,
            options: String::new(),
            what: what.to_string(),
            length: several.then_some(tables.len()),
            row: 1,
            numbers,
            notes: several.then(|| ROLE_NAMES.to_vec()),
            unread: [false; 2],
        })
    }

    fn squares(&self, at: usize, identifier: String) -> Result<Item<'a>> {
        let split = self.options.split;
        let table = &self.tables.0[at];
        let order = self.order(table);
        let mut numbers = [Vec::new(), Vec::new()];
        for (phase, numbers) in numbers.iter_mut().enumerate() {
            let offset = if split { self.mean(at, phase) } else { 0.0 };
            for square in order.squares() {
                let id = table.ids[square];
                let name = || format!("{}.{}", self.features[id].name, PHASES[phase]);
                // Rounded separately, so that the sum is the rounded value.
                let value = self.rounding.round(self.value(id, phase) - offset);
                numbers.push(self.number(value, name)?);
            }
        }
        let mut options = String::new();
        // Without it, the order of the schema would apply.
        if self.imported || order != SquareOrder::default() {
            options += &format!(" orientation {}", order.first());
        }
        if split {
            options += " offset material";
        }
        Ok(Item {
            identifier,
            options,
            what: marker_name(&table.name),
            length: Some(64),
            row: 8,
            numbers,
            notes: None,
            unread: self.unread(at),
        })
    }

    fn list(&self, at: usize, identifier: String) -> Result<Item<'a>> {
        let table = &self.tables.0[at];
        let mut numbers = [Vec::new(), Vec::new()];
        for (phase, numbers) in numbers.iter_mut().enumerate() {
            for &id in &table.ids {
                let name = || format!("{}.{}", self.features[id].name, PHASES[phase]);
                numbers.push(self.number(self.value(id, phase), name)?);
            }
        }
        let names: Vec<&str> = table.ids.iter().map(|&id| self.file.parameters[id].name.as_str()).collect();
        let alone = names.len() == 1;
        Ok(Item {
            identifier,
            options: String::new(),
            what: marker_name(&table.name),
            length: (!alone).then_some(names.len()),
            row: 1,
            numbers,
            notes: (!alone || names[0] != table.name).then_some(names),
            unread: self.unread(at),
        })
    }

    /// Returns true for phases in which no value of a table is used in a computation.
    fn unread(&self, at: usize) -> [bool; 2] {
        let all = self.tables.0[at].ids.iter().map(|&id| self.file.unread(id));
        all.fold([true; 2], |[mg, eg], own| [mg && own[0], eg && own[1]])
    }

    fn value(&self, id: usize, phase: usize) -> f64 {
        let record = &self.file.parameters[id];
        self.rounding.round([record.mg, record.eg][phase])
    }

    fn mean(&self, table: usize, phase: usize) -> f64 {
        let ids = self.tables.0[table].piece_ids();
        let value = |&id: &usize| {
            let record = &self.file.parameters[id];
            [record.mg, record.eg][phase]
        };
        self.rounding.round(ids.iter().map(value).sum::<f64>() / ids.len() as f64)
    }

    fn number(&self, value: f64, name: impl Fn() -> String) -> Result<String> {
        Ok(self.rounding.text(fit(value, self.rounding, self.overflow, name)?))
    }

    fn declare(&self, item: &Item<'_>) -> String {
        if self.writes_phases() {
            let written = (0..2).filter(|&phase| !item.unread[phase]);
            written.map(|phase| self.declaration(item, Some(phase))).collect()
        } else {
            self.declaration(item, None)
        }
    }

    fn declaration(&self, item: &Item<'_>, phase: Option<usize>) -> String {
        let CodeOptions { language, untapered, style, .. } = self.options;
        let (indent, comment) = (language.indent, language.comment);
        let (ending, dot) = match (phase, language.pair_ending) {
            (Some(phase), _) => (style.ending(PHASES[phase]), format!(".{}", PHASES[phase])),
            (None, ending) => {
                let dot = if untapered { ".both" } else { "" };
                (ending.map(|ending| style.ending(ending)).unwrap_or_default(), dot.to_string())
            }
        };
        // Values that are equal in both phases are those of the first.
        let phase = phase.or(untapered.then_some(0));
        let name = format!("{}{ending}", item.identifier);
        let float = !self.rounding.is_whole();
        let declaration = Declaration { name: &name, length: item.length, pairs: self.has_pairs(), float };
        let mut text = format!("\n{indent}{comment} gputexel: {}{dot}{}\n", item.what, item.options);
        text += &(language.attributes)(style != super::NameStyle::Screaming, float);
        text += &format!(
            "{indent}{}{}{}",
            (language.declare)(&declaration),
            self.initializer(item, phase),
            language.end
        );
        if let (Some(notes), None) = (&item.notes, item.length) {
            text += &format!(" {comment} {}", note(notes[0]));
        }
        text + "\n"
    }

    fn initializer(&self, item: &Item<'_>, phase: Option<usize>) -> String {
        let language = self.options.language;
        let width = item.numbers.iter().flatten().map(String::len).max().unwrap_or(0);
        let cells: Vec<String> = if let Some(phase) = phase {
            item.numbers[phase].clone()
        } else {
            let width = if item.length.is_some() { width } else { 0 };
            let pair = |(mg, eg): (&String, &String)| language.pair(mg, eg, width);
            item.numbers[0].iter().zip(&item.numbers[1]).map(pair).collect()
        };
        if item.length.is_none() {
            return cells.concat();
        }
        let (open, close) = language.brackets;
        let indent = language.indent;
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        let line = |(at, row): (usize, &[String])| {
            let padded: Vec<String> = row.iter().map(|cell| format!("{cell:>width$}")).collect();
            let line = format!("{indent}    {},", padded.join(", "));
            match &item.notes {
                Some(notes) => format!("{line} {} {}\n", language.comment, note(notes[at])),
                None => line + "\n",
            }
        };
        let body: String = cells.chunks(item.row).enumerate().map(line).collect();
        format!("{open}\n{body}{indent}{close}")
    }
}

fn describe_order(order: &SquareOrder) -> String {
    let last = match order.first() {
        "a1" => "h8",
        "h1" => "a8",
        "a8" => "h1",
        _ => "a1",
    };
    let seventh = if order.files_down { "a" } else { "h" };
    let rank = if order.ranks_down { 8 } else { 1 };
    format!(
        "Index 0 is {}, 7 is {seventh}{rank}, 63 is {last}, from White's side; Black's pieces take the square with the \
         rank mirrored (a1 for a8).",
        order.first()
    )
}

/// A number that fits 32 bits if it is whole; `name` is for the message.
pub fn fit(units: f64, rounding: Rounding, overflow: Overflow, name: impl Fn() -> String) -> Result<f64> {
    if rounding.is_whole() && !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&units) {
        return match overflow {
            // NaN becomes 0.
            Overflow::Saturate => Ok(f64::from(units as i32)),
            Overflow::Refuse => {
                Err(Error::Usage(format!("'{}' is {units}, which does not fit 32 bits", name())))
            }
        };
    }
    if !units.is_finite() {
        return Err(Error::Usage(format!("'{}' is too large", name())));
    }
    Ok(units)
}

fn note(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_string() } else { quote(name) }
}
