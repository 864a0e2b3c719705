//! Input from engines, their users and other machines, by line or by message.

use std::io::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use gputexel_chess::PhaseSettings;
use gputexel_ingest::tracing::TraceCommand;
use gputexel_model::{FeatureKind, FeatureSet, Prior};
use gputexel_play::client::{EngineCommand, Setting, heard};
use gputexel_play::engine::uci;
use gputexel_play::openings::{Book, Openings, Order};
use gputexel_play::probe::EvalPattern;
use gputexel_play::probe::answer::Said;
use gputexel_play::statistics::Sprt;
use gputexel_play::{Side, TimeControl};
use shakmaty::{CastlingMode, Chess, Position as _};

/// Returns the position of the first line, and the other lines.
fn position_and_lines(data: &[u8]) -> Option<(Chess, &str)> {
    let text = std::str::from_utf8(data).ok()?;
    let (first, rest) = text.split_once('\n')?;
    let Ok((setup, _)) = gputexel_chess::fen::parse_fen(first.as_bytes()) else {
        return Some((Chess::default(), rest));
    };
    let position = gputexel_chess::fen::legal_position(setup, CastlingMode::Standard).ok()?;
    Some((position, rest))
}

/// `engines.toml`: every engine in it has a command line.
pub(crate) fn engine_list(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("engines.toml");
    std::fs::write(&file, data).expect("room for a temporary file");
    for name in ["a", "crafty", ""] {
        if let Ok(side) = Side::named_in(name, std::slice::from_ref(&file)) {
            let shown = format!("{side:?}");
            assert!(shown.contains("cmd:"), "{shown}");
            let _ = side.describe();
        }
    }
}

/// Answers of an engine that is asked for evaluations, after a pattern in the first line. A pattern that is found reads
/// a number in the answers, and survives being written.
pub(crate) fn eval_answer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let answers: Vec<Vec<String>> =
        rest.split("readyok").map(|answer| answer.lines().map(str::to_string).collect()).collect();
    let is_number =
        |said: Option<Said>| matches!(said, Some(Said::Evaluation(number)) if number.value.is_finite());
    if let Some(found) = EvalPattern::find(&answers) {
        assert!(answers.iter().flatten().any(|line| is_number(found.read(line))), "{found}");
        assert_eq!(found.to_string().parse::<EvalPattern>().ok(), Some(found));
    }
    if let Ok(pattern) = first.parse::<EvalPattern>() {
        for line in answers.iter().flatten() {
            let said = pattern.read(line);
            assert!(is_number(said) || matches!(said, None | Some(Said::Nothing)), "{line}");
        }
    }
}

/// Output of a UCI engine, after a position: at once, and after an `isready`. A choice is a legal move.
pub(crate) fn uci_engine(data: &[u8]) {
    let Some((position, lines)) = position_and_lines(data) else { return };
    let (_, late) = heard::uci(lines, &position, true);
    let (options, choice) = heard::uci(lines, &position, false);
    for option in options {
        for value in ["", "1", "true", "a text", "-7"] {
            if let Ok(line) = heard::setting(&option, value) {
                assert!(!line.contains('\n') && line.starts_with("setoption name "), "{line}");
            }
        }
    }
    for choice in [late, choice].into_iter().flatten().flatten() {
        assert!(position.is_legal(choice.m));
    }
}

static PLAYER: LazyLock<(FeatureSet, Vec<f64>)> = LazyLock::new(|| {
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("piece values fit");
    (set, theta)
});

/// Returns true if a line requests too much for the test: memory, or a search that nobody stops.
fn asks_for_much(line: &[u8]) -> bool {
    let lower = line.to_ascii_lowercase();
    let has = |word: &[u8]| lower.windows(word.len()).any(|part| part == word);
    has(b"hash") && lower.iter().filter(|byte| byte.is_ascii_digit()).count() > 2
}

/// Input of the built-in engine from a user's program. All of it is obeyed or ignored.
pub(crate) fn uci_gui(data: &[u8]) {
    let mut input = Vec::new();
    for line in data.split(|&byte| byte == b'\n').filter(|line| !asks_for_much(line)).take(200) {
        input.extend_from_slice(line);
        input.push(b'\n');
        // Searches would take as long as requested.
        if line.trim_ascii_start().starts_with(b"go") || line.windows(3).any(|part| part == b"go ") {
            input.extend_from_slice(b"stop\n");
        }
    }
    input.extend_from_slice(b"quit\n");
    let mut output = Vec::new();
    let (set, theta) = PLAYER.clone();
    uci::serve(&input[..], &mut output, set, theta, 1).expect("valid settings");
    let text = String::from_utf8(output).expect("answers are text");
    assert!(text.lines().all(|line| !line.contains('\r')));
}

/// A book of openings, games or positions: every opening is legal.
pub(crate) fn openings(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("room for a temporary file");
    for plies in [0, 8] {
        let Ok(book) = Book::read(file.path(), plies) else { continue };
        assert!(!book.is_empty());
        for index in 0..book.len().min(50) {
            let opening = book.opening(index);
            let mut position = opening.start.clone();
            for m in &opening.moves {
                assert!(position.is_legal(*m));
                position.play_unchecked(*m);
            }
        }
        let openings = Openings::of_book(book, Order::default(), 7);
        for pair in [0, 1, 1000, u64::MAX] {
            let _ = openings.get(pair).position();
        }
    }
}

/// Values that command lines and files write as one word or one line.
pub(crate) fn words(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    /// Parses a value, and checks that it survives a round trip.
    macro_rules! again {
        ($($type:ty),*) => {$(
            if let Ok(value) = text.parse::<$type>() {
                let written = value.to_string();
                let again = written.parse::<$type>().ok().map(|value| value.to_string());
                assert_eq!(again.as_deref(), Some(written.as_str()), "{}: '{text}'", stringify!($type));
            }
        )*};
    }
    macro_rules! read {
        ($($type:ty),*) => {$(let _ = text.parse::<$type>();)*};
    }
    again!(Prior, TimeControl, gputexel_chess::scale::ResultScale, gputexel_dataset::objective::LossKind);
    read!(
        Sprt,
        Setting,
        gputexel_model::Basis,
        gputexel_model::SquareOrder,
        gputexel_tune::run::BlendShare,
        gputexel_spsa::planner::Guess,
        gputexel_optim::Schedule,
        gputexel_source::tables::Rounding,
        gputexel_source::tables::Normalization,
        gputexel_source::SourceLines
    );
    let _ = TimeControl::parse_clock(text);
    let _ = gputexel_io::parse_bytes(text);
    let _ = PhaseSettings::parse(text);
    let _ = TraceCommand::try_new(text, 1.0);
    let _ = gputexel_tune::sweep::Axis::parse(text, &[], 1.0);
    let _ = gputexel_model::parse_penalties(&PLAYER.0, text);
    if let Ok(command) = text.parse::<EngineCommand>()
        && let Ok(line) = command.to_command_line()
    {
        let again: EngineCommand = line.parse().expect("what is quoted can be read");
        assert_eq!((again.program, again.arguments), (command.program, command.arguments), "{line}");
    }
    let shown = gputexel_io::shown(text);
    assert!(!shown.contains(char::is_control), "{shown:?}");
    assert!(!gputexel_io::printable(text).contains('\u{1b}'));
    let _ = gputexel_io::folder_lock::is_leftover(Path::new(text).as_os_str());
}
