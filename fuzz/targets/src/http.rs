//! Pages of runs, as requested by browsers.

use std::path::PathBuf;
use std::sync::LazyLock;

use gputexel_report::live::answer_to;
use tempfile::TempDir;

use crate::runs;

const PORT: u16 = 8000;

/// A folder with folders that have names of runs but nothing to show, and a private file.
static ROOT: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().join("runs");
    for name in ["first", "a run"] {
        std::fs::create_dir_all(root.join(name)).expect("a new folder");
        std::fs::write(root.join(name).join("run.json"), "{}").expect("room for a temporary file");
        std::fs::write(root.join(name).join("report.html"), "<p>report").expect("room for a temporary file");
    }
    std::fs::write(folder.path().join("secret"), "SECRET").expect("room for a temporary file");
    std::fs::create_dir(folder.path().join("hidden")).expect("a new folder");
    std::fs::write(folder.path().join("hidden/run.json"), "SECRET").expect("room for a temporary file");
    (folder, root)
});

/// Any bytes from a client: the response is valid HTTP or empty, and shows no files from elsewhere.
pub(crate) fn http(data: &[u8]) {
    let answer = answer_to(data, &ROOT.1, PORT, Box::new(runs::report));
    if answer.is_empty() {
        return;
    }
    let head = answer.get(..12).expect("a status line");
    assert!(head.starts_with(b"HTTP/1."), "{}", String::from_utf8_lossy(head));
    let status = &head[9..12];
    let known: [&[u8]; 7] = [b"200", b"400", b"404", b"405", b"421", b"431", b"503"];
    assert!(known.contains(&status), "{}", String::from_utf8_lossy(&answer));
    let contains = |word: &[u8]| answer.windows(word.len()).any(|part| part == word);
    assert!(!contains(b"SECRET"), "{}", String::from_utf8_lossy(&answer));
    if status == b"200" {
        assert!(data.starts_with(b"GET ") || data.starts_with(b"HEAD "));
        let lower = data.to_ascii_lowercase();
        assert!(
            lower.windows(9).any(|part| part == b"127.0.0.1")
                || lower.windows(9).any(|part| part == b"localhost")
        );
    }
}
