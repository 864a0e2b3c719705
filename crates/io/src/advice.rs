//! Hints on how to fix an error, separate from its text: each program writes settings in its own way, a
//! command line as flags.

use std::fmt::{Display, Formatter};

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Setting(&'static str, String),
}

/// A sentence on how to fix an error, mostly by settings.
///
/// ```
/// let advice = gputexel_io::Advice::default().setting("pov", "stm").text(" reads them so");
/// assert_eq!(advice.to_string(), "`pov=stm` reads them so");
/// assert_eq!(advice.render(|name, value| format!("--{name}={value}")), "--pov=stm reads them so");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// The characters between the error and the advice; `; ` by default.
    joint: Option<&'static str>,
    parts: Vec<Part>,
}

impl Advice {
    /// Creates an empty one that is joined to the error by other characters than `; `, such as `, or `.
    pub fn behind(joint: &'static str) -> Self {
        Self { joint: Some(joint), parts: Vec::new() }
    }

    pub fn joint(&self) -> &'static str {
        self.joint.unwrap_or("; ")
    }

    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Appends a setting and its value, which may be empty.
    #[must_use]
    pub fn setting(mut self, name: &'static str, value: impl ToString) -> Self {
        self.parts.push(Part::Setting(name, value.to_string()));
        self
    }

    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// Returns the sentence, with settings formatted by `write` from their names and values.
    pub fn render(&self, write: impl Fn(&str, &str) -> String) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Setting(name, value) => write(name, value),
        });
        parts.collect()
    }
}

impl Display for Advice {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(|name, value| {
            if value.is_empty() { format!("`{name}`") } else { format!("`{name}={value}`") }
        }))
    }
}
