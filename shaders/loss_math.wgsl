// Resampling and the loss with its derivatives, for all kernels that walk positions. Not a kernel itself. Needs
// `Real` and `Word`, and `uniforms.power`.

// 0 squared, 1 cross-entropy, 2 power.
override LOSS: u32 = 0u;

// Number of times a game counts under each seed; integers throughout, so equal to the host's.
fn poisson(game: u32, seed: Word) -> Real {
    var h = Word(game * 0x9e3779b1u) ^ (seed * 0x85ebca77u);
    h = (h ^ (h >> Word(16u))) * 0x85ebca6bu;
    h = (h ^ (h >> Word(13u))) * 0xc2b2ae35u;
    h = h ^ (h >> Word(16u));
    var count = Real(0.0);
    count += select(Real(0.0), Real(1.0), h < Word(2714937127u));
    count += select(Real(0.0), Real(1.0), h < Word(1134906959u));
    count += select(Real(0.0), Real(1.0), h < Word(344891874u));
    count += select(Real(0.0), Real(1.0), h < Word(81553513u));
    count += select(Real(0.0), Real(1.0), h < Word(15718922u));
    count += select(Real(0.0), Real(1.0), h < Word(2552004u));
    count += select(Real(0.0), Real(1.0), h < Word(357518u));
    count += select(Real(0.0), Real(1.0), h < Word(44020u));
    count += select(Real(0.0), Real(1.0), h < Word(4833u));
    return count;
}

struct Outcome {
    loss: Real,
    // d loss / dx.
    slope: Real,
    // Gauss-Newton curvature in x.
    curvature: Real,
}

// Loss of 2^bits, the odds against a win, against the target y. Slope and curvature are those in x = -ln 2 * bits. Odds
// that are as good as infinite are kept finite; p and 1 - p = odds * p are both formed without cancellation, so both
// tails keep their precision.
fn outcome(bits: Real, y: Real) -> Outcome {
    let odds = exp2(min(bits, Real(115.0)));
    let p = Real(1.0) / (Real(1.0) + odds);
    let difference = p * ((Real(1.0) - y) - odds * y);
    let dp = p * (odds * p);
    if LOSS == 0u {
        return Outcome(difference * difference, 2.0 * difference * dp, 2.0 * dp * dp);
    }
    if LOSS == 1u {
        // ln(1 + e^x) - x y.
        let x = -0.6931471805599453 * bits;
        return Outcome(max(x, Real(0.0)) - x * y + log(Real(1.0) + exp2(-abs(bits))), difference, dp);
    }
    let q = uniforms.power;
    let distance = abs(difference);
    let nothing = distance == Real(0.0);
    let value = select(pow(distance, Real(q)), Real(0.0), nothing);
    let derivative = select(pow(distance, Real(q - 1.0)), Real(0.0), nothing);
    let at_zero = Real(select(0.0, 1.0, q == 2.0));
    let second = q * (q - 1.0) * select(pow(distance, Real(q - 2.0)), at_zero, nothing);
    let slope = q * derivative * sign(difference) * dp;
    return Outcome(value, slope, second * dp * dp);
}
