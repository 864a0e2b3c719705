//! `gputexel completions` and `gputexel man`: shell completions and manual pages.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use gputexel::io::write_atomically;
use gputexel::{Error, Result};

use super::context::Context;
use super::output::{print_text, write_stdout};
use super::subcommand::Subcommand;
use super::target::{check_file_flags, or_stdout};

/// Flags of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:\n  \
gputexel completions bash\n  \
gputexel completions fish -o ~/.config/fish/completions/gputexel.fish")]
pub struct CompletionsArgs {
    /// Shell to write completions for
    #[arg(value_name = "SHELL")]
    shell: Shell,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

impl Subcommand for CompletionsArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        check_file_flags(&self.output, &[("--force", self.force)])?;
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut (context.program.command)(), "gputexel", &mut script);
        match or_stdout(&self.output) {
            Some(path) => Ok(write(&[(path.to_path_buf(), script)], self.force, context)?),
            None => Ok(print(&String::from_utf8_lossy(&script), context)?),
        }
    }
}

/// Flags of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:\n  \
gputexel man\n  \
gputexel man -o ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder for one page per command [default: print the page of gputexel itself to standard output]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long, requires = "output")]
    force: bool,
}

impl Subcommand for ManArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        check_file_flags(&self.output, &[("--force", self.force)])?;
        let mut command = (context.program.command)().disable_help_subcommand(true);
        command.build();
        let Some(folder) = or_stdout(&self.output) else {
            return Ok(print(&String::from_utf8_lossy(&page(&command)?), context)?);
        };
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        let mut pages = Vec::new();
        collect(&command, "gputexel", folder, &mut pages)?;
        Ok(write(&pages, self.force, context)?)
    }
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Error::io("the manual page", error))?;
    Ok(page)
}

/// Collects the page of a command and of each command below it, by the name under which `man` finds it.
fn collect(command: &Command, name: &str, folder: &Path, pages: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<()> {
    for sub in command.get_subcommands() {
        collect(sub, &format!("{name}-{}", sub.get_name()), folder, pages)?;
    }
    pages.push((folder.join(format!("{name}.1")), page(&command.clone().display_name(name.to_string()))?));
    Ok(())
}

/// Writes files; writes none if one exists and must not be replaced.
fn write(files: &[(PathBuf, Vec<u8>)], force: bool, context: &Context) -> Result<()> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists() && !force) {
        return Err(Error::Usage(format!("{}: exists; use --force to replace it", path.display())));
    }
    for (path, text) in files {
        write_atomically(path, text)?;
    }
    let names: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
    if context.json {
        write_stdout(&format!("{}\n", serde_json::json!({ "files": names })))
    } else if context.quiet {
        Ok(())
    } else {
        print_text(&names.iter().map(|path| format!("written     {}\n", path.display())).collect::<String>())
    }
}

/// Prints a text to standard output; with `--json`, as an object with one string.
fn print(text: &str, context: &Context) -> Result<()> {
    match context.json {
        true => write_stdout(&format!("{}\n", serde_json::json!({ "text": text }))),
        false => write_stdout(text),
    }
}
