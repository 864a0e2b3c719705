//! Tables as source code.

use super::header::Header;
use super::naming::Identifiers;
use super::{CodeOptions, PhaseValues, Rounding, check_untapered};
use crate::languages::{Declaration, Frame};
use crate::tables::Remedy;
use crate::tables::sources::{marker_name, quote};
use gputexel_io::{Error, Result};
use gputexel_model::{Colors, Feature, FeatureTable, FeatureTables, ParameterFile, ROLE_NAMES, SquareOrder};

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
    /// Lengths from outermost to innermost.
    lengths: Vec<usize>,
    /// Numbers per line; 1 if each has a comment.
    row: usize,
    numbers: [Vec<String>; 2],
    /// Names of its numbers, if nothing else gives them.
    notes: Option<Vec<&'a str>>,
    /// True for phases in which none of its numbers is used in a computation.
    unread: [bool; 2],
}

pub struct Writer<'a> {
    file: &'a ParameterFile,
    options: &'a CodeOptions,
    rounding: Rounding,
    overflow: Overflow,
    features: Vec<Feature>,
    tables: FeatureTables,
    /// True if the features are not those of gputexel.
    imported: bool,
    /// Names with colliding identifiers, with the numbered identifiers that they got.
    pub told_apart: Vec<(String, String)>,
}

impl<'a> Writer<'a> {
    pub fn new(
        file: &'a ParameterFile,
        options: &'a CodeOptions,
        rounding: Rounding,
        overflow: Overflow,
    ) -> Self {
        let features = crate::tables::features(file);
        let tables = FeatureTables::new(&features);
        let imported = file.computed_set().is_none();
        Self { file, options, rounding, overflow, features, tables, imported, told_apart: Vec::new() }
    }

    pub fn text(&mut self, header: Option<&Header>) -> Result<String> {
        let CodeOptions { language, prefix, phases, .. } = self.options;
        let comment = language.comment;
        if *phases == PhaseValues::Untapered {
            check_untapered(self.file)?;
        }
        let items = self.items()?;
        let mut text = String::new();
        // Without a header, nothing would record that they are 0.
        let leaves_out = header.is_some() && *phases == PhaseValues::Separate;
        if let Some(header) = header {
            for line in header.lines(self.file, self.rounding).into_iter().chain(self.about_squares()) {
                text += &format!("{comment} {line}\n");
            }
            text += &format!("{comment} {}\n", header.machine());
        }
        let module = self.options.module.as_deref().or(language.module).unwrap_or_default();
        let whole = self.rounding.is_whole();
        let frame = Frame { prefix, module, pairs: *phases == PhaseValues::Pairs, whole };
        let opening = (language.opening)(&frame);
        let code: String = items.iter().map(|item| self.declare(item, leaves_out)).collect();
        let begins = header.is_none() && opening.is_empty();
        text += &opening;
        text += if begins { code.trim_start() } else { &code };
        text += language.closing;
        Ok(text)
    }

    fn about_squares(&self) -> Vec<String> {
        let CodeOptions { split, .. } = self.options;
        let mut lines = Vec::new();
        let mut of_squares = self.tables.0.iter().filter(|table| table.is_squares());
        if let Some(first) = of_squares.next() {
            let order = self.order(first);
            match of_squares.all(|table| self.order(table) == order) {
                true => lines.push(describe_order(&order)),
                false => {
                    for table in self.tables.0.iter().filter(|table| table.is_squares()) {
                        let name = marker_name(&table.name);
                        lines.push(format!("{name}: {}", describe_order(&self.order(table))));
                    }
                }
            }
            if *split {
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
        let CodeOptions { order, oriented, .. } = self.options;
        let unasked = !oriented && order.first() == SquareOrder::default().first();
        match table.listed_order().filter(|_| unasked && self.imported) {
            Some(listed) => SquareOrder { files: order.files, colors: order.colors, ..listed },
            None => *order,
        }
    }

    fn items(&mut self) -> Result<Vec<Item<'a>>> {
        let CodeOptions { language, phases, split, .. } = self.options;
        let style = self.options.style;
        let endings: Vec<String> = match (phases, language.pair_ending) {
            (PhaseValues::Separate, _) => PHASES.map(|phase| style.ending(phase)).to_vec(),
            (_, Some(ending)) => vec![style.ending(ending)],
            (_, None) => Vec::new(),
        };
        let module = self.options.module.as_deref().or(language.module);
        let reserved: Vec<&str> = module.into_iter().collect();
        let mut identifiers = Identifiers::new(style, &self.options.prefix, &endings, &reserved);
        let mut told_apart = Vec::new();
        let mut take = |name: &str| {
            let (identifier, told) = identifiers.take(name);
            if told {
                told_apart.push((name.to_string(), identifier.clone()));
            }
            identifier
        };
        let mut items = Vec::new();
        let taken = self.tables.0.iter().any(|table| table.name.eq_ignore_ascii_case("material"));
        if *split {
            match self.tables.pieces() {
                Some(tables) if !taken => {
                    let identifier = take("material");
                    items.push(self.piece_values("material", &tables, identifier)?);
                }
                _ => {
                    for (at, table) in
                        self.tables.0.iter().enumerate().filter(|(_, table)| table.is_squares())
                    {
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
        self.told_apart = told_apart;
        Ok(items)
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
            options: self.scale_option(),
            what: what.to_string(),
            lengths: if several { vec![tables.len()] } else { Vec::new() },
            row: 1,
            numbers,
            // Six are those of the pieces, in their order.
            notes: several.then(|| ROLE_NAMES.to_vec()),
            unread: [false; 2],
        })
    }

    fn squares(&self, at: usize, identifier: String) -> Result<Item<'a>> {
        let CodeOptions { split, .. } = self.options;
        let table = &self.tables.0[at];
        let order = self.order(table);
        let mut numbers = [Vec::new(), Vec::new()];
        for (phase, numbers) in numbers.iter_mut().enumerate() {
            let offset = if *split { self.mean(at, phase) } else { 0.0 };
            for cell in order.cells() {
                let units = |square: &usize| self.units(table.ids[*square], phase);
                let value = units(&cell.squares[0]);
                let name = || format!("{}.{}", self.features[table.ids[cell.squares[0]]].name, PHASES[phase]);
                if let Some(other) = cell.squares.get(1)
                    && units(other) != value
                {
                    return Err(Error::Usage(format!(
                        "'{}' is {} and '{}.{}' is {}: half tables are for symmetric values",
                        name(),
                        self.rounding.text(value),
                        self.features[table.ids[*other]].name,
                        PHASES[phase],
                        self.rounding.text(units(other)),
                    ))
                    .advise(Remedy::MirroredBasis));
                }
                // Rounded separately, so that the sum is the rounded value.
                let value = self.rounding.round(value - offset);
                numbers.push(self.number(if cell.negative { 0.0 - value } else { value }, name)?);
            }
        }
        let mut options = String::new();
        // Without it, the order of the schema would apply.
        if self.imported || (order.ranks_down, order.files_down) != (false, false) {
            options += &format!(" orientation {}", order.first());
        }
        if order.files == 4 {
            options += " files 4";
        }
        match order.colors {
            Colors::One => {}
            Colors::Both => options += " colors both",
            Colors::Negated => options += " colors negated",
        }
        if *split {
            options += " offset material";
        }
        let colors = if order.colors == Colors::One { 1 } else { 2 };
        Ok(Item {
            identifier,
            options: options + &self.scale_option(),
            what: marker_name(&table.name),
            lengths: if colors == 2 { vec![2, order.entries()] } else { vec![order.entries()] },
            row: order.files,
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
                numbers.push(self.number(self.units(id, phase), name)?);
            }
        }
        let names: Vec<&str> = table.ids.iter().map(|&id| self.file.parameters[id].name.as_str()).collect();
        let alone = names.len() == 1;
        Ok(Item {
            identifier,
            options: self.scale_option(),
            what: marker_name(&table.name),
            lengths: if alone { Vec::new() } else { vec![names.len()] },
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

    fn scale_option(&self) -> String {
        match self.rounding {
            Rounding::Fixed(parts) => format!(" scale {parts}"),
            _ => String::new(),
        }
    }

    /// Returns a value in output units.
    fn units(&self, id: usize, phase: usize) -> f64 {
        let record = &self.file.parameters[id];
        let value = if phase == 0 { record.mg } else { record.eg };
        self.rounding.round(value * self.rounding.scale())
    }

    /// Returns the rounded piece value of a table of squares, in output units.
    fn mean(&self, table: usize, phase: usize) -> f64 {
        let ids = self.tables.0[table].piece_ids();
        let value = |&id: &usize| {
            let record = &self.file.parameters[id];
            if phase == 0 { record.mg } else { record.eg }
        };
        let mean = ids.iter().map(value).sum::<f64>() / ids.len() as f64;
        self.rounding.round(mean * self.rounding.scale())
    }

    fn number(&self, units: f64, name: impl Fn() -> String) -> Result<String> {
        Ok(self.rounding.text(fit(units, self.rounding, self.overflow, name)?))
    }

    /// A declaration per phase, or one of pairs, with its marker.
    fn declare(&self, item: &Item<'_>, leaves_out: bool) -> String {
        let CodeOptions { language, phases, style, .. } = self.options;
        let untapered = *phases == PhaseValues::Untapered;
        let (indent, comment) = (language.indent, language.comment);
        let mut text = String::new();
        let one = |phase: Option<usize>| {
            let (ending, dot) = match (phase, language.pair_ending) {
                (Some(phase), _) => (style.ending(PHASES[phase]), format!(".{}", PHASES[phase])),
                (None, ending) => {
                    let dot = if untapered { ".both" } else { "" };
                    (ending.map(|ending| style.ending(ending)).unwrap_or_default(), dot.to_string())
                }
            };
            let pairs = phase.is_none() && !untapered;
            // Values that are equal in both phases are those of the first.
            let phase = phase.or(untapered.then_some(0));
            let name = format!("{}{ending}", item.identifier);
            let float = !self.rounding.is_whole();
            let declaration = Declaration { name: &name, lengths: &item.lengths, pairs, float };
            let mut text = format!("\n{indent}{comment} gputexel: {}{dot}{}\n", item.what, item.options);
            text += &(language.attributes)(self.has_odd_names(), float);
            text += &format!(
                "{indent}{}{}{}",
                (language.declare)(&declaration),
                self.value(item, phase),
                language.end
            );
            if let (Some(notes), true) = (&item.notes, item.lengths.is_empty()) {
                text += &format!(" {comment} {}", note(notes[0]));
            }
            text + "\n"
        };
        if *phases != PhaseValues::Separate {
            text += &one(None);
        } else {
            let written = (0..2).filter(|&phase| !(leaves_out && item.unread[phase]));
            written.for_each(|phase| text += &one(Some(phase)));
        }
        text
    }

    /// Returns true if names are not in the style of constants.
    fn has_odd_names(&self) -> bool {
        let CodeOptions { style, prefix, .. } = self.options;
        *style != super::NameStyle::Screaming || prefix.contains(char::is_lowercase)
    }

    fn value(&self, item: &Item<'_>, phase: Option<usize>) -> String {
        let CodeOptions { language, .. } = self.options;
        if item.lengths.is_empty() {
            return match phase {
                Some(phase) => item.numbers[phase][0].clone(),
                None => {
                    let [mg, eg] = [0, 1].map(|phase| item.numbers[phase][0].as_str());
                    format!("{}{}", (language.single_pair)(mg), language.pair(mg, eg, 0))
                }
            };
        }
        let cells: Vec<String> = match phase {
            Some(phase) => item.numbers[phase].clone(),
            None => {
                let width = item.numbers.iter().flatten().map(String::len).max().unwrap_or(0);
                let pair = |(mg, eg): (&String, &String)| language.pair(mg, eg, width);
                item.numbers[0].iter().zip(&item.numbers[1]).map(pair).collect()
            }
        };
        let (open, close) = language.brackets;
        let indent = language.indent;
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        let lines = |cells: &[String], deeper: &str| -> String {
            let line = |(at, row): (usize, &[String])| {
                let padded: Vec<String> = row.iter().map(|cell| format!("{cell:>width$}")).collect();
                let line = format!("{indent}{deeper}    {},", padded.join(", "));
                match &item.notes {
                    Some(notes) => format!("{line} {} {}\n", language.comment, note(notes[at])),
                    None => line + "\n",
                }
            };
            cells.chunks(item.row).enumerate().map(line).collect()
        };
        let body = match item.lengths[..] {
            [colors, each] => {
                let color = |at: usize| {
                    let cells = &cells[at * each..(at + 1) * each];
                    format!("{indent}    {open}\n{}{indent}    {close},\n", lines(cells, "    "))
                };
                (0..colors).map(color).collect()
            }
            _ => lines(&cells, ""),
        };
        format!("{open}\n{body}{indent}{close}")
    }
}

pub fn describe_order(order: &SquareOrder) -> String {
    let last = match order.first() {
        "a1" => "h8",
        "h1" => "a8",
        "a8" => "h1",
        _ => "a1",
    };
    let whose = match order.colors {
        Colors::One => "from White's side; Black's pieces take the square with the rank mirrored (a1 for a8)",
        Colors::Both => "White's table, then Black's in the same order of squares",
        Colors::Negated => "White's table, then Black's in the same order of squares with the opposite sign",
    };
    match (order.files, order.files_down) {
        (4, down) => {
            let (first, edge) = if down { ("h", "e") } else { ("a", "d") };
            let rank = |at: &str| at.chars().nth(1).unwrap_or(' ');
            format!(
                "Half tables: index 0 is {first}{}, 3 is {edge}{}, 4 the next rank's {first}; the other half mirrors it; {whose}.",
                rank(order.first()),
                rank(order.first())
            )
        }
        _ => {
            let seventh = if order.files_down { "a" } else { "h" };
            let rank = if order.ranks_down { 8 } else { 1 };
            format!("Index 0 is {}, 7 is {seventh}{rank}, 63 is {last}, {whose}.", order.first())
        }
    }
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

/// Returns a name as a comment, in quotes unless it is a plain word.
fn note(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_string() } else { quote(name) }
}
