//! A match: Elo and the sequential test over its games, pairs by points, and decisive openings.

use maud::{Markup, html};

use super::bars::bar;
use super::data::Table;
use super::heading::{Heading, Section, record};
use super::number::grouped;
use super::plot::{Axis, Plot, Series, Style};
use super::{Live, document, rows, table};

const WIDEST: f64 = 4.0;

/// Score of a match after some of its games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    pub games: u64,
    pub elo: f64,
    /// The ends of its 95 % interval.
    pub interval: [f64; 2],
    /// Log-likelihood ratio of the sequential test, if there is one.
    pub llr: Option<f64>,
}

/// Contents of the page of a match; all results are from the view of A.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchReport {
    pub head: Heading,
    pub course: Vec<Standing>,
    /// Log-likelihood ratios at which the test ends.
    pub bounds: Option<[f64; 2]>,
    pub names: [String; 2],
    pub games: [u64; 3],
    /// Pairs of games by A's half points, 0 to 4.
    pub pairs: [u64; 5],
    pub openings: Option<Table>,
    /// Pairs in which one engine won both games.
    pub one_sided: Option<Table>,
    pub ends: Option<Table>,
    pub engines: Option<Table>,
    pub configuration: Vec<(String, String)>,
}

impl MatchReport {
    /// Page, one self-contained HTML document; with `live`, one that refreshes itself.
    pub fn to_html(&self, live: Option<&Live>) -> String {
        let mut sections: Vec<Section> = Vec::new();
        if self.course.len() > 1 {
            let figures = html! { div.figures { (self.elo()) @if let Some(test) = self.test() { (test) } } };
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
            sections.extend(found.as_ref().map(|found| (id, name, table(found))));
        }
        sections.push(("configuration", "Configuration", record(&self.configuration)));
        document(&self.head.title, &self.head.above(&self.bars(), &sections), live)
    }

    fn bars(&self) -> Markup {
        let names = ["won", "drawn", "lost"];
        let parts = self.games.iter().zip(names).filter(|(games, _)| **games > 0);
        let test = self.bounds.zip(self.course.last().and_then(|at| at.llr));
        html! {
            (self.head.verdict())
            @if self.games.iter().sum::<u64>() > 0 {
                div.results role="img" aria-label={ "games of " (self.names[0]) ": won, drawn, lost" } {
                    @for (games, name) in parts { span class=(name) style={ "flex-grow:" (games) } { (grouped(*games)) " " (name) } }
                }
            }
            @if let Some(([low, high], llr)) = test {
                @let place = 100.0 * ((llr - low) / (high - low)).clamp(0.0, 1.0);
                p.test {
                    span { "H0" } span.scale { span.at style={ "left:" (format!("{place:.1}")) "%" } {} } span { "H1" }
                    span.soft { "LLR " (format!("{llr:.2} between {low:.2} and {high:.2}")) }
                }
            }
        }
    }

    fn elo(&self) -> Markup {
        let about = "The difference of the engines with its 95 % interval, as it was known after so many games; \
                     the thin line is equality.";
        elo_course("Elo over games", about, &self.course).figure("elo-course")
    }

    fn test(&self) -> Option<Markup> {
        let [low, high] = self.bounds?;
        let plot = Plot {
            title: "Sequential test".to_string(),
            description:
                "The log-likelihood ratio of the two hypotheses between the bounds at which the test ends."
                    .to_string(),
            x: Axis::whole("games"),
            y: Axis::linear("log-likelihood ratio"),
            series: vec![
                series(&self.course, "LLR", |at| at.llr),
                series(&self.course, "upper bound: H1 is accepted", |_| Some(high)),
                series(&self.course, "lower bound: H0 is accepted", |_| Some(low)),
            ],
            ..Plot::default()
        };
        Some(plot.figure("test-course"))
    }

    fn pentanomial(&self) -> Markup {
        let all = self.pairs.iter().sum::<u64>().max(1) as f64;
        let most = self.pairs.iter().copied().max().unwrap_or(1) as f64;
        let row = |(points, &count): (&str, &u64)| {
            let share = format!("{:.1} %", 100.0 * count as f64 / all);
            let count = html! { (grouped(count)) (bar(count as f64, most, false)) };
            vec![html! { (points) }, count, html! { (share) }]
        };
        let caption = html! { "Pairs of games by the points of " (self.names[0]) };
        let pairs = ["0", "½", "1", "1½", "2"].into_iter().zip(&self.pairs);
        rows("bars", &caption, &["points", "pairs", "share"], pairs.map(row))
    }
}

fn series(course: &[Standing], name: &str, of: impl Fn(&Standing) -> Option<f64>) -> Series {
    let points = course.iter().filter_map(|at| Some((at.games as f64, of(at)?)));
    Series::line(name, points.filter(|point| point.1.is_finite()).collect())
}

/// There must be at least one standing. The first games, whose intervals would make everything later look
/// alike, are left out.
pub(super) fn elo_course(title: &str, description: &str, course: &[Standing]) -> Plot {
    let half = |at: &Standing| (at.interval[1] - at.interval[0]) / 2.0;
    let widest = WIDEST * course.last().map(half).filter(|half| half.is_finite()).unwrap_or(f64::INFINITY);
    let first = course.iter().position(|at| half(at) <= widest).unwrap_or(0);
    let course = &course[first..];
    let ends = [course.first(), course.last()].map(|at| at.map_or(0.0, |at| at.games as f64));
    Plot {
        title: title.to_string(),
        description: description.to_string(),
        x: Axis::whole("games"),
        y: Axis::linear("Elo"),
        series: vec![
            series(course, "Elo", |at| Some(at.elo)),
            Series {
                errors: course.iter().map(half).filter(|half| half.is_finite()).collect(),
                style: Style::Band,
                ..series(course, "95 % interval", |at| Some((at.interval[0] + at.interval[1]) / 2.0))
            },
        ],
        guide: ends.map(|games| (games, 0.0)).to_vec(),
        ..Plot::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_what_there_is() {
        let none = titled("<b>").to_html(None);
        assert!(none.contains("&lt;b&gt;") && none.contains("not final") && !none.contains("<figure"));
        let standing = |games: u64| Standing {
            games,
            elo: 5.0,
            interval: [-f64::INFINITY, 1000.0 / games as f64],
            llr: Some(0.01 * games as f64),
        };
        let titled_page = titled("A against B");
        let report = MatchReport {
            head: Heading { final_: true, ..titled_page.head.clone() },
            course: (1..40).map(|i| standing(2 * i)).collect(),
            bounds: Some([-2.94, 2.94]),
            pairs: [1, 2, 3, 4, 5],
            ..titled_page
        };
        let page = report.to_html(None);
        assert_eq!(page.matches("<figure").count(), 2);
        for text in ["33.3 %", "log-likelihood ratio", "finished", "Elo over games"] {
            assert!(page.contains(text), "{text}");
        }
        assert!(!page.contains("inf") && !page.contains("NaN"), "{page}");
        let untested = MatchReport { bounds: None, ..report }.to_html(None);
        assert_eq!(untested.matches("<figure").count(), 1);
    }

    fn titled(title: &str) -> MatchReport {
        let head = Heading { title: title.to_string(), ..Heading::default() };
        MatchReport { head, ..MatchReport::default() }
    }
}
