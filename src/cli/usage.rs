//! What is said of command lines that make no sense: one line, like any other error, where clap would print a page.

use std::io::Write;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::process::ExitCode;

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Prints what clap answers instead of arguments: help and versions, or why it refuses `typed`, the words behind the
/// program's name.
pub fn answer(error: &Error, command: &Command, typed: &[String]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Err(refused) if refused.kind() != std::io::ErrorKind::BrokenPipe => {
                let error = gputexel::Error::io("standard output", refused);
                let _ = writeln!(std::io::stderr(), "gputexel: {error}");
                ExitCode::FAILURE
            }
            _ => ExitCode::SUCCESS,
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print(); // to standard error
            ExitCode::from(2)
        }
        _ => {
            let text = format!("{}; see '{} --help'", reason(error, typed), path_of(command, typed));
            let _ = writeln!(std::io::stderr(), "gputexel: {}", gputexel::printable(&text));
            ExitCode::from(2)
        }
    }
}

/// The command that was meant, as it is typed.
fn path_of(mut command: &Command, typed: &[String]) -> String {
    let mut path = "gputexel".to_string();
    for word in typed.iter().filter(|word| !word.starts_with('-')) {
        let Some(inner) = command.find_subcommand(word) else { break };
        command = inner;
        path = format!("{path} {}", command.get_name());
    }
    path
}

/// What is wrong, on one line.
fn reason(error: &Error, typed: &[String]) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(list)) if list.len() == 1 => Some(list[0].clone()),
        _ => None,
    };
    let list = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(list)) => list.clone(),
        _ => Vec::new(),
    };
    let argument = text(ContextKind::InvalidArg);
    let (flag, value) = (argument.as_deref().map(flag_of), text(ContextKind::InvalidValue));
    match (error.kind(), flag, value) {
        (ErrorKind::UnknownArgument, Some(_), _) => {
            let argument = argument.unwrap_or_default();
            let what = if argument.starts_with('-') { "unknown flag" } else { "unexpected argument" };
            let mut reason = format!("{what} '{argument}'");
            match (text(ContextKind::SuggestedArg), text(ContextKind::SuggestedSubcommand)) {
                (Some(similar), Some(command)) => {
                    reason += &format!("; '{command}' has '{}'", flag_of(&similar));
                }
                (Some(similar), None) => reason += &format!("; did you mean '{}'?", flag_of(&similar)),
                _ => {}
            }
            reason
        }
        (ErrorKind::InvalidSubcommand, ..) => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let similar = list(ContextKind::SuggestedSubcommand);
            let similar: Vec<String> = similar.iter().map(|name| format!("'{name}'")).collect();
            match similar.is_empty() {
                true => format!("unknown command '{name}'"),
                false => format!("unknown command '{name}'; did you mean {}?", similar.join(" or ")),
            }
        }
        (ErrorKind::MissingRequiredArgument, ..) => {
            format!("missing {}", joined(&list(ContextKind::InvalidArg)))
        }
        (ErrorKind::ArgumentConflict, Some(flag), _) => {
            let others = list(ContextKind::PriorArg);
            match others.iter().any(|other| flag_of(other) != flag) {
                true => format!("{flag} cannot be used with {}", joined(&given(&others, typed))),
                false => format!("{flag} can be given only once"),
            }
        }
        (ErrorKind::InvalidValue, Some(flag), Some(value)) if value.is_empty() => {
            let expected = list(ContextKind::ValidValue);
            match expected.is_empty() {
                true => format!("{flag} needs a value"),
                false => format!("{flag} needs a value: {}", expected.join(", ")),
            }
        }
        (ErrorKind::InvalidValue, Some(flag), Some(value)) => {
            format!("{flag} {value}: expected one of {}", list(ContextKind::ValidValue).join(", "))
        }
        (ErrorKind::ValueValidation, Some(flag), Some(value)) => {
            format!("{flag} {value}: {}", refusal(error, &value))
        }
        // A flag with values is named with them.
        (ErrorKind::TooManyValues, Some(flag), _)
            if argument.as_deref() == Some(flag) && flag.starts_with('-') =>
        {
            format!("{flag} takes no value")
        }
        (ErrorKind::TooManyValues, Some(flag), Some(value)) => {
            format!("{flag} {value}: one value too many")
        }
        (ErrorKind::NoEquals, Some(flag), _) => {
            format!("the value of {flag} has to follow an equals sign, without a space")
        }
        _ => {
            let whole = error.to_string();
            let first = whole.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").trim_end_matches(':').to_string()
        }
    }
}

/// A flag without the name of its value; arguments that are no flags have only that.
fn flag_of(argument: &str) -> &str {
    match argument.starts_with('-') {
        true => argument.split([' ', '=', '[']).next().unwrap_or(argument),
        false => argument,
    }
}

/// Those of some arguments that were typed; all of them where that cannot be told. clap lists whole groups.
fn given(arguments: &[String], typed: &[String]) -> Vec<String> {
    let names: Vec<String> = arguments.iter().map(|argument| flag_of(argument).to_string()).collect();
    let is_typed = |name: &&String| typed.iter().any(|word| flag_of(word) == name.as_str());
    let found: Vec<String> = names.iter().filter(is_typed).cloned().collect();
    if found.is_empty() { names } else { found }
}

/// Why a value is refused: what parsers of the standard library say is of no help to a user.
fn refusal(error: &Error, value: &str) -> String {
    let Some(source) = std::error::Error::source(error) else { return "is not valid".to_string() };
    if source.is::<ParseFloatError>() {
        return "must be a number".to_string();
    }
    match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow) => "is too large".to_string(),
        Some(_) if is_negative(value) => "must not be negative".to_string(),
        Some(_) => "must be a whole number".to_string(),
        None => source.to_string(),
    }
}

/// Whether a value is a whole number below 0, or -0.
fn is_negative(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn joined(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples;
    use super::*;

    /// What is said of a command line.
    fn said(line: &str) -> String {
        let typed: Vec<String> = line.split_whitespace().map(String::from).collect();
        let words = std::iter::once("gputexel".to_string()).chain(typed.clone());
        let error = examples::command().try_get_matches_from(words).unwrap_err();
        format!("{}; {}", reason(&error, &typed), path_of(&examples::command(), &typed))
    }

    #[test]
    fn mistakes_are_told_in_one_line() {
        for (line, expected) in [
            ("tune", "missing <INPUT>...; gputexel tune"),
            ("eval", "missing <DATASET> <PARAMS>...; gputexel eval"),
            ("trace x", "missing --output <FILE> and --schema <FILE>; gputexel trace"),
            ("tune x --epoch 3", "unknown flag '--epoch'; did you mean '--epochs'?; gputexel tune"),
            ("tune x --zzzzz", "unknown flag '--zzzzz'; gputexel tune"),
            ("spsa plna", "unknown command 'plna'; did you mean 'plan'?; gputexel spsa"),
            ("zzzzz", "unknown command 'zzzzz'; gputexel"),
            ("report a b", "unexpected argument 'b'; gputexel report"),
            ("tune x --epochs abc", "--epochs abc: must be a whole number; gputexel tune"),
            (
                "tune x --epochs 99999999999999999999",
                "--epochs 99999999999999999999: is too large; gputexel tune",
            ),
            ("tune x --epochs=-3", "--epochs -3: must not be negative; gputexel tune"),
            ("tune x --epochs=-x", "--epochs -x: must be a whole number; gputexel tune"),
            ("tune x --holdout abc", "--holdout abc: must be a number; gputexel tune"),
            ("tune x --holdout", "--holdout needs a value; gputexel tune"),
            ("tune x --seed 1 --seed 2", "--seed can be given only once; gputexel tune"),
            ("info x --json=3", "--json takes no value; gputexel info"),
            (
                "completions tcsh",
                "<SHELL> tcsh: expected one of bash, elvish, fish, powershell, zsh; gputexel completions",
            ),
            (
                "tune --resume r --l2 1 --epochs=3",
                "--resume cannot be used with --l2 and --epochs; gputexel tune",
            ),
            ("tune --resume r --basis x", "--resume cannot be used with --basis; gputexel tune"),
        ] {
            assert_eq!(said(line), expected, "{line}");
        }
    }
}
