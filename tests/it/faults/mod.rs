//! Every command, with a fault at each of its calls that change files: the call fails, the disk is full from then on,
//! half is written, or the process ends there. Afterwards the files on disk are the old or the new ones, never
//! partial, and the next run completes them.
//!
//! By default a sample of the calls is hit; `GPUTEXEL_FAULTS=all` hits each of them, `GPUTEXEL_FAULTS=N` N of each
//! kind. Progress is printed to standard error, one line per command.

mod cases;
mod own;
mod state;
mod tracer;

use crate::common::prelude::*;
use crate::common::program::words;
use state::{Tree, is_leftover, is_whole, timeless};
use std::io::Write as _;
use std::process::Command;
use tracer::{Call, End, Fault, Kind, Ran};

const SAMPLE: usize = 6;

/// A command and the files of its runs.
struct Case {
    name: &'static str,
    /// Program to run, if not this project's.
    program: Option<&'static str>,
    /// Writes the inputs, and existing files in place of the results.
    prepare: fn(&Bench),
    start: &'static str,
    /// Command that resumes an interrupted run; the same command again if there is none.
    resume: Option<&'static str>,
    /// Each of these is the old or the new one at any time.
    results: &'static [&'static str],
    /// True if a new run removes old results first; until it ends, there are none.
    clears: bool,
    /// Files that grow line by line.
    grows: &'static [&'static str],
    /// Files that a failed run may leave for resuming.
    leaves: &'static [&'static str],
    /// Folders in which a killed run may leave anything, for the next one to remove.
    scraps: &'static [&'static str],
    /// Output that runs can do without, with a warning, if it cannot be written.
    spare: Option<&'static str>,
    /// Command that reverts an interrupted one to the old state.
    undo: Option<&'static str>,
}

impl Case {
    /// Defaults for a command that is not resumed, and writes results only.
    const PLAIN: Self = Self {
        name: "",
        program: None,
        prepare: |_| {},
        start: "",
        resume: None,
        results: &[],
        clears: false,
        grows: &[],
        leaves: &[],
        scraps: &[],
        spare: None,
        undo: None,
    };
}

/// Returns the number of faults of each kind; `None` for one at every call.
fn wanted() -> Option<usize> {
    match std::env::var("GPUTEXEL_FAULTS").as_deref() {
        Ok("all") => None,
        Ok(number) => Some(number.parse().expect("GPUTEXEL_FAULTS is a number or 'all'")),
        Err(_) => Some(SAMPLE),
    }
}

/// A case with the effects of its runs on its folder.
struct Trial<'c> {
    case: &'c Case,
    bench: Bench,
    old: Tree,
    new: Tree,
    /// Files that differ after every run.
    restless: BTreeSet<String>,
    calls: Vec<Call>,
}

/// A fault and its consequences, for messages.
struct Event<'a> {
    case: &'a str,
    fault: Fault,
    n: usize,
    ran: &'a Ran,
}

impl std::fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { case, fault, n, ran } = self;
        let call = ran.hit.as_ref().map(|call| format!("{} of {}", call.name, call.path.display()));
        let call = call.unwrap_or_default();
        write!(f, "{case}: {} {n} ({call}), {:?}, {:?}", fault.name(), ran.end, ran.err)
    }
}

fn program() -> &'static Path {
    Path::new(assert_cmd::cargo::cargo_bin!("gputexel"))
}

/// Ignored paths: those of the user, and the temporary folder.
const OUTSIDE: [&str; 2] = ["state/", "tmp/"];

impl<'c> Trial<'c> {
    fn new(case: &'c Case) -> Self {
        let bench = Bench::new();
        std::fs::create_dir(bench.path("tmp")).unwrap();
        std::fs::create_dir(bench.path("state")).unwrap();
        (case.prepare)(&bench);
        let old = Tree::of(bench.folder.path());
        let mut trial =
            Self { case, bench, old, new: Tree::default(), restless: BTreeSet::new(), calls: Vec::new() };
        let ran = trial.run(None);
        assert_eq!((ran.end, ran.err.as_str()), (End::Code(0), ""), "{}", case.name);
        (trial.new, trial.calls) = (trial.seen(), ran.calls);
        let ran = trial.run(None);
        assert_eq!(ran.end, End::Code(0), "{}", case.name);
        let again = trial.seen();
        assert!(trial.new.0.keys().eq(again.0.keys()), "{}: names differ from run to run", case.name);
        let differs = |name: &String| timeless(name, &trial.new.0[name]) != timeless(name, &again.0[name]);
        // Reports contain the starting time of a run, which may be in the same second.
        let has_times = |name: &&String| Some(name.as_str()) == case.spare || differs(name);
        trial.restless = trial.new.0.keys().filter(has_times).cloned().collect();
        for name in case.results.iter().chain(case.grows) {
            assert!(trial.new.get(name).is_some(), "{}: no {name}", case.name);
            assert!(!trial.restless.contains(*name), "{}: {name} differs from run to run", case.name);
        }
        trial
    }

    fn program(&self) -> &Path {
        self.case.program.map_or_else(program, Path::new)
    }

    fn run(&self, fault: Option<(Fault, usize)>) -> Ran {
        self.old.restore(self.bench.folder.path());
        tracer::run(self.program(), &words(self.case.start), self.bench.folder.path(), fault)
            .unwrap_or_else(|error| panic!("{}: {fault:?}: {error}", self.case.name))
    }

    /// Returns the contents of the folder that are compared.
    fn seen(&self) -> Tree {
        Tree::of(self.bench.folder.path()).without(&OUTSIDE)
    }

    fn plainly(&self, line: &str) -> (i32, String) {
        let folder = self.bench.folder.path().canonicalize().unwrap();
        let output = Command::new(self.program())
            .args(words(line))
            .current_dir(&folder)
            .envs(tracer::environment(&folder))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), err)
    }

    /// Returns true if a file differs from the one after a complete run.
    fn differs(&self, name: &str, tree: &Tree) -> bool {
        match (tree.get(name), self.new.get(name)) {
            (Some(now), Some(_)) if self.restless.contains(name) => !is_whole(name, now),
            (Some(now), Some(new)) => timeless(name, now) != timeless(name, new),
            (now, new) => now.is_some() != new.is_some(),
        }
    }

    /// Checks that everything is as after a complete run; the error names what is not.
    fn check_new(&self) -> Result<(), String> {
        self.check_new_but(&[])
    }

    /// As [`Self::check_new`], except for some files.
    fn check_new_but(&self, but: &[String]) -> Result<(), String> {
        let now = self.seen();
        let names: BTreeSet<&String> = now.0.keys().chain(self.new.0.keys()).collect();
        let wrong: Vec<&String> =
            names.into_iter().filter(|name| self.differs(name, &now) && !but.contains(name)).collect();
        if wrong.is_empty() { Ok(()) } else { Err(format!("not as after a whole run: {wrong:?}")) }
    }

    /// Checks that a fault left neither partial nor stray files.
    fn check_left(&self, event: &Event<'_>) -> Result<(), String> {
        let (case, now, old) = (self.case, self.seen(), self.old.without(&OUTSIDE));
        for name in case.results {
            let is_old = now.get(name) == old.get(name);
            let is_gone = case.clears && now.get(name).is_none();
            if !is_old && !is_gone && self.differs(name, &now) {
                return Err(format!("{name} is neither the old nor the new one"));
            }
        }
        for name in case.grows {
            let whole = |bytes: &[u8]| {
                let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                timeless(name, &bytes[..end])
            };
            let now = now.get(name).map(whole).unwrap_or_default();
            let begins = |tree: &Tree| tree.get(name).map(whole).unwrap_or_default().starts_with(&now);
            if !begins(&old) && !begins(&self.new) {
                return Err(format!("{name} holds other lines"));
            }
        }
        for name in old.0.keys().filter(|name| self.new.0.contains_key(*name) && now.get(name).is_none()) {
            if !case.clears {
                return Err(format!("{name} is gone"));
            }
        }
        // Files that could not be removed stay.
        let kept = event.ran.hit.as_ref().is_some_and(|call| call.kind == Kind::Remove);
        let is_scrap =
            |name: &str| is_leftover(name) || case.scraps.iter().any(|path| name.starts_with(path));
        let may_stay =
            |name: &str| case.leaves.contains(&name) || (event.fault.kills() || kept) && is_scrap(name);
        let strays: Vec<&str> =
            now.strays(&old, &self.new).into_iter().filter(|name| !may_stay(name)).collect();
        if !strays.is_empty() {
            return Err(format!("{strays:?} is left"));
        }
        let temporary = Tree::of(&self.bench.path("tmp"));
        if !event.fault.kills() && !kept && !temporary.0.is_empty() {
            return Err(format!("tmp has {:?}", temporary.0.keys()));
        }
        // A failed run removes the folders that it created.
        let changed = |name: &&String| now.get(name) != old.get(name);
        let only_folders = now.0.keys().filter(changed).all(|name| name.ends_with('/'));
        let more = now.0.keys().any(|name| !old.0.contains_key(name));
        if !event.fault.kills() && !kept && more && only_folders {
            return Err("empty folders are left".to_string());
        }
        Ok(())
    }

    /// Checks what a fault left, and that the next run recovers from it.
    fn check(&self, event: &Event<'_>) -> Result<(), String> {
        let killed = event.fault.kills();
        match event.ran.end {
            End::Code(0) => {
                let kept = event.ran.hit.as_ref().is_some_and(|call| call.kind == Kind::Remove);
                if killed {
                    return Err("went on after its end".to_string());
                }
                if kept {
                    return self.check_left(event).and_then(|()| self.again(event));
                }
                let is_spared = event.ran.err.starts_with("gputexel: warning: no report: ");
                let report = self.case.spare.filter(|_| is_spared).map(str::to_string);
                return self.check_new_but(&report.into_iter().collect::<Vec<_>>());
            }
            End::Code(1) if !killed => {
                let err = &event.ran.err;
                if event.fault == Fault::Short {
                    return Err("half of a write is no error".to_string());
                }
                // Warnings may come before it.
                let errors: Vec<&str> =
                    err.lines().filter(|line| !line.starts_with("gputexel: warning: ")).collect();
                if errors.len() != 1 || !errors[0].starts_with("gputexel: ") || err.contains("panicked") {
                    return Err("the error is not one line".to_string());
                }
            }
            End::Signal(libc::SIGKILL) if killed => {}
            _ => return Err("ended otherwise".to_string()),
        }
        self.check_left(event)?;
        self.again(event)
    }

    /// Lets the next run complete the interrupted one.
    fn again(&self, event: &Event<'_>) -> Result<(), String> {
        if let Some(undo) = self.case.undo.filter(|_| event.n.is_multiple_of(2)) {
            let (code, err) = self.plainly(undo);
            if code != 0 && !err.contains("nothing to undo") {
                return Err(format!("cannot be undone: {err}"));
            }
            let old = self.old.without(&OUTSIDE);
            return if self.seen() == old {
                Ok(())
            } else {
                Err("undo does not bring the old back".to_string())
            };
        }
        let mut told = String::new();
        if let Some(resume) = self.case.resume {
            let (code, err) = self.plainly(resume);
            if code == 0 {
                return self.check_new().map_err(|why| format!("resumed: {why}"));
            }
            if err.contains("is finished") || err.contains("is complete") {
                let now = self.check_new();
                // It may be the old state, still untouched.
                let left = self.seen();
                let is_old = |name: &&str| left.get(name) == self.old.get(name);
                if now.is_ok() || !self.case.results.iter().chain(self.case.grows).all(is_old) {
                    return now.map_err(|why| format!("said to be finished: {why}"));
                }
                return self.anew(err);
            }
            if !err.contains("nothing to resume") && !err.contains("is not the folder of") {
                return Err(format!("cannot be resumed: {err}"));
            }
            told += &err;
        }
        self.anew(told)
    }

    /// Starts the command over; `told` is the output so far.
    fn anew(&self, mut told: String) -> Result<(), String> {
        let (mut code, mut err) = self.plainly(self.case.start);
        if code == 1 && err.ends_with("; run again\n") {
            (code, err) = self.plainly(self.case.start);
        }
        told += &err;
        if code == 2 && err.contains("exists") {
            let (code, err) = self.plainly(&format!("{} --force", self.case.start));
            told += &err;
            return if code == 0 { self.check_new() } else { Err(format!("cannot be begun anew: {told}")) };
        }
        let is_done = ["nothing to undo", "is tuned already"].iter().any(|done| err.contains(done));
        if code != 0 && !is_done {
            return Err(format!("cannot be begun again: {told}"));
        }
        self.check_new().map_err(|why| format!("begun again: {why}"))
    }
}

struct Outcome {
    /// Number of calls of a complete run.
    calls: usize,
    counts: Vec<(Fault, usize)>,
    broken: Vec<String>,
}

/// Injects faults into a command's calls, `wanted` of each kind, or all.
fn inject(case: &Case, wanted: Option<usize>) -> Outcome {
    let trial = Trial::new(case);
    let (mut counts, mut broken) = (Vec::new(), Vec::new());
    for fault in Fault::ALL {
        let possible = trial.calls.iter().filter(|call| fault.befalls(call)).count();
        let sample = wanted.map(|wanted| {
            let wanted = wanted.min(possible);
            // Spread evenly, including the last one.
            (1..=wanted).map(|i| (i * possible).div_ceil(wanted)).collect::<Vec<usize>>()
        });
        let mut injected = 0;
        for i in 0.. {
            let n = match &sample {
                Some(sample) => sample.get(i).copied(),
                None => Some(i + 1),
            };
            let Some(n) = n else { break };
            let ran = trial.run(Some((fault, n)));
            if ran.hit.is_none() {
                // The program makes no more calls.
                break;
            }
            injected += 1;
            let event = Event { case: case.name, fault, n, ran: &ran };
            if let Err(why) = trial.check(&event) {
                broken.push(format!("{event}: {why}"));
            }
        }
        counts.push((fault, injected));
    }
    Outcome { calls: trial.calls.len(), counts, broken }
}

/// Injects faults into a command's calls, which must all be handled, and prints their number.
fn hit(case: &Case) {
    if let Err(why) = tracer::is_possible() {
        requirement::lack("ptrace", &why);
        return;
    }
    let Outcome { calls, counts, broken } = inject(case, wanted());
    let counts: Vec<String> =
        counts.iter().map(|(fault, count)| format!("{} {count}", fault.name())).collect();
    let verdict =
        if broken.is_empty() { "all held".to_string() } else { format!("{} not held", broken.len()) };
    let line = format!("faults: {}: {calls} calls; {}; {verdict}\n", case.name, counts.join(", "));
    // Not by `eprintln!`, whose output the harness shows for failed tests only.
    let _ = std::io::stderr().write_all(line.as_bytes());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
