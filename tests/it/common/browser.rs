//! Headless Chromium: screenshots of pages, and their network requests.

use crate::common::prelude::*;
use serde::Deserialize;
use std::process::Command;

/// Returns the program, if it is installed under one of its names.
pub fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = names.into_iter().find_map(requirement::find);
    if found.is_none() {
        requirement::lack("chromium", &format!("none of {} is on the path", names.join(", ")));
    }
    found
}

const CONTRASTS: &str = include_str!("contrast.js");

/// Pages to capture, all open at once: a browser takes longer to start than to show a page.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Pages, each with its width in pixels.
    pub pages: &'a [(&'a Path, u32)],
    pub height: u32,
    pub dark: bool,
}

pub struct Seen {
    pub pages: Vec<SeenPage>,
    /// Addresses requested by the pages, except files.
    pub requests: Vec<String>,
}

pub struct SeenPage {
    pub pixels: Vec<[u8; 3]>,
    /// Width of the page, which exceeds the window if it overflows.
    pub width: u32,
    pub text_contrast: Contrast,
    pub line_contrast: Contrast,
}

/// The lowest contrast of a kind of elements, 1 to 21 as WCAG 2 defines it.
#[derive(Clone, Debug, Deserialize)]
pub struct Contrast {
    pub ratio: f64,
    pub seen: u64,
}

#[derive(Deserialize)]
struct Findings {
    width: u32,
    text: Contrast,
    line: Contrast,
}

/// Captures files. The pages are framed side by side in another one, which allows windows narrower than a browser's,
/// and measures the widths of the pages. Works in `folder`.
pub fn look(chromium: &Path, look: Look<'_>, folder: &Path) -> Seen {
    let name = if look.dark { "dark" } else { "light" };
    let frames = folder.join(format!("{name}.html"));
    let (picture, log) = (folder.join(format!("{name}.png")), folder.join(format!("{name}.json")));
    let address = |path: &Path| format!("file://{}", path.canonicalize().unwrap().display());
    let frame = |&(page, width): &(&Path, u32)| {
        let page = address(page).replace('"', "%22");
        format!("<iframe style=\"width:{width}px;height:{}px\" src=\"{page}\"></iframe>", look.height)
    };
    let text = format!(
        "<!DOCTYPE html><meta name=color-scheme content='light dark'><style>body{{margin:0;display:flex}}iframe{{border:0;flex:none}}</style>{}\
         <script>{CONTRASTS}\nonload=()=>document.title=JSON.stringify(Array.from(document.querySelectorAll('iframe'),\
         (f)=>({{width:f.contentDocument.documentElement.scrollWidth,...contrasts(f)}})))</script>",
        look.pages.iter().map(frame).collect::<String>()
    );
    std::fs::write(&frames, text).unwrap();
    let profile = folder.join(format!("{name}-profile"));
    let width: u32 = look.pages.iter().map(|(_, width)| width).sum();
    let run = |extra: &[String]| -> String {
        let mut child = Command::new(chromium)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--blink-settings=preferredColorScheme={}", if look.dark { 0 } else { 1 }))
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--window-size={},{}", width.max(500), look.height))
            .args(extra)
            .arg(address(&frames))
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
    let found: Vec<Findings> =
        serde_json::from_str(&title).unwrap_or_else(|error| panic!("{error}: {title}"));
    let widths: Vec<u32> = look.pages.iter().map(|&(_, width)| width).collect();
    assert_eq!(found.len(), widths.len());
    let pages = found.into_iter().zip(pixels(&picture, &widths)).map(|(found, pixels)| SeenPage {
        pixels,
        width: found.width,
        text_contrast: found.text,
        line_contrast: found.line,
    });
    Seen { pages: pages.collect(), requests: requests(&log) }
}

fn pixels(path: &Path, widths: &[u32]) -> Vec<Vec<[u8; 3]>> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let samples = info.color_type.samples();
    let mut parts = vec![Vec::new(); widths.len()];
    for row in bytes.chunks_exact(info.line_size) {
        let mut row = row.chunks_exact(samples).map(|p| [p[0], p[1], p[2]]);
        for (part, &width) in parts.iter_mut().zip(widths) {
            let before = part.len();
            part.extend(row.by_ref().take(width as usize));
            assert_eq!(part.len() - before, width as usize, "the picture is too narrow");
        }
    }
    parts
}

/// Returns the requests of pages; the browser's own have no origin.
fn requests(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let log: Value = serde_json::from_str(&text).unwrap();
    let start = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    assert!(start.is_number(), "the log has another form");
    let events = log["events"].list().iter().filter(|event| event["type"] == *start);
    let of_pages = events.filter(|event| event["params"]["initiator"] != "not an origin");
    let addresses = of_pages.filter_map(|event| event["params"]["url"].as_str());
    addresses
        .filter(|url| !url.starts_with("file:") && !url.starts_with("data:"))
        .map(str::to_string)
        .collect()
}
