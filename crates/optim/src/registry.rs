use serde::{Deserialize, Serialize};

use super::method::{MethodFlags, MethodLimits, MethodSpec};
use super::{
    Adam, AdamRuns, GaussNewton, GaussNewtonSettings, Hybrid, HybridSettings, Local, LocalSettings,
    Optimizer, ParticleSwarm, Space, Swarms,
};
use gputexel_io::{Error, Result, any_of};

/// With more parameters than this, the Gauss–Newton matrix and its factorization take too long.
pub const GAUSS_NEWTON_LIMIT: usize = 4096;

/// The method and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum OptimizerConfig {
    GaussNewton(GaussNewtonSettings),
    Hybrid(HybridSettings),
    Adam(AdamRuns),
    Local(LocalSettings),
    ParticleSwarm(Swarms),
}

fn list(mut words: Vec<String>, conjunction: &str) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} {conjunction} {last}", words.join(", ")) }
}

/// Properties on which the choice of a method depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSize {
    /// Number of parameters, 2 F; 0 while it is unknown.
    pub parameters: usize,
    /// True if scores are sums of parameters.
    pub linear: bool,
}

impl ModelSize {
    /// A model of which nothing is known yet.
    pub const UNKNOWN: Self = Self { parameters: 0, linear: true };
}

impl OptimizerConfig {
    /// Returns the default method for a loss, which is smooth or not, and a model: Adam for losses that are not smooth
    /// and for matrices that are too large; else Gauss–Newton, followed by L-BFGS.
    pub fn default_for(smooth: bool, model: ModelSize) -> Self {
        match smooth && model.parameters <= GAUSS_NEWTON_LIMIT {
            true => Self::Hybrid(HybridSettings::for_scores(model.linear)),
            false => Self::Adam(AdamRuns::default()),
        }
    }

    pub const NAMED: [&'static MethodSpec; 5] = [
        &GaussNewtonSettings::SPEC,
        &HybridSettings::SPEC,
        &AdamRuns::SPEC,
        &LocalSettings::SPEC,
        &Swarms::SPEC,
    ];

    pub fn spec(&self) -> &'static MethodSpec {
        match self {
            Self::GaussNewton(_) => &GaussNewtonSettings::SPEC,
            Self::Hybrid(_) => &HybridSettings::SPEC,
            Self::Adam(_) => &AdamRuns::SPEC,
            Self::Local(_) => &LocalSettings::SPEC,
            Self::ParticleSwarm(_) => &Swarms::SPEC,
        }
    }

    pub fn named(name: &str, flags: &MethodFlags) -> Result<Self> {
        let gauss_newton = GaussNewtonSettings::from_flags(flags);
        let is = |spec: MethodSpec| spec.name == name;
        if is(GaussNewtonSettings::SPEC) {
            Ok(Self::GaussNewton(gauss_newton))
        } else if is(HybridSettings::SPEC) {
            let settings = HybridSettings::for_scores(!flags.nonlinear);
            Ok(Self::Hybrid(HybridSettings { gauss_newton, ..settings }))
        } else if is(AdamRuns::SPEC) {
            AdamRuns::from_flags(flags).map(Self::Adam)
        } else if is(LocalSettings::SPEC) {
            Ok(Self::Local(LocalSettings::from_flags(flags)))
        } else if is(Swarms::SPEC) {
            Swarms::from_flags(flags).map(Self::ParticleSwarm)
        } else {
            let names = any_of(Self::NAMED.iter().map(|spec| spec.name));
            Err(Error::Usage(format!("optimizer '{name}': expected {names}")))
        }
    }

    pub fn repeated(self, count: usize) -> Result<Self> {
        match self {
            Self::Adam(adam) => adam.repeated(count).map(Self::Adam),
            method if count > 1 => Err(Error::Usage(format!("{} accepts only one --l2", method.spec().name))),
            method => Ok(method),
        }
    }

    pub fn summary(&self) -> String {
        match self {
            Self::Hybrid(_) => "gauss-newton, then L-BFGS".to_string(),
            Self::Adam(adam) => format!("adam, {} runs", adam.runs.len()),
            Self::ParticleSwarm(Swarms { settings, .. }) => {
                format!("{} swarms of {} particles", settings.swarms, settings.particles)
            }
            Self::GaussNewton(_) | Self::Local(_) => self.spec().name.to_string(),
        }
    }

    pub fn batches(&self) -> usize {
        if let Self::Adam(adam) = self { adam.batches } else { 1 }
    }

    /// Returns true if it solves with Gauss–Newton matrices.
    pub fn uses_matrices(&self) -> bool {
        self.spec().uses_matrices
    }

    /// Returns the settings of particle swarms, if it is that method.
    pub fn swarms(&self) -> Option<&Swarms> {
        match self {
            Self::ParticleSwarm(swarms) => Some(swarms),
            _ => None,
        }
    }

    pub fn build(&self, space: &Space, epochs: u64) -> Result<Box<dyn Optimizer>> {
        Ok(match self {
            Self::GaussNewton(settings) => Box::new(GaussNewton::try_new(space, *settings)?),
            Self::Hybrid(settings) => Box::new(Hybrid::try_new(space, *settings)?),
            Self::Adam(AdamRuns { runs, schedule, batches }) => {
                Box::new(Adam::try_new(space, runs.clone(), *schedule, epochs, *batches as u64)?)
            }
            Self::Local(settings) => Box::new(Local::try_new(space, settings.clone())?),
            Self::ParticleSwarm(swarms) => Box::new(ParticleSwarm::try_new(space, swarms.settings)?),
        })
    }

    pub fn list() -> String {
        let entry = |spec: &&MethodSpec| match spec.help {
            "" => spec.name.to_string(),
            help => format!("{} ({help})", spec.name),
        };
        list(Self::NAMED.iter().map(entry).collect(), "or")
    }

    pub fn list_defaults(value: impl Fn(&MethodLimits) -> String) -> String {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for spec in Self::NAMED {
            let (value, name) = (value(&spec.limits), spec.name.to_string());
            match groups.iter_mut().find(|(known, _)| *known == value) {
                Some((_, names)) => names.push(name),
                None => groups.push((value, vec![name])),
            }
        }
        let texts = groups.into_iter().map(|(value, names)| format!("{value} for {}", list(names, "and")));
        texts.collect::<Vec<_>>().join("; ")
    }

    pub fn list_taking(flag: &str) -> String {
        let takes = Self::NAMED.iter().filter(|spec| spec.flags.contains(&flag));
        list(takes.map(|spec| spec.name.to_string()).collect(), "and")
    }
}
