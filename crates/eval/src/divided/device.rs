//! A device that computes some sections in a separate thread.

use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use gputexel_dataset::{Layout, poisson_weight};
use gputexel_io::{Error, Result};
use rayon::prelude::*;

use super::{Answer, Helper, Task};
use crate::device::Stats;
use crate::gpu::{self, GpuContext, GpuOptions};
use crate::sums::{Node, Sums, Tree};
use crate::{Evaluator, Population, Request};

/// A device with an evaluator for each of its sections, so that sums do not depend on the assignment of sections.
pub struct DeviceThread {
    sections: Range<usize>,
    name: String,
    tasks: Option<Sender<Task>>,
    answers: Receiver<Result<(Answer, Option<Stats>)>>,
    stats: Option<Stats>,
    thread: Option<JoinHandle<()>>,
}

impl DeviceThread {
    pub fn try_new(
        context: &GpuContext,
        layout: &Layout,
        sections: Range<usize>,
        options: GpuOptions,
    ) -> Result<Self> {
        let count = sections.len() as u64;
        let options =
            GpuOptions { memory_bytes: options.memory_bytes.map(|all| all / count.max(1)), ..options };
        let select = |section: usize| layout.select(section..section + 1).map(|own| (section, own));
        let layouts: Vec<(usize, Layout)> = sections.clone().map(select).collect::<Result<_>>()?;
        let (tasks, received) = channel();
        let (answer, answers) = channel();
        let summary = context.summary();
        let name = format!("GPU: {} ({}, {})", summary.name, summary.kind, summary.backend);
        let context = context.clone();
        let (opened, is_open) = channel();
        let thread = std::thread::spawn(move || {
            let evaluators: Result<Vec<Section>> = layouts
                .iter()
                .map(|(first, layout)| Section::try_new(&context, *first, layout, options))
                .collect();
            let mut evaluators = match evaluators {
                Ok(evaluators) => evaluators,
                Err(error) => {
                    let _ = opened.send(Err(error));
                    return;
                }
            };
            let _ = opened.send(Ok(()));
            for task in received {
                let stats = |all: &[Section]| all.iter().filter_map(Section::stats).reduce(|a, b| a.plus(&b));
                let result = compute(&mut evaluators, &task).map(|own| (own, stats(&evaluators)));
                if answer.send(result).is_err() {
                    return;
                }
            }
        });
        is_open.recv().unwrap_or_else(|_| Err(stopped(&name)))?;
        Ok(Self { sections, name, tasks: Some(tasks), answers, stats: None, thread: Some(thread) })
    }
}

fn stopped(name: &str) -> Error {
    Error::Gpu(format!("{name}: its thread has ended"))
}

impl Helper for DeviceThread {
    fn sections(&self) -> Range<usize> {
        self.sections.clone()
    }

    fn begin(&mut self, task: &Task) -> Result<()> {
        let sent = self.tasks.as_ref().map(|tasks| tasks.send(task.clone()));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(stopped(&self.name)),
        }
    }

    fn end(&mut self) -> Result<Answer> {
        let (answer, stats) = self.answers.recv().unwrap_or_else(|_| Err(stopped(&self.name)))?;
        self.stats = stats;
        Ok(answer)
    }

    fn describe(&self) -> String {
        self.name.clone()
    }

    fn stats(&self) -> Option<Stats> {
        self.stats
    }
}

impl Drop for DeviceThread {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

struct Section<'a> {
    first: usize,
    layout: &'a Layout,
    evaluator: Box<dyn Evaluator + 'a>,
    /// Weights of resampled parts, by member, with the seeds and parts that they belong to.
    resampled: Option<(Vec<u32>, Range<usize>, Vec<f64>)>,
}

impl<'a> Section<'a> {
    fn try_new(context: &GpuContext, first: usize, layout: &'a Layout, options: GpuOptions) -> Result<Self> {
        let evaluator = gpu::open(context, layout, options)?;
        Ok(Self { first, layout, evaluator, resampled: None })
    }

    fn stats(&self) -> Option<Stats> {
        self.evaluator.stats()
    }

    fn sums(&mut self, population: &Population, request: &Request) -> Result<Sums> {
        if self.layout.section(&request.parts, self.first).is_empty() {
            return Ok(Sums::zero(self.layout, population, request));
        }
        let means = self.evaluator.evaluate(population, request)?;
        let layout = self.layout;
        let resampled = self.resampled_weights(population, request);
        Ok(Sums::of_means(means, layout, population, request, resampled))
    }

    fn resampled_weights(&mut self, population: &Population, request: &Request) -> &[f64] {
        if population.resamples.is_empty() {
            return &[];
        }
        let layout = self.layout;
        let known = self.resampled.take();
        let known =
            known.filter(|(seeds, parts, _)| *seeds == population.resamples && *parts == request.parts);
        let (.., weights) = self.resampled.insert(known.unwrap_or_else(|| {
            let weight = |n: usize, seed: u32| {
                let own = layout.weights().get(n).map_or(1.0, |&weight| f64::from(weight));
                own * f64::from(poisson_weight(layout.game(n), seed))
            };
            let parts = &layout.parts()[request.parts.clone()];
            let of = |&seed: &u32| {
                let sum = |positions: Range<usize>| positions.map(|n| weight(n, seed)).sum::<f64>();
                parts.iter().map(|part| sum(part.positions.clone())).collect::<Vec<f64>>()
            };
            let weights = population.resamples.par_iter().flat_map_iter(of).collect();
            (population.resamples.clone(), request.parts.clone(), weights)
        }));
        weights
    }
}

fn compute(evaluators: &mut [Section<'_>], task: &Task) -> Result<Answer> {
    let mut tree = Tree::default();
    for own in evaluators {
        tree.push(Node { first: own.first, level: 0, sum: own.sums(&task.0, &task.1)? })?;
    }
    Ok(tree.into_nodes())
}
