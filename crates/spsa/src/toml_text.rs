//! TOML as text: values, tables of parameters, and where an error is.

use std::path::Path;

use toml::Value;

use crate::variables::Variable;
use gputexel_io::Error;

pub(crate) fn toml_error(text: &str, path: &Path, error: &toml::de::Error) -> Error {
    let line = error.span().map_or(1, |span| line_at(text, span.start));
    let reason: Vec<&str> = error.message().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Error::line(path, line, reason.join("; "))
}

/// The line, from 1, of a byte.
pub(crate) fn line_at(text: &str, byte: usize) -> u64 {
    1 + text.bytes().take(byte).filter(|byte| *byte == b'\n').count() as u64
}

pub(crate) fn comment(text: &str) -> String {
    format!("#{}\n", text.replace(char::is_control, " "))
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value}") } else { format!("{value:?}") }
}

pub(crate) fn parameter_table(variable: &Variable) -> String {
    let Variable { name, start, min, max, integer, c_end, r_end, s, sigma, simul_elo } = variable;
    let mut out = format!("[[parameter]]\nname = {}\n", Value::String(name.clone()));
    let mut set = |key: &str, value: f64| {
        out += &format!("{key} = {}\n", number(value));
    };
    set("start", *start);
    set("min", *min);
    set("max", *max);
    set("c_end", *c_end);
    for (key, value) in [("r_end", r_end), ("s", s), ("sigma", sigma)] {
        if let Some(value) = value {
            set(key, *value);
        }
    }
    if *simul_elo != 0.0 {
        set("simul_elo", *simul_elo);
    }
    out += &format!("integer = {integer}\n");
    out
}
