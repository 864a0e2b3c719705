//! Options that an engine offers, and their ranges.

use serde::{Deserialize, Serialize};

use gputexel_io::escaped;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineOption {
    pub name: String,
    #[serde(flatten)]
    pub kind: OptionKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum OptionKind {
    Check { default: bool },
    Spin { default: i64, min: i64, max: i64 },
    Combo { default: String, vars: Vec<String> },
    Button,
    String { default: String },
}

impl EngineOption {
    /// A line `option name … type …`; `None` if it is not usable.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        (words.next()? == "option" && words.next()? == "name").then_some(())?;
        let words: Vec<&str> = words.collect();
        // A name may contain the word "type"; the relevant one is followed by a type.
        let types = ["check", "spin", "combo", "button", "string"];
        let at = (1..words.len().saturating_sub(1))
            .find(|&i| words[i] == "type" && types.contains(&words[i + 1]))?;
        // The exact name, including blanks: the engine compares with it. Names that are not text would reach terminals
        // and files.
        let name = name_of(line, &words[..at])?;
        let rest = &words[at + 2..];
        let kind = match words[at + 1] {
            "check" => OptionKind::Check { default: value_of("default", rest) == "true" },
            "spin" => {
                let number = |keyword| value_of(keyword, rest).parse::<i64>().ok();
                let (min, max) = (number("min").unwrap_or(i64::MIN), number("max").unwrap_or(i64::MAX));
                OptionKind::Spin { default: number("default")?, min, max }
            }
            "combo" => OptionKind::Combo { default: value_of("default", rest), vars: values_of("var", rest) },
            "button" => OptionKind::Button,
            // The rest is text, including keywords.
            _ => OptionKind::String {
                default: match rest {
                    ["default", "<empty>"] => String::new(),
                    ["default", text @ ..] => text.join(" "),
                    _ => String::new(),
                },
            },
        };
        Some(Self { name, kind })
    }

    /// The command that sets the option, or why the value is refused.
    pub(super) fn setting(&self, value: &str) -> Result<String, String> {
        let name = &self.name;
        let value = match &self.kind {
            OptionKind::Check { .. } => match value.to_ascii_lowercase().as_str() {
                "true" => "true",
                "false" => "false",
                _ => return Err(format!("'{value}': must be true or false")),
            },
            OptionKind::Spin { min, max, .. } => match value.parse::<i64>() {
                Ok(number) if (*min..=*max).contains(&number) => value,
                _ => return Err(format!("'{value}': must be an integer from {min} to {max}")),
            },
            OptionKind::Combo { vars, .. } => {
                let var = vars.iter().find(|var| var.eq_ignore_ascii_case(value));
                var.ok_or_else(|| format!("'{value}': must be one of {}", vars.join(", ")))?
            }
            OptionKind::Button if value.is_empty() => return Ok(format!("setoption name {name}")),
            OptionKind::Button => return Err(format!("'{value}': a button takes no value")),
            // A line break would begin another command.
            OptionKind::String { .. } if value.contains(['\n', '\r']) => {
                return Err("the text contains a line break".to_string());
            }
            OptionKind::String { .. } if value.is_empty() => "<empty>",
            OptionKind::String { .. } => value,
        };
        Ok(format!("setoption name {name} value {value}"))
    }
}

/// From the first of the name's words to the last; `None` if it is not printable.
fn name_of(line: &str, words: &[&str]) -> Option<String> {
    // Words are parts of the line.
    let offset = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    let (first, last) = (words.first()?, words.last()?);
    let name = &line[offset(first)..offset(last) + last.len()];
    (escaped(name) == name).then(|| name.to_string())
}

/// The words that follow each `keyword`, up to the next keyword.
fn values_of(keyword: &str, words: &[&str]) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    let mut inside = false;
    for &word in words {
        if ["default", "min", "max", "var"].contains(&word) {
            inside = word == keyword;
            if inside {
                values.push(String::new());
            }
        } else if let Some(value) = values.last_mut().filter(|_| inside) {
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(word);
        }
    }
    values
}

fn value_of(keyword: &str, words: &[&str]) -> String {
    values_of(keyword, words).into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> EngineOption {
        EngineOption::parse(line).unwrap()
    }

    #[test]
    fn options_are_read() {
        let hash = parsed("option name Hash type spin default 16 min 1 max 33554432");
        assert_eq!(hash.name, "Hash");
        assert_eq!(hash.kind, OptionKind::Spin { default: 16, min: 1, max: 33_554_432 });
        let style = parsed("option name Play Style type combo default Very Solid var Very Solid var Risky");
        assert_eq!(style.name, "Play Style");
        let vars = vec!["Very Solid".to_string(), "Risky".to_string()];
        assert_eq!(style.kind, OptionKind::Combo { default: "Very Solid".to_string(), vars });
        assert_eq!(parsed("option name Clear Hash type button").kind, OptionKind::Button);
        assert_eq!(
            parsed("option  name\tPonder type check default false").kind,
            OptionKind::Check { default: false }
        );
        let file = parsed("option name Log File type string default a min b");
        assert_eq!(file.kind, OptionKind::String { default: "a min b".to_string() });
        let empty = parsed("option name Log File type string default <empty>");
        assert_eq!(empty.kind, OptionKind::String { default: String::new() });
        let blanks = parsed("option name  Piece  Activity  type check default true");
        assert_eq!(blanks.name, "Piece  Activity");
        assert_eq!(blanks.setting("false").unwrap(), "setoption name Piece  Activity value false");
        let typed = parsed("option name Book type type spin max -1 default -3 min -5");
        assert_eq!(typed.name, "Book type");
        assert_eq!(typed.kind, OptionKind::Spin { default: -3, min: -5, max: -1 });
        for line in [
            "option",
            "option name",
            "option name x",
            "option name type spin",
            "option name x type list",
            "option name \u{1b}[2J type button",
            "option name a\u{202e}b type button",
            "option name x type spin default y min 1 max 2",
            "info name x type button",
        ] {
            assert_eq!(EngineOption::parse(line), None, "{line}");
        }
    }

    #[test]
    fn values_are_checked() {
        let hash = parsed("option name Hash type spin default 16 min 1 max 64");
        assert_eq!(hash.setting("64").unwrap(), "setoption name Hash value 64");
        for wrong in ["0", "65", "", "1.5", "x", "1\nquit"] {
            assert!(hash.setting(wrong).unwrap_err().contains("from 1 to 64"), "{wrong}");
        }
        let check = parsed("option name Ponder type check default true");
        assert_eq!(check.setting("False").unwrap(), "setoption name Ponder value false");
        assert!(check.setting("1").is_err());
        let combo = parsed("option name Style type combo default Solid var Solid var Very Risky");
        assert_eq!(combo.setting("very risky").unwrap(), "setoption name Style value Very Risky");
        assert!(combo.setting("Very").unwrap_err().contains("one of Solid, Very Risky"));
        let button = parsed("option name Clear Hash type button");
        assert_eq!(button.setting("").unwrap(), "setoption name Clear Hash");
        assert!(button.setting("now").is_err());
        let text = parsed("option name Log type string default");
        assert_eq!(text.setting("").unwrap(), "setoption name Log value <empty>");
        assert_eq!(text.setting("a b").unwrap(), "setoption name Log value a b");
        assert!(text.setting("a\nquit").is_err());
    }
}
