//! Poisson resampling: the number of times a game counts in a bootstrap.

/// 2³² · P(count > i) for a Poisson(1) count, rounded to nearest: a hash below the i-th value means a count
/// above i.
pub const POISSON_TAILS: [u32; 9] =
    [2_714_937_127, 1_134_906_959, 344_891_874, 81_553_513, 15_718_922, 2_552_004, 357_518, 44_020, 4_833];

/// Returns a well-mixed hash of a game and a seed (the finalizer of MurmurHash3 over their combination).
#[inline(always)]
pub const fn game_hash(game: u32, seed: u32) -> u32 {
    let mut h = game.wrapping_mul(0x9e37_79b1) ^ seed.wrapping_mul(0x85eb_ca77);
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// Returns the number of times a game counts in the bootstrap with a seed: a Poisson(1) variate.
#[inline(always)]
pub const fn poisson_weight(game: u32, seed: u32) -> u32 {
    let h = game_hash(game, seed);
    let mut count = 0;
    let mut i = 0;
    while i < POISSON_TAILS.len() {
        count += (h < POISSON_TAILS[i]) as u32;
        i += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_poisson() {
        for (i, &threshold) in POISSON_TAILS.iter().enumerate() {
            let mut term = (-1.0f64).exp();
            let mut tail = 0.0;
            for k in 1..30 {
                term /= f64::from(k);
                tail += if k > i as u32 { term } else { 0.0 };
            }
            assert!((f64::from(threshold) - tail * 4_294_967_296.0).abs() < 1.0, "{i}");
        }
        let n = 400_000u32;
        let (mut sum, mut squares, mut product) = (0.0, 0.0, 0.0);
        for game in 0..n {
            let (a, b) = (f64::from(poisson_weight(game, 1)), f64::from(poisson_weight(game, 2)));
            sum += a;
            squares += a * a;
            product += (a - 1.0) * (b - 1.0);
        }
        let n = f64::from(n);
        // Five standard errors.
        assert!((sum / n - 1.0).abs() < 5.0 / n.sqrt(), "{}", sum / n);
        assert!((squares / n - 2.0).abs() < 5.0 * 3.9 / n.sqrt(), "{}", squares / n);
        assert!((product / n).abs() < 5.0 / n.sqrt(), "{}", product / n);
    }
}
