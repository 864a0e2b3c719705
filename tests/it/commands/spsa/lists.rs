//! `gputexel spsa convert`, `spsa init` and `spsa simulate --conf` through the real binary.

use crate::common::prelude::*;
use gputexel::spsa::config::{OptionValue, RunConfig};

const FISHTEST: &str = "King_Safety,20,0,400,20,0.002\nMargin[1],-12.5,-100,100,7.5,0.0035\n";

fn run(bench: &Bench, args: impl Words, stdin: &str) -> (i32, String, String) {
    bench.feed(("spsa", args), stdin)
}

#[test]
fn lists_convert_between_programs() {
    let bench = Bench::new();
    bench.write("in", FISHTEST);
    let (code, out, err) = run(&bench, "convert in --to openbench", "");
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        "King_Safety, int, 20, 0, 400, 20, 0.002\nMargin[1], int, -12.5, -100, 100, 7.5, 0.0035\n"
    );
    assert_eq!(run(&bench, "-q convert in --to openbench -o a", ""), (0, String::new(), String::new()));
    assert_eq!(bench.text("a"), out);
    // The ambiguity is reported unless the format is given.
    let (_, _, err) = run(&bench, "convert a --to uci", "");
    assert!(err.contains("note: read as openbench; a list of params looks the same"), "{err}");
    let (_, out, err) = run(&bench, "convert - --from params --to uci", &out);
    assert_eq!(err, "");
    assert_eq!(out, "setoption name King_Safety value 20\nsetoption name Margin[1] value -13\n");
    // Nothing is overwritten.
    bench.fails_with("spsa convert in --to toml -o a", 2, "--force");
    assert_eq!(run(&bench, "convert in --to toml -o a --force", "").0, 0);
}

#[test]
fn lists_that_cannot_be_converted_are_refused() {
    let bench = Bench::new();
    bench.write("bspsa.var", "x,30,0,440,22,10,70,0\n");
    bench.write("log", "1,31\n");
    bench.write("empty", "");
    bench.write("binary", b"x,1,0,2,1,1\n\xfe\xff\n");
    for (args, code, expected) in [
        ("bspsa.var --to fishtest", 2, "x: format fishtest requires r_end, which the input lacks"),
        ("none --to uci", 1, "none: "),
        ("log --to uci --from fishtest", 1, "log:1: 2 columns; expected 6"),
        ("empty --to bspsa", 1, "empty: is empty"),
        ("binary --to bspsa", 1, "binary:2: is not UTF-8 text"),
    ] {
        bench.fails_with(("spsa convert", args), code, expected);
    }
    let report = bench.told("spsa convert bspsa.var --to weather-factory");
    assert_eq!(
        (report["from"].as_str(), report["parameters"][0]["c_end"].as_f64()),
        (Some("bspsa"), Some(22.0))
    );
    assert!(report["notes"].to_string().contains("no place for s, sigma"), "{report}");
    let config: Value = serde_json::from_str(report["text"].str()).unwrap();
    assert_eq!((&config["x"]["step"], &config["x"]["value"]), (&22.into(), &30.into()));
}

#[test]
fn the_built_in_engine_is_set_up() {
    let bench = Bench::new();
    let flags = "spsa init --params material:100,300,320,700,700 --tune queen,rook.mg";
    bench.ok((flags, "--limit nodes=1000 --games 8000 -o run.toml"));
    let config = RunConfig::read(&bench.path("run.toml")).unwrap();
    assert_eq!(config.engine.params.as_deref(), Some("material:100,300,320,700,700"));
    assert_eq!((config.run.iterations, config.games.limit.as_str()), (4000, "nodes=1000"));
    let queen = &config.parameters[0];
    assert_eq!((queen.name.as_str(), queen.start, queen.min, queen.max), ("queen", 700.0, 400.0, 1000.0));
    assert_eq!((queen.integer, config.parameters[1].name.as_str()), (false, "rook.mg"));
    for (tune, expected) in [
        ("quen", "parameter 'quen': the built-in engine's model 'material' has none"),
        ("queen,queen.mg", "both move queen.mg"),
    ] {
        bench.fails_with(["spsa", "init", "--params", "material", "--tune", tune], 2, expected);
    }
    bench.fails_with("spsa init --params none.json", 1, "none.json");
}

#[cfg(unix)]
mod engines {
    use super::*;

    fn engine(bench: &Bench, options: &str) -> String {
        let text = format!(
            "while IFS= read -r line; do case \"$line\" in\n\
             uci) echo 'id name Script'; {options}; echo uciok;;\nisready) echo readyok;;\nquit) exit;;\n\
             esac; done\n"
        );
        let path = bench.write("engine.sh", text);
        format!("/bin/sh '{}'", path.display())
    }

    const OPTIONS: &str = "echo 'option name Hash type spin default 16 min 1 max 1024'; \
                           echo 'option name King Safety type spin default 100 min 0 max 400'; \
                           echo 'option name Wide type spin default 50 min -1000000 max 1000000'; \
                           echo 'option name Fixed type spin default 5 min 5 max 5'; \
                           echo 'option name Scale type string default 1.25'; \
                           echo 'option name OwnBook type check default true'; \
                           echo 'option name Tempo type spin default 10 min -20 max 30'";

    #[test]
    fn an_engines_options_are_written_down() {
        let bench = Bench::new();
        let command = engine(&bench, OPTIONS);
        let flags =
            ["spsa", "init", "--engine", &command, "--option", "Hash=32", "--option", "OwnBook=false"];
        let more = ["--option", "King Safety=20", "--limit", "depth=3", "--book", "b.epd", "-o", "run.toml"];
        let out = bench.ok((&flags, &more));
        assert!(out.contains("2 to tune: King Safety, Tempo"), "{out}");
        let path = bench.path("run.toml");
        let config = RunConfig::read(&path).unwrap();
        let safety = &config.parameters[0];
        assert_eq!((safety.start, safety.min, safety.max, safety.c_end), (20.0, 0.0, 400.0, 20.0));
        assert_eq!((safety.r_end, safety.s, safety.integer), (Some(0.002), Some(40.0), true));
        assert_eq!((config.parameters[1].name.as_str(), config.parameters.len()), ("Tempo", 2));
        assert_eq!(config.engine.options["Hash"], OptionValue::Whole(32));
        assert_eq!(config.engine.options["OwnBook"], OptionValue::Flag(false));
        assert_eq!(config.engine.options.len(), 2);
        assert_eq!(config.games.book, Some(bench.path("b.epd")));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("# Not tuned: Hash, Wide\n"), "{text}");
        // Only named ones, with planned settings.
        let flags = ["--json", "spsa", "init", "--engine", &command, "--tune", "wide", "--tune", "hash"];
        let (code, out, _) = bench.run((&flags, "--elo 5 --method bspsa --games 40000"));
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(code, 0);
        let wide = &report["parameters"][0];
        assert_eq!(
            (wide["min"].as_f64(), wide["max"].as_f64(), wide["c_end"].as_f64()),
            (Some(0.0), Some(100.0), Some(22.0))
        );
        assert_eq!(report["parameters"][1]["name"].as_str(), Some("Hash"));
        assert_has(
            &report["notes"].to_string(),
            ["Wide: its bounds are meaningless", "OwnBook is turned off"],
        );
    }

    #[test]
    fn engines_that_cannot_be_tuned_are_named_in_one_line() {
        let bench = Bench::new();
        let command = engine(&bench, OPTIONS);
        let fails = |args: &[&str], code| bench.fails(("spsa init --engine", args), code);
        for (tune, expected) in [
            ("Kings", "--tune Kings: the engine has no such option; it has Hash, King Safety"),
            ("scale", "--tune scale: only spin options"),
            ("OwnBook", "--tune OwnBook: only spin options"),
            ("Fixed", "--tune Fixed: the engine only allows 5"),
            ("Hash,hash", "--tune hash: is given twice"),
        ] {
            assert_has(&fails(&[&command, "--tune", tune], 2), expected);
        }
        assert!(fails(&[&command, "--option", "Hash=9999"], 2).contains("from 1 to 1024"));
        assert!(fails(&[&command, "--option", "Nope=1"], 2).contains("no such option"));
        assert!(fails(&["./no-such-engine"], 1).contains("no-such-engine"));
        assert!(fails(&["/bin/sh -c 'echo bye; exit 3'"], 1).contains("/bin/sh"));
        let why = "no 'uciok' within 0.3 s";
        assert_has(&fails(&["/bin/sh -c 'sleep 60'", "--start-deadline", "0.3"], 1), why);
        assert!(fails(&[&command, "--start-deadline", "nan"], 2).contains("--start-deadline: expected"));
        let bare = engine(&bench, ":");
        assert!(fails(&[&bare], 2).contains("nothing to tune"));
        assert!(!Path::new(&bench.path("run.toml")).exists());
    }
}
