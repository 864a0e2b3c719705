//! A page of given pictures and tables, in the frame of all pages.

use maud::{Markup, PreEscaped, html};

use super::data::Table;
use super::{document, facts, table};

#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// An SVG document, inserted unescaped: never pass one from an untrusted source.
    pub svg: String,
    pub caption: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    pub id: &'static str,
    pub name: &'static str,
    pub note: String,
    pub pictures: Vec<Picture>,
    pub tables: Vec<Table>,
    /// Preformatted text such as source code; may be empty.
    pub code: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub title: String,
    pub about: String,
    pub facts: Vec<(String, String)>,
    pub parts: Vec<Part>,
}

impl Page {
    pub fn to_html(&self) -> String {
        let body = html! {
            header { h1 { (self.title) } p.status { (self.about) } (facts(&self.facts)) }
            nav aria-label="Sections" { @for part in &self.parts { a href={ "#" (part.id) } { (part.name) } } }
            @for part in &self.parts { (part.markup()) }
        };
        document(&self.title, &body, None)
    }
}

impl Part {
    fn markup(&self) -> Markup {
        html! {
            section id=(self.id) {
                h2 { (self.name) }
                @if !self.pictures.is_empty() {
                    div.figures { @for Picture { svg, caption } in &self.pictures {
                        figure.paper role="img" aria-label=(caption) { (PreEscaped(without_prolog(svg))) figcaption { (caption) } }
                    } }
                }
                @for found in &self.tables { (table(found)) }
                @if !self.note.is_empty() { p.note { (self.note) } }
                @if !self.code.is_empty() { pre { (self.code) } }
            }
        }
    }
}

fn without_prolog(document: &str) -> &str {
    document.find("<svg").map_or(document, |at| &document[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_framed_and_texts_escaped() {
        let part = Part {
            id: "one",
            name: "One",
            note: "<b>".to_string(),
            pictures: vec![Picture { svg: "<?xml?><svg></svg>".to_string(), caption: "<i>".to_string() }],
            code: "<u>".to_string(),
            ..Part::default()
        };
        let text = Page { title: "<s>".to_string(), parts: vec![part], ..Page::default() }.to_html();
        for evil in ["<b>", "<i>", "<u>", "<s>", "<?xml"] {
            assert!(!text.contains(evil), "{evil}");
        }
        assert!(
            text.contains("href=\"#one\"") && text.contains("id=\"one\"") && text.contains("<svg></svg>")
        );
    }
}
