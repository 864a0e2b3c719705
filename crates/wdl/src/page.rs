//! The files of a fit: a page with pictures, and constants.

use std::path::Path;

use gputexel_files::{Error, Result, write_atomically};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::constants::{Constants, ConstantsFormat};
use crate::fit::Errors;
use crate::pictures::{contours, parameters, slice};
use crate::request::WdlReport;

/// The name of the page in a folder.
pub const PAGE: &str = "report.html";

const STYLE: &str = "body{font:16px/1.45 sans-serif;max-width:1120px;margin:2em auto;padding:0 1em;color:#222}\
    figure{display:inline-block;margin:0 1em 1.5em 0;vertical-align:top;max-width:520px}svg{max-width:100%;height:auto}\
    table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid #ddd}\
    pre{background:#f4f4f4;padding:.8em;overflow-x:auto}figcaption{font-size:14px;color:#555}";

impl WdlReport {
    /// The constants.
    pub fn constants(&self) -> Constants {
        Constants { model: self.fit.model.clone() }
    }

    /// A page with the constants, their errors, calibration and pictures.
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
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Win/draw/loss model" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { "Win/draw/loss model" }
                    p {
                        (self.counts.positions()) " positions of " (self.reading.games) " games. A score of "
                        (format!("{:.1} ± {:.1}", model.pawn_value(), self.fit.errors.a_target))
                        " wins half of the games at " (by) " " (target) "; even positions there are drawn in "
                        (format!("{:.1} ± {:.1} %", 100.0 * model.draw_rate(), 100.0 * self.fit.errors.draw_rate))
                        "."
                    }
                    @for (picture, caption) in &figures {
                        figure role="img" aria-label=(caption) { (PreEscaped(svg_alone(picture))) figcaption { (caption) } }
                    }
                    h2 { "Constants" }
                    (self.coefficients())
                    pre { (constants.text(ConstantsFormat::Cpp)) }
                    h2 { "Calibration" }
                    (self.calibration_table())
                }
            }
        };
        Ok(page.into_string())
    }

    fn coefficients(&self) -> Markup {
        let Errors { a, b, .. } = &self.fit.errors;
        let what = if self.fit.by_game { "games" } else { "positions" };
        html! {
            table {
                tr { th { "power" } th { "a" } th { "±" } th { "b" } th { "±" } }
                @for (power, (ca, cb)) in self.fit.model.a.iter().zip(&self.fit.model.b).enumerate() {
                    tr {
                        td { (power) }
                        td { (format!("{ca:.4}")) } td { (format!("{:.4}", a[power])) }
                        td { (format!("{cb:.4}")) } td { (format!("{:.4}", b[power])) }
                    }
                }
            }
            p { "± are standard errors, " (what) " counted as independent." }
        }
    }

    fn calibration_table(&self) -> Markup {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        html! {
            table {
                tr {
                    th { "score, pawns" } th { "positions" }
                    th { "wins" } th { "model" } th { "draws" } th { "model" } th { "losses" } th { "model" }
                }
                @for row in &self.calibration {
                    tr {
                        td { (row.interval()) } td { (row.positions) }
                        @for i in 0..3 { td { (percent(row.observed[i])) } td { (percent(row.model[i])) } }
                    }
                }
            }
            p { "Scores are those of the side to move, divided by a; 1 wins half of the games." }
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

    /// Refuses a folder that has one of the files, unless they may be overwritten.
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

/// A picture without what only a file of its own may begin with.
fn svg_alone(document: &str) -> &str {
    document.find("<svg").map_or(document, |at| &document[at..])
}
