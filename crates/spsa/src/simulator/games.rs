//! The model of strength and of games.

/// 2^x of a number between −1000 and 1000, to 1e-15, with the same bits on every system.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    // 1.5 · 2^52: adding it rounds to a whole number, which is then in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = x + MAGIC;
    let t = (x - (shifted - MAGIC)) * std::f64::consts::LN_2;
    // Taylor's series of e^t, |t| < 0.35: the first term left out is 1.7e-16.
    let mut sum = 1.0 / 479_001_600.0;
    for factorial in
        [39_916_800.0, 3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0]
    {
        sum = sum * t + 1.0 / factorial;
    }
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    sum * scale
}

#[inline(always)]
pub(super) fn win_probability(lead: f64, draw_rate: f64) -> f64 {
    const LOG2_10: f64 = std::f64::consts::LOG2_10 / 400.0;
    let x = -lead * LOG2_10;
    let x = if x < -900.0 { -900.0 } else { x };
    let x = if x > 900.0 { 900.0 } else { x };
    let win = 1.0 / (1.0 + exp2(x)) - 0.5 * draw_rate;
    let win = if win < 0.0 { 0.0 } else { win };
    if win > 1.0 - draw_rate { 1.0 - draw_rate } else { win }
}

/// 1, 0 or −1 from 32 random bits.
#[inline(always)]
fn game(bits: u64, win: f64, draw_rate: f64) -> f64 {
    // 32 bits below the point of a number between 1 and 2.
    let u = f64::from_bits(0x3ff0_0000_0000_0000 | (bits << 20)) - 1.0;
    let won = if u < win { 1.0 } else { 0.0 };
    let lost = if u >= win + draw_rate { 1.0 } else { 0.0 };
    won - lost
}

/// Score of a pair of games, −2 to 2, from 64 random bits.
#[inline(always)]
pub(super) fn pair(bits: u64, lead: f64, draw_rate: f64) -> f64 {
    let win = win_probability(lead, draw_rate);
    game(bits >> 32, win, draw_rate) + game(bits & 0xffff_ffff, win, draw_rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact_to_the_last_digits() {
        for i in -90_000..=90_000 {
            let x = f64::from(i) / 100.0;
            assert!((exp2(x) / x.exp2() - 1.0).abs() < 1e-14, "{x}");
        }
    }

    #[test]
    fn games_follow_the_model() {
        let expected = |lead: f64| 1.0 / (1.0 + 10f64.powf(-lead / 400.0));
        assert!((win_probability(0.0, 0.82) - 0.09).abs() < 1e-15);
        assert!((win_probability(10.0, 0.5) - (expected(10.0) - 0.25)).abs() < 1e-15);
        assert_eq!(win_probability(1e9, 0.82), 1.0 - 0.82);
        assert_eq!(win_probability(-1e9, 0.82), 0.0);
        assert_eq!(pair(0, 0.0, 0.82), 2.0);
        assert_eq!(pair(u64::MAX, 0.0, 0.82), -2.0);
        assert_eq!(pair(0x8000_0000_8000_0000, 0.0, 0.82), 0.0);
        assert_eq!(pair(0x0000_0000_8000_0000, 0.0, 0.82), 1.0);
    }
}
