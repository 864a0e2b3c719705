//! Header lines of columns and the meaning of their titles.

use super::labels::Remainder;
use super::text::{Columns, DELIMITERS, Places, split_columns};

const POSITIONS: &[&str] = &["fen", "epd", "position", "board"];
const RESULTS: &[&str] = &["result", "wdl", "outcome", "label", "target", "game_result", "white_result"];

const PERCENT: &[&str] = &[
    "result_percent",
    "result%",
    "result_pct",
    "wdl_percent",
    "wdl%",
    "white_percent",
    "white%",
    "win_percent",
    "win%",
    "win_pct",
    "score_percent",
    "percent",
];

/// Titles of columns of scores; the first of them mean centipawns.
const SCORES: &[&str] = &["cp", "score_cp", "centipawns", "score", "eval", "evaluation"];
const CENTIPAWNS: usize = 3;

const GAMES: &[&str] = &["game", "game_id", "game_number"];

fn titles(line: &[u8], delimiter: u8) -> Vec<String> {
    // "Win %" is "win%", "Result percent" is "result_percent".
    let title = |title: &Vec<u8>| {
        let title = String::from_utf8_lossy(title).trim().to_ascii_lowercase();
        title.replace(" %", "%").replace(' ', "_")
    };
    split_columns(line, delimiter).iter().map(title).collect()
}

pub(super) fn find_columns(line: &[u8], header_line: u64, wants_scores: bool) -> Option<Columns> {
    DELIMITERS.into_iter().find_map(|delimiter| {
        let titles = titles(line, delimiter);
        let find = |names: &[&str]| names.iter().find_map(|name| titles.iter().position(|t| t == name));
        let named = find(RESULTS);
        let (result, score) = (named.or_else(|| find(PERCENT)), find(SCORES));
        if result.is_none() && !(wants_scores && score.is_some()) {
            return None;
        }
        let (fen, game) = (find(POSITIONS)?, find(GAMES));
        let used = [Some(fen), result, score, game];
        let others = titles.iter().enumerate().filter(|(i, _)| !used.contains(&Some(*i)));
        let remainder = |title: &str| {
            let mut words = title.split(|c: char| !c.is_ascii_alphanumeric());
            match score.is_none() && words.any(|word| SCORES.contains(&word)) {
                true => Remainder::Score,
                false => Remainder::Text,
            }
        };
        Some(Columns {
            header_line,
            delimiter,
            fen,
            places: Places { result, score },
            percent: named.is_none() && result.is_some(),
            centipawns: score.is_some_and(|at| SCORES[..CENTIPAWNS].contains(&titles[at].as_str())),
            game,
            unread: others.map(|(_, title)| remainder(title)).max().unwrap_or_default(),
        })
    })
}

/// Returns the column that a header line lacks if it names some columns, but not all that are needed, and
/// true if it names scores.
pub(super) fn lacking_column(line: &[u8]) -> Option<(String, bool)> {
    DELIMITERS.into_iter().find_map(|delimiter| {
        let titles = titles(line, delimiter);
        let find = |names: &[&str]| titles.iter().find(|title| names.contains(&title.as_str()));
        if titles.len() < 2 {
            return None;
        }
        match (find(POSITIONS), find(RESULTS), find(SCORES)) {
            (Some(fen), None, score) => {
                let scores = match score {
                    Some(score) => format!("; '{score}' is a score, no result"),
                    None => format!(" or scores ({})", SCORES.join(", ")),
                };
                let results = RESULTS.join(", ");
                let reason =
                    format!("the header line has a column '{fen}', but none of results ({results}){scores}");
                Some((reason, score.is_some()))
            }
            (None, Some(result), _) => {
                let positions = POSITIONS.join(", ");
                let reason =
                    format!("the header line has a column '{result}', but none of positions ({positions})");
                Some((reason, false))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_titles() {
        let find = |line: &str, wants| find_columns(line.as_bytes(), 1, wants);
        let columns = find("ply,FEN,Evaluation,Outcome", false).unwrap();
        assert_eq!((columns.fen, columns.places), (1, Places { result: Some(3), score: Some(2) }));
        assert_eq!((columns.centipawns, columns.unread), (false, Remainder::Text));
        assert!(find("fen\tcp\tresult", false).unwrap().centipawns);
        assert_eq!(find("fen,eval", false), None);
        assert_eq!(find("fen,eval", true).unwrap().places, Places { result: None, score: Some(1) });
        assert_eq!(find("fen,result,sf_eval", false).unwrap().unread, Remainder::Score);
        assert_eq!(find("fen,result,score,sf_eval", false).unwrap().unread, Remainder::Text);
        assert_eq!(find("fen,result", true).unwrap().unread, Remainder::Nothing);
    }

    #[test]
    fn what_is_missing_is_named() {
        let lacking = |line: &str| lacking_column(line.as_bytes()).unwrap_or_default();
        assert!(lacking("Hash,Ply,GamePly,FEN,Score").0.contains("'fen', but none of results"));
        let (reason, scores) = lacking("FEN,Evaluation");
        assert!(reason.contains("'evaluation' is a score") && scores, "{reason}");
        assert!(lacking("fen,depth").0.contains("or scores (cp, "));
        assert!(lacking("result;moves").0.contains("none of positions"));
        assert_eq!(lacking("fen,result").0, "");
        assert_eq!(lacking("fen").0, "");
    }
}
