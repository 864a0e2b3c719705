//! Advice on which settings would mend a refusal, apart from its words: each program writes settings
//! in its own way, a command line as flags.

use std::fmt::{Display, Formatter};

/// A part of an [`Advice`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Setting(&'static str, String),
}

/// A sentence about settings.
///
/// ```
/// let advice = gputexel_files::Advice::default().setting("pov", "stm").text(" reads them so");
/// assert_eq!(advice.to_string(), "`pov=stm` reads them so");
/// assert_eq!(advice.render(|name, value| format!("--{name}={value}")), "--pov=stm reads them so");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice(Vec<Part>);

impl Advice {
    /// Goes on with words.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Goes on with a setting and its value, which may be empty.
    #[must_use]
    pub fn setting(mut self, name: &'static str, value: impl ToString) -> Self {
        self.0.push(Part::Setting(name, value.to_string()));
        self
    }

    /// Goes on with another.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The sentence, with settings written by `write` from their names and values.
    pub fn render(&self, write: impl Fn(&str, &str) -> String) -> String {
        let parts = self.0.iter().map(|part| match part {
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
