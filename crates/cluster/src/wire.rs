//! Messages over the wire: work, its games, and reasons for declining it. They are JSON, and are treated as untrusted.

use std::sync::Arc;
use std::time::Duration;

use gputexel_chess::PhaseSettings;
use gputexel_io::{Error, Result, shown};
use gputexel_model::{FeatureSet, KingBuckets};
use gputexel_play::client::Setting;
use gputexel_play::openings::Opening;
use gputexel_play::{
    Adjudication, Assignment, GameRecord, RemoteSide, Rules, StoredCourse, StoredOpening, TimeControl,
    check_hash, recorded_game,
};
use serde::{Deserialize, Serialize};

use crate::fingerprint::{built_in_fingerprint, fingerprint};
use crate::identity::{Identity, hex};

/// Prefix of all messages; other versions are refused.
const FORMAT: &str = "gputexel-cluster-1";

/// Prefix of messages of all versions.
const FAMILY: &str = "gputexel-cluster-";

/// Maximum number of options of an engine.
const MAX_OPTIONS: usize = 4096;

/// Maximum length of the name and of the value of an option, bytes.
const MAX_OPTION: usize = 1000;

/// Maximum length of a worker's name and of a reason, bytes.
const MAX_WORDS: usize = 300;

/// A pair to be played, or a single game.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Work {
    format: String,
    /// The run that it belongs to.
    pub run: String,
    /// Its number there.
    pub number: u64,
    /// Proves that its owner was given the work.
    pub ticket: String,
    /// Everything that determines the games.
    pub task: Task,
}

/// Everything that determines the games.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    sides: [WireSide; 2],
    opening: StoredOpening,
    games: usize,
    limits: [String; 2],
    time_margin_ms: u64,
    deadline_ms: u64,
    adjudication: Adjudication,
    /// Nodes per second of the machine that time limits refer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nodes_per_second: Option<u64>,
}

/// One side of the games.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum WireSide {
    BuiltIn {
        fingerprint: String,
        features: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        king_buckets: Option<KingBuckets>,
        phase: PhaseSettings,
        theta: Vec<f64>,
        hash_mib: u32,
    },
    Uci {
        name: String,
        fingerprint: String,
        options: Vec<(String, String)>,
    },
}

/// Work as a worker executes it.
pub(crate) struct Job {
    /// A or plus, then B or minus.
    pub sides: [JobSide; 2],
    /// Start of the games.
    pub opening: Opening,
    /// Number of games: 1 or 2.
    pub games: usize,
    /// Rules, with times for the machine of [`Job::nodes_per_second`].
    pub rules: Rules,
    /// Nodes per second of the machine that time limits refer to.
    pub nodes_per_second: Option<u64>,
}

/// One side of a job.
#[derive(Clone, Debug)]
pub(crate) enum JobSide {
    /// The built-in engine.
    BuiltIn {
        /// Required fingerprint.
        fingerprint: String,
        /// Its features.
        set: Box<FeatureSet>,
        /// Their values, as many as the set has, all finite.
        theta: Arc<[f64]>,
        /// Transposition table, MiB.
        hash_mib: usize,
    },
    /// A program.
    Uci {
        /// Its name in the run; for messages.
        name: String,
        /// Required fingerprint.
        fingerprint: String,
        /// Options without characters that would end a line.
        options: Vec<Setting>,
    },
}

impl Work {
    /// Creates the work to send for an assignment.
    pub fn new(identity: &Identity, assignment: &Assignment) -> Result<Self> {
        let task = Task::new(identity, assignment)?;
        let (run, number) = (identity.run.clone(), assignment.number);
        let ticket = identity.ticket(number, &task.digest());
        Ok(Self { format: FORMAT.to_string(), run, number, ticket, task })
    }

    /// Returns the bytes of a message.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::json!(self).to_string().into_bytes()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    pub fn read(bytes: &[u8]) -> std::result::Result<Self, BadWork> {
        let head: Head = serde_json::from_slice(bytes).map_err(|e| BadWork::Unreadable(e.to_string()))?;
        if head.format != FORMAT {
            return Err(match head.format.starts_with(FAMILY) {
                true => BadWork::OtherVersion(shown(&head.format)),
                false => BadWork::Unreadable("is of something else".to_string()),
            });
        }
        let work: Self = serde_json::from_slice(bytes).map_err(|e| BadWork::Unreadable(e.to_string()))?;
        // They become parts of subjects.
        let is_hex = |text: &str| text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hex(&work.run) || !is_hex(&work.ticket) {
            return Err(BadWork::Unreadable("has no run".to_string()));
        }
        Ok(work)
    }
}

/// Fields that all versions have.
#[derive(Deserialize)]
struct Head {
    format: String,
}

/// Reason why a message is not valid work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadWork {
    /// A worker of that version can do it.
    #[error("it is of another version, '{0}'; this one has '{FORMAT}'")]
    OtherVersion(String),
    /// It is invalid.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

impl Task {
    fn new(identity: &Identity, assignment: &Assignment) -> Result<Self> {
        let rules = &assignment.rules;
        let [a, b] = &assignment.sides;
        Ok(Self {
            sides: [WireSide::new(a)?, WireSide::new(b)?],
            opening: StoredOpening::new(&assignment.opening),
            games: assignment.games,
            limits: rules.time_controls.map(|limit| limit.to_string()),
            time_margin_ms: rules.time_margin.as_millis() as u64,
            deadline_ms: rules.deadline.as_millis() as u64,
            adjudication: rules.adjudication,
            nodes_per_second: identity
                .nodes_per_second
                .filter(|_| rules.time_controls.iter().any(TimeControl::is_timed)),
        })
    }

    /// Returns 32 hexadecimal digits that identify it.
    pub fn digest(&self) -> String {
        hex(&blake3::hash(serde_json::json!(self).to_string().as_bytes()).as_bytes()[..16])
    }

    /// Returns the job.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    pub fn job(&self) -> std::result::Result<Job, String> {
        let limit = |text: &String| text.parse::<TimeControl>().map_err(|e| e.to_string());
        let [a, b] = &self.limits;
        self.adjudication.check().map_err(|e| e.to_string())?;
        if !(1..=2).contains(&self.games) {
            return Err(format!("{} games, expected 1 or 2", self.games));
        }
        let day = 86_400_000;
        if self.deadline_ms == 0 || self.deadline_ms > day || self.time_margin_ms > day {
            return Err("times out of range".to_string());
        }
        let [first, second] = &self.sides;
        Ok(Job {
            sides: [first.job()?, second.job()?],
            opening: self.opening.read()?,
            games: self.games,
            rules: Rules {
                time_controls: [limit(a)?, limit(b)?],
                time_margin: Duration::from_millis(self.time_margin_ms),
                deadline: Duration::from_millis(self.deadline_ms),
                adjudication: self.adjudication,
            },
            nodes_per_second: self.nodes_per_second,
        })
    }
}

impl WireSide {
    fn new(side: &RemoteSide) -> Result<Self> {
        Ok(match side {
            RemoteSide::BuiltIn { kind, king_buckets, phase, theta, hash_mib } => Self::BuiltIn {
                fingerprint: built_in_fingerprint(),
                features: kind.name().to_string(),
                king_buckets: king_buckets.clone(),
                phase: phase.clone(),
                theta: theta.to_vec(),
                hash_mib: *hash_mib as u32,
            },
            RemoteSide::Uci(command) if command.reads_values() => {
                let reason = "engines that read a file of values play on this machine only, not over a queue";
                return Err(Error::Usage(format!("{command}: {reason}")));
            }
            RemoteSide::Uci(command) => Self::Uci {
                name: command.program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                fingerprint: fingerprint(command)?,
                options: command.settings.iter().map(|s| (s.name.clone(), s.value.clone())).collect(),
            },
        })
    }

    fn job(&self) -> std::result::Result<JobSide, String> {
        match self {
            Self::BuiltIn { fingerprint, features, king_buckets, phase, theta, hash_mib } => {
                phase.validate().map_err(|e| e.to_string())?;
                king_buckets.as_ref().map_or(Ok(()), KingBuckets::validate).map_err(|e| e.to_string())?;
                let set = FeatureSet::computed(features, king_buckets.as_ref(), phase.clone());
                let set =
                    set.ok_or_else(|| format!("model '{}' is not one that is sent", shown(features)))?;
                check_hash(*hash_mib).map_err(|e| e.to_string())?;
                if theta.iter().any(|value| !value.is_finite()) {
                    return Err("a value that is not finite".to_string());
                }
                Ok(JobSide::BuiltIn {
                    fingerprint: fingerprint.clone(),
                    set: Box::new(set),
                    theta: theta.as_slice().into(),
                    hash_mib: *hash_mib as usize,
                })
            }
            Self::Uci { name, fingerprint, options } => {
                let fits = |text: &str| text.len() <= MAX_OPTION && !text.contains(char::is_control);
                if options.len() > MAX_OPTIONS
                    || !options.iter().all(|(name, value)| fits(name) && fits(value))
                {
                    return Err("options that no engine has".to_string());
                }
                let setting =
                    |(name, value): &(String, String)| Setting { name: name.clone(), value: value.clone() };
                Ok(JobSide::Uci {
                    name: shown(name),
                    fingerprint: fingerprint.clone(),
                    options: options.iter().map(setting).collect(),
                })
            }
        }
    }
}

/// The games of a pair, or the reason why they are not played.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    format: String,
    run: String,
    number: u64,
    ticket: String,
    digest: String,
    worker: String,
    content: Content,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Content {
    Games(Vec<StoredCourse>),
    Refusal(String),
}

/// Reason why an answer is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It is invalid.
    Unreadable,
    /// Nobody was given that work; with the name that the sender claims.
    Forged(String),
}

impl Answer {
    /// Answers with the games of some work.
    pub fn games(work: &Work, worker: &str, games: Vec<StoredCourse>) -> Self {
        Self::new(work, worker, Content::Games(games))
    }

    /// Answers with the reason why work is declined.
    pub fn refusal(work: &Work, worker: &str, reason: &str) -> Self {
        Self::new(work, worker, Content::Refusal(cut(reason)))
    }

    fn new(work: &Work, worker: &str, content: Content) -> Self {
        Self {
            format: FORMAT.to_string(),
            run: work.run.clone(),
            number: work.number,
            ticket: work.ticket.clone(),
            digest: work.task.digest(),
            worker: cut(worker),
            content,
        }
    }

    /// Returns the bytes of a message.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::json!(self).to_string().into_bytes()
    }

    /// Reads a message, and checks that the sender was given the work.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub fn read(bytes: &[u8], identity: &Identity) -> std::result::Result<Self, Unusable> {
        let answer: Self = serde_json::from_slice(bytes).map_err(|_| Unusable::Unreadable)?;
        if answer.format != FORMAT {
            return Err(Unusable::Unreadable);
        }
        if answer.run != identity.run || !identity.accepts(answer.number, &answer.digest, &answer.ticket) {
            return Err(Unusable::Forged(answer.worker()));
        }
        Ok(answer)
    }

    /// Returns the number of the work.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the digest of the work.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the name of the sender, printable.
    pub fn worker(&self) -> String {
        shown(&self.worker)
    }

    /// Returns the reason why the work is declined, printable; `None` otherwise.
    pub fn reason(&self) -> Option<String> {
        match &self.content {
            Content::Refusal(reason) => Some(gputexel_io::printable(&cut(reason)).into_owned()),
            Content::Games(_) => None,
        }
    }

    /// Returns the games, replayed. Descriptions of engine failures are extended by the name of the worker.
    ///
    /// # Errors
    /// The reason why they cannot belong to the assignment.
    pub fn records(&self, assignment: &Assignment) -> std::result::Result<Vec<GameRecord>, String> {
        let Content::Games(games) = &self.content else { return Err("no games".to_string()) };
        if games.len() != assignment.games {
            return Err(format!("{} games instead of {}", games.len(), assignment.games));
        }
        let [first, second] = assignment.rules.time_controls;
        let controls = [[first, second], [second, first]];
        let replayed = games.iter().zip(controls).map(|(course, controls)| {
            let mut record = recorded_game(&assignment.opening, &assignment.rules, controls, course)?;
            if let Some(failure) = &mut record.failure {
                *failure = format!("{failure}, on {}", self.worker());
            }
            Ok(record)
        });
        replayed.collect()
    }
}

/// Cuts a text to the length that others accept.
fn cut(text: &str) -> String {
    let end = (0..=text.len().min(MAX_WORDS)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text[..end].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_model::{FeatureKind, KingPieces, named_parameters};
    use gputexel_play::client::EngineCommand;

    fn assignment() -> Assignment {
        let (set, mut theta) = named_parameters("material").unwrap();
        theta[0] = 0.1 + 0.2;
        let limit: TimeControl = "time=10+0.1".parse().unwrap();
        let rules = Rules {
            time_controls: [limit; 2],
            time_margin: Duration::from_millis(20),
            deadline: Duration::from_secs(60),
            adjudication: Adjudication::default(),
        };
        let program = std::env::current_exe().unwrap();
        let setting = Setting { name: "Hash".into(), value: "4".into() };
        let command = EngineCommand { settings: vec![setting], ..EngineCommand::new(program) };
        Assignment {
            number: 7,
            sides: [RemoteSide::built_in(&set, &theta, 2), RemoteSide::Uci(command)],
            opening: StoredOpening { moves: "e2e4 c7c5".into(), ..StoredOpening::default() }.read().unwrap(),
            rules,
            games: 2,
        }
    }

    #[test]
    fn engines_that_read_a_file_of_values_are_refused() {
        let mut assignment = assignment();
        let RemoteSide::Uci(command) = &mut assignment.sides[1] else { panic!() };
        command.arguments = vec!["{params}".to_string()];
        let refused = Work::new(&Identity::draw(None), &assignment).err().unwrap().to_string();
        assert!(refused.contains("on this machine only"), "{refused}");
    }

    #[test]
    fn work_is_read_as_it_was_written_and_its_ticket_is_known_again() {
        let identity = Identity::draw(Some(1_000_000));
        let sent = Work::new(&identity, &assignment()).unwrap();
        let read = Work::read(&sent.to_bytes()).unwrap();
        assert_eq!(read.task.digest(), sent.task.digest());
        let job = read.task.job().unwrap();
        assert_eq!((job.games, job.rules, job.nodes_per_second), (2, assignment().rules, Some(1_000_000)));
        let JobSide::BuiltIn { theta, .. } = &job.sides[0] else { panic!("{:?}", job.sides[0]) };
        assert_eq!(theta[0].to_bits(), (0.1f64 + 0.2).to_bits());
        let JobSide::Uci { options, .. } = &job.sides[1] else { panic!("{:?}", job.sides[1]) };
        assert_eq!(options, &[Setting { name: "Hash".into(), value: "4".into() }]);

        let answer = Answer::games(&read, "den", Vec::new()).to_bytes();
        assert_eq!(Answer::read(&answer, &identity).unwrap().number(), 7);
        let stranger = Identity::draw(None);
        assert_eq!(Answer::read(&answer, &stranger).unwrap_err(), Unusable::Forged("den".into()));
        // Nothing that determines the games can be changed without another ticket.
        let text = String::from_utf8(answer).unwrap();
        let other = text.replace("\"number\":7", "\"number\":8");
        assert!(matches!(Answer::read(other.as_bytes(), &identity), Err(Unusable::Forged(_))));
        assert_eq!(Answer::read(b"{}", &identity).unwrap_err(), Unusable::Unreadable);
    }

    #[test]
    fn every_model_that_is_computed_can_be_sent() {
        let buckets = KingBuckets::named("4", KingPieces::Own).unwrap();
        let phase = PhaseSettings::default;
        let mut sets = vec![FeatureSet::with_king_buckets(buckets, phase())];
        sets.extend(FeatureKind::computed().map(|kind| FeatureSet::new(kind, phase())));
        for set in sets {
            let theta = vec![1.0; 2 * set.features.len()];
            let side = WireSide::new(&RemoteSide::built_in(&set, &theta, 1)).unwrap();
            let text = serde_json::to_string(&side).unwrap();
            let read: WireSide = serde_json::from_str(&text).unwrap();
            let JobSide::BuiltIn { set: own, .. } = read.job().unwrap() else { panic!("{text}") };
            assert_eq!(*own, set);
        }
    }

    #[test]
    fn work_that_makes_no_sense_is_refused() {
        let work = Work::new(&Identity::draw(None), &assignment()).unwrap();
        let text = String::from_utf8(work.to_bytes()).unwrap();
        let job = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}: {text}");
            Work::read(text.replacen(from, to, 1).as_bytes()).map_err(|e| e.to_string())?.task.job().map(drop)
        };
        assert_eq!(job("\"games\":2", "\"games\":1"), Ok(()));
        for (from, to, reason) in [
            ("\"games\":2", "\"games\":3", "3 games"),
            ("e2e4", "e2e5", "illegal move 'e2e5'"),
            ("time=10+0.1", "rm -rf", "rm -rf"),
            ("\"Hash\"", "\"Hash\\nquit\"", "options that no engine has"),
            ("\"4\"", "\"4\\nquit\"", "options that no engine has"),
            ("\"material\"", "\"imported\"", "imported"),
            ("\"material\"", "\"king-pst\"", "king-pst"),
            (
                "\"material\"",
                "\"king-pst\",\"king_buckets\":{\"squares\":[0],\"mirrored\":true,\"pieces\":\"own\"}",
                "64 numbers",
            ),
            ("\"hash_mib\":2", "\"hash_mib\":99999999", "hash"),
            ("\"deadline_ms\":60000", "\"deadline_ms\":0", "times out of range"),
            ("gputexel-cluster-1", "gputexel-cluster-2", "another version"),
            ("gputexel-cluster-1", "something", "cannot be read"),
            ("\"task\":", "\"command\":\"ls\",\"task\":", "unknown field"),
            (work.run.as_str(), "..", "has no run"),
        ] {
            let found = job(from, to).unwrap_err();
            assert!(found.contains(reason), "{from} {to}: {found}");
        }
    }
}
