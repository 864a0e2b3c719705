//! Presets on public games, compared with a plain implementation: whole games in vectors, FEN strings as keys,
//! without the program's own readers or rules.

use crate::common::prelude::*;
use gputexel::chess::sample::position_key;
use gputexel::chess::selection::{Preset, Resolve};
use gputexel::extraction::Progress;
use shakmaty::Move;
use std::io::Read as _;

struct Plain {
    result: f32,
    positions: Vec<Chess>,
    moves: Vec<Move>,
}

fn games(path: &Path, count: usize) -> Vec<Plain> {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    zstd::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
    text.split("[Event \"").skip(1).take(count).map(read_game).collect()
}

fn read_game(text: &str) -> Plain {
    let result = match text.split("[Result \"").nth(1).unwrap().split('"').next().unwrap() {
        "1-0" => 1.0,
        "0-1" => 0.0,
        "1/2-1/2" => 0.5,
        other => panic!("{other}"),
    };
    assert!(!text.contains("[FEN"));
    let movetext: String =
        text.lines().skip(1).filter(|line| !line.starts_with('[')).collect::<Vec<_>>().join(" ");
    // Braces do not nest, and these files have no other comments.
    let mut plain = String::new();
    for part in movetext.split('}') {
        let (outside, _) = part.split_once('{').unwrap_or((part, ""));
        plain += outside;
        plain.push(' ');
    }
    let (mut positions, mut moves) = (vec![Chess::default()], Vec::new());
    let mut depth = 0;
    for word in plain.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ if depth > 0 || word.starts_with('$') => {}
            "1-0" | "0-1" | "1/2-1/2" | "*" => break,
            _ => {
                let word = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
                if word.is_empty() {
                    continue;
                }
                let position = positions.last().unwrap();
                let san: SanPlus =
                    word.trim_end_matches(['!', '?']).parse().unwrap_or_else(|_| panic!("{word}"));
                let m = san.san.to_move(position).unwrap_or_else(|_| panic!("{word}"));
                positions.push(position.clone().play(m).unwrap());
                moves.push(m);
            }
        }
    }
    Plain { result, positions, moves }
}

/// Returns the (game, ply) pairs that a preset keeps, in order, as described in the study.
fn kept(games: &[Plain], preset: Preset) -> Vec<(usize, usize)> {
    let mut seen = HashSet::new();
    let mut list = Vec::new();
    for (number, game) in games.iter().enumerate() {
        let checks: Vec<bool> = game.positions.iter().map(Position::is_check).collect();
        let captures: Vec<bool> = game.moves.iter().map(|m| m.is_capture()).collect();
        // An event at ply i takes out i - 5 to i.
        let near = |events: &[bool], ply: usize| events.iter().skip(ply).take(6).any(|event| *event);
        for (ply, position) in game.positions.iter().enumerate() {
            let over = ply + 1 == game.positions.len() && position.legal_moves().is_empty();
            if over || near(&checks, ply) || (preset == Preset::Quiet && near(&captures, ply)) {
                continue;
            }
            let count = position.board().occupied().count();
            let pawns = position.board().by_role(Role::Pawn).count();
            if (preset == Preset::Drop4 && count - pawns <= 4) || (preset == Preset::Drop30 && count > 30) {
                continue;
            }
            let duplicates = matches!(preset, Preset::Capt | Preset::Quiet);
            let fen = Fen::from_position(position, EnPassantMode::Legal).to_string();
            let key = fen.split(' ').take(4).collect::<Vec<_>>().join(" ");
            if !duplicates && !seen.insert(key) {
                continue;
            }
            if preset == Preset::Nodraw && game.result == 0.5 {
                continue;
            }
            list.push((number, ply));
        }
    }
    list
}

/// Extracts the first games of a file; returns the dataset, and the keys of the positions of its rows.
fn extract(path: &Path, count: usize, selection: Selection, kind: FeatureKind) -> (Dataset, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let mut text = Vec::new();
    zstd::Decoder::new(std::fs::File::open(path).unwrap()).unwrap().read_to_end(&mut text).unwrap();
    let end = memchr::memmem::find_iter(&text, b"[Event \"").nth(count).unwrap_or(text.len());
    let input = folder.path().join("g.pgn");
    std::fs::write(&input, &text[..end]).unwrap();
    let mut settings = ExtractSettings::new(FeatureSet::new(kind, PhaseSettings::default()));
    settings.selection = selection;
    settings.threads = 2;
    let output = folder.path().join("d.bin");
    let cancel = AtomicBool::new(false);
    let mut hooks = Hooks { cancel: &cancel, progress: &mut |_: Progress| {} };
    let (_, leaves) = extract_with_leaves(&[input], &settings, &output, &mut hooks).unwrap();
    let data = dataset::read(&output).unwrap();
    assert_eq!(data.len(), leaves.len());
    (data, leaves.into_iter().map(|leaf| leaf.leaf).collect())
}

#[test]
#[ignore = "full"]
fn presets_match_the_study() {
    for (name, count) in [("tcec", 500), ("gm", 500), ("gm", usize::MAX)] {
        let Some(path) = shared(&format!("pgn/{name}.pgn.zst")) else { return };
        let games = games(&path, count);
        let mut sets = HashMap::new();
        for preset in Preset::ALL {
            let wanted = kept(&games, preset);
            let selection = Selection { resolve: Resolve::None, ..preset.selection() };
            let (data, keys) = extract(&path, count, selection, FeatureKind::Material);
            assert_eq!(data.len(), wanted.len(), "{name} {}", preset.name());
            let (mut last, mut next) = (None, 0);
            for (row, &(game, ply)) in wanted.iter().enumerate() {
                if last != Some(game) {
                    last = Some(game);
                    next += 1;
                }
                let key = position_key(&games[game].positions[ply]);
                assert_eq!(
                    (keys[row], data.game(row), data.results()[row]),
                    (key, next - 1, games[game].result),
                    "{name} {}: row {row}, game {game}, ply {ply}",
                    preset.name()
                );
            }
            eprintln!("{name}, {} games, {}: {} positions", games.len(), preset.name(), wanted.len());
            sets.insert(preset.name(), wanted.into_iter().collect::<BTreeSet<_>>());
        }
        for (part, whole) in [
            ("quiet", "capt"),
            ("unique", "capt"),
            ("nodraw", "unique"),
            ("drop4", "unique"),
            ("drop30", "unique"),
        ] {
            assert!(sets[part].is_subset(&sets[whole]), "{part} of {whole}");
            assert!(sets[part].len() < sets[whole].len(), "{part} of {whole}: nothing is left out");
        }
    }
}
