//! Formats records of runs for reading.

use serde::Serialize;
use serde_json::Value;

/// Length above which only the length of a list of numbers is shown.
const LONG: usize = 24;

/// Record as indented JSON, with long lists of numbers replaced by their length.
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
