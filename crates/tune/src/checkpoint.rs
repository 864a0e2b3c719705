//! Checkpoints: the complete state of a run in one safetensors file, replaced atomically.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::StopReason;
use gputexel_io::{Error, Result, RunFolder};
use gputexel_optim::OptimizerState;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub steps: u64,
    pub epochs: u64,
    /// Seconds of work, including earlier sessions.
    pub seconds: f64,
    pub recent_losses: Vec<f64>,
    /// Best value of the criterion by which parameters are judged, see `Tuning`; `None` before the first.
    pub best: Option<f64>,
    /// Epoch of the best value; 0 if the start was judged before the first epoch.
    pub best_epoch: u64,
    pub best_member: usize,
    /// The θ with the best value; stored as a tensor.
    #[serde(skip)]
    pub best_parameters: Vec<f64>,
    /// Best value of each member; empty before the first.
    pub member_best: Vec<f64>,
    pub metrics: u64,
    pub finished: Option<StopReason>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub progress: Progress,
    pub optimizer: OptimizerState,
}

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    progress: Progress,
    optimizer: serde_json::Value,
    /// xxh3 of everything else, in hexadecimal: otherwise a flipped bit would change the run unnoticed.
    checksum: String,
}

fn checksum<'a>(
    progress: &Progress,
    scalars: &serde_json::Value,
    vectors: impl Iterator<Item = (&'a str, &'a [f64])>,
) -> String {
    let mut hash = Xxh3::new();
    hash.update(serde_json::to_string(&(progress, scalars)).expect("plain data serializes").as_bytes());
    for (name, vector) in vectors {
        hash.update(name.as_bytes());
        hash.update(bytemuck::cast_slice(vector));
    }
    format!("{:016x}", hash.digest())
}

const KEY: &str = "gputexel-checkpoint";
const VERSION: u32 = 2;
const BEST: &str = "best_parameters";
/// The largest header that `safetensors` reads, bytes.
const MAX_HEADER: u64 = 100_000_000;

impl Checkpoint {
    /// Writes the checkpoint; an older one is only replaced once the new one is complete.
    pub fn write(&self, path: &Path) -> Result<()> {
        let best = (BEST, &self.progress.best_parameters[..]);
        let all = self.optimizer.vectors.iter().map(|(name, v)| (name.as_str(), &v[..])).chain([best]);
        let named: BTreeMap<&str, &[f64]> = all.collect();
        let header = Header {
            version: VERSION,
            progress: self.progress.clone(),
            optimizer: self.optimizer.scalars.clone(),
            checksum: checksum(
                &self.progress,
                &self.optimizer.scalars,
                named.iter().map(|(name, v)| (*name, *v)),
            ),
        };
        let json = serde_json::to_string(&header).expect("plain data serializes");
        let tensors: BTreeMap<&str, TensorView<'_>> = named
            .into_iter()
            .map(|(name, vector)| {
                let view = TensorView::new(Dtype::F64, vec![vector.len()], bytemuck::cast_slice(vector));
                (name, view.expect("the shape is the length"))
            })
            .collect();
        let bytes = safetensors::serialize(tensors, Some(HashMap::from([(KEY.to_string(), json)])))
            .map_err(|e| Error::io(path, std::io::Error::other(e)))?;
        gputexel_io::write_atomically(path, &bytes)
    }

    pub fn write_to(&self, folder: &RunFolder) -> Result<()> {
        let path = folder.checkpoint();
        folder.guarded(&path, || self.write(&path))
    }

    /// Returns the state stored in a run's folder, if there is one.
    pub fn read_from(folder: &RunFolder) -> Result<Option<Self>> {
        let path = folder.checkpoint();
        if path.exists() { Self::read(&path).map(Some) } else { Ok(None) }
    }

    /// Reduces a finished run's state to the fact that it is finished; its result is in `params.json`.
    pub fn slim(&mut self) {
        self.optimizer.vectors.clear();
        self.progress.best_parameters.clear();
    }

    pub fn read(path: &Path) -> Result<Self> {
        let bytes = read_bytes(path).map_err(|e| Error::io(path, e))?;
        let broken = |why: String| Error::input(path, format!("not a checkpoint, or damaged: {why}"));
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| broken(e.to_string()))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|e| broken(e.to_string()))?;
        let json = header.metadata().as_ref().and_then(|all| all.get(KEY));
        let json = json.ok_or_else(|| broken("it has no state".to_string()))?;
        let header: Header = serde_json::from_str(json).map_err(|e| broken(e.to_string()))?;
        if header.version != VERSION {
            return Err(broken(format!("version {} is not supported", header.version)));
        }
        let mut vectors = BTreeMap::new();
        for (name, view) in tensors.iter() {
            if view.dtype() != Dtype::F64 {
                return Err(broken(format!("tensor '{name}' is not f64")));
            }
            let values: Vec<f64> = view.data().chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
            if values.iter().any(|value| !value.is_finite()) {
                return Err(broken(format!("'{name}' holds numbers that are not finite")));
            }
            vectors.insert(name.to_string(), values);
        }
        let named = vectors.iter().map(|(name, v): (&String, &Vec<f64>)| (name.as_str(), &v[..]));
        if checksum(&header.progress, &header.optimizer, named) != header.checksum {
            return Err(broken("its checksum does not match".to_string()));
        }
        let mut progress = header.progress;
        progress.best_parameters = vectors.remove(BEST).unwrap_or_default();
        Ok(Self { progress, optimizer: OptimizerState { scalars: header.optimizer, vectors } })
    }
}

/// Reads the bytes of a file; only the first few if it is not a checkpoint, since it may be very large.
fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = gputexel_io::open_whole(path, gputexel_io::RECORD_BYTES)?;
    let mut bytes = Vec::new();
    // The length of a header, and the first byte of its JSON.
    (&mut file).take(9).read_to_end(&mut bytes)?;
    let header = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    if (2..=MAX_HEADER).contains(&header) && bytes.last() == Some(&b'{') {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_survives_and_damage_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.safetensors");
        let vectors = [("a", vec![1.5, -2.0]), ("empty", vec![])].map(|(n, v)| (n.to_string(), v));
        let checkpoint = Checkpoint {
            progress: Progress {
                steps: 7,
                recent_losses: vec![0.1, 0.099_999_999_999_999_99],
                best_parameters: vec![4.0],
                member_best: vec![0.25],
                ..Progress::default()
            },
            optimizer: OptimizerState {
                scalars: serde_json::json!({"method": "x", "n": 0.1}),
                vectors: vectors.clone().into(),
            },
        };
        checkpoint.write(&path).unwrap();
        assert_eq!(Checkpoint::read(&path).unwrap(), checkpoint);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("not a checkpoint, or damaged"));
        std::fs::File::create(&path).unwrap().set_len(1 << 34).unwrap();
        assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("not a checkpoint, or damaged"));
        let mut flipped = bytes;
        let last = flipped.len() - 2;
        flipped[last] ^= 0x40;
        std::fs::write(&path, &flipped).unwrap();
        assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("checksum does not match"));
        let mut poisoned = checkpoint;
        poisoned.optimizer.vectors.insert("a".to_string(), vec![f64::NAN]);
        poisoned.write(&path).unwrap();
        assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("not finite"));
    }
}
