//! Watching runs through the real binary: the page on 127.0.0.1, event files for TensorBoard, and the chart in the
//! terminal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::common::program::Bench;
use gputexel::model::FeatureKind;

/// A run that does not end by itself.
const LONG: [&str; 13] = [
    "--backend",
    "cpu",
    "--threads=1",
    "--optimizer",
    "adam",
    "--k",
    "0.8",
    "--epochs",
    "1000000",
    "--checkpoint-every",
    "0.2",
    "--window",
    "1000000",
];

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

/// Returns the number of epochs on the page.
fn epochs(page: &str) -> Option<u64> {
    let (before, _) = page.split_once(" of at most ")?;
    before.rsplit(' ').next()?.replace(',', "").parse().ok()
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn the_page_grows_and_ends_with_the_run() {
    let bench = bench();
    let mut child = bench.spawn(&[&["tune", "d.bin", "--out", "r", "--live"], &LONG[..]].concat());
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
    let file = String::from_utf8(bench.bytes("r/report.html")).unwrap();
    assert!(!file.contains("<script") && !file.contains("refreshes every"), "the file has no script");
    assert!(file.contains(">not final<") && file.contains("; interrupted before the end"), "{file}");
}

#[test]
#[ignore = "full"]
fn watching_does_not_change_results() {
    let bench = bench();
    let plain = bench.tune(&["d.bin", "--out", "plain"]);
    let (code, out, err) = bench.run(
        &[
            "--json",
            "tune",
            "d.bin",
            "--prior-strength",
            "none",
            "--out",
            "watched",
            "--live",
            "--chart",
            "--tensorboard",
            "tb",
            "--backend",
            "cpu",
        ],
        "",
    );
    assert_eq!(code, 0, "{err}");
    assert!(err.starts_with("gputexel: live: http://127.0.0.1:") && err.lines().count() == 1, "{err}");
    let watched: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(watched["loss"], plain["loss"]);
    assert_eq!(bench.bytes("watched/params.json"), bench.bytes("plain/params.json"));

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let flag = format!("--live={}", taken.local_addr().unwrap().port());
    let line = bench.fails(&["tune", "d.bin", "--out", "none", &flag], 1);
    assert!(line.contains("cannot listen on 127.0.0.1:"), "{line}");
    assert!(!bench.path("none").exists(), "something was begun");
    let line = bench.fails(&["sweep", "d.bin", "--grid", "l2=0,1", "--live"], 2);
    assert!(line.contains("needs a sweep with a folder: --grid with --out"), "{line}");
}

#[test]
fn charts_are_drawn_at_the_end() {
    let bench = bench();
    let braille = |text: &str| text.chars().filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count();
    let run = |args: &[&str]| {
        let (code, out, err) = bench.run(args, "");
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        out
    };
    let common = ["--backend", "cpu", "--k", "0.8"];
    let out = run(&[&["tune", "d.bin", "--out", "a", "--chart", "--holdout", "0.3"], &common[..]].concat());
    assert!(
        out.contains("held-out loss by step; the dotted line marks the minimum") && braille(&out) > 20,
        "{out}"
    );
    let out = run(&[&["tune", "d.bin", "--out", "b"], &common[..]].concat());
    assert_eq!(braille(&out), 0);
    let out = run(&[&["pso", "d.bin", "--out", "c", "--chart", "--iterations", "9"], &common[..]].concat());
    assert!(out.contains("\nloss by step") && braille(&out) > 20, "{out}");
    let out =
        run(&[&["sweep", "d.bin", "--chart", "--grid", "l2=0,1e-4,1e-3", "--epochs", "3"], &common[..]]
            .concat());
    assert!(braille(&out) > 20, "{out}");
}

/// Computes CRC-32C bit by bit, to check the library's table-driven one.
fn crc(data: &[u8]) -> u32 {
    let step = |crc: u32, _: u32| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !data.iter().fold(!0u32, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// Returns the messages of an event file, whose framing must be intact.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let masked = |data: &[u8]| {
        let crc = crc(data);
        crc.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
    };
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        assert_eq!(rest[8..12], masked(&rest[..8]));
        let message = &rest[12..12 + length];
        assert_eq!(rest[12 + length..16 + length], masked(message));
        found.push(message.to_vec());
        rest = &rest[16 + length..];
    }
    found
}

/// Returns the fields of a message: number and contents (for numbers, their bytes).
fn fields(mut message: &[u8]) -> Vec<(u8, Vec<u8>)> {
    fn varint(message: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = message[0];
            *message = &message[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let size = match key & 7 {
            0 => {
                let value = varint(&mut message);
                found.push(((key >> 3) as u8, value.to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            5 => 4,
            2 => varint(&mut message) as usize,
            other => panic!("wire type {other}"),
        };
        found.push(((key >> 3) as u8, message[..size].to_vec()));
        message = &message[size..];
    }
    found
}

/// Returns step, tag and value of all scalars of a folder's event files, read in order.
fn scalars(bench: &Bench, folder: &str) -> Vec<(u64, String, f32)> {
    let mut found: Vec<(u64, String, f32)> = Vec::new();
    for name in bench.names(folder) {
        let records = records(&bench.bytes(&format!("{folder}/{name}")));
        let version = fields(&records[0]);
        assert!(version.contains(&(3, b"brain.Event:2".to_vec())), "{version:?}");
        for record in &records[1..] {
            let all = fields(record);
            let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
            let step = all.iter().find(|field| field.0 == 2).map_or(0, |field| number(&field.1));
            if all.iter().any(|field| field.0 == 7) {
                found.retain(|(n, ..)| *n < step); // the session began anew there
            }
            for (_, summary) in all.iter().filter(|field| field.0 == 5) {
                for (_, value) in fields(summary) {
                    let value = fields(&value);
                    let tag = String::from_utf8(value[0].1.clone()).unwrap();
                    found.push((step, tag, f32::from_le_bytes(value[1].1[..].try_into().unwrap())));
                }
            }
        }
    }
    found
}

#[test]
fn event_files_hold_the_metrics() {
    let bench = bench();
    bench.tune(&["d.bin", "--out", "runs/r", "--holdout", "0.3", "--tensorboard", "tb"]);
    let metrics = bench.metrics("runs/r");
    let scalars = scalars(&bench, "tb/r");
    for (tag, key) in
        [("loss/training", "loss"), ("loss/held_out", "held_out"), ("gradient/largest", "gradient_norm")]
    {
        let of_tag: Vec<(u64, f32)> = scalars
            .iter()
            .filter(|(_, name, _)| name == tag)
            .map(|(step, _, value)| (*step, *value))
            .collect();
        let expected: Vec<(u64, f32)> = metrics
            .iter()
            .map(|line| (line["epoch"].as_u64().unwrap(), line[key].as_f64().unwrap() as f32))
            .collect();
        assert_eq!(of_tag, expected, "{tag}");
    }
    assert!(!scalars.iter().any(|(_, tag, _)| tag.starts_with("swarms")), "there are no swarms");
    assert_eq!(crc(b"123456789"), 0xe306_9283, "the check value of CRC-32C");
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn resumed_runs_append_to_their_event_files() {
    let bench = bench();
    let flags = ["--checkpoint-every", "0", "--tensorboard", "tb"];
    let adam = [
        "d.bin",
        "--optimizer",
        "adam",
        "--k",
        "0.8",
        "--backend",
        "cpu",
        "--epochs",
        "400",
        "--window",
        "400",
    ];
    let mut child = bench.spawn(&[&["tune", "--out", "r"], &adam[..], &flags].concat());
    let begun = Instant::now();
    while !bench.path("r/metrics.jsonl").exists() || bench.metrics_so_far("r") < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no metrics");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!bench.path("r/params.json").exists(), "it was over before it was killed");
    bench.tune(&["--resume", "r", "--tensorboard", "tb"]);
    let losses: Vec<(u64, f32)> = scalars(&bench, "tb/r")
        .into_iter()
        .filter(|(_, tag, _)| tag == "loss/training")
        .map(|(step, _, value)| (step, value))
        .collect();
    let expected: Vec<(u64, f32)> = bench
        .metrics("r")
        .iter()
        .map(|line| (line["epoch"].as_u64().unwrap(), line["loss"].as_f64().unwrap() as f32))
        .collect();
    assert_eq!(expected.len(), 400);
    assert_eq!(losses, expected);
    assert_eq!(bench.names("tb/r").len(), 2);
}
