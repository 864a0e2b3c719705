//! A page that checks and measures the graphics card of whoever opens it, by WebGPU and without a server.

use maud::{Markup, PreEscaped, html};

use super::number::grouped;
use super::{POLICY, framed};

const HOST: &str = include_str!("bench.js");
const PAGE: &str = include_str!("bench_page.js");

#[derive(Clone, Debug, PartialEq)]
pub struct BenchPage {
    /// Input of its scripts as JSON: kernels, positions, and results to compare with.
    pub data: String,
    pub members: Vec<usize>,
    pub positions: usize,
}

impl BenchPage {
    pub fn to_html(&self) -> String {
        // Nothing in the data may look like the end of their element.
        let data = self.data.replace('<', "\\u003c");
        let scripts = html! {
            script id="data" type="application/json" { (PreEscaped(data)) }
            script { (PreEscaped(HOST)) }
            script { (PreEscaped(PAGE)) }
        };
        // Its own scripts, and no request to anyone.
        let policy = format!("{POLICY}; script-src 'unsafe-inline'");
        framed("gputexel on your graphics card", Some(&policy), &self.body(), Some(&scripts))
    }

    fn body(&self) -> Markup {
        html! {
            header {
                h1 { "gputexel on your graphics card" }
                p.note {
                    "gputexel tunes the evaluation of chess engines: it computes how well many sets of values predict the results of \
                     many positions (the loss), and in which direction each value should move (the gradient). This page lets your \
                     graphics card do that, with the kernels of the program, compares the results with 64-bit arithmetic, and \
                     measures the speed. That takes some ten seconds, or minutes where the browser has no card and computes by \
                     software. Nothing leaves this page."
                }
            }
            div.first {
                div.verdict id="verdict" {
                    p.figure id="status" role="status" { "Not started" }
                    p { button id="start" type="button" { "Check and measure" } }
                }
                div {
                    dl.record {
                        dt { "adapter" } dd id="adapter" { "–" }
                        dt { "positions" } dd { (grouped(self.positions as u64)) }
                        dt { "version" } dd { "gputexel " (env!("CARGO_PKG_VERSION")) }
                    }
                }
            }
            section id="speed" {
                h2 { "Speed and errors" }
                p.note {
                    "Pairs a second, and the largest relative error, of populations of 1 to 4,096 members. A member is one set of \
                     values, and a pair is one position under one member. Errors of a sound device are at most 1e-6."
                }
                div.scroll { table.bars {
                    thead { tr { th scope="col" { "members" } th scope="col" { "loss" } th scope="col" { "loss, gradient" } } }
                    tbody { @for members in &self.members { tr {
                        th scope="row" { (grouped(*members as u64)) }
                        @for gradients in [0, 1] { td {
                            @let at = format!("{members}-{gradients}");
                            span id={ "rate-" (at) } { "–" }
                            span.bar { span.up id={ "bar-" (at) } style="left:0" {} }
                            small.soft id={ "error-" (at) } { "–" }
                        } }
                    } } }
                } }
                p.note {
                    "Evaluations in a row, from the first command to the end of the last kernel; the values are on the card already."
                }
            }
            section id="sending" hidden {
                h2 { "A line to send in" }
                p.note {
                    "What was found, and what this browser says of itself and of the card. " code { "docs/benchmarks.md" }
                    " says where such lines are collected."
                }
                pre id="line" {}
                p { button id="copy" type="button" { "Copy" } " " span.soft id="copied" role="status" {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stay_data_and_nothing_is_requested() {
        let data = r#"{"source":"</script><script>x()</script><!--"}"#.to_string();
        let page = BenchPage { data: data.clone(), members: vec![1, 64], positions: 4096 }.to_html();
        assert_eq!(page.matches("<script").count(), 3);
        assert!(!page.contains("<!--") && page.contains("id=\"rate-64-1\"") && page.contains("4,096"));
        let inside = page.split("application/json\">").nth(1).unwrap().split("</script>").next().unwrap();
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(inside), read(&data));
        assert!(
            page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("https://")
        );
    }
}
