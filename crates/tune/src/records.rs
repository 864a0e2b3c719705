//! Records of a run in its folder: the lines of `metrics.jsonl`, and `z.json`.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};

use super::ErrorStatus;
use gputexel_io::{Error, Lines, Result, SETTINGS_BYTES, read_whole_text};
use gputexel_model::{Interval, Parameterization};
use gputexel_optim::SwarmDetails;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Its number, from 1; for swarms, the iteration.
    pub epoch: u64,
    /// Training loss, including regularization; for swarms, that of the best position.
    #[serde(deserialize_with = "null_as_nan")]
    pub loss: f64,
    /// Held-out loss, if positions are held out.
    pub held_out: Option<f64>,
    /// Largest component of the gradient, loss per centipawn, if known.
    pub gradient_norm: Option<f64>,
    /// Seconds of work so far, including earlier sessions.
    pub seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<SwarmDetails>,
}

fn null_as_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Reads the lines of a `metrics.jsonl`. An unterminated last line is incomplete and does not count; a missing file has
/// no lines.
///
/// # Errors
/// [`Error::Io`] when it cannot be read, [`Error::Input`] for a line that is not of this format.
pub fn read_metrics(path: &Path) -> Result<Vec<EpochRecord>> {
    let mut lines = match Lines::open(path) {
        Ok(lines) => lines,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(path, error)),
    };
    let mut found = Vec::new();
    while let Some(line) = lines.next_line()?.filter(|line| line.ended) {
        let step = serde_json::from_slice(line.bytes);
        found.push(step.map_err(|e| Error::line(path, line.number, format!("not a step: {e}")))?);
    }
    Ok(found)
}

/// The contents of `z.json`: the values of a basis by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinatesFile {
    pub basis: String,
    pub coordinates: Vec<CoordinateRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateRecord {
    pub name: String,
    pub value: f64,
    pub min: Option<f64>,
    /// Upper bound.
    pub max: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<CoordinateUncertainty>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateUncertainty {
    pub error: Option<f64>,
    pub standing: ErrorStatus,
    /// Share of its information that comes from the regularization, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_share: Option<f64>,
    /// Spread over bootstrap resamples, if requested; the inner `None`, written as null, is for coordinates without a
    /// spread.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub bootstrap: Option<Option<Interval>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Interval>>, D::Error> {
    Option::<Interval>::deserialize(deserializer).map(Some)
}

impl CoordinatesFile {
    /// Records the values `z` of a basis; `uncertainty` gives the uncertainty of a coordinate by its index.
    pub fn new(
        basis: &Parameterization,
        z: &[f64],
        uncertainty: impl Fn(usize) -> Option<CoordinateUncertainty>,
    ) -> Self {
        let coordinates = basis.coordinates.iter().zip(z).enumerate();
        Self {
            basis: basis.name.clone(),
            coordinates: coordinates
                .map(|(i, (coordinate, &value))| CoordinateRecord {
                    name: coordinate.name.clone(),
                    value,
                    min: coordinate.min,
                    max: coordinate.max,
                    uncertainty: uncertainty(i),
                })
                .collect(),
        }
    }

    /// Returns the file as JSON, one coordinate per line.
    pub fn to_json(&self) -> String {
        let json = |coordinate| serde_json::to_string(coordinate).expect("plain data serializes");
        let lines: Vec<String> =
            self.coordinates.iter().map(|coordinate| format!("    {}", json(coordinate))).collect();
        let basis = serde_json::to_string(&self.basis).expect("plain data serializes");
        format!("{{\n  \"basis\": {basis},\n  \"coordinates\": [\n{}\n  ]\n}}\n", lines.join(",\n"))
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text = read_whole_text(path, SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
        serde_json::from_str(&text).map_err(|error| Error::json(path, "the values of a basis", &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_optim::SwarmDetails;

    #[test]
    fn records_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        assert_eq!(read_metrics(&path).unwrap(), []);
        let plain = r#"{"epoch":1,"loss":0.1,"held_out":null,"gradient_norm":2e-9,"seconds":0.5}"#;
        let swarm = concat!(
            r#"{"epoch":2,"loss":0.1,"held_out":0.2,"gradient_norm":null,"seconds":1.0,"details":"#,
            r#"{"original":0.3,"swarms":null,"swarm_median":0.2,"swarm_worst":null,"deaths":1,"restarts":0}}"#
        );
        std::fs::write(&path, format!("{plain}\n{swarm}\n{{\"epoch\":3,\"lo")).unwrap();
        let lines = read_metrics(&path).unwrap();
        let [one, two] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(serde_json::to_string(one).unwrap(), plain);
        assert_eq!(serde_json::to_string(two).unwrap(), swarm);
        let Some(SwarmDetails { swarm_worst, .. }) = &two.details else { panic!() };
        assert!(swarm_worst.is_nan());
        std::fs::write(&path, "{}\n").unwrap();
        assert!(read_metrics(&path).unwrap_err().to_string().contains(":1: not a step"));
    }

    #[test]
    fn values_of_a_basis_survive() {
        let coordinate = |name: &str, uncertainty| CoordinateRecord {
            name: name.to_string(),
            value: 5.0,
            min: None,
            max: Some(10.5),
            uncertainty,
        };
        let known = |bootstrap| {
            Some(CoordinateUncertainty {
                error: None,
                standing: ErrorStatus::Rare,
                prior_share: None,
                bootstrap,
            })
        };
        let interval = Interval { error: 0.5, low: -1.0, high: 1.0 };
        let file = CoordinatesFile {
            basis: "mine".to_string(),
            coordinates: vec![
                coordinate("a", None),
                coordinate("b", known(None)),
                coordinate("c", known(Some(None))),
                coordinate("d", known(Some(Some(interval)))),
            ],
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("z.json");
        std::fs::write(&path, file.to_json()).unwrap();
        assert_eq!(CoordinatesFile::read(&path).unwrap(), file);
        assert!(file.to_json().contains(r#"    {"name":"a","value":5.0,"min":null,"max":10.5},"#));
    }
}
