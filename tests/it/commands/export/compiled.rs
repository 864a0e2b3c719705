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

/// Returns an identifier in the style of Go and C#.
fn pascal(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    match name {
        "laufer_2" => "Laufer_2".to_string(),
        _ => name.split('_').map(capital).collect(),
    }
}

/// An export, the program that prints its values, and how each is printed, given its name and index.
struct Case {
    flags: &'static str,
    decimals: usize,
    command: &'static str,
    file: &'static str,
    before: &'static str,
    print: fn(&str, &str) -> String,
    after: &'static str,
}

const C: &str = "gcc -std=c99 -Wall -Wextra -pedantic -Werror";
const CPP: &str = "g++ -std=c++11 -Wall -Wextra -pedantic -Werror";
const RUST: &str = "rustc --edition 2021 -Dwarnings";
const C_MAIN: &str = "#include <stdio.h>\n#include \"t.h\"\n#include \"t.h\"\nint main(void) {\n";
const CPP_MAIN: &str = "#include <cstdio>\n#include \"t.hpp\"\nint main() {\n";

const CASES: [Case; 9] = [
    Case {
        flags: "-o t.h",
        decimals: 0,
        command: C,
        file: "main.c",
        before: C_MAIN,
        print: |name, at| format!("printf(\"%d %d\\n\", {name}_mg{at}, {name}_eg{at});"),
        after: "return 0;\n}\n",
    },
    Case {
        flags: "-o t.h --pairs --decimals 2",
        decimals: 2,
        command: C,
        file: "main.c",
        before: C_MAIN,
        print: |name, at| format!("printf(\"%.2f %.2f\\n\", {name}_score{at}[0], {name}_score{at}[1]);"),
        after: "return 0;\n}\n",
    },
    Case {
        flags: "-o t.hpp",
        decimals: 0,
        command: CPP,
        file: "main.cpp",
        before: CPP_MAIN,
        print: |name, at| format!("std::printf(\"%d %d\\n\", {name}_score{at}.mg, {name}_score{at}.eg);"),
        after: "}\n",
    },
    Case {
        flags: "-o t.hpp --separate --style pascal --decimals all",
        decimals: 2,
        command: CPP,
        file: "main.cpp",
        before: CPP_MAIN,
        print: |name, at| {
            let name = pascal(name);
            format!("std::printf(\"%.2f %.2f\\n\", {name}Mg{at}, {name}Eg{at});")
        },
        after: "}\n",
    },
    Case {
        flags: "-o t.rs",
        decimals: 0,
        command: RUST,
        file: "main.rs",
        before: "mod t;\nfn main() {\n",
        print: |name, at| {
            format!("let (mg, eg) = t::{}{at}; println!(\"{{mg}} {{eg}}\");", name.to_uppercase())
        },
        after: "}\n",
    },
    Case {
        flags: "-o t.rs --separate --style snake --decimals 2",
        decimals: 2,
        command: RUST,
        file: "main.rs",
        before: "mod t;\nfn main() {\n",
        print: |name, at| format!("println!(\"{{:.2}} {{:.2}}\", t::{name}_mg{at}, t::{name}_eg{at});"),
        after: "}\n",
    },
    Case {
        flags: "-o t.py",
        decimals: 0,
        command: "python3 -B",
        file: "main.py",
        before: "from t import *\n",
        print: |name, at| {
            let name = name.to_uppercase();
            format!("print({name}_MG{at}, {name}_EG{at})")
        },
        after: "",
    },
    Case {
        flags: "-o t.go --pairs --module main",
        decimals: 0,
        command: "go run t.go",
        file: "main.go",
        before: "package main\n\nimport \"fmt\"\n\nfunc main() {\n",
        print: |name, at| format!("fmt.Println({0}{at}[0], {0}{at}[1])", pascal(name)),
        after: "}\n",
    },
    Case {
        flags: "-o t.cs --separate",
        decimals: 0,
        command: "dotnet run",
        file: "main.cs",
        before: "",
        print: |name, at| {
            let name = pascal(name);
            format!("System.Console.WriteLine(Tables.{name}Mg{at} + \" \" + Tables.{name}Eg{at});")
        },
        after: "",
    },
];

const PROJECT: &str = "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup><OutputType>Exe</OutputType>\
    <TargetFramework>net8.0</TargetFramework><TreatWarningsAsErrors>true</TreatWarningsAsErrors></PropertyGroup></Project>";

#[test]
#[ignore = "full"]
fn odd_names_compile_in_every_language() {
    for Case { flags, decimals, command, file, before, print, after } in CASES {
        let bench = Bench::new();
        let values = odd(&bench, "p.json");
        let report = export(&bench, &*format!("p.json {flags}"));
        assert_eq!(report["told_apart"].as_object().unwrap().len(), 1, "{report}");
        let mut source = before.to_string();
        for (name, count) in identifiers() {
            for i in 0..count {
                let at = if count > 1 { format!("[{i}]") } else { String::new() };
                source += &format!("{}\n", print(name, &at));
            }
        }
        source += after;
        bench.write("a.csproj", PROJECT);
        let words: Vec<&str> = command.split(' ').collect();
        let printed = match words[0] {
            "gcc" | "g++" | "rustc" => bench.compiled(words[0], &words[1..], file, &source),
            _ => {
                bench.write(file, &source);
                let file = if words[0] == "dotnet" { None } else { Some(file) };
                let all: Vec<&str> = words[1..].iter().copied().chain(file).collect();
                interpreted(&bench, words[0], &all[..])
            }
        };
        if let Some(printed) = printed {
            assert_eq!(printed.replace('\r', ""), wanted(&values, decimals), "{flags}");
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
