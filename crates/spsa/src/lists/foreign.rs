//! Files of other tuners that are no lists of parameters with values: what they are, and what to give instead.

use std::path::Path;

use serde_json::{Map, Value};

use gputexel_io::{Error, Result, shown};

/// Refuses files that are no text.
///
/// # Errors
/// [`Error::Input`] that says what it is.
pub(super) fn check_bytes(bytes: &[u8], path: &Path) -> Result<()> {
    let what = match bytes {
        [b'P', b'K', 3, 4, ..] => "an archive, such as the data.npz of chess-tuning-tools",
        [0x80, 2..=5, ..] => "pickled by Python, such as the model.pkl of chess-tuning-tools",
        _ => return Ok(()),
    };
    Err(Error::input(path, format!("is {what}; give a list of names and values as text")))
}

/// What an object of JSON is, if it belongs to another tuner and has no parameters with values.
pub(super) fn of_json(object: &Map<String, Value>) -> Option<String> {
    let has = |keys: &[&str]| keys.iter().all(|key| object.contains_key(*key));
    let gains = ["a", "c", "A", "alpha", "gamma"];
    if has(&["a", "c"])
        && object.iter().all(|(key, value)| gains.contains(&key.as_str()) && value.is_number())
    {
        return Some(
            "is weather-factory's spsa.json, which has gains only; give the config.json beside it"
                .to_string(),
        );
    }
    if has(&["engine", "book"]) && object.values().any(|value| !value.is_object()) {
        let what =
            "is weather-factory's cutechess.json, which says how to play; give the config.json beside it";
        return Some(what.to_string());
    }
    let ranges = object.get("parameter_ranges")?.as_object()?;
    let names: Vec<String> = ranges.keys().take(3).map(|name| shown(name)).collect();
    let more = if ranges.len() > names.len() { ", ..." } else { "" };
    Some(format!(
        "is a configuration of chess-tuning-tools, whose parameter_ranges ({}{more}) have no values to start from; \
         give a list name,start,min,max,c_end,r_end",
        names.join(", ")
    ))
}

/// What a text is that is of no known list.
pub(super) fn of_text(text: &str) -> Option<String> {
    let kinds = ["LinearParameter", "IntegerParameter", "GammaParameter", "IntegerGammaParameter"];
    let names: Vec<String> = text
        .lines()
        .filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [kind, name, _, _] if kinds.contains(&kind) => Some(shown(name)),
            _ => None,
        })
        .collect();
    let first = names.first()?;
    let more = if names.len() > 1 { ", ..." } else { "" };
    Some(format!(
        "is an experiment of CLOP, whose parameters ({first}{more}) have no values to start from; \
         give a list name,start,min,max,c_end,r_end"
    ))
}

/// What serde says of a value of another type, in words of JSON.
pub(super) fn of_other_type(said: &str) -> Option<String> {
    let (found, expected) = said.strip_prefix("invalid type: ")?.split_once(", expected ")?;
    let found = match found {
        "map" => "an object",
        "sequence" => "a list",
        "null" => "null",
        other => other,
    };
    let expected = if expected == "f64" { "a number" } else { expected };
    Some(format!("{found} is not {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_as_in_json() {
        for (said, expected) in [
            ("invalid type: map, expected f64", Some("an object is not a number")),
            ("invalid type: sequence, expected f64", Some("a list is not a number")),
            ("invalid type: string \"x\", expected a list", Some("string \"x\" is not a list")),
            ("EOF while parsing an object", None),
        ] {
            assert_eq!(of_other_type(said).as_deref(), expected);
        }
    }
}
