//! Runs of every kind, killed at many moments: each resumes with byte-identical results, or reports that there is
//! nothing to resume and starts over. `GPUTEXEL_KILLS` sets the number of kills, in total or for each kind.
#![cfg(unix)]

use crate::common::prelude::*;
use crate::common::program::words;
use std::io::Write as _;

/// A kind of run, and the results that must not depend on kills.
struct Killed {
    name: &'static str,
    kills: usize,
    start: &'static str,
    resume: &'static str,
    grows: &'static str,
    results: Vec<&'static str>,
}

/// In the order of `GPUTEXEL_KILLS`, a list such as 26,10,12,8,24,16; a single number is the total.
const KILLED: [&str; 9] = [
    "adam ~ 6 ~ tune games.pgn --l2=0 --k=0.8 --optimizer=adam --epochs=40 --checkpoint-every=0 --backend=cpu --threads=1 --out=r ~ tune --backend=cpu --resume=r ~ r/metrics.jsonl ~ r/params.json r/tables.h r/tables.rs r/dataset.bin",
    "gauss-newton ~ 4 ~ tune m.bin --optimizer=gauss-newton --bootstrap=8 --round=local --l2=1e-3 --epochs=6 --checkpoint-every=0 --backend=cpu --out=r ~ tune --backend=cpu --resume=r ~ r/metrics.jsonl ~ r/params.json r/tables.hpp",
    "grid ~ 6 ~ sweep d.bin --grid=l2=0,1e-4 --folds=2 --epochs=8 --checkpoint-every=0 --backend=cpu --best=best --csv=all.csv --out=r ~ sweep --backend=cpu --resume=r ~ r/checkpoint.safetensors ~ r/runs.csv all.csv best/params.json best/tables.h",
    "pso ~ 4 ~ pso m.bin --basis=identity --radius=40 --swarms=2 --particles=4 --iterations=30 --checkpoint-every=0 --backend=cpu --out=r ~ pso --backend=cpu --resume=r ~ r/metrics.jsonl ~ r/params.json r/z.json r/tables.rs",
    "spsa ~ 6 ~ -q spsa run run.toml -N24 --concurrency=1 --limit=nodes=20 --out=r ~ -q spsa run --resume=r ~ r/spsa.jsonl ~ r/spsa.jsonl r/log.csv r/values.csv r/params.json",
    "match ~ 6 ~ -q match material zero --nodes=20 --games=24 --concurrency=2 --out=r ~ -q match --resume=r ~ r/match.jsonl ~ r/match.jsonl",
    "gn-lbfgs ~ 4 ~ tune m.bin --optimizer=gn-lbfgs --l2=1e-3 --epochs=20 --checkpoint-every=0 --backend=cpu --out=r ~ tune --backend=cpu --resume=r ~ r/metrics.jsonl ~ r/params.json r/tables.hpp",
    "selfplay ~ 4 ~ selfplay --nodes=20 --games=24 --max-plies=60 --format=pgn,binpack --out=r ~ selfplay --resume=r ~ r/selfplay.jsonl ~ r/games.pgn r/games.binpack",
    "rescore ~ 4 ~ rescore in.epd -o=r.txt --engine=material --nodes=200 --duplicates=keep ~ rescore in.epd -o=r.txt --engine=material --nodes=200 --duplicates=keep --resume ~ r.txt.rescore/rescore.jsonl ~ r.txt",
];

fn killed(index: usize) -> Killed {
    let [name, kills, start, resume, grows, results] = cells(KILLED[index]);
    Killed { name, kills: kills.parse().unwrap(), start, resume, grows, results: words(results) }
}

/// Returns the number of kills for runs of a kind.
fn kills(index: usize) -> usize {
    let asked = std::env::var("GPUTEXEL_KILLS").unwrap_or_default();
    let number = |text: &str| text.parse::<usize>().ok();
    match (number(&asked), asked.split(',').nth(index).and_then(number)) {
        (Some(all), _) => all / KILLED.len() + usize::from(index < all % KILLED.len()),
        (None, Some(own)) => own,
        (None, None) => killed(index).kills,
    }
}

fn files(folder: &Path, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path(), &format!("{name}/"))),
            false => drop(found.insert(name)),
        }
    }
    found
}

#[derive(Debug)]
enum Moment {
    Seen(String),
    Lines(usize),
    After(Duration),
}

impl Moment {
    fn has_come(&self, bench: &Bench, kind: &Killed, begun: Instant) -> bool {
        match self {
            Self::Seen(name) => bench.path(name).exists(),
            Self::Lines(lines) => std::fs::read(bench.path(kind.grows))
                .is_ok_and(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() >= *lines),
            Self::After(time) => begun.elapsed() >= *time,
        }
    }
}

/// Kills a process at some moment; `false` if it had already ended.
fn kill_at(bench: &Bench, kind: &Killed, line: &str, moment: &Moment) -> bool {
    let mut child = bench.spawn(words(&format!("{line} -q")));
    let begun = Instant::now();
    while !moment.has_come(bench, kind, begun) && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}: hangs", kind.name);
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap().code().is_none()
}

/// Returns the results of a run, without times, and with pairs of games in order.
fn results_of(bench: &Bench, kind: &Killed) -> Vec<(String, Vec<u8>)> {
    fn without_times(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.shift_remove("micros");
                map.values_mut().for_each(without_times);
            }
            Value::Array(list) => list.iter_mut().for_each(without_times),
            _ => {}
        }
    }
    let contents = |name: &&str| {
        let bytes = bench.bytes(name);
        if !name.ends_with(".jsonl") {
            return (name.to_string(), bytes);
        }
        let text = String::from_utf8(bytes).unwrap();
        let mut lines: Vec<(u64, String)> = text
            .lines()
            .skip(1)
            .zip(0..)
            .map(|(line, number)| {
                let mut value: Value = serde_json::from_str(line).unwrap();
                without_times(&mut value);
                (value["pair"].as_u64().unwrap_or(number), value.to_string())
            })
            .collect();
        lines.sort();
        (name.to_string(), format!("{lines:?}").into_bytes())
    };
    kind.results.iter().map(contents).collect()
}

fn kill_and_resume(index: usize) {
    let kind = &killed(index);
    let kills = kills(index);
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 500, 11);
    bench.dataset("m.bin", FeatureKind::Material, 500, 11);
    write_games(&bench, "games.pgn");
    let (out, _) = bench.done("spsa init --params material --limit nodes=20");
    bench.write("run.toml", out);
    let run = |line: &str| bench.run(words(&format!("{line} -q")));
    assert_eq!(run("convert games.pgn -o=in.epd").0, 0);
    let inputs = files(bench.folder.path(), "");
    let begun = Instant::now();
    assert_eq!(run(kind.start).0, 0, "{}: {:?}", kind.name, run(kind.start));
    let takes = begun.elapsed();
    let whole = results_of(&bench, kind);
    let names = files(bench.folder.path(), "");
    let clear = || {
        for name in files(bench.folder.path(), "").difference(&inputs) {
            std::fs::remove_file(bench.path(name)).unwrap();
        }
        for name in ["r", "r.txt.rescore", "best"] {
            let _ = std::fs::remove_dir_all(bench.path(name));
        }
    };
    // Files that exist during all of them, and at the end.
    let mut seen = vec!["r/.gputexel.lock".to_string(), kind.grows.to_string()];
    seen.extend(names.difference(&inputs).cloned());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(index as u64);
    let (mut ended, mut anew, mut finished) = (0, 0, 0);
    for kill in 0..kills {
        clear();
        let after =
            |random: &mut Xoshiro256PlusPlus| Moment::After(takes.mul_f64(random.random_range(0.0..1.0)));
        let moment = match kill % 3 {
            // Alternate between files of the end and of the beginning.
            0 => Moment::Seen(match (kill / 3 % seen.len(), kill / 6 % seen.len()) {
                (turn, step) if turn % 2 == 0 => seen[seen.len() - 1 - step].clone(),
                (_, step) => seen[step].clone(),
            }),
            1 => Moment::Lines(random.random_range(1..24)),
            _ => after(&mut random),
        };
        ended += u64::from(!kill_at(&bench, kind, kind.start, &moment));
        if random.random_bool(0.3) && bench.path(kind.grows).exists() {
            // And again during the resumed run.
            let moment = after(&mut random);
            kill_at(&bench, kind, kind.resume, &moment);
        }
        let (code, _, err) = run(kind.resume);
        let what = format!("{} killed at {moment:?}: {err}", kind.name);
        if code != 0 {
            assert_one_line(&err);
            // A complete run is left alone.
            if ["the run is finished", "is complete"].iter().any(|told| err.contains(told)) {
                finished += 1;
            } else {
                assert!(err.contains("nothing to resume") || err.contains("is not the folder of"), "{what}");
                anew += 1;
                let (code, _, err) = run(kind.start);
                assert_eq!((code, err.as_str()), (0, ""), "{what}");
            }
        }
        for ((name, now), (_, before)) in results_of(&bench, kind).iter().zip(&whole) {
            assert!(now == before, "{what}: {name} differs");
        }
        // All expected files, and nothing half-made.
        assert_eq!(files(bench.folder.path(), ""), names, "{what}");
    }
    let line = format!(
        "kills: {}: {kills} kills, {ended} too late, {anew} begun anew, {finished} finished already; all went on to the same bytes\n",
        kind.name
    );
    // Not by `eprintln!`, whose output the harness shows for failed tests only.
    let _ = std::io::stderr().write_all(line.as_bytes());
    assert!(ended < kills as u64, "{}: nothing was killed", kind.name);
}

#[test]
#[ignore = "full"]
fn killed_adam_runs_resume() {
    kill_and_resume(0);
}

#[test]
#[ignore = "full"]
fn killed_gauss_newton_runs_resume() {
    kill_and_resume(1);
}

#[test]
#[ignore = "full"]
fn killed_sweeps_resume() {
    kill_and_resume(2);
}

#[test]
#[ignore = "full"]
fn killed_swarms_resume() {
    kill_and_resume(3);
}

#[test]
#[ignore = "full"]
fn killed_spsa_runs_resume() {
    kill_and_resume(4);
}

#[test]
#[ignore = "full"]
fn killed_matches_resume() {
    kill_and_resume(5);
}

#[test]
#[ignore = "full"]
fn killed_lbfgs_runs_resume() {
    kill_and_resume(6);
}

#[test]
#[ignore = "full"]
fn killed_selfplay_resumes() {
    kill_and_resume(7);
}

#[test]
#[ignore = "full"]
fn killed_rescoring_resumes() {
    kill_and_resume(8);
}
