//! The runs of a folder as one page, with links to their reports.

use maud::{Markup, html};

use super::heading::Stage;
use super::{Live, document, facts};

/// A run in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRun {
    /// Path of its page, escaped for a link.
    pub link: String,
    /// Name of its folder.
    pub name: String,
    /// Its kind: `run`, `sweep`, `match`, `SPSA run`.
    pub kind: &'static str,
    /// Its stage; `None` if its folder is damaged.
    pub stage: Option<Stage>,
    /// Progress in figures, or the fault of the folder.
    pub status: String,
    /// Its headline figure: name and value.
    pub figure: Option<(String, String)>,
    /// Time of the last write to it, such as `3 min ago`.
    pub changed: String,
}

/// The runs of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunList {
    /// Title of the page.
    pub title: String,
    /// The runs, most recently written first.
    pub runs: Vec<ListedRun>,
    /// Note on runs left out, or the reason why there are none.
    pub note: String,
}

impl RunList {
    /// Returns the page, one self-contained HTML document; with `live`, one that refreshes itself.
    pub fn to_html(&self, live: Option<&Live>) -> String {
        document(&self.title, &self.body(), live)
    }

    fn body(&self) -> Markup {
        let count =
            |stage: Stage| self.runs.iter().filter(|run| run.stage == Some(stage)).count().to_string();
        let figures = [
            ("running", count(Stage::Running)),
            ("finished", count(Stage::Finished)),
            ("not final", count(Stage::Open)),
        ];
        html! {
            header {
                h1 { (self.title) }
                (facts(&figures.map(|(name, value)| (name.to_string(), value))))
            }
            section id="runs" {
                h2 { "Runs" }
                @if !self.note.is_empty() { p.note { (self.note) } }
                @if !self.runs.is_empty() {
                    ul.runs { @for run in &self.runs { li {
                        a href=(run.link) { (run.name) }
                        p {
                            @match run.stage {
                                Some(stage) => (stage.tag()),
                                None => span.tag.open { "damaged" },
                            }
                            " " (run.kind) ", " (run.status)
                        }
                        @if let Some((name, value)) = &run.figure { p { (name) ": " strong { (value) } } }
                        p.soft { "written " (run.changed) }
                    } } }
                }
            }
        }
    }
}

/// Returns a page with the reason why there is nothing to show.
pub fn notice(title: &str, text: &str, live: Option<&Live>) -> String {
    let body = html! { header { h1 { (title) } } section { p { (text) } } };
    document(title, &body, live)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        let run = ListedRun {
            link: "/run/%3Cb%3E/".to_string(),
            name: "<b>".to_string(),
            kind: "run",
            stage: None,
            status: "<script>".to_string(),
            figure: Some(("<i>".to_string(), "<i>".to_string())),
            changed: "now".to_string(),
        };
        let page =
            RunList { title: "<u>".to_string(), runs: vec![run], note: "<s>".to_string() }.to_html(None);
        for text in ["<b>", "<script", "<i>", "<u>", "<s>"] {
            assert!(!page.contains(text), "{text}: {page}");
        }
        assert!(page.contains("href=\"/run/%3Cb%3E/\"") && page.contains(">damaged<"), "{page}");
        assert!(!notice("<b>", "<i>", None).contains("<b>"));
    }
}
