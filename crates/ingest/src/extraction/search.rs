//! The evaluation of the searches that a selection asks for.

use super::ExtractSettings;
use gputexel_files::Result;
use gputexel_model::{TableEvaluation, named_parameters};

/// The evaluation that the settings give or the selection names; nothing where it does not search.
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
