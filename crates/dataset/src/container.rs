//! Reading a dataset: a safetensors container, verified before it is used.

use std::path::Path;
use std::sync::Arc;

use half::f16;
use safetensors::Dtype;
use xxhash_rust::xxh3::Xxh3;

use super::coefficients::Coefficients;
use super::shards::shards;
use super::stored::{ChecksumState, Stored};
use super::{Dataset, Metadata};
use gputexel_io::{Error, Result};
use gputexel_model::program::{CompiledProgram, Program};

pub(super) mod names {
    /// u16, entries of each row.
    pub const ROW_LENGTHS: &str = "row_lengths";
    /// u16, number of entries of each row with coefficient +1; the rest have −1. Unit rows only.
    pub const WHITE_COUNTS: &str = "white_counts";
    /// u16, feature ids, rows concatenated.
    pub const IDS: &str = "feature_ids";
    /// f16, or f32 if half precision would change a value; parallel to the ids. Absent for unit rows.
    pub const COEFFICIENTS: &str = "coefficients";
    /// u16, phase units.
    pub const PHASES: &str = "phases";
    /// u16, endgame scale factors in the feature set's units; absent when all are 1.
    pub const SCALES: &str = "scales";
    /// f32, results, White's view.
    pub const RESULTS: &str = "results";
    /// f32, weights; absent when all are 1.
    pub const WEIGHTS: &str = "weights";
    /// f32, constant parts of scores, centipawns; absent when all are 0.
    pub const OFFSETS: &str = "offsets";
    /// f32, search scores, centipawns, White's view, NaN where unknown; absent when all are unknown.
    pub const SCORES: &str = "search_scores";
    /// f32, static evaluations printed by the engine, centipawns, White's view, NaN where unknown; absent
    /// when all are unknown.
    pub const EVALUATIONS: &str = "static_evaluations";
    /// u32, game numbers, [`NO_GAME`](super::NO_GAME) for none; absent when the input had no games.
    pub const GAMES: &str = "games";

    /// u64, three of each position: see [`PackedBoard`](gputexel_model::PackedBoard); 0 if unknown, absent if all are or
    /// rows have them.
    pub const BOARDS: &str = "boards";

    pub const ALL: [&str; 13] = [
        ROW_LENGTHS,
        WHITE_COUNTS,
        IDS,
        COEFFICIENTS,
        PHASES,
        SCALES,
        RESULTS,
        WEIGHTS,
        OFFSETS,
        SCORES,
        EVALUATIONS,
        GAMES,
        BOARDS,
    ];
}

const NO_GAME: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TensorInfo {
    pub name: String,
    pub dtype: String,
    pub elements: usize,
    /// Size in bytes.
    pub bytes: usize,
    pub checksum: ChecksumState,
}

/// Reads the metadata and the state of every tensor, even if checksums are wrong.
pub fn tensors(path: &Path) -> Result<(Metadata, Vec<TensorInfo>)> {
    let mut file = Stored::open(path)?;
    let mut list = Vec::new();
    for name in file.names() {
        let checksum = file.verify(&name)?;
        let info = file.info(&name);
        list.push(TensorInfo {
            dtype: format!("{:?}", info.dtype),
            elements: info.shape.iter().product(),
            bytes: info.data_offsets.1 - info.data_offsets.0,
            name,
            checksum,
        });
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((file.metadata, list))
}

pub fn read(path: &Path) -> Result<Dataset> {
    let mut file = Stored::open(path)?;
    file.metadata.feature_set.validate().map_err(|e| Error::input(path, e.to_string()))?;
    let positions = usize::try_from(file.metadata.positions)
        .ok()
        .filter(|&n| n <= u32::MAX as usize)
        .ok_or_else(|| Error::input(path, "too many positions for one dataset"))?;
    for name in file.names().iter().filter(|name| !names::ALL.contains(&name.as_str())) {
        match file.verify(name)? {
            ChecksumState::Ok => {}
            _ => return Err(file.damaged(name)),
        }
    }
    let row_lengths: Vec<u16> = file.required(names::ROW_LENGTHS, Dtype::U16, positions)?;
    let mut row_starts = Vec::with_capacity(positions + 1);
    row_starts.push(0u64);
    let mut total = 0u64;
    for length in &row_lengths {
        total += u64::from(*length);
        row_starts.push(total);
    }
    drop(row_lengths);
    let total = usize::try_from(total).map_err(|_| Error::input(path, "too many entries"))?;
    let unit = file.metadata.feature_set.unit_rows();
    let mut checksum = Xxh3::new();
    file.metadata.checksums.iter().for_each(|(name, sum)| {
        checksum.update(name.as_bytes());
        checksum.update(sum.as_bytes());
    });
    let dataset = Dataset {
        checksum: format!("{:016x}", checksum.digest()),
        white_counts: if unit {
            file.required(names::WHITE_COUNTS, Dtype::U16, positions)?
        } else {
            Vec::new()
        },
        ids: file.required(names::IDS, Dtype::U16, total)?,
        coefficients: if unit { Coefficients::Unit } else { coefficients(&mut file, total)? },
        phases: file.required(names::PHASES, Dtype::U16, positions)?,
        scales: file.optional(names::SCALES, Dtype::U16, positions)?,
        results: file.required(names::RESULTS, Dtype::F32, positions)?,
        unblended: Vec::new(),
        weights: file.optional(names::WEIGHTS, Dtype::F32, positions)?,
        offsets: file.optional(names::OFFSETS, Dtype::F32, positions)?,
        scores: file.optional(names::SCORES, Dtype::F32, positions)?,
        evaluations: file.optional(names::EVALUATIONS, Dtype::F32, positions)?,
        games: file.optional(names::GAMES, Dtype::U32, positions)?,
        boards: file.optional(names::BOARDS, Dtype::U64, 3 * positions)?,
        united: 0,
        sections: None,
        row_starts,
        program: compile(&file.metadata, path)?,
        metadata: file.metadata,
    };
    validate(&dataset, path)?;
    Ok(dataset)
}

/// Reads several shards as [`read_many`] does, and rejects shards without positions.
pub fn read_positions<P: AsRef<Path>>(paths: &[P]) -> Result<Dataset> {
    let all = read_many(paths)?;
    match (all.is_empty(), paths) {
        (true, [first, ..]) => Err(Error::input(first, "contains no positions")),
        _ => Ok(all),
    }
}

/// Reads several [`shards`] as one dataset; game numbers of later shards follow those of earlier ones.
pub fn read_many<P: AsRef<Path>>(paths: &[P]) -> Result<Dataset> {
    let paths = shards(paths)?;
    let [first, rest @ ..] = &paths[..] else {
        return Err(Error::Usage("no dataset was given".to_string()));
    };
    let mut all = read(first)?;
    for path in rest {
        let shard = read(path)?;
        if shard.metadata.feature_set != all.metadata.feature_set {
            return Err(Error::input(
                path,
                format!(
                    "feature set '{}' with phase {} differs from that of {}",
                    shard.metadata.feature_set.name(),
                    shard.metadata.feature_set.phase,
                    first.display()
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
        join(&mut self.weights, mine, other.weights, theirs, |_| 1.0);
        join(&mut self.offsets, mine, other.offsets, theirs, |_| 0.0);
        join(&mut self.scores, mine, other.scores, theirs, |_| f32::NAN);
        join(&mut self.evaluations, mine, other.evaluations, theirs, |_| f32::NAN);
        let one = self.endgame_scale_one();
        join(&mut self.scales, mine, other.scales, theirs, |_| one);
        join(&mut self.boards, 3 * mine, other.boards, 3 * theirs, |_| 0);
        // A shard without games counts each of its positions as a separate game.
        let games_of = |games: &[u32], positions: usize| match games {
            [] => positions as u64,
            _ => games.iter().filter(|&&game| game != NO_GAME).max().map_or(0, |&last| u64::from(last) + 1),
        };
        let next_game = games_of(&self.games, mine);
        if next_game + games_of(&other.games, theirs) > u64::from(NO_GAME) {
            return Err(Error::input(path, "too many games for one dataset"));
        }
        let next_game = next_game as u32; // at most the sum
        let shift = |&game: &u32| if game == NO_GAME { NO_GAME } else { game + next_game };
        let shifted = other.games.iter().map(shift).collect();
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
        self.metadata.positions += other.metadata.positions;
        self.metadata.games = self.metadata.games.saturating_add(other.metadata.games);
        self.metadata.sources.extend(other.metadata.sources);
        Ok(())
    }
}

/// Appends an optional column to another; an absent one is filled with its default, which may depend on the
/// index of the position in the joined dataset.
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

fn coefficients(file: &mut Stored<'_>, elements: usize) -> Result<Coefficients> {
    match file.dtype(names::COEFFICIENTS) {
        Some(Dtype::F32) => {
            file.required(names::COEFFICIENTS, Dtype::F32, elements).map(Coefficients::Single)
        }
        _ => file.required::<f16>(names::COEFFICIENTS, Dtype::F16, elements).map(Coefficients::Half),
    }
}

fn compile(metadata: &Metadata, path: &Path) -> Result<Option<Arc<CompiledProgram>>> {
    let set = &metadata.feature_set;
    let compile = |program: &Program| CompiledProgram::try_new(program.clone(), set.features.len());
    let compiled = set.program.as_ref().map(compile).transpose();
    compiled.map(|program| program.map(Arc::new)).map_err(|e| Error::input(path, e.to_string()))
}

fn validate(dataset: &Dataset, path: &Path) -> Result<()> {
    let broken = |what: &str| Err(Error::input(path, format!("broken: {what}")));
    let columns = dataset.column_count();
    // Maxima rather than `any`, because they are vectorized.
    if dataset.ids.iter().max().is_some_and(|&id| usize::from(id) >= columns) {
        return broken("a feature id is out of range");
    }
    let most = dataset.phase_max();
    if dataset.phases.iter().max().is_some_and(|&phase| phase > most) {
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
