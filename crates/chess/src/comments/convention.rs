//! Detects how a file writes the scores in comments. Of successive scores of half a pawn or more, 96 to 100 %
//! have one sign in White's view; if only one side has scores, material decides.

use shakmaty::{Chess, Color, Position as _};

use super::{ScoreForm, Spelling, WrittenScore};
use crate::agreement::{Agreement, PointOfView, TELLING_SCORE_CP, material_balance, told_view};
use crate::labels::MAX_SCORE_CP;

/// A spelling that at least one in so many scores has is not an exception.
const MIXED: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreConvention {
    /// Point of view of the engine form: White's, or that of the side that moves.
    pub engine_view: PointOfView,
    /// Point of view of `[%eval]`: White's, or that of the side that has moved.
    pub eval_view: PointOfView,
    /// True if whole numbers in `[%eval]` are pawns, as they are where most have a decimal point.
    pub whole_evals_are_pawns: bool,
    /// True if `27/10` without a sign is a score before a depth.
    pub whole_before_depth: bool,
    /// True if a lone `0.00` is a score; it may be a time.
    pub bare_zeros: bool,
}

impl Default for ScoreConvention {
    fn default() -> Self {
        Self {
            engine_view: PointOfView::Stm,
            eval_view: PointOfView::White,
            whole_evals_are_pawns: false,
            whole_before_depth: true,
            bare_zeros: true,
        }
    }
}

impl ScoreConvention {
    fn view(&self, form: ScoreForm) -> PointOfView {
        match form {
            ScoreForm::Engine => self.engine_view,
            ScoreForm::Eval => self.eval_view,
            ScoreForm::White => PointOfView::White,
        }
    }

    /// Returns true if a form takes White's view, whoever moves.
    pub fn is_for_white(&self, form: ScoreForm) -> bool {
        self.view(form) == PointOfView::White
    }

    /// Returns a score in White's view, in a comment on a move of `mover`.
    pub fn for_white(&self, score: &WrittenScore, mover: Color) -> f32 {
        let is_flipped = self.view(score.form) == PointOfView::Stm && mover.is_black();
        if is_flipped { 0.0 - score.cp } else { score.cp }
    }

    /// Detects the convention from the games at the beginning of a file, read by the default convention.
    pub fn detect(tally: &CommentTally, asked: Option<PointOfView>) -> DetectedScores {
        let default = Self::default();
        let other = |view: PointOfView, told: Option<bool>| match (view, told) {
            (PointOfView::White, Some(false)) => PointOfView::Stm,
            (PointOfView::Stm, Some(false)) => PointOfView::White,
            (view, _) => view,
        };
        let forms = [ScoreForm::Engine, ScoreForm::Eval];
        let told = forms.map(|form| tally.of(form).told());
        let found = [0, 1].map(|i| other(default.view(forms[i]), told[i]));
        let convention = Self {
            engine_view: asked.unwrap_or(found[0]),
            eval_view: asked.unwrap_or(found[1]),
            whole_evals_are_pawns: tally.decimal_evals >= tally.whole_evals.max(1)
                || tally.evals.off_scale().is_some_and(|(part, _)| part == tally.evals.small),
            whole_before_depth: 2 * tally.whole_before_depth >= tally.comments,
            bare_zeros: tally.bare > 0,
        };
        let mut detected = DetectedScores { convention, ..DetectedScores::default() };
        let (decimal, whole) = (tally.decimal_evals, tally.whole_evals);
        // Programs that leave out `.00` write some pawns as whole numbers, but none writes some centipawns
        // with a point.
        let are_mixed = match convention.whole_evals_are_pawns {
            true => 2 * whole >= decimal,
            false => MIXED * decimal >= whole,
        };
        if are_mixed && decimal.min(whole) > 0 {
            detected.warning = Some(format!(
                "of the first scores in [%eval], {} have a decimal point and {} have none, which are read as {}: convert \
                 games of different programs from files of their own",
                decimal,
                whole,
                if convention.whole_evals_are_pawns { "pawns" } else { "centipawns" }
            ));
        }
        for (i, form) in forms.into_iter().enumerate() {
            let counts = tally.of(form);
            let (view, default) = (convention.view(form), default.view(form));
            match (asked, told[i]) {
                (Some(asked), Some(_)) if found[i] != asked => {
                    detected.warning = Some(format!(
                        "point of view {} was requested, but the scores in comments look like {}: {}",
                        asked.name(),
                        found[i].name(),
                        counts.evidence(found[i] == default)
                    ));
                }
                (None, Some(_)) if view != default => {
                    detected.evidence = Some(counts.evidence(false));
                }
                // Fritz writes them in White's view, ChessGUI in the mover's.
                (None, None)
                    if form == ScoreForm::Eval && tally.whole_evals > 0 && tally.decimal_evals == 0 =>
                {
                    detected.warning = Some(
                        "scores such as [%eval 31,18] are read as centipawns in White's view, but their first games do \
                         not tell whether they are in that of the side that has moved: then the point of view of scores is stm"
                            .to_string(),
                    );
                }
                _ => {}
            }
            if view != default || asked.is_some() {
                detected.view = Some(view);
            }
        }
        detected
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoredPly<'g> {
    pub position: &'g Chess,
    /// Centipawns, White's view; NaN without one.
    pub score_cp: f32,
    pub score_form: Option<ScoreForm>,
}

#[derive(Clone, Debug, Default)]
pub struct DetectedScores {
    pub convention: ScoreConvention,
    /// Their point of view, if it was requested or is not the usual one.
    pub view: Option<PointOfView>,
    pub evidence: Option<String>,
    pub warning: Option<String>,
}

/// Statistics of the scores in the comments of some games, read by one convention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommentTally {
    pub comments: u64,
    /// Scores in `[%eval]` with and without a decimal point.
    decimal_evals: u64,
    whole_evals: u64,
    whole_before_depth: u64,
    /// Scores other than 0.00 without anything else.
    bare: u64,
    /// Consistency of the scores of the engine form, and of those in `[%eval]`.
    engine: ScoreTally,
    evals: ScoreTally,
}

impl CommentTally {
    pub fn add(&mut self, score: Option<&WrittenScore>) {
        self.comments += 1;
        let Some(score) = score else { return };
        match (score.form, score.spelling) {
            (ScoreForm::Eval, Spelling::Decimal) => self.decimal_evals += 1,
            (ScoreForm::Eval, Spelling::Whole) => self.whole_evals += 1,
            (ScoreForm::Engine, Spelling::Whole) => self.whole_before_depth += 1,
            _ => {}
        }
        self.bare += u64::from(score.alone && score.cp != 0.0);
    }

    pub(crate) fn add_game(&mut self, plies: &[ScoredPly<'_>]) {
        self.add_size(plies);
        let mut last = None;
        // Positions of a game are not independent: only the last one per side to move counts.
        let mut heard = [[false; 2]; 2];
        for (index, ply) in plies.iter().rev().enumerate() {
            let telling = ply
                .score_form
                .filter(|form| *form != ScoreForm::White && ply.score_cp.abs() >= TELLING_SCORE_CP);
            let favors_white = ply.score_cp > 0.0;
            if let Some(form) = telling {
                let (tally, heard) = match form {
                    ScoreForm::Engine => (&mut self.engine, &mut heard[0]),
                    _ => (&mut self.evals, &mut heard[1]),
                };
                match last {
                    Some((before, favored)) if before == form && favored == favors_white => tally.steady += 1,
                    Some((before, _)) if before == form => tally.changing += 1,
                    _ => {}
                }
                let turn = ply.position.turn();
                let mover = if form == ScoreForm::Engine { turn } else { !turn };
                let heard = &mut heard[usize::from(mover.is_white())];
                if !*heard && index < 4 * LATE_PLIES {
                    let balance = material_balance(ply.position.board());
                    *heard = tally.material.add_balance(balance, mover, favors_white).is_some();
                }
            }
            last = telling.map(|form| (form, favors_white));
        }
    }

    fn add_size(&mut self, plies: &[ScoredPly<'_>]) {
        let scored = plies.iter().rev().filter(|ply| ply.score_cp.abs() < MAX_SCORE_CP);
        let of_forms =
            scored.filter_map(|ply| Some((ply, ply.score_form.filter(|form| *form != ScoreForm::White)?)));
        for (ply, form) in of_forms.take(LATE_PLIES) {
            let balance = 100 * material_balance(ply.position.board()).abs();
            if balance >= 300 {
                let tally = if form == ScoreForm::Engine { &mut self.engine } else { &mut self.evals };
                match f64::from(ply.score_cp.abs()) / f64::from(balance) {
                    ratio if ratio < 0.1 => tally.small += 1,
                    ratio if ratio > 10.0 => tally.large += 1,
                    _ => tally.fitting += 1,
                }
                return;
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.comments += other.comments;
        self.decimal_evals += other.decimal_evals;
        self.whole_evals += other.whole_evals;
        self.whole_before_depth += other.whole_before_depth;
        self.bare += other.bare;
        self.engine.merge(&other.engine);
        self.evals.merge(&other.evals);
    }

    fn of(&self, form: ScoreForm) -> &ScoreTally {
        if form == ScoreForm::Engine { &self.engine } else { &self.evals }
    }

    /// Returns, for each form whose view does not follow from its name, the consistency of its scores, and
    /// the point of view from which they were read by `convention`.
    pub fn by_form(&self, convention: &ScoreConvention) -> [(&ScoreTally, PointOfView); 2] {
        [(&self.engine, convention.engine_view), (&self.evals, convention.eval_view)]
    }
}

/// Consistency of the scores of one form, as White's view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreTally {
    /// Scores of half a pawn or more that favor the same side as that of the move before.
    pub steady: u64,
    pub changing: u64,
    /// Agreement with material, by the side that moves or has moved.
    pub material: Agreement,
    /// Late scores of less than a tenth of the value of the material, of more than ten times that, and
    /// others.
    small: u64,
    large: u64,
    fitting: u64,
}

/// Number of late plies of a game that are searched for a position in which a side is three pawns or more
/// ahead.
const LATE_PLIES: usize = 16;

const FEW_GAMES: u64 = 30;
/// Number of pairs of successive scores that are enough to determine their point of view: if one in ten
/// changed sides, three quarters of so few would do so once in a thousand times.
const FEW_PAIRS: u64 = 6;

impl ScoreTally {
    fn merge(&mut self, other: &Self) {
        self.steady += other.steady;
        self.changing += other.changing;
        self.material.merge(&other.material);
        self.small += other.small;
        self.large += other.large;
        self.fitting += other.fitting;
    }

    /// Returns the number of scores that are far from the value of the material, and in which direction, if
    /// most are.
    fn off_scale(&self) -> Option<(u64, &'static str)> {
        let games = self.small + self.large + self.fitting;
        let sizes = [(self.small, "less than a tenth"), (self.large, "more than ten times")];
        sizes.into_iter().find(|(part, _)| games >= FEW_GAMES && 3 * part > 2 * games)
    }

    pub fn unit_warning(&self) -> Option<String> {
        let (part, how) = self.off_scale()?;
        let games = self.small + self.large + self.fitting;
        Some(format!(
            "scores in comments seem to have another unit than the one they are written in: {part} of {games} late ones are \
             {how} of what the material is worth"
        ))
    }

    pub fn pairs(&self) -> u64 {
        self.steady + self.changing
    }

    /// Returns true if the view from which they were read fits, false if the other one does; `None` if
    /// nothing decides.
    fn told(&self) -> Option<bool> {
        let pairs = self.pairs();
        if pairs < FEW_PAIRS {
            return told_view(&self.material).map(|view| view == PointOfView::White);
        }
        let most = |part: u64| 4 * part >= 3 * pairs;
        (most(self.steady) || most(self.changing)).then(|| most(self.steady))
    }

    /// Describes the evidence for the view from which they were read, or for the other one.
    fn evidence(&self, as_read: bool) -> String {
        let part = |counted: u64, other: u64| if as_read { counted } else { other };
        if self.pairs() >= FEW_PAIRS {
            let steady = part(self.steady, self.changing);
            let pairs = self.pairs();
            return format!("{steady} of {pairs} scores then favor the same side as that of the move before");
        }
        let Agreement { black_to_move, black_to_move_agree, .. } = self.material;
        let agree = part(black_to_move_agree, black_to_move - black_to_move_agree);
        format!("{agree} of {black_to_move} scores of Black's moves then favor the side with more material")
    }
}
