//! Runs of every kind, killed when a file of theirs has some lines, and once more while they are resumed: the results
//! are the same bytes as those of a run that was left alone.
#![cfg(unix)]

use crate::common::prelude::*;
use crate::common::scored_dataset;

/// Kills a process when a file has this many lines; `false` if it had already ended.
fn kill_at(bench: &Bench, command: &str, file: &str, lines: usize) -> bool {
    let mut child = bench.spawn(command);
    let begun = Instant::now();
    let has_grown = || {
        let bytes = std::fs::read(bench.path(file));
        bytes.is_ok_and(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() >= lines)
    };
    while !has_grown() && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{command}: hangs");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap().code().is_none()
}

fn remove(bench: &Bench, run: &str) {
    for name in bench.names(".").into_iter().filter(|name| name.starts_with(run)) {
        let path = bench.path(&name);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
    }
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|name, _| !["micros", "seconds", "positions_per_second"].contains(&name.as_str()));
            map.values_mut().for_each(without_times);
        }
        Value::Array(list) => list.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Returns the contents of a file; of journals, the entries without times, with pairs of games in order.
fn contents(bench: &Bench, name: &str) -> Vec<u8> {
    if !name.ends_with(".jsonl") {
        return bench.bytes(name);
    }
    let text = bench.text(name);
    let entries = text.lines().skip(1).zip(0..).map(|(line, number)| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        without_times(&mut value);
        (value["pair"].as_u64().unwrap_or(number), value.to_string())
    });
    let mut entries: Vec<(u64, String)> = entries.collect();
    entries.sort();
    format!("{entries:?}").into_bytes()
}

/// A case: the command that starts a run, the one that resumes it, a file, its lines at the first and the second kill,
/// and the results. `@` is the run.
fn kill_and_resume(case: &str) {
    let [start, resume, grows, lines, results] = cells(case);
    let bench = Bench::with_positions(4000, 11);
    bench.dataset("m.bin", FeatureKind::Material, 2000, 11);
    scored_dataset(&bench.path("scored.bin"), FeatureKind::Material, 2000, 11, |_| {});
    write_games(&bench, "games.pgn");
    bench.done("-q convert games.pgn -o in.epd");
    let (out, _) = bench.done("spsa init --params material --limit nodes=20");
    bench.write("run.toml", out);
    let of = |text: &str, run: &str| text.replace('@', run);
    bench.done(of(start, "whole"));
    let [first, second] = lines.words()[..] else { panic!("{lines}: two numbers") };
    let file = of(grows, "cut");
    // A busy machine may be late.
    let killed = (0..5).any(|_| {
        remove(&bench, "cut");
        kill_at(&bench, &of(start, "cut"), &file, first.parse().unwrap())
    });
    assert!(killed, "ended before it was killed");
    if file.ends_with("metrics.jsonl") {
        // A line that the disk kept half of.
        bench.write(&file, [bench.bytes(&file), b"{\"epoch\": 99999, \"lo".to_vec()].concat());
    }
    kill_at(&bench, &of(resume, "cut"), &file, second.parse().unwrap());
    let (code, _, err) = bench.run(of(resume, "cut"));
    assert!(code == 0 || err.contains("the run is finished") || err.contains("is complete"), "{err}");
    for name in results.words() {
        let [cut, whole] = ["cut", "whole"].map(|run| contents(&bench, &of(name, run)));
        assert!(cut == whole, "{name} differs");
    }
    if bench.path("cut").exists() {
        assert_eq!(bench.names("cut"), bench.names("whole"), "nothing half-made is left");
    }
}

macro_rules! kinds {
    ($($test:ident $case:literal;)*) => {
        $(#[test]
        #[ignore = "full"]
        fn $test() {
            kill_and_resume($case);
        })*
    };
}

kinds! {
    killed_run_resumes_to_the_same_bytes "-q tune d.bin --l2=0 --k=0.8 --optimizer=adam --epochs=3000 --checkpoint-every=0 --backend=cpu --threads=1 --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 3 20 ~ @/metrics.jsonl @/params.json @/tables.h @/tables.rs";
    adam_in_batches "-q tune d.bin --l2=0 --k=0.8 --optimizer=adam --learning-rate=0.5,2,5 --batches=3 --schedule=step:0.9:7 --epochs=500 --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 3 20 ~ @/metrics.jsonl @/params.json";
    adam_with_held_out_games "-q tune d.bin --l2=0 --k=0.8 --optimizer=adam --holdout=0.25 --patience=3000 --epochs=3000 --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 3 20 ~ @/metrics.jsonl @/params.json";
    games "-q tune games.pgn --l2=0 --k=0.8 --optimizer=adam --epochs=1000 --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 1 3 ~ @/params.json";
    blend "-q tune scored.bin --l2=1e-4 --k=0.8 --blend=0.4 --optimizer=adam --epochs=3000 --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 3 20 ~ @/params.json";
    constraints "-q tune d.bin --l2=0 --k=0.8 --positive=queen --optimizer=adam --epochs=1500 --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 3 20 ~ @/params.json @/z.json";
    gauss_newton "-q tune d.bin --optimizer=gauss-newton --bootstrap=8 --round=local --l2=1e-3 --epochs=6 --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 1 3 ~ @/params.json @/tables.hpp";
    lbfgs "-q tune d.bin --optimizer=gn-lbfgs --l2=1e-3 --epochs=20 --round=local --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 1 3 ~ @/params.json";
    killed_sweeps_resume "-q sweep d.bin --grid=l2=0,1e-3 --grid=learning-rate=1,3 --epochs=400 --checkpoint-every=0 --backend=cpu --best=@-best --csv=@.csv --out=@ ~ -q sweep --backend=cpu --resume=@ ~ @/checkpoint.safetensors ~ 0 0 ~ @/runs.csv @.csv @-best/params.json @-best/tables.h";
    killed_swarms_resume "-q pso d.bin --k=0.8 --iterations=600 --polish --holdout=0.1 --checkpoint-every=0 --backend=cpu --out=@ ~ -q pso --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 3 9 ~ @/params.json @/z.json";
    swarm_of_2018 "-q pso d.bin --k=0.8 --variant=2018 --iterations=600 --checkpoint-every=0 --backend=cpu --out=@ ~ -q tune --backend=cpu --resume=@ ~ @/metrics.jsonl ~ 3 9 ~ @/params.json @/z.json";
    killed_spsa_runs_resume "-q spsa run run.toml -N100 --concurrency=1 --limit=nodes=20 --out=@ ~ -q spsa run --resume=@ ~ @/spsa.jsonl ~ 3 9 ~ @/spsa.jsonl @/log.csv @/values.csv @/params.json";
    killed_matches_resume "-q match material zero --nodes=20 --games=100 --concurrency=2 --out=@ ~ -q match --resume=@ ~ @/match.jsonl ~ 3 9 ~ @/match.jsonl";
    killed_selfplay_resumes "-q selfplay --nodes=20 --games=100 --max-plies=60 --format=pgn,binpack --out=@ ~ -q selfplay --resume=@ ~ @/selfplay.jsonl ~ 3 9 ~ @/games.pgn @/games.binpack";
    killed_rescoring_resumes "-q rescore in.epd -o=@.txt --engine=material --nodes=200 ~ -q rescore in.epd -o=@.txt --engine=material --nodes=200 --duplicates=keep --resume ~ @.txt.rescore/rescore.jsonl ~ 2 3 ~ @.txt";
}
