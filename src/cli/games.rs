//! What the commands that play games have in common: warnings, and errors about numbers of games.

use gputexel::Error;

use super::Context;

/// An error of the library about the number of games, told as one about another flag than `--games`.
pub fn name_games_flag(error: Error, flag: &str) -> Error {
    match error {
        Error::Setting { setting: "games", value: Some(value), reason } => {
            Error::Usage(format!("{flag} {value}: {reason}"))
        }
        other => other,
    }
}

/// Warnings of the library on standard error.
pub fn warn(warnings: &[String], context: &Context) {
    if !context.quiet && !context.json {
        for warning in warnings {
            eprintln!("gputexel: {}", gputexel::printable(warning));
        }
    }
}
