//! `gputexel uci`: runs the built-in engine for GUIs and match runners.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gputexel::Error;
use gputexel::engine::uci::serve;
use gputexel::model::named_parameters;

use super::context::Context;
use super::subcommand::Subcommand;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Commands are read from standard input until quit or end of input; a search with limits finishes \
before the next go and at the end, one without is stopped. Every parameter of the model is an \
option: setoption name knight_f3.mg value 12.5. In addition to UCI there is eval, the static score of the position.\n\n\
Examples:\n  \
gputexel uci --params runs/first/params.json")]
pub struct UciArgs {
    /// Parameters to play with: a params.json, the folder of a run, piece values as material or material:P,N,B,R,Q, or
    /// pesto
    #[arg(long, value_name = "PARAMS", default_value = "material")]
    params: String,
    /// Size of the transposition table, unless the option Hash is set
    #[arg(long, value_name = "MIB", default_value_t = 16)]
    hash: usize,
}

impl Subcommand for UciArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        if context.json {
            return Err(
                Error::Usage("--json: uci speaks the protocol of that name and nothing else".into()).into()
            );
        }
        let (set, theta) = named_parameters(&self.params)?;
        let cancel = context.cancel;
        // A thread that reads from a terminal does not notice Ctrl-C; there is nothing to clean up.
        std::thread::spawn(move || {
            while !cancel.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
            }
            std::process::exit(130);
        });
        Ok(serve(std::io::stdin().lock(), std::io::stdout(), set, theta, self.hash)?)
    }
}
