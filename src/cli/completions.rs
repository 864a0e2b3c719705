//! `gputexel completions`: shell completions.

use clap_complete::Shell;
use gputexel::io::write_atomically;
use serde_json::json;

use super::context::Context;
use super::output::{print_file, print_result};
use super::subcommand::Subcommand;
use super::target::OutputArgs;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:\n  \
gputexel completions bash\n  \
gputexel completions fish -o ~/.config/fish/completions/gputexel.fish")]
pub struct CompletionsArgs {
    /// Shell to write completions for
    #[arg(value_name = "SHELL")]
    shell: Shell,
    #[command(flatten)]
    output: OutputArgs,
}

impl Subcommand for CompletionsArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let file = self.output.file::<&str>([])?;
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut (context.program.command)(), "gputexel", &mut script);
        let Some(path) = file else {
            return Ok(print_file(&String::from_utf8_lossy(&script), context)?);
        };
        write_atomically(path, &script)?;
        print_result(context, &json!({ "files": [path] }), || format!("written     {}\n", path.display()))
    }
}
