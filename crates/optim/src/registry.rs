//! The registry of methods.

use super::method::{MethodLimits, MethodSpec};
use super::{AdamRuns, GaussNewtonCgSettings, HybridSettings, Optimizer, OptimizerConfig, Space, Swarms};
use gputexel_io::Result;

/// With more parameters than this, the Gauss–Newton matrix and its factorization take too long.
pub const GAUSS_NEWTON_LIMIT: usize = 4096;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident($settings:ty),)*) => {
        /// The method and its settings.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "method", rename_all = "kebab-case")]
        pub enum OptimizerConfig {
            $($(#[$doc])* $variant($settings),)*
            /// An optimizer supplied by the caller.
            Custom(CustomMethod),
        }

        impl OptimizerConfig {
            pub const NAMED: &'static [&'static MethodSpec] = &[$(&<$settings>::SPEC),*];

            /// Returns the fixed properties of the method.
            pub fn spec(&self) -> &'static MethodSpec {
                match self {
                    $(Self::$variant(_) => &<$settings>::SPEC,)*
                    Self::Custom(_) => &CustomMethod::SPEC,
                }
            }

            fn method(&self) -> &dyn Method {
                match self {
                    $(Self::$variant(method) => method,)*
                    Self::Custom(method) => method,
                }
            }

            fn method_mut(&mut self) -> &mut dyn Method {
                match self {
                    $(Self::$variant(method) => method,)*
                    Self::Custom(method) => method,
                }
            }

            pub fn named(name: &str, flags: &MethodFlags) -> Result<Self> {
                $(if name == <$settings>::SPEC.name {
                    return <$settings>::from_flags(flags).map(Self::$variant);
                })*
                let names = any_of(Self::NAMED.iter().map(|spec| spec.name));
                Err(Error::Usage(format!("optimizer '{name}': expected {names}")))
            }
        }
    };
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
    /// Returns the default method for a loss, which is smooth or not, and a model: Adam for losses that are not smooth;
    /// else Gauss–Newton, followed by L-BFGS if matrices are not too large, or by conjugate gradients if they are and
    /// scores are sums of parameters.
    pub fn default_for(smooth: bool, model: ModelSize) -> Self {
        match (smooth, model.parameters <= GAUSS_NEWTON_LIMIT, model.linear) {
            (true, true, linear) => Self::Hybrid(HybridSettings::for_scores(linear)),
            (true, false, true) => Self::GaussNewtonCg(GaussNewtonCgSettings::default()),
            _ => Self::Adam(AdamRuns::default()),
        }
    }

    /// Returns the same configuration with a different regularization weight λ for all members.
    #[must_use]
    pub fn with_l2(mut self, l2: f64) -> Self {
        self.method_mut().weights().into_iter().for_each(|weight| *weight = l2);
        self
    }

    /// Returns the regularization weight λ of a member.
    pub fn l2(&self, member: usize) -> f64 {
        let weights = self.weights();
        weights.get(member).or(weights.first()).copied().unwrap_or_default()
    }

    /// Returns the regularization weight λ of each member, or that of all of them.
    pub fn weights(&self) -> Vec<f64> {
        self.clone().method_mut().weights().into_iter().map(|weight| *weight).collect()
    }

    /// Describes the method in a few words.
    pub fn summary(&self) -> String {
        self.method().summary().unwrap_or_else(|| self.spec().name.to_string())
    }

    /// Returns true if the loss includes regularization toward the prior.
    pub fn regularizes(&self) -> bool {
        self.weights().iter().any(|&l2| l2 > 0.0)
    }

    /// Returns the number of mini-batches per epoch.
    pub fn batches(&self) -> usize {
        self.method().batches()
    }

    /// Returns true if it solves with Gauss–Newton matrices, or products of them.
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

    /// Creates the optimizer in its initial state.
    pub fn build(&self, space: &Space, epochs: u64) -> Result<Box<dyn Optimizer>> {
        self.method().build(space, epochs)
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

    /// Lists the named methods that take a flag, given without dashes.
    pub fn list_taking(flag: &str) -> String {
        let takes = Self::NAMED.iter().filter(|spec| spec.flags.contains(&flag));
        list(takes.map(|spec| spec.name.to_string()).collect(), "and")
    }
}
