//! The report as shown by a browser: not blank, no wider than a phone, light and dark, and without network requests.

use crate::common::browser::{Look, chromium, look};
use crate::common::prelude::*;
use crate::common::spsa::built_in;
use std::io::{Read, Write};

const PHONE: u32 = 390;
const DESKTOP: u32 = 1280;

fn brightness(pixels: &[[u8; 3]]) -> f64 {
    let sum: f64 = pixels.iter().flatten().map(|&value| f64::from(value)).sum();
    sum / (3.0 * pixels.len() as f64)
}

fn colors(pixels: &[[u8; 3]]) -> usize {
    let coarse = pixels.iter().map(|p| p.map(|value| value >> 3));
    coarse.collect::<std::collections::HashSet<_>>().len()
}

/// Returns the list of runs as it is served, without its scripts.
fn served(bench: &Bench) -> String {
    let mut child = bench.spawn("--json serve .");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address = told["address"].str().trim_start_matches("http://").trim_end_matches('/');
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nConnection: close\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let (_, page) = answer.split_once("\r\n\r\n").unwrap();
    page.split("<script").next().unwrap().to_string()
}

#[test]
#[ignore = "full"]
fn reports_are_legible_and_self_contained() {
    let Some(chromium) = chromium() else { return };
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 4000, 7);
    bench.tune("d.bin --out r --l2 1e-4 --holdout 0.2 --errors");
    bench.tune("d.bin --out other --l2 1e-3");
    let (code, ..) = bench.run("-q compare r other --dataset d.bin --html c.html");
    assert_eq!(code, 0);
    let grid = "--grid l2=0,1e-4,1e-3 --grid learning-rate=5,20 --epochs 5 --backend cpu";
    let (code, ..) = bench.run(("-q sweep d.bin --out s", grid));
    assert_eq!(code, 0);
    let swarms = "pso d.bin --out p --iterations 20 --swarms 4 --backend cpu";
    assert_eq!(bench.run(("-q", swarms)).0, 0);
    let played = "-q match r other --nodes 20 --games 40 --out m";
    assert_eq!(bench.run((played, "--sprt elo0=0,elo1=2")).0, 0);
    bench.write("run.toml", built_in("spsa", 12, 1));
    bench.done("-q spsa run run.toml --out g --verify 20");
    let page = bench.text("g/report.html");
    assert!(page.contains("Gain: result against start"), "{page}");
    let list = served(&bench);
    bench.write("list.html", list);
    let names = [
        "r/report.html",
        "p/report.html",
        "c.html",
        "s/report.html",
        "m/report.html",
        "g/report.html",
        "list.html",
    ];
    let pages: Vec<(&str, u32)> =
        names.into_iter().flat_map(|name| [PHONE, DESKTOP].map(|width| (name, width))).collect();
    let paths: Vec<_> = pages.iter().map(|&(name, width)| (bench.path(name), width)).collect();
    let windows: Vec<(&Path, u32)> = paths.iter().map(|(path, width)| (path.as_path(), *width)).collect();
    let [light, dark] = [false, true].map(|dark| {
        let seen = look(&chromium, Look { pages: &windows, height: 3000, dark }, bench.folder.path());
        assert_eq!(seen.requests, Vec::<String>::new());
        for (&(page, width), seen) in pages.iter().zip(&seen.pages) {
            assert!(seen.width <= width, "{page}: {} pixels wide in {width}", seen.width);
            assert!(colors(&seen.pixels) > 20, "{page} at {width}: blank");
            let (text, line) = (&seen.text_contrast, &seen.line_contrast);
            assert!(text.seen > 20 && text.ratio >= 4.5, "{page} at {width}, dark {dark}: {text:?}");
            assert!(line.ratio >= 3.0, "{page} at {width}, dark {dark}: {line:?}");
            let has_pictures = !["c.html", "list.html"].contains(&page);
            assert_eq!(line.seen > 4, has_pictures, "{page} at {width}: {line:?}");
        }
        seen.pages
    });
    for ((page, width), (light, dark)) in pages.iter().zip(light.iter().zip(&dark)) {
        let (light, dark) = (brightness(&light.pixels), brightness(&dark.pixels));
        assert!(light > 200.0 && dark < 70.0, "{page} at {width}: {light} {dark}");
    }
}
