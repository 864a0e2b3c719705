//! The JSON format of a basis, which refers to parameters by name.

use std::fmt;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use gputexel_io::{Error, Result};

const FORMAT: &str = "gputexel-basis";
const VERSION: u32 = 1;

/// A map from names to values, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object whose keys are names of parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut entries: Vec<(String, T)> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    if !seen.insert(name.clone()) {
                        return Err(serde::de::Error::custom(format!("'{name}' is listed twice")));
                    }
                    entries.push((name, value));
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or \"prior\"")]
pub enum Value {
    Number(f64),
    Prior(PriorWord),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PriorWord {
    Prior,
}

impl Value {
    pub const PRIOR: Self = Self::Prior(PriorWord::Prior);
}

impl Default for Value {
    fn default() -> Self {
        Self::Number(0.0)
    }
}

/// θ where every coordinate is 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected \"zero\", \"prior\", or an object of values by name")]
pub enum Base {
    Word(BaseWord),
    Values(Named<Value>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaseWord {
    Zero,
    Prior,
}

impl Default for Base {
    fn default() -> Self {
        Self::Word(BaseWord::Zero)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinateRecord {
    pub name: String,
    /// Starting value. With `prior`, the value that brings the parameters moved by this coordinate closest to
    /// the prior (least squares, other coordinates at 0), rounded if only whole numbers are allowed, and
    /// clamped to the bounds.
    #[serde(default)]
    pub start: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    /// Change of each parameter per unit of the coordinate.
    pub moves: Named<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasisFile {
    format: String,
    version: u32,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_set: Option<String>,
    /// θ where every coordinate is 0.
    #[serde(default)]
    pub base: Base,
    /// Parameters, tables or coordinates that are not tuned: parameters keep their prior, coordinates their
    /// start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freeze: Vec<String>,
    pub coordinates: Vec<CoordinateRecord>,
}

impl BasisFile {
    /// Creates a basis over zero that freezes nothing.
    pub fn new(name: &str, feature_set: &str, coordinates: Vec<CoordinateRecord>) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: VERSION,
            name: name.to_string(),
            feature_set: Some(feature_set.to_string()),
            base: Base::default(),
            freeze: Vec::new(),
            coordinates,
        }
    }

    /// Parses the text of a basis file; the names in it are checked when it is resolved.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let file: Self = serde_json::from_str(text).map_err(|error| Error::json(path, "a basis", &error))?;
        if file.format != FORMAT {
            return Err(Error::input(path, format!("format is '{}', expected '{FORMAT}'", file.format)));
        }
        if file.version != VERSION {
            let reason = format!("version {} is not supported (this is {VERSION})", file.version);
            return Err(Error::input(path, reason));
        }
        Ok(file)
    }

    /// Formats the file as JSON, one coordinate per line, with a final newline.
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\n  \"format\": {}, \"version\": {},\n", json(&self.format), self.version);
        out += &format!("  \"name\": {},\n", json(&self.name));
        if let Some(set) = &self.feature_set {
            out += &format!("  \"feature_set\": {},\n", json(set));
        }
        out += &format!("  \"base\": {},\n", json(&self.base));
        if !self.freeze.is_empty() {
            out += &format!("  \"freeze\": {},\n", json(&self.freeze));
        }
        let lines: Vec<String> = self.coordinates.iter().map(|c| format!("    {}", json(c))).collect();
        out + &format!("  \"coordinates\": [\n{}\n  ]\n}}\n", lines.join(",\n"))
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data serializes")
}
