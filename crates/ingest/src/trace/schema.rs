//! The JSON file that defines the indices of a trace.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::accumulators::{AccumulatorRecord, AdjustmentRecord, FactorRecord};
use super::parameters::SchemaParameter;
use gputexel_io::{Error, Result, SETTINGS_BYTES, read_whole_text};
use gputexel_model::Division;

const FORMAT: &str = "gputexel-schema";
const VERSION: u32 = 1;

/// Refuses a file that is a schema where a trace or positions are expected: as positions, it would have none.
pub(crate) fn refuse_schema(path: &Path) -> Result<()> {
    let mut head = Vec::new();
    // From anything but a file, reading would take something away.
    if path.is_file() && File::open(path).is_ok_and(|file| file.take(64).read_to_end(&mut head).is_ok()) {
        let is_schema = head.trim_ascii_start().starts_with(b"{")
            && read_whole_text(path, SETTINGS_BYTES).is_ok_and(|text| text.contains(FORMAT));
        if is_schema {
            return Err(Error::input(path, "is a schema, not a trace or positions: name it with --schema"));
        }
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    format: String,
    version: u32,
    /// The smallest index that the trace may use: 0 or 1. All indices below are counted in the same way.
    pub index_base: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dense: bool,
    /// The meaning of the first number of a line.
    #[serde(default)]
    pub results: Results,
    #[serde(default)]
    pub point_of_view: Views,
    /// The content after `#`.
    #[serde(default)]
    pub comment: Comment,
    /// Source of the phase; if absent, the evaluation is untapered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseRecord>,
    /// The meaning of endgame scale factors; if absent, they are ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScaleRecord>,
    #[serde(default)]
    pub columns: Columns,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<u32>,
    /// The parameters, in the order of reports.
    #[serde(default)]
    pub parameters: Vec<SchemaParameter>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accumulators: Vec<AccumulatorRecord>,
    /// Adjustments by accumulators, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjust: Vec<AdjustmentRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<FactorRecord>,
    #[serde(default, skip_serializing_if = "Division::is_exact")]
    pub division: Division,
}

/// The meaning of the first number of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Results {
    #[default]
    #[serde(rename = "0..1")]
    ZeroToOne,
    /// 1 for a win, 0 for a draw, −1 for a loss, or anything in between.
    #[serde(rename = "-1..1")]
    MinusOneToOne,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    #[default]
    White,
    Stm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"white\", \"stm\", or an object of them by result, coefficients, offset, score and eval"
)]
pub enum Views {
    All(View),
    Each {
        #[serde(default)]
        result: View,
        #[serde(default)]
        coefficients: View,
        #[serde(default)]
        offset: View,
        #[serde(default)]
        score: View,
        #[serde(default)]
        eval: View,
    },
}

impl Default for Views {
    fn default() -> Self {
        Self::All(View::White)
    }
}

/// The content after `#`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Comment {
    #[default]
    Any,
    Fen,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"fen\", {\"fen\": \"1,1,2,4/24\"}, or {\"middlegame\": …, \"endgame\": …}"
)]
pub enum PhaseRecord {
    Word(PhaseWord),
    Counted {
        /// Units of knight, bishop, rook and queen, and the maximum, such as `1,1,2,4/24`.
        fen: String,
    },
    Column {
        middlegame: f64,
        endgame: f64,
        /// Number of steps between the two; if absent, their difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steps: Option<u16>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseWord {
    Fen,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleRecord {
    /// The value that represents a factor of 1, such as 64 or 128.
    pub one: f64,
    /// Number of steps from 0 to `one`; values are multiples of one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u16>,
}

/// The index of the game, or SVMlight's `qid:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected an index or \"qid\"")]
pub enum GameColumn {
    Index(u32),
    /// `qid:N` on every line.
    Qid(QidWord),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QidWord {
    Qid,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// A constant part of the evaluation, centipawns; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub game: Option<GameColumn>,
    /// The score of a search, centipawns; unknown if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
    /// The static evaluation printed by the engine, centipawns; unknown if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval: Option<u32>,
    /// The side to move, on every line: 1 White, −1 or 0 Black.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

impl Schema {
    /// Creates a schema with indices from `index_base` on, and defaults for everything else.
    pub fn new(index_base: u32, parameters: Vec<SchemaParameter>) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: VERSION,
            index_base,
            dense: false,
            results: Results::default(),
            point_of_view: Views::default(),
            comment: Comment::default(),
            phase: None,
            scale: None,
            columns: Columns::default(),
            ignore: Vec::new(),
            parameters,
            accumulators: Vec::new(),
            adjust: Vec::new(),
            factor: None,
            division: Division::default(),
        }
    }

    /// Reads a schema.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, [`Error::Input`] with the line when it is not a schema.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_whole_text(path, SETTINGS_BYTES).map_err(|source| match source.kind() {
            std::io::ErrorKind::InvalidData => Error::input(path, "not a schema: it is not text"),
            _ => Error::io(path, source),
        })?;
        Self::parse(&text, path)
    }

    /// Parses the text of a schema file.
    ///
    /// # Errors
    /// [`Error::Input`] with the line when it is not a schema.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let schema: Self =
            serde_json::from_str(text).map_err(|error| Error::json(path, "a schema", &error))?;
        if schema.format != FORMAT {
            return Err(Error::input(path, format!("format is '{}', expected '{FORMAT}'", schema.format)));
        }
        if schema.version != VERSION {
            let reason = format!("version {} is not supported (this is {VERSION})", schema.version);
            return Err(Error::input(path, reason));
        }
        Ok(schema)
    }

    /// Formats the file as JSON, one parameter or accumulator per line, with a final newline.
    pub fn to_json(&self) -> String {
        let json = |value: &serde_json::Value| value.to_string();
        let whole = serde_json::to_value(self).expect("plain data serializes");
        let mut lines = Vec::new();
        for (key, value) in whole.as_object().expect("a schema is an object") {
            let text = match value.as_array() {
                Some(list) if key == "parameters" || key == "accumulators" => {
                    let rows: Vec<String> = list.iter().map(|row| format!("    {}", json(row))).collect();
                    format!("[\n{}\n  ]", rows.join(",\n"))
                }
                _ => json(value),
            };
            lines.push(format!("  {}: {text}", json(&serde_json::Value::from(key.as_str()))));
        }
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}
