//! Output of `gputexel export` under compilers and interpreters, which check the exports, and a small evaluation in
//! C, which checks the order of squares.

use crate::common::exports::{ODD, export, import, odd, pst};
use crate::common::prelude::*;
use gputexel::chess::evaluation::Evaluation as _;
use std::process::Command;

/// Runs an interpreter in the folder; `None` if it is missing.
fn interpreted(bench: &Bench, program: &str, args: impl Words) -> Option<String> {
    if !requirement::program(program) {
        return None;
    }
    let run = Command::new(program).args(args.words()).current_dir(bench.folder.path()).output().unwrap();
    assert!(run.status.success(), "{program}: {}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap())
}

/// Returns each identifier with the number of its values.
fn identifiers() -> Vec<(&'static str, usize)> {
    let mut all: Vec<(&str, usize)> = Vec::new();
    for (_, _, identifier) in ODD {
        match all.last_mut() {
            Some((last, count)) if *last == identifier => *count += 1,
            _ => all.push((identifier, 1)),
        }
    }
    all
}

/// Returns `mg eg` of each parameter, one per line.
fn wanted(file: &ParameterFile, decimals: usize) -> String {
    let line = |r: &ParameterRecord| match decimals {
        0 => format!("{} {}\n", r.mg.round(), r.eg.round()),
        _ => format!("{:.decimals$} {:.decimals$}\n", r.mg, r.eg),
    };
    file.parameters.iter().map(line).collect()
}

#[test]
#[ignore = "full"]
fn odd_names_compile_in_c() {
    let bench = Bench::new();
    let file = odd(&bench, "p.json");
    let report = export(&bench, "p.json -o t.h");
    assert_eq!(report["told_apart"], serde_json::json!({ "laufer": "laufer_2" }));
    export(&bench, "p.json -o pairs.h --to c --pairs --prefix Pair_ --decimals 2");
    let mut prints = String::new();
    for (name, count) in identifiers() {
        for i in 0..count {
            let at = if count > 1 { format!("[{i}]") } else { String::new() };
            prints += &format!("    printf(\"%d %d\\n\", {name}_mg{at}, {name}_eg{at});\n");
        }
    }
    let mut pairs = String::new();
    for (name, count) in identifiers() {
        for i in 0..count {
            let at = if count > 1 { format!("[{i}]") } else { String::new() };
            let name = format!(
                "Pair_{}_score{at}",
                name.strip_prefix('n').filter(|n| n.starts_with('3')).unwrap_or(name)
            );
            pairs += &format!("    printf(\"%.2f %.2f\\n\", {name}[0], {name}[1]);\n");
        }
    }
    let source = |prints: &str| {
        format!(
            "#include <stdio.h>\n#include \"t.h\"\n#include \"pairs.h\"\n#include \"t.h\"\nint main(void) {{\n{prints}    return 0;\n}}\n"
        )
    };
    let flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"];
    if let Some(out) = bench.compiled("gcc", &flags, "main.c", &source(&prints)) {
        assert_eq!(out, wanted(&file, 0));
    }
    if let Some(out) = bench.compiled("gcc", &flags, "main.c", &source(&pairs)) {
        assert_eq!(out, wanted(&file, 2));
    }
}

#[test]
#[ignore = "full"]
fn odd_names_compile_in_cpp() {
    let bench = Bench::new();
    let file = odd(&bench, "p.json");
    export(&bench, "p.json -o macro.hpp");
    export(&bench, "p.json -o plain.hpp --separate --style pascal --prefix k --decimals all");
    let print = |format: &str, one: &dyn Fn(&str, &str) -> String| -> String {
        let mut text = String::new();
        for (name, count) in identifiers() {
            for i in 0..count {
                let at = if count > 1 { format!("[{i}]") } else { String::new() };
                text += &format!("    std::printf(\"{format} {format}\\n\", {});\n", one(name, &at));
            }
        }
        text
    };
    let source = |prints: &str| {
        format!(
            "#include <cstdio>\n#include \"macro.hpp\"\n#include \"plain.hpp\"\nint main() {{\n{prints}}}\n"
        )
    };
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"];
    let pairs = print("%d", &|name, at| format!("{name}_score{at}.mg, {name}_score{at}.eg"));
    if let Some(out) = bench.compiled("g++", &flags, "main.cpp", &source(&pairs)) {
        assert_eq!(out, wanted(&file, 0));
    }
    let pascal = |name: &str| -> String {
        let words =
            name.split('_').map(|word| word.strip_prefix('n').filter(|w| w.starts_with('3')).unwrap_or(word));
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        match name {
            "laufer_2" => "kLaufer_2".to_string(),
            _ => format!("k{}", words.map(capital).collect::<String>()),
        }
    };
    let plain = print("%.2f", &|name, at| format!("{0}Mg{at}, {0}Eg{at}", pascal(name)));
    if let Some(out) = bench.compiled("g++", &flags, "main.cpp", &source(&plain)) {
        assert_eq!(out, wanted(&file, 2));
    }
}

#[test]
#[ignore = "full"]
fn odd_names_compile_in_rust() {
    let bench = Bench::new();
    let file = odd(&bench, "p.json");
    export(&bench, "p.json -o pairs.rs");
    export(&bench, "p.json -o snake.rs --separate --style snake --decimals 2");
    let mut prints = String::new();
    let mut separate = String::new();
    for (name, count) in identifiers() {
        let upper = name.to_uppercase();
        for i in 0..count {
            let at = if count > 1 { format!("[{i}]") } else { String::new() };
            prints += &format!("    let (mg, eg) = pairs::{upper}{at}; println!(\"{{mg}} {{eg}}\");\n");
            separate +=
                &format!("    println!(\"{{:.2}} {{:.2}}\", snake::{name}_mg{at}, snake::{name}_eg{at});\n");
        }
    }
    let source = format!("mod pairs;\nmod snake;\nfn main() {{\n{prints}{separate}}}\n");
    let flags = ["--edition", "2021", "-Dwarnings"];
    if let Some(out) = bench.compiled("rustc", &flags, "main.rs", &source) {
        assert_eq!(out, wanted(&file, 0) + &wanted(&file, 2));
    }
}

#[test]
#[ignore = "full"]
fn python_reads_its_lists() {
    let bench = Bench::new();
    let file = odd(&bench, "p.json");
    let uneven = pst(&bench, "pst.json", false);
    export(&bench, "p.json -o one.py");
    export(&bench, "p.json -o two.py --pairs --decimals all");
    export(&bench, "pst.json -o three.py --colors negated --pairs --split-material");
    let mut script = String::from("import one, two, three\n");
    let mut second = String::new();
    for (name, count) in identifiers() {
        let upper = name.to_uppercase();
        for i in 0..count {
            let at = if count > 1 { format!("[{i}]") } else { String::new() };
            script += &format!("print(one.{upper}_MG{at}, one.{upper}_EG{at})\n");
            second += &format!("print('%.2f %.2f' % two.{upper}{at})\n");
        }
    }
    script += &second;
    script += "print(three.KNIGHT[0][5][1] + three.MATERIAL[1][1], three.KNIGHT[1][5 ^ 56][1] - three.MATERIAL[1][1])\n";
    let eg = uneven.parameters[64 + 5].eg.round();
    let expected = wanted(&file, 0) + &wanted(&file, 2) + &format!("{eg} {}\n", -eg);
    if let Some(out) = interpreted(&bench, "python3", ["-B", "-c", &script]) {
        assert_eq!(out, expected);
    }
}

#[test]
#[ignore = "full"]
fn odd_names_compile_in_go_and_csharp() {
    let bench = Bench::new();
    let file = odd(&bench, "p.json");
    let uneven = pst(&bench, "pst.json", false);
    let first = |i: usize| (uneven.parameters[64 + i].mg.round(), uneven.parameters[64 + i].eg.round());
    for pairs in [false, true] {
        let style = if pairs { "--pairs" } else { "--separate" };
        export(&bench, ["p.json", "-o", "odd.go", "--force", style, "--module", "main"]);
        export(
            &bench,
            [
                "pst.json", "-o", "psqt.go", "--force", style, "--module", "main", "--colors", "both",
                "--prefix", "P",
            ],
        );
        let knight =
            if pairs { "PKnight[1][1][0], PKnight[1][1][1]" } else { "PKnightMg[1][1], PKnightEg[1][1]" };
        let odd = if pairs { "Mobility[1][0], Mobility[1][1]" } else { "MobilityMg[1], MobilityEg[1]" };
        let main = format!(
            "package main\n\nimport \"fmt\"\n\nfunc main() {{\n\tfmt.Println({odd})\n\tfmt.Println({knight})\n}}\n"
        );
        bench.write("main.go", main);
        let (mg, eg) = first(1 ^ 56);
        let expected = format!("{} {}\n{mg} {eg}\n", file.parameters[1].mg, file.parameters[1].eg.round());
        if let Some(out) = interpreted(&bench, "go", "run main.go odd.go psqt.go") {
            assert_eq!(out, expected);
        }
        export(&bench, ["p.json", "-o", "Odd.cs", "--force", style]);
        export(
            &bench,
            ["pst.json", "-o", "Psqt.cs", "--force", style, "--module", "Psqt", "--colors", "both"],
        );
        let (knight, odd) = match pairs {
            true => (
                "Psqt.Knight[1, 1].Mg + \" \" + Psqt.Knight[1, 1].Eg",
                "Tables.Mobility[1].Mg + \" \" + Tables.Mobility[1].Eg",
            ),
            false => (
                "Psqt.KnightMg[1, 1] + \" \" + Psqt.KnightEg[1, 1]",
                "Tables.MobilityMg[1] + \" \" + Tables.MobilityEg[1]",
            ),
        };
        bench.write(
            "Main.cs",
            format!("System.Console.WriteLine({odd});\nSystem.Console.WriteLine({knight});\n"),
        );
        bench.write("a.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net8.0</TargetFramework><TreatWarningsAsErrors>true</TreatWarningsAsErrors></PropertyGroup></Project>");
        if let Some(out) = interpreted(&bench, "dotnet", "run") {
            assert_eq!(out.replace('\r', ""), expected);
        }
    }
}

const POSITIONS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqk2r/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R b KQkq - 3 8",
    "8/5pk1/4p1p1/7p/3R3P/6P1/r4PK1/8 w - - 0 1",
    "8/8/4k3/2n5/8/5P2/3K4/6N1 b - - 0 1",
    "3rr1k1/1p3ppp/p1q2n2/2P5/1P1Q4/P4B2/5PPP/3RR1K1 w - - 1 20",
    "6k1/PP6/8/8/8/8/5p1p/1K6 b - - 0 1",
];

/// An evaluation in C that uses the lookup of its tables; prints 24 times the score of each position from White's
/// view.
fn engine(header: &str, lookup: &str) -> String {
    let mut boards = String::new();
    for fen in POSITIONS {
        let position: Chess = fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        let piece = |(square, piece): (shakmaty::Square, shakmaty::Piece)| {
            format!(
                "{{{}, {}, {}}}, ",
                usize::from(piece.color.is_black()),
                usize::from(piece.role) - 1,
                usize::from(square)
            )
        };
        let pieces: String = position.board().into_iter().map(piece).collect();
        boards += &format!("    {{ {pieces}{{-1, 0, 0}} }},\n");
    }
    format!(
        "#include <stdio.h>\n#include \"{header}\"\n\
         typedef struct {{ int color, role, square; }} Piece;\n\
         static const Piece boards[][33] = {{\n{boards}}};\n\
         static const int units[6] = {{ 0, 1, 1, 2, 4, 0 }};\n{lookup}\
         int main(void) {{\n\
         \x20   for (int b = 0; b < {count}; b++) {{\n\
         \x20       int mg = 0, eg = 0, phase = 0;\n\
         \x20       for (const Piece *p = boards[b]; p->color >= 0; p++) {{\n\
         \x20           mg += value(p->color, p->role, p->square, 0);\n\
         \x20           eg += value(p->color, p->role, p->square, 1);\n\
         \x20           phase += units[p->role];\n\
         \x20       }}\n\
         \x20       if (phase > 24) phase = 24;\n\
         \x20       printf(\"%d\\n\", mg * phase + eg * (24 - phase));\n\
         \x20   }}\n\
         \x20   return 0;\n}}\n",
        count = POSITIONS.len()
    )
}

const SIX: &str = "#define TABLES(p) { pawn_##p, knight_##p, bishop_##p, rook_##p, queen_##p, king_##p }\n";

#[test]
#[ignore = "full"]
fn engine_in_c_gives_the_same_scores() {
    let bench = Bench::new();
    pst(&bench, "uneven.json", false);
    pst(&bench, "mirrored.json", true);
    let pointers = format!("{SIX}static const int *const tables[2][6] = {{ TABLES(mg), TABLES(eg) }};\n");
    let rows = format!("{SIX}static const int (*const tables[2][6])[64] = {{ TABLES(mg), TABLES(eg) }};\n");
    let material =
        format!("{pointers}static const int *const material[2] = {{ material_mg, material_eg }};\n");
    let cases = [
        // a1 = 0, as in docs/exports.md.
        (
            "uneven.json",
            "--orientation a1",
            &pointers,
            "    int v = tables[phase][role][color ? square ^ 56 : square];\n    return color ? -v : v;\n",
        ),
        // a8 = 0, with separate piece values.
        (
            "uneven.json",
            "--orientation a8 --split-material",
            &material,
            "    int v = material[phase][role] + tables[phase][role][color ? square : square ^ 56];\n    return color ? -v : v;\n",
        ),
        // h1 = 0, both colors.
        (
            "uneven.json",
            "--orientation h1 --colors both",
            &rows,
            "    int v = tables[phase][role][color][square ^ 7];\n    return color ? -v : v;\n",
        ),
        // h8 = 0, both colors, to be added.
        (
            "uneven.json",
            "--orientation h8 --colors negated",
            &rows,
            "    return tables[phase][role][color][63 - square];\n",
        ),
        // Half tables.
        (
            "mirrored.json",
            "--files 4",
            &pointers,
            "    int rank = color ? 7 - square / 8 : square / 8, file = square % 8;\n    int v = tables[phase][role][rank * 4 + (file < 4 ? file : 7 - file)];\n    return color ? -v : v;\n",
        ),
        (
            "mirrored.json",
            "--files 4 --orientation h8",
            &pointers,
            "    int rank = color ? square / 8 : 7 - square / 8, file = square % 8;\n    int v = tables[phase][role][rank * 4 + (file < 4 ? file : 7 - file)];\n    return color ? -v : v;\n",
        ),
    ];
    for (params, flags, tables, body) in cases {
        let lookup =
            format!("{tables}static int value(int color, int role, int square, int phase) {{\n{body}}}\n");
        export(&bench, (&[params, "-o", "t.h", "--force"], flags));
        let file = import(&bench, ["t.h"]);
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let theta = file.theta(&set, &bench.path("back.json")).unwrap();
        assert!(theta.iter().all(|value| value.fract() == 0.0));
        let evaluation = TableEvaluation::try_new(&set, &theta).unwrap();
        let flags_c = ["-std=c99", "-Wall", "-Wextra", "-Werror"];
        let Some(out) = bench.compiled("gcc", &flags_c, "engine.c", &engine("t.h", &lookup)) else {
            return;
        };
        let mut scores = std::collections::BTreeSet::new();
        for (fen, line) in POSITIONS.iter().zip(out.lines()) {
            let position: Chess = fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
            let own = evaluation.score_stm(&evaluation.state(&position), &position);
            let own = if position.turn().is_white() { own } else { -own };
            let score: f64 = line.parse::<f64>().unwrap() / 24.0;
            // The engine's own result is rounded.
            assert!((f64::from(own) - score).abs() <= 0.5 + 1e-9, "{flags:?} {fen}: {own} {score}");
            scores.insert(own);
        }
        assert_eq!(scores.len(), POSITIONS.len(), "{scores:?}");
    }
}
