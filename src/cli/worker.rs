//! `gputexel worker`: plays games for runs on other machines.

use std::path::PathBuf;

use super::context::Context;
use super::queue::AccessFlags;
use super::subcommand::Subcommand;

/// Flags of `worker`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A worker takes pairs of games from the queue of a NATS server, plays them with engines of its own configuration and \
sends them back, until Ctrl-C stops it; other workers then play its unfinished games. 'match', 'selfplay' and 'spsa run' put \
games into the queue with --queue. The built-in engine is always offered unless the configuration says otherwise. \
Nothing that comes from the queue is run or used as a path, and engines must have the fingerprint that the run wants. \
Time limits are scaled to the speed of the machine.\n\n\
Examples:\n  \
gputexel worker nats://den.example\n  \
gputexel worker tls://den.example --config worker.toml --queue-token-file token.txt")]
pub struct WorkerArgs {
    /// NATS server: nats://[USER:PASSWORD@]HOST[:PORT], or tls://...
    #[arg(value_name = "URL", id = "queue")]
    queue: String,
    /// Configuration of the worker (TOML): its name, its engines
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name in messages [default: as configured, or the name of the machine]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Concurrent games [default: as configured, or one per core]
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    #[command(flatten)]
    access: AccessFlags,
}

impl Subcommand for WorkerArgs {
    #[cfg(not(feature = "cluster"))]
    fn run(&self, _: &Context) -> anyhow::Result<()> {
        Err(super::queue::refusal("worker").into())
    }

    #[cfg(feature = "cluster")]
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        use super::table::{counted, grouped};
        use gputexel::cluster::{Worker, WorkerConfig, WorkerSummary};

        let mut config = self.config.as_deref().map(WorkerConfig::read).transpose()?.unwrap_or_default();
        config.name = self.name.clone().or(config.name);
        config.concurrency = self.concurrency.or(config.concurrency);
        config.check()?;
        let access = self.access.access(&self.queue)?;
        let worker = Worker::join(&config, &access, context.cancel, super::queue::notify(context))?;
        if !context.quiet {
            let games = counted(worker.concurrency() as u64, "pair");
            let speed = grouped(worker.nodes_per_second());
            note!(
                "worker '{}' has joined {}: {games} at a time, {speed} nodes/s each",
                worker.name(),
                access.address
            );
            for (engine, fingerprint) in worker.engines() {
                note!("  {engine}, fingerprint {fingerprint}");
            }
        }
        let summary = worker.run()?;
        super::output::print_result(context, &summary, || {
            let WorkerSummary { name, games, declined, unreadable, broken_off } = &summary;
            let mut text = format!("worker '{name}' played {}", counted(*games, "game"));
            for (count, what) in
                [(declined, "declined"), (unreadable, "unreadable"), (broken_off, "broken off")]
            {
                if *count > 0 {
                    text += &format!(", {} {what}", grouped(*count));
                }
            }
            text + "\n"
        })
    }
}
