//! What the commands that play games have in common: warnings, and errors in terms of flags.

use gputexel::Error;

use super::Context;

/// An error of the library about a setting, told as one about the flag of that name.
pub fn name_flag(error: Error) -> Error {
    match error {
        Error::Setting { setting, value, reason } => {
            let value = value.map(|value| format!(" {value}")).unwrap_or_default();
            Error::Usage(format!("--{setting}{value}: {reason}"))
        }
        other => other,
    }
}

/// The same where the number of games is that of another flag.
pub fn name_games_flag(error: Error, flag: &str) -> Error {
    match error {
        Error::Setting { setting: "games", value: Some(value), reason } => {
            Error::Usage(format!("{flag} {value}: {reason}"))
        }
        other => name_flag(other),
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
