//! `gputexel probe` through the real binary: the built-in engine, and scripts with an evaluation of their own.
#![cfg(unix)]

use crate::common::prelude::*;

/// A UCI engine in the language of the shell. `w` and `b` are the numbers of pawns in a position, `A` and `B` options.
const SCRIPT: &str = r#"
set -f
A=10; B=5; n=0
while read -r line; do
  case "$line" in
    uci) printf '%s\n' "id name script" "option name Hash type spin default 16 min 1 max 64" OPTIONS uciok ;;
    isready) echo readyok ;;
    "setoption name A value "*) A=${line##* } ;;
    "setoption name B value "*) B=${line##* } ;;
    "position fen "*)
      f=${line#position fen }; t=${f%% *}; s=${f#* }; s=${s%% *}
      IFS=P; set -- x$t; w=$(($#-1)); IFS=p; set -- x$t; b=$(($#-1)); IFS=' ' ;;
    eval) n=$((n+1)); EVAL ;;
    quit) exit ;;
  esac
done
"#;

const A: &str = "option name A type spin default 10 min 0 max 100";
const B: &str = "option name B type spin default 5 min 0 max 50";

/// Positions with different numbers of pawns, and results.
fn positions() -> String {
    let mut text = String::new();
    for (white, black) in (0..9).flat_map(|white| (0..9).map(move |black| (white, black))) {
        let rank = |letter: &str, count: usize| match count {
            0 => "8".to_string(),
            8 => letter.repeat(8),
            count => format!("{}{}", letter.repeat(count), 8 - count),
        };
        let result = match white.cmp(&black) {
            std::cmp::Ordering::Greater => "1-0",
            std::cmp::Ordering::Equal => "1/2-1/2",
            std::cmp::Ordering::Less => "0-1",
        };
        let turn = if (white + black) % 2 == 0 { "w" } else { "b" };
        let (p, q) = (rank("p", black), rank("P", white));
        text += &format!("4k3/{p}/8/8/8/8/{q}/4K3 {turn} - - c9 \"{result}\";\n");
    }
    text
}

struct Scripted(Bench);

impl Scripted {
    fn new(options: &[&str], eval: &str) -> Self {
        let bench = Bench::new();
        let quoted: Vec<String> = options.iter().map(|option| format!("\"{option}\"")).collect();
        bench.write("engine.sh", SCRIPT.replace("OPTIONS", &quoted.join(" ")).replace("EVAL", eval));
        bench.write("p.epd", positions());
        Self(bench)
    }

    fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["--json", "probe", "/bin/sh engine.sh", "p.epd", "-o", "d.bin", "--processes", "2"], more].concat()
    }

    fn probed(&self, more: &[&str]) -> Value {
        serde_json::from_str(&self.0.ok(Self::args(more))).unwrap()
    }

    fn refused(&self, more: &[&str], parts: &str) {
        self.0.fails_with([&Self::args(&["--force"]), more].concat(), 1, parts);
    }
}

fn strings(value: &Value) -> Vec<&str> {
    value.list().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn coefficients_of_the_built_in_engine_are_those_of_extraction() {
    let bench = Bench::new();
    bench.write("p.epd", positions());
    let engine = format!("{} uci", env!("CARGO_BIN_EXE_gputexel"));
    let report: Value =
        serde_json::from_str(&bench.ok(["--json", "probe", &engine, "p.epd", "-o", "d.bin"])).unwrap();
    let probe = &report["probe"];
    assert_eq!(probe["check"]["beyond"].u64(), 0, "{probe}");
    assert_eq!(probe["survey"]["record"]["view"].str(), "stm");
    let (_, extracted) = bench.extract("p.epd --model material");
    let probed = bench.read("d.bin");
    assert_eq!(probed.len(), extracted.len());
    let names: Vec<String> =
        probed.metadata().feature_set.features.iter().map(|feature| feature.name.clone()).collect();
    let at = names.iter().position(|name| name == "pawn_eg").unwrap();
    for n in 0..probed.len() {
        let of = |data: &Dataset, id: usize| -> f32 {
            data.row(n).entries().filter(|(other, _)| usize::from(*other) == id).map(|(_, c)| c).sum()
        };
        // Without pieces, the phase is the endgame.
        assert!((of(&probed, at) - of(&extracted, 0)).abs() < 0.01, "position {n}");
    }
    let record = probed.metadata().probing.clone().unwrap();
    assert!(record.is_linear() && record.pattern.unwrap().contains("static score"));
    assert!(!bench.path("d.bin.probe").exists());
    bench.fails_with(["probe", &engine, "p.epd", "-o", "d.bin"], 2, "exists");
}

#[test]
fn what_numbers_mean_is_found() {
    // Pawns with decimals, the side to move's view, and an option without effect.
    let eval = r#"v=$((A*(w-b)*10)); [ "$s" = b ] && v=$((-v));
        case $v in -*) g=-; v=${v#-} ;; *) g= ;; esac; f=$((v%1000+1000)); echo "Eval: $g$((v/1000)).${f#1}""#;
    let one = "option name One type spin default 3 min 3 max 3";
    let scripted = Scripted::new(&[A, B, one], eval);
    let report = scripted.probed(&[]);
    let survey = &report["probe"]["survey"];
    let record = &survey["record"];
    let meaning = (record["view"].str(), record["unit_cp"].f64(), record["resolution_cp"].f64());
    assert_eq!((meaning.0, meaning.1, meaning.2 < 0.11), ("stm", 100.0, true));
    assert_eq!(strings(&report["probe"]["without_effect"]), ["B"]);
    assert_eq!(strings(&survey["fixed"]), ["One"]);
    assert_eq!(strings(&survey["left_out"]), ["Hash"]);
    let data = scripted.0.read("d.bin");
    let coefficients: BTreeSet<i32> =
        (0..data.len()).flat_map(|n| data.row(n).entries().map(|(_, c)| c.round() as i32)).collect();
    assert_eq!(coefficients, (-8..=8).filter(|c| *c != 0).collect());
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let plain = r#"echo "eval $((A*(w-b)))""#;
    Scripted::new(&[], plain).refused(&[], "has no numeric options but Hash");
    Scripted::new(&[A], "echo what").refused(&["--ask", "eval"], "no number after a word");
    Scripted::new(&[A], r#"echo "eval $((7*(w-b)))""#)
        .refused(&["--ask", "eval"], "do not change with any parameter");
    let noisy = r#"echo "eval $((A*(w-b)+n*37%100))""#;
    Scripted::new(&[A], noisy).refused(&["--ask", "eval"], "other numbers each time");
    let scripted = Scripted::new(&[A], plain);
    scripted.refused(&["--option", "x*"], "no numeric option is named like x*");
    scripted.0.write("l.csv", "a,10,0,100\nC,1,0,2\n");
    scripted.0.write("l.params", "C,int,1,0,2,1,0.002\n");
    let wrong = [&Scripted::args(&["--parameters", "l.params"])[..]].concat();
    scripted.0.fails_with(wrong, 2, "C: is no option of");
    assert!(!scripted.0.path("d.bin").exists() && !scripted.0.path("d.bin.probe").exists());
}

#[test]
fn positions_without_an_evaluation_are_left_out_and_failures_named() {
    let none = r#"if [ $w = 3 ]; then echo "eval none (in check)"; else echo "eval $((A*(w-b)))"; fi"#;
    let report = Scripted::new(&[A], none).probed(&[]);
    assert_eq!(report["probe"]["lost"].u64(), 9);
    let fragile = r#"[ $A -gt 40 ] && exit 3; echo "eval $((A*(w-b)))""#;
    let report = Scripted::new(&[A], fragile).probed(&[]);
    assert_eq!(report["probe"]["survey"]["failures"][0][0].str(), "A");
    let bounds = &report["probe"]["survey"]["record"]["parameters"][0];
    assert!(bounds["max"].f64() <= 40.0 && bounds["step"].f64() > 0.0, "{bounds}");
}

#[test]
fn rounds_follow_an_evaluation_that_is_not_linear() {
    let squared = r#"echo "eval $((A*A*(w-b)/10))""#;
    let scripted = Scripted::new(&[A], squared);
    let report = scripted.probed(&["--rounds", "4", "--out", "r", "--tune", "--k 1 --l2 0"]);
    let record = &report["probe"]["survey"]["record"]["parameters"][0];
    assert!(!record["linear"].as_bool().unwrap(), "{record}");
    let rounds = report["rounds"].list();
    assert!(rounds.len() > 1 && rounds[0]["accepted"].as_bool().unwrap(), "{rounds:?}");
    for round in rounds.iter().filter(|round| round["accepted"].as_bool().unwrap()) {
        assert!(round["loss"][1].f64() < round["loss"][0].f64());
    }
    let params: Value = scripted.0.json("r/round-1/params.json");
    let value = params["parameters"][0]["mg"].f64();
    assert!(value > 10.0 && value.fract() == 0.0, "{value}");
    // The engine gets the value under the name that it has there.
    let lines = scripted.0.ok(["export", "r/round-1", "--to", "uci", "--untapered"]);
    assert!(lines.contains(&format!("\nsetoption name A value {value}\n")), "{lines}");
}

#[test]
fn a_program_reads_values_from_a_file() {
    let bench = Bench::new();
    bench.write("p.epd", positions());
    bench.write("l.params", "A,int,10,0,100,5,0.002\n");
    let script = "read -r name A < \"$1\"\nset -f\nwhile read -r t s rest || [ -n \"$t\" ]; do IFS=P; set -- x$t; w=$(($#-1)); \
                  IFS=p; set -- x$t; b=$(($#-1)); IFS=' '; echo $((A*(w-b))); t=; done\n";
    bench.write("evaluate.sh", script);
    let args = ["--json", "probe", "/bin/sh evaluate.sh {params}", "p.epd", "-o", "d.bin"];
    bench.fails_with(args, 2, "needs a list of its parameters");
    let out = bench.ok([&args[..], &["--parameters", "l.params"]].concat());
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["probe"]["survey"]["record"]["view"].str(), "white");
    assert_eq!(report["probe"]["check"]["beyond"].u64(), 0);
}

#[test]
fn an_interrupted_probe_is_resumed() {
    // It fails at positions of the last block that the survey does not ask about.
    let fragile = r#"[ -e broken ] && grep -qF "$t $s" broken && exit 3; echo "eval $((A*(w-b)))""#;
    let scripted = Scripted::new(&[A], fragile);
    let bench = &scripted.0;
    let kings = ["K7", "1K6", "2K5", "3K4", "4K3", "5K2", "6K1", "7K"];
    let whole: String = kings.iter().map(|king| positions().replace("4K3", king)).collect();
    bench.write("p.epd", &whole);
    let report = scripted.probed(&[]);
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(report["probe"]["import"]["positions"].u64(), lines.len() as u64);
    let expected = bench.bytes("d.bin");
    std::fs::remove_file(bench.path("d.bin")).unwrap();
    let sample: HashSet<usize> = (0..200).map(|i| i * lines.len() / 200).collect();
    let broken = (600..lines.len()).filter(|n| !sample.contains(n));
    let broken: String = broken.map(|n| format!("{}\n", lines[n].split(" - ").next().unwrap())).collect();
    bench.write("broken", broken);
    let args = Scripted::args(&[]);
    bench.fails_with(args.clone(), 1, "engine.sh: died");
    assert!(bench.text("d.bin.probe/probe.jsonl").lines().count() > 1);
    std::fs::remove_file(bench.path("broken")).unwrap();
    bench.fails_with(args.clone(), 2, ["was interrupted", "--resume"]);
    let other = [&args[..], &["--resume", "--eval-pattern", "eval {score}"]].concat();
    bench.fails_with(other, 1, "was begun with another engine, options or parameters");
    scripted.probed(&["--resume"]);
    assert_eq!(bench.bytes("d.bin"), expected);
    assert!(!bench.path("d.bin.probe").exists());
}
