//! Datasets in several files, and in folders.

use crate::common::prelude::*;

#[test]
fn folder_reads_as_its_datasets() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("data")).unwrap();
    bench.write("data/notes.txt", "not a dataset");
    for (name, seed) in [("data/b.bin", 2), ("data/a.bin", 1), ("c.bin", 3)] {
        bench.dataset(name, FeatureKind::Material, 400, seed);
    }
    let tune = |inputs: &str, out: &str| {
        bench.done(("tune --backend cpu --out", (out, inputs)));
        bench.bytes(&format!("{out}/params.json"))
    };
    let named = tune("data/a.bin data/b.bin c.bin", "named");
    assert!(tune("data c.bin", "folder") == named);
    let eval = |inputs: &str| bench.told(("eval", (inputs, "named --json")));
    assert_eq!(eval("data c.bin"), eval("data/a.bin data/b.bin c.bin"));
    let checked = bench.told("check data --json");
    assert_eq!(checked["positions"], 800);
    bench.done("sweep data --scale 0.5:1:3");
    std::fs::create_dir(bench.path("empty")).unwrap();
    for command in ["tune empty --out none", "eval empty named", "check empty"] {
        let (code, _, told) = bench.run(command);
        assert!(code == 1 && told == "gputexel: empty: is a folder without datasets (*.bin)\n", "{told}");
    }
    // Duplicate positions would count twice.
    bench.fails_with("eval data data/a.bin named", 2, "data/a.bin: is given twice");
}

#[test]
#[ignore = "full"]
fn shards_equal_their_dataset() {
    let bench = Bench::new();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");
    for model in ["pst", "classical"] {
        let (whole, folder) = (format!("{model}.bin"), format!("{model}-shards"));
        let extract = |to: &str, more: &str| {
            bench.told((&["extract", sample, "-o", to, "--model", model, "--sample", "9000", "--json"], more))
        };
        let told = extract(&whole, "");
        let cut = extract(&folder, "--shard-size 4000");
        assert_eq!(
            (&cut["positions"], &cut["games"], cut["shards"].as_u64()),
            (&told["positions"], &told["games"], Some(3))
        );
        assert_eq!(bench.names(&folder), ["0001.bin", "0002.bin", "0003.bin"]);
        let whole = bench.read(&whole);
        let shards = gputexel::dataset::read_many(&[bench.path(&folder)]).unwrap();
        assert_eq!(whole.len(), shards.len());
        for n in 0..whole.len() {
            let (a, b) = (whole.row(n), shards.row(n));
            assert!(
                a.entries().eq(b.entries()) && (a.phase, a.result, a.weight) == (b.phase, b.result, b.weight)
            );
            assert_eq!(a.ids_by_sign(), b.ids_by_sign());
            let same = |data: &gputexel::dataset::Dataset| n > 0 && data.game(n) == data.game(n - 1);
            assert_eq!(same(&whole), same(&shards), "games are whole, position {n}");
        }
        let counts = |data: &gputexel::dataset::Dataset| -> (u64, u64) {
            let sources = &data.metadata().sources;
            (sources.iter().map(|s| s.positions).sum(), sources.iter().map(|s| s.records).sum())
        };
        assert_eq!(counts(&whole), counts(&shards));
    }
    let refused = |args: &str, code: i32, words: &str| {
        let (got, _, told) = bench.run((&["extract", sample], args));
        assert!(got == code && told.contains(words), "{got} {told}");
    };
    refused("-o none --shard-size 0", 2, "--shard-size 0: must be at least 1");
    refused("-o pst-shards --shard-size 9", 2, "pst-shards/0001.bin: the folder has a dataset already");
    refused("-o pst.bin --shard-size 9", 2, "pst.bin: is a file; shards need a folder");
    bench.write("bad.epd", "no position\n");
    let (code, _, _) = bench.run("extract bad.epd -o none --shard-size 9");
    assert!(code == 1 && !bench.path("none").exists());
}
