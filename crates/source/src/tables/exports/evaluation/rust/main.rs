
/// Reads lines that begin with a FEN and prints them as FEN | SCORE | 0.5, scores from White's view, which is what
/// `gputexel verify` reads.
#[cfg(evaluation_main)]
fn main() {
    for line in std::io::stdin().lines() {
        let line = line.expect("lines of text");
        let fen = line.split('|').next().unwrap_or_default().trim_end();
        if fen.is_empty() {
            continue;
        }
        let Some(position) = read_fen(fen) else {
            eprintln!("not a position: {fen}");
            std::process::exit(1);
        };
        let score = evaluate(&position);
        println!("{fen} | {} | 0.5", if position.side_to_move == WHITE { score } else { -score });
    }
}
