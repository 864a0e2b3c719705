//! Repeats on a GPU: one invocation each, many iterations a dispatch, in f32.
//!
//! The generators and the order of their draws are those of the CPU's lanes, so that the same
//! repeats play the same games until rounding lets one of them end differently. Values are kept as
//! distances from the optimum, where f32 is finest. A dispatch has as many iterations as the device
//! does in a fifth of a second. Owns buffers and dispatches; the rules are in `shaders/spsa_*.wgsl`.

use bytemuck::{Pod, Zeroable};
use wgpu::BufferUsages;

use super::driver::{Chunk, Runner};
use super::{Scenario, random};
use crate::MethodKind;
use crate::bounds::{BoundRule, MIN_SHARE};
use gputexel_files::{Error, Result};
use gputexel_gpu::buffers::{GrowingBuffer, Readback};
use gputexel_gpu::meter::{DeviceBuffer, Gpu, whole};
use gputexel_gpu::pace::{Clock, Pace};
use gputexel_gpu::{GpuContext, KernelSource};

/// Threads a workgroup: few, so that some thousand repeats find their way to all cores.
const WORKGROUP: usize = 32;

/// `Sizes` of `spsa_common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Sizes {
    /// Repeats of a row, and of the dispatch.
    pub repeats: u32,
    /// Number of parameters.
    pub parameters: u32,
    /// First of the iterations of the dispatch among those uploaded.
    pub first: u32,
    /// Iterations of the dispatch.
    pub steps: u32,
    /// Iterations before the dispatch, modulo 2³².
    pub done: u32,
    /// τ².
    pub tau2: f32,
    /// (1 − D) / 2.
    pub half_decided: f32,
    /// Fills up 32 bytes.
    pub unused: u32,
}

/// `Parameter` of `spsa_common.wgsl`; bounds are counted from the optimum.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Parameter {
    /// Least distance from the optimum, usually negative.
    pub low: f32,
    /// Largest distance.
    pub high: f32,
    /// Elo lost at a distance of 1.
    pub elo: f32,
    /// c_end.
    pub c_end: f32,
    /// r_end; 0 for the Bayesian methods.
    pub r_end: f32,
    /// 2/σ²; 0 for the others.
    pub pull: f32,
}

/// The WGSL of a method.
pub fn kernel_source(method: MethodKind, as_published: bool, near_bounds: BoundRule) -> String {
    let body = match method {
        MethodKind::Spsa | MethodKind::Constant => gputexel_shaders::SPSA_WALK,
        MethodKind::Bspsas => gputexel_shaders::SPSA_BSPSAS,
        MethodKind::Bspsa => gputexel_shaders::SPSA_BSPSA,
    };
    let bayes = method.is_bayesian();
    let three_point = near_bounds == BoundRule::ThreePoint;
    format!(
        "const BAYES = {bayes};\nconst PUBLISHED = {as_published};\nconst THREE_POINT = {three_point};\n\
         const MIN_SHARE = {MIN_SHARE:?};\nconst WORKGROUP = {WORKGROUP}u;\n{body}"
    )
}

/// Passes through loops that llvmpipe allows an invocation: after 65,535 in all it leaves every loop
/// without a word.
const SOFTWARE_PASSES: u64 = 60_000;

/// Passes through loops of one iteration of a method.
fn passes(method: MethodKind, n: u64) -> u64 {
    match method {
        MethodKind::Bspsa => 1 + 5 * n + n * (n - 1) / 2,
        _ => 1 + 2 * n,
    }
}

/// Repeats whose buffers are bound together.
#[derive(Debug)]
struct Group {
    count: usize,
    words: DeviceBuffer,
    state: DeviceBuffer,
    losses: DeviceBuffer,
    covariance: Option<DeviceBuffer>,
}

/// All repeats of a scenario on a device.
#[derive(Debug)]
pub(super) struct GpuRepeats<'a> {
    scenario: &'a Scenario,
    gpu: Gpu,
    pipeline: wgpu::ComputePipeline,
    parameters: DeviceBuffer,
    sizes: GrowingBuffer,
    steps: GrowingBuffer,
    readback: Readback,
    groups: Vec<Group>,
    done: u64,
    pace: Pace,
    /// Repeats below which a dispatch takes no less time.
    fill: u64,
    /// Most iterations a dispatch.
    most_steps: u64,
}

const STATE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_DST).union(BufferUsages::COPY_SRC);

impl<'a> GpuRepeats<'a> {
    /// All repeats at their start, in groups whose buffers have at most `binding_bytes`.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that f32 does not hold, [`Error::Gpu`] when the device refuses.
    pub fn try_new(context: &GpuContext, scenario: &'a Scenario, binding_bytes: u64) -> Result<Self> {
        let settings = &scenario.settings;
        let parameters = parameters(scenario)?;
        let gpu = Gpu::new(context, None);
        let source = kernel_source(settings.method, settings.as_published, settings.near_bounds);
        let pipeline = gpu.pipeline(&KernelSource { name: "spsa", source: &source, constants: &[] })?;
        let n = parameters.len() as u64;
        let rows = match settings.method {
            MethodKind::Bspsa => (n * (n + 1) / 2).max(4 * n + 1),
            MethodKind::Bspsas => 2 * n,
            MethodKind::Spsa | MethodKind::Constant => n,
        };
        // Eight words of the generator are a row each, too.
        let most = (binding_bytes / (4 * rows.max(8))) as usize;
        if most == 0 {
            return Err(Error::Gpu(format!(
                "{}: one repeat of {n} parameters exceeds the {binding_bytes} bytes of a binding",
                context.summary().name
            )));
        }
        // Estimates; what the device really does is measured.
        let (pairs, fill) = match (context.summary().software, context.summary().kind.as_str()) {
            (true, _) => (1 << 21, 1),
            (false, "discrete GPU") => (1 << 26, 4096),
            _ => (1 << 24, 1024),
        };
        // Beside its iterations a dispatch passes through the parameters once.
        let most_steps = match context.summary().software {
            true => SOFTWARE_PASSES.saturating_sub(n) / passes(settings.method, n),
            false => u64::MAX,
        };
        if most_steps == 0 {
            return Err(Error::Gpu(format!(
                "{}: leaves loops too early for {n} parameters",
                context.summary().name
            )));
        }
        let mut repeats = Self {
            scenario,
            pipeline,
            parameters: gpu.upload("parameters", bytemuck::cast_slice(&parameters))?,
            sizes: GrowingBuffer::uniform("sizes"),
            steps: GrowingBuffer::input("steps"),
            readback: Readback::default(),
            groups: Vec::new(),
            done: 0,
            pace: Pace::new(pairs),
            fill,
            most_steps,
            gpu,
        };
        for first in (0..scenario.repeats).step_by(most) {
            let group = repeats.group(first as u64, most.min(scenario.repeats - first))?;
            repeats.groups.push(group);
        }
        Ok(repeats)
    }

    /// Some repeats at their start.
    fn group(&self, first: u64, count: usize) -> Result<Group> {
        let (scenario, gpu) = (self.scenario, &self.gpu);
        let variables = &scenario.variables;
        let n = variables.len();
        let row = |row: usize| (4 * row * count) as u64;
        let method = scenario.settings.method;
        let rows = match method {
            MethodKind::Spsa | MethodKind::Constant => n,
            MethodKind::Bspsas => 2 * n,
            MethodKind::Bspsa => 4 * n + 1,
        };
        let mut words = vec![0u32; 8 * count];
        for i in 0..count {
            for (k, word) in random::state(scenario.seed, first + i as u64).into_iter().enumerate() {
                words[2 * k * count + i] = word as u32;
                words[(2 * k + 1) * count + i] = (word >> 32) as u32;
            }
        }
        let covariance = match method {
            MethodKind::Bspsa => Some(gpu.allocate("covariance", row(n * (n + 1) / 2), STATE)?),
            _ => None,
        };
        let group = Group {
            count,
            words: gpu.allocate("generators", row(8), STATE)?,
            state: gpu.allocate("state", row(rows), STATE)?,
            losses: gpu.allocate("losses", row(1), STATE)?,
            covariance,
        };
        gpu.write(group.words.raw(), 0, bytemuck::cast_slice(&words))?;
        // Buffers are zero where they are not written.
        let fill = |buffer: &DeviceBuffer, at: usize, value: f64| {
            gpu.write(buffer.raw(), row(at), bytemuck::cast_slice(&vec![value as f32; count]))
        };
        for (i, (variable, optimum)) in variables.iter().zip(&scenario.optimum).enumerate() {
            fill(&group.state, i, variable.start - optimum)?;
            let variance = variable.s.map_or(0.0, |s| s * s);
            match (&group.covariance, method) {
                (Some(covariance), _) => fill(covariance, diagonal(i), variance)?,
                (None, MethodKind::Bspsas) => fill(&group.state, n + i, variance)?,
                (None, _) => {}
            }
        }
        fill(&group.losses, 0, -scenario.start_elo())?;
        let submission = gpu.submit(None)?;
        gpu.wait(submission)?;
        Ok(group)
    }

    /// Rows of a buffer of each group, `[repeat][row]`.
    fn read(
        &mut self,
        rows: &[usize],
        buffer: impl Fn(&Group) -> Option<&DeviceBuffer>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut all = Vec::with_capacity(self.scenario.repeats);
        for group in &self.groups {
            let Some(buffer) = buffer(group) else { continue };
            let bytes = 4 * group.count as u64;
            self.readback.begin(&self.gpu, bytes * rows.len() as u64)?;
            let mut encoder = self.gpu.encoder();
            for &row in rows {
                self.readback.push_from(&mut encoder, buffer.raw(), row as u64 * bytes, bytes);
            }
            self.gpu.submit(Some(encoder))?;
            self.readback.finish(&self.gpu, |floats| {
                let repeat =
                    |i: usize| floats.iter().skip(i).step_by(group.count).map(|&x| f64::from(x)).collect();
                all.extend((0..group.count).map(repeat));
            })?;
        }
        Ok(all)
    }
}

/// Row of the covariance's triangle that has the variance of a parameter.
fn diagonal(i: usize) -> usize {
    i * (i + 3) / 2
}

/// The parameters as the kernels read them.
fn parameters(scenario: &Scenario) -> Result<Vec<Parameter>> {
    let mut all = Vec::with_capacity(scenario.variables.len());
    for (v, optimum) in scenario.variables.iter().zip(&scenario.optimum) {
        let narrow = |name: &str, value: f64| {
            let float = value as f32;
            if float.is_finite() && (float.abs() >= f32::MIN_POSITIVE || value == 0.0) {
                return Ok(float);
            }
            Err(Error::Usage(format!("{}: {name} {value:e}: beyond what a GPU's 32 bits hold", v.name)))
        };
        let pull = v.sigma.map_or(0.0, |sigma| 2.0 / (sigma * sigma));
        narrow("s squared", v.s.map_or(0.0, |s| s * s))?;
        let distance = (v.start - optimum).abs();
        if v.c_end < distance * 2f64.powi(-16) {
            return Err(Error::Usage(format!(
                "{}: c_end {}: too small relative to a distance of {distance} for a GPU's 32 bits",
                v.name, v.c_end
            )));
        }
        all.push(Parameter {
            low: narrow("minimum", v.min - optimum)?,
            high: narrow("maximum", v.max - optimum)?,
            elo: narrow("simul_elo", v.simul_elo * 1e-4)?,
            c_end: narrow("c_end", v.c_end)?,
            r_end: narrow("r_end", v.r_end.unwrap_or(0.0))?,
            pull: narrow("2 / sigma squared", pull)?,
        });
    }
    Ok(all)
}

impl Runner for GpuRepeats<'_> {
    fn advance(&mut self, chunk: &Chunk) -> Result<()> {
        let scenario = self.scenario;
        let n = scenario.variables.len() as u64;
        let steps: Vec<[f32; 2]> = chunk.steps.iter().map(|step| [step.c as f32, step.r as f32]).collect();
        let steps = self.steps.fill(&self.gpu, bytemuck::cast_slice(&steps))?;
        let cost = match scenario.settings.method {
            MethodKind::Bspsa => n * n + 8 * n + 8,
            _ => 2 * n + 8,
        };
        for group in &self.groups {
            let pairs_of = |steps: usize| steps as u64 * cost * self.fill.max(group.count as u64);
            let mut at = 0;
            while at < chunk.steps.len() {
                let wanted = (self.pace.pairs() / pairs_of(1)).clamp(1, self.most_steps);
                let count = wanted.min((chunk.steps.len() - at) as u64) as usize;
                let sizes = Sizes {
                    repeats: group.count as u32,
                    parameters: n as u32,
                    first: at as u32,
                    steps: count as u32,
                    done: (self.done + at as u64) as u32,
                    tau2: scenario.settings.noise.variance(&[0; 5]) as f32,
                    half_decided: (0.5 * (1.0 - scenario.draw_rate)) as f32,
                    unused: 0,
                };
                let sizes = self.sizes.fill(&self.gpu, bytemuck::bytes_of(&sizes))?;
                let buffers = [&self.parameters, &group.words, &group.state, &group.losses].map(|b| b.raw());
                let [parameters, words, state, losses] = buffers;
                let mut bindings =
                    vec![whole(&sizes), whole(parameters), whole(&steps), whole(words), whole(state)];
                bindings.push(whole(losses));
                bindings.extend(group.covariance.as_ref().map(|covariance| whole(covariance.raw())));
                let mut clock = Clock::start();
                let mut encoder = self.gpu.encoder();
                let groups = group.count.div_ceil(WORKGROUP) as u32;
                self.gpu.dispatch(&mut encoder, &self.pipeline, &bindings, [groups, 1])?;
                let submission = self.gpu.submit(Some(encoder))?;
                self.gpu.wait(submission)?;
                self.pace.observe(pairs_of(count), clock.lap());
                at += count;
            }
        }
        self.done += chunk.steps.len() as u64;
        Ok(())
    }

    fn gains(&mut self) -> Result<Vec<f64>> {
        let start = self.scenario.start_elo();
        let losses = self.read(&[0], |group| Some(&group.losses))?;
        Ok(losses.into_iter().flatten().map(|lost| -lost - start).collect())
    }

    fn values(&mut self) -> Result<Vec<Vec<f64>>> {
        let rows: Vec<usize> = (0..self.scenario.variables.len()).collect();
        let mut values = self.read(&rows, |group| Some(&group.state))?;
        for values in &mut values {
            for (value, optimum) in values.iter_mut().zip(&self.scenario.optimum) {
                *value += optimum;
            }
        }
        Ok(values)
    }

    fn variances(&mut self) -> Result<Vec<Vec<f64>>> {
        let n = self.scenario.variables.len();
        match self.scenario.settings.method {
            MethodKind::Spsa | MethodKind::Constant => Ok(vec![vec![f64::NAN; n]; self.scenario.repeats]),
            MethodKind::Bspsas => self.read(&(n..2 * n).collect::<Vec<_>>(), |group| Some(&group.state)),
            MethodKind::Bspsa => {
                let rows: Vec<usize> = (0..n).map(diagonal).collect();
                let mut variances = self.read(&rows, |group| group.covariance.as_ref())?;
                // What the last pair takes away, which the covariance does not have yet.
                let last = (2 + (self.done & 1) as usize) * n;
                let rows: Vec<usize> = (last..last + n).chain([4 * n]).collect();
                let last = self.read(&rows, |group| Some(&group.state))?;
                for (variances, last) in variances.iter_mut().zip(&last) {
                    let weight = last[n];
                    for (variance, g) in variances.iter_mut().zip(last) {
                        *variance = (*variance - g * g * weight).max(0.0);
                    }
                }
                Ok(variances)
            }
        }
    }
}
