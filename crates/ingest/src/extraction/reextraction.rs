//! Repeats the extraction of a dataset and counts the changes.

use std::path::{Path, PathBuf};

use super::{ExtractSettings, Target};
use gputexel_chess::scale::ResultScale;
use gputexel_chess::selection::Selection;
use gputexel_chess::text::PointOfView;
use gputexel_dataset::{Metadata, SourceRecord};
use gputexel_io::{Error, Result};

/// The original position of a dataset's row, and the one its features are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leaf {
    pub key: u64,
    pub leaf: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafChanges {
    pub changed: u64,
    pub entered: u64,
    /// Rows of the earlier one whose position is no longer present.
    pub left: u64,
}

impl LeafChanges {
    /// Compares two extractions; sorts both lists. If a position has several rows, they have the same leaf.
    pub fn between(before: &mut [Leaf], after: &mut [Leaf]) -> Self {
        before.sort_unstable();
        after.sort_unstable();
        let mut changes = Self::default();
        let (mut old, mut new) = (&*before, &*after);
        let run = |list: &[Leaf], key: u64| list.iter().take_while(|row| row.key == key).count();
        while let Some(key) = [old, new].iter().filter_map(|list| list.first()).map(|row| row.key).min() {
            let (olds, news) = (run(old, key), run(new, key));
            match (olds, news) {
                (0, _) => changes.entered += news as u64,
                (_, 0) => changes.left += olds as u64,
                _ if old[0].leaf != new[0].leaf => changes.changed += news as u64,
                _ => {}
            }
            (old, new) = (&old[olds..], &new[news..]);
        }
        changes
    }
}

impl ExtractSettings {
    /// Returns the sources and settings with which the dataset at `path` was extracted.
    ///
    /// Sources are searched for at their recorded paths, then next to the dataset.
    ///
    /// # Errors
    /// [`Error::Input`] when the dataset does not name its sources, when one of them is standard input or
    /// missing, or when its selection is unknown to this version.
    pub fn of_dataset(path: &Path, metadata: &Metadata) -> Result<(Vec<PathBuf>, Self)> {
        if metadata.feature_set.imported.is_some() {
            let reason = "holds imported features, which only the engine that printed them computes";
            return Err(Error::input(path, reason));
        }
        let inputs = metadata.sources_beside(path).map_err(|reason| Error::input(path, reason))?;
        let mut recorded = metadata.selection.clone();
        let unknown = |error: Error| Error::input(path, error.to_string());
        let target = Target::take(&mut recorded).map_err(unknown)?;
        let selection = Selection::from_settings(&recorded).map_err(unknown)?;
        let mut settings = Self {
            selection,
            max_bad_share: 1.0,
            skip_damaged: true,
            target,
            ..Self::new(metadata.feature_set.clone())
        };
        if let Some(format) = metadata.sources.first().map(|source| source.format.as_str())
            && metadata.sources.iter().all(|source| source.format == format)
        {
            settings.format = Some(format.parse()?);
        }
        // Detected settings are detected again. Explicit settings have to be repeated; they can only have
        // been given if they apply to all texts.
        let texts: Vec<_> = metadata.sources.iter().filter(|source| source.labels.is_some()).collect();
        if let Some((first, rest)) = texts.split_first() {
            if rest.iter().all(|source| source.labels == first.labels) {
                settings.labels = first.labels.as_deref().map(str::parse).transpose()?;
            }
            let view = |name: &str| if name == "stm" { PointOfView::Stm } else { PointOfView::White };
            if rest.iter().all(|source| source.point_of_view == first.point_of_view) {
                settings.point_of_view = first.point_of_view.as_deref().map(view);
            }
            let of_scores = |source: &SourceRecord| {
                source.score_point_of_view.as_deref().or(source.point_of_view.as_deref()).map(view)
            };
            if rest.iter().all(|source| of_scores(source) == of_scores(first)) {
                settings.score_view = of_scores(first);
            }
            // If no scale is recorded, it is the default, which was consistent. If scales differ, they were
            // detected.
            if rest.iter().all(|source| source.results == first.results) {
                settings.results = Some(match &first.results {
                    Some(scale) => scale.parse()?,
                    None => ResultScale::default(),
                });
            }
        }
        let games: Vec<_> = metadata.sources.iter().filter(|source| source.format == "pgn").collect();
        if let Some((first, rest)) = games.split_first()
            && texts.is_empty()
            && rest.iter().all(|source| source.score_point_of_view == first.score_point_of_view)
        {
            settings.score_view = first.score_point_of_view.as_deref().map(str::parse).transpose()?;
        }
        Ok((inputs, settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_by_position() {
        let rows = |list: &[(u64, u64)]| -> Vec<Leaf> {
            list.iter().map(|&(key, leaf)| Leaf { key, leaf }).collect()
        };
        let mut before = rows(&[(5, 50), (1, 10), (3, 3), (3, 3), (8, 8)]);
        let mut after = rows(&[(1, 10), (3, 31), (5, 50), (3, 31), (9, 9), (9, 9), (9, 9)]);
        assert_eq!(
            LeafChanges::between(&mut before, &mut after),
            LeafChanges { changed: 2, entered: 3, left: 1 }
        );
        assert_eq!(LeafChanges::between(&mut after.clone(), &mut after), LeafChanges::default());
        assert_eq!(LeafChanges::between(&mut [], &mut after).entered, 7);
    }
}
