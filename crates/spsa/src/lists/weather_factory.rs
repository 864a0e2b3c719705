//! weather-factory's `config.json`, with the gains of its `spsa.json`.

use std::fmt;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::columns::Numbered;
use super::{ListEntry, ListOptions, Setting};
use super::{Reading, Spec};
use crate::numbers::four_digits;
use crate::toml_text::line_at;
use crate::variables::positive;
use gputexel_io::{Error, Result};

pub(super) static SPEC: Spec = Spec {
    name: "weather-factory",
    form: r#"config.json: {"name": {"value", "min_value", "max_value", "step"}}"#,
    ending: None,
    columns: None,
    fits: None,
    needs: &[Setting::Min, Setting::Max, Setting::CEnd],
    takes: &[],
    has_fractions: false,
    parse,
    write: |entries, writing| {
        writing.gains = write_gains(entries, writing.options, &mut writing.notes);
        Ok(write(entries))
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object of value, min_value, max_value and step")]
struct Item {
    value: f64,
    min_value: f64,
    max_value: f64,
    step: f64,
}

struct Items(Vec<(String, Item)>);

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Items;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Items, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = map.next_entry()? {
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// Its `spsa.json`; what is missing has weather-factory's values.
#[derive(Deserialize)]
#[serde(default)]
struct Gains {
    a: f64,
    c: f64,
    #[serde(rename = "A")]
    stability: f64,
    alpha: f64,
    gamma: f64,
}

impl Default for Gains {
    fn default() -> Self {
        Self { a: 1.0, c: 1.0, stability: 100_000.0, alpha: 0.601, gamma: 0.102 }
    }
}

fn json_error(path: &Path, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    Error::line(path, error.line().max(1) as u64, reason)
}

fn parse(text: &str, reading: &mut Reading<'_>) -> Result<Vec<Numbered>> {
    let Reading { path, options, gains, notes } = reading;
    let Items(items) = serde_json::from_str(text).map_err(|error| json_error(path, &error))?;
    let gains = gains.map(read_gains).transpose()?;
    let (factor, r_end) = match (gains, options.games) {
        (Some(gains), Some(games)) => {
            let games = games as f64;
            let c = gains.c / games.powf(gains.gamma);
            let a = gains.a / (games + gains.stability).powf(gains.alpha);
            (c, Some(a / (c * c)))
        }
        (Some(_), None) => {
            notes.push(
                "its gains were ignored: where they end depends on the number of games, which is not known"
                    .to_string(),
            );
            (1.0, None)
        }
        (None, _) => (1.0, None),
    };
    if factor == 1.0 {
        notes.push("step was used as c_end".to_string());
    }
    // Keys are found in their order, so that the second of two of a name is the second in the text.
    let mut from = 0;
    let entry = |(name, item): (String, Item)| {
        let key = json!(name).to_string();
        let at = text[from..].find(&key).map_or(from, |at| from + at);
        from = (at + key.len()).min(text.len());
        let entry = ListEntry {
            min: Some(item.min_value),
            max: Some(item.max_value),
            c_end: Some(item.step * factor),
            r_end,
            ..ListEntry::new(name, item.value)
        };
        (line_at(text, at), entry)
    };
    Ok(items.into_iter().map(entry).collect())
}

fn read_gains(path: &Path) -> Result<Gains> {
    let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    serde_json::from_slice::<Gains>(&bytes).map_err(|error| json_error(path, &error))?.checked(path)
}

impl Gains {
    fn checked(self, path: &Path) -> Result<Self> {
        for (name, value) in [("a", self.a), ("c", self.c)] {
            positive(name, value).map_err(|error| Error::input(path, error.to_string()))?;
        }
        for (name, value) in [("A", self.stability), ("alpha", self.alpha), ("gamma", self.gamma)] {
            if !(value.is_finite() && value >= 0.0) {
                let reason = format!("{name} {value}: must be a number that is not negative");
                return Err(Error::input(path, reason));
            }
        }
        Ok(self)
    }
}

fn write(entries: &[ListEntry]) -> String {
    let mut object = serde_json::Map::new();
    for entry in entries {
        let item = json!({
            "value": number(entry.start),
            "min_value": entry.min.map(number),
            "max_value": entry.max.map(number),
            "step": entry.c_end.map(number),
        });
        object.insert(entry.name.clone(), item);
    }
    format!("{:#}\n", serde_json::Value::Object(object))
}

/// The `spsa.json` whose c has fallen to 1, and its a to r_end, after the number of games.
fn write_gains(entries: &[ListEntry], options: ListOptions, notes: &mut Vec<String>) -> Option<String> {
    let known: Vec<f64> = entries.iter().filter_map(|entry| entry.r_end).collect();
    let (Some(games), false) = (options.games, known.is_empty()) else {
        let why = "step is c_end; an spsa.json is written where the number of games and r_end are known";
        notes.push(why.to_string());
        return None;
    };
    let mean = (known.iter().map(|gain| gain.ln()).sum::<f64>() / known.len() as f64).exp();
    let equal = known.iter().all(|gain| *gain == known[0]);
    let gain = if equal { known[0] } else { mean };
    if !equal || known.len() < entries.len() {
        notes.push(format!(
            "weather-factory has one gain for all parameters: spsa.json ends with {}",
            four_digits(gain)
        ));
    }
    let Gains { alpha, gamma, .. } = Gains::default();
    let games = games as f64;
    let stability = games / 10.0;
    let a = gain * (games + stability).powf(alpha);
    let spsa = json!({
        "a": a, "c": games.powf(gamma), "A": number(stability), "alpha": alpha, "gamma": gamma,
    });
    Some(format!("{spsa:#}\n"))
}

fn number(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}
