//! Declarations of a schema about a nonlinear evaluation, as written in its file.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::parameters::SchemaParameter;
use gputexel_model::Phases;
use gputexel_model::program::{FactorTarget, Phase, is_one, one};

/// A sum of parameters × coefficients apart from the linear part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccumulatorRecord {
    pub name: String,
    /// The first index of its coefficients, if there is one sum for both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The first index of each side's coefficients, if each side has a sum of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<SideIndices>,
    /// Constant factor of all its terms, such as −1 if a side's own sum counts against it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub sign: f64,
    /// Values of its sum; if absent, those that are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub mg: OneOrMany<TermRecord>,
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub eg: OneOrMany<TermRecord>,
    pub parameters: Vec<AccumulatorEntry>,
}

/// The first index of each side's coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideIndices {
    /// White's; the side to move's, where coefficients are from its point of view.
    pub white: u32,
    /// Black's; the opponent's, where coefficients are from the side to move's point of view.
    pub black: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperatorRecord {
    #[default]
    Identity,
    /// max(0, x).
    Relu,
    /// max(0, x)².
    Relu2,
    /// x |x|.
    Square,
    /// 1 / (1 + e^−x).
    Sigmoid,
    Table,
}

/// A function of an accumulator that is added to a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermRecord {
    #[serde(default)]
    pub op: OperatorRecord,
    /// Divisor: of the function's argument for `sigmoid` and `table`, else of its value.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub divide: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shift: f64,
    /// The term is 0 unless the sum is above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<f64>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
    /// Steps of the engine's integers in `scale` of a sigmoid.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub steps: f64,
    /// The accumulator, listed after this one, to whose value it is added in place of the score's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// The accumulator that it is multiplied by, with `.mg` or `.eg` for one of its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// The points of a `table`, with ascending x.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knots: Vec<[f64; 2]>,
    /// Value of the accumulator that it takes; if absent, that of the phase it is added to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Phase>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustmentRecord {
    pub target: Phase,
    pub op: AdjustmentOperator,
    pub by: String,
    /// With a constant k, min(C + k, 0) takes the place of the accumulator's C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdjustmentOperator {
    /// e + sgn(e) · max(C, −|e|).
    Bounded,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorRecord {
    /// Value that it multiplies.
    pub target: FactorTarget,
    pub by: OneOrMany<String>,
    /// Smallest value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min: f64,
    /// Largest value; if absent, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub one: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AccumulatorEntry {
    Use(SharedParameter),
    Own(Box<SchemaParameter>),
}

/// A parameter that is declared elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedParameter {
    #[serde(rename = "use")]
    pub name: String,
    /// Offset of its coefficient from the accumulator's index, or the first offset of a table.
    pub at: u32,
}

// Written by hand, because an untagged enum would not report what is wrong with an entry.
impl<'de> Deserialize<'de> for AccumulatorEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.get("use") {
            Some(_) => inner(value).map(Self::Use),
            None => inner(value).map(Self::Own),
        }
    }
}

/// List, which may be written as its only element.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> OneOrMany<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(list) => list.into_iter().map(inner).collect::<Result<_, _>>().map(Self),
            one => inner(one).map(|one| Self(vec![one])),
        }
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }
}

fn inner<T: DeserializeOwned, E: serde::de::Error>(value: Value) -> Result<T, E> {
    T::deserialize(value).map_err(|error: serde_json::Error| E::custom(error))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it like this")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
