//! Throughput of the readers on generated input, one thread, without files: positions/s and
//! bytes/s of decompressed text.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gputexel::chess::labels::LabelSyntax;
use gputexel::chess::pgn::read_pgn;
use gputexel::chess::selection::Selection;
use gputexel::chess::text::{PointOfView, TextFormat, read_text};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, EnPassantMode, Position};

/// Returns games of random legal moves: their text with engine comments, and their positions as FENs.
fn random_games(count: usize) -> (String, Vec<String>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut text, mut fens) = (String::new(), Vec::new());
    for _ in 0..count {
        text += "[Event \"bench\"]\n[Result \"1/2-1/2\"]\n\n";
        let mut position = Chess::default();
        for ply in 0..100 {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            let next = moves[rng.random_range(0..moves.len())];
            if ply % 2 == 0 {
                text += &format!("{}. ", ply / 2 + 1);
            }
            text += &format!("{} {{+0.35/12 2000}} ", SanPlus::from_move(position.clone(), next));
            position.play_unchecked(next);
            fens.push(Fen::from_position(&position, EnPassantMode::Legal).to_string());
        }
        text += "1/2-1/2\n\n";
    }
    (text, fens)
}

fn readers(criterion: &mut Criterion) {
    let (games, fens) = random_games(200);
    let lines: String = fens.iter().map(|fen| format!("{fen} c9 \"1-0\";\n")).collect();
    let selection = Selection::default();
    let format = TextFormat::new(LabelSyntax::Opcode, PointOfView::White);

    let mut group = criterion.benchmark_group("positions");
    group.throughput(Throughput::Elements(fens.len() as u64));
    group.bench_function("text", |b| b.iter(|| read_text(lines.as_bytes(), 1, &format, &selection)));
    group.bench_function("pgn", |b| b.iter(|| read_pgn(games.as_bytes(), 1, &selection)));
    group.finish();

    let mut group = criterion.benchmark_group("bytes");
    group.throughput(Throughput::Bytes(games.len() as u64));
    group.bench_function("pgn", |b| b.iter(|| read_pgn(games.as_bytes(), 1, &selection)));
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
