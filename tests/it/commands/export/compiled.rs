//! Output of `gputexel export` under compilers and interpreters.

use crate::common::exports::{ODD, export, odd};
use crate::common::prelude::*;
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

/// Returns an identifier in the style of C#.
fn pascal(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    match name {
        "lauf_er_2" => "LaufEr_2".to_string(),
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

const CASES: [Case; 6] = [
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
        flags: "-o t.hpp",
        decimals: 0,
        command: CPP,
        file: "main.cpp",
        before: CPP_MAIN,
        print: |name, at| format!("std::printf(\"%d %d\\n\", {name}_score{at}.mg, {name}_score{at}.eg);"),
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
        flags: "-o t.rs --style snake --decimals 2",
        decimals: 2,
        command: RUST,
        file: "main.rs",
        before: "mod t;\nfn main() {\n",
        print: |name, at| {
            let end = if ["int", "while"].contains(&name) { "_" } else { "" };
            format!("let (mg, eg) = t::{name}{end}{at}; println!(\"{{mg:.2}} {{eg:.2}}\");")
        },
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
        flags: "-o t.cs",
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
        export(&bench, &*format!("p.json {flags}"));
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
