//! The record of a selection in a dataset. Rules that are switched off are not recorded.

use super::{Duplicates, Preset, Resolve, Selection};

gputexel_io::names!(Duplicates "duplicates": Keep "keep", Drop "drop", Average "average");
gputexel_io::names!(Resolve "resolve": None "none", Quiescence "quiescence", Depth1 "depth1");

impl Selection {
    pub fn settings(&self) -> Vec<(String, String)> {
        let off = Self::everything();
        let mut list = Vec::new();
        let mut add = |name: &str, is_on: bool, value: &dyn ToString| {
            list.extend(is_on.then(|| (name.to_string(), value.to_string())));
        };
        macro_rules! record {
            (($($rule:ident)*) ($($option:ident)*)) => {
                $(add(stringify!($rule), self.$rule != off.$rule, &self.$rule);)*
                $(add(stringify!($option), self.$option.is_some(), &self.$option.unwrap_or_default());)*
            };
        }
        record!((keep_ends before_checks before_mates before_captures no_book min_non_pawns min_pieces max_pieces
             no_mates require_score share no_draws)
            (max_ply max_score_cp quiescence_margin_cp per_game sample min_elo max_elo));
        add("skip_plies", true, &self.skip_plies);
        add("keep_checks", true, &self.keep_checks);
        add("keep_captures", true, &self.keep_captures);
        add("keep_promotions", self.keep_promotions, &true);
        add("keep_duplicates", true, &(self.duplicates == Duplicates::Keep));
        add("average_duplicates", self.duplicates == Duplicates::Average, &true);
        add("preset", self.preset.is_some(), &self.preset.map_or("", Preset::name));
        add("resolve", self.resolve != off.resolve, &self.resolve);
        add("params", self.searches(), &self.params);
        add("seed", self.draws(), &self.seed);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_recorded_as_ever() {
        let names: Vec<String> = Selection::default().settings().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["skip_plies", "keep_checks", "keep_captures", "keep_duplicates"]);
    }
}
