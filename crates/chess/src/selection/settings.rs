//! Conversion between a selection and its record in a dataset.
//!
//! Rules that are switched off are not recorded, so a rule that a later version adds means nothing for older
//! datasets.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::{Duplicates, Illegal, Resolve, Selection, Termination};
use gputexel_io::{Error, Result};

gputexel_io::names!(Duplicates "duplicates": Keep "keep", Drop "drop", Average "average");
gputexel_io::names!(Illegal "illegal": KeepBefore "keep-before", Drop "drop");
gputexel_io::names!(Termination "termination": Any "any", Normal "normal");
gputexel_io::names!(Resolve "resolve": None "none", Quiescence "quiescence", Depth1 "depth1");

impl Selection {
    /// Returns the settings by name, as a dataset records them.
    pub fn settings(&self) -> Vec<(String, String)> {
        let off = Self::everything();
        let mut list = vec![
            ("skip_plies", self.skip_plies.to_string()),
            ("keep_checks", self.keep_checks.to_string()),
            ("keep_captures", self.keep_captures.to_string()),
            ("keep_duplicates", (self.duplicates == Duplicates::Keep).to_string()),
        ];
        let mut optional = |name, value: Option<String>| list.extend(value.map(|value| (name, value)));
        let set = |on: bool, value: &dyn ToString| on.then(|| value.to_string());
        optional("preset", self.preset.map(|preset| preset.name().to_string()));
        optional("max_ply", self.max_ply.map(|n| n.to_string()));
        optional("keep_ends", set(self.keep_ends, &true));
        optional("before_checks", set(self.before_checks > 0, &self.before_checks));
        optional("before_mates", set(self.before_mates > 0, &self.before_mates));
        optional("keep_promotions", set(self.keep_promotions, &true));
        optional("before_captures", set(self.before_captures > 0, &self.before_captures));
        optional("no_book", set(self.no_book, &true));
        optional("min_non_pawns", set(self.min_non_pawns > 0, &self.min_non_pawns));
        optional("min_pieces", set(self.min_pieces > 0, &self.min_pieces));
        optional("max_pieces", set(self.max_pieces != off.max_pieces, &self.max_pieces));
        optional("max_score_cp", self.max_score_cp.map(|n| n.to_string()));
        optional("no_mates", set(self.no_mates, &true));
        optional("require_score", set(self.require_score, &true));
        optional("quiescence_margin_cp", self.quiescence_margin_cp.map(|n| n.to_string()));
        optional("resolve", set(self.resolve != off.resolve, &self.resolve.name()));
        optional("params", set(self.searches(), &self.params));
        optional("share", set(self.share < 1.0, &self.share));
        optional("per_game", self.per_game.map(|n| n.to_string()));
        optional("seed", set(self.draws(), &self.seed));
        optional("average_duplicates", set(self.duplicates == Duplicates::Average, &true));
        optional("no_draws", set(self.no_draws, &true));
        optional("sample", self.sample.map(|n| n.to_string()));
        optional("balance_phases", self.balance_phases.map(|n| n.to_string()));
        optional("min_elo", self.min_elo.map(|n| n.to_string()));
        optional("max_elo", self.max_elo.map(|n| n.to_string()));
        optional("min_time_s", self.min_time_s.map(|n| n.to_string()));
        optional("max_time_s", self.max_time_s.map(|n| n.to_string()));
        optional("termination", set(self.termination != off.termination, &self.termination.name()));
        optional("illegal", set(self.illegal != off.illegal, &self.illegal.name()));
        list.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
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
        match name {
            "preset" => self.preset = Some(value.parse()?),
            "skip_plies" => self.skip_plies = parse(name, value)?,
            "max_ply" => self.max_ply = Some(parse(name, value)?),
            "keep_ends" => self.keep_ends = parse(name, value)?,
            "keep_checks" => self.keep_checks = parse(name, value)?,
            "before_checks" => self.before_checks = parse(name, value)?,
            "before_mates" => self.before_mates = parse(name, value)?,
            "keep_captures" => self.keep_captures = parse(name, value)?,
            "keep_promotions" => self.keep_promotions = parse(name, value)?,
            "before_captures" => self.before_captures = parse(name, value)?,
            "no_book" => self.no_book = parse(name, value)?,
            "min_non_pawns" => self.min_non_pawns = parse(name, value)?,
            "min_pieces" => self.min_pieces = parse(name, value)?,
            "max_pieces" => self.max_pieces = parse(name, value)?,
            "max_score_cp" => self.max_score_cp = Some(parse(name, value)?),
            "no_mates" => self.no_mates = parse(name, value)?,
            "require_score" => self.require_score = parse(name, value)?,
            "quiescence_margin_cp" => self.quiescence_margin_cp = Some(parse(name, value)?),
            "resolve" => self.resolve = value.parse()?,
            "params" => self.params = value.to_string(),
            "share" => self.share = parse(name, value)?,
            "per_game" => self.per_game = Some(parse(name, value)?),
            "seed" => self.seed = parse(name, value)?,
            // In the order of names, `average_duplicates` comes before it.
            "keep_duplicates" => {
                if parse(name, value)? {
                    self.duplicates = Duplicates::Keep;
                }
            }
            "average_duplicates" => {
                if parse(name, value)? {
                    self.duplicates = Duplicates::Average;
                }
            }
            "no_draws" => self.no_draws = parse(name, value)?,
            "sample" => self.sample = Some(parse(name, value)?),
            "balance_phases" => self.balance_phases = Some(parse(name, value)?),
            "min_elo" => self.min_elo = Some(parse(name, value)?),
            "max_elo" => self.max_elo = Some(parse(name, value)?),
            "min_time_s" => self.min_time_s = Some(parse(name, value)?),
            "max_time_s" => self.max_time_s = Some(parse(name, value)?),
            "termination" => self.termination = value.parse()?,
            "illegal" => self.illegal = value.parse()?,
            _ => return Err(Error::Usage(format!("selection setting '{name}' is not known"))),
        }
        Ok(())
    }
}

fn parse<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| Error::Usage(format!("selection setting '{name}': '{value}' cannot be read")))
}

#[cfg(test)]
mod tests {
    use super::super::Preset;
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
