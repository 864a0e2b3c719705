//! The comment at the top of an evaluation.

use crate::languages::Language;
use gputexel_model::FeatureSet;

const YOURS: &str = "\
An evaluation for chess engines, written by `gputexel export --evaluation`. The file is yours: use it, change it and put
it under the license of your choice.
";

const C: &str = "
Include it in the source file that evaluates. `evaluate` returns the score of a position in centipawns from the view of
the side to move, at most 30000 either way. Colors and kinds of pieces are numbered from 0 as in the enums below, squares
from a1 = 0, b1 = 1 to h8 = 63.
";

const RUST: &str = "
It is a module. `evaluate` returns the score of a position in centipawns from the view of the side to move, at most 30000
either way. Colors and kinds of pieces are numbered from 0 as in the constants below, squares from a1 = 0, b1 = 1 to
h8 = 63.
";

const SUMS: &str = "
The values of pieces on their squares need not be added up for each position: keep `Sums`, change them with `add_piece`,
`remove_piece` and `move_piece` as moves are made, and call `evaluate_with`.
";

const LINEAR: &str = "
All numbers are whole. mg and eg are the sums of middlegame and endgame values, White's less Black's, and
score = (mg * phase + eg * (PHASE_MAX - phase)) / PHASE_MAX from White's view, truncated toward zero.
";

const NOT_LINEAR: &str = "
All numbers are whole. mg and eg are the sums of middlegame and endgame values, White's less Black's; danger, complexity
and the factor change them, exactly, as stated below, and
score = (mg * phase + eg * (PHASE_MAX - phase)) / PHASE_MAX from White's view, which alone is truncated, toward zero.
";

const MAIN: &str = "
makes it a program that reads lines of FEN and prints their scores, for `gputexel verify`. In comments, `gputexel: NAME`
marks values for `gputexel patch tables`.

";

pub fn lines(set: &FeatureSet, language: Language) -> String {
    let (usage, compiler) = if language == Language::RUST {
        (RUST, "rustc -O -C target-cpu=native --cfg evaluation_main")
    } else if language == Language::CPP {
        (C, "c++ -std=c++17 -O2 -march=native -DEVALUATION_MAIN -x c++")
    } else {
        (C, "cc -O2 -march=native -DEVALUATION_MAIN")
    };
    let sums = if set.king_buckets.is_some() { "" } else { SUMS };
    let arithmetic = if set.program.is_some() { NOT_LINEAR } else { LINEAR };
    let text = format!("{YOURS}{usage}{sums}{arithmetic}\n`{compiler}`{MAIN}");
    text.lines().map(|line| format!("// {line}").trim_end().to_string() + "\n").collect()
}
