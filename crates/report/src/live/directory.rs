//! The runs under a folder: finds, lists and shows them in their current state.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::html::{ListedRun, Live, RunList, Stage, figure_of, notice};
use crate::report::Report;
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::run_folder::{Kind, PARAMETERS, REPORT};
use gputexel_io::{Error, Result, escaped};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::live::http::{Content, Server};

const DEPTH: usize = 8;
/// Maximum number of folders and files examined for one list.
const ENTRIES: usize = 100_000;
const RUNS: usize = 500;
const REPORT_BYTES: u64 = 64 << 20;
const PREFIX: &str = "/run/";
const COMPARE: &str = "/compare";
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const KINDS: [Kind; 6] = [Kind::Run, Kind::Sweep, Kind::Match, Kind::Spsa, Kind::Learn, Kind::Improve];
/// Of these there is only the page that the command writes.
const PAGES: [Kind; 2] = [Kind::Learn, Kind::Improve];

pub type ReadReport = Box<dyn Fn(&Path) -> Result<Report> + Send + Sync>;

/// Makes the page of a comparison of two folders of runs.
pub type CompareRuns = Box<dyn Fn(&Path, &Path) -> Result<String> + Send + Sync>;

/// Lengths and times of the contents of a folder, and true if a process works in it.
type Stamp = (Vec<(OsString, u64, Option<SystemTime>)>, bool);

struct Runs {
    root: PathBuf,
    read: ReadReport,
    compare: CompareRuns,
    /// List entries of folders, valid as long as nothing in them changes.
    known: Mutex<HashMap<PathBuf, (Stamp, ListedRun)>>,
}

/// A server of the reports of all runs under a folder.
pub struct RunDirectory {
    server: Server,
}

impl RunDirectory {
    /// Serves the list of runs under `root`, their reports, and comparisons of two of them, on a port of
    /// 127.0.0.1; 0 for any free one.
    ///
    /// # Errors
    /// [`Error::Input`] if `root` is not a folder or the port is not available; [`Error::Io`].
    pub fn serve(root: &Path, port: u16, read: ReadReport, compare: CompareRuns) -> Result<Self> {
        let about = std::fs::metadata(root).map_err(|e| Error::io(root, e))?;
        if !about.is_dir() {
            return Err(Error::input(root, "is not a folder"));
        }
        std::fs::read_dir(root).map_err(|e| Error::io(root, e))?;
        let runs = Arc::new(Runs { root: root.to_path_buf(), read, compare, known: Mutex::default() });
        let server = Server::start(port, Box::new(move |path, live| runs.at(path, live)))?;
        Ok(Self { server })
    }

    pub fn address(&self) -> String {
        self.server.address()
    }
}

fn kind(folder: &Path) -> Option<Kind> {
    let has = |name: &str| std::fs::symlink_metadata(folder.join(name)).is_ok_and(|about| about.is_file());
    KINDS.into_iter().find(|kind| kind.record().is_some_and(has))
}

fn is_comparable(folder: &Path) -> bool {
    let has_parameters =
        std::fs::symlink_metadata(folder.join(PARAMETERS)).is_ok_and(|about| about.is_file());
    has_parameters && kind(folder) == Some(Kind::Run)
}

impl Runs {
    fn at(&self, path: &str, live: &Live) -> Result<Content> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if path == "/" {
            return Ok(Content::Page(self.list().to_html(Some(live))));
        }
        if path == COMPARE {
            return Ok(Content::Plain(self.comparison(query).into_bytes()));
        }
        let Some(folder) = path.strip_prefix(PREFIX).and_then(|rest| self.folder(rest)) else {
            return Ok(Content::Missing);
        };
        let Some(kind) = kind(&folder) else { return Ok(Content::Missing) };
        if PAGES.contains(&kind) {
            return Ok(match report_file(&folder) {
                Some(page) => Content::Plain(page),
                None => Content::Page(notice(kind.name(), "There is no page yet.", Some(live))),
            });
        }
        let mut report = (self.read)(&folder)?;
        report.set_running(FolderLock::is_held(&folder));
        // The report written at the end contains parts that need the positions.
        if report.stage() == Stage::Finished
            && let Some(page) = report_file(&folder)
        {
            return Ok(Content::Plain(page));
        }
        Ok(Content::Page(report.to_html(Some(live))))
    }

    /// Page of a comparison of the two runs that the query of a form names, or of the reason why there is none.
    fn comparison(&self, query: &str) -> String {
        let values = query.split('&').filter_map(|pair| pair.strip_prefix("run="));
        let folders: Vec<Option<PathBuf>> = values
            .map(|value| {
                let link = percent_decode_str(&value.replace('+', " ")).decode_utf8().ok()?.into_owned();
                self.folder(link.strip_prefix(PREFIX)?).filter(|folder| is_comparable(folder))
            })
            .collect();
        let page = match &folders[..] {
            [Some(a), Some(b)] => (self.compare)(a, b),
            [None, _] | [_, None] => {
                Err(Error::Usage("one of the two is not a run with parameters".to_string()))
            }
            _ => Err(Error::Usage("tick two runs in the list".to_string())),
        };
        page.unwrap_or_else(|error| notice("There is no comparison", &error.to_string(), None))
    }

    /// `None` if it leads out of the root or through a link.
    fn folder(&self, rest: &str) -> Option<PathBuf> {
        let mut folder = self.root.clone();
        for part in rest.split('/').filter(|part| !part.is_empty()) {
            let name = percent_decode_str(part).decode_utf8().ok()?.into_owned();
            // A single name: no parent folder, and on Windows no drive and no stream of a file.
            let mut parts = Path::new(&name).components();
            let plain = matches!(parts.next(), Some(Component::Normal(one)) if one == name.as_str())
                && parts.next().is_none();
            let foreign = cfg!(windows) && name.contains(':');
            folder.push((plain && !foreign).then_some(name)?);
            if !std::fs::symlink_metadata(&folder).is_ok_and(|about| about.is_dir()) {
                return None;
            }
        }
        Some(folder)
    }

    fn list(&self) -> RunList {
        let mut found: Vec<(Option<SystemTime>, PathBuf, Kind)> = Vec::new();
        let mut budget = ENTRIES;
        self.walk(&self.root, DEPTH, &mut budget, &mut found);
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let note = match (found.is_empty(), budget, found.len()) {
            (true, ..) => "No run is in this folder yet.".to_string(),
            (_, 0, _) => {
                "The folder holds too much to be looked at as a whole: runs may be missing.".to_string()
            }
            (_, _, all) if all > RUNS => {
                format!("Of {all} runs, the {RUNS} that were written last are listed.")
            }
            _ => String::new(),
        };
        found.truncate(RUNS);
        let now = SystemTime::now();
        let runs = found.iter().map(|(changed, folder, kind)| self.entry(folder, *kind, *changed, now));
        let list = RunList {
            title: format!("gputexel: runs in {}", escaped(&self.root.display().to_string())),
            runs: runs.collect(),
            note,
        };
        if let Ok(mut known) = self.known.lock() {
            known.retain(|folder, _| found.iter().any(|run| run.1 == *folder));
        }
        list
    }

    fn walk(
        &self,
        folder: &Path,
        depth: usize,
        budget: &mut usize,
        found: &mut Vec<(Option<SystemTime>, PathBuf, Kind)>,
    ) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut changed = None;
        let mut below = Vec::new();
        for entry in entries.flatten() {
            if *budget == 0 {
                break;
            }
            *budget -= 1;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                below.push(entry.path());
            } else if about.is_file() {
                changed = changed.max(about.modified().ok());
            }
        }
        if let Some(kind) = kind(folder) {
            found.push((changed, folder.to_path_buf(), kind));
            // The match below is shown on the page of the run.
            if kind == Kind::Spsa {
                return;
            }
        }
        if depth > 0 {
            for folder in below {
                self.walk(&folder, depth - 1, budget, found);
            }
        }
    }

    fn entry(&self, folder: &Path, kind: Kind, changed: Option<SystemTime>, now: SystemTime) -> ListedRun {
        let running = FolderLock::is_held(folder);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries
            .filter_map(|entry| {
                let about = entry.metadata().ok().filter(|about| !about.is_dir())?;
                Some((entry.file_name(), about.len(), about.modified().ok()))
            })
            .collect();
        files.sort();
        let stamp = (files, running);
        let before = self.known.lock().ok().and_then(|known| known.get(folder).cloned());
        let known = before.filter(|before| before.0 == stamp);
        let listed = known.map_or_else(|| self.listed(folder, kind, running), |(_, listed)| listed);
        if let Ok(mut all) = self.known.lock() {
            all.insert(folder.to_path_buf(), (stamp, listed.clone()));
        }
        ListedRun { changed: ago(changed, now), ..listed }
    }

    fn listed(&self, folder: &Path, kind: Kind, running: bool) -> ListedRun {
        let inside = folder.strip_prefix(&self.root).unwrap_or(folder);
        let link = inside.iter().map(|part| percent_encode(part.as_encoded_bytes(), KEPT).to_string() + "/");
        let listed = ListedRun {
            link: PREFIX.to_string() + &link.collect::<String>(),
            name: match inside.as_os_str().is_empty() {
                true => "this folder".to_string(),
                false => escaped(&inside.display().to_string()).into_owned(),
            },
            kind: kind.name(),
            is_comparable: is_comparable(folder),
            ..ListedRun::default()
        };
        if PAGES.contains(&kind) {
            let page = report_file(folder).unwrap_or_default();
            let page = String::from_utf8_lossy(&page);
            // There is a verdict once it has ended.
            let figure = figure_of(&page).filter(|_| !running);
            let elo = figure.and_then(|text| text.strip_prefix("Elo ")).unwrap_or_default().to_string();
            return ListedRun { stage: Some(Stage::of(figure.is_some(), running)), elo, ..listed };
        }
        let mut report = match (self.read)(folder) {
            Ok(report) => report,
            Err(error) => return ListedRun { status: error.to_string(), ..listed },
        };
        report.set_running(running);
        ListedRun {
            stage: Some(report.stage()),
            status: report.status().to_string(),
            data: report.data(),
            held_out: report.held_out(),
            elo: report.elo(),
            ..listed
        }
    }
}

fn report_file(folder: &Path) -> Option<Vec<u8>> {
    let path = folder.join(REPORT);
    let about = std::fs::symlink_metadata(&path).ok()?;
    if !about.is_file() || about.len() > REPORT_BYTES {
        return None;
    }
    let mut file = std::fs::File::open(&path).ok()?;
    gputexel_io::read_limited(&mut file, REPORT_BYTES).ok()
}

fn ago(at: Option<SystemTime>, now: SystemTime) -> String {
    let Some(seconds) = at.and_then(|at| now.duration_since(at).ok()).map(|passed| passed.as_secs()) else {
        return "just now".to_string();
    };
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(root: &Path) -> Runs {
        let read = |folder: &Path| -> Result<Report> {
            match std::fs::read_to_string(folder.join("run.json")).unwrap_or_default().as_str() {
                "damaged" => Err(Error::input(folder, "is <damaged>")),
                text => {
                    let report = crate::RunReport {
                        title: "T".to_string(),
                        status: text.to_string(),
                        final_: text == "done",
                        ..Default::default()
                    };
                    Ok(Report::Run(Box::new(report)))
                }
            }
        };
        let compare = |a: &Path, b: &Path| Ok(format!("{} and {}", a.display(), b.display()));
        Runs {
            root: root.to_path_buf(),
            read: Box::new(read),
            compare: Box::new(compare),
            known: Mutex::default(),
        }
    }

    fn live() -> Live {
        Live { nonce: "n".to_string(), every: 3 }
    }

    #[test]
    fn runs_are_found_listed_and_shown_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("runs");
        let make = |name: &str, text: &str| {
            std::fs::create_dir_all(root.join(name)).unwrap();
            std::fs::write(root.join(name).join("run.json"), text).unwrap();
        };
        make("a", "done");
        make("b & <c>/deep", "half-way");
        make("bad", "damaged");
        std::fs::create_dir_all(root.join("none")).unwrap();
        std::fs::create_dir_all(dir.path().join("outside")).unwrap();
        std::fs::write(dir.path().join("outside/run.json"), "done").unwrap();
        std::fs::write(root.join("a/report.html"), "<p>whole").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(dir.path().join("outside"), root.join("link")).unwrap();
        }
        let runs = runs(&root);
        let list = runs.list();
        let mut links: Vec<&str> = list.runs.iter().map(|run| run.link.as_str()).collect();
        links.sort_unstable();
        assert_eq!(links, ["/run/a/", "/run/b%20%26%20%3Cc%3E/deep/", "/run/bad/"]);
        let bad = list.runs.iter().find(|run| run.name == "bad").unwrap();
        assert!(bad.stage.is_none() && bad.status.contains("is <damaged>"), "{bad:?}");
        assert_eq!(runs.at("/run/a/", &live()).unwrap(), Content::Plain(b"<p>whole".to_vec()));
        let Content::Page(page) = runs.at("/run/b%20%26%20%3Cc%3E/deep/", &live()).unwrap() else { panic!() };
        assert!(page.contains("half-way") && page.contains("nonce=\"n\""), "{page}");
        assert!(runs.at("/run/bad", &live()).is_err());
        // Comparisons are of two runs of the list that have parameters of their own.
        let compare = |query: &str| {
            let Content::Plain(page) = runs.at(&format!("/compare?{query}"), &live()).unwrap() else {
                panic!()
            };
            String::from_utf8(page).unwrap()
        };
        let both = "run=%2Frun%2Fa%2F&run=%2Frun%2Fb%2520%2526%2520%253Cc%253E%2Fdeep%2F";
        assert!(compare(both).contains("not a run with parameters"));
        for name in ["a", "b & <c>/deep"] {
            std::fs::write(root.join(name).join("params.json"), "{}").unwrap();
        }
        let page = compare(both);
        assert!(page.ends_with("runs/b & <c>/deep") && page.contains("runs/a and "), "{page}");
        for query in [
            "",
            "run=%2Frun%2Fa%2F",
            "run=/run/a/&run=/run/../outside/",
            "run=%FF&run=%2Frun%2Fa%2F",
            "run=/etc&run=/run/link/",
        ] {
            assert!(compare(query).contains("There is no comparison"), "{query}");
        }
        for path in [
            "/run/",
            "/run/none",
            "/run/link",
            "/run/../outside",
            "/run/%2e%2e/outside",
            "/run/..%2foutside",
            "/run/a/run.json",
            "/run/%00",
            "/run/%ff",
            "/a",
            "/run/a%2f",
            "*",
            "",
        ] {
            assert_eq!(runs.at(path, &live()).unwrap(), Content::Missing, "{path}");
        }
    }

    #[test]
    fn a_run_is_running_while_its_folder_is_locked_and_looking_takes_nothing_away() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("run.json"), "half-way").unwrap();
        let runs = runs(dir.path());
        assert_eq!(runs.list().runs[0].stage, Some(Stage::Open));
        let lock = FolderLock::acquire(dir.path()).unwrap();
        assert_eq!(runs.list().runs[0].stage, Some(Stage::Running));
        assert_eq!(runs.list().runs[0].link, "/run/");
        drop(lock);
        assert_eq!(runs.list().runs[0].stage, Some(Stage::Open));
    }
}
