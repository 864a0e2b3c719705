//! `gputexel probe` through the real binary: the built-in engine, and scripts with an evaluation of their own.
#![cfg(unix)]

use gputexel::io::folder_lock::FolderLock;

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
        let scripted = Self(Bench::new());
        scripted.becomes(options, eval);
        scripted.0.write("p.epd", positions());
        scripted
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
        let coefficient = |data: &Dataset, id: usize| -> f32 {
            data.row(n).entries().filter(|(other, _)| usize::from(*other) == id).map(|(_, c)| c).sum()
        };
        // Without pieces, the phase is the endgame.
        assert!((coefficient(&probed, at) - coefficient(&extracted, 0)).abs() < 0.01, "position {n}");
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
    // Three decimals, but the last of them is 0.
    assert_eq!((meaning.0, meaning.1, (meaning.2 - 1.0).abs() < 1e-9), ("stm", 100.0, true));
    assert_eq!(strings(&report["probe"]["without_effect"]), ["B"]);
    assert_eq!(strings(&survey["fixed"]), ["One"]);
    assert_eq!(strings(&survey["left_out"]), ["Hash"]);
    let data = scripted.0.read("d.bin");
    let coefficients: BTreeSet<i32> =
        (0..data.len()).flat_map(|n| data.row(n).entries().map(|(_, c)| c.round() as i32)).collect();
    assert_eq!(coefficients, (-8..=8).filter(|c| *c != 0).collect());
    assert!(survey["unmirrored"].list().is_empty());
    // Alike for both colors only as long as both options have the same value; even numbers.
    let b = "option name B type spin default 10 min 0 max 50";
    let report = Scripted::new(&[A, b], r#"echo "eval $((2*(A*w-B*b)))""#).probed(&[]);
    let survey = &report["probe"]["survey"];
    assert_eq!(strings(&survey["unmirrored"]), ["A", "B"]);
    assert_eq!(survey["record"]["resolution_cp"].f64(), 2.0);
    // All of its changes are small.
    let report = Scripted::new(&[A, B], r#"echo "eval $((A*(w-b)+B*(w-b)/99))""#).probed(&[]);
    assert_eq!(strings(&report["probe"]["small"]["parameters"]), ["B"]);
}

#[test]
fn effects_in_one_direction_are_found() {
    let eval = r#"m=$A; [ $m -lt 10 ] && m=10; echo "eval $(((m+B)*(w-b)))""#;
    let scripted = Scripted::new(&[A, B], eval);
    let report = scripted.probed(&[]);
    assert!(!report["probe"]["survey"]["record"]["parameters"][0]["linear"].as_bool().unwrap());
    assert_eq!(strings(&report["probe"]["blamed"]), [""; 0]);
    let data = scripted.0.read("d.bin");
    let whole = (0..data.len()).filter(|n| data.row(*n).entries().count() == 2).count();
    assert_eq!(whole, 72);
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
    let one = "option name A type spin default 10 min 10 max 10";
    Scripted::new(&[one], plain).refused(&[], "no parameter can be changed");
    // It fails at any value but its own.
    let brittle = r#"[ $A = 10 ] || exit 3; echo "eval $((A*(w-b)+B*w))""#;
    Scripted::new(&[A, B], brittle).refused(&["--eval-view", "white"], "died (exit status: 3), with A = 11");
    let many = |count: u32| format!("$(seq -f 'option name x%.0f type button' {count})");
    Scripted::new(&[&many(70_000), A], plain).refused(&[], "offers more than 65536 options");
    let scripted = Scripted::new(&[&many(5000), A], plain);
    scripted.0.write("endless.sh", "while :; do echo 7; done\n");
    scripted.0.write("a.params", "A,int,1,0,2,1,0.002\n");
    let endless =
        ["-q", "probe", "/bin/sh endless.sh {params}", "p.epd", "-o", "d.bin", "--parameters", "a.params"];
    scripted.0.fails_with(endless, 1, "prints more than 81 lines for 81 positions");
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
    bench.done(["-q", "tune", "d.bin", "--out", "r", "--k", "1"]);
    let verified = bench.ok(["verify", "/bin/sh evaluate.sh {params}", "--params", "r"]);
    assert!(verified.contains("\nverified"), "{verified}");
    bench.fails_with(["verify", "/bin/sh evaluate.sh", "--params", "r"], 2, "{params} is missing");
    // With the tuned value in its source, it needs no file.
    let params: Value = bench.json("r/params.json");
    let value = params["parameters"][0]["mg"].f64().round();
    let built = script.replace("read -r name A < \"$1\"", &format!("A={value}"));
    bench.write("built.sh", built);
    let verified = bench.ok(["verify", "/bin/sh built.sh", "--params", "r", "--as-built"]);
    assert!(verified.contains("\nverified"), "{verified}");
}

#[test]
#[ignore = "full"]
fn effects_that_cancel_are_found() {
    // On each of five ranks a pawn, whose two values are halved and cut off: moved the opposite way they may have no
    // effect.
    let bench = Bench::new();
    let mut state: u64 = 1;
    let mut rank = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let file = state >> 61;
        format!("{file}P{}", 7 - file).replace('0', "")
    };
    let mut positions = String::new();
    for _ in 0..1500 {
        let ranks: Vec<String> = (0..5).map(|_| rank()).collect();
        positions += &format!("4k3/8/{}/4K3 b - - c9 \"1-0\";\n", ranks.join("/"));
    }
    bench.write("p.epd", positions);
    let name = |i: usize| {
        ["_mg", "_eg"].map(|phase| format!("x{}{}{phase}", 3 + i / 8, "P1234567".as_bytes()[i % 8] as char))
    };
    // That another parameter is not linear must not hide the pair.
    let list: String = (0..40).flat_map(name).map(|name| format!("{name},int,0,-50,50,5,0.002\n")).collect();
    bench.write("l.params", list + "bent,int,50,0,100,5,0.002\n");
    let script = "BEGIN { while ((getline < file) > 0) v[$1] = $2 }\n\
                  { split($1, r, \"/\"); s = v[\"bent\"] * v[\"bent\"]; for (i = 3; i < 8; i++) { n = \"x\" i substr(r[i], 1, 1); \
                  s += int((v[n \"_mg\"] + v[n \"_eg\"]) / 2) }; print s }\n";
    bench.write("evaluate.awk", script);
    let program = "awk -v file={params} -f evaluate.awk";
    bench.done([
        "probe",
        program,
        "p.epd",
        "-o",
        "d.bin",
        "--parameters",
        "l.params",
        "--eval-view",
        "white",
    ]);
    let data = bench.read("d.bin");
    assert!(data.len() > 1400);
    assert!((0..data.len()).all(|n| data.row(n).entries().count() == 11));
}

#[test]
fn penalties_do_not_depend_on_the_units_of_options() {
    // The same evaluation, with an option of 0 to 4 or of 0 to 200 centipawns.
    let tuned = |option: &str, eval: &str| {
        let scripted = Scripted::new(&[A, option], eval);
        scripted.probed(&[]);
        let values = |flags: &str| {
            let args = format!("-q tune d.bin --out r --force --k 0.3 {flags}");
            scripted.0.done(args);
            let params: Value = scripted.0.json("r/params.json");
            [0, 1].map(|i: usize| params["parameters"][i]["mg"].f64())
        };
        ["--l2 1e-2", "--prior-strength ridge=1e-1", "--prior-strength auto"].map(values)
    };
    let eval = |effect: &str| format!(r#"echo "eval $((A*(w-b)+{effect}*(w*w-b*b)))""#);
    let fine = tuned("option name B type spin default 100 min 0 max 200", &eval("(B-100)"));
    let coarse = tuned("option name B type spin default 2 min 0 max 4", &eval("50*(B-2)"));
    for (fine, coarse) in fine.into_iter().zip(coarse) {
        let found = [fine, [coarse[0], 50.0 * coarse[1]]];
        assert!((0..2).all(|i| (found[0][i] - found[1][i]).abs() < 0.05), "{found:?}");
        assert!((found[0][1] - 100.0).abs() > 0.1, "{found:?}");
    }
}

#[test]
fn positions_of_games_of_their_own_have_games() {
    let scripted = Scripted::new(&[A], r#"echo "eval $((A*(w-b)))""#);
    scripted.probed(&[]);
    assert_eq!(scripted.0.read("d.bin").metadata().games, 0);
    let game = |(game, line): (usize, &str)| {
        let (fen, result) = line.split_once(" - - c9 \"").unwrap();
        let result = if result.starts_with("1-0") { 1.0 } else { 0.5 };
        format!("{game} {result} {fen} - - 0 1\n")
    };
    let games: String = positions().lines().enumerate().map(game).collect();
    scripted.0.write("p.fens", games);
    scripted.0.done([
        "-q",
        "probe",
        "/bin/sh engine.sh",
        "p.fens",
        "-o",
        "own.bin",
        "--processes",
        "2305843009213693952",
    ]);
    let data = scripted.0.read("own.bin");
    assert_eq!((data.len(), data.metadata().games), (81, 81));
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

#[test]
fn interrupted_rounds_are_resumed() {
    // It fails after as many evaluations as a file says.
    let counted = r#"[ -e broken ] && [ "$(grep -c . asked)" -ge "$(cat broken)" ] && exit 3
        echo x >> asked; echo "eval $((A*A*(w-b)/10))""#;
    let scripted = Scripted::new(&[A], counted);
    let bench = &scripted.0;
    let rounds = ["--rounds", "3", "--out", "r", "--tune", "--k 1 --l2 0"];
    let asked = || {
        let count = bench.text("asked").lines().count();
        bench.write("asked", "");
        count
    };
    let is_kept = || bench.path("d.bin.probe").exists() || bench.path("r/round-1.probe").exists();
    bench.write("asked", "");
    let whole = scripted.probed(&rounds);
    let all = asked();
    assert!(whole["rounds"].list().len() > 1 && !is_kept());
    let params = bench.text("r/round-1/params.json");
    bench.fails_with(Scripted::args(&rounds), 2, "exists");
    // Killed before it had removed everything, it is complete.
    std::fs::create_dir(bench.path("r/round-1.probe")).unwrap();
    bench.write("r/round-1.probe/positions.fens", "");
    let complete = scripted.probed(&[&rounds[..], &["--resume"]].concat());
    assert!(complete["complete"].str() == "d.bin" && !is_kept() && asked() == 0);
    std::fs::remove_file(bench.path("d.bin")).unwrap();
    asked();
    bench.fails_with(Scripted::args(&rounds), 2, "round-1: exists and is not empty");
    let lock = FolderLock::acquire(&bench.path("r")).unwrap();
    let again = [&rounds[..], &["--force"]].concat();
    bench.fails_with(Scripted::args(&again), 1, "is being written");
    drop(lock);
    assert_eq!(asked(), 0);
    scripted.probed(&[]);
    let measured = asked();
    for last in [measured, all - 1] {
        std::fs::remove_file(bench.path("d.bin")).unwrap();
        std::fs::remove_dir_all(bench.path("r")).unwrap();
        bench.write("broken", last.to_string());
        let (code, out, err) = bench.run(Scripted::args(&rounds)[1..].to_vec());
        assert!(code == 1 && err.contains("engine.sh: died"), "{out}{err}");
        assert!(err.contains("\nround 1     asking for the evaluations"), "{err}");
        std::fs::remove_file(bench.path("broken")).unwrap();
        bench.fails_with(Scripted::args(&rounds), 2, "--resume");
        let resume = [&rounds[..], &["--resume"]].concat();
        scripted.becomes(&[A], &counted.replace("A*(w-b)", "3*A*(w-b)"));
        let other = "answers otherwise than when the probe began";
        bench.fails_with(Scripted::args(&resume), 1, other);
        scripted.becomes(&[A], counted);
        asked();
        let resumed = scripted.probed(&resume);
        assert_eq!(
            (&resumed["rounds"], bench.text("r/round-1/params.json")),
            (&whole["rounds"], params.clone())
        );
        // What was measured before is not asked again, but for a sample.
        let again = asked();
        assert!(
            if last == measured { again <= all - measured + 100 } else { again < all - measured },
            "{again} {all}"
        );
        assert!(!is_kept());
    }
}

/// Two parameters with an effect in most positions, White's view.
const BOTH: &str = r#"echo "eval $((A*(w-b)+B*(w*w-b*b)))""#;

/// A run on a dataset of `BOTH`.
fn tuned() -> Scripted {
    let scripted = Scripted::new(&[A, B], BOTH);
    scripted.probed(&[]);
    scripted.0.done(["-q", "tune", "d.bin", "--out", "r", "--k", "0.3", "--holdout", "0.2"]);
    scripted
}

impl Scripted {
    const VERIFY: [&'static str; 4] = ["verify", "/bin/sh engine.sh", "--params", "r"];

    /// Replaces the engine by another one.
    fn becomes(&self, options: &[&str], eval: &str) {
        let quoted: Vec<String> = options.iter().map(|option| format!("\"{option}\"")).collect();
        self.0.write("engine.sh", SCRIPT.replace("OPTIONS", &quoted.join(" ")).replace("EVAL", eval));
    }

    /// The tuned values, rounded as options take them.
    fn values(&self) -> [f64; 2] {
        let params: Value = self.0.json("r/params.json");
        [0, 1].map(|i: usize| params["parameters"][i]["mg"].f64().round())
    }

    /// Asserts that a verification fails in one line; returns its findings.
    #[track_caller]
    fn verify_fails<'p>(&self, more: &[&str], parts: impl IntoIterator<Item = &'p str>) -> String {
        let (code, out, err) = self.0.run([&Self::VERIFY[..], more].concat());
        assert_eq!((code, err.lines().count()), (1, 1), "{out}{err}");
        for part in parts {
            assert!(err.contains(part), "{part}: {out}{err}");
        }
        out
    }
}

#[test]
fn an_engine_that_takes_the_tuned_values_is_verified() {
    let scripted = tuned();
    let values = scripted.values();
    assert!(values != [10.0, 5.0], "{values:?}");
    let out = scripted.0.ok(Scripted::VERIFY);
    for part in ["81 of 81 are those predicted", "\nheld out", "\nverified", "2 parameters set to those of r"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    let json = [&["--json"][..], &Scripted::VERIFY[..]].concat();
    let found: Value = serde_json::from_str(&scripted.0.ok(json)).unwrap();
    assert_eq!((found["again"]["cause"].str(), found["asked"].u64()), ("agreement", 81));
    let loss = &found["losses"]["all"];
    assert!(
        (loss["engine"].f64() - loss["predicted"].f64()).abs() < 1e-9
            && loss["engine"].f64() < loss["start"].f64()
    );
    // As it was built, the engine has other values until they are in its source.
    scripted.verify_fails(&["--as-built"], ["still evaluates with the values from before"]);
    let built = format!("A={}; B={}; {BOTH}", values[0], values[1]);
    scripted.becomes(&[], &built);
    scripted.verify_fails(&[], ["has no option A, B", "--as-built"]);
    scripted.0.ok([&Scripted::VERIFY[..], &["--as-built"]].concat());
}

#[test]
fn what_an_engine_does_with_tuned_values_instead_is_named() {
    let scripted = tuned();
    for (eval, parts) in [
        (
            r#"echo "eval $((10*(w-b)+5*(w*w-b*b)))""#,
            ["evaluates as with the values from before", "no effect"],
        ),
        (r#"echo "eval $((2*A*(w-b)+2*B*(w*w-b*b)))""#, ["2.000 times as large", "another unit"]),
        (
            r#"echo "eval $((A*(w-b)+B*(w*w-b*b)+w*w*w-b*b*b))""#,
            ["under the values with which it was probed", "same engine"],
        ),
        (r#"echo "eval $((A*(w-b)+5*(w*w-b*b)))""#, ["no effect has B", "not those predicted"]),
        (
            r#"echo "eval $(((10-3*(A-10))*(w-b)+(5-3*(B-5))*(w*w-b*b)))""#,
            ["not linear in", "probe --rounds"],
        ),
    ] {
        scripted.becomes(&[A, B], eval);
        scripted.verify_fails(&[], parts);
    }
    // The largest differences are shown.
    let out = scripted.verify_fails(&[], []);
    assert!(out.contains("/4K3 ") && out.contains(", predicted "), "{out}");
    scripted.becomes(&[A], BOTH);
    scripted.verify_fails(&[], ["has no option B, of those that the run has tuned"]);
    scripted.becomes(&[A, "option name B type spin default 5 min 5 max 5"], BOTH);
    scripted.0.fails_with(Scripted::VERIFY, 2, "is not within its bounds, 5 to 5");
}

#[test]
fn only_runs_on_datasets_of_a_probe_are_verified_by_asking() {
    let scripted = tuned();
    let bench = &scripted.0;
    bench.extract("p.epd --model material");
    bench.done(["-q", "tune", "out.bin", "--out", "other", "--k", "1"]);
    bench.fails_with(
        ["verify", "/bin/sh engine.sh", "--params", "other"],
        1,
        "only about runs on datasets of 'gputexel probe'",
    );
    bench.fails_with(
        ["verify", "p.epd", "--params", "other", "--as-built"],
        2,
        "--as-built is for an engine",
    );
    std::fs::rename(bench.path("d.bin"), bench.path("moved.bin")).unwrap();
    scripted.verify_fails(&[], ["d.bin: the dataset of the run is not there", "--before DATASET"]);
    bench.ok([&Scripted::VERIFY[..], &["--before", "moved.bin"]].concat());
    let other = ["out.bin: is another dataset than that of the run", "81 positions", "--before DATASET"];
    scripted.verify_fails(&["--before", "out.bin"], other);
    // Another one has taken its place.
    std::fs::copy(bench.path("out.bin"), bench.path("d.bin")).unwrap();
    scripted.verify_fails(&[], ["d.bin: is another dataset than that of the run"]);
    std::fs::rename(bench.path("moved.bin"), bench.path("d.bin")).unwrap();
    bench.fails_with(
        ["verify", "p.epd", "--params", "r"],
        2,
        ["p.epd: is not a program", "'/bin/sh engine.sh'", "gputexel verify ENGINE"],
    );
}

#[test]
fn rounds_are_verified_by_the_loss_of_the_engine() {
    let scripted = Scripted::new(&[A], r#"echo "eval $((A*A*(w-b)/10))""#);
    scripted.probed(&["--rounds", "1", "--out", "r", "--tune", "--k 1 --l2 0"]);
    let out = scripted.0.ok(["verify", "/bin/sh engine.sh", "--params", "r/round-1"]);
    assert!(out.contains("\nnot linear  A\n") && !out.contains("verified"), "{out}");
    let better = out.lines().find(|line| line.starts_with("better")).unwrap();
    assert!(
        better.contains("not as predicted, but better: loss 0.") && better.contains(" -> 0."),
        "{better}"
    );
}

#[test]
fn parameters_that_only_the_final_check_finds_not_linear_are_named() {
    // The survey asks about every third position.
    let odd =
        r#"case $t in *3K4) echo "eval $((A*A*(w-b)/10+B*w))" ;; *) echo "eval $((A*(w-b)+B*w))" ;; esac"#;
    let scripted = Scripted::new(&[A, B], odd);
    let with = |king: &str, others: &[&str]| -> Vec<String> {
        let all = others.iter().map(|other| positions().replace("4k3", other).replace("4K3", king));
        all.collect::<String>().lines().map(|line| format!("{line}\n")).collect()
    };
    let (asked, other) =
        (with("4K3", &["4k3", "3k4", "5k2"]), with("3K4", &["4k3", "3k4", "5k2", "2k5", "6k1"]));
    let lines = (0..200).map(|i| format!("{}{}{}", asked[i], other[2 * i], other[2 * i + 1]));
    scripted.0.write("p.epd", lines.collect::<String>());
    let report = scripted.probed(&["--eval-view", "white"]);
    assert_eq!(strings(&report["probe"]["blamed"])[0], "A", "{}", report["probe"]);
    let args = Scripted::args(&["--eval-view", "white", "--force"]);
    let (out, _) = scripted.0.done(args[1..].to_vec());
    assert!(out.contains("\nnot linear  A"), "{out}");
    assert!(out.contains("--rounds measures again"), "{out}");
}

#[test]
fn engines_that_do_not_speak_uci_get_advice() {
    let bench = Bench::new();
    bench.write("p.epd", positions());
    bench.write("silent.sh", "while read -r line; do :; done\n");
    let args = ["probe", "/bin/sh silent.sh", "p.epd", "-o", "d.bin", "--start-deadline", "0.5"];
    bench.fails_with(args, 1, "must speak UCI");
    bench.fails_with(args, 1, "--start-deadline SECONDS");
    bench.fails_with([&args[..6], &["0"]].concat(), 2, "--start-deadline 0: expected seconds");
}
