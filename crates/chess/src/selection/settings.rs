//! Conversion between a selection and its record in a dataset.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::{Duplicates, Illegal, Preset, Resolve, Selection, Termination};
use gputexel_io::{Error, Result};

gputexel_io::names!(Duplicates "duplicates": Keep "keep", Drop "drop", Average "average");
gputexel_io::names!(Illegal "illegal": KeepBefore "keep-before", Drop "drop");
gputexel_io::names!(Termination "termination": Any "any", Normal "normal");
gputexel_io::names!(Resolve "resolve": None "none", Quiescence "quiescence", Depth1 "depth1");

/// Passes to a macro the rules that are recorded if they are switched on, and those that are optional.
macro_rules! rules {
    ($each:ident) => {
        $each!(
            (keep_ends before_checks before_mates before_captures no_book min_non_pawns min_pieces max_pieces
             no_mates require_score share no_draws)
            (max_ply max_score_cp quiescence_margin_cp per_game sample balance_phases min_elo max_elo
             min_time_s max_time_s)
        )
    };
}

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
        rules!(record);
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
        add("termination", self.termination != off.termination, &self.termination);
        add("illegal", self.illegal != off.illegal, &self.illegal);
        list
    }

    /// Returns the selection that a dataset records.
    ///
    /// # Errors
    /// [`Error::Usage`] for unknown or invalid settings.
    pub fn from_settings(settings: &BTreeMap<String, String>) -> Result<Self> {
        let old = Self::default();
        let mut selection = Self {
            skip_plies: old.skip_plies,
            keep_checks: old.keep_checks,
            keep_captures: old.keep_captures,
            keep_promotions: false,
            duplicates: old.duplicates,
            ..Self::everything()
        };
        for (name, value) in settings {
            selection.set(name, value)?;
        }
        selection.validate()?;
        Ok(selection)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        macro_rules! set {
            (($($rule:ident)*) ($($option:ident)*)) => {
                match name {
                    $(_ if name == stringify!($rule) => self.$rule = parse(name, value)?,)*
                    $(_ if name == stringify!($option) => self.$option = Some(parse(name, value)?),)*
                    "skip_plies" => self.skip_plies = parse(name, value)?,
                    "keep_checks" => self.keep_checks = parse(name, value)?,
                    "keep_captures" => self.keep_captures = parse(name, value)?,
                    "keep_promotions" => self.keep_promotions = parse(name, value)?,
                    // In the order of names, `average_duplicates` comes before it.
                    "keep_duplicates" if parse(name, value)? => self.duplicates = Duplicates::Keep,
                    "average_duplicates" if parse(name, value)? => self.duplicates = Duplicates::Average,
                    "keep_duplicates" | "average_duplicates" => {}
                    "preset" => self.preset = Some(value.parse()?),
                    "resolve" => self.resolve = value.parse()?,
                    "params" => self.params = value.to_string(),
                    "seed" => self.seed = parse(name, value)?,
                    "termination" => self.termination = value.parse()?,
                    "illegal" => self.illegal = value.parse()?,
                    _ => return Err(Error::Usage(format!("selection setting '{name}' is not known"))),
                }
            };
        }
        rules!(set);
        Ok(())
    }
}

fn parse<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| Error::Usage(format!("selection setting '{name}': '{value}' cannot be read")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(selection: &Selection) -> Selection {
        Selection::from_settings(&selection.settings().into_iter().collect()).unwrap()
    }

    #[test]
    fn recorded_settings_lead_back() {
        for selection in Preset::ALL.map(Preset::selection) {
            assert_eq!(there_and_back(&selection), selection);
        }
        assert_eq!(there_and_back(&Selection::default()), Selection::default());
        assert_eq!(Selection::from_settings(&BTreeMap::new()).unwrap(), Selection::default());
        let all = Selection {
            preset: Some(Preset::Quiet),
            skip_plies: 3,
            max_ply: Some(90),
            keep_ends: true,
            keep_checks: false,
            before_checks: 2,
            before_mates: 4,
            keep_captures: false,
            keep_promotions: true,
            before_captures: 1,
            no_book: true,
            min_non_pawns: 5,
            min_pieces: 7,
            max_pieces: 30,
            max_score_cp: Some(900),
            no_mates: true,
            require_score: true,
            quiescence_margin_cp: Some(30),
            resolve: Resolve::Quiescence,
            params: "tuned.json".to_string(),
            share: 0.1,
            per_game: Some(20),
            seed: 9,
            duplicates: Duplicates::Average,
            no_draws: true,
            sample: Some(1000),
            balance_phases: Some(6),
            min_elo: Some(2000),
            max_elo: Some(2800),
            min_time_s: Some(60),
            max_time_s: Some(9000),
            termination: Termination::Normal,
            illegal: Illegal::Drop,
        };
        assert_eq!(there_and_back(&all), all);
    }

    #[test]
    fn defaults_are_recorded_as_ever() {
        let names: Vec<String> = Selection::default().settings().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["skip_plies", "keep_checks", "keep_captures", "keep_duplicates"]);
    }

    #[test]
    fn foreign_settings_are_refused() {
        for (name, value) in [("color", "red"), ("skip_plies", "-1"), ("resolve", "deep"), ("share", "2")] {
            let map = BTreeMap::from([(name.to_string(), value.to_string())]);
            assert!(Selection::from_settings(&map).is_err(), "{name}");
        }
    }
}
