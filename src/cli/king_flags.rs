//! Flags that make piece-square tables depend on the squares of kings.

use gputexel::chess::PhaseSettings;
use gputexel::model::{FeatureKind, FeatureSet, KingBuckets, KingPieces};
use gputexel::{Error, Result};

use super::settings::parsed;

/// Flags that select king squares with tables of their own.
#[derive(Debug, clap::Args)]
pub struct KingArgs {
    /// With pst: tables for each bucket of squares that the own king may be on: 4, 8 or 16 buckets, mirrored (a king on
    /// files e to h mirrors the board), or a file with a bucket for each square from a1 on, or for those of files a to d
    /// if mirrored
    #[arg(long, value_name = "N|FILE", help_heading = "Features")]
    king_buckets: Option<String>,
    /// With --king-buckets: the pieces whose tables a king selects: own, or all (also the opponent's, in tables of
    /// their own, as each side sees them) [default: own]
    #[arg(long, value_name = "WHICH", help_heading = "Features")]
    king_pieces: Option<String>,
}

impl KingArgs {
    /// Returns the feature set of a model's name and these flags.
    pub fn feature_set(&self, model: &str, phase: PhaseSettings) -> Result<FeatureSet> {
        let kind = FeatureKind::parse(model)?;
        let pieces: Option<KingPieces> = parsed(&self.king_pieces)?;
        match &self.king_buckets {
            None if pieces.is_some() => {
                Err(Error::Usage("--king-pieces only applies with --king-buckets".to_string()))
            }
            None => Ok(FeatureSet::new(kind, phase)),
            Some(_) if kind != FeatureKind::Pst => {
                Err(Error::Usage(format!("--king-buckets: model '{model}' has none; only pst has")))
            }
            Some(text) => {
                let buckets = KingBuckets::read(text, pieces.unwrap_or_default())?;
                Ok(FeatureSet::with_king_buckets(buckets, phase))
            }
        }
    }
}
