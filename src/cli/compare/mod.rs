//! `gputexel compare`: parameter files or runs side by side.

mod output;

use std::path::PathBuf;

use gputexel::run::comparison::{Contenders, Differences, Losses, Side, SortBy};
use gputexel::{Error, check_outputs, write_atomically};

use super::Context;
use super::memory::MemoryArgs;
use super::scale::ScaleArgs;

/// Flags of `compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of more than two, a table tells what each has reached; with --dataset, on the same positions. \
Changes are from A to B. Parameters are matched by name, so feature sets that only partly overlap can be \
compared, too.")]
pub struct CompareArgs {
    /// A parameter file, the folder of a run, or piece values for the parameters of B (material,
    /// material:100,300,320,500,900, zero)
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The one to compare it with, likewise
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Further ones, likewise: all are then compared in one table
    #[arg(value_name = "MORE")]
    more: Vec<PathBuf>,
    /// Compute the losses of both on this dataset (if given several times, on all of them together)
    #[arg(long, value_name = "DATASET")]
    dataset: Vec<PathBuf>,
    /// squared, cross-entropy, or power:Q
    #[arg(long, value_name = "LOSS", default_value = "squared", requires = "dataset")]
    loss: String,
    #[command(flatten)]
    scale: ScaleArgs,
    /// Write the comparison as an HTML page
    #[arg(long, value_name = "FILE", value_parser = super::target::file())]
    html: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,
    /// Number of rows in the list of largest changes
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "more")]
    top: usize,
    /// Sort changes by: change (centipawns), or errors (standard errors of the difference)
    #[arg(long, value_name = "BY", default_value = "change", conflicts_with = "more")]
    sort: Order,
    /// Show only the board of this table
    #[arg(long, value_name = "TABLE", conflicts_with = "more")]
    board: Option<String>,
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
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

/// Runs `compare`.
///
/// # Errors
/// Files that cannot be read or written, or that have nothing in common.
pub fn run(args: &CompareArgs, context: &Context) -> anyhow::Result<()> {
    let inputs = [&args.a, &args.b].into_iter().chain(&args.more).chain(&args.dataset);
    check_outputs(&[args.html.as_deref()], inputs, args.force)?;
    let k = args.scale.k()?;
    if k.is_some() && args.dataset.is_empty() {
        return Err(
            Error::Usage("a fixed K is only used for losses, which need --dataset".to_string()).into()
        );
    }
    let loss = args.loss.parse()?;
    if args.top == 0 {
        return Err(Error::Usage("--top 0: must be at least 1".to_string()).into());
    }
    if !args.more.is_empty() {
        let paths = [&[args.a.clone(), args.b.clone()], &args.more[..]].concat();
        let mut found = Contenders::read(&paths)?;
        if !args.dataset.is_empty() {
            found.judge(&args.dataset, loss, k)?;
        }
        if let Some(path) = &args.html {
            write_atomically(path, found.page().to_html()?.as_bytes())?;
        }
        return output::print_many(context, &found, args.html.as_deref());
    }
    let sides = Side::read_both([&args.a, &args.b])?;
    let mut found = Differences::try_new(sides, args.sort.into())?;
    args.board.as_deref().map_or(Ok(()), |board| found.check_board(board))?;
    if !args.dataset.is_empty() {
        found.losses = Some(Losses::on(&args.dataset, &found.sides, loss, k)?);
    }
    if let Some(path) = &args.html {
        write_atomically(path, found.page(args.top).to_html().as_bytes())?;
    }
    output::print(context, &found, args.top, args.board.as_deref(), args.html.as_deref())
}
