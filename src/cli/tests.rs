//! Tests of the command line as a whole.

use clap::{Command, CommandFactory};

use super::Cli;

fn leaves(command: &Command, path: &str, out: &mut Vec<(String, String)>) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name()).trim().to_string();
        if sub.has_subcommands() {
            leaves(sub, &path, out);
        } else {
            let help = sub.get_after_help().map(ToString::to_string);
            out.push((path, help.unwrap_or_default()));
        }
    }
}

#[test]
fn every_command_has_examples_that_parse() {
    let mut commands = Vec::new();
    leaves(&Cli::command(), "", &mut commands);
    assert!(commands.len() > 30, "{}", commands.len());
    for (path, help) in commands {
        let (_, lines) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("'{path}' has no examples"));
        // They can be copied from a terminal of 80 columns.
        assert!(lines.lines().all(|line| line.len() <= 80), "{lines}");
        for line in lines.replace("\\\n      ", "").lines().map(|line| line.strip_prefix("  ").unwrap()) {
            assert!(line.starts_with(&format!("gputexel {path}")), "{line}");
            let words = shlex::split(line).unwrap().into_iter().take_while(|word| !word.starts_with('>'));
            if let Err(error) = Cli::command().try_get_matches_from(words) {
                panic!("{line}: {error}");
            }
        }
    }
    Cli::command().debug_assert();
}

/// Everything is in the long help.
#[test]
fn short_help_fits_one_screen() {
    let mut program = Cli::command();
    program.build();
    let long_ones = [
        "tune", "pso", "sweep", "extract", "convert", "rescore", "probe", "match", "selfplay", "verify",
        "import", "export", "improve",
    ];
    let mut too_long = Vec::new();
    for name in long_ones {
        let command = program.find_subcommand_mut(name).unwrap();
        let (short, long) = (command.render_help().to_string(), command.render_long_help().to_string());
        let lines = short.lines().count();
        let limit = if name == "tune" { 40 } else { 60 };
        if lines > limit {
            too_long.push(format!("{name}: {lines}"));
        }
        let mut flags = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg.is_hide_set())));
        assert!(flags.all(|(flag, hidden)| hidden || long.contains(&format!("--{flag}"))), "{name}");
    }
    assert!(too_long.is_empty(), "{too_long:?}");
}
