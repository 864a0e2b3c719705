//! Statistics of results, compared with other ways to compute them and with simulated matches.

use crate::common::prelude::*;
use gputexel::matches::statistics::{Estimate, MAX_ELO, Pentanomial, Sprt, expected_score};

fn pentanomial(counts: [u64; 5]) -> Pentanomial {
    Pentanomial { counts }
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance
}

/// The figures are from the tests of fastchess (MIT), a widely used match runner.
#[test]
fn elo_matches_fastchess() {
    for (counts, elo, error95, normalized, normalized_error, los) in [
        ([34, 54, 31 + 32, 64, 75], 55.58, 27.65, 57.94, 28.28, 1.0),
        ([332, 433, 457 + 41, 333, 334], -8.64, 10.33, -9.17, 10.96, 0.0505),
        ([7895, 8757, 5485 + 200, 568, 9999], -21.04, 2.95, -19.01, 2.65, 0.0),
    ] {
        let pairs = pentanomial(counts);
        let (ours, ours_normalized) = (pairs.elo(), pairs.normalized_elo());
        assert!(near(ours.elo, elo, 0.006) && near(ours.error95, error95, 0.006), "{counts:?}: {ours:?}");
        assert!(near(ours_normalized.elo, normalized, 0.006), "{counts:?}: {ours_normalized:?}");
        assert!(near(ours_normalized.error95, normalized_error, 0.006), "{counts:?}: {ours_normalized:?}");
        assert!(near(pairs.los(), los, 6e-5), "{counts:?}: {}", pairs.los());
    }
}

/// The figures are from the tests of fastchess (MIT).
#[test]
fn likelihood_ratios_match_fastchess() {
    let small = Sprt::try_new(0.0, 2.0, 0.05, 0.05).unwrap();
    let shifted = Sprt::try_new(0.5, 2.5, 0.05, 0.05).unwrap();
    let pairs = pentanomial([223, 9863, 20279 + 1000, 10037, 246]);
    assert!(near(shifted.llr(&pairs), -3.07, 0.006), "{}", shifted.llr(&pairs));
    let pairs = pentanomial([871, 26175, 55003 + 980, 26678, 821]);
    assert!(near(small.llr(&pairs), -4.98, 0.01), "{}", small.llr(&pairs));
}

/// Returns the maximum log-likelihood of `counts` with mean `score`, by ascent along directions that change neither
/// the sum nor the mean: second differences of the probabilities, each searched by golden sections.
fn climbed_likelihood(counts: &[f64; 5], score: f64) -> f64 {
    // A start with the right mean and no zeros: a binomial distribution.
    let binomial = [1.0, 4.0, 6.0, 4.0, 1.0];
    let mut p: [f64; 5] =
        std::array::from_fn(|i| binomial[i] * score.powi(i as i32) * (1.0 - score).powi(4 - i as i32));
    let likelihood = |p: &[f64; 5]| counts.iter().zip(p).map(|(n, p)| n * p.max(1e-300).ln()).sum::<f64>();
    let directions = [
        [1.0, -2.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, -2.0, 1.0, 0.0],
        [0.0, 0.0, 1.0, -2.0, 1.0],
        [1.0, -1.0, 0.0, -1.0, 1.0],
    ];
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let mut before = f64::NEG_INFINITY;
    loop {
        for direction in directions {
            let moved = |step: f64| std::array::from_fn(|i| p[i] + step * direction[i]);
            let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
            for (p, d) in p.iter().zip(direction) {
                if d > 0.0 {
                    low = low.max(-p / d);
                } else if d < 0.0 {
                    high = high.min(-p / d);
                }
            }
            for _ in 0..80 {
                let (a, b) = (high - golden * (high - low), low + golden * (high - low));
                if likelihood(&moved(a)) > likelihood(&moved(b)) { high = b } else { low = a }
            }
            let best = moved(0.5 * (low + high));
            if likelihood(&best) > likelihood(&p) {
                p = best;
            }
        }
        let now = likelihood(&p);
        if now - before < 1e-12 * now.abs() {
            return now;
        }
        before = now;
    }
}

#[test]
fn likelihood_ratios_match_direct_maximization() {
    for counts in [
        [10, 20, 30, 25, 15],
        [223, 9863, 21279, 10037, 246],
        [1, 0, 7, 3, 2],
        [400, 3, 1, 2, 5],
        [0, 5, 20, 9, 0],
        [3, 3, 3, 3, 90],
    ] {
        let regularized = counts.map(|n| if n == 0 { 1e-3 } else { n as f64 });
        for (elo0, elo1) in [(0.0, 5.0), (-10.0, 0.0), (-3.0, 40.0), (100.0, 250.0)] {
            let ours = Sprt::try_new(elo0, elo1, 0.05, 0.05).unwrap().llr(&pentanomial(counts));
            let climbed = climbed_likelihood(&regularized, expected_score(elo1))
                - climbed_likelihood(&regularized, expected_score(elo0));
            assert!(
                near(ours, climbed, 1e-4 * (1.0 + climbed.abs())),
                "{counts:?} {elo0} {elo1}: {ours} {climbed}"
            );
        }
    }
}

#[test]
fn hopeless_counts_give_finite_numbers() {
    let sprt = Sprt::try_new(0.0, 5.0, 0.05, 0.05).unwrap();
    for base in [[0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 1]] {
        for times in [1, 2, 10, 1000, 1_000_000_000_000] {
            let pairs = pentanomial(base.map(|n| n * times));
            let both = [pairs.elo(), pairs.normalized_elo()];
            for (estimate, reversed) in
                both.into_iter().zip([pairs.reversed().elo(), pairs.reversed().normalized_elo()])
            {
                let Estimate { elo, error95, low, high } = estimate;
                assert!(
                    [elo, error95, low, high].iter().all(|x| x.is_finite() && x.abs() <= MAX_ELO * 2.0),
                    "{pairs:?}"
                );
                assert!(low <= elo && elo <= high && error95 >= 0.0, "{pairs:?}: {estimate:?}");
                assert!(
                    near(reversed.elo, -elo, 1e-6) && near(reversed.low, -high, 1e-3),
                    "{pairs:?}: {estimate:?} {reversed:?}"
                );
            }
            assert!(sprt.llr(&pairs).is_finite() && (0.0..=1.0).contains(&pairs.los()));
            assert!(near(pairs.los() + pairs.reversed().los(), 1.0, 1e-12));
        }
    }
    assert_eq!((pentanomial([0; 5]).los(), sprt.llr(&pentanomial([0; 5]))), (0.5, 0.0));
    // One pair says little, whatever its result.
    let one = pentanomial([0, 0, 0, 0, 1]);
    assert!(one.los() < 0.95 && one.elo().low < 0.0, "{} {:?}", one.los(), one.elo());
    // Ten pairs won: the mean score has a likelihood of s^10 at s, so the lower end is where
    // 20 ln s = −1.96², and superiority that of √(20 ln 2).
    let ten = pentanomial([0, 0, 0, 0, 10]);
    let end = (-1.96f64 * 1.96 / 20.0).exp();
    assert!(near(expected_score(ten.elo().low), end, 2e-3), "{:?}", ten.elo());
    assert!(near(expected_score(ten.elo().elo), 1.0 - 0.25 / 20.0, 1e-12), "{:?}", ten.elo());
    assert!(ten.los() > 0.9998);
    // Pairs that all end even do not prove that A and B are equal.
    let even = pentanomial([0, 0, 10, 0, 0]).elo();
    assert!(even.elo == 0.0 && even.error95 > 20.0 && even.error95 < 200.0, "{even:?}");
}

#[test]
fn counts_add_up() {
    let mut pairs = Pentanomial::default();
    for half_points in [4, 3, 3, 2, 0] {
        pairs.add(half_points);
    }
    assert_eq!(pairs.counts, [1, 0, 1, 2, 1]);
    assert_eq!((pairs.pairs(), pairs.games()), (5, 10));
    assert!(near(pairs.score(), 0.6, 1e-15));
    // (0.6² + 0.1² + 2·0.15² + 0.4²) / 5
    assert!(near(pairs.variance(), 0.115, 1e-15));
    pairs.merge(&pentanomial([1, 1, 1, 1, 1]));
    assert_eq!(pairs.counts, [2, 1, 2, 3, 2]);
}

/// Pairs whose opening gives White a random bonus: with colors swapped the results of the two games are negatively
/// correlated, as in real matches.
struct Players {
    elo: f64,
    draw_share: f64,
    opening_elo: f64,
}

impl Players {
    fn game(&self, advantage_elo: f64, rng: &mut Xoshiro256PlusPlus) -> usize {
        // A draw reduces wins and losses equally, so the mean is the expected score.
        let score = expected_score(advantage_elo);
        let draw = self.draw_share * 2.0 * score.min(1.0 - score);
        let u: f64 = rng.random();
        if u < draw {
            1
        } else if u < draw + score - draw / 2.0 {
            2
        } else {
            0
        }
    }

    fn pair(&self, rng: &mut Xoshiro256PlusPlus) -> [usize; 2] {
        let bonus = if rng.random::<bool>() { self.opening_elo } else { 0.0 };
        [self.game(self.elo + bonus, rng), self.game(self.elo - bonus, rng)]
    }

    /// Returns the Elo of the true mean score of pairs: not quite `elo`, as the logistic is curved.
    fn true_elo(&self) -> f64 {
        let with = |bonus: f64| 0.5 * (expected_score(self.elo + bonus) + expected_score(self.elo - bonus));
        let score: f64 = 0.5 * (with(0.0) + with(self.opening_elo));
        -400.0 * (1.0 / score - 1.0).log10()
    }
}

#[test]
#[ignore = "full"]
fn intervals_have_nominal_coverage() {
    for (seed, players) in [
        Players { elo: 0.0, draw_share: 0.5, opening_elo: 0.0 },
        Players { elo: 20.0, draw_share: 0.7, opening_elo: 200.0 },
        Players { elo: 150.0, draw_share: 0.3, opening_elo: 100.0 },
        Players { elo: -60.0, draw_share: 0.0, opening_elo: 300.0 },
    ]
    .into_iter()
    .enumerate()
    {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
        let (matches, truth) = (3000, players.true_elo());
        let (mut covered, mut superior) = (0, 0.0);
        for _ in 0..matches {
            let mut pairs = Pentanomial::default();
            for _ in 0..300 {
                let both = players.pair(&mut rng);
                pairs.add(both[0] + both[1]);
            }
            let estimate = pairs.elo();
            covered += usize::from(estimate.low <= truth && truth <= estimate.high);
            superior += pairs.los();
        }
        let share = covered as f64 / matches as f64;
        assert!((0.93..0.97).contains(&share), "{truth}: {share} of the intervals");
        let superior = superior / matches as f64;
        match players.elo {
            0.0 => assert!(near(superior, 0.5, 0.03), "{superior}"),
            elo => assert!((superior > 0.5) == (elo > 0.0), "{superior}"),
        }
    }
}

#[test]
#[ignore = "full"]
fn sequential_tests_have_nominal_error_rates() {
    let (alpha, beta) = (0.1, 0.05);
    let runs = 1500;
    for (opening_elo, draw_share) in [(0.0, 0.4), (200.0, 0.6)] {
        let mut players = Players { elo: 0.0, draw_share, opening_elo };
        let h0 = players.true_elo();
        players.elo = 30.0;
        let h1 = players.true_elo();
        let sprt = Sprt::try_new(h0, h1, alpha, beta).unwrap();
        for (elo, allowed, wrong_state) in
            [(0.0, alpha, SprtState::AcceptedH1), (30.0, beta, SprtState::AcceptedH0)]
        {
            players.elo = elo;
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
            let mut wrong = 0;
            for _ in 0..runs {
                let mut pairs = Pentanomial::default();
                let state = loop {
                    pairs.add(players.pair(&mut rng).iter().sum());
                    match sprt.state(&pairs) {
                        SprtState::Continue => assert!(pairs.pairs() < 100_000),
                        ended => break ended,
                    }
                };
                wrong += usize::from(state == wrong_state);
            }
            let share = wrong as f64 / runs as f64;
            let noise = 3.0 * (allowed * (1.0 - allowed) / runs as f64).sqrt();
            // Wald's bounds ignore that the last pair overshoots, so errors are rarer than allowed.
            assert!(share < allowed + noise, "{elo}: {share} wrong of {allowed} allowed");
            assert!(share > 0.5 * allowed, "{elo}: {share} wrong of {allowed}: more games than needed");
        }
    }
}

#[test]
fn tests_are_read_from_text() {
    let sprt: Sprt = "elo0=0,elo1=5,alpha=0.05,beta=0.1".parse().unwrap();
    assert_eq!(sprt, Sprt::try_new(0.0, 5.0, 0.05, 0.1).unwrap());
    let [lower, upper] = sprt.bounds();
    assert!(near(lower, (0.1f64 / 0.95).ln(), 1e-15) && near(upper, (0.9f64 / 0.05).ln(), 1e-15));
    assert_eq!("elo1=3, elo0=-1".parse::<Sprt>().unwrap(), Sprt::try_new(-1.0, 3.0, 0.05, 0.05).unwrap());
    assert_eq!(sprt.to_string().parse::<Sprt>().unwrap(), sprt);
    let json = serde_json::to_string(&sprt).unwrap();
    assert_eq!(serde_json::from_str::<Sprt>(&json).unwrap(), sprt);
    for (text, reason) in [
        ("", "''"),
        ("elo0=0", "elo1 is missing"),
        ("elo0=0,elo1=0", "below"),
        ("elo0=5,elo1=0", "below"),
        ("elo0=0,elo1=nan", "elo1=NaN"),
        ("elo0=-inf,elo1=0", "elo0=-inf"),
        ("elo0=0,elo1=x", "not a number"),
        ("elo0=0,elo1=5,alpha=0", "alpha=0"),
        ("elo0=0,elo1=5,beta=0.5", "beta=0.5"),
        ("elo0=0,elo1=5,gamma=1", "gamma"),
        ("elo0=0,elo0=1,elo1=5", "twice"),
        ("elo0=0,elo1=5,", "''"),
    ] {
        let error = text.parse::<Sprt>().unwrap_err();
        assert!(error.to_string().contains(reason) && error.exit_code() == 2, "{text}: {error}");
    }
}
