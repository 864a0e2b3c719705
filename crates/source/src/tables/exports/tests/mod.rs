//! Exports are read back, code by its markers.

mod odd_names;
mod programs;

use std::path::Path;

use super::*;
use crate::tables::Remedy;
use gputexel_chess::PhaseSettings;
use gputexel_model::{Colors, FeatureKind, FeatureSet, ParameterRecord};

fn phases(pairs: bool) -> PhaseValues {
    if pairs { PhaseValues::Pairs } else { PhaseValues::Separate }
}

fn record(name: &str, group: &str, mg: f64, eg: f64) -> ParameterRecord {
    let (name, group) = (name.to_string(), group.to_string());
    ParameterRecord { name, group, mg, eg, occurrences: None, errors: None, bootstrap: None }
}

fn pst(symmetric: bool) -> ParameterFile {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::parse("1,2,3,5/26").unwrap());
    let theta: Vec<f64> = (0..768)
        .map(|i| {
            let square = if symmetric && i % 8 > 3 { i ^ 7 } else { i };
            300.0 * (f64::from(square) * 1.37).sin() + f64::from(i / 384)
        })
        .collect();
    let mut file = ParameterFile::new(&set, &theta, None, Some(0.75));
    file.provenance.datasets = vec!["0011223344556677".to_string()];
    file
}

fn code(options: CodeOptions, rounding: Rounding) -> ExportOptions {
    ExportOptions { target: Target::Code(options), rounding, normalization: None, header: true }
}

fn rounded(file: &ParameterFile, rounding: Rounding) -> Vec<(String, f64, f64)> {
    let value = |value: f64| rounding.round(value * rounding.scale()) / rounding.scale();
    let of = |record: &ParameterRecord| (record.name.clone(), value(record.mg), value(record.eg));
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

#[test]
fn piece_square_tables_come_back_from_every_order() {
    let (uneven, symmetric) = (pst(false), pst(true));
    for language in Language::ALL {
        let format = Format::Code(language);
        for first in ["a1", "h1", "a8", "h8"] {
            for colors in [Colors::One, Colors::Both, Colors::Negated] {
                for variant in 0..8 {
                    let (files, split, pairs) =
                        (if variant & 1 == 0 { 8 } else { 4 }, variant & 2 != 0, variant & 4 != 0);
                    let file = if files == 8 { &uneven } else { &symmetric };
                    let order = SquareOrder { files, colors, ..first.parse().unwrap() };
                    let options =
                        CodeOptions { order, split, phases: phases(pairs), ..CodeOptions::new(language) };
                    for rounding in [Rounding::Decimals(2), Rounding::Fixed(256)] {
                        let mut asked = code(options.clone(), rounding);
                        let text = export(file, &asked).unwrap().text;
                        let imported = read_back(&text, format, None);
                        assert_eq!(values(&imported.file), rounded(file, rounding), "{asked:?}\n{text}");
                        assert_eq!((imported.file.k, &imported.file.phase), (file.k, &file.phase));
                        assert_eq!(imported.file.feature_set, "pst");
                        assert_eq!(imported.file.provenance.datasets, file.provenance.datasets);
                        // Without the header, the parameters have to be given.
                        asked.header = false;
                        let bare = export(file, &asked).unwrap().text;
                        let imported = read_back(&bare, format, Some(&names_of(file)));
                        assert_eq!(values(&imported.file), rounded(file, rounding), "{bare}");
                    }
                }
            }
        }
    }
}

#[test]
fn all_digits_come_back() {
    let file = pst(false);
    let uci = Target::Uci { style: None, prefix: "x ".into(), untapered: false };
    let mut all = vec![(Target::Json, Format::Json), (Target::Csv, Format::Csv), (uci, Format::Uci)];
    for language in Language::ALL {
        for pairs in [false, true] {
            let options = CodeOptions { phases: phases(pairs), ..CodeOptions::new(language) };
            all.push((Target::Code(options), Format::Code(language)));
        }
    }
    for (target, format) in all {
        let options = ExportOptions { target, rounding: Rounding::All, normalization: None, header: true };
        let imported = read_back(&export(&file, &options).unwrap().text, format, None).file;
        assert_eq!(values(&imported), values(&file));
        assert_eq!((imported.k, imported.phase), (file.k, file.phase.clone()));
    }
}

#[test]
fn squares_are_where_they_are_said_to_be() {
    let file = pst(true);
    let text = |first: &str, files, colors| {
        let order = SquareOrder { files, colors, ..first.parse().unwrap() };
        let options = CodeOptions { order, ..CodeOptions::new(Language::PYTHON) };
        export(&file, &code(options, Rounding::Whole)).unwrap().text
    };
    let numbers = |text: &str| -> Vec<i64> {
        let from = text.find("KNIGHT_MG = [").unwrap();
        let body = &text[from + 12..from + text[from..].find("]\n").unwrap()];
        body.split(|c: char| !c.is_ascii_digit() && c != '-').filter_map(|word| word.parse().ok()).collect()
    };
    let value = |square: usize| file.parameters[64 + square].mg.round() as i64;
    // a8 first: the second number is b8, the ninth a7.
    let down = numbers(&text("a8", 8, Colors::One));
    assert_eq!((down.len(), down[1], down[8], down[63]), (64, value(57), value(48), value(7)));
    let left = numbers(&text("h1", 8, Colors::One));
    assert_eq!((left[0], left[1], left[8]), (value(7), value(6), value(15)));
    let half = numbers(&text("a1", 4, Colors::One));
    assert_eq!((half.len(), half[3], half[4]), (32, value(3), value(8)));
    let half = numbers(&text("h8", 4, Colors::One));
    assert_eq!((half[0], half[3], half[4]), (value(63), value(60), value(55)));
    // A black knight on b8 is worth the same as a white one on b1.
    let both = numbers(&text("a1", 8, Colors::Negated));
    assert_eq!((both[1], both[64 + 57]), (value(1), -value(1)));
}

#[test]
fn half_tables_have_to_be_symmetric() {
    let order = SquareOrder { files: 4, ..SquareOrder::default() };
    let options = CodeOptions { order, ..CodeOptions::new(Language::C) };
    let error = export(&pst(false), &code(options, Rounding::Whole)).unwrap_err();
    assert!(error.to_string().contains("'pawn_a1.mg' is"), "{error}");
    assert_eq!(error.advice(), Some(&Remedy::MirroredBasis.into()));
}

#[test]
fn piece_values_are_the_means_of_tables() {
    let file = pst(false);
    let options = CodeOptions { split: true, ..CodeOptions::new(Language::C) };
    let text = export(&file, &code(options, Rounding::Whole)).unwrap().text;
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
    let names = [
        "a b",
        "a  b",
        "say \"hi\"",
        "back\\slash\\",
        "<b>",
        "Läufer",
        "北京",
        "int",
        "3rd",
        "*/ //",
        "\u{202e}x",
        "a\nb",
        "\t",
        "x.mg",
        "y_eg",
        "pst",
        "material",
        "coding: latin-1",
        "gputexel: x",
        "name, mg",
    ];
    let mut file = ParameterFile::of("imported", PhaseSettings::default(), None, Vec::new());
    for (i, name) in names.iter().enumerate() {
        // Alone without a group, and in groups with others.
        let number = i as f64;
        file.parameters.push(record(name, "", number, -number));
        file.parameters.push(record(&format!("{name}1"), name, number + 0.5, 1e6));
        for k in 0..3 {
            file.parameters.push(record(
                &format!("{k} {name}"),
                &format!("{name} of 3"),
                -number,
                f64::from(k),
            ));
        }
    }
    for language in Language::ALL {
        for pairs in [false, true] {
            for style in [NameStyle::Snake, NameStyle::Pascal, NameStyle::Screaming] {
                let options = CodeOptions { phases: phases(pairs), style, ..CodeOptions::new(language) };
                let exported = export(&file, &code(options, Rounding::Decimals(1))).unwrap();
                assert!(
                    exported.told_apart.iter().any(|(name, _)| name == "a  b"),
                    "{:?}",
                    exported.told_apart
                );
                let text = exported.text;
                // Nothing ends the comment's line or reverses the text.
                assert!(!text.contains(['\u{202e}', '\t']) && !text.lines().any(|line| line.ends_with('\\')));
                let imported = read_back(&text, Format::Code(language), Some(&names_of(&file))).file;
                assert_eq!(values(&imported), values(&file), "{text}");
            }
        }
    }
    let plain = |target| ExportOptions { target, rounding: Rounding::All, normalization: None, header: true };
    for (target, format) in [(Target::Json, Format::Json), (Target::Csv, Format::Csv)] {
        let text = export(&file, &plain(target)).unwrap().text;
        assert_eq!(values(&read_back(&text, format, None).file), values(&file));
    }
    let uci = |style| plain(Target::Uci { style, prefix: String::new(), untapered: false });
    let error = export(&file, &uci(None)).unwrap_err().to_string();
    assert!(error.contains("\"a  b.mg\"") && error.contains("spaces that UCI does not preserve"), "{error}");
    let error = export(&file, &uci(Some(NameStyle::Snake))).unwrap_err().to_string();
    assert!(error.contains("are both option 'a_b_mg'"), "{error}");
}

#[test]
fn styled_options_come_back_by_what_they_are_like() {
    let file = pst(false);
    let target = Target::Uci { style: Some(NameStyle::Pascal), prefix: "Tune".into(), untapered: false };
    let options = ExportOptions { target, rounding: Rounding::Fixed(100), normalization: None, header: true };
    let text = export(&file, &options).unwrap().text;
    assert!(text.contains("\nsetoption name TuneKnightF3Mg value "), "{text}");
    let like = Like::File(Box::new(file.clone()));
    let imported = read_back(&text, Format::Uci, Some(&like));
    assert_eq!(values(&imported.file), rounded(&file, Rounding::Fixed(100)));
    // pst is known; others need a file with the names.
    assert_eq!(values(&read_back(&text, Format::Uci, None).file), rounded(&file, Rounding::Fixed(100)));
    let text = text.replace("\"pst\"", "\"imported\"");
    let error = import(text.as_bytes(), Path::new("a.uci"), None).unwrap_err();
    assert_eq!(error.advice(), Some(&Remedy::Like.into()), "{error}");
    // A part of the values: the rest is taken from the file.
    let part = "setoption name pawn_a2.mg value 7\n";
    let imported = read_back(part, Format::Uci, Some(&like));
    assert_eq!(imported.file.parameters[8].mg, 7.0);
    assert_eq!(imported.file.parameters[9].mg, file.parameters[9].mg);
    assert!(imported.notes.iter().any(|note| note.starts_with("767 of 768 values")), "{:?}", imported.notes);
}

#[test]
fn mistakes_are_named_with_their_line() {
    let file = pst(false);
    let good = export(&file, &code(CodeOptions::new(Language::C), Rounding::Whole)).unwrap().text;
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
        ("a.csv", "name,mg,eg\na,1\n", "a.csv:2: no CSV: 2 columns".to_string()),
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
    let mut file = pst(false);
    file.parameters[70].eg = 3e9;
    let c = code(CodeOptions::new(Language::C), Rounding::Whole);
    let error = export(&file, &c).unwrap_err().to_string();
    assert_eq!(error, "'knight_g1.eg' is 3000000000, which does not fit 32 bits");
    // The folder of a run gets its tables anyway.
    assert!(tables(&file, Language::C).contains("2147483647"));
    file.parameters[70].eg = f64::NAN;
    assert!(export(&file, &c).unwrap_err().to_string().contains("'knight_g1' is not a finite number"));
    tables(&file, Language::RUST);
    let mut large = pst(false);
    large.parameters[3].mg = 1e7;
    let error = export(&large, &code(CodeOptions::new(Language::GO), Rounding::Fixed(256))).unwrap_err();
    assert!(error.to_string().contains("'pawn_d1.mg' is 2560000000"), "{error}");
    large.parameters[3].mg = 1e300;
    let all = code(CodeOptions { split: true, ..CodeOptions::new(Language::C) }, Rounding::Decimals(3));
    export(&large, &all).unwrap();
    let twice = ParameterFile::of("x", PhaseSettings::default(), None, vec![record("a", "", 1.0, 1.0); 2]);
    assert!(export(&twice, &c).unwrap_err().to_string().contains("'a' is listed twice"));
    let prefix = |prefix: &str| {
        export(
            &pst(false),
            &code(CodeOptions { prefix: prefix.into(), ..CodeOptions::new(Language::C) }, Rounding::Whole),
        )
    };
    assert!(prefix("a b").is_err() && prefix("1").is_err() && prefix("é").is_err() && prefix("k_").is_ok());
}

#[test]
fn normalization_keeps_what_k_makes_of_values() {
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let theta = [80.0, 300.0, 310.0, 500.0, 900.0, 0.0, 120.0, 280.0, 290.0, 510.0, 930.0, -0.0];
    let file = ParameterFile::new(&set, &theta, None, Some(0.8));
    let normalize = |file: &ParameterFile, text: &str| {
        let normalization = Some(text.parse().unwrap());
        let options =
            ExportOptions { target: Target::Json, rounding: Rounding::All, normalization, header: true };
        export(file, &options).map(|exported| (read_back(&exported.text, Format::Json, None).file, exported))
    };
    let (scaled, exported) = normalize(&file, "pawn.eg=100").unwrap();
    assert_eq!((scaled.parameters[0].eg, exported.factor), (100.0, Some(100.0 / 120.0)));
    assert_eq!(scaled.k, Some(0.8 / (100.0 / 120.0)));
    assert!(scaled.provenance.changed.unwrap().contains("pawn.eg=100"));
    for (own, new) in file.parameters.iter().zip(&scaled.parameters) {
        assert!((own.mg * 0.8 - new.mg * scaled.k.unwrap()).abs() < 1e-9);
    }
    // For tables, the value of a piece is their mean, for pawns without the first and last rank.
    let tables = pst(false);
    let mean =
        |file: &ParameterFile| file.parameters[8..56].iter().map(|record| record.mg).sum::<f64>() / 48.0;
    let wanted = 82f64.copysign(mean(&tables));
    let (scaled, _) = normalize(&tables, &format!("pawn.mg={wanted}")).unwrap();
    assert!((mean(&scaled) - wanted).abs() < 1e-9, "{}", mean(&scaled));
    let (scaled, _) =
        normalize(&tables, "knight_f3.eg=-20").or_else(|_| normalize(&tables, "knight_f3.eg=20")).unwrap();
    assert!((scaled.parameters[64 + 21].eg.abs() - 20.0).abs() < 1e-12);
    for (text, expected) in [
        ("pwan.eg=100", "no parameter"),
        ("pawn=100", ".mg or .eg"),
        ("king.eg=100", "is 0: no factor"),
        ("pawn.eg=-100", "turn the signs"),
        ("pawn.eg=1e308", "too large"),
    ] {
        let error = normalize(&file, text).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    // Errors and K do not become infinite either.
    let mut uncertain = file.clone();
    uncertain.parameters[1].errors = Some(gputexel_model::BothPhases { mg: Some(1e300), eg: None });
    let mut tiny = file.clone();
    tiny.k = Some(1e300);
    for (file, text, expected) in
        [(&uncertain, "pawn.eg=1e12", "'knight' or its error becomes"), (&tiny, "pawn.eg=1e-12", "K becomes")]
    {
        let error = normalize(file, text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let mut large = file.clone();
    large.parameters[0].mg = 1e308;
    let target = Target::Params { style: NameStyle::Snake, prefix: String::new(), untapered: false };
    let options = ExportOptions { target, rounding: Rounding::All, normalization: None, header: true };
    let error = export(&large, &options).unwrap_err().to_string();
    assert!(error.contains("pawn_mg") && error.contains("too large for a range"), "{error}");
    for text in ["pawn.eg", "pawn.eg=x", "pawn.eg=0", "pawn.eg=inf", "="] {
        assert!(text.parse::<Normalization>().is_err(), "{text}");
    }
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
