//! The positions on which devices are checked and measured: 4,096 real ones, and their variants with other kinds of
//! features.

use std::path::Path;

use gputexel_dataset::{Dataset, DatasetWriter, ImportedPosition, Metadata, PositionLabels, StoredRow};
use gputexel_io::{Error, Result};
use gputexel_model::program::{
    Accumulator, CompiledProgram, Input, Operator, Phase, Program, Term, trial_program,
};
use gputexel_model::{Feature, FeatureKind, FeatureRow, FeatureSet, Imported, ImportedParameter, Prior};
use shakmaty::{Board, Color, Piece, Role, Square};

pub const COUNT: usize = 4096;
const POSITIONS: &[u8] = include_bytes!("../../data/positions.bin.zst");

/// Positions of one feature set, and parameters to evaluate them with.
#[derive(Debug)]
pub struct Sample {
    pub data: Dataset,
    pub theta: Vec<f64>,
}

pub fn piece_squares() -> Result<Sample> {
    let file = temporary(|path| {
        let bytes = zstd::decode_all(POSITIONS).map_err(|error| Error::io(path, error))?;
        std::fs::write(path, bytes).map_err(|error| Error::io(path, error))
    })?;
    let theta = Prior::default().theta(&file.metadata().feature_set)?;
    Ok(Sample { data: file, theta })
}

pub fn repeated(repeats: usize) -> Result<Sample> {
    let Sample { data, theta } = piece_squares()?;
    let games = 1 + (0..data.len()).map(|n| data.game(n)).max().unwrap_or(0);
    let data = written(data.metadata().feature_set.clone(), |writer| {
        let mut ids = Vec::new();
        for (repeat, n) in (0..repeats.max(1)).flat_map(|repeat| (0..data.len()).map(move |n| (repeat, n))) {
            let row = data.row(n);
            ids.clear();
            ids.extend(row.entries().map(|(id, _)| id));
            let white = row.entries().filter(|&(_, coefficient)| coefficient > 0.0).count() as u16;
            let stored = StoredRow { ids: &ids, white_entries: white, coefficients: &[], phase: row.phase };
            let game = Some(data.game(n) + repeat as u32 * games);
            writer.push_row(stored, PositionLabels { weight: 1.0, game, ..labels(&data, n) })?;
        }
        Ok(())
    })?;
    Ok(Sample { data, theta })
}

/// Returns every third position, with phases in steps of twelve: a tenth of the buckets, long enough that threads go
/// round their loops, and workgroups over their blocks, more than once.
pub fn in_long_buckets(source: &Sample) -> Result<Sample> {
    let data = written(source.data.metadata().feature_set.clone(), |writer| {
        let mut ids = Vec::new();
        for n in (0..source.data.len()).step_by(3) {
            let row = source.data.row(n);
            ids.clear();
            ids.extend(row.entries().map(|(id, _)| id));
            let white = row.entries().filter(|&(_, coefficient)| coefficient > 0.0).count() as u16;
            let phase = (row.phase + 6) / 12 * 12;
            let stored = StoredRow { ids: &ids, white_entries: white, coefficients: &[], phase };
            writer.push_row(stored, labels(&source.data, n))?;
        }
        Ok(())
    })?;
    Ok(Sample { data, theta: source.theta.clone() })
}

pub fn computed(source: &Sample, kind: FeatureKind) -> Result<Sample> {
    let set = FeatureSet::new(kind, source.data.metadata().feature_set.phase.clone());
    let theta = Prior::default().theta(&set)?;
    let data = written(set.clone(), |writer| {
        let mut row = FeatureRow::default();
        for n in 0..source.data.len() {
            set.compute(&board(&source.data, n), Color::White, &mut row);
            writer.push(&row, labels(&source.data, n))?;
        }
        Ok(())
    })?;
    Ok(Sample { data, theta })
}

/// Returns the positions with coefficients that are not ±1, offsets and endgame scale factors.
pub fn with_coefficients(source: &Sample) -> Result<Sample> {
    let old = &source.data.metadata().feature_set;
    let parameters = vec![ImportedParameter::default(); old.features.len()];
    let set =
        FeatureSet::try_imported(old.features.clone(), old.phase.clone(), Imported::new(4, parameters))?;
    let data = written_entries(source, set, |n| {
        let row = source.data.row(n);
        let mut sums: std::collections::BTreeMap<u16, f32> = std::collections::BTreeMap::new();
        for (id, coefficient) in row.entries() {
            *sums.entry(id).or_default() += coefficient * (0.5 + f32::from(id % 4));
        }
        sums.retain(|_, sum| *sum != 0.0);
        (sums.into_iter().collect(), if n % 8 == 0 && row.phase < 12 { 2 } else { 4 }, (n % 21) as f32 - 10.0)
    })?;
    Ok(Sample { data, theta: source.theta.clone() })
}

/// Positions with the entries, endgame scale factor and offset that `of` returns for each.
fn written_entries(
    source: &Sample,
    set: FeatureSet,
    of: impl Fn(usize) -> (Vec<(u16, f32)>, u16, f32),
) -> Result<Dataset> {
    written(set, |writer| {
        for n in 0..source.data.len() {
            let (entries, scale, offset_cp) = of(n);
            let (ids, coefficients): (Vec<u16>, Vec<f32>) = entries.into_iter().unzip();
            writer.push_imported(&ImportedPosition {
                ids: &ids,
                coefficients: &coefficients,
                phase: source.data.row(n).phase,
                scale,
                offset_cp,
                evaluation_cp: None,
                labels: labels(&source.data, n),
                board: Default::default(),
            })?;
        }
        Ok(())
    })
}

const PROGRAM_FEATURES: usize = 12;

fn program() -> Program {
    let mut program = trial_program([&[5, 6, 7], &[8, 9], &[10], &[11, 5]]);
    let of_room = |phase, operator, divide| Term {
        into: None,
        steps: 1.0,
        target: Phase::Eg,
        input: Input { accumulator: 3, phase },
        operator,
        times: None,
        scale: 1.0,
        shift: 0.0,
        over: None,
        divide,
    };
    let knots = vec![[0.0, 0.0], [20.0, 3.0], [60.0, 30.0], [120.0, 45.0]];
    let table = of_room(Phase::Mg, Operator::Table(knots), 1.0);
    program.terms.splice(3..3, [table, of_room(Phase::Eg, Operator::Square, 300.0)]);
    let sides = true;
    program.accumulators.push(Accumulator { name: "pressure".to_string(), sides, features: Vec::new() });
    program.terms.push(Term { into: Some(4), ..of_room(Phase::Mg, Operator::Relu, 2.0) });
    let input = Input { accumulator: 4, phase: Phase::Eg };
    program.terms.push(Term { input, ..of_room(Phase::Mg, Operator::Square, 500.0) });
    program
}

pub fn with_program(source: &Sample) -> Result<Sample> {
    let compiled = CompiledProgram::try_new(program(), PROGRAM_FEATURES)?;
    let names = (0..PROGRAM_FEATURES).map(|i| Feature { name: format!("f{i}"), group: "all".to_string() });
    let imported = Imported::new(1, vec![ImportedParameter::default(); PROGRAM_FEATURES]);
    let phase = source.data.metadata().feature_set.phase.clone();
    let set = FeatureSet::try_imported_program(names.collect(), phase, imported, Some(program()))?;
    let data = written_entries(source, set, |n| {
        let counts = Counts::of(&board(&source.data, n));
        let mut all: Vec<(usize, i32)> = (0..5).map(|role| (role, counts.material[role])).collect();
        for (column, &feature) in compiled.features_of_columns().iter().enumerate() {
            // Sums of accumulators with sides come in pairs, White's first; one without has a single one.
            let slot = compiled.slot_of_column(column);
            let Some(accumulator) = compiled.accumulator_of(slot) else { continue };
            let side = slot - compiled.slots_of(accumulator).start;
            all.push((column, counts.of_side[side][usize::from(feature)]));
        }
        let occurring = all.into_iter().filter(|&(_, value)| value != 0);
        (occurring.map(|(column, value)| (column as u16, value as f32)).collect(), 1, 0.0)
    })?;
    let mg = [90.0, 310.0, 330.0, 480.0, 950.0, 24.0, 35.0, 18.0, 0.0, 0.0, 0.0, 9.0];
    let eg = [110.0, 300.0, 320.0, 520.0, 960.0, 16.0, 12.0, 9.0, 4.0, -11.0, 13.0, 6.0];
    Ok(Sample { data, theta: mg.into_iter().chain(eg).collect() })
}

struct Counts {
    /// White's pieces minus Black's: pawns to queens.
    material: [i32; 5],
    of_side: [[i32; PROGRAM_FEATURES]; 2],
}

impl Counts {
    fn of(board: &Board) -> Self {
        let mut counts = Self { material: [0; 5], of_side: [[0; PROGRAM_FEATURES]; 2] };
        for (side, color) in [Color::White, Color::Black].into_iter().enumerate() {
            let own = board.by_color(color);
            let king = board.king_of(color.other());
            for (role, kind) in Role::ALL.into_iter().take(5).enumerate() {
                let pieces = board.by_role(kind) & own;
                counts.material[role] += [1, -1][side] * pieces.count() as i32;
                let close = |square: Square| king.is_some_and(|king| square.distance(king) <= 3);
                let near = pieces.into_iter().filter(|&square| close(square)).count() as i32;
                let feature = [None, Some(5), Some(5), Some(6), Some(7)][role];
                if let Some(feature) = feature {
                    counts.of_side[side][feature] += near;
                }
            }
            let pawns = (board.by_role(Role::Pawn) & own).count() as i32;
            counts.of_side[0][8] += pawns;
            counts.of_side[0][9] = 1;
            counts.of_side[side][10] = pawns;
            counts.of_side[side][11] =
                own.into_iter().filter(|&square| (16..48).contains(&u32::from(square))).count() as i32;
        }
        counts
    }
}

/// Returns the pieces of a piece-square row: White's have coefficient 1 and their own square, Black's the square
/// mirrored.
fn board(data: &Dataset, n: usize) -> Board {
    let mut board = Board::empty();
    for (id, coefficient) in data.row(n).entries() {
        let color = Color::from_white(coefficient > 0.0);
        let square = Square::new(u32::from(id) % 64);
        let square = if color.is_white() { square } else { square.flip_vertical() };
        board.set_piece_at(square, Piece { color, role: Role::ALL[usize::from(id) / 64 % 6] });
    }
    board
}

fn labels(data: &Dataset, n: usize) -> PositionLabels {
    let row = data.row(n);
    let score = data.search_scores().get(n).copied().filter(|score| !score.is_nan());
    // Weights that are not all 1.
    let weight = 0.5 + (n % 7) as f32 / 4.0;
    PositionLabels { result: row.result, score_cp: score, weight, game: Some(data.game(n)) }
}

fn written(set: FeatureSet, write: impl FnOnce(&mut DatasetWriter) -> Result<()>) -> Result<Dataset> {
    temporary(|path| {
        let mut writer = DatasetWriter::create(path, Metadata::new(set), true)?;
        write(&mut writer)?;
        writer.finish(Vec::new(), []).map(|_| ())
    })
}

fn temporary(write: impl FnOnce(&Path) -> Result<()>) -> Result<Dataset> {
    let folder = tempfile::tempdir().map_err(|error| Error::io(std::env::temp_dir(), error))?;
    let path = folder.path().join("positions.bin");
    write(&path)?;
    gputexel_dataset::read(&path)
}
