//! The commands that write files, each with a small run.

use super::{Case, hit};
use crate::common::prelude::*;
use crate::common::program::words;
use crate::common::traces;

fn games(bench: &Bench) {
    write_games(bench, "games.pgn");
}

fn material(bench: &Bench) {
    bench.dataset("m.bin", FeatureKind::Material, 300, 11);
}

fn before(bench: &Bench, line: &str) {
    bench.done(words(&format!("{line} -q")));
}

fn parameters(bench: &Bench, name: &str, seed: f64) {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let theta: Vec<f64> = (0..768).map(|i| ((f64::from(i) + 1.0) * seed).sin() * 90.0).collect();
    bench.write(name, ParameterFile::new(&set, &theta, None, None).to_json());
}

const GAUSS_NEWTON: &str = "tune m.bin --optimizer=gauss-newton --round=local --checkpoint-every=0 --backend=cpu --threads=1 --out=r";

const SOURCE: &str = "// %%D%%\n\nvoid options() {\n  // %%O%%\n}\n\nint f(int d) {\n  int m = 100 * d - 25;\n  return m;\n}\n";

fn sources(bench: &Bench) {
    let mut tune = String::new();
    for name in ["a", "b"] {
        std::fs::create_dir_all(bench.path(&format!("source/{name}"))).unwrap();
        bench.write(&format!("source/{name}/s.cpp"), SOURCE);
        tune += &format!(
            "#set file {name}/s.cpp\n#set declaration %%D%%\n#set options %%O%%\n\
             #context {name}\nint m = 1@ * d - 1@off;\n"
        );
    }
    bench.write("x.tune", tune);
}

/// The program with the state of a separate user.
fn patch(bench: &Bench, args: &[&str]) {
    let folder = bench.folder.path().canonicalize().unwrap();
    let status = std::process::Command::new(super::program())
        .args([&["patch", "-q"], args].concat())
        .current_dir(&folder)
        .envs(super::tracer::environment(&folder))
        .status();
    assert!(status.unwrap().success(), "{args:?}");
}

macro_rules! cases {
    ($($(#[$doc:meta])* $test:ident { $($field:ident: $value:expr),* $(,)? })*) => {
        $($(#[$doc])* #[test]
        #[ignore = "full"]
        fn $test() {
            hit(&Case { $($field: $value,)* ..Case::PLAIN });
        })*
    };
}

cases! {
    /// From games to a new folder.
    adam {
        name: "tune adam",
        prepare: games,
        start: "tune games.pgn --l2=0 --k=0.8 --optimizer=adam --epochs=3 --checkpoint-every=0 --backend=cpu --threads=1 --out=new/r -q",
        resume: Some("tune --backend=cpu --threads=1 --resume=new/r -q"),
        results: &["new/r/params.json", "new/r/tables.h", "new/r/tables.rs", "new/r/dataset.bin"],
        grows: &["new/r/metrics.jsonl"],
        spare: Some("new/r/report.html"),
    }
    /// Over an earlier run.
    gauss_newton {
        name: "tune gauss-newton",
        prepare: |bench| {
            material(bench);
            before(bench, &format!("{GAUSS_NEWTON} --l2=1e-2 --epochs=2"));
        },
        start: "tune m.bin --optimizer=gauss-newton --round=local --checkpoint-every=0 --backend=cpu --threads=1 --out=r -q --l2=1e-3 --epochs=4 --force",
        resume: Some("tune --backend=cpu --threads=1 --resume=r -q"),
        results: &["r/params.json", "r/tables.hpp"],
        clears: true,
        grows: &["r/metrics.jsonl"],
        spare: Some("r/report.html"),
    }
    lbfgs {
        name: "tune gn-lbfgs",
        prepare: material,
        start: "tune m.bin --optimizer=gn-lbfgs --l2=1e-3 --epochs=4 --checkpoint-every=0 --backend=cpu --threads=1 --out=r -q",
        resume: Some("tune --backend=cpu --threads=1 --resume=r -q"),
        results: &["r/params.json", "r/tables.hpp"],
        grows: &["r/metrics.jsonl"],
        spare: Some("r/report.html"),
    }
    sweep {
        name: "sweep",
        prepare: material,
        start: "sweep m.bin --grid=l2=0,1e-4 --folds=2 --epochs=3 --checkpoint-every=0 --backend=cpu --threads=1 --best=best --csv=all.csv --svg=all.svg --out=r -q",
        resume: Some("sweep --backend=cpu --threads=1 --resume=r -q"),
        results: &["r/runs.csv", "all.csv", "all.svg", "best/params.json"],
        spare: Some("r/report.html"),
    }
    pso {
        name: "pso",
        prepare: material,
        start: "pso m.bin --basis=identity --radius=40 --swarms=2 --particles=4 --iterations=4 --checkpoint-every=0 --backend=cpu --threads=1 --out=r -q",
        resume: Some("pso --backend=cpu --threads=1 --resume=r -q"),
        results: &["r/params.json", "r/z.json"],
        grows: &["r/metrics.jsonl"],
        spare: Some("r/report.html"),
    }
    spsa {
        name: "spsa run",
        prepare: |bench| {
            let args = "spsa init --params material --limit nodes=20";
            let (out, _) = bench.done(args);
            bench.write("run.toml", out);
        },
        start: "-q spsa run run.toml -N4 --concurrency=1 --limit=nodes=20 --out=r",
        resume: Some("-q spsa run --resume=r"),
        results: &["r/values.csv", "r/params.json"],
        clears: true,
        grows: &["r/spsa.jsonl", "r/log.csv"],
        spare: Some("r/report.html"),
    }
    matches {
        name: "match",
        start: "-q match material zero --nodes=20 --games=6 --concurrency=1 --out=r",
        resume: Some("-q match --concurrency=1 --resume=r"),
        grows: &["r/match.jsonl", "r/games.pgn"],
        spare: Some("r/report.html"),
    }
    selfplay {
        name: "selfplay",
        start: "-q selfplay --nodes=20 --games=4 --max-plies=40 --concurrency=1 --format=pgn,binpack --out=r",
        resume: Some("-q selfplay --concurrency=1 --resume=r"),
        // After an error, the games so far are written.
        grows: &["r/selfplay.jsonl", "r/games.pgn"],
    }
    extract {
        name: "extract",
        prepare: |bench| {
            games(bench);
            before(bench, "extract games.pgn -o d.bin --skip-plies=12");
        },
        start: "-q extract games.pgn -o d.bin --list-skipped=l.txt --threads=1 --force",
        results: &["d.bin", "l.txt"],
    }
    import {
        name: "import",
        prepare: |bench| {
            bench.write("t.svm", traces::text(&traces::make(300, 1, false)));
            bench.write("old.svm", traces::text(&traces::make(200, 2, false)));
            bench.write("s.json", traces::schema());
            before(bench, "import --schema=s.json -o d.bin old.svm");
        },
        start: "-q import --schema=s.json -o d.bin t.svm --threads=1 --force",
        results: &["d.bin"],
    }
    convert {
        name: "convert",
        prepare: |bench| {
            games(bench);
            before(bench, "convert games.pgn -o p.binpack --skip-plies=12");
        },
        start: "-q convert games.pgn -o p.binpack --threads=1 --force",
        results: &["p.binpack"],
    }
    rescore {
        name: "rescore",
        prepare: |bench| {
            games(bench);
            before(bench, "convert games.pgn -o in.epd --sample=150");
        },
        start: "-q rescore in.epd -o out.txt --engine=material --nodes=20 --concurrency=1 --threads=1",
        resume: Some(
            "-q rescore in.epd -o out.txt --engine=material --nodes=20 --concurrency=1 --threads=1 --resume",
        ),
        results: &["out.txt"],
        leaves: &["out.txt.rescore/", "out.txt.rescore/rescore.jsonl"],
    }
    export {
        name: "export",
        prepare: |bench| {
            parameters(bench, "p.json", 1.3);
            parameters(bench, "old.json", 1.7);
            before(bench, "export old.json -o t.h");
        },
        start: "-q export p.json -o t.h --force",
        results: &["t.h"],
    }
    report {
        name: "report",
        prepare: |bench| {
            material(bench);
            before(bench, &format!("{GAUSS_NEWTON} --epochs=2"));
            bench.write("r/report.html", "<html>old</html>");
        },
        start: "-q report r",
        results: &["r/report.html"],
    }
    patch_tune {
        name: "patch tune",
        prepare: sources,
        start: "patch tune x.tune source -q",
        results: &["source/a/s.cpp", "source/b/s.cpp", "x.params"],
        undo: Some("patch undo source -q"),
    }
    patch_apply_without_a_backup {
        name: "patch apply",
        prepare: |bench| {
            sources(bench);
            patch(bench, &["tune", "x.tune", "source", "--no-backup"]);
            let values = bench.text("x.params");
            bench.write("x.params", values.replace("100.0,", "112.0,"));
        },
        start: "patch apply x.tune source --no-backup -q",
        results: &["source/a/s.cpp", "source/b/s.cpp"],
    }
    patch_undo {
        name: "patch undo",
        prepare: |bench| {
            sources(bench);
            patch(bench, &["tune", "x.tune", "source"]);
        },
        start: "patch undo source -q",
        results: &["source/a/s.cpp", "source/b/s.cpp"],
        clears: true,
    }
    patch_tables {
        name: "patch tables",
        prepare: |bench| {
            parameters(bench, "p.json", 1.3);
            for name in ["a", "b"] {
                let table = "0, ".repeat(64);
                let text = format!("// gputexel: knight.mg\nint {name}[64] = {{ {table} }};\n");
                bench.write(&format!("{name}.c"), text);
            }
        },
        start: "patch tables p.json a.c b.c -q",
        results: &["a.c", "b.c"],
    }
}
