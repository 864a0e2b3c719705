//! Traces of positions, and values.

use super::super::lines::{Outcome, each_line};
use super::{PLAYING, TAPE, Values, tape};
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{ExitCode, exit};

/// Traces the positions on standard input, lines `GAME RESULT FEN [SCORE] [WEIGHT]`. The evaluation is White's view.
pub fn trace<R: Outcome>(evaluate: impl FnMut(&str) -> R) -> ExitCode {
    let (arguments, input, output) =
        (std::env::args().skip(1), std::io::stdin().lock(), std::io::stdout().lock());
    match trace_from(arguments, input, std::io::BufWriter::new(output), evaluate) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// As `trace`, of other arguments, lines and output. What went wrong is on standard error, too.
pub fn trace_from<R: Outcome>(
    mut arguments: impl Iterator<Item = String>,
    input: impl BufRead,
    mut output: impl Write,
    mut evaluate: impl FnMut(&str) -> R,
) -> Result<(), String> {
    let mut schema = None;
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--schema" => schema = Some(arguments.next().ok_or_else(usage)?),
            "--values" => {
                let values = read_values(&arguments.next().ok_or_else(usage)?)?;
                TAPE.with_borrow_mut(|t| t.set_values(values));
            }
            _ => return Err(usage()),
        }
    }
    let run = AssertUnwindSafe(|| -> std::io::Result<()> {
        each_line(input, &mut output, |fen, row| {
            let recorded = tape::record(|| evaluate(fen).outcome(), fen, row)?;
            if recorded { Ok(()) } else { Err("no tuned number counts here".into()) }
        })?;
        let Some(path) = schema else { return Ok(()) };
        std::fs::write(path, TAPE.with_borrow(|t| t.table()))
    });
    match catch_unwind(run) {
        Ok(done) => done.map_err(|e| said(format!("gputexel: {e}"))),
        Err(panic) => Err(*panic.downcast::<String>().unwrap_or_else(|other| resume_unwind(other))),
    }
}

fn said(what: String) -> String {
    eprintln!("{what}");
    what
}
fn usage() -> String {
    said("usage: [--schema FILE] [--values FILE] < POSITIONS".into())
}

fn read_values(path: &str) -> Result<Values, String> {
    let text = std::fs::read_to_string(path).map_err(|e| said(format!("gputexel: {path}: {e}")))?;
    let lines = text.lines().map(str::trim_end).enumerate().filter(|line| !line.1.is_empty());
    let values = lines.map(|(i, line)| {
        let number = |(name, value): (&str, &str)| Some((name.trim_end().to_string(), value.parse().ok()?));
        let known = line.rsplit_once([' ', '\t']).and_then(number);
        known.ok_or_else(|| said(format!("{path}:{}: gputexel: is not NAME VALUE", i + 1)))
    });
    values.collect()
}

/// Before a process plays: nothing is recorded, and numbers come from `--values FILE` or the file named by
/// `GPUTEXEL_VALUES`, if there is one. Its lines are `NAME VALUE`, with the `at` of the schema for a name, and `.mg` or
/// `.eg` after it for one number of a pair.
pub fn play() {
    let mut arguments = std::env::args().skip_while(|word| word != "--values").skip(1);
    let path = arguments.next().or_else(|| std::env::var("GPUTEXEL_VALUES").ok());
    let values = path.map_or_else(|| Ok(Values::new()), |path| read_values(&path));
    let values = values.unwrap_or_else(|_| exit(1));
    TAPE.with_borrow_mut(|t| t.set_values(values.clone()));
    _ = PLAYING.set(values);
}
