//! Records of runs for people.

use serde::Serialize;
use serde_json::Value;

/// Longer lists of numbers than this are told by their length.
const LONG: usize = 24;

/// A record as indented JSON, with long lists of numbers told by their length.
pub fn readable<T: Serialize>(record: &T) -> String {
    fn shorten(value: &mut Value) {
        match value {
            Value::Array(list) if list.len() > LONG => {
                *value = Value::String(format!("({} entries)", list.len()));
            }
            Value::Array(list) => list.iter_mut().for_each(shorten),
            Value::Object(map) => map.values_mut().for_each(shorten),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::to_value(record) else { return String::new() };
    shorten(&mut value);
    serde_json::to_string_pretty(&value).unwrap_or_default()
}
