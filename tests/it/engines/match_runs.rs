//! Whole matches: the order in which pairs count, early ends, journals, games as PGN, and books.

use crate::common::players::{Scripted, Step, Whim, game, opening, rules, start};
use crate::common::prelude::*;
use gputexel::io::RunLog;
use gputexel::io::folder_lock::FolderLock;
use gputexel::matches::journal::{GamesFile, LOG, Opened, open};
use gputexel::matches::openings::{Book, Openings};
use gputexel::matches::scheduler::Players;
use gputexel::matches::{
    GameTags, MatchEvent, MatchResult, MatchSettings, PairSummary, Stop, Tally, run_match, to_pgn,
};
use std::io::Write;
use std::sync::atomic::AtomicU64;

fn settings(pairs: u64, concurrency: usize) -> MatchSettings {
    MatchSettings {
        names: ["a".into(), "b".into()],
        event: "test".into(),
        date: "2026.01.31".into(),
        rules: Rules {
            adjudication: Adjudication {
                win: Some(WinRule { score_cp: 300, plies: 4 }),
                draw: None,
                max_plies: Some(120),
            },
            ..rules("nodes=1")
        },
        pairs,
        concurrency,
        sprt: None,
        max_failures: 0,
    }
}

/// Records the events of a match; cancels after this many pairs.
#[derive(Default)]
struct Kept {
    pairs: BTreeMap<u64, PairSummary>,
    counted: Vec<u64>,
    journal: Option<RunLog<PairSummary>>,
}

/// Records events in `kept`, and sets `stop` after this many pairs.
fn watch<'a>(
    kept: &'a mut Kept,
    stop: &'a StopFlag,
    pairs: usize,
) -> impl FnMut(MatchEvent<'_>) -> gputexel::Result<()> + Send + 'a {
    move |event| {
        match event {
            MatchEvent::Counted(tally) => kept.counted.push(tally.games()),
            MatchEvent::Finished(pair) => {
                if let Some(journal) = &mut kept.journal {
                    journal.append(pair)?;
                }
                assert!(kept.pairs.insert(pair.pair, pair.clone()).is_none(), "pair {} twice", pair.pair);
                stop.store(kept.pairs.len() >= pairs, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

fn whims(engine: usize) -> gputexel::Result<Box<dyn Player>> {
    Ok(Box::new(Whim { name: ["a", "b"][engine].into(), seed: 100 * engine as u64 }))
}

fn run(settings: &MatchSettings, done: BTreeMap<u64, PairSummary>, kept: &mut Kept) -> MatchResult {
    run_with(settings, &Openings::bundled(3), &whims, done, kept).unwrap()
}

fn run_with(
    settings: &MatchSettings,
    openings: &Openings,
    make: &(dyn Fn(usize) -> gputexel::Result<Box<dyn Player>> + Sync),
    done: BTreeMap<u64, PairSummary>,
    kept: &mut Kept,
) -> gputexel::Result<MatchResult> {
    let stop = StopFlag::new();
    run_match(settings, openings, Players::new(make), done, &stop, &mut watch(kept, &stop, usize::MAX))
}

/// Removes values that differ from run to run.
fn timeless(mut pair: PairSummary) -> PairSummary {
    pair.games.iter_mut().for_each(|game| game.micros = [0; 2]);
    pair
}

fn timeless_tally(mut tally: Tally) -> Tally {
    tally.micros = [0; 2];
    tally
}

#[test]
fn results_do_not_depend_on_concurrency() {
    let mut one = Kept::default();
    let mut three = Kept::default();
    let first = run(&settings(12, 1), BTreeMap::new(), &mut one);
    let second = run(&settings(12, 3), BTreeMap::new(), &mut three);
    assert_eq!((first.stop, first.ahead), (Stop::AllPlayed, 0));
    assert_eq!(first.tally.games(), 24);
    assert_eq!(timeless_tally(first.tally.clone()), timeless_tally(second.tally));
    let games = |kept: Kept| kept.pairs.into_values().map(timeless).collect::<Vec<_>>();
    let all = games(one);
    assert_eq!(all, games(three));
    // The tally is that of the games, counted by hand.
    let (mut half_points, mut nodes) = (0, [0; 2]);
    for pair in &all {
        for (game, a_is_white) in pair.games.iter().zip([true, false]) {
            half_points += match (game.result.as_str(), a_is_white) {
                ("1/2-1/2", _) => 1,
                ("1-0", true) | ("0-1", false) => 2,
                _ => 0,
            };
            nodes[0] += game.nodes[0];
            nodes[1] += game.nodes[1];
        }
        assert!(
            pair.pgn.contains("[White \"a\"]\n[Black \"b\"]")
                && pair.pgn.contains("[White \"b\"]\n[Black \"a\"]")
        );
    }
    assert_eq!((first.tally.points(), first.tally.nodes), (f64::from(half_points) / 2.0, nodes));
    assert!(first.tally.pairs.counts.iter().filter(|count| **count > 0).count() > 1, "too alike to tell");
}

#[test]
fn a_sequential_test_decides_on_pairs_in_order() {
    // A mates at once, B gets only one move.
    let make = |engine: usize| -> gputexel::Result<Box<dyn Player>> {
        let mut player = Scripted::new(Vec::new());
        player.name = ["a", "b"][engine].into();
        player.steps = (0..200)
            .map(|_| match engine {
                0 => Step::Play("Ra8".into(), None),
                _ => Step::Fail(Failure::NoMove("resigns".into())),
            })
            .collect();
        Ok(Box::new(player))
    };
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book.epd");
    std::fs::write(&book, "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1\n").unwrap();
    let openings = Openings::read(Some(&book), 16, 1).unwrap();
    let mut totals = Vec::new();
    for concurrency in [1, 3] {
        let mut settings = settings(1000, concurrency);
        settings.sprt = Some("elo0=0,elo1=100".parse().unwrap());
        settings.max_failures = 1000;
        let mut kept = Kept::default();
        let result = run_with(&settings, &openings, &make, BTreeMap::new(), &mut kept).unwrap();
        assert_eq!(result.stop, Stop::Decided(SprtState::AcceptedH1));
        assert_eq!(result.tally.pairs.counts[4] * 2, result.tally.games());
        assert_eq!(result.tally.ends[&End::Checkmate], result.tally.ends[&End::NoMove]);
        totals.push(result.tally.games());
    }
    assert_eq!(totals[0], totals[1]);
    assert!(totals[0] < 100, "{totals:?}");
}

#[test]
fn tolerates_failures_up_to_a_limit() {
    let starts = AtomicU64::new(0);
    let make = |engine: usize| -> gputexel::Result<Box<dyn Player>> {
        let mut player = Scripted::new(vec![Step::Fail(Failure::Died("signal 11".into())); 20]);
        player.name = ["a", "b"][engine].into();
        if engine == 0 {
            starts.fetch_add(1, Ordering::Relaxed);
            return whims(0);
        }
        Ok(Box::new(player))
    };
    let mut settings = settings(100, 2);
    settings.max_failures = 7;
    let mut kept = Kept::default();
    let openings = Openings::bundled(1);
    let result = run_with(&settings, &openings, &make, BTreeMap::new(), &mut kept).unwrap();
    let Stop::Failures(text) = &result.stop else { panic!("{:?}", result.stop) };
    assert!(text.starts_with("b: failed in 8 of 8 games, last: died (signal 11)"), "{text}");
    assert_eq!((result.tally.failures, result.tally.points()), ([0, 8], 8.0));
    // An engine that cannot be started is not an opponent: no game is counted.
    let make = |engine: usize| -> gputexel::Result<Box<dyn Player>> {
        let mut player = Scripted::new(Vec::new());
        player.name = ["a", "b"][engine].into();
        player.not_ready = Some(Failure::NotStarted("no such file".into()));
        Ok(Box::new(player))
    };
    let mut kept = Kept::default();
    let error = run_with(&settings, &openings, &make, BTreeMap::new(), &mut kept);
    assert_eq!(error.unwrap_err().to_string(), "a: cannot be started: no such file");
    assert!(kept.pairs.is_empty());
}

/// Creates a journal in a folder, locked against other processes.
fn begun<T: serde::Serialize>(folder: &Path, config: &T) -> RunLog<PairSummary> {
    RunLog::create(&FolderLock::acquire(folder).unwrap(), LOG, config).unwrap()
}

fn opened<T: serde::de::DeserializeOwned>(folder: &Path) -> gputexel::Result<Opened<T>> {
    open(&FolderLock::acquire(folder)?)
}

#[test]
#[ignore = "full"]
fn killed_match_resumes_from_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    let config = "a configuration".to_string();
    let whole = folder.path().join("whole");
    std::fs::create_dir(&whole).unwrap();
    let settings = settings(8, 1);
    let mut kept = Kept { journal: Some(begun(&whole, &config)), ..Kept::default() };
    let result = run(&settings, BTreeMap::new(), &mut kept);
    drop(kept);
    let bytes = std::fs::read(whole.join("match.jsonl")).unwrap();
    let header = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
    let (journal, _, all) = opened::<String>(&whole).unwrap();
    drop(journal);
    assert_eq!(all.len(), 8);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut cuts: Vec<usize> = (0..6).map(|_| random.random_range(header..bytes.len())).collect();
    cuts.extend([header, bytes.len() - 1, bytes.len()]);
    for cut in cuts {
        let torn = folder.path().join(format!("torn-{cut}"));
        std::fs::create_dir(&torn).unwrap();
        std::fs::write(torn.join("match.jsonl"), &bytes[..cut]).unwrap();
        let (journal, read, done) = opened::<String>(&torn).unwrap();
        assert_eq!(read, config);
        let complete = bytes[header..cut].iter().filter(|b| **b == b'\n').count();
        assert_eq!(done.len(), complete, "cut at {cut}");
        let mut kept = Kept { journal: Some(journal), ..Kept::default() };
        let resumed = run(&settings, done, &mut kept);
        assert_eq!(kept.pairs.len(), 8 - complete);
        drop(kept);
        assert_eq!(timeless_tally(resumed.tally), timeless_tally(result.tally.clone()));
        let (_, _, again) = opened::<String>(&torn).unwrap();
        let timeless =
            |pairs: &BTreeMap<u64, PairSummary>| pairs.values().cloned().map(timeless).collect::<Vec<_>>();
        assert_eq!(timeless(&again), timeless(&all));
        let lines = std::fs::read_to_string(torn.join("match.jsonl")).unwrap().lines().count();
        assert_eq!(lines, 9, "a pair is written twice or lost");
    }
    // Without its first line a journal is invalid; a damaged line in the middle is not skipped.
    std::fs::write(whole.join("match.jsonl"), &bytes[..header - 1]).unwrap();
    let error = opened::<String>(&whole).unwrap_err().to_string();
    assert!(error.ends_with("contains no configuration; no games were played"), "{error}");
    let mut damaged = bytes.clone();
    damaged[header + 2] = b'!';
    std::fs::write(whole.join("match.jsonl"), &damaged).unwrap();
    assert!(opened::<String>(&whole).unwrap_err().to_string().contains("match.jsonl:2: "));
}

#[test]
#[ignore = "full"]
fn one_process_at_a_time_and_every_pair_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = Kept::default();
    run(&settings(2, 1), BTreeMap::new(), &mut kept);
    let mut journal = begun(folder.path(), &1);
    let error = opened::<i32>(folder.path()).unwrap_err().to_string();
    assert!(error.contains("is being written by this process already"), "{error}");
    for pair in [0, 1, 1, 0] {
        journal.append(&kept.pairs[&pair]).unwrap();
    }
    drop(journal);
    assert_eq!(opened::<i32>(folder.path()).unwrap().2, kept.pairs);
    // Games are written in the order of pairs, in whatever order they arrive.
    let path = folder.path().join("games.pgn");
    let mut games = GamesFile::create(&path).unwrap();
    for (pair, text) in [(1, "b"), (0, "a"), (4, "e"), (2, "c")] {
        games.add(pair, text).unwrap();
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    games.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"abce");
    // Missing games are reported.
    let games = GamesFile::create(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(cfg!(not(unix)) || games.finish().unwrap_err().to_string().contains("was removed"));
}

#[test]
fn games_are_read_back_with_their_scores() {
    let chess960 = opening("qr1b1nkr/p1pppppp/bp3n2/8/3P4/4BN2/PPP1PPPP/QR1B1NKR w KQkq - 2 4");
    assert!(chess960.chess960);
    let black = opening("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
    let steps = |moves: &str, scores: &[Score]| -> Vec<Step> {
        moves.split(' ').zip(scores).map(|(san, score)| Step::Play(san.into(), Some(*score))).collect()
    };
    use Score::{Centipawns as Cp, Mate};
    let scores = [Cp(35), Cp(-120), Cp(0), Mate(3), Mate(-2), Cp(7)];
    for (begin, moves) in [
        (chess960, "Ng3 Ng6 O-O O-O c3 c6"),
        (black, "e5 Nf3 Nc6 Bb5 a6 Ba4"),
        (start(), "e4 e5 Nf3 Nc6 Bb5 a6"),
    ] {
        let mut rules = rules("nodes=100");
        rules.adjudication.max_plies = Some(6);
        let record = game(&begin, steps(moves, &scores), &rules);
        assert_eq!((record.end, record.moves.len()), (End::TooLong, 6));
        let tags = GameTags {
            event: "a \"quoted\" \\ name\n",
            date: "2026.01.31",
            round: "1.1".into(),
            names: ["a", "b"],
            time_controls: rules.time_controls,
        };
        let text = to_pgn(&record, &tags);
        assert!(text.lines().all(|line| line.len() <= 80 || line.starts_with('[')), "{text}");
        let selection =
            Selection { skip_plies: 0, keep_checks: true, keep_captures: true, ..Selection::default() };
        let batch = read_pgn(text.as_bytes(), 1, &selection);
        assert!(batch.complaints.is_empty(), "{:?}", batch.complaints);
        assert_eq!((batch.records, batch.samples.len()), (1, 7), "{text}");
        let mut position = begin.start.clone();
        for (i, sample) in batch.samples.iter().enumerate() {
            assert_eq!((&sample.board, sample.turn, sample.result), (position.board(), position.turn(), 0.5));
            let Some(played) = record.moves.get(i) else {
                assert!(sample.score_cp.is_nan());
                break;
            };
            let mover = match scores[i] {
                Cp(cp) => cp as f32,
                Mate(moves) => 30_000.0f32.copysign(moves as f32),
            };
            let white = if sample.turn.is_white() { mover } else { 0.0 - mover };
            assert_eq!(sample.score_cp, white, "ply {i}: {text}");
            position.play_unchecked(played.m);
        }
    }
}

fn write_book(folder: &Path, name: &str, text: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn books_report_unusable_lines() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\
# a comment

rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -
rnbqkbnr/pppppppp/8/8/3P4/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1; id \"x\"; bm e4;
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - hmvc 3; fmvn 9;
qr1b1nkr/p1pppppp/bp3n2/8/3P4/4BN2/PPP1PPPP/QR1B1NKR w KQkq - 2 4
nonsense
8/8/8/8/8/8/8/8 w - -
7k/5Q2/6K1/8/8/8/8/8 b - - 0 1
4k3/8/8/8/8/8/8/4K3 w - - 0 1
4k3/7p/8/8/8/8/P7/4K3 w - - 100 90
";
    let long = format!("{text}{}\n4k3/7p/8/8/8/8/P7/4K3 w - - 0 1", "x".repeat(100_000));
    let plain = write_book(folder.path(), "book.epd", long.as_bytes());
    let book = Book::read(&plain, 16).unwrap();
    assert_eq!((book.len(), book.bad, book.duplicates), (4, 6, 1));
    let name = plain.display().to_string();
    let complaints: Vec<&str> =
        book.complaints.iter().map(|text| text.strip_prefix(&name).unwrap()).collect();
    assert_eq!(
        complaints,
        [
            ":7: not a position: the piece placement cannot be read",
            ":8: illegal position: not one king a side",
            ":9: the game is over: stalemate",
            ":10: the game is over: insufficient material",
            ":11: the game is over: 50 moves without capture or pawn move",
        ]
    );
    let chess960: Vec<bool> = (0..4).map(|i| book.opening(i).chess960).collect();
    assert_eq!(chess960, [false, false, true, false]);
    // Compressed, it is the same book.
    let zst = write_book(folder.path(), "b.zst", &zstd::encode_all(long.as_bytes(), 1).unwrap());
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(long.as_bytes()).unwrap();
    let gz = write_book(folder.path(), "b.gz", &gz.finish().unwrap());
    for packed in [zst, gz] {
        let again = Book::read(&packed, 16).unwrap();
        assert_eq!((again.len(), again.checksum.as_str()), (4, book.checksum.as_str()));
    }
    let bad = write_book(folder.path(), "bad.epd", b"x\ny\n");
    let error = Book::read(&bad, 16).unwrap_err().to_string();
    assert_has(&error, ["none of its 2 lines can be used; the first: ", "bad.epd:1: not a position"]);
    let empty = write_book(folder.path(), "empty.epd", b"\n# nothing\n");
    assert!(Book::read(&empty, 16).unwrap_err().to_string().ends_with("contains no openings"));
}

#[test]
fn books_of_games_give_their_first_moves() {
    let folder = tempfile::tempdir().unwrap();
    let games = "\
[Event \"1\"]

1. e4 e5 2. Nf3 {good} Nc6 (2... d6) 3. Bb5 1-0

[Event \"2\"]

1. e4 e5 2. Nf3 Nc6 3. Bc4 *

[Event \"3\"]

1. d4 d5 2. Qh5 *

[Event \"4\"]
[FEN \"4k3/7p/8/8/8/8/P7/4K3 b - - 0 1\"]

1... h5 2. a4 *

[Event \"5\"]

*
";
    let path = write_book(folder.path(), "book.pgn", games.as_bytes());
    let book = Book::read(&path, 4).unwrap();
    // The second is the first after four plies.
    assert_eq!((book.len(), book.bad, book.duplicates), (2, 2, 1));
    assert!(
        book.complaints[0].ends_with("book.pgn: game 3: the move Qh5 is not legal"),
        "{:?}",
        book.complaints
    );
    assert!(book.complaints[1].ends_with("book.pgn: game 5: no moves"), "{:?}", book.complaints);
    let first = book.opening(0);
    let fen = |opening: &gputexel::matches::openings::Opening| {
        shakmaty::fen::Fen::from_position(&opening.position(), shakmaty::EnPassantMode::Legal).to_string()
    };
    assert_eq!(fen(&first), "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3");
    assert_eq!(fen(&book.opening(1)), "4k3/8/8/7p/P7/8/8/4K3 b - - 0 2");
    assert_eq!(Book::read(&path, 5).unwrap().duplicates, 0);
}

#[test]
fn orders_cover_the_whole_book() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> =
        (0..20).map(|i| format!("4k3/7p/8/8/8/8/{}P{}/4K3 w - - {i} 1", i % 7 + 1, 6 - i % 7)).collect();
    let text = lines.iter().map(|l| l.replace("P0", "P") + "\n").collect::<String>();
    let book = Book::read(&write_book(folder.path(), "b.epd", text.as_bytes()), 16).unwrap();
    let count = book.len() as u64;
    assert_eq!((count, book.duplicates), (7, 13));
    let starts = |openings: &Openings, from: u64| -> Vec<String> {
        (from..from + count).map(|i| format!("{:?}", openings.get(i).start.board())).collect()
    };
    let random = |seed| Openings::of_book(book.clone(), seed);
    assert_ne!(starts(&random(1), 0), starts(&random(2), 0));
    assert_eq!(starts(&random(1), 0), starts(&random(1), count));
    assert_eq!(starts(&random(2), 0).into_iter().collect::<HashSet<_>>().len() as u64, count);
}

#[test]
fn cancelled_match_keeps_finished_games() {
    let mut kept = Kept::default();
    let stop = StopFlag::new();
    let settings = settings(100_000, 2);
    let openings = Openings::bundled(3);
    let begin = std::time::Instant::now();
    let result = run_match(
        &settings,
        &openings,
        Players::new(whims),
        BTreeMap::new(),
        &stop,
        &mut watch(&mut kept, &stop, 5),
    )
    .unwrap();
    assert_eq!(result.stop, Stop::Cancelled);
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!(result.tally.games() / 2 + result.ahead, kept.pairs.len() as u64);
    assert!(kept.counted.windows(2).all(|pair| pair[0] + 2 == pair[1]));
}
