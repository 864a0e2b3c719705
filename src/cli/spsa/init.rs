//! `gputexel spsa init`: writes a configuration to start from.

use std::path::{Path, PathBuf};

use gputexel::Error;
use gputexel::io::write_atomically;
use gputexel::matches::TimeControl;
use gputexel::matches::client::Setting;
use gputexel::spsa::MethodKind;
use gputexel::spsa::draft::{Draft, DraftOptions};
use serde_json::json;

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::target::OutputArgs;
use super::convert::{print_report, remark};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Parameters of a UCI engine are its spin options; without --tune, all except those that are not tuned, such \
as Hash and Threads. An engine of 'patch expose', or one that traces itself, has those of a list instead (values.params of its run), and is restarted for each set of values. For the built-in engine, queen, queen.mg or (with piece-square tables) knight.f3.eg \
stand for all values of that name, which change together.\n\n\
c_end is a 20th of an option's range and r_end is 0.002; with --elo, both of them, s and sigma are as planned by \
'spsa plan' for a best value at a tenth of the range. Everything can be edited in the file.\n\n\
Examples:\n  \
gputexel spsa init --engine toga2 --tune \"King Safety\" --games 6000 -o a.toml\n  \
gputexel spsa init --engine 'env GPUTEXEL_VALUES={params} ./engine' \\\n      --params gputexel_values.params --tune tempo,bishop_pair -o spsa.toml")]
#[command(group(clap::ArgGroup::new("who").required(true).multiple(true).args(["engine", "params"])))]
pub struct InitArgs {
    /// Command line of a UCI engine
    #[arg(long, value_name = "COMMAND")]
    engine: Option<String>,
    /// Parameters of the built-in engine: a file, or material[:P,N,B,R,Q]; with an ENGINE that reads a file of values
    /// ({params} in its command), the list of its parameters, as for probe
    #[arg(long, value_name = "FILE")]
    params: Option<String>,
    /// Parameters to tune; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tune: Vec<String>,
    /// A UCI option; for a tuned one, its starting value
    #[arg(long, value_name = "NAME=VALUE", requires = "engine")]
    option: Vec<Setting>,
    /// Method: spsa, bspsas or bspsa
    #[arg(long, value_name = "METHOD", default_value = "spsa")]
    method: MethodKind,
    /// Number of games (two per pair)
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    games: u64,
    /// Expected draw rate
    #[arg(long, value_name = "D", default_value_t = 0.5)]
    draw_rate: f64,
    /// Elo that each parameter may gain, for planning the settings
    #[arg(long, value_name = "ELO")]
    elo: Option<f64>,
    /// Limit per move or game: nodes=N, depth=N, move-time=MS or time=BASE+INC
    #[arg(long, value_name = "LIMIT", default_value = "time=8+0.08")]
    limit: TimeControl,
    /// Openings: EPD, FEN or PGN [default: those of match]
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Concurrent pairs [default: number of cores]
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Seconds for the engine to become ready [default: 30]
    #[arg(long, value_name = "SECONDS", requires = "engine")]
    start_deadline: Option<f64>,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: &InitArgs, context: &Context) -> anyhow::Result<()> {
    let output = args.output.file::<&str>([])?;
    let options = DraftOptions {
        tune: args.tune.clone(),
        list: args.params.as_ref().map(PathBuf::from),
        options: args.option.clone(),
        method: args.method,
        games: args.games,
        draw_rate: args.draw_rate,
        elo: args.elo,
        limit: args.limit,
        book: args.book.clone(),
        concurrency: args.concurrency,
        start_deadline: args.start_deadline,
        output: output.map(Path::to_path_buf),
        stop: context.cancel.into(),
    };
    let draft = match (&args.engine, &args.params) {
        (Some(command), _) => Draft::of_engine(command, &options),
        (None, Some(params)) => Draft::of_parameters(params, &options),
        (None, None) => Err(Error::Usage("give --engine or --params".to_string())),
    };
    let draft = draft?;
    let (text, parameters) = (draft.to_toml()?, &draft.config.parameters);
    if let Some(path) = output {
        write_atomically(path, text.as_bytes())?;
    }
    if context.json {
        let report = json!({ "parameters": parameters, "notes": draft.notes, "left_out": draft.left_out });
        return Ok(print_report(report, output, &text)?);
    }
    match output {
        None => write_stdout(&text)?,
        Some(path) if !context.quiet => {
            let some: Vec<&str> = parameters.iter().take(8).map(|v| v.name.as_str()).collect();
            let more = if parameters.len() > some.len() { ", ..." } else { "" };
            let count = parameters.len();
            let mut said = format!("{}: {count} to tune: {}{more}\n", path.display(), some.join(", "));
            if !draft.left_out.is_empty() {
                let count = draft.left_out.len();
                said += &format!("{count} left out, named at the end of the file\n");
            }
            print_text(&said)?;
        }
        Some(_) => {}
    }
    Ok(remark(&draft.notes, context)?)
}
