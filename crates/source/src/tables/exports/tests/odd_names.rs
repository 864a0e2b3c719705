//! All names and values can be read back, and no text makes a reader panic.

use proptest::prelude::*;

use super::*;

fn odd_name() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z_][a-zA-Z0-9_]{0,6}",
        "[ -~]{1,8}",
        "\\PC{1,4}",
        Just("\\".to_string()),
        Just("\"".to_string()),
        Just("'=".to_string()),
        Just("*/".to_string()),
        Just(".mg".to_string()),
        Just("_eg".to_string()),
        Just("knight_a1".to_string()),
    ];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

fn odd_value() -> impl Strategy<Value = f64> {
    prop_oneof![-2000.0..2000.0f64, Just(0.0), Just(-0.0), -2e6..2e6f64, Just(0.5), Just(-0.49)]
}

fn odd_file() -> impl Strategy<Value = ParameterFile> {
    let one = (odd_name(), 0..4usize, odd_value(), odd_value());
    let groups = prop::collection::vec(odd_name(), 4);
    (prop::collection::vec(one, 1..12), groups).prop_map(|(all, groups)| {
        let mut names = std::collections::HashSet::new();
        let mut file = ParameterFile::of("imported", PhaseSettings::default(), Some(1.1), Vec::new());
        for (name, group, mg, eg) in all {
            if names.insert(name.clone()) {
                file.parameters.push(record(&name, if group == 0 { "" } else { &groups[group] }, mg, eg));
            }
        }
        file
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_is_written_is_read(
        file in odd_file(),
        language in 0..6usize,
        style in 0..4usize,
        rounding in prop_oneof![Just(Rounding::Whole), Just(Rounding::Decimals(3)), Just(Rounding::All)],
    ) {
        let language = Language::ALL[language];
        let style = [NameStyle::Snake, NameStyle::Pascal, NameStyle::Screaming, language.style][style];
        let text = code(&file, CodeOptions { style, ..CodeOptions::new(language) }, rounding).unwrap().text;
        let by_name = |file: &[(String, f64, f64)]| -> std::collections::BTreeMap<String, (f64, f64)> {
            file.iter().map(|(name, mg, eg)| (name.clone(), (*mg, *eg))).collect()
        };
        let wanted = by_name(&rounded(&file, rounding));
        let imported = import(text.as_bytes(), Path::new(language.file_name()), Some(&names_of(&file)));
        let imported = imported.unwrap_or_else(|e| panic!("{e}\n{text}")).file;
        prop_assert_eq!(&by_name(&values(&imported)), &wanted, "{}", text);
        let text = export(&file, Target::Csv, rounding).unwrap().text;
        prop_assert!(text.lines().skip(2).all(|line| !line.starts_with(['=', '+', '-', '@'])), "{}", text);
        let imported = import(text.as_bytes(), Path::new("a.csv"), None).unwrap_or_else(|e| panic!("{e}\n{text}"));
        prop_assert_eq!(&by_name(&values(&imported.file)), &wanted, "{}", text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}", ending in "(c|rs|py|go|cs|csv|uci|json|txt)") {
        let text = text.replace("@", "\n// gputexel: a").replace("~", "\nsetoption name ");
        let _ = import(text.as_bytes(), Path::new(&format!("a.{ending}")), None);
    }
}
