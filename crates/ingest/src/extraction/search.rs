//! The evaluation used by a selection's searches.

use super::ExtractSettings;
use gputexel_io::Result;
use gputexel_model::{TableEvaluation, named_parameters};

/// Returns the evaluation given by the settings or named by the selection; `None` if the selection does not
/// search.
pub fn evaluation_of(settings: &ExtractSettings) -> Result<Option<TableEvaluation>> {
    if !settings.selection.searches() {
        return Ok(None);
    }
    if let Some(evaluation) = &settings.evaluation {
        return Ok(Some(evaluation.clone()));
    }
    let (set, theta) = named_parameters(&settings.selection.params)?;
    TableEvaluation::try_new(&set, &theta).map(Some)
}
