//! The report as a browser shows it: not blank, no wider than a phone, light and dark, and without
//! a request to anywhere.

use crate::common::browser::{Look, chromium, look};
use crate::common::program::Bench;
use gputexel::model::FeatureKind;

const PHONE: u32 = 390;
const DESKTOP: u32 = 1280;

fn brightness(pixels: &[[u8; 3]]) -> f64 {
    let sum: f64 = pixels.iter().flatten().map(|&value| f64::from(value)).sum();
    sum / (3.0 * pixels.len() as f64)
}

/// Distinct colors, coarsely.
fn colors(pixels: &[[u8; 3]]) -> usize {
    let coarse = pixels.iter().map(|p| p.map(|value| value >> 3));
    coarse.collect::<std::collections::HashSet<_>>().len()
}

#[test]
fn reports_are_legible_everywhere_and_ask_for_nothing() {
    let Some(chromium) = chromium() else { return };
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 4000, 7);
    bench.tune(&["d.bin", "--out", "r", "--l2", "1e-4", "--holdout", "0.2", "--errors"]);
    bench.tune(&["d.bin", "--out", "other", "--l2", "1e-3"]);
    let (code, ..) =
        bench.run(&["-q", "compare", "r", "other", "--dataset", "d.bin", "--html", "c.html"], "");
    assert_eq!(code, 0);
    let grid =
        ["--grid", "l2=0,1e-4,1e-3", "--grid", "learning-rate=5,20", "--epochs", "5", "--backend", "cpu"];
    let (code, ..) = bench.run(&[&["-q", "sweep", "d.bin", "--out", "s"], &grid[..]].concat(), "");
    assert_eq!(code, 0);
    for page in ["r/report.html", "c.html", "s/report.html"] {
        for width in [PHONE, DESKTOP] {
            let seen = [false, true].map(|dark| {
                let seen = look(
                    &chromium,
                    &bench.path(page),
                    Look { width, height: 3000, dark },
                    bench.folder.path(),
                );
                assert_eq!(seen.requests, Vec::<String>::new(), "{page} at {width}");
                assert!(seen.page_width <= width, "{page}: {} pixels wide in {width}", seen.page_width);
                assert!(colors(&seen.pixels) > 20, "{page} at {width}: blank");
                seen
            });
            let [light, dark] = seen.map(|seen| brightness(&seen.pixels));
            assert!(light > 200.0 && dark < 70.0, "{page} at {width}: {light} {dark}");
        }
    }
}

/// What the test above looks for is found where it is there.
#[test]
fn blank_wide_and_asking_pages_are_told() {
    let Some(chromium) = chromium() else { return };
    let bench = Bench::new();
    let page = bench.write(
        "bad.html",
        "<!DOCTYPE html><meta name=viewport content='width=device-width'><img src='http://gputexel.invalid/x.png' alt=''>\
         <div style='width:700px;height:9px'></div>",
    );
    let seen = look(&chromium, &page, Look { width: PHONE, height: 600, dark: false }, bench.folder.path());
    assert_eq!(seen.requests, ["http://gputexel.invalid/x.png"]);
    assert!(seen.page_width >= 700 && colors(&seen.pixels) < 10);
}
