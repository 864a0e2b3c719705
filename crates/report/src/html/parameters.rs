//! The parameters of a run beyond the boards of pieces: further boards, and lists.

use maud::{Markup, html};

use super::bars;
use super::boards::Boards;
use super::data::RunReport;
use super::groups::groups;
use gputexel_io::Result;

pub(super) fn of_run(report: &RunReport) -> Result<Option<Markup>> {
    let RunReport { parameters, reference, .. } = report;
    if parameters.is_empty() {
        return Ok(None);
    }
    let groups = groups(parameters);
    let folded = Boards::new(parameters, &groups).folded();
    let lists = bars::lists(parameters, &groups, reference);
    let is_empty = folded.0.is_empty() && lists.0.is_empty();
    Ok((!is_empty).then(|| html! { (folded) (lists) }))
}
