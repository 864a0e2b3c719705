//! Flags for the queue through which other machines play games, and their parsing.

use std::path::PathBuf;

/// True to hide the flags in help: in this build they only report that the feature is missing.
pub const HIDDEN: bool = cfg!(not(feature = "cluster"));

/// Default number of concurrent pairs: more than the slots of most queues. No more than this many are outstanding.
#[cfg(feature = "cluster")]
const PAIRS: usize = 256;

/// Credentials for the queue.
#[derive(Debug, clap::Args)]
pub struct AccessFlags {
    /// File with the token that the server requires
    #[arg(long, value_name = "FILE", requires = "queue", hide = HIDDEN, help_heading = "Queue")]
    queue_token_file: Option<PathBuf>,
    /// File with NATS credentials (.creds)
    #[arg(long, value_name = "FILE", requires = "queue", hide = HIDDEN, help_heading = "Queue")]
    queue_credentials: Option<PathBuf>,
    /// File with certificates (PEM) of the authority that signed the server's certificate, in addition to the
    /// system's
    #[arg(long, value_name = "FILE", requires = "queue", hide = HIDDEN, help_heading = "Queue")]
    queue_ca: Option<PathBuf>,
}

/// Flags of commands whose games a queue can play.
#[derive(Debug, clap::Args)]
pub struct QueueFlags {
    /// Have games played by workers ('gputexel worker') that take them from this NATS server:
    /// nats://[USER:PASSWORD@]HOST[:PORT], or tls://...; --concurrency then limits the number of outstanding pairs
    /// [default: as many as workers have slots]
    #[arg(long, value_name = "URL", hide = HIDDEN, help_heading = "Queue")]
    queue: Option<String>,
    #[command(flatten)]
    access: AccessFlags,
    /// Seconds that a worker may be silent before others play its games, for all runs of the queue [default:
    /// unchanged, 60 in a new queue]
    #[arg(long, value_name = "SECONDS", requires = "queue", hide = HIDDEN, help_heading = "Queue")]
    queue_lease: Option<f64>,
}

impl QueueFlags {
    /// Returns true if a queue is to play.
    pub fn is_asked_for(&self) -> bool {
        self.queue.is_some()
    }
}

/// Removes the password from a URL in a word of a command line.
pub fn without_password(word: &str) -> String {
    let hidden = word.split_once("://").and_then(|(before, rest)| {
        let (user, host) = rest.rsplit_once('@')?;
        let is_queue = before.ends_with("nats") || before.ends_with("tls");
        let (user, _) = user.split_once(':').unwrap_or(("", ""));
        is_queue.then(|| format!("{before}://{user}:***@{host}"))
    });
    hidden.unwrap_or_else(|| word.to_string())
}

#[cfg(not(feature = "cluster"))]
mod without {
    use std::convert::Infallible;
    use std::path::Path;

    use gputexel::matches::{Rules, Seating};
    use gputexel::{Error, Result};

    use super::super::context::Context;
    use super::QueueFlags;

    /// An open queue; never exists in this build.
    pub struct Queue(Infallible);

    /// A run whose games a queue plays; never exists in this build.
    pub struct Dispatched(Infallible);

    /// Error for everything that needs a queue.
    pub fn refusal(what: &str) -> Error {
        Error::Usage(format!(
            "{what}: this gputexel was built without the feature 'cluster'; 'cargo install --path . --features \
             cluster' builds it with"
        ))
    }

    impl QueueFlags {
        /// Refuses the flags.
        ///
        /// # Errors
        /// [`Error::Usage`] if any is given.
        pub fn open(&self, _: &Context) -> Result<Option<Queue>> {
            self.queue.as_ref().map_or(Ok(None), |_| Err(refusal("--queue")))
        }
    }

    impl Queue {
        /// Unreachable: there is no queue.
        pub fn begin(
            self,
            _: (&Path, &Rules),
            _: Option<usize>,
            _: &mut Seating,
            _: &Context,
        ) -> Result<Dispatched> {
            match self.0 {}
        }
    }

    impl Dispatched {
        /// Unreachable: there is no queue.
        pub fn leave(self) {
            match self.0 {}
        }
    }
}

#[cfg(not(feature = "cluster"))]
pub use without::{Queue, refusal};

#[cfg(feature = "cluster")]
mod with {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use gputexel::cluster::{Access, Connection, Coordinator, Notify};
    use gputexel::matches::{Rules, Seating, check_concurrency};
    use gputexel::{Error, Result};

    use super::super::context::Context;
    use super::{AccessFlags, PAIRS, QueueFlags};

    /// An open queue.
    pub struct Queue(Connection);

    /// A run whose games a queue plays.
    pub struct Dispatched {
        coordinator: Arc<Coordinator>,
        quiet: bool,
    }

    impl AccessFlags {
        /// Returns the access settings for the queue at an address.
        ///
        /// # Errors
        /// [`Error::Usage`] for invalid addresses.
        pub fn access(&self, address: &str) -> Result<Access> {
            let Self { queue_token_file, queue_credentials, queue_ca } = self;
            Ok(Access {
                token: queue_token_file.clone(),
                credentials: queue_credentials.clone(),
                authority: queue_ca.clone(),
                ..Access::new(address.parse()?)
            })
        }
    }

    /// Prints events of a queue to standard error.
    pub fn notify(context: &Context) -> Notify {
        let quiet = context.quiet;
        Arc::new(move |text| {
            if !quiet {
                note!("gputexel: {}", gputexel::io::printable(text));
            }
        })
    }

    impl QueueFlags {
        /// Opens the queue, if requested.
        ///
        /// # Errors
        /// Bad flags; servers that cannot be reached or refuse.
        pub fn open(&self, context: &Context) -> Result<Option<Queue>> {
            let Some(address) = &self.queue else { return Ok(None) };
            let lease = self.queue_lease.map(|seconds| {
                let lease = Duration::try_from_secs_f64(seconds);
                lease.map_err(|_| Error::setting("queue-lease", seconds, "expected seconds, from 1 to 86400"))
            });
            let access = self.access.access(address)?;
            Connection::open(&access, lease.transpose()?, notify(context)).map(|open| Some(Queue(open)))
        }
    }

    impl Queue {
        /// Starts having games played for the run in a folder, with a number of concurrent pairs.
        ///
        /// # Errors
        /// See [`Coordinator::begin`] and [`check_concurrency`].
        pub fn begin(
            self,
            (folder, rules): (&Path, &Rules),
            pairs: Option<usize>,
            seating: &mut Seating,
            context: &Context,
        ) -> Result<Dispatched> {
            let pairs = check_concurrency(Some(pairs.unwrap_or(PAIRS)))?;
            let coordinator = Arc::new(Coordinator::begin(self.0, folder, rules)?);
            seating.dispatch(coordinator.clone(), pairs);
            Ok(Dispatched { coordinator, quiet: context.quiet })
        }
    }

    impl Dispatched {
        /// Leaves the queue, and prints how many results arrived unused.
        pub fn leave(self) {
            self.coordinator.leave();
            let refused = self.coordinator.refused();
            if !refused.is_empty() && !self.quiet {
                note!("gputexel: {refused}");
            }
        }
    }
}

#[cfg(feature = "cluster")]
pub use with::{Queue, notify};

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn passwords_are_not_kept() {
        for (typed, kept) in [
            ("nats://me:secret@host:1", "nats://me:***@host:1"),
            ("--queue=tls://me:se@cret@host", "--queue=tls://me:***@host"),
            ("nats://secret@host", "nats://:***@host"),
            ("nats://host", "nats://host"),
            ("https://x:y@z", "https://x:y@z"),
            ("games@home.pgn", "games@home.pgn"),
        ] {
            assert_eq!(without_password(typed), kept);
        }
    }
}
