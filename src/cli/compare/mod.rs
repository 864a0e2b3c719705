//! `gputexel compare`: compares parameter files or runs side by side.

mod output;

use std::path::PathBuf;

use gputexel::Error;
use gputexel::io::{check_output, write_atomically};
use gputexel::run::comparison::{Differences, Losses, Side, SortBy};

use super::context::Context;
use super::scale::ScaleArgs;
use super::subcommand::Subcommand;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Changes are from A to B. Parameters are matched by name, so feature sets that only partly overlap can be \
compared, too.\n\n\
Examples:\n  \
gputexel compare runs/first runs/second --dataset dataset.bin\n  \
gputexel compare old.json runs/second --html changes.html --sort errors")]
pub struct CompareArgs {
    /// Parameter file, folder of a run, or piece values for the parameters of B (material,
    /// material:100,300,320,500,900, zero)
    #[arg(value_name = "A")]
    a: PathBuf,
    /// File, run or values to compare A with
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Compute the losses of both on this dataset (if given several times, on all of them together)
    #[arg(long, value_name = "DATASET")]
    dataset: Vec<PathBuf>,
    /// Loss function: squared, cross-entropy, or power:Q
    #[arg(long, value_name = "LOSS", default_value = "squared", requires = "dataset")]
    loss: String,
    #[command(flatten)]
    scale: ScaleArgs,
    /// Write the comparison to this file as an HTML page
    #[arg(long, value_name = "FILE", value_parser = super::target::file())]
    html: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,
    /// Number of rows in the list of largest changes
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Sort changes by: change (in centipawns), or errors (in standard errors of the difference)
    #[arg(long, value_name = "BY", default_value = "change")]
    sort: Order,
    /// Show only the board of this table
    #[arg(long, value_name = "TABLE")]
    board: Option<String>,
}

/// [`SortBy`] as a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    Change,
    Errors,
}

impl From<Order> for SortBy {
    fn from(order: Order) -> Self {
        match order {
            Order::Change => Self::Change,
            Order::Errors => Self::Errors,
        }
    }
}

impl Subcommand for CompareArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let inputs = [&self.a, &self.b].into_iter().chain(&self.dataset);
        check_output(self.html.as_deref(), inputs, self.force)?;
        let k = self.scale.k()?;
        if k.is_some() && self.dataset.is_empty() {
            return Err(
                Error::Usage("a fixed K is only used for losses, which need --dataset".to_string()).into()
            );
        }
        let loss = self.loss.parse()?;
        if self.top == 0 {
            return Err(Error::Usage("--top 0: must be at least 1".to_string()).into());
        }
        let sides = Side::read_both([&self.a, &self.b])?;
        let mut found = Differences::try_new(sides, self.sort.into())?;
        self.board.as_deref().map_or(Ok(()), |board| found.check_board(board))?;
        if !self.dataset.is_empty() {
            found.losses = Some(Losses::on(&self.dataset, &found.sides, loss, k)?);
        }
        if let Some(path) = &self.html {
            write_atomically(path, found.page().to_html().as_bytes())?;
        }
        output::print(context, &found, self.top, self.board.as_deref(), self.html.as_deref())
    }
}
