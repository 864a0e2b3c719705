//! `gputexel completions`: shell completions.

use std::path::PathBuf;

use clap_complete::Shell;
use gputexel::Error;
use gputexel::io::write_atomically;
use serde_json::json;

use super::context::Context;
use super::output::{print_file, print_result};
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
        let Some(path) = or_stdout(&self.output) else {
            return Ok(print_file(&String::from_utf8_lossy(&script), context)?);
        };
        if path.exists() && !self.force {
            return Err(Error::Usage(format!("{}: exists; use --force to replace it", path.display())).into());
        }
        write_atomically(path, &script)?;
        print_result(context, &json!({ "files": [path] }), || format!("written     {}\n", path.display()))
    }
}
