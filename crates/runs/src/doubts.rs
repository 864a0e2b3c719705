//! Why held-out positions cannot tell what values are good for.

use gputexel_dataset::Dataset;
use gputexel_ingest::trace::Reference;
use gputexel_model::Prior;
use gputexel_report::grouped;
use gputexel_tune::{Ahead, explained_compensation};

/// Wins of one color among the decided results from which on little but the colors is learned, and draws among all
/// results from which on they are named, percent.
const ONE_SIDED: f64 = 85.0;
const MOSTLY_DRAWN: f64 = 90.0;
/// Positions of a game, on average, from which on nearly all games in the data twice are recognized.
const RECOGNIZED: u64 = 40;
/// Search scores that are fractions below it are hardly centipawns.
const PAWNS: f32 = 25.0;

/// What is known of the targets and the games of a dataset before anything is tuned.
#[derive(Clone, Debug, Default)]
pub struct Doubts {
    /// Targets of sides about a minor piece ahead, in the middlegame and the endgame.
    pub ahead: Option<[Ahead; 2]>,
    /// Why values tuned to these targets should not be played as they are.
    pub compensated: Option<String>,
    /// What is wrong with the trace that was imported.
    pub wrong_trace: Option<String>,
    /// That few games were decided.
    pub mostly_drawn: Option<String>,
    /// Why held-out positions are no measure.
    pub not_held_out: Option<String>,
}

impl Doubts {
    pub fn of(data: &Dataset) -> Self {
        // What the values of another engine call an advantage need not be material.
        let own = data.metadata().feature_set.imported.is_none();
        let ahead = own.then(|| Ahead::of(data)).flatten();
        let in_pawns = in_pawns(data);
        let compensated = ahead.as_ref().filter(|_| in_pawns.is_none()).and_then(explained_compensation);
        let not_held_out = in_pawns.or_else(|| one_sided(data)).or_else(|| unknown_games(data));
        Self {
            ahead,
            compensated,
            wrong_trace: wrong_trace(data),
            mostly_drawn: mostly_drawn(data),
            not_held_out,
        }
    }

    /// Warnings for commands without a verdict.
    pub fn warnings(self) -> impl Iterator<Item = String> {
        let unplayable = self.compensated.map(|why| format!("do not play these values as they are: {why}"));
        let unmeasured = self.not_held_out.map(|why| format!("held-out losses say little: {why}"));
        self.wrong_trace.into_iter().chain(self.mostly_drawn).chain(unplayable).chain(unmeasured)
    }
}

/// Difference of evaluations that rounding explains, centipawns: that of a sum, and of several divisions.
const ROUNDED_CP: [f64; 2] = [1.0, 3.0];

/// Compares the evaluations that an engine printed with those of its features under the values that they had.
pub fn wrong_trace(data: &Dataset) -> Option<String> {
    let set = &data.metadata().feature_set;
    let printed = data.static_evaluations();
    if printed.is_empty() || set.imported.is_none() || data.metadata().probing.is_some() {
        return None;
    }
    let theta = Prior::default_for(set).theta(set).ok()?;
    let rounded = ROUNDED_CP[usize::from(data.program().is_some())];
    let reference = Reference::try_new(set, theta, rounded).ok()?;
    let known = (0..data.len()).filter(|&n| !printed[n].is_nan());
    let differs = |&n: &usize| {
        let (row, printed) = (Reference::row_of(data, n), f64::from(printed[n]));
        let score = reference.score_of_row(&row, &[]);
        (score - printed).abs() > rounded && !reference.is_rounding(&row, score, printed)
    };
    let differing = known.clone().filter(differs).count();
    (differing > 0).then(|| {
        let (differing, known) = (grouped(differing as u64), grouped(known.count() as u64));
        format!(
            "{differing} of {known} evaluations of the trace are not those of its features under the priors: \
             'gputexel check' shows what differs"
        )
    })
}

fn share_of(data: &Dataset, result: f32) -> f64 {
    data.results().iter().filter(|&&other| other == result).count() as f64 / data.len().max(1) as f64
}

fn one_sided(data: &Dataset) -> Option<String> {
    let [white, black] = [1.0, 0.0].map(|won| share_of(data, won));
    let percent = (100.0 * white.max(black) / (white + black)).floor();
    let color = if white > black { "White" } else { "Black" };
    (percent >= ONE_SIDED).then(|| {
        format!("{percent} % of the decided results are wins of {color}: squares tell the colors apart")
    })
}

/// Search scores in pawns make every position look even.
fn in_pawns(data: &Dataset) -> Option<String> {
    let scores: Vec<f32> =
        data.search_scores().iter().map(|score| score.abs()).filter(|&s| s > 0.0).collect();
    let small = scores.iter().filter(|&&score| score < PAWNS && score.fract() != 0.0).count();
    let aimed_at = data.results() != data.game_results();
    (aimed_at && small >= (scores.len() / 2).max(100))
        .then(|| format!("most search scores are fractions below {PAWNS} centipawns: are they pawns?"))
}

fn mostly_drawn(data: &Dataset) -> Option<String> {
    let percent = (100.0 * share_of(data, 0.5)).floor();
    let text = || format!("{percent} % of the results are draws: only the others tell values apart");
    (percent >= MOSTLY_DRAWN).then(text)
}

fn unknown_games(data: &Dataset) -> Option<String> {
    let without = data.positions_without_game();
    let positions = data.len() as u64;
    if without == positions {
        return Some(
            "the games of the positions are not known, and neighbors may be held out from each other"
                .to_string(),
        );
    }
    if without > 0 {
        let (without, positions) = (grouped(without), grouped(positions));
        return Some(format!("the games of {without} of {positions} positions are not known"));
    }
    let united = data.united_games();
    (united > 0 && positions < RECOGNIZED * data.metadata().games).then(|| {
        let united = grouped(united);
        format!("{united} games are in the data twice, and others may be: too few positions of each to tell")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extracted(files: &[String]) -> Dataset {
        let folder = tempfile::tempdir().unwrap();
        let write = |(i, text): (usize, &String)| {
            let path = folder.path().join(format!("{i}.fens"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let paths: Vec<_> = files.iter().enumerate().map(write).collect();
        crate::extract(&paths).unwrap()
    }

    /// Positions of games whose pawns are those of no other game, with or without the number of the game.
    fn games(plies: impl Iterator<Item = u32> + Clone, numbered: bool) -> String {
        let rows = |game: u32, ply: u32| {
            let bits = game.wrapping_mul(0x9e37_79b9) ^ (1 << (16 + ply / 4));
            let row = |shift: u32, set: bool, pawn: char| -> String {
                (0..8).map(|file| if (bits >> (shift + file) & 1 == 1) == set { pawn } else { '1' }).collect()
            };
            let [a, b] = [true, false].map(|set| (row(16, set, 'p'), row(24, !set, 'P')));
            let king = 1 + ply % 4;
            format!("4k3/{}/{}/8/8/{}/{}/{king}K{} w - -", a.0, b.0, a.1, b.1, 7 - king)
        };
        let line = |game: u32, ply: u32| match numbered {
            true => format!("{game} {} {} 0 {}\n", game % 2, rows(game, ply), 30 + ply),
            false => format!("{} c9 \"{}-{}\";\n", rows(game, ply), game % 2, 1 - game % 2),
        };
        let game = |game: u32| plies.clone().map(move |ply| line(game, ply));
        (1..40).flat_map(game).collect()
    }

    #[test]
    fn games_in_two_inputs_are_one() {
        let all = games(0..12, true);
        let mut data = extracted(&[games((0..12).step_by(2), true), games((1..12).step_by(2), true)]);
        assert_eq!(extracted(&[all]).repeated_games().len(), 0);
        let repeated = data.repeated_games();
        data.unite_games(&repeated);
        assert_eq!((repeated.len(), data.metadata().games), (39, 39));
    }

    #[test]
    fn scores_in_pawns_are_no_targets() {
        let in_pawns = |line: &str| format!("{line} 0.4\n");
        let mut data = extracted(&[games(0..12, true).lines().map(in_pawns).collect()]);
        assert_eq!(Doubts::of(&data).not_held_out, None);
        data.blend(gputexel_dataset::Blend { share: 1.0, k: 1.0 }).unwrap();
        assert!(Doubts::of(&data).not_held_out.unwrap().contains("are they pawns?"));
    }

    #[test]
    fn positions_without_games_and_one_sided_results_are_no_measure() {
        let doubt = |files: &[String]| Doubts::of(&extracted(files)).not_held_out;
        assert_eq!(doubt(&[games(0..12, true)]), None);
        assert!(doubt(&[games(0..12, false)]).unwrap().contains("are not known"));
        let won = |text: String| text.replace(" 0 4k3", " 1 4k3");
        let mixed = doubt(&[games(0..12, true), games(12..18, false)]);
        assert!(mixed.unwrap().contains("positions are not known"));
        assert!(doubt(&[won(games(0..12, true))]).unwrap().starts_with("100 %"));
        let unlosing = doubt(&[games(0..12, true).replace(" 0 4k3", " 0.5 4k3")]).unwrap();
        assert!(unlosing.starts_with("100 % of the decided results are wins of White"), "{unlosing}");
        let drawn = won(games(0..12, true)).replace(" 1 4k3", " 0.5 4k3");
        assert!(
            Doubts::of(&extracted(&[drawn]))
                .mostly_drawn
                .unwrap()
                .starts_with("100 % of the results are draws")
        );
    }
}
