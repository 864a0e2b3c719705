//! Exports are read back, code by its markers.

mod odd_names;
mod programs;

use std::path::Path;

use super::*;
use gputexel_chess::PhaseSettings;
use gputexel_model::{FeatureKind, FeatureSet, ParameterRecord};

fn record(name: &str, group: &str, mg: f64, eg: f64) -> ParameterRecord {
    let (name, group) = (name.to_string(), group.to_string());
    ParameterRecord { name, group, mg, eg, occurrences: None, errors: None, bootstrap: None }
}

fn pst() -> ParameterFile {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::parse("1,2,3,5/26").unwrap());
    let theta: Vec<f64> =
        (0..768).map(|i| 300.0 * (f64::from(i) * 1.37).sin() + f64::from(i / 384)).collect();
    let mut file = ParameterFile::new(&set, &theta, None, Some(0.75));
    file.provenance.datasets = vec!["0011223344556677".to_string()];
    file
}

fn rounded(file: &ParameterFile, rounding: Rounding) -> Vec<(String, f64, f64)> {
    let of = |record: &ParameterRecord| {
        (record.name.clone(), rounding.round(record.mg), rounding.round(record.eg))
    };
    file.parameters.iter().map(of).collect()
}

fn values(file: &ParameterFile) -> Vec<(String, f64, f64)> {
    file.parameters.iter().map(|record| (record.name.clone(), record.mg, record.eg)).collect()
}

fn file_name(format: Format) -> String {
    match format {
        Format::Code(language) => language.file_name().to_string(),
        other => format!("values.{}", other.name()),
    }
}

fn names_of(file: &ParameterFile) -> Like {
    let mut file = file.clone();
    file.parameters.iter_mut().for_each(|record| (record.mg, record.eg) = (7777.5, 8888.5));
    Like::File(Box::new(file))
}

#[track_caller]
fn read_back(text: &str, format: Format, like: Option<&Like>) -> Imported {
    import(text.as_bytes(), Path::new(&file_name(format)), like).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn code(file: &ParameterFile, options: CodeOptions, rounding: Rounding) -> Result<Exported> {
    export(file, Target::Code(options), rounding)
}

#[test]
fn piece_square_tables_come_back_from_every_order() {
    let file = pst();
    let rounding = Rounding::Decimals(2);
    for language in Language::ALL {
        for (first, split) in
            ["a1", "h1", "a8", "h8"].into_iter().flat_map(|first| [(first, false), (first, true)])
        {
            let order = Some(first.parse().unwrap());
            let options = CodeOptions { order, split, ..CodeOptions::new(language) };
            let text = code(&file, options, rounding).unwrap().text;
            let imported = read_back(&text, Format::Code(language), None);
            assert_eq!(values(&imported.file), rounded(&file, rounding), "{options:?}\n{text}");
            assert_eq!((imported.file.k, &imported.file.phase), (file.k, &file.phase));
            assert_eq!(imported.file.feature_set, "pst");
            assert_eq!(imported.file.provenance.datasets, file.provenance.datasets);
        }
    }
}

#[test]
fn squares_are_where_they_are_said_to_be() {
    let file = pst();
    let numbers = |first: &str| -> Vec<i64> {
        let order = Some(first.parse().unwrap());
        let options = CodeOptions { order, ..CodeOptions::new(Language::PYTHON) };
        let text = code(&file, options, Rounding::Whole).unwrap().text;
        let from = text.find("KNIGHT_MG = [").unwrap();
        let body = &text[from + 12..from + text[from..].find("]\n").unwrap()];
        body.split(|c: char| !c.is_ascii_digit() && c != '-').filter_map(|word| word.parse().ok()).collect()
    };
    let value = |square: usize| file.parameters[64 + square].mg.round() as i64;
    // a8 first: the second number is b8, the ninth a7.
    let down = numbers("a8");
    assert_eq!((down.len(), down[1], down[8], down[63]), (64, value(57), value(48), value(7)));
    let left = numbers("h1");
    assert_eq!((left[0], left[1], left[8]), (value(7), value(6), value(15)));
}

#[test]
fn piece_values_are_the_means_of_tables() {
    let file = pst();
    let options = CodeOptions { split: true, ..CodeOptions::new(Language::C) };
    let text = code(&file, options, Rounding::Whole).unwrap().text;
    let mean = |from: usize, to: usize| {
        (file.parameters[from..to].iter().map(|r| r.eg).sum::<f64>() / (to - from) as f64).round()
    };
    let (pawn, king) = (mean(8, 56), mean(320, 384));
    let from = text.find("material_eg[6] = {").unwrap();
    let lines: Vec<&str> = text[from..].lines().skip(1).take(6).map(str::trim).collect();
    assert_eq!((lines[0], lines[5]), (&*format!("{pawn}, // pawn"), &*format!("{king}, // king")), "{text}");
}

#[test]
fn names_of_any_kind_come_back_from_all_formats() {
    let names = "a b|a  b|say \"hi\"|back\\slash\\|<b>|Läufer|北京|int|3rd|*/ //|\u{202e}x|a\nb|\t|x.mg|y_eg|pst|material|coding: latin-1|gputexel: x|name, mg";
    let mut file = ParameterFile::of("imported", PhaseSettings::default(), None, Vec::new());
    for (i, name) in names.split('|').enumerate() {
        // Alone without a group, and in groups with others.
        let number = i as f64;
        file.parameters.push(record(name, "", number, -number));
        file.parameters.push(record(&format!("{name}1"), name, number + 0.5, 1e6));
        for k in 0..3 {
            let (name, group) = (format!("{k} {name}"), format!("{name} of 3"));
            file.parameters.push(record(&name, &group, -number, f64::from(k)));
        }
    }
    for language in Language::ALL {
        for style in [NameStyle::Snake, NameStyle::Pascal, NameStyle::Screaming] {
            let options = CodeOptions { style, ..CodeOptions::new(language) };
            let Exported { text, .. } = code(&file, options, Rounding::Decimals(1)).unwrap();
            // Nothing ends the comment's line or reverses the text.
            assert!(!text.contains(['\u{202e}', '\t']) && !text.lines().any(|line| line.ends_with('\\')));
            let imported = read_back(&text, Format::Code(language), Some(&names_of(&file))).file;
            assert_eq!(values(&imported), values(&file), "{text}");
        }
    }
    for (target, format) in [(Target::Json, Format::Json), (Target::Csv, Format::Csv)] {
        let text = export(&file, target, Rounding::All).unwrap().text;
        assert_eq!(values(&read_back(&text, format, None).file), values(&file));
    }
    let uci = |style| export(&file, Target::Uci { style, untapered: false }, Rounding::All);
    let error = uci(None).unwrap_err().to_string();
    assert!(error.contains("\"a  b.mg\"") && error.contains("spaces that UCI does not preserve"), "{error}");
    let error = uci(Some(NameStyle::Snake)).unwrap_err().to_string();
    assert!(error.contains("are both option 'a_b_mg'"), "{error}");
}

#[test]
fn styled_options_come_back_by_what_they_are_like() {
    let (file, rounding) = (pst(), Rounding::Decimals(2));
    let target = Target::Uci { style: Some(NameStyle::Pascal), untapered: false };
    let text = export(&file, target, rounding).unwrap().text;
    assert!(text.contains("\nsetoption name KnightF3Mg value "), "{text}");
    let like = Like::File(Box::new(file.clone()));
    let imported = read_back(&text, Format::Uci, Some(&like));
    assert_eq!(values(&imported.file), rounded(&file, rounding));
    // pst is known; others need a file with the names.
    assert_eq!(values(&read_back(&text, Format::Uci, None).file), rounded(&file, rounding));
    let text = text.replace("\"pst\"", "\"imported\"");
    let error = import(text.as_bytes(), Path::new("a.uci"), None).unwrap_err();
    assert!(error.to_string().contains("--like"), "{error}");
    // A part of the values: the rest is taken from the file.
    let part = "setoption name pawn_a2.mg value 7\n";
    let imported = read_back(part, Format::Uci, Some(&like));
    assert_eq!(imported.file.parameters[8].mg, 7.0);
    assert_eq!(imported.file.parameters[9].mg, file.parameters[9].mg);
    assert!(imported.notes.iter().any(|note| note.starts_with("767 of 768 values")), "{:?}", imported.notes);
}

#[test]
fn mistakes_are_named_with_their_line() {
    let good = code(&pst(), CodeOptions::new(Language::C), Rounding::Whole).unwrap().text;
    let line = |text: &str, what: &str| 1 + text.lines().position(|line| line.contains(what)).unwrap();
    let typo = good.replace("gputexel: knight.eg", "gputexel: knigt.eg");
    let twice = format!("{good}// gputexel: pawn.a2.mg\nint x = 99999;\n");
    let phase = good.replace("\"max\":26", "\"max\":0");
    for (name, text, expected) in [
        ("a.h", &*typo, format!("a.h:{}: 'knigt.eg'", line(&typo, "knigt.eg"))),
        ("a.h", &*good.replacen("// gputexel: rook.mg\n", "\n", 1), "'rook_a1.mg' is missing".to_string()),
        ("a.h", &*twice, format!("a.h:{}: 'pawn_a2.mg' is ", twice.lines().count())),
        ("a.h", &*phase, format!("a.h:{}: ", line(&phase, "gputexel-export"))),
        ("a.h", "int x;", "does not say which parameters".to_string()),
        ("a.txt", "what is this?", "is not an export".to_string()),
        ("a.txt", "", "is not an export".to_string()),
        ("a.params", "a, int, 1, 0, 2, 1, 0.1", "is a .params file".to_string()),
        ("a.csv", "", "a.csv:1: has no column 'name'".to_string()),
        ("a.csv", "name,mg,eg\n", "contains no parameters".to_string()),
        ("a.csv", "name,mg,eg\na,1\n", "a.csv:2: no CSV: ".to_string()),
        ("a.csv", "name,mg,eg\na,1,2\nb,1,nan\n", "a.csv:3: eg of 'b' is 'nan'".to_string()),
        ("a.csv", "name,mg,eg\na,1,\n", "a.csv:2: eg of 'a' is ''".to_string()),
        ("a.csv", "name,mg,eg\na,1,2\na,1,2\n", "'a.mg' is listed twice".to_string()),
        ("a.uci", "setoption name a.mg value 1\n", "'a.eg' is missing".to_string()),
        ("a.uci", "setoption name a.mg value 1\nsetoption name a.mg value 1\n", "a.uci:2: ".to_string()),
        ("a.uci", "setoption name a.mg value x\n", "a.uci:1: the value of 'a.mg' is 'x'".to_string()),
        ("a.uci", "setoption name a\n", "a.uci:1: ".to_string()),
        ("a.uci", "isready\n", "a.uci:1: ".to_string()),
        ("a.uci", "setoption name a value 1\n", "is not called NAME.mg".to_string()),
    ] {
        let error = import(text.as_bytes(), Path::new(name), None).unwrap_err().to_string();
        assert!(error.contains(&expected), "{text}: {error}");
    }
    let not_utf8 = import(b"// gputexel: a\nint x = \xff;\n", Path::new("a.c"), None).unwrap_err();
    assert!(not_utf8.to_string().starts_with("a.c:2: column 9"), "{not_utf8}");
}

#[test]
fn values_that_do_not_fit_are_named() {
    let mut file = pst();
    file.parameters[70].eg = 3e9;
    let c = |file: &ParameterFile| code(file, CodeOptions::new(Language::C), Rounding::Whole);
    let error = c(&file).unwrap_err().to_string();
    assert_eq!(error, "'knight_g1.eg' is 3000000000, which does not fit 32 bits");
    // The folder of a run gets its tables anyway.
    assert!(tables(&file, Language::C).contains("2147483647"));
    file.parameters[70].eg = f64::NAN;
    assert!(c(&file).unwrap_err().to_string().contains("'knight_g1' is not a finite number"));
    tables(&file, Language::RUST);
    let mut large = pst();
    large.parameters[3].mg = 1e308;
    let split = CodeOptions { split: true, ..CodeOptions::new(Language::C) };
    code(&large, split, Rounding::Decimals(3)).unwrap();
    let target = Target::Params { style: NameStyle::Snake, untapered: false };
    let error = export(&large, target, Rounding::All).unwrap_err().to_string();
    assert!(error.contains("pawn_d1_mg") && error.contains("too large for a range"), "{error}");
    let twice = ParameterFile::of("x", PhaseSettings::default(), None, vec![record("a", "", 1.0, 1.0); 2]);
    assert!(c(&twice).unwrap_err().to_string().contains("'a' is listed twice"));
    let old = export(&pst(), Target::Csv, Rounding::Whole).unwrap().text.replacen('{', "{\"scale\":256,", 1);
    let error = import(old.as_bytes(), Path::new("a.csv"), None).unwrap_err().to_string();
    assert!(error.contains("a.csv:1: ") && error.contains("scale"), "{error}");
}

#[test]
fn engines_own_arrays_are_read() {
    // As in docs/patch.md: any order of pieces, offsets, values of the material model.
    let text = "// gputexel: material.mg scale 2\nint a[6] = { 200, 600, 640, 1000, 1800, 0 };\n\
        // gputexel: material.eg pieces kqrbnp\nint b[6] = { 0, 900, 500, 320, 300, 100 };\n";
    let like = |kind| Like::Set(Box::new(FeatureSet::new(kind, PhaseSettings::default())));
    let imported = read_back(text, Format::Code(Language::C), Some(&like(FeatureKind::Material)));
    let expected = [100.0, 300.0, 320.0, 500.0, 900.0, 0.0];
    for (record, value) in imported.file.parameters.iter().zip(expected) {
        assert_eq!((record.mg, record.eg), (value, value), "{}", record.name);
    }
    let body = |value: i32| vec![value.to_string(); 384].join(", ");
    let text = format!("int a[2][6][64] = {{ {}, {} }}; // gputexel: pst offset 5/-5\n", body(3), body(4));
    let like = like(FeatureKind::Pst);
    let error = import(text.as_bytes(), Path::new("a.c"), Some(&like)).unwrap_err().to_string();
    assert!(error.contains("no pairs"), "{error}");
    let row = |value| format!("{{ {} }}", body(value));
    let text = format!("int a[2][384] = {{ {}, {} }}; // gputexel: pst offset 5/-5\n", row(3), row(4));
    let file = read_back(&text, Format::Code(Language::C), Some(&like)).file;
    assert!(file.parameters.iter().all(|record| (record.mg, record.eg) == (8.0, -1.0)));
}
