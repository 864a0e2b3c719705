//! In what two configurations differ.

use serde_json::{Map, Value};

use super::RunConfig;

impl RunConfig {
    /// The first thing in which a configuration differs from that of a journal, so that a run would, in words.
    /// How many pairs are played at a time may change.
    pub fn difference(&self, journal: &Self) -> Option<String> {
        let value = |config: &Self| {
            let mut config = config.clone();
            config.games.concurrency = None;
            serde_json::to_value(config).unwrap_or_default()
        };
        first_difference("", &value(journal), &value(self))
    }
}

fn first_difference(path: &str, theirs: &Value, asked: &Value) -> Option<String> {
    let inner = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match (theirs, asked) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let get = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                first_difference(&inner(key), &get(one), &get(other))
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).enumerate().find_map(|(i, (one, other))| {
                let name = one.get("name").and_then(Value::as_str);
                first_difference(&inner(&name.map_or(i.to_string(), str::to_string)), one, other)
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            Some(format!("{path}: {} in the journal, {} in the file", one.len(), other.len()))
        }
        _ if theirs == asked => None,
        _ => {
            let text = |value: &Value| match value {
                Value::Null => "nothing".to_string(),
                value => value.to_string(),
            };
            Some(format!("{path} is {} in the journal, {} in the file", text(theirs), text(asked)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let one = serde_json::json!({"run": {"n": 1}, "parameter": [{"name": "a", "c": 1.0}], "x": null});
        let mut other = one.clone();
        assert_eq!(first_difference("", &one, &other), None);
        other["parameter"][0]["c"] = 2.5.into();
        let expected = "parameter.a.c is 1.0 in the journal, 2.5 in the file";
        assert_eq!(first_difference("", &one, &other).unwrap(), expected);
        other["parameter"] = serde_json::json!([]);
        assert_eq!(first_difference("", &one, &other).unwrap(), "parameter: 1 in the journal, 0 in the file");
        other = one.clone();
        other["run"]["m"] = "s".into();
        assert_eq!(
            first_difference("", &one, &other).unwrap(),
            "run.m is nothing in the journal, \"s\" in the file"
        );
    }
}
