//! The feature set `imported`.

use shakmaty::{Board, Color};

use super::Features;
use crate::KingBuckets;
use crate::feature::{Feature, FeatureRow};

/// Features of another engine, which alone can compute them and play with them.
pub(super) struct ImportedFeatures;

impl Features for ImportedFeatures {
    fn is_computed(&self) -> bool {
        false
    }

    fn features(&self, _: Option<&KingBuckets>) -> Vec<Feature> {
        Vec::new()
    }

    fn definition(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn unit_rows(&self) -> bool {
        false
    }

    fn compute(&self, _: Option<&KingBuckets>, _: &Board, _: Color, _: &mut FeatureRow) {}
}
