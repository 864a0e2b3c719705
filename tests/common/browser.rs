//! Chromium without a window: pictures of pages, and what they ask the network for.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::requirement;

/// The program, if it is installed under one of its names.
pub fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = names.into_iter().find_map(requirement::find);
    if found.is_none() {
        requirement::lack("chromium", &format!("none of {} is on the path", names.join(", ")));
    }
    found
}

/// A function of a frame that measures contrasts.
const CONTRASTS: &str = include_str!("contrast.js");

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Whether the visitor likes it dark.
    pub dark: bool,
}

/// What was seen.
pub struct Seen {
    /// The picture's rows of red, green and blue.
    pub pixels: Vec<[u8; 3]>,
    /// How wide the page is, which is more than the window where it overflows.
    pub page_width: u32,
    /// Addresses that the page asked for, other than of files.
    pub requests: Vec<String>,
    /// Of texts, on what is behind them.
    pub text_contrast: Contrast,
    /// Of lines and points of pictures.
    pub line_contrast: Contrast,
}

/// The lowest contrast of a kind of elements, 1 to 21 as WCAG 2 defines it.
#[derive(Clone, Debug, Deserialize)]
pub struct Contrast {
    pub ratio: f64,
    /// Which element that is.
    pub what: String,
    /// How many were measured.
    pub seen: u64,
}

/// What the frame finds out about the page in it.
#[derive(Deserialize)]
struct Findings {
    width: u32,
    text: Contrast,
    line: Contrast,
}

/// Looks at a file. The page is framed in another one, which makes windows possible that are
/// narrower than a browser's, and can tell how wide the page is. Works in `folder`.
pub fn look(chromium: &Path, page: &Path, look: Look, folder: &Path) -> Seen {
    let name = format!("{}-{}", look.width, if look.dark { "dark" } else { "light" });
    let frame = folder.join(format!("{name}.html"));
    let (picture, log) = (folder.join(format!("{name}.png")), folder.join(format!("{name}.json")));
    let address = |path: &Path| format!("file://{}", path.canonicalize().unwrap().display());
    let text = format!(
        "<!DOCTYPE html><meta name=color-scheme content='light dark'><style>body{{margin:0}}iframe{{border:0;width:{}px;height:{}px}}</style>\
         <iframe id=f src=\"{}\"></iframe><script>{CONTRASTS}\nf.onload=()=>document.title=JSON.stringify({{width:f.contentDocument.documentElement.scrollWidth,...contrasts(f)}})</script>",
        look.width,
        look.height,
        address(page).replace('"', "%22")
    );
    std::fs::write(&frame, text).unwrap();
    let profile = folder.join(format!("{name}-profile"));
    let run = |extra: &[String]| -> String {
        let mut child = Command::new(chromium)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--blink-settings=preferredColorScheme={}", if look.dark { 0 } else { 1 }))
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--window-size={},{}", look.width.max(500), look.height))
            .args(extra)
            .arg(address(&frame))
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(folder.join(format!("{name}.out"))).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(120), "Chromium does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::fs::read_to_string(folder.join(format!("{name}.out"))).unwrap()
    };
    run(&[format!("--screenshot={}", picture.display()), format!("--log-net-log={}", log.display())]);
    let document = run(&["--dump-dom".to_string()]);
    let title = document.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let title = title.unwrap_or_else(|| panic!("nothing was found out: {document}"));
    let title = title.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&amp;", "&");
    let found: Findings = serde_json::from_str(&title).unwrap_or_else(|error| panic!("{error}: {title}"));
    Seen {
        pixels: pixels(&picture, look.width),
        page_width: found.width,
        requests: requests(&log),
        text_contrast: found.text,
        line_contrast: found.line,
    }
}

/// The left part of a picture.
fn pixels(path: &Path, width: u32) -> Vec<[u8; 3]> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let samples = info.color_type.samples();
    let rows = bytes.chunks_exact(info.line_size);
    rows.flat_map(|row| row.chunks_exact(samples).take(width as usize).map(|p| [p[0], p[1], p[2]])).collect()
}

/// What pages asked for; the browser's own errands have no origin.
fn requests(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let log: Value = serde_json::from_str(&text).unwrap();
    let start = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    assert!(start.is_number(), "the log has another form");
    let events = log["events"].as_array().unwrap().iter().filter(|event| event["type"] == *start);
    let of_pages = events.filter(|event| event["params"]["initiator"] != "not an origin");
    let addresses = of_pages.filter_map(|event| event["params"]["url"].as_str());
    addresses
        .filter(|url| !url.starts_with("file:") && !url.starts_with("data:"))
        .map(str::to_string)
        .collect()
}
