//! The grid: the settings that are varied, their values, and the combinations.

use serde::{Deserialize, Serialize};

use super::super::Values;
use gputexel_dataset::SourceRecord;
use gputexel_dataset::objective::LossKind;
use gputexel_io::{Error, Result, some_of};
use gputexel_optim::AdamSettings;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisKey {
    /// Adam: learning rate, centipawns per step.
    LearningRate,
    L2,
    Strength,
    /// Scale constant, base-10 form.
    K,
    Loss,
    /// Weight β of the search score in the targets.
    Blend,
    /// Factor on the training weights of a source's positions, by the source's index.
    Source(usize),
    /// Seed of the folds: repeats the same runs on another partition.
    Seed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisValues {
    Numbers(Values),
    Losses(Vec<LossKind>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    pub key: AxisKey,
    pub name: String,
    pub values: AxisValues,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Adam's settings; Gauss–Newton only uses the regularization weight.
    pub adam: AdamSettings,
    /// Weight λ of the regularization.
    pub l2: f64,
    /// Scale constant, base-10 form.
    pub k: f64,
    pub loss: LossKind,
    /// Weight β of the search score in the targets.
    pub blend: f32,
    pub strength: f64,
    /// Factor on the weights of each source that has an axis, in the order of [`Grid::sources`].
    pub sources: Vec<f32>,
}

/// The axes; combinations are numbered with the last axis varying fastest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grid {
    pub axes: Vec<Axis>,
}

impl AxisKey {
    fn parse(name: &str, sources: &[SourceRecord]) -> Result<Self> {
        Ok(match name {
            "learning-rate" => Self::LearningRate,
            "l2" => Self::L2,
            "strength" => Self::Strength,
            "k" => Self::K,
            "loss" => Self::Loss,
            "blend" => Self::Blend,
            "seed" => Self::Seed,
            _ => match name.strip_prefix("source:") {
                Some(source) => Self::Source(find_source(source, sources)?),
                None => {
                    let reason = format!(
                        "unknown key '{name}'; expected learning-rate, l2, strength, k, \
                         loss, blend, source:NAME or seed"
                    );
                    return Err(Error::Setting { setting: "grid", value: None, reason });
                }
            },
        })
    }

    fn range(self, value: f64) -> (&'static str, bool) {
        match self {
            // Far beyond any sensible parameter value; larger steps could overflow f32.
            Self::LearningRate => ("a positive number up to 1e6", value > 0.0 && value <= 1e6),
            Self::L2 | Self::Strength => ("0 or a positive number", value >= 0.0),
            Self::K => ("a positive number up to 1e6", value > 0.0 && value <= 1e6),
            Self::Blend => ("from 0 to 1", (0.0..=1.0).contains(&value)),
            Self::Source(_) => ("0 or a positive number up to 1e6", (0.0..=1e6).contains(&value)),
            Self::Seed => ("an integer from 0 to 2^53", {
                (0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0
            }),
            Self::Loss => ("squared, cross-entropy, or power:Q", false),
        }
    }
}

/// Returns the source that a name refers to: its path, its number from 1, or a part of exactly one path.
fn find_source(name: &str, sources: &[SourceRecord]) -> Result<usize> {
    if let Some(exact) = sources.iter().position(|source| source.path == name) {
        return Ok(exact);
    }
    if let Some(number) = name.parse::<usize>().ok().filter(|n| (1..=sources.len()).contains(n)) {
        return Ok(number - 1);
    }
    let matching: Vec<usize> =
        (0..sources.len()).filter(|&i| !name.is_empty() && sources[i].path.contains(name)).collect();
    let list = |which: &[usize]| {
        let named = |&i: &usize| format!("{} = {}", i + 1, sources[i].path);
        some_of(&which.iter().map(named).collect::<Vec<_>>(), 10)
    };
    let wrong = |reason: String| Error::setting("grid", format!("source:{name}"), reason);
    match matching[..] {
        [one] => Ok(one),
        [] if sources.is_empty() => Err(wrong("the dataset does not know its sources".to_string())),
        [] => {
            let all: Vec<usize> = (0..sources.len()).collect();
            Err(wrong(format!("no source has this name; sources: {}", list(&all))))
        }
        _ => Err(wrong(format!("{} sources have this in their names: {}", matching.len(), list(&matching)))),
    }
}

impl Axis {
    pub fn parse(text: &str, sources: &[SourceRecord], k_factor: f64) -> Result<Self> {
        let Some((name, list)) = text.rsplit_once('=') else {
            return Err(Error::setting("grid", format!("'{text}'"), "expected KEY=VALUES"));
        };
        let key = AxisKey::parse(name, sources)?;
        let fail = |why: String| Error::setting("grid", name, why);
        let distinct = |count: usize, all: usize| match count == all {
            true => Ok(()),
            false => Err(fail("a value is listed twice".to_string())),
        };
        if key == AxisKey::Loss {
            let kinds: Result<Vec<LossKind>> = list.split(',').map(|kind| kind.trim().parse()).collect();
            let kinds = kinds.map_err(|e| fail(e.to_string()))?;
            let names: std::collections::HashSet<String> = kinds.iter().map(ToString::to_string).collect();
            distinct(names.len(), kinds.len())?;
            return Ok(Self { key, name: name.to_string(), values: AxisValues::Losses(kinds) });
        }
        let mut values: Values = list.parse().map_err(|e: Error| fail(e.to_string()))?;
        if key == AxisKey::K {
            values.numbers.iter_mut().for_each(|k| *k *= k_factor);
        }
        for &value in &values.numbers {
            let (expected, fits) = key.range(value);
            if !fits {
                return Err(fail(format!("{value}: must be {expected}")));
            }
        }
        let bits: std::collections::HashSet<u64> = values.numbers.iter().map(|v| v.to_bits()).collect();
        distinct(bits.len(), values.numbers.len())?;
        Ok(Self { key, name: name.to_string(), values: AxisValues::Numbers(values) })
    }

    pub fn len(&self) -> usize {
        match &self.values {
            AxisValues::Numbers(values) => values.numbers.len(),
            AxisValues::Losses(kinds) => kinds.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Formats a value with as few digits as distinguish it from the axis's other values (at least four).
    pub fn label(&self, index: usize) -> String {
        match &self.values {
            AxisValues::Losses(kinds) => kinds[index].to_string(),
            AxisValues::Numbers(values) => {
                let distinct = |digits: &usize| {
                    let texts = values.numbers.iter().map(|&value| rounded(value, *digits));
                    texts.collect::<std::collections::HashSet<_>>().len() == values.numbers.len()
                };
                let digits = (4..17).find(distinct).unwrap_or(17);
                rounded(values.numbers[index], digits)
            }
        }
    }

    pub fn number(&self, index: usize) -> Option<f64> {
        match &self.values {
            AxisValues::Numbers(values) => values.numbers.get(index).copied(),
            AxisValues::Losses(_) => None,
        }
    }
}

fn rounded(value: f64, digits: usize) -> String {
    let rounded: f64 = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
    match rounded.abs() {
        0.0 => "0".to_string(),
        1e-4..1e7 => format!("{rounded}"),
        _ => format!("{rounded:e}"),
    }
}

impl Grid {
    pub fn len(&self) -> usize {
        self.axes.iter().fold(1usize, |product, axis| product.saturating_mul(axis.len()))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn indices(&self, mut combination: usize) -> Vec<usize> {
        let mut indices = vec![0; self.axes.len()];
        for (index, axis) in indices.iter_mut().zip(&self.axes).rev() {
            *index = combination % axis.len();
            combination /= axis.len();
        }
        indices
    }

    pub fn labels(&self, combination: usize) -> Vec<String> {
        let indices = self.indices(combination);
        self.axes.iter().zip(indices).map(|(axis, index)| axis.label(index)).collect()
    }

    /// Returns the sources that have an axis, as indices in the dataset, in the order of the axes.
    pub fn sources(&self) -> Vec<usize> {
        let source = |axis: &Axis| match axis.key {
            AxisKey::Source(source) => Some(source),
            _ => None,
        };
        self.axes.iter().filter_map(source).collect()
    }

    /// Returns the loss functions that occur; `default` if the grid does not vary them.
    pub fn losses(&self, default: LossKind) -> Vec<LossKind> {
        let kinds = self.axes.iter().find_map(|axis| match &axis.values {
            AxisValues::Losses(kinds) => Some(kinds.clone()),
            AxisValues::Numbers(_) => None,
        });
        kinds.unwrap_or_else(|| vec![default])
    }

    pub fn varies(&self, key: AxisKey) -> bool {
        self.axes.iter().any(|axis| axis.key == key)
    }

    pub fn setting(&self, combination: usize, base: &Setting, k: &[(LossKind, f64)]) -> Setting {
        let mut setting = base.clone();
        setting.sources.clear();
        let indices = self.indices(combination);
        for (axis, &index) in self.axes.iter().zip(&indices) {
            match &axis.values {
                AxisValues::Losses(kinds) => setting.loss = kinds[index],
                AxisValues::Numbers(values) => {
                    let value = values.numbers[index];
                    match axis.key {
                        AxisKey::LearningRate => setting.adam.learning_rate = value,
                        AxisKey::L2 => setting.l2 = value,
                        AxisKey::Strength => setting.strength = value,
                        AxisKey::K => setting.k = value,
                        AxisKey::Blend => setting.blend = value as f32,
                        AxisKey::Source(_) => setting.sources.push(value as f32),
                        AxisKey::Seed | AxisKey::Loss => {}
                    }
                }
            }
        }
        if !self.varies(AxisKey::K)
            && let Some(&(_, k)) = k.iter().find(|(loss, _)| *loss == setting.loss)
        {
            setting.k = k;
        }
        setting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Vec<SourceRecord> {
        ["a/lichess.pgn", "b/engine.epd", "c/engine.epd", "2"]
            .map(|path| SourceRecord { path: path.to_string(), ..SourceRecord::default() })
            .into()
    }

    fn axis(text: &str) -> Result<Axis> {
        Axis::parse(text, &sources(), 0.5)
    }

    #[test]
    fn combinations_are_those_of_the_axes() {
        let axes = ["l2=0,1e-4,1e-3", "loss=squared,cross-entropy", "source:lich=0.5,2", "k=2"];
        let grid = Grid { axes: axes.map(|text| axis(text).unwrap()).into() };
        assert_eq!((grid.len(), grid.sources()), (12, vec![0]));
        let base = Setting {
            adam: AdamSettings { beta1: 0.8, ..AdamSettings::default() },
            k: 0.7,
            loss: LossKind::Squared,
            blend: 0.0,
            l2: 0.0,
            strength: 1.0,
            sources: vec![],
        };
        let setting = grid.setting(6, &base, &[]);
        assert_eq!(grid.indices(6), [1, 1, 0, 0]);
        assert_eq!(grid.labels(6), ["0.0001", "cross-entropy", "0.5", "1"]);
        assert_eq!((setting.l2, setting.loss), (1e-4, LossKind::CrossEntropy));
        assert_eq!((setting.adam.beta1, setting.k), (0.8, 1.0)); // k_factor is 0.5
        assert_eq!(setting.sources, [0.5]);
        let all: std::collections::HashSet<String> = (0..12).map(|i| grid.labels(i).join(" ")).collect();
        assert_eq!(all.len(), 12);

        let grid = Grid { axes: vec![axis("loss=squared,cross-entropy").unwrap()] };
        let fitted = [(LossKind::Squared, 0.8), (LossKind::CrossEntropy, 0.9)];
        assert_eq!([0, 1].map(|i| grid.setting(i, &base, &fitted).k), [0.8, 0.9]);
    }

    #[test]
    fn sources_are_found_by_name_number_and_part() {
        let find = |name: &str| find_source(name, &sources());
        assert_eq!(find("b/engine.epd").unwrap(), 1);
        assert_eq!(find("2").unwrap(), 3); // a path takes precedence over a number
        assert_eq!(find("3").unwrap(), 2);
        assert_eq!(find("lichess").unwrap(), 0);
        assert!(find("engine").unwrap_err().to_string().contains("2 sources have this"));
        for name in ["nothing", "9", "0", ""] {
            assert!(find(name).unwrap_err().to_string().contains("no source has this name"), "{name}");
        }
    }

    #[test]
    fn bad_axes_are_refused() {
        let bad = "l2 l2= =1 rate=1 l2=-1 l2=nan learning-rate=0 learning-rate=1e7 k=0 k=1:2:0 loss= \
            loss=absolute loss=squared,squared blend=1.5 source:engine=1 source:lichess=-1 seed=1.5 seed=-1 l2=0,0 damping=1";
        for text in bad.split(' ') {
            assert!(matches!(axis(text), Err(Error::Usage(_) | Error::Setting { .. })), "{text}");
        }
        assert_eq!(axis("l2=1,1e-9").unwrap().label(1), "1e-9");
        assert_eq!(axis("l2=0.1:0.3:3").unwrap().label(1), "0.2");
        assert_eq!(axis("l2=1e-6:1e-5:3:log").unwrap().label(1), "3.162e-6");
        assert_eq!(axis("l2=1,1.000001").unwrap().label(1), "1.000001");
    }
}
