//! What swarms report about an iteration, besides its loss.

use serde::{Deserialize, Deserializer, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwarmDetails {
    #[serde(deserialize_with = "number")]
    pub original: f64,
    /// Best loss of each swarm; `None` where there are too many to list.
    #[serde(deserialize_with = "numbers")]
    pub swarms: Option<Vec<f64>>,
    #[serde(deserialize_with = "number")]
    pub swarm_median: f64,
    #[serde(deserialize_with = "number")]
    pub swarm_worst: f64,
    pub deaths: u64,
    pub restarts: u64,
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<f64>>, D::Error> {
    let list = Option::<Vec<Option<f64>>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect()))
}
