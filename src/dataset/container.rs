//! Reading a dataset: a safetensors container, verified before anything trusts it.

use std::fs::File;
use std::path::Path;

use half::f16;
use safetensors::{Dtype, SafeTensors};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::coefficients::Coefficients;
use super::{Dataset, Metadata};
use crate::error::{Error, Result};

/// Key of our JSON in the container's metadata.
pub(super) const METADATA_KEY: &str = "gputexel";

/// Tensor names. All are one-dimensional.
pub(super) mod names {
    /// u16, entries of each row.
    pub const ROW_LENGTHS: &str = "row_lengths";
    /// u16, how many entries of each row have coefficient +1; the rest have −1. Unit rows only.
    pub const WHITE_COUNTS: &str = "white_counts";
    /// u16, feature ids, rows one after another.
    pub const IDS: &str = "feature_ids";
    /// f16, or f32 where half precision would change one; parallel to the ids. Absent for unit
    /// rows.
    pub const COEFFICIENTS: &str = "coefficients";
    /// u16, phase units.
    pub const PHASES: &str = "phases";
    /// u16, endgame scale factors in units of the feature set's; absent when all are 1.
    pub const SCALES: &str = "scales";
    /// f32, results, White's view.
    pub const RESULTS: &str = "results";
    /// f32, weights; absent when all are 1.
    pub const WEIGHTS: &str = "weights";
    /// f32, fixed parts of scores, centipawns; absent when all are 0.
    pub const OFFSETS: &str = "offsets";
    /// f32, search scores, centipawns, White's view, NaN where unknown; absent when none is known.
    pub const SCORES: &str = "search_scores";
    /// f32, static evaluations that the engine printed, centipawns, White's view, NaN where unknown;
    /// absent when none is known.
    pub const EVALUATIONS: &str = "static_evaluations";
    /// u32, game numbers; absent when the input had no games.
    pub const GAMES: &str = "games";
}

/// Name, type and size of a stored tensor.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TensorInfo {
    /// Tensor name.
    pub name: String,
    /// Element type, such as `U16`.
    pub dtype: String,
    /// Number of elements.
    pub elements: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// Whether the bytes are those that were written.
    pub checksum: ChecksumState,
}

/// Result of a checksum comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChecksumState {
    /// The stored xxh3 matches.
    Ok,
    /// The stored xxh3 does not match.
    Wrong,
    /// No checksum is stored.
    Missing,
}

struct Container {
    map: memmap2::Mmap,
}

impl Container {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let meta = file.metadata().map_err(|e| Error::io(path, e))?;
        if meta.is_dir() {
            return Err(Error::input(path, "is a folder, not a dataset"));
        }
        if meta.len() < 8 {
            return Err(Error::input(path, format!("not a dataset: only {} bytes long", meta.len())));
        }
        let mut start = [0u8; 9];
        let read = std::io::Read::read(&mut &file, &mut start).map_err(|e| Error::io(path, e))?;
        if read == start.len() && start[0] == b'{' {
            return Err(Error::input(path, "is JSON, not a dataset"));
        }
        if start[..read].iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
            return Err(Error::input(path, "is text, not a dataset; 'gputexel extract' makes one of it"));
        }
        // SAFETY: the map is private to this function's caller, read once into owned columns and
        // dropped; as with every memory map, another process that truncates the file meanwhile
        // ends ours, which the format's documentation says.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| Error::io(path, e))?;
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential); // only a hint: refusal changes nothing
        Ok(Self { map })
    }

    fn parse(&self, path: &Path) -> Result<(SafeTensors<'_>, Metadata)> {
        let foreign =
            |e: safetensors::SafeTensorError| Error::input(path, format!("not a dataset, or truncated: {e}"));
        let (_, header) = SafeTensors::read_metadata(&self.map).map_err(foreign)?;
        let tensors = SafeTensors::deserialize(&self.map).map_err(foreign)?;
        let json = header
            .metadata()
            .as_ref()
            .and_then(|all| all.get(METADATA_KEY))
            .ok_or_else(|| Error::input(path, "a safetensors file, but not one that gputexel wrote"))?;
        let version: serde_json::Value =
            serde_json::from_str(json).map_err(|e| Error::input(path, format!("broken metadata: {e}")))?;
        match version.get("schema").and_then(serde_json::Value::as_u64) {
            Some(schema) if schema == u64::from(Metadata::SCHEMA) => {}
            Some(schema) => {
                return Err(Error::input(
                    path,
                    format!("schema {schema} is not supported (this version reads {})", Metadata::SCHEMA),
                ));
            }
            None => return Err(Error::input(path, "broken metadata: no schema version")),
        }
        let metadata = serde_json::from_value(version)
            .map_err(|e| Error::input(path, format!("broken metadata: {e}")))?;
        Ok((tensors, metadata))
    }
}

fn checksum_state(metadata: &Metadata, name: &str, bytes: &[u8]) -> ChecksumState {
    match metadata.checksums.get(name) {
        None => ChecksumState::Missing,
        Some(stored) if *stored == format!("{:016x}", xxh3_64(bytes)) => ChecksumState::Ok,
        Some(_) => ChecksumState::Wrong,
    }
}

/// Metadata and the state of every tensor, also of a file whose checksums are wrong.
///
/// # Errors
/// As [`read`], except that a wrong checksum is reported in the list.
pub fn tensors(path: &Path) -> Result<(Metadata, Vec<TensorInfo>)> {
    let container = Container::open(path)?;
    let (stored, metadata) = container.parse(path)?;
    let mut list: Vec<TensorInfo> = stored
        .iter()
        .map(|(name, view)| TensorInfo {
            name: name.to_string(),
            dtype: format!("{:?}", view.dtype()),
            elements: view.shape().iter().product(),
            bytes: view.data().len(),
            checksum: checksum_state(&metadata, name, view.data()),
        })
        .collect();
    list.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((metadata, list))
}

/// Reads and verifies a dataset.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; [`Error::Input`] when it is not a dataset, is
/// truncated, has a wrong checksum, or holds a value outside its range.
pub fn read(path: &Path) -> Result<Dataset> {
    let container = Container::open(path)?;
    let (stored, metadata) = container.parse(path)?;
    metadata.feature_set.validate().map_err(|e| Error::input(path, e.to_string()))?;
    for (name, view) in stored.iter() {
        if checksum_state(&metadata, name, view.data()) != ChecksumState::Ok {
            return Err(Error::input(path, format!("damaged: the checksum of '{name}' does not match")));
        }
    }
    let positions = usize::try_from(metadata.positions)
        .ok()
        .filter(|&n| n <= u32::MAX as usize)
        .ok_or_else(|| Error::input(path, "too many positions for one dataset"))?;
    let reader = Reader { path, stored: &stored };
    let row_lengths: Vec<u16> = reader.required(names::ROW_LENGTHS, Dtype::U16, positions)?;
    let mut row_starts = Vec::with_capacity(positions + 1);
    row_starts.push(0u64);
    let mut total = 0u64;
    for length in row_lengths {
        total += u64::from(length);
        row_starts.push(total);
    }
    let total = usize::try_from(total).map_err(|_| Error::input(path, "too many entries"))?;
    let unit = metadata.feature_set.unit_rows();
    let mut checksum = Xxh3::new();
    metadata.checksums.iter().for_each(|(name, sum)| {
        checksum.update(name.as_bytes());
        checksum.update(sum.as_bytes());
    });
    let dataset = Dataset {
        checksum: format!("{:016x}", checksum.digest()),
        white_counts: if unit {
            reader.required(names::WHITE_COUNTS, Dtype::U16, positions)?
        } else {
            Vec::new()
        },
        ids: reader.required(names::IDS, Dtype::U16, total)?,
        coefficients: if unit { Coefficients::Unit } else { reader.coefficients(total)? },
        phases: reader.required(names::PHASES, Dtype::U16, positions)?,
        scales: reader.optional(names::SCALES, Dtype::U16, positions)?,
        results: reader.required(names::RESULTS, Dtype::F32, positions)?,
        weights: reader.optional(names::WEIGHTS, Dtype::F32, positions)?,
        offsets: reader.optional(names::OFFSETS, Dtype::F32, positions)?,
        scores: reader.optional(names::SCORES, Dtype::F32, positions)?,
        evaluations: reader.optional(names::EVALUATIONS, Dtype::F32, positions)?,
        games: reader.optional(names::GAMES, Dtype::U32, positions)?,
        row_starts,
        metadata,
    };
    validate(&dataset, path)?;
    Ok(dataset)
}

/// Reads several shards as one dataset; game numbers of later shards follow those of earlier ones.
///
/// # Errors
/// Those of [`read`]; [`Error::Input`] when a shard has another feature set than the first.
pub fn read_many<P: AsRef<Path>>(paths: &[P]) -> Result<Dataset> {
    let [first, rest @ ..] = paths else {
        return Err(Error::Usage("no dataset was given".to_string()));
    };
    let mut all = read(first.as_ref())?;
    for path in rest {
        let path = path.as_ref();
        let shard = read(path)?;
        if shard.metadata.feature_set != all.metadata.feature_set {
            return Err(Error::input(
                path,
                format!(
                    "feature set '{}' with phase {} differs from that of {}",
                    shard.metadata.feature_set.name(),
                    shard.metadata.feature_set.phase,
                    first.as_ref().display()
                ),
            ));
        }
        if all.checksum.split('+').any(|known| known == shard.checksum) {
            return Err(Error::Usage(format!("{}: is given twice, or a copy is", path.display())));
        }
        all.append(shard, path)?;
    }
    Ok(all)
}

impl Dataset {
    fn append(&mut self, other: Self, path: &Path) -> Result<()> {
        let (mine, theirs) = (self.len(), other.len());
        if mine + theirs > u32::MAX as usize {
            return Err(Error::input(path, "too many positions for one dataset"));
        }
        // A shard without games counts each of its positions as a game of its own.
        let next_game = match self.games.iter().max() {
            Some(&last) => u64::from(last) + 1,
            None => mine as u64,
        };
        let any_game = !(self.games.is_empty() && other.games.is_empty());
        let last = match other.games.iter().max() {
            Some(&last) => u64::from(last),
            None => (theirs as u64).saturating_sub(1),
        };
        if any_game && theirs > 0 && next_game + last > u64::from(u32::MAX) {
            return Err(Error::input(
                path,
                format!(
                    "its games would be numbered from {next_game} to {}, but numbers end at {}",
                    next_game + last,
                    u32::MAX
                ),
            ));
        }
        // An empty shard after the last number has no game to be numbered.
        let next_game = u32::try_from(next_game).unwrap_or(0);
        join(&mut self.weights, mine, other.weights, theirs, |_| 1.0);
        join(&mut self.offsets, mine, other.offsets, theirs, |_| 0.0);
        join(&mut self.scores, mine, other.scores, theirs, |_| f32::NAN);
        join(&mut self.evaluations, mine, other.evaluations, theirs, |_| f32::NAN);
        let one = self.scale_one();
        join(&mut self.scales, mine, other.scales, theirs, |_| one);
        let shifted = other.games.iter().map(|game| game + next_game).collect();
        let own = if self.games.is_empty() { 0 } else { next_game };
        join(&mut self.games, mine, shifted, theirs, |i| {
            if own == 0 { i as u32 } else { own + (i - mine) as u32 }
        });
        let base = *self.row_starts.last().expect("row starts begin with 0");
        self.row_starts.extend(other.row_starts[1..].iter().map(|start| start + base));
        self.white_counts.extend(other.white_counts);
        self.ids.extend(other.ids);
        self.coefficients.append(other.coefficients);
        self.phases.extend(other.phases);
        self.results.extend(other.results);
        self.checksum = format!("{}+{}", self.checksum, other.checksum);
        self.metadata.positions = self.metadata.positions.saturating_add(other.metadata.positions);
        self.metadata.games = self.metadata.games.saturating_add(other.metadata.games);
        self.metadata.sources.extend(other.metadata.sources);
        Ok(())
    }
}

/// Appends an optional column to another; whichever is absent is filled with its default, which
/// may depend on the index of the position in the joined dataset.
fn join<T>(mine: &mut Vec<T>, my_len: usize, theirs: Vec<T>, their_len: usize, default: impl Fn(usize) -> T) {
    if mine.is_empty() && theirs.is_empty() {
        return;
    }
    if mine.is_empty() {
        mine.extend((0..my_len).map(&default));
    }
    if theirs.is_empty() {
        mine.extend((my_len..my_len + their_len).map(&default));
    } else {
        mine.extend(theirs);
    }
}

struct Reader<'a> {
    path: &'a Path,
    stored: &'a SafeTensors<'a>,
}

impl Reader<'_> {
    fn required<T: bytemuck::AnyBitPattern>(
        &self,
        name: &str,
        dtype: Dtype,
        elements: usize,
    ) -> Result<Vec<T>> {
        let view = self
            .stored
            .tensor(name)
            .map_err(|_| Error::input(self.path, format!("broken: tensor '{name}' is missing")))?;
        if view.dtype() != dtype || view.shape() != [elements] {
            return Err(Error::input(
                self.path,
                format!(
                    "broken: tensor '{name}' is {:?} {:?}, expected {dtype:?} [{elements}]",
                    view.dtype(),
                    view.shape()
                ),
            ));
        }
        Ok(collect(view.data()))
    }

    fn coefficients(&self, elements: usize) -> Result<Coefficients> {
        match self.stored.tensor(names::COEFFICIENTS).map(|view| view.dtype()) {
            Ok(Dtype::F32) => {
                self.required(names::COEFFICIENTS, Dtype::F32, elements).map(Coefficients::Single)
            }
            _ => self.required::<f16>(names::COEFFICIENTS, Dtype::F16, elements).map(Coefficients::Half),
        }
    }

    fn optional<T: bytemuck::AnyBitPattern>(
        &self,
        name: &str,
        dtype: Dtype,
        elements: usize,
    ) -> Result<Vec<T>> {
        if self.stored.tensor(name).is_err() { Ok(Vec::new()) } else { self.required(name, dtype, elements) }
    }
}

fn validate(dataset: &Dataset, path: &Path) -> Result<()> {
    let broken = |what: &str| Err(Error::input(path, format!("broken: {what}")));
    let features = dataset.feature_count();
    if dataset.ids.iter().any(|&id| usize::from(id) >= features) {
        return broken("a feature id is out of range");
    }
    if dataset.phases.iter().any(|&phase| phase > dataset.phase_max()) {
        return broken("a phase is above the maximum");
    }
    if dataset.results.iter().any(|result| !(0.0..=1.0).contains(result)) {
        return broken("a result is outside 0 to 1");
    }
    if dataset.weights.iter().any(|weight| !(weight.is_finite() && *weight > 0.0)) {
        return broken("a weight is not a positive number");
    }
    if dataset.offsets.iter().any(|offset| !offset.is_finite()) || !dataset.coefficients.is_finite() {
        return broken("an offset or coefficient is not a number");
    }
    if dataset.evaluations.iter().any(|value| value.is_infinite()) {
        return broken("a static evaluation is infinite");
    }
    let units = u32::from(dataset.phase_max());
    if dataset.scales.iter().any(|&scale| units * u32::from(scale) > u32::from(u16::MAX)) {
        return broken("an endgame scale factor is too large");
    }
    let lengths = dataset.row_starts.windows(2).map(|pair| pair[1] - pair[0]);
    if dataset.white_counts.iter().zip(lengths).any(|(&white, length)| u64::from(white) > length) {
        return broken("a White count is above the row's length");
    }
    Ok(())
}

/// Numbers from bytes that need not be aligned.
fn collect<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(values) => values.to_vec(),
        Err(_) => bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect(),
    }
}
