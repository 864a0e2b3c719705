//! The runs of a folder as one page, with links to their reports.

use maud::{Markup, html};

use super::heading::Stage;
use super::{Live, document, facts};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedRun {
    pub link: String,
    pub name: String,
    pub kind: &'static str,
    /// `None` if its folder is damaged.
    pub stage: Option<Stage>,
    pub status: String,
    /// Names of its data; may be empty, as the following.
    pub data: String,
    pub held_out: String,
    pub elo: String,
    pub is_comparable: bool,
    /// Time of the last write to it, such as `3 min ago`.
    pub changed: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunList {
    pub title: String,
    pub runs: Vec<ListedRun>,
    /// Note on runs left out, or the reason why there are none.
    pub note: String,
}

impl RunList {
    /// Page, one self-contained HTML document; with `live`, one that refreshes itself.
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
                    @let compares = self.runs.iter().filter(|run| run.is_comparable).count() > 1;
                    form action="/compare" {
                        div.scroll { table.runs {
                            thead { tr {
                                @for name in ["run", "kind", "data", "held-out error", "Elo", "written"] { th scope="col" { (name) } }
                            } }
                            tbody { @for (index, run) in self.runs.iter().enumerate() { (row(run, index, compares)) } }
                        } }
                        @if compares { p { button type="submit" { "Compare two ticked runs" } } }
                    }
                }
            }
        }
    }
}

fn row(run: &ListedRun, index: usize, compares: bool) -> Markup {
    html! {
        tr {
            th scope="row" {
                @if compares && run.is_comparable {
                    input type="checkbox" name="run" value=(run.link) id={ "tick-" (index) } aria-label={ "compare " (run.name) };
                    " "
                }
                a href=(run.link) { (run.name) }
                span.soft {
                    @match run.stage {
                        Some(stage) => (stage.tag()),
                        None => span.tag.open { "damaged" },
                    }
                    " " (run.status)
                }
            }
            td { (run.kind) } td { (run.data) } td { (run.held_out) } td { (run.elo) } td { (run.changed) }
        }
    }
}

/// Page with the reason why there is nothing to show.
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
            data: "<i>".to_string(),
            held_out: "<i>".to_string(),
            elo: "<i>".to_string(),
            is_comparable: true,
            changed: "now".to_string(),
        };
        let list = |runs| RunList { title: "<u>".to_string(), runs, note: "<s>".to_string() }.to_html(None);
        let one = list(vec![run.clone()]);
        assert!(!one.contains("checkbox") && !one.contains("<button"), "there is nothing to compare it with");
        let page = list(vec![run.clone(), run]);
        assert!(
            page.matches("type=\"checkbox\" name=\"run\" value=\"/run/%3Cb%3E/\"").count() == 2,
            "{page}"
        );
        for text in ["<b>", "<script", "<i>", "<u>", "<s>"] {
            assert!(!page.contains(text), "{text}: {page}");
        }
        assert!(page.contains("href=\"/run/%3Cb%3E/\"") && page.contains(">damaged<"), "{page}");
        assert!(!notice("<b>", "<i>", None).contains("<b>"));
    }
}
