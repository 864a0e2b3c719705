//! Steps of a run, thinned for reports.

use std::io::ErrorKind;

use gputexel_io::{Error, Lines, Result, RunFolder};
use serde::Deserialize;
use serde_json::Value;

use gputexel_report::{Step, Swarms};

/// Number of steps up to which all are shown; of more, every second, every fourth and so on. Pictures are no wider, and
/// runs may have millions.
const MOST: usize = 1 << 14;

#[derive(Deserialize)]
struct Line {
    epoch: Option<u64>,
    loss: Option<f64>,
    held_out: Option<f64>,
    gradient_norm: Option<f64>,
    seconds: Option<f64>,
    #[serde(default)]
    details: Value,
}

/// Returns the steps of `metrics.jsonl`, thinned if there are very many; the last and the one with the lowest held-out
/// loss are kept. The last line of a run in progress may be incomplete.
pub(super) fn steps(folder: &RunFolder, may_be_torn: bool) -> Result<Vec<Step>> {
    let path = folder.file("metrics.jsonl");
    let mut lines = match Lines::open(&path) {
        Ok(lines) => lines,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(&path, error)),
    };
    let mut thinned = Thinned::default();
    while let Some(text) = lines.next_line()? {
        match serde_json::from_slice::<Line>(text.bytes) {
            Ok(line) => line.epoch.into_iter().for_each(|number| thinned.add(number, &line)),
            Err(_) if may_be_torn => {}
            Err(error) => return Err(Error::line(&path, text.number, format!("not a step: {error}"))),
        }
    }
    Ok(thinned.finish())
}

/// Steps, at most twice [`MOST`] at a time.
#[derive(Default)]
struct Thinned {
    kept: Vec<Step>,
    /// Number of halvings: one of 2 to the power of this is kept.
    halved: u32,
    seen: usize,
    last: Option<Step>,
    lowest: Option<Step>,
}

impl Thinned {
    fn add(&mut self, number: u64, line: &Line) {
        let step = step(number, line);
        if let Some(loss) = step.held_out
            && self.lowest.as_ref().and_then(|lowest| lowest.held_out).is_none_or(|lowest| loss < lowest)
        {
            self.lowest = Some(step.clone());
        }
        if self.seen.is_multiple_of(1 << self.halved) {
            self.kept.push(step.clone());
            if self.kept.len() > 2 * MOST {
                self.kept = std::mem::take(&mut self.kept).into_iter().step_by(2).collect();
                self.halved += 1;
            }
        }
        self.seen += 1;
        self.last = Some(step);
    }

    fn finish(self) -> Vec<Step> {
        let mut steps = self.kept;
        for step in self.lowest.into_iter().chain(self.last) {
            // Steps are in order unless somebody has changed the file.
            let at = steps.partition_point(|kept| kept.number < step.number);
            if steps.get(at).is_none_or(|kept| kept.number != step.number) {
                steps.insert(at, step);
            }
        }
        steps
    }
}

fn step(number: u64, line: &Line) -> Step {
    let swarms = &line.details;
    Step {
        number,
        loss: line.loss.unwrap_or(f64::NAN),
        held_out: line.held_out,
        gradient: line.gradient_norm,
        seconds: line.seconds.unwrap_or(f64::NAN),
        swarms: swarms["swarm_median"].as_f64().map(|median| Swarms {
            each: swarms["swarms"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect(),
            median,
            worst: swarms["swarm_worst"].as_f64().unwrap_or(f64::NAN),
            deaths: swarms["deaths"].as_u64().unwrap_or(0),
            restarts: swarms["restarts"].as_u64().unwrap_or(0),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::{MOST, steps};
    use gputexel_io::RunFolder;

    #[test]
    fn of_very_many_steps_some_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let read = |count: u64, lowest: u64| {
            let mut text = String::from("{\"round\": 1}\n");
            for n in 1..=count {
                let loss = if n == lowest { 0.01 } else { 0.02 };
                writeln!(text, "{{\"epoch\": {n}, \"loss\": 0.03, \"held_out\": {loss}, \"details\": null}}")
                    .unwrap();
            }
            std::fs::write(folder.path().join("metrics.jsonl"), text).unwrap();
            steps(&RunFolder::view(folder.path()), false).unwrap()
        };
        assert_eq!(read(0, 0), []);
        assert_eq!(
            read(1000, 7).iter().map(|step| step.number).collect::<Vec<_>>(),
            (1..=1000).collect::<Vec<_>>()
        );
        let count = 200_000;
        let some = read(count, 77_778);
        assert!((MOST..2 * MOST + 2).contains(&some.len()), "{}", some.len());
        assert_eq!((some[0].number, some[some.len() - 1].number), (1, count));
        assert!(some.windows(2).all(|pair| pair[0].number < pair[1].number));
        assert!(some.iter().any(|step| step.number == 77_778 && step.held_out == Some(0.01)));
        std::fs::write(folder.path().join("metrics.jsonl"), "{\"epoch\": 1}\n{\"ep").unwrap();
        let view = RunFolder::view(folder.path());
        assert_eq!(steps(&view, true).unwrap().len(), 1);
        assert!(steps(&view, false).unwrap_err().to_string().contains("metrics.jsonl:2: not a step"));
    }
}
