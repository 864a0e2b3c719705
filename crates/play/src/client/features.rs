//! Features that an engine announces in xboard's `feature` lines.

use gputexel_io::shown;

/// Features that are known and accepted, whether they have an effect here or not.
const KNOWN: [&str; 26] = [
    "analyze",
    "colors",
    "debug",
    "done",
    "draw",
    "egt",
    "exclude",
    "highlight",
    "ics",
    "memory",
    "myname",
    "name",
    "nps",
    "option",
    "pause",
    "ping",
    "playother",
    "reuse",
    "san",
    "setboard",
    "setscore",
    "sigint",
    "sigterm",
    "smp",
    "time",
    "usermove",
];

/// Maximum number of options; further ones are ignored.
const MAX_OPTIONS: usize = 4096;

/// The features that matter here, with the protocol's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Features {
    pub name: Option<String>,
    pub ping: bool,
    pub setboard: bool,
    pub usermove: bool,
    pub san: bool,
    pub time: bool,
    pub reuse: bool,
    pub fischerandom: bool,
    /// Value of `done`, if announced.
    pub done: Option<bool>,
    memory: bool,
    smp: bool,
    options: Vec<String>,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            name: None,
            ping: false,
            setboard: false,
            usermove: false,
            san: false,
            time: true,
            reuse: true,
            fischerandom: false,
            done: None,
            memory: false,
            smp: false,
            options: Vec::new(),
        }
    }
}

impl Features {
    /// Reads the text after `feature`, and returns the replies.
    pub fn read(&mut self, text: &str) -> Vec<String> {
        let mut answers = Vec::new();
        for (name, value) in pairs(text) {
            let yes = value != "0";
            match name {
                "myname" => self.name = Some(shown(value)).filter(|name| !name.trim().is_empty()),
                "ping" => self.ping = yes,
                "setboard" => self.setboard = yes,
                "usermove" => self.usermove = yes,
                "san" => self.san = yes,
                "time" => self.time = yes,
                "reuse" => self.reuse = yes,
                "memory" => self.memory = yes,
                "smp" => self.smp = yes,
                "done" => self.done = Some(yes),
                "variants" => {
                    self.fischerandom = value.split(',').any(|variant| variant.trim() == "fischerandom");
                }
                "option" if self.options.len() < MAX_OPTIONS => {
                    self.options.push(value.split(" -").next().unwrap_or(value).trim().to_string());
                }
                _ => {}
            }
            let known = KNOWN.contains(&name) || name == "variants";
            answers.push(format!("{} {}", if known { "accepted" } else { "rejected" }, shown(name)));
        }
        answers
    }

    /// Returns the command for a setting; `None` if the engine has no such option. `Hash` and `Threads` stand for the
    /// protocol's own `memory`, MiB, and `cores`.
    pub fn setting(&self, name: &str, value: &str) -> Option<String> {
        if let Some(option) = self.options.iter().find(|option| option.eq_ignore_ascii_case(name)) {
            return Some(match value.is_empty() {
                true => format!("option {option}"),
                false => format!("option {option}={value}"),
            });
        }
        match name.to_ascii_lowercase().as_str() {
            "memory" | "hash" if self.memory => Some(format!("memory {value}")),
            "cores" | "threads" if self.smp => Some(format!("cores {value}")),
            _ => None,
        }
    }
}

/// Parses `name=value` and `name="a value"`, as far as possible.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some((name, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        found.push((name.rsplit(char::is_whitespace).next().unwrap_or(name), value));
        rest = next.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_and_answered() {
        let mut features = Features::default();
        let line = " ping=1 setboard=1 usermove=1 san=0 time=0 reuse=0 myname=\"My Engine 1.0\" memory=1 \
                    variants=\"normal,fischerandom\" option=\"King Safety -spin 10 0 20\" shiny=\"a b\" done=1";
        let answers = features.read(line);
        assert_eq!(features.name.as_deref(), Some("My Engine 1.0"));
        assert!(features.ping && features.setboard && features.usermove && features.fischerandom);
        assert!(!features.san && !features.time && !features.reuse);
        assert_eq!(features.done, Some(true));
        assert_eq!((answers[0].as_str(), answers[11].as_str()), ("accepted ping", "accepted done"));
        assert!(answers.contains(&"rejected shiny".to_string()));
        assert_eq!(features.setting("king safety", "7").as_deref(), Some("option King Safety=7"));
        assert_eq!(features.setting("Hash", "64").as_deref(), Some("memory 64"));
        assert_eq!(features.setting("Threads", "2"), None);
        for odd in ["", "=", "ping", "a=\"b", "x = 1", "done", "\u{7f}=\u{e9}"] {
            Features::default().read(odd);
        }
    }
}
