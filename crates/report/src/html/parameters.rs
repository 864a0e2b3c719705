//! The parameters of a run: piece values, boards and lists.

use maud::{Markup, html};

use super::data::RunReport;
use super::groups::{Shape, groups};
use super::{bars, boards};
use gputexel_io::Result;

/// Returns the section, if there are parameters.
pub(super) fn of_run(report: &RunReport) -> Result<Option<Markup>> {
    let RunReport { parameters, reference, errors_note, .. } = report;
    if parameters.is_empty() {
        return Ok(None);
    }
    let groups = groups(parameters);
    let has_boards = groups.iter().any(|group| matches!(group.shape, Shape::Board(_)));
    let views = boards::views(parameters, "value", reference);
    Ok(Some(html! {
        @if !errors_note.is_empty() { p.note { (errors_note) } }
        (bars::material(parameters, &groups, reference))
        @if has_boards {
            h3 { "Boards" }
            (boards::switch(&views))
            (boards::boards(parameters, &groups, &views))
            p.note { "From White's side, a1 at the lower left; Black's squares are mirrored. Dotted: the feature never occurs." }
        }
        (bars::lists(parameters, &groups, reference))
    }))
}
