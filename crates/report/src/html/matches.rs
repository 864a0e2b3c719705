//! A match: Elo and the sequential test over its games, pairs by points, and openings that decide.

use maud::{Markup, html};

use super::bars::bar;
use super::data::Table;
use super::number::grouped;
use super::plot::{Axis, Plot, Series, Style};
use super::{document, facts, table};
use gputexel_files::Result;

/// Where a match stood after some of its games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Games that count.
    pub games: u64,
    /// Elo difference from A's view.
    pub elo: f64,
    /// The ends of its 95 % interval.
    pub interval: [f64; 2],
    /// Log-likelihood ratio of the sequential test, if there is one.
    pub llr: Option<f64>,
}

/// What the page about a match shows; all results are from A's view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchReport {
    /// Title of the page.
    pub title: String,
    /// Whether all games are played or the test is decided.
    pub final_: bool,
    /// How far it has come, in words.
    pub status: String,
    /// Headline figures: name and value.
    pub facts: Vec<(String, String)>,
    /// What is to be looked at.
    pub warnings: Vec<String>,
    /// Where it stood, by games ascending.
    pub course: Vec<Standing>,
    /// Log-likelihood ratios at which the test ends, and what they say.
    pub bounds: Option<[f64; 2]>,
    /// Pairs of games by A's half points, 0 to 4.
    pub pairs: [u64; 5],
    /// What openings did, if there were any games.
    pub openings: Option<Table>,
    /// Pairs of which one engine won both games, to look at.
    pub one_sided: Option<Table>,
    /// How games ended.
    pub ends: Option<Table>,
    /// What the engines did.
    pub engines: Option<Table>,
    /// What was played: name and value.
    pub configuration: Vec<(String, String)>,
}

impl MatchReport {
    /// The page, one self-contained HTML document.
    ///
    /// # Errors
    /// [`Error::Numeric`](gputexel_files::Error::Numeric) when a picture cannot be drawn.
    pub fn to_html(&self) -> Result<String> {
        let mut sections: Vec<(&str, &str, Markup)> = Vec::new();
        if self.course.len() > 1 {
            let figures =
                html! { div.figures { (self.elo()?) @if let Some(test) = self.test()? { (test) } } };
            sections.push(("elo", "Elo", figures));
        }
        if self.pairs.iter().sum::<u64>() > 0 {
            sections.push(("pairs", "Pairs", self.pentanomial()));
        }
        if let Some(openings) = &self.openings {
            let section = html! {
                p.note { "Both engines play each opening with White. Where one color wins both games, the opening decides, not the engines: many such pairs cost games, and a more balanced book finds differences sooner." }
                (table(openings))
                @if let Some(pairs) = &self.one_sided { (table(pairs)) }
            };
            sections.push(("openings", "Openings", section));
        }
        for (id, name, found) in [("ends", "Ends", &self.ends), ("engines", "Engines", &self.engines)] {
            if let Some(found) = found {
                sections.push((id, name, table(found)));
            }
        }
        let configuration = html! { dl.record { @for (name, value) in &self.configuration { dt { (name) } dd { (value) } } } };
        sections.push(("configuration", "Configuration", configuration));
        let body = html! {
            header {
                h1 { (self.title) }
                p.status { span class=(if self.final_ { "tag done" } else { "tag open" }) { (if self.final_ { "finished" } else { "not final" }) } " " (self.status) }
                (facts(&self.facts))
                @if !self.warnings.is_empty() { ul.warnings { @for warning in &self.warnings { li { (warning) } } } }
            }
            nav aria-label="Sections" { @for (id, name, _) in &sections { a href={ "#" (id) } { (name) } } }
            @for (id, name, markup) in &sections { section id=(id) { h2 { (name) } (markup) } }
        };
        Ok(document(&self.title, &body, None))
    }

    fn series(&self, name: &str, of: impl Fn(&Standing) -> Option<f64>) -> Series {
        let points = self.course.iter().filter_map(|at| Some((at.games as f64, of(at)?)));
        let points = points.filter(|point| point.1.is_finite()).collect();
        Series { name: name.to_string(), points, errors: Vec::new(), style: Style::Line }
    }

    fn elo(&self) -> Result<Markup> {
        let ends = [self.course[0].games, self.course[self.course.len() - 1].games].map(|games| games as f64);
        let plot = Plot {
            title: "Elo over games".to_string(),
            description: "The difference of the engines with its 95 % interval, as it was known after so many games; the thin line is equality.".to_string(),
            x: Axis::whole("games"),
            y: Axis::linear("Elo"),
            series: vec![
                self.series("Elo", |at| Some(at.elo)),
                self.series("95 %: upper end", |at| Some(at.interval[1])),
                self.series("95 %: lower end", |at| Some(at.interval[0])),
            ],
            mark: None,
            guide: ends.map(|games| (games, 0.0)).to_vec(),
        };
        plot.figure("elo-course")
    }

    fn test(&self) -> Result<Option<Markup>> {
        let Some([low, high]) = self.bounds else { return Ok(None) };
        let plot = Plot {
            title: "Sequential test".to_string(),
            description:
                "The log-likelihood ratio of the two hypotheses between the bounds at which the test ends."
                    .to_string(),
            x: Axis::whole("games"),
            y: Axis::linear("log-likelihood ratio"),
            series: vec![
                self.series("LLR", |at| at.llr),
                self.series("upper bound: H1 is accepted", |_| Some(high)),
                self.series("lower bound: H0 is accepted", |_| Some(low)),
            ],
            mark: None,
            guide: Vec::new(),
        };
        plot.figure("test-course").map(Some)
    }

    fn pentanomial(&self) -> Markup {
        let all = self.pairs.iter().sum::<u64>().max(1) as f64;
        let most = self.pairs.iter().copied().max().unwrap_or(1) as f64;
        let points = ["0", "½", "1", "1½", "2"];
        html! {
            div.scroll { table.bars {
                caption { "Pairs of games by A's points" }
                thead { tr { th scope="col" { "points" } th scope="col" { "pairs" } th scope="col" { "share" } } }
                tbody { @for (points, &count) in points.iter().zip(&self.pairs) { tr {
                    th scope="row" { (points) }
                    td { (grouped(count)) (bar(count as f64, most, false)) }
                    td { (format!("{:.1} %", 100.0 * count as f64 / all)) }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_what_there_is() {
        let none = MatchReport { title: "<b>".to_string(), ..MatchReport::default() }.to_html().unwrap();
        assert!(none.contains("&lt;b&gt;") && none.contains("not final") && !none.contains("<figure"));
        let standing = |games: u64| Standing {
            games,
            elo: 5.0,
            interval: [-f64::INFINITY, 1000.0 / games as f64],
            llr: Some(0.01 * games as f64),
        };
        let report = MatchReport {
            final_: true,
            course: (1..40).map(|i| standing(2 * i)).collect(),
            bounds: Some([-2.94, 2.94]),
            pairs: [1, 2, 3, 4, 5],
            ..none_titled()
        };
        let page = report.to_html().unwrap();
        assert_eq!(page.matches("<figure").count(), 2);
        for text in ["33.3 %", "log-likelihood ratio", "finished", "Elo over games"] {
            assert!(page.contains(text), "{text}");
        }
        assert!(!page.contains("inf") && !page.contains("NaN"), "{page}");
        let untested = MatchReport { bounds: None, ..report }.to_html().unwrap();
        assert_eq!(untested.matches("<figure").count(), 1);
    }

    fn none_titled() -> MatchReport {
        MatchReport { title: "A against B".to_string(), ..MatchReport::default() }
    }
}
