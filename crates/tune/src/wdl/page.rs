//! The files of a fit: a page with pictures, and constants.

use std::path::Path;

use gputexel_io::{Error, Result, grouped, write_atomically};
use gputexel_report::{Page, Part, Picture, Table};

use crate::wdl::calibration::CalibrationRow;
use crate::wdl::constants::{Constants, ConstantsFormat};
use crate::wdl::fit::Errors;
use crate::wdl::pictures::{contours, parameters, slice};
use crate::wdl::request::WdlReport;

/// File name of the page in a folder.
pub const PAGE: &str = "report.html";

impl WdlReport {
    /// Returns the constants.
    pub fn constants(&self) -> Constants {
        Constants { model: self.fit.model.clone() }
    }

    /// Returns a page with the constants, their errors, calibration and pictures.
    ///
    /// # Errors
    /// [`Error::Numeric`] when a picture cannot be drawn.
    pub fn page(&self) -> Result<String> {
        let (model, constants) = (&self.fit.model, self.constants());
        let (a, b) = model.curves(f64::from(model.target));
        let limit = self.max_score.min(f64::max(3.0 * a, a + 3.0 * b)).max(1.0);
        let (target, by) = (model.target, model.by);
        let figures = [
            (
                slice(&self.counts, model, target, limit)?,
                format!(
                    "Share of wins (blue), draws (gray) and losses (orange) at {by} {target}: games (points) and model (lines)"
                ),
            ),
            (
                parameters(&self.counts, &self.fit)?,
                format!(
                    "a (blue) and b (orange) by {by}: the model (lines), and fits to single values (points)"
                ),
            ),
            (
                contours(&self.counts, model, 0, limit)?,
                "Share of wins: games (tints) and contours of the model".to_string(),
            ),
            (
                contours(&self.counts, model, 1, limit)?,
                "Share of draws: games (tints) and contours of the model".to_string(),
            ),
        ];
        let picture = |(svg, caption): (String, String)| Picture { svg, caption };
        let [games, positions] = [self.reading.games, self.counts.positions()].map(grouped);
        let page = Page {
            title: "Win/draw/loss model".to_string(),
            about: format!("Fitted to {positions} positions of {games} games."),
            facts: vec![
                (
                    format!("NormalizeToPawnValue: score that wins half of the games at {by} {target}"),
                    format!("{:.1} ± {:.1}", model.pawn_value(), self.fit.errors.a_target),
                ),
                (
                    "even positions there that are drawn".to_string(),
                    format!("{:.1} ± {:.1} %", 100.0 * model.draw_rate(), 100.0 * self.fit.errors.draw_rate),
                ),
            ],
            parts: vec![
                Part {
                    id: "pictures",
                    name: "Model and games",
                    pictures: figures.map(picture).to_vec(),
                    ..Part::default()
                },
                Part {
                    id: "constants",
                    name: "Constants",
                    note: format!(
                        "± are standard errors, {} counted as independent.",
                        if self.fit.by_game { "games" } else { "positions" }
                    ),
                    tables: vec![self.coefficients()],
                    code: constants.text(ConstantsFormat::Cpp),
                    ..Part::default()
                },
                Part {
                    id: "calibration",
                    name: "Calibration",
                    note: "Scores are those of the side to move, divided by a; 1 wins half of the games."
                        .to_string(),
                    tables: vec![self.calibration_table()],
                    ..Part::default()
                },
            ],
        };
        Ok(page.to_html())
    }

    fn coefficients(&self) -> Table {
        let Errors { a, b, .. } = &self.fit.errors;
        let row = |(power, (ca, cb)): (usize, (&f64, &f64))| {
            let numbers = [*ca, a[power], *cb, b[power]].map(|number| format!("{number:.4}"));
            [vec![power.to_string()], numbers.to_vec()].concat()
        };
        Table {
            caption: "Coefficients of the polynomials".to_string(),
            header: ["power", "a", "±", "b", "±"].map(str::to_string).to_vec(),
            rows: self.fit.model.a.iter().zip(&self.fit.model.b).enumerate().map(row).collect(),
        }
    }

    fn calibration_table(&self) -> Table {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let row = |row: &CalibrationRow| {
            let mut cells = vec![row.interval(), grouped(row.positions)];
            cells.extend((0..3).flat_map(|i| [percent(row.observed[i]), percent(row.model[i])]));
            cells
        };
        let header = ["score, pawns", "positions", "wins", "model", "draws", "model", "losses", "model"];
        Table {
            caption: "Results of games, and what the model expects".to_string(),
            header: header.map(str::to_string).to_vec(),
            rows: self.calibration.iter().map(row).collect(),
        }
    }

    /// Writes page and constants to a folder, which is created if needed.
    ///
    /// # Errors
    /// [`Error::Exists`] where one of the files exists and `force` is not set; [`Error::Io`]; [`Error::Numeric`].
    pub fn write_to(&self, folder: &Path, force: bool) -> Result<Vec<&'static str>> {
        let mut files = vec![(PAGE, self.page()?)];
        let constants = self.constants();
        files.extend(ConstantsFormat::ALL.map(|format| (format.file_name(), constants.text(format))));
        Self::check_folder(folder, force)?;
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        for (name, text) in &files {
            write_atomically(&folder.join(name), text.as_bytes())?;
        }
        Ok(files.iter().map(|(name, _)| *name).collect())
    }

    /// Refuses a folder that contains one of the files, unless they may be overwritten.
    ///
    /// # Errors
    /// [`Error::Exists`].
    pub fn check_folder(folder: &Path, force: bool) -> Result<()> {
        let names = ConstantsFormat::ALL.into_iter().map(ConstantsFormat::file_name).chain([PAGE]);
        match names.map(|name| folder.join(name)).find(|path| !force && path.exists()) {
            Some(path) => Err(Error::Exists(path)),
            None => Ok(()),
        }
    }
}
