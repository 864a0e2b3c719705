//! Local search over whole numbers, evaluating all neighbors as one population.

use serde::{Deserialize, Serialize};

use super::conjugate::Conjugate;
use super::method::{MethodFlags, MethodLimits, MethodSpec};
use super::state::or_infinite;
use super::{Best, Evaluations, Optimizer, OptimizerState, Proposal, Space, l2_text};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalSettings {
    /// Step sizes, descending; the last is 1.
    pub steps: Vec<u32>,
}

impl Default for LocalSettings {
    fn default() -> Self {
        Self { steps: vec![8, 4, 2, 1] }
    }
}

impl LocalSettings {
    pub(crate) const SPEC: MethodSpec = MethodSpec {
        name: "local",
        help: "search on integers",
        flags: &["step"],
        uses_matrices: false,
        limits: MethodLimits { epochs: 500, improvement: 0.0, window: 50, patience: Some(50) },
        converged: "no step lowers the loss",
    };

    pub(crate) fn from_flags(flags: &MethodFlags) -> Self {
        let mut settings = Self::default();
        if !flags.step.is_empty() {
            settings.steps.clone_from(&flags.step);
            if settings.steps.last() != Some(&1) {
                settings.steps.push(1);
            }
        }
        settings
    }
}

/// Maximum number of values in a population of neighbors; if there are more coordinates, neighbors are requested in
/// portions.
const MAX_NUMBERS: usize = 1 << 22;

const MULTIPLES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Number of points along the conjugate direction, from 2⁻⁶ to 2² times its length.
const LINE: i32 = 25;
/// Loss differences below this fraction of the loss are noise of f32 sums.
const NOISE: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Start,
    Neighbors,
    Combinations,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Move {
    coordinate: usize,
    by: f64,
    loss: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Local {
    #[serde(skip)]
    settings: LocalSettings,
    #[serde(skip)]
    space: Space,
    #[serde(skip)]
    portion: usize,
    stage: Stage,
    #[serde(skip)]
    point: Vec<f64>,
    #[serde(deserialize_with = "or_infinite")]
    loss: f64,
    level: usize,
    next: usize,
    /// True if neither neighbor of a coordinate changes the loss at all, because no position has the feature.
    dead: Vec<bool>,
    /// Improving neighbors of the point, best first once all are known.
    moves: Vec<Move>,
    #[serde(skip)]
    slopes: Vec<f64>,
    #[serde(skip)]
    curvatures: Vec<f64>,
    #[serde(skip)]
    conjugate: Conjugate,
    settled: bool,
    exhausted: bool,
}

impl Local {
    pub fn try_new(space: &Space, settings: LocalSettings) -> Result<Self> {
        let descending = settings.steps.is_sorted_by(|a, b| a > b);
        if settings.steps.last() != Some(&1) || !descending {
            return Err(Error::Usage("steps must be descending integers that end with 1".to_string()));
        }
        let mut space = Space { integer: vec![true; space.dimension()], ..space.clone() };
        for i in 0..space.dimension() {
            let (low, high) = (space.lower[i].ceil(), space.upper[i].floor());
            space.start[i] = space.start[i].round().max(low).min(high);
        }
        space.validate(&[])?;
        let dimension = space.dimension();
        Ok(Self {
            portion: (MAX_NUMBERS / dimension.max(1) / 2).max(1),
            stage: Stage::Start,
            point: space.start.clone(),
            loss: f64::INFINITY,
            level: 0,
            next: 0,
            dead: vec![false; dimension],
            moves: Vec::new(),
            slopes: vec![0.0; dimension],
            curvatures: vec![0.0; dimension],
            conjugate: Conjugate::default(),
            settled: false,
            exhausted: dimension == 0,
            space,
            settings,
        })
    }

    #[cfg(test)]
    fn with_portion(mut self, coordinates: usize) -> Self {
        self.portion = coordinates;
        self
    }

    fn allows(&self, coordinate: usize, value: f64) -> bool {
        (self.space.lower[coordinate]..=self.space.upper[coordinate]).contains(&value)
    }

    fn neighbors(&self) -> (Vec<(usize, f64)>, usize) {
        let size = f64::from(self.settings.steps[self.level]);
        let mut list = Vec::new();
        let mut coordinate = self.next;
        let mut taken = 0;
        while coordinate < self.point.len() && taken < self.portion {
            if !self.dead[coordinate] {
                taken += 1;
                let allowed = |by: &f64| self.allows(coordinate, self.point[coordinate] + by);
                list.extend([-size, size].into_iter().filter(allowed).map(|by| (coordinate, by)));
            }
            coordinate += 1;
        }
        (list, coordinate)
    }

    fn moved(&self, changes: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
        let mut point = self.point.clone();
        for (i, by) in changes {
            let (low, high) = (self.space.lower[i].ceil(), self.space.upper[i].floor());
            point[i] = (point[i] + by).round().max(low).min(high);
        }
        point
    }

    /// Returns the best moves combined, at several multiples, and points along the conjugate direction.
    fn combinations(&self) -> Vec<Vec<f64>> {
        let mut counts: Vec<usize> =
            std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < self.moves.len()).collect();
        counts.push(self.moves.len());
        let combine = |count: usize, multiple: f64| {
            self.moved(self.moves[..count].iter().map(|step| (step.coordinate, multiple * step.by)))
        };
        let mut all: Vec<Vec<f64>> =
            counts.iter().flat_map(|&count| MULTIPLES.map(|multiple| combine(count, multiple))).collect();
        all.extend((0..LINE).map(|i| {
            let length = 2f64.powf(f64::from(i - (LINE - 1)) / 3.0 + 2.0);
            self.moved(self.conjugate.direction.iter().map(|d| length * d).enumerate())
        }));
        all
    }

    fn learn(&mut self, coordinate: usize, below: f64, own: f64, above: f64) {
        let size = f64::from(self.settings.steps[self.level]);
        self.slopes[coordinate] = (above - below) / (2.0 * size);
        if self.level == 0 {
            let bend = (above + below - 2.0 * own).max(NOISE * own);
            self.curvatures[coordinate] = bend / (size * size);
        }
    }

    fn judge_neighbors(&mut self) {
        self.moves.sort_by(|a, b| a.loss.total_cmp(&b.loss)); // stable: by coordinate where equal
        // If both directions of a coordinate gain, which noise can cause, the better one is kept.
        let mut seen = vec![false; self.point.len()];
        self.moves.retain(|step| !std::mem::replace(&mut seen[step.coordinate], true));
        self.next = 0;
        if !self.moves.is_empty() {
            let slopes = std::mem::replace(&mut self.slopes, vec![0.0; self.point.len()]);
            self.conjugate.advance(slopes, &self.curvatures);
            self.stage = Stage::Combinations;
        } else if self.level + 1 < self.settings.steps.len() {
            self.level += 1;
        } else {
            self.exhausted = true;
        }
    }
}

impl Optimizer for Local {
    fn ask(&mut self) -> Proposal {
        let mut parameters = self.point.clone();
        match self.stage {
            Stage::Start => {}
            Stage::Neighbors => {
                for (coordinate, by) in self.neighbors().0 {
                    let first = parameters.len();
                    parameters.extend_from_slice(&self.point);
                    parameters[first + coordinate] += by;
                }
            }
            Stage::Combinations => self.combinations().iter().for_each(|point| parameters.extend(point)),
        }
        let members = (0..parameters.len() / self.point.len().max(1)).collect();
        Proposal { parameters, members, gradients: false, curvature: false }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        self.settled = false;
        let (own, losses) = (evaluations.losses[0], &evaluations.losses[1..]);
        match self.stage {
            Stage::Start => {
                if !own.is_finite() {
                    return Err(Error::Numeric(format!("local search: the loss at the start is {own}")));
                }
                self.loss = own;
                self.settled = true;
                self.stage = Stage::Neighbors;
            }
            Stage::Neighbors => {
                let (list, next) = self.neighbors();
                let limit = self.loss.min(own);
                for (&(coordinate, by), &loss) in list.iter().zip(losses) {
                    if loss < limit {
                        self.moves.push(Move { coordinate, by, loss });
                    }
                }
                for (pair, losses) in list.windows(2).zip(losses.windows(2)) {
                    if pair[0].0 == pair[1].0 {
                        self.dead[pair[0].0] = losses[0] == own && losses[1] == own;
                        self.learn(pair[0].0, losses[0], own, losses[1]);
                    }
                }
                self.next = next;
                if next == self.point.len() {
                    self.judge_neighbors();
                }
            }
            Stage::Combinations => {
                let all = self.combinations();
                let best = (0..all.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
                if let Some(best) = best.filter(|&best| losses[best] < self.loss) {
                    if best + (LINE as usize) < all.len() {
                        self.conjugate.restart();
                    }
                    self.point.clone_from(&all[best]);
                    self.loss = losses[best];
                } else {
                    // Noise; the first move was an improvement when it was evaluated.
                    let Move { coordinate, by, loss } = self.moves[0];
                    self.point[coordinate] += by;
                    self.loss = loss;
                    self.conjugate.restart();
                }
                self.moves.clear();
                self.stage = Stage::Neighbors;
                self.settled = true;
            }
        }
        Ok(())
    }

    fn best(&self) -> Best {
        Best { member: 0, parameters: self.point.clone(), loss: self.loss }
    }

    fn gradient_norm(&self) -> Option<f64> {
        None
    }

    fn epoch_done(&self) -> bool {
        self.settled
    }

    fn converged(&self) -> bool {
        self.exhausted
    }

    fn members_are_trials(&self) -> bool {
        true
    }

    fn save(&self) -> OptimizerState {
        let vectors: [(&str, &[f64]); 5] = [
            ("point", &self.point),
            ("slopes", &self.slopes),
            ("curvatures", &self.curvatures),
            ("last_slopes", &self.conjugate.slopes),
            ("direction", &self.conjugate.direction),
        ];
        OptimizerState::new("local", self, vectors)
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        let saved: Self = state.scalars("local")?;
        let broken = |name: &str| Error::Usage(format!("the saved state has no usable '{name}'"));
        let size = self.point.len();
        let point = state.take("point", size)?;
        let whole = point.iter().enumerate().all(|(i, &value)| value.fract() == 0.0 && self.allows(i, value));
        let known = saved.moves.iter().all(|step| step.coordinate < size);
        for (name, good) in [
            ("point", whole),
            ("dead", saved.dead.len() == size),
            ("moves", known && (saved.stage != Stage::Combinations || !saved.moves.is_empty())),
            ("next", saved.next <= size),
            ("level", saved.level < self.settings.steps.len()),
        ] {
            if !good {
                return Err(broken(name));
            }
        }
        let slopes = state.take_known("last_slopes", size, false)?;
        *self = Self {
            settings: std::mem::take(&mut self.settings),
            space: std::mem::take(&mut self.space),
            portion: self.portion,
            point,
            conjugate: Conjugate { direction: state.take("direction", slopes.len())?, slopes },
            slopes: state.take("slopes", size)?,
            curvatures: state.take("curvatures", size)?,
            ..saved
        };
        Ok(())
    }

    fn describe(&self, _member: usize, l2: f64) -> String {
        let steps: Vec<String> = self.settings.steps.iter().map(u32::to_string).collect();
        let l2 = l2_text(l2);
        format!("local search ({l2}steps {})", steps.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 7;

    /// Returns a convex quadratic with strong coupling, whose minimum lies between whole numbers, and a last coordinate
    /// without effect.
    fn loss(x: &[f64]) -> f64 {
        let centers = [3.4, -7.6, 0.49, 12.2, -1.3, 40.7];
        let e: Vec<f64> = x.iter().zip(centers).map(|(x, c)| x - c).collect();
        let own: f64 = e.iter().enumerate().map(|(i, e)| (1.0 + i as f64) * e * e).sum();
        let coupled: f64 = e.windows(2).map(|pair| 1.5 * pair[0] * pair[1]).sum();
        own + coupled + 0.8 * e.iter().sum::<f64>().powi(2)
    }

    fn answer(proposal: &Proposal) -> Evaluations {
        let losses = proposal.parameters.chunks(SIZE).map(loss).collect();
        Evaluations { losses, positions: 1, ..Evaluations::default() }
    }

    fn run(mut method: Local) -> (Vec<f64>, usize) {
        for round in 0..1000 {
            if method.converged() {
                return (method.best().parameters, round);
            }
            let proposal = method.ask();
            assert_eq!(proposal, method.ask(), "asking twice gives the same");
            let before = method.loss;
            method.tell(&answer(&proposal)).unwrap();
            assert!(method.loss <= before);
            assert_eq!(method.loss, loss(&method.point), "the loss is that of the point");
        }
        panic!("no end");
    }

    fn start() -> Space {
        Space::unbounded(&[90.3, -50.0, 7.0, 100.0, 100.0, -100.0, 5.0])
    }

    #[test]
    fn it_ends_where_no_neighbor_improves() {
        let one = LocalSettings { steps: vec![1] };
        for settings in [LocalSettings::default(), one] {
            let (point, _) = run(Local::try_new(&start(), settings.clone()).unwrap());
            for i in 0..SIZE {
                for by in [-1.0, 1.0] {
                    let mut neighbor = point.clone();
                    neighbor[i] += by;
                    assert!(loss(&neighbor) >= loss(&point), "{i} {by}: {point:?}");
                }
            }
            assert_eq!(point[6], 5.0, "what does nothing stays");
            // In portions, the same neighbors are known before anything is decided.
            let (other, _) = run(Local::try_new(&start(), settings).unwrap().with_portion(2));
            assert_eq!(other, point);
        }
    }

    #[test]
    fn combinations_are_checked_again() {
        // All six coordinates gain individually, but moving all at once overshoots the valley of their sum.
        let mut method =
            Local::try_new(&Space::unbounded(&[0.0; SIZE]), LocalSettings { steps: vec![1] }).unwrap();
        let valley = |proposal: &Proposal| {
            let value = |x: &[f64]| {
                let sum: f64 = x.iter().sum();
                (sum - 2.2).powi(2) + 0.01 * x.iter().map(|x| x * x).sum::<f64>()
            };
            let losses = proposal.parameters.chunks(SIZE).map(value).collect();
            Evaluations { losses, positions: 1, ..Evaluations::default() }
        };
        for _ in 0..2 {
            let proposal = method.ask();
            method.tell(&valley(&proposal)).unwrap();
        }
        assert_eq!((method.stage, method.moves.len()), (Stage::Combinations, SIZE));
        let proposal = method.ask();
        method.tell(&valley(&proposal)).unwrap();
        assert_eq!(method.point.iter().sum::<f64>(), 2.0, "{:?}", method.point);
        // If every combination turns out worse than the point, the best single move is taken.
        let mut method = Local::try_new(&start(), LocalSettings::default()).unwrap();
        for _ in 0..2 {
            let proposal = method.ask();
            method.tell(&answer(&proposal)).unwrap();
        }
        let (point, first) = (method.point.clone(), method.moves[0]);
        let members = method.ask().members.len();
        method.tell(&Evaluations { losses: vec![1e9; members], ..Evaluations::default() }).unwrap();
        let mut expected = point;
        expected[first.coordinate] += first.by;
        assert_eq!((method.point, method.loss), (expected, first.loss));
    }

    #[test]
    fn far_starts_take_few_rounds() {
        for steps in [vec![1], vec![64, 16, 4, 1]] {
            let space = Space::unbounded(&[9000.0; SIZE]);
            let mut method = Local::try_new(&space, LocalSettings { steps: steps.clone() }).unwrap();
            let proposal = method.ask();
            method.tell(&answer(&proposal)).unwrap();
            let size = f64::from(steps[0]);
            assert_eq!(method.ask().parameters[SIZE..][..2], [9000.0 - size, 9000.0]);
            let (_, rounds) = run(method);
            assert!(rounds < 80, "{steps:?}: {rounds}");
        }
    }

    #[test]
    fn bounds_hold() {
        let mut space = start();
        (space.upper[0], space.start[0]) = (2.5, 2.4);
        (space.lower[1], space.start[1]) = (-6.5, -6.5);
        (space.lower[5], space.start[5]) = (-100.0, -99.5);
        space.upper[5] = -90.2;
        let mut method = Local::try_new(&space, LocalSettings::default()).unwrap();
        assert_eq!((method.point[0], method.point[1]), (2.0, -6.0), "the start is rounded into the bounds");
        while !method.converged() {
            let proposal = method.ask();
            for member in proposal.parameters.chunks(SIZE) {
                let inside = |i: usize| (space.lower[i]..=space.upper[i]).contains(&member[i]);
                assert!((0..SIZE).all(inside), "{member:?}");
            }
            method.tell(&answer(&proposal)).unwrap();
        }
        let point = method.best().parameters;
        assert_eq!(point[5], -91.0);
        assert!(point.iter().all(|value| value.fract() == 0.0));
        space.lower[0] = 2.1;
        let err = Local::try_new(&space, LocalSettings::default()).unwrap_err().to_string();
        assert!(err.contains("empty"), "{err}");
    }

    #[test]
    fn a_restored_run_goes_on_alike() {
        let new = |start: &Space| Local::try_new(start, LocalSettings::default()).unwrap().with_portion(3);
        let mut one = new(&start());
        let mut stages = Vec::new();
        while !one.converged() {
            let mut other = new(&Space::unbounded(&[0.0; SIZE]));
            other.restore(one.save()).unwrap();
            assert_eq!((one.ask(), one.save()), (other.ask(), other.save()));
            stages.push(one.stage);
            let told = answer(&one.ask());
            one.tell(&told).unwrap();
            other.tell(&told).unwrap();
            assert_eq!(one.save(), other.save());
            assert_eq!((one.epoch_done(), one.converged()), (other.epoch_done(), other.converged()));
        }
        assert!(stages.contains(&Stage::Combinations));
        for (name, value) in [("point", 0.5), ("point", f64::NAN), ("slopes", f64::INFINITY)] {
            let mut broken = one.save();
            broken.vectors.get_mut(name).unwrap()[1] = value;
            assert!(new(&start()).restore(broken).is_err(), "{name} {value}");
        }
        for (name, value) in [("level", 4), ("next", SIZE + 1), ("moves", 1)] {
            let mut broken = one.save();
            broken.scalars[name] = value.into();
            assert!(new(&start()).restore(broken).unwrap_err().to_string().contains("saved"), "{name}");
        }
    }

    #[test]
    fn bad_settings_are_refused() {
        for steps in [vec![], vec![2], vec![1, 1]] {
            let settings = LocalSettings { steps };
            assert!(Local::try_new(&start(), settings.clone()).is_err(), "{settings:?}");
        }
        let mut method = Local::try_new(&start(), LocalSettings::default()).unwrap();
        assert!(method.tell(&Evaluations { losses: vec![f64::NAN], ..Evaluations::default() }).is_err());
    }
}
