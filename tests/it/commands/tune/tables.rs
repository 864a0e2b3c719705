//! The written tables compile, and contain the rounded values of params.json.

use crate::common::prelude::*;

/// Returns the expected output of each program, a line for each table and square: group, index, mg, eg.
fn wanted(file: &Value) -> String {
    let mut text = String::new();
    let mut last = (String::new(), 0);
    for record in file["parameters"].list() {
        let group = record["group"].str();
        let index = if last.0 == group { last.1 + 1 } else { 0 };
        let value = |phase: &str| record[phase].f64().round() as i64;
        text += &format!("{group} {index} {} {}\n", value("mg"), value("eg"));
        last = (group.to_string(), index);
    }
    text
}

fn groups(file: &Value) -> Vec<(String, usize)> {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for record in file["parameters"].list() {
        let group = record["group"].str();
        match groups.last_mut() {
            Some((name, count)) if name == group => *count += 1,
            _ => groups.push((group.to_string(), 1)),
        }
    }
    groups
}

fn check(kind: FeatureKind) {
    let bench = Bench::new();
    bench.dataset("d.bin", kind, 3000, 31);
    // Steps that stay within 16 bits, in which engines pack their scores.
    bench.tune("d.bin --out r --learning-rate 10 --epochs 60 --k 0.8");
    let file = bench.json("r/params.json");
    let wanted = wanted(&file);
    assert_eq!(wanted.contains('-'), kind != FeatureKind::Material, "negative values are the difficult ones");
    let groups = groups(&file);
    let each = |line: &dyn Fn(&str, usize) -> String| -> String {
        groups.iter().map(|(group, count)| line(group, *count)).collect()
    };

    // A group of one is not an array.
    let at = |count: usize| if count > 1 { "[i]" } else { "" };
    let prints = each(&|group, count| {
        let at = at(count);
        format!(
            "    for (int i = 0; i < {count}; i++) printf(\"{group} %d %d %d\\n\", i, {group}_mg{at}, {group}_eg{at});\n"
        )
    });
    let c = format!(
        "#include <stdio.h>\n#include \"r/tables.h\"\n#include \"r/tables.h\"\nint main(void) {{\n{prints}    return 0;\n}}\n"
    );
    for flags in [&["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"][..], &["-std=c11", "-O2"]] {
        if let Some(out) = bench.compiled("cc", flags, "main.c", &c) {
            assert_eq!(out, wanted);
        }
    }

    let prints = each(&|group, count| {
        let at = at(count);
        format!(
            "    for (int i = 0; i < {count}; i++) std::printf(\"{group} %d %d %d\\n\", i, MG({group}_score{at}), EG({group}_score{at}));\n"
        )
    });
    let plain = "#define MG(s) (s).mg\n#define EG(s) (s).eg\n#include \"r/tables.hpp\"\n";
    // As engines pack two 16-bit values into an int.
    let packed = "#include <cstdint>\n\
        #define S(mg, eg) (int)((unsigned)(mg) + ((unsigned)(eg) << 16))\n\
        #define MG(s) (int)(std::int16_t)(std::uint16_t)(unsigned)(s)\n\
        #define EG(s) (int)(std::int16_t)(std::uint16_t)(((unsigned)(s) + 0x8000u) >> 16)\n\
        #include \"r/tables.hpp\"\n";
    // As a type with a constructor.
    let class = "struct Pair { int m, e; constexpr Pair(int m, int e) : m(m), e(e) {} };\n\
        #define S(mg, eg) Pair(mg, eg)\n#define MG(s) (s).m\n#define EG(s) (s).e\n\
        #include \"r/tables.hpp\"\n";
    for opening in [plain, packed, class] {
        let source = format!(
            "#include <cstdio>\n{opening}#include \"r/tables.hpp\"\nint main() {{\n{prints}    return 0;\n}}\n"
        );
        for standard in ["-std=c++11", "-std=c++17"] {
            let flags = [standard, "-Wall", "-Wextra", "-Werror"];
            if let Some(out) = bench.compiled("c++", &flags, "main.cpp", &source) {
                assert_eq!(out, wanted, "{source}");
            }
        }
    }

    let prints = each(&|group, count| {
        let name = group.to_uppercase();
        let all = if count > 1 { name } else { format!("[{name}]") };
        format!(
            "    for (i, (mg, eg)) in {all}.iter().enumerate() {{ println!(\"{group} {{i}} {{mg}} {{eg}}\"); }}\n"
        )
    });
    let rust = format!("#[path = \"r/tables.rs\"]\nmod tables;\nuse tables::*;\nfn main() {{\n{prints}}}\n");
    if let Some(out) = bench.compiled("rustc", &["--edition", "2021", "-Dwarnings"], "main.rs", &rust) {
        assert_eq!(out, wanted);
    }
}

#[test]
#[ignore = "full"]
fn piece_square_tables_compile() {
    check(FeatureKind::Pst);
}

#[test]
#[ignore = "full"]
fn classical_tables_compile() {
    check(FeatureKind::Classical);
}

#[test]
#[ignore = "full"]
fn material_tables_compile() {
    check(FeatureKind::Material);
}
