//! Many sets of parameters in one table: the results of each, and their losses on the same positions.

use std::path::PathBuf;

use gputexel_dataset::objective::{LossKind, Objective};
use gputexel_dataset::{self as dataset};
use gputexel_io::run_folder::{METRICS, RunFolder};
use gputexel_io::{Error, Result};
use gputexel_model::Prior;
use gputexel_tune::paired_difference;
use serde_json::{Value, json};

use super::losses::{Loss, loss_of};
use super::{Differences, Side, SortBy};
use crate::page::steps_of;
use gputexel_report::{Contest, ContestColumn, Entrant, Step, grouped};

type Column = (&'static str, Vec<Option<f64>>, fn(f64) -> String);

pub struct Contender {
    pub side: Side,
    /// Its epochs, if it is the folder of a run.
    pub steps: Vec<Step>,
    /// Root mean square of its changes against the first, centipawns; `None` if they have nothing in common.
    pub change: Option<f64>,
    /// Its loss on the dataset; the reason if there is none because the dataset has other features.
    pub loss: Option<std::result::Result<Loss, String>>,
    /// Mean loss minus that of the best, and its standard error by game.
    pub over_best: Option<(f64, f64)>,
}

pub struct Contenders {
    pub all: Vec<Contender>,
    on: Option<(LossKind, u64, Vec<PathBuf>)>,
}

impl Contenders {
    /// Reads parameter files or folders of runs; [values in words](Prior::is_word) apply to the parameters of the first
    /// of these.
    pub fn read(paths: &[PathBuf]) -> Result<Self> {
        let word = |path: &PathBuf| path.to_str().filter(|text| Prior::is_word(text)).map(str::to_string);
        let Some(like) = paths.iter().find(|path| word(path).is_none()) else {
            let why = "at least one has to be a parameter file or the folder of a run";
            return Err(Error::Usage(why.to_string()));
        };
        let like = Side::read(like)?;
        let read = |path: &PathBuf| match word(path) {
            None => Side::read(path),
            Some(word) => {
                let file = word.parse::<Prior>()?.file_like(&like.file, &like.name)?;
                Ok(Side { path: PathBuf::from(&word), name: word, file })
            }
        };
        let mut all: Vec<Contender> = Vec::new();
        for path in paths {
            let steps = match path.is_dir() && path.join(METRICS).exists() {
                true => steps_of(&RunFolder::view(path))?,
                false => Vec::new(),
            };
            let side = read(path)?;
            let change = match all.first() {
                None => Some(0.0),
                Some(first) => {
                    let pair = [first.side.clone(), side.clone()];
                    Differences::try_new(pair, SortBy::Change).ok().map(|found| found.rms())
                }
            };
            all.push(Contender { side, steps, change, loss: None, over_best: None });
        }
        Ok(Self { all, on: None })
    }

    /// Computes the losses on datasets, each at `k`, else at the K of its file, else at the best fit.
    pub fn judge(&mut self, paths: &[PathBuf], kind: LossKind, k: Option<f64>) -> Result<()> {
        let data = dataset::read_positions(paths)?;
        let positions: Vec<u32> = (0..data.len() as u32).collect();
        let mut thetas = Vec::new();
        for contender in &mut self.all {
            let theta = contender.side.file.theta(&data.metadata().feature_set, &contender.side.path);
            contender.loss = Some(match &theta {
                Ok(theta) => Ok(loss_of(&data, &positions, &contender.side, theta, kind, k)?),
                Err(error) => Err(error.to_string()),
            });
            thetas.push(theta.ok());
        }
        let at = |contender: &Contender| contender.known().map(|loss| (loss.k, loss.loss));
        let known = self.all.iter().enumerate().filter_map(|(i, contender)| Some((i, at(contender)?)));
        let Some((best, (best_k, _))) = known.min_by(|a, b| a.1.1.total_cmp(&b.1.1)) else {
            let text = "the dataset is of the features of none of the parameter files".to_string();
            return Err(Error::Usage(text));
        };
        for (i, contender) in self.all.iter_mut().enumerate() {
            let own = contender.known().map(|loss| loss.k);
            if let (Some(k), Some(theta), Some(lowest)) = (own, &thetas[i], &thetas[best]) {
                let objective = |k: f64| Objective { k, loss: kind };
                contender.over_best = (i != best)
                    .then(|| paired_difference(&data, (objective(best_k), lowest), (objective(k), theta)));
            }
        }
        self.on = Some((kind, data.len() as u64, paths.to_vec()));
        Ok(())
    }

    fn columns(&self) -> Vec<Column> {
        let values = |value: &dyn Fn(&Contender) -> Option<f64>| -> Vec<Option<f64>> {
            self.all.iter().map(|contender| value(contender).filter(|value| value.is_finite())).collect()
        };
        let loss: fn(f64) -> String = |value| format!("{value:.8}");
        let signed: fn(f64) -> String = |value| format!("{value:+.8}");
        let all = vec![
            ("training loss", values(&|c| c.side.file.provenance.loss), loss),
            ("held-out loss", values(&|c| c.side.file.provenance.loss_held_out), loss),
            ("loss on the dataset", values(&|c| c.known().map(|loss| loss.loss)), loss),
            ("over the best", values(&|c| c.over_best.map(|over| over.0)), signed),
            ("± of that", values(&|c| c.over_best.map(|over| over.1)), loss),
            ("epochs", values(&|c| c.steps.last().map(|step| step.number as f64)), |value| {
                grouped(value as u64)
            }),
            ("seconds", values(&|c| c.steps.last().map(|step| step.seconds)), |value| format!("{value:.1}")),
            ("change from the first, cp", values(&|c| c.change), |value| format!("{value:.1}")),
        ];
        all.into_iter().filter(|(_, values, _)| values.iter().any(Option::is_some)).collect()
    }

    /// Describes the positions of the losses; `None` without any.
    fn judged_on(&self) -> Option<String> {
        let (kind, positions, paths) = self.on.as_ref()?;
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        Some(format!("{kind} loss on {} positions of {}", grouped(*positions), names.join(", ")))
    }

    /// Returns a note on losses that cannot be compared; empty if they can.
    pub fn note(&self) -> String {
        let tuned = self.all.iter().filter(|one| one.known().is_some_and(|loss| loss.trained_on));
        let tuned: Vec<&str> = tuned.map(|one| one.side.name.as_str()).collect();
        if !tuned.is_empty() {
            return format!(
                "Tuned on these positions, so that its loss there is no comparison with others: {}.",
                tuned.join(", ")
            );
        }
        let differs = |value: &dyn Fn(&Contender) -> String| {
            let mut all: Vec<String> = self.all.iter().map(value).collect();
            all.sort_unstable();
            all.dedup();
            all.len() > 1
        };
        let data = differs(&|c| c.side.file.provenance.datasets.join("+"));
        let kinds = differs(&|c| c.side.file.provenance.loss_kind.clone());
        match data || kinds {
            true => "Training and held-out losses are of different data or kinds of loss: only losses on one dataset \
                     (--dataset) can be compared."
                .to_string(),
            false => String::new(),
        }
    }

    /// Returns header and rows of the table, the lowest loss first: that on the dataset, else the held-out, else the
    /// training loss.
    pub fn table(&self) -> (String, Vec<Vec<String>>) {
        let columns = self.columns();
        let key = ["loss on the dataset", "held-out loss", "training loss"]
            .into_iter()
            .find_map(|name| columns.iter().find(|column| column.0 == name));
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        if let Some((_, values, _)) = key {
            let loss = |i: usize| values[i].unwrap_or(f64::INFINITY);
            order.sort_by(|&a, &b| loss(a).total_cmp(&loss(b)).then(a.cmp(&b)));
        }
        let mut header = vec![String::new()];
        header.extend(columns.iter().map(|column| column.0.to_string()));
        let mut rows = vec![header];
        for i in order {
            let mut row = vec![self.all[i].side.name.clone()];
            row.extend(columns.iter().map(|(_, values, text)| values[i].map_or("–".to_string(), text)));
            rows.push(row);
        }
        (self.judged_on().unwrap_or_default(), rows)
    }

    pub fn to_json(&self) -> Value {
        let one = |contender: &Contender| {
            let provenance = &contender.side.file.provenance;
            json!({
                "name": contender.side.name, "training_loss": provenance.loss,
                "held_out_loss": provenance.loss_held_out,
                "loss": contender.known().map(|loss| loss.loss), "k": contender.known().map(|loss| loss.k),
                "over_best": contender.over_best.map(|over| json!({ "mean": over.0, "standard_error": over.1 })),
                "epochs": contender.steps.last().map(|step| step.number),
                "seconds": contender.steps.last().map(|step| step.seconds),
                "rms_change_from_first": contender.change,
            })
        };
        json!({ "compared": self.all.iter().map(one).collect::<Vec<_>>(), "on": self.judged_on() })
    }

    pub fn page(&self) -> Contest {
        let column = |(name, values, text): Column| ContestColumn {
            name: name.to_string(),
            texts: values.iter().map(|value| value.map_or("–".to_string(), text)).collect(),
            values,
        };
        let entrant = |contender: &Contender| Entrant {
            name: contender.side.name.clone(),
            steps: contender.steps.clone(),
        };
        Contest {
            title: format!("{} results compared", self.all.len()),
            about: self.judged_on().unwrap_or_default(),
            note: self.note(),
            entrants: self.all.iter().map(entrant).collect(),
            columns: self.columns().into_iter().map(column).collect(),
        }
    }
}

impl Contender {
    fn known(&self) -> Option<&Loss> {
        self.loss.as_ref().and_then(|loss| loss.as_ref().ok())
    }
}
