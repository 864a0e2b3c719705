//! From a tuning run to numbers anywhere in a source: `export --to params`, then `patch apply`.

use crate::common::prelude::*;

fn numbers(source: &str, array: &str) -> Vec<i64> {
    let (_, rest) = source.split_once(array).expect("the array is there");
    let body = &rest[rest.find('{').unwrap() + 1..rest.find('}').unwrap()];
    body.split(',').map(|number| number.trim().parse().unwrap()).collect()
}

/// Returns a line with an array of 64 numbers; with square names for a block.
fn array(phase: &str, named: bool) -> String {
    let square = |i: usize| format!("{}{}", char::from(b'a' + (i % 8) as u8), i / 8 + 1);
    let number = |i: usize| if named { format!("0@{}_{phase}", square(i)) } else { "0".to_string() };
    let all: Vec<String> = (0..64).map(number).collect();
    format!("const int knight_{phase}[64] = {{ {} }};\n", all.join(", "))
}

#[test]
fn tuned_values_are_written_to_blocks() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 3000, 11);
    bench.tune("d.bin -o run --epochs 3");
    std::fs::create_dir(bench.path("src")).unwrap();
    let rest = "int eval(void) { return 90 + 2 * f(); }\n";
    bench.write("src/eval.c", array("mg", false) + &array("eg", false) + rest);
    let block = |phase: &str| format!("#set file eval.c\n#context knight\n{}", array(phase, true));
    let pawn = "#set file eval.c\n#context pawn\nreturn 90@e4_mg + 2 * f();\n";
    bench.write("engine.tune", block("mg") + &block("eg") + pawn);
    bench.told("export run -o engine.params");
    bench.done("patch apply engine.tune src");
    let tuned: ParameterFile = serde_json::from_slice(&bench.bytes("run/params.json")).unwrap();
    let value = |name: &str, phase: &str| {
        let record = tuned.parameters.iter().find(|record| record.name == name).unwrap();
        let value = if phase == "mg" { record.mg } else { record.eg };
        value.round() as i64
    };
    let source = bench.text("src/eval.c");
    for phase in ["mg", "eg"] {
        let names = (0..64).map(|i: u8| format!("knight_{}{}", char::from(b'a' + i % 8), i / 8 + 1));
        let expected: Vec<i64> = names.map(|name| value(&name, phase)).collect();
        assert!(expected.iter().any(|number| *number != 0));
        assert_eq!(numbers(&source, &format!("knight_{phase}[64]")), expected);
    }
    assert!(source.contains(&format!("return {} + 2 * f();", value("pawn_e4", "mg"))), "{source}");
    // The values are already there, so a second time changes nothing.
    let (_, out, _) = bench.run("patch apply engine.tune src");
    assert!(out.contains("nothing to write"), "{out}");
    // A block that refers to another name changes nothing.
    bench.write("engine.tune", block("mg") + &pawn.replace("e4_mg", "e9_mg"));
    bench.write("src/eval.c", array("mg", false) + rest);
    bench.fails_with("patch apply engine.tune src", 1, ["pawn_e9_mg is not in", "engine.params"]);
    assert_eq!(bench.text("src/eval.c"), array("mg", false) + rest);
}

#[test]
fn params_files_are_lists_of_names_and_ranges() {
    let bench = Bench::new();
    let set =
        gputexel::model::FeatureSet::new(FeatureKind::Material, gputexel::chess::PhaseSettings::default());
    let theta = [82.4, 337.0, 365.0, 477.0, 1025.0, 0.0, 94.0, 281.0, 297.0, 512.0, -936.0, 0.0];
    bench.write("m.json", ParameterFile::new(&set, &theta, None, None).to_json());
    let export = |more: &str| bench.ok(("export m.json --to params", more));
    let text = export("");
    assert!(text.starts_with("// gputexel-export: {"), "{text}");
    assert_has(&text, "\npawn_mg, int, 82.0, 0.0, 164.0, 8.2, 0.002\npawn_eg, int, 94.0, ");
    let expected = "\nqueen_eg, int, -936.0, -1872.0, 0.0, 93.6, 0.002\nking_mg, int, 0.0, 0, 1, 1, 0.002\n";
    assert_has(&text, expected);
    assert_has(&export("--decimals 1 --style screaming"), "\nPAWN_MG, float, 82.4, ");
}
