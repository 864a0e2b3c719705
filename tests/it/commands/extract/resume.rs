//! `gputexel extract --shard-size --resume`: byte-identical output after interruption at any time.

use crate::common::prelude::*;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");
const JOURNAL: &str = "unfinished.extract";

/// Creates a folder with the sample and, as `b.epd`, all its positions again, in another format and order.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("a.pgn.zst", std::fs::read(SAMPLE).unwrap());
    bench.told("convert a.pgn.zst -o b.epd --keep-checks=false");
    let text = bench.text("b.epd");
    let lines: Vec<&str> = text.lines().rev().collect();
    bench.write("b.epd", lines.join("\n"));
    bench
}

/// Searches, duplicates across inputs, a sample of everything: rules that are applied at different stages.
const RULES: &str =
    "--resolve quiescence --duplicates average --sample 30000 --model classical --shard-size 8000";

fn args<'a>(inputs: &[&'a str], folder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["extract"], inputs, &["-o", folder], &RULES.words(), more].concat()
}

fn contents(bench: &Bench, folder: &str) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| (name.clone(), bench.bytes(&format!("{folder}/{name}")));
    bench.names(folder).into_iter().map(read).collect()
}

#[test]
#[ignore = "full"]
fn killed_extractions_resume_to_the_same_bytes() {
    let bench = bench();
    let inputs = ["a.pgn.zst", "b.epd"];
    let told = bench.told(args(&inputs, "whole", &[]));
    assert!(told.get("resumed_positions").is_none() && told["shards"].as_u64() > Some(3), "{told}");
    let whole = contents(&bench, "whole");
    let journal = bench.path("killed").join(JOURNAL);
    let mut kills = 0;
    for step in 1.. {
        // A little further each time, so that every run resumes one that was itself resumed.
        let enough = step * 700_000;
        let mut child = bench.spawn(args(&inputs, "killed", &["--resume", "--threads", "1", "-q"]));
        let begun = Instant::now();
        let length = || std::fs::metadata(&journal).map_or(0, |file| file.len());
        while child.try_wait().unwrap().is_none() && length() < enough {
            assert!(begun.elapsed() < Duration::from_secs(60), "hangs");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        if child.wait().unwrap().code().is_some() {
            break;
        }
        kills += 1;
        let told = bench.fails(args(&inputs, "killed", &[]), 2);
        assert_eq!(
            told,
            "gputexel: killed: an extraction into this folder was interrupted; --resume continues it, --force begins anew\n"
        );
        bench.fails_with("check killed", 1, ["killed: not all of its shards are there", "--resume"]);
    }
    assert!(kills > 3, "{kills}");
    assert!(contents(&bench, "killed") == whole);
}

#[test]
#[ignore = "full"]
fn rejects_resuming_with_other_inputs_or_settings() {
    let bench = bench();
    let inputs = ["a.pgn.zst", "b.epd", "c.epd"];
    let good: Vec<u8> =
        bench.bytes("b.epd").split_inclusive(|byte| *byte == b'\n').take(3000).flatten().copied().collect();
    bench.write("c.epd", &good);
    bench.told(args(&inputs, "whole", &[]));
    let whole = contents(&bench, "whole");

    // An unreadable input ends an extraction after the others.
    bench.write("c.epd", [&good[..], &b"no position\n".repeat(3000)].concat());
    let told = bench.fails(args(&inputs, "half", &[]), 1);
    assert!(
        told.contains("c.epd") && told.ends_with("; --resume continues it, --force begins anew\n"),
        "{told}"
    );
    assert_eq!(bench.names("half"), [JOURNAL]);
    let half = bench.bytes("half/unfinished.extract");
    bench.write("c.epd", &good);

    // A refused continuation leaves the existing files unchanged.
    let refused = |inputs: &[&str], more: &[&str], words: &str| {
        let told = bench.fails(args(inputs, "half", &[&["--resume"], more].concat()), 1);
        assert!(
            told.contains(words) && told.ends_with("--force instead of --resume begins anew\n"),
            "{told}"
        );
        assert!(bench.bytes("half/unfinished.extract") == half);
    };
    refused(&inputs, &["--skip-plies", "9"], "was begun with skip_plies 8, not 9");
    refused(&inputs, &["--per-game", "9"], "was begun with per_game none, not 9");
    refused(&inputs, &["--phase", "0,1,2,4/24"], "was begun with another setting of features");
    refused(&["b.epd", "a.pgn.zst", "c.epd"], &[], "was begun with other inputs, or in another order");
    bench.fails_with("extract a.pgn.zst -o x.bin --resume", 2, "--shard-size");

    let continued = |folder: &str| {
        let (out, told) = bench.done(args(&inputs, folder, &["--resume", "--json"]));
        assert!(contents(&bench, folder) == whole, "{folder}");
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        (report["resumed_positions"].as_u64(), told)
    };
    let begin = |folder: &str, kept: &[u8]| {
        std::fs::create_dir(bench.path(folder)).unwrap();
        bench.write(&format!("{folder}/{JOURNAL}"), kept);
    };
    // Truncated anywhere, it resumes after the last whole chunk; if empty, it starts over.
    let all = (0..=8).map(|eighth| {
        let folder = format!("cut-{eighth}");
        begin(&folder, &half[..half.len() * eighth / 8]);
        let (known, told) = continued(&folder);
        assert_eq!(told, "", "a record that was cut off is no damage");
        known.unwrap_or(0)
    });
    let known: Vec<u64> = all.collect();
    assert!(known[0] == 0 && known.is_sorted() && known[8] > known[4] && known[4] > 0, "{known:?}");
    // If damaged, it is ignored from there on.
    let mut damaged = half.clone();
    damaged[half.len() / 2] ^= 1;
    begin("damaged", &damaged);
    let (some, told) = continued("damaged");
    assert!(
        told.contains("what damaged kept was damaged at byte ") && some < Some(known[8]),
        "{told} {some:?}"
    );
    begin("foreign", &[&3u64.to_le_bytes()[..], &[9; 40]].concat());
    let why = "is not the file of an unfinished extraction, or damaged";
    bench.fails_with(args(&inputs, "foreign", &["--resume"]), 1, why);

    // An input with a new time stamp is read again and found to be the same; a changed one is refused.
    begin("touched", &half);
    let original = bench.bytes("b.epd");
    bench.write("b.epd", &original);
    assert_eq!(continued("touched").0, Some(known[8]));
    begin("changed", &half);
    let mut other = original.clone();
    let middle = other.len() / 2;
    let place = middle + other[middle..].iter().position(|byte| *byte == b'\n').unwrap();
    other.splice(place..=place, *b"\n\n");
    bench.write("b.epd", &other);
    let told = bench.fails(args(&inputs, "changed", &["--resume"]), 1);
    assert!(told.starts_with("gputexel: b.epd: has changed since its extraction was begun"), "{told}");
    assert!(bench.names("changed") == [JOURNAL]);
    bench.write("b.epd", &original[..original.len() / 3]);
    let told = bench.fails(args(&inputs, "changed", &["--resume"]), 1);
    assert!(told.starts_with("gputexel: b.epd: has changed"), "{told}");
    // To use the current inputs, start over.
    bench.told(args(&inputs, "changed", &["--force"]));
    bench.told(args(&inputs, "fresh", &[]));
    assert!(contents(&bench, "changed") == contents(&bench, "fresh"));
}

#[test]
#[ignore = "full"]
fn refused_flags_write_nothing_and_pipes_can_be_resumed() {
    let bench = bench();
    let bad = b"no position\n".repeat(3000);
    bench.write("bad.epd", &bad);
    let told = bench.fails(args(&["bad.epd"], "none", &[]), 1);
    assert!(!told.contains("--resume") && !bench.path("none").exists(), "{told}");

    let told = bench.fails(args(&["missing.epd"], "none", &[]), 1);
    assert!(!told.contains("--resume") && !bench.path("none").exists(), "{told}");

    let text = bench.bytes("b.epd");
    let extract = |folder: &str, input: Vec<u8>, more: &str| {
        bench.feed(args(&["-", "a.pgn.zst"], folder, &[&["--json"], &more.words()[..]].concat()), input)
    };
    assert_eq!(extract("whole", text.clone(), "").0, 0);
    let games = bench.bytes("a.pgn.zst");
    bench.write("a.pgn.zst", &games[..games.len() / 2]);
    let (code, _, told) = extract("piped", text.clone(), "");
    assert!(code == 1 && told.contains("a.pgn.zst") && told.contains("--resume"), "{told}");
    bench.write("a.pgn.zst", &games);
    let (code, _, told) = extract("piped", text[1..].to_vec(), "--resume");
    assert!(code == 1 && told.contains("has changed"), "{told}");
    let (code, out, told) = extract("piped", text, "--resume");
    assert!(code == 0 && out.contains("\"resumed_positions\""), "{told}");
    assert!(contents(&bench, "piped") == contents(&bench, "whole"));
}
