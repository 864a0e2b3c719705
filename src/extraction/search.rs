//! The searches that a selection may ask for, with the evaluation that it names.

use super::ExtractSettings;
use crate::chess::selection::PositionSearch;
use crate::error::{Error, Result};

/// What the selection of `settings` needs; nothing where it does not search.
pub fn search_of(settings: &ExtractSettings) -> Result<Option<Box<dyn PositionSearch>>> {
    if settings.selection.searches() {
        return Err(Error::Usage("this build has no quiescence search".to_string()));
    }
    Ok(None)
}
