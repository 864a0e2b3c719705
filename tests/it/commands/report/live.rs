//! Watching runs through the real binary: the page on 127.0.0.1.

use crate::common::prelude::*;
use std::io::{Read, Write};

/// Without the prior: this data leaves its strength to chance, and where it is strong, steps as long as these find
/// nothing better than the start.
const LONG: &str = "--backend cpu --threads=1 --optimizer adam --l2 0 --k 0.8 --epochs 1000000 --checkpoint-every 0.2 --window 1000000";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 2000, 7);
    bench
}

/// Returns the port on which a run serves; its output is read to the end in the background.
fn port(child: &mut Child) -> u16 {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("live ") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "no address");
    }
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    let address = line.split_whitespace().nth(1).unwrap();
    address.strip_prefix("http://127.0.0.1:").unwrap().trim_end_matches('/').parse().unwrap()
}

/// Requests the page under a host name; `None` if there is no response.
fn ask(port: u16, host: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn epochs(page: &str) -> Option<u64> {
    let (before, _) = page.split_once(" of at most ")?;
    before.rsplit(' ').next()?.replace(',', "").parse().ok()
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn the_page_grows_and_ends_with_the_run() {
    let bench = bench();
    let mut child = bench.spawn(("tune d.bin --out r --live", LONG));
    let port = port(&mut child);
    let own = format!("127.0.0.1:{port}");
    let begun = Instant::now();
    let mut seen: Vec<u64> = Vec::new();
    while seen.len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the page does not grow: {seen:?}");
        let page = ask(port, &own).unwrap();
        // Between the folder and its record, there is nothing to see yet.
        if let Some(count) = epochs(&page).filter(|count| seen.last().is_none_or(|last| count > last)) {
            seen.push(count);
            assert!(page.contains(">running<"), "{page}");
            // Before the first epoch there is no speed from which to estimate the time.
            assert!(count == 0 || page.contains(" left at most"), "{page}");
            assert!(!page.contains("interrupted") && page.contains("<script nonce="), "{page}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // Values follow with the first checkpoint.
    while !ask(port, &own).unwrap().contains("knight, middlegame") {
        assert!(begun.elapsed() < Duration::from_secs(60), "no boards");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(ask(port, "evil.example").unwrap().starts_with("HTTP/1.1 421 "));
    bench.shell(&format!("kill -INT {}", child.id()));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(ask(port, &own), None, "somebody still answers");
    let file = bench.text("r/report.html");
    assert!(!file.contains("<script") && !file.contains("refreshes every"), "the file has no script");
    assert!(file.contains(">not final<") && file.contains("; interrupted before the end"), "{file}");
}

#[test]
#[ignore = "full"]
fn watching_does_not_change_results() {
    let bench = bench();
    let plain = bench.tune("d.bin --out plain");
    let (out, err) = bench.done("--json tune d.bin --prior-strength none --out watched --live --backend cpu");
    assert!(err.starts_with("gputexel: live: http://127.0.0.1:") && err.lines().count() == 1, "{err}");
    let watched: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(watched["loss"], plain["loss"]);
    assert_eq!(bench.bytes("watched/params.json"), bench.bytes("plain/params.json"));

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let flag = format!("--live={}", taken.local_addr().unwrap().port());
    bench.fails_with(["tune", "d.bin", "--out", "none", &flag], 1, "cannot listen on 127.0.0.1:");
    assert!(!bench.path("none").exists(), "something was begun");
    bench.fails_with("sweep d.bin --grid l2=0,1 --live", 2, "needs a sweep with a folder: --grid with --out");
}
