use gputexel_io::{Error, Result};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepPart {
    /// Its number, from 1.
    pub number: usize,
    pub of: usize,
}

impl std::str::FromStr for SweepPart {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let part = numbers.map(|(number, of)| Self { number, of });
        part.filter(|part| (1..=part.of).contains(&part.number)).ok_or_else(|| {
            Error::setting("part", text, "expected the number of a part and how many there are, such as 1/8")
        })
    }
}

impl std::fmt::Display for SweepPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}
