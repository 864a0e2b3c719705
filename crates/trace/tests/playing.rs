//! The playing build computes with integers.
#![cfg(not(feature = "record"))]

mod engine;

use engine::{Board, endgames, kings, linear};
use gputexel_trace::*;

const P: Pair = S(100, -50);
const SOURCE: (i32, i32) = P.source();

#[test]
fn verbs_compute_with_integers() {
    assert_eq!(SOURCE, (100, -50));
    assert_eq!((mg(P), eg(P), mg(-P / 3), eg(P.negated() * 2)), (100, -50, -33, 100));
    assert_eq!(
        (relu(-3), relu2(3), relu_over(99, 100), relu2_over(101, 100), square(-3)),
        (0, 9, 0, 10_201, -9)
    );
    assert_eq!((sigmoid(0, 8, 256), sigmoid(800, 8, 256), sigmoid(-8, 8, 256)), (128, 256, 68));
    let points = [-1, 0, 5, 10, 11].map(|x| table(x, &[[0, 3], [10, 20]]));
    assert_eq!(points, [3, 3, 11, 20, 20]);
    assert_eq!((clamp(7, 0, 5), max(2, 3), min(2, 3)), (5, 3, 2));
    let values = |p: Pair| (mg(p), eg(p));
    assert_eq!(values(bounded(P, pair(-30, 8))), (70, -58));
    assert_eq!(values(bounded_eg(P, -80)), (100, 0));
    assert_eq!(values(bounded_mg_at_most(P, -40, 20)), (80, -50));
    assert_eq!(values(bounded_eg_at_most(P, -40, 50)), (100, -50));
    assert_eq!((values(scale_eg(P, 200, 64, 0..=128)), scale(100, 48, 64, 0..=64)), ((100, -100), 75));
    assert_eq!((taper(P, 12, 24), taper_scaled(P, 32, 0, 24, 64)), (25, -25));
    let sum = [P, P].into_iter().sum::<Pair>();
    assert_eq!(values(3 * (sum.negated() + P) - P / 2 + Pair::default()), (-350, 175));
}

#[test]
fn evaluations_play() {
    let b = Board::new("r1bqk2r/ppp2ppp/2np1n2/2b1p2Q/2B1P3/2NP4/PPP2PPP/R1B1K1NR b KQkq - 1 6").unwrap();
    let all =
        [linear, kings, endgames::<0>, endgames::<1>, endgames::<2>].map(|evaluate| result(evaluate(&b)));
    assert_eq!(all, [-43, 76, -35, -25, -35]);
    leaf(|| unreachable!("nothing is printed"));
}
