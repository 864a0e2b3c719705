//! Statistics of results, compared with other ways to compute them and with simulated matches.

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
    for (counts, elo, error95, los) in [
        ([34, 54, 31 + 32, 64, 75], 55.58, 27.65, 1.0),
        ([332, 433, 457 + 41, 333, 334], -8.64, 10.33, 0.0505),
        ([7895, 8757, 5485 + 200, 568, 9999], -21.04, 2.95, 0.0),
    ] {
        let pairs = pentanomial(counts);
        let ours = pairs.elo();
        assert!(near(ours.elo, elo, 0.006) && near(ours.error95, error95, 0.006), "{counts:?}: {ours:?}");
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
            let mut counts = pairs.counts;
            counts.reverse();
            let (estimate, reversed) = (pairs.elo(), pentanomial(counts).elo());
            let Estimate { elo, error95, low, high } = estimate;
            let all = [elo, error95, low, high];
            assert!(all.iter().all(|x| x.is_finite() && x.abs() <= MAX_ELO * 2.0), "{pairs:?}");
            assert!(low <= elo && elo <= high && error95 >= 0.0, "{pairs:?}: {estimate:?}");
            let is_mirrored = near(reversed.elo, -elo, 1e-6) && near(reversed.low, -high, 1e-3);
            assert!(is_mirrored, "{pairs:?}: {estimate:?} {reversed:?}");
            assert!(sprt.llr(&pairs).is_finite() && (0.0..=1.0).contains(&pairs.los()));
            assert!(near(pairs.los() + pentanomial(counts).los(), 1.0, 1e-12));
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
