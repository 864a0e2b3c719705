//! The test cases of the script `tune.py`, and whether tuning and applying restore every number.

mod overlap;

use crate::common::prelude::*;
use gputexel::Result;
use gputexel::patch::{plan_apply, plan_tune, write};

/// Cases that the script refuses, and that work here.
const MENDED: [(&str, &str); 2] = [("05_whitespace", "tune"), ("13_unnamed_context_named_add", "apply")];

/// Cases that the script accepts, and that are refused here.
const REFUSED: [(&str, &str); 9] = [
    ("10_marker_twice", "tune"),
    ("16_params_malformed", "tune"),
    ("30_param_short", "apply"),
    ("31_param_type", "apply"),
    ("34_unicode_space", "tune"),
    ("34_unicode_space", "apply"),
    ("37_two_unnamed_adds", "apply"),
    ("40_empty", "tune"),
    ("40_empty", "apply"),
];

type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/patch/golden")
}

fn cases() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(golden())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 35);
    names
}

fn tree(folder: &Path) -> Tree {
    fn walk(root: &Path, folder: &Path, files: &mut Tree) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, files);
            } else if path.file_name().unwrap() != "stdout.txt" {
                files.insert(path.strip_prefix(root).unwrap().to_path_buf(), std::fs::read(&path).unwrap());
            }
        }
    }
    let mut files = Tree::new();
    walk(folder, folder, &mut files);
    files
}

fn plant(files: &Tree) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// Returns the tree on which the script was run.
fn input(case: &str, command: &str) -> Tree {
    let mut files = tree(&golden().join(case).join("input"));
    // `apply` was run with the parameters left by `tune`.
    let left = golden().join(case).join("apply/case.params");
    if command == "apply" && left.exists() {
        files.insert("case.params".into(), std::fs::read(left).unwrap());
    }
    files
}

fn succeeded(case: &str, command: &str) -> bool {
    let said = std::fs::read_to_string(golden().join(case).join(command).join("stdout.txt")).unwrap();
    !said.contains("Exception")
}

fn run(folder: &Path, command: &str) -> Result<PatchPlan> {
    let (tune, sources) = (folder.join("case.tune"), folder.join("source"));
    let plan = match command {
        "tune" => plan_tune(&tune, &sources)?,
        _ => plan_apply(&tune, &sources, None)?,
    };
    write(&plan, &sources, command)?;
    Ok(plan)
}

/// Returns the reason of an error that names a line.
fn refused(result: Result<PatchPlan>) -> String {
    match result {
        Err(error @ Error::Input { .. }) => error.to_string(),
        other => panic!("expected a refusal: {other:?}"),
    }
}

fn text(files: &Tree, name: &str) -> String {
    String::from_utf8(files[Path::new(name)].clone()).unwrap()
}

#[test]
fn script_cases_work_or_differ_as_documented() {
    for case in cases() {
        for command in ["tune", "apply"] {
            let before = input(&case, command);
            let folder = plant(&before);
            let result = run(folder.path(), command);
            let this = (case.as_str(), command);
            let expected = (succeeded(&case, command) || MENDED.contains(&this)) && !REFUSED.contains(&this);
            assert_eq!(result.is_ok(), expected, "{case} {command}: {result:?}");
            if !expected {
                refused(result);
                assert_eq!(tree(folder.path()), before, "{case} {command}");
            }
        }
    }
}

/// Returns cases that can be tuned, with a context in them.
fn tunable() -> impl Iterator<Item = String> {
    cases().into_iter().filter(|case| {
        let folder = plant(&input(case, "tune"));
        run(folder.path(), "tune").is_ok_and(|plan| !plan.blocks.is_empty())
    })
}

#[test]
fn applying_to_tuned_sources_restores_them() {
    let mut exact = 0;
    for case in tunable() {
        let before = input(&case, "tune");
        let folder = plant(&before);
        run(folder.path(), "tune").unwrap();
        run(folder.path(), "apply").unwrap();
        let after = tree(folder.path());
        // An #add that replaces a context does not preserve the source's own blanks, and existing parameters have
        // values of their own.
        if ["13_unnamed_context_named_add"].contains(&case.as_str())
            || before.contains_key(Path::new("case.params"))
        {
            continue;
        }
        for (name, bytes) in before.iter().filter(|(name, _)| name.starts_with("source")) {
            let shown = String::from_utf8_lossy(&after[name]);
            assert_eq!(&after[name], bytes, "{case}: {shown}");
        }
        exact += 1;
    }
    assert!(exact >= 11, "{exact}");
}

#[test]
fn script_errors_are_mended() {
    let after = |case: &str, command: &str| {
        let folder = plant(&input(case, command));
        run(folder.path(), command).unwrap();
        tree(folder.path())
    };
    // Negative integers are kept; halves are rounded away from zero.
    assert!(text(&after("22_apply_rounding", "apply"), "source/search.cpp").contains("int m = -10 * d - 3;"));
    assert!(
        text(&after("23_apply_rounding_neg", "apply"), "source/search.cpp").contains("int m = -753 * d - 0;")
    );
    let declared = text(&after("23_apply_rounding_neg", "tune"), "source/search.cpp");
    assert!(declared.contains("\nint fm_1 = -753;\nint fm_2 = 0;\n"), "{declared}");
    // Indentation, blank lines, line ends and the byte order mark are kept from the source.
    let crlf = text(&after("18_crlf_bom", "tune"), "source/search.cpp");
    let expected = "\u{feff}// search.cpp\r\n#include \"x.h\"\r\n// %%DECL%%\r\nint fm_1 = 100;\r\nint fm_2 = 25;\r\n\r\nvoid add_options() {\r\n    // %%OPTS%%\r\n    TUNE(SetRange(0.0, 200.0), fm_1, SetDefaultRange);\r\n    TUNE(SetRange(0.0, 50.0), fm_2, SetDefaultRange);\r\n}\r\n\r\nint f(int d, bool b) {\r\n    int m = fm_1 * d - fm_2;\r\n    return m + 7 * b;\r\n}\r\n";
    assert_eq!(crlf, expected);
    // A minus between two operands is not a sign.
    let minus = text(&after("05_whitespace", "tune"), "source/search.cpp");
    assert!(minus.contains("    int m = fm_1 * d - fm_2;\n    return m + fm_3 * b;\n"), "{minus}");
    // 12.0 is not an integer.
    let float = text(&after("08_negfloatzero", "tune"), "source/search.cpp");
    assert_has(&float, ["float z_5 = 12.0;\n", "  g(z_1, z_2, z_3, z_4, z_5);\n"]);
    // Columns, comments and blank lines are kept, as is the comment of a #param's entry.
    let kept = text(&after("38_seven_plus_columns", "tune"), "case.params");
    assert_eq!(kept, "p_1, int, 9, 0, 18, 1, 0.002, extra, cols // note\n");
    let kept = text(&after("15_param_existing", "tune"), "case.params");
    let expected = "old_1, int, 5.0, 0.0, 10.0, 1.0, 0.002 // was here[[NOT USED]]\nFV_SCALE, int, 64.0, 16.0, 64.0, 1.0, 0.002 // c\n\nfm_2, int, 30.25, 0.0, 50.0, 2.5, 0.002\nfm_1, int, 100.0, 0.0, 200.0, 10.0, 0.002\n";
    assert_eq!(kept, expected);
}

fn refusal_of(tune: &str, source: &str) -> String {
    let files = Tree::from([("case.tune".into(), tune.into()), ("source/s.cpp".into(), source.into())]);
    let folder = plant(&files);
    let reason = refused(run(folder.path(), "tune"));
    assert_eq!(tree(folder.path()), files);
    reason.split_once("case.tune:").map_or(reason.clone(), |(_, reason)| reason.to_string())
}

#[test]
fn one_name_for_two_parameters_is_refused() {
    let set = "#set file s.cpp\n";
    let source = "a = 1; b = 2;\n";
    let same = refusal_of(&format!("{set}#context p\na = 1@x; b = 2@x;\n"), source);
    assert_eq!(same, "2: two numbers of the context would become p_x");
    assert_has(&refusal_of(&format!("{set}#context p\na = 1@1; b = 2@;\n"), source), "would become p_1");
    let contexts = refusal_of(&format!("{set}#context p\na = 1@;\n#context p\nb = 2@;\n"), source);
    assert_eq!(contexts, "4: p_1 is the name of a parameter of line 2 already");
    let declared = refusal_of(&format!("#param p_1 int 1 0 2 1 0.1\n{set}#context p\na = 1@;\n"), source);
    assert_eq!(declared, "3: p_1 is the name of a parameter of line 1 already");
    let unknown = refusal_of(&format!("{set}#context p\na = 1@;\n#add\na = @ + @;\n"), source);
    assert!(unknown.contains("p_2 is not a parameter"), "{unknown}");
    assert_has(&refusal_of(&format!("{set}#context\na = 1@;\n"), source), "give the context a name");
}

/// One block on one source: tuned, applied with parameters changed by `edit`, tuned and applied again. Returns the
/// source's line after each `tune` and `apply`.
fn there_and_back(line: &str, body: &str, edit: fn(String) -> String) -> Result<Vec<String>> {
    let tune = format!("#set file s.cpp\n#set declaration %%D%%\n#context f\n{body}\n");
    let files = Tree::from([
        ("case.tune".into(), tune.into_bytes()),
        ("source/s.cpp".into(), format!("// %%D%%\n{line}\n").into_bytes()),
    ]);
    let folder = plant(&files);
    let params = folder.path().join("case.params");
    let mut lines = Vec::new();
    for round in 0..2 {
        for command in ["tune", "apply"] {
            run(folder.path(), command)?;
            lines.push(text(&tree(folder.path()), "source/s.cpp").lines().last().unwrap().to_string());
            if (round, command) == (0, "tune") {
                std::fs::write(&params, edit(std::fs::read_to_string(&params).unwrap())).unwrap();
            }
        }
    }
    Ok(lines)
}

#[test]
fn written_parameters_can_be_read() {
    let same = |text: String| text;
    // An operator between marked numbers stays one.
    let lines = there_and_back("int a = 3-4;", "int a = 3@-4@;", same).unwrap();
    assert_eq!(lines, ["int a = f_1-f_2;", "int a = 3-4;", "int a = f_1-f_2;", "int a = 3-4;"]);
    let turned = |text: String| text.replace("f_2, int, 4.0", "f_2, int, -4.0");
    let lines = there_and_back("int a = 3-4;", "int a = 3@-4@;", turned).unwrap();
    assert_eq!((lines[1].as_str(), lines[3].as_str()), ("int a = 3- -4;", "int a = 3- -4;"));
    // A name is a word of its own, which a minus was not; its blank stays.
    for line in ["return-5;", "case-5:", "x=a and-5;"] {
        let body = line.replace('5', "5@");
        let lines = there_and_back(line, &body, same).unwrap();
        let apart = line.replace('-', " -");
        assert_eq!((&lines[1], &lines[3]), (&apart, &apart));
    }
    // Signs, decimals and zeros come back as they were.
    for number in ["-5", "-0.25", "12.0", "0", "-0", "007", "123456789012345678"] {
        let line = format!("x = f({number}, 3);");
        let lines = there_and_back(&line, &line.replace(number, &format!("{number}@")), same).unwrap();
        assert_eq!(lines, ["x = f(f_1, 3);", &line, "x = f(f_1, 3);", &line]);
    }
    // Halves are rounded away from zero.
    let half = |text: String| text.replace("f_1, int, -5.0", "f_1, int, -2.5");
    let lines = there_and_back("x = -5;", "x = -5@;", half).unwrap();
    assert_eq!(lines[1..], ["x = -3;", "x = f_1;", "x = -3;"]);
    // Small and large numbers have no exponents.
    let small = |text: String| text.replace("f_1, float, 0.5", "f_1, float, 2.5e-7");
    let lines = there_and_back("x = 0.5;", "x = 0.5@;", small).unwrap();
    assert_eq!(lines[1..], ["x = 0.00000025;", "x = f_1;", "x = 0.00000025;"]);
    let large = |text: String| text.replace("f_1, float, 0.5", "f_1, float, 1.5e18");
    let lines = there_and_back("x = 0.5;", "x = 0.5@;", large).unwrap();
    assert_eq!(lines[1..], ["x = 1500000000000000000.0;", "x = f_1;", "x = 1500000000000000000.0;"]);
}

#[test]
fn rejects_output_that_could_not_be_read() {
    let same = |text: String| text;
    for (line, body, said) in [
        ("x = 1.f;", "x = 1@.f;", "'1@.f': marked is a part of a number"),
        ("x = 1.5;", "x = 1@.5;", "'1@.5': marked is a part of a number"),
        ("x = 1.;", "x = 1@.;", "'1@.': marked is a part of a number"),
        ("x = 1.e3;", "x = 1@.e3;", "'1@.e3': marked is a part of a number"),
        ("x = 010;", "x = 010@;", "'010@': is octal in C"),
        ("f_1 = 5;", "f_1 = 5@;", "source/s.cpp:2 already"),
    ] {
        let reason = there_and_back(line, body, same).unwrap_err().to_string();
        assert!(reason.contains("case.tune:") && reason.contains(": context f: "), "{reason}");
        assert!(reason.replace('\\', "/").contains(said), "{line}: {reason}");
    }
    // Such numbers may stand next to marked ones; `..` and methods end a number.
    for (line, body) in [("x = 010 + 2;", "x = 010 + 2@;"), ("0..64", "0@..64@"), ("5.max(2)", "5@.max(2)")] {
        let lines = there_and_back(line, body, same).unwrap();
        assert_eq!((lines[1].as_str(), lines[3].as_str()), (line, line));
    }
    let huge = |text: String| text.replace("f_1, int, 5.0", "f_1, int, 1e300");
    let reason = there_and_back("x = 5;", "x = 5@;", huge).unwrap_err().to_string();
    assert!(reason.contains("case.params: f_1 = 1e300 is too large for an integer"), "{reason}");
}
