//! A page of given tables, in the frame of all pages.

use maud::html;

use super::data::Table;
use super::first::verdict_box;
use super::heading::warnings;
use super::{document, facts, table};
use crate::conclusion::Conclusion;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    pub id: &'static str,
    pub name: &'static str,
    pub tables: Vec<Table>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub title: String,
    pub about: String,
    pub facts: Vec<(String, String)>,
    pub conclusion: Option<Conclusion>,
    pub parts: Vec<Part>,
}

impl Page {
    pub fn to_html(&self) -> String {
        let body = html! {
            header { h1 { (self.title) } p.status { (self.about) } }
            @if let Some(conclusion) = &self.conclusion {
                (warnings(conclusion))
                div.first { (verdict_box(conclusion)) }
            }
            (facts(&self.facts))
            nav aria-label="Sections" { @for part in &self.parts { a href={ "#" (part.id) } { (part.name) } } }
            @for part in &self.parts {
                section id=(part.id) {
                    h2 { (part.name) }
                    @for found in &part.tables { (table(found)) }
                }
            }
        };
        document(&self.title, &body, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let part = Part { id: "one", name: "<b>", ..Part::default() };
        let page =
            Page { title: "<s>".to_string(), about: "<i>".to_string(), parts: vec![part], ..Page::default() };
        let text = page.to_html();
        assert!(["<b>", "<i>", "<s>"].iter().all(|evil| !text.contains(evil)), "{text}");
        assert!(text.contains("href=\"#one\"") && text.contains("id=\"one\""));
    }
}
