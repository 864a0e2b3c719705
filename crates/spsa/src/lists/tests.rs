//! Every format by examples of its own program, and from each to each.

use std::path::Path;

use super::*;

fn parsed(text: &str, name: &str) -> Result<List> {
    parse_list(text.as_bytes(), Path::new(name), None)
}

fn list(text: &str, name: &str) -> List {
    parsed(text, name).unwrap_or_else(|error| panic!("{error}"))
}

fn written(entries: &[ListEntry], format: ListFormat) -> Written {
    write_list(entries, format).unwrap_or_else(|error| panic!("{format}: {error}"))
}

fn full(name: &str, start: f64, (min, max): (f64, f64), integer: bool) -> ListEntry {
    ListEntry {
        min: Some(min),
        max: Some(max),
        integer,
        c_end: Some(4.5),
        r_end: Some(0.0025),
        s: Some(30.0),
        sigma: Some(412.125),
        simul_elo: Some(2.5),
        comment: Some(" why not".to_string()),
        ..ListEntry::new(name, start)
    }
}

#[test]
fn examples_are_told_apart_and_read() {
    use ListFormat::*;
    let setoptions = "setoption name King Safety value 20\nsetoption name x value -1.5\n";
    let json = "{\"LMR\": {\"value\": 3, \"min_value\": 0, \"max_value\": 9, \"step\": 1}}";
    let cases = [
        ("a,30,0,200,10,0.0020,0\n", "x.var", Spsa),
        ("a,30,0,200,10,30,30,0\n", "x.csv", Bspsa),
        ("a, int, 30, 0, 200, 10, 0.002\nb, float, .5, 0, 1, .05, 0.002\n", "x.txt", OpenBench),
        ("a,30,0,200,10,0.0020\n", "-", Fishtest),
        ("a, int, 30.0, 0.0, 60.0, 3.0, 0.002\n", "x.params", Params),
        ("a, int, 30.0, 0.0, 60.0, 3.0, 0.002 //\u{3042}\n", "x", Params),
        (json, "config.json", WeatherFactory),
        (json, "x", WeatherFactory),
        (setoptions, "x", Uci),
        ("a, 30\n\nb, -4.5\n", "x", Values),
        ("# x\n[[parameter]]\nname = \"a\"\nstart = 30\n", "x", Toml),
        ("a\t30\t0\t200\t10\t0.0020\n", "x", Fishtest),
        ("# from, a page\n\n// x\na,30,0,200,10,0.0020\n", "x", Fishtest),
        ("# x\nsetoption name a value 20\n", "x", Uci),
        ("\u{feff}a,30,0,200,10,0.0020,0\r\n", "x", Spsa),
    ];
    for (text, name, format) in cases {
        assert_eq!(list(text, name).format, format, "{text}");
    }
    let openbench = list(cases[2].0, "x");
    assert_eq!((openbench.entries[0].integer, openbench.entries[1].integer), (true, false));
    assert_eq!((openbench.entries[1].start, openbench.entries[1].r_end), (0.5, Some(0.002)));
    assert!(openbench.notes[0].contains("params"), "the ambiguity is named");
    assert_eq!(list(cases[5].0, "x").entries[0].comment.as_deref(), Some("\u{3042}"));
    assert_eq!(list(setoptions, "x").entries[0], ListEntry::new("King Safety", 20.0));
    assert!(!list(setoptions, "x").entries[1].integer);
}

#[test]
fn columns_may_have_names() {
    let table =
        "param\tvalue\tstart\tmin\tmax\tc\tc_end\tr\tr_end\nx\t52.31\t50\t20\t90\t6.1\t3.5\t0.0031\t0.002\n";
    let old = "param: x, best: 52.31, start: 50.0, min: 20.0, max: 90.0, c 32.4, a 541.0\n";
    let csv = "Name,Start,Min,Max,C_end,R_end\nx,52.31,20,90,3.5,0.002\n";
    for (text, c_end, note) in [
        (table, Some(3.5), "columns left out: c, r, start"),
        (old, None, "columns left out: a, c, start"),
        (csv, Some(3.5), ""),
        ("name\tvalue\nx\t52.31\n", None, ""),
    ] {
        let list = list(text, "x");
        let entry = &list.entries[0];
        assert_eq!((list.entries.len(), entry.name.as_str(), entry.start), (1, "x", 52.31), "{text}");
        assert_eq!(
            (entry.c_end, entry.integer, list.notes.join("")),
            (c_end, true, note.to_string()),
            "{text}"
        );
    }
}

#[test]
fn what_two_formats_have_in_common_survives() {
    let entries = [
        full("Margin[2]", -12.0, (-100.0, 250.0), true),
        full("depth_2", 3.0, (0.5, 9.75), true),
        full("tiny", 1e-7, (0.0, 1e15), false),
    ];
    let read =
        |text: &str, format| parse_list(text.as_bytes(), Path::new("x"), Some(format)).unwrap().entries;
    for from in ListFormat::ALL {
        for to in ListFormat::ALL {
            let fractions = from.has_fractions() && to.has_fractions();
            let entries = if fractions { &entries[..] } else { &entries[..2] };
            let first = read(&written(entries, from).text, from);
            if missing(&first, to).is_some() {
                assert!(write_list(&first, to).is_err(), "{from} {to}");
                continue;
            }
            let second = read(&written(&first, to).text, to);
            for (old, new) in entries.iter().zip(&second) {
                assert_eq!(
                    (&old.name, old.start, old.integer),
                    (&new.name, new.start, new.integer),
                    "{from} {to}"
                );
                for setting in SETTINGS.into_iter().filter(|setting| *setting != "comments") {
                    let kept = from.settings().contains(&setting) && to.settings().contains(&setting);
                    match kept {
                        true => {
                            assert_eq!(new.setting(setting), old.setting(setting), "{from} {to} {setting}")
                        }
                        false => assert!(new.lacks(setting), "{from} {to} {setting}"),
                    }
                }
            }
        }
    }
    // Comments take no part in that, but must not spoil it.
    let odd = ListEntry { comment: Some("\u{5}\r\t\u{7f}\u{85}x".to_string()), ..entries[0].clone() };
    assert_eq!(list(&written(&[odd], ListFormat::Toml).text, "x").entries[0].name, entries[0].name);
    // What is lost is named.
    let notes = written(&entries[..1], ListFormat::Fishtest).notes;
    assert_eq!(notes, ["fishtest has no place for s, sigma, simul_elo, comments"]);
    let params = written(&entries[..1], ListFormat::Params).text;
    assert_eq!(params, "Margin[2], int, -12.0, -100.0, 250.0, 4.5, 0.0025 // why not\n");
}

#[test]
fn what_a_format_cannot_say_is_refused_or_noted() {
    let entry = full("x", 30.0, (0.0, 60.0), true);
    let refused = |entry: ListEntry, format| write_list(&[entry], format).unwrap_err().to_string();
    let lacking = ListEntry { r_end: None, ..entry.clone() };
    assert_eq!(
        refused(lacking, ListFormat::Fishtest),
        "x: format fishtest requires r_end, which the input lacks"
    );
    let fraction = ListEntry { integer: false, ..entry.clone() };
    assert!(refused(fraction, ListFormat::Spsa).contains("only supports integers"));
    let comma = ListEntry { name: "a,b".to_string(), ..entry.clone() };
    assert!(refused(comma, ListFormat::OpenBench).contains("cannot have a comma"));
    let slashes = ListEntry { name: "a//b".to_string(), ..entry.clone() };
    assert!(refused(slashes, ListFormat::Params).contains("for a comment"));
    let blank = ListEntry { name: "King Safety".to_string(), c_end: Some(0.25), ..entry };
    let notes = written(std::slice::from_ref(&blank), ListFormat::OpenBench).notes.join("\n");
    assert!(notes.contains("takes c_end of an int for 0.5"), "{notes}");
    assert_eq!(
        written(&[ListEntry { start: -0.4, min: Some(-1.0), ..blank }], ListFormat::Uci).text,
        "setoption name King Safety value 0\n"
    );
}

#[test]
fn values_may_be_parted_by_blanks() {
    let list = parse_list(b"King Safety  -0.4\nmobility[3].mg 12\n", Path::new("x"), None).unwrap();
    let values: Vec<(&str, f64)> = list.entries.iter().map(|own| (own.name.as_str(), own.start)).collect();
    assert_eq!(values, [("King Safety", -0.4), ("mobility[3].mg", 12.0)]);
}

#[test]
fn bad_lists_are_refused_by_line() {
    let long = format!("a,{},0,2,1,0.002\n", "9".repeat(400));
    let cases = [
        ("", "x", "x: is empty"),
        ("\n  \n", "x", "x: is empty"),
        ("hello\n", "x", "x:1: 1 column: none of the lists"),
        ("a,1,0,2,1,0.002\nb,1,0,2,1\n", "x", "x:2: 5 columns; expected 6 (name,start"),
        ("a,1,0,2,1,0.002,0\nb,1,0,2,1,1,1,0\n", "x", "x:2: 8 columns; expected 7"),
        ("a,5,0,2,1,0.002\n", "x", "x:1: a: start 5 is outside the bounds 0 to 2"),
        ("a,1,0,2,0,0.002\n", "x", "x:1: a: c_end 0: must be a positive"),
        ("a,1,0,2,1,0\n", "x", "x:1: a: r_end 0: must be a positive"),
        ("a,1,0,2,1,-1\n", "x", "x:1: a: r_end -1: must be"),
        ("a,nan,0,2,1,0.002\n", "x", "x:1: a: start 'nan': is not a number"),
        ("a,1,0,inf,1,0.002\n", "x", "x:1: a: max 'inf': is not a number"),
        (&long, "x", "x:1: a: start '999999999999999999999999999999999999999999999999999999999999…': is not"),
        ("a,1,0,1e300,1,0.002\n", "x", "x:1: a: c_end 1: too small relative to values up to 1e300"),
        ("a\u{1b}[2J,x,0,1,1,0.002\n", "x", "x:1: a\\u{1b}[2J: start 'x': is not a number"),
        ("a,1,0,1e300,1,0.002\n", "x", "x:1: a: c_end 1: too small"),
        ("\na,1,0,2,1,0.002\na,1,0,2,1,0.002\n", "x", "x:3: a: is listed twice, first in line 2"),
        (",1,0,2,1,0.002\n", "x", "x:1: the name"),
        (
            "a, INT, 1, 0, 2, 1, 1\n",
            "x.params",
            "x.params:1: column 2 (type): type 'INT': expected int or float",
        ),
        ("a, int, 1, 0, 2, 1 // 7, 8\n", "x.params", "x.params:1: column 7 (delta) is missing"),
        (
            "a, int, 1, 0, 2, 1, 1 [[NOT USED]]\n",
            "x.params",
            "x.params: lists only parameters that are marked",
        ),
        ("{\"a\": {\"value\": 1,\n\"min_value\": 0}}", "x", "x:1: missing field `max_value`"),
        ("{\"a\": 1}", "x", "x:1: invalid type: integer `1`, expected an object of value, min"),
        ("[1]", "x.json", "x.json:1: invalid type: sequence, expected a map"),
        ("{}", "x", "x: lists no parameter"),
        ("{", "x", "x:1: EOF"),
        ("setoption name a value x\n", "x", "x:1: a: value 'x': is not a number"),
        ("setoption name a value 1\nquit\n", "x", "x:2: 'quit' is not setoption"),
        ("setoption name Clear Hash\n", "x", "x:1: 'setoption name Clear Hash' is not setoption"),
        ("name,value\na,1,2\n", "x", "x:2: 3 columns; expected 2 (name,value)"),
        ("name,value\n", "x", "x: lists no parameter"),
        ("param: a, min: 1\n", "x", "x:1: no column value"),
        ("param: a, best: 1, 2\n", "x", "x:1: a column without a name"),
        ("name,x\na,1\n", "x", "x:1: name: value 'x': is not a number"),
        ("[[parameter]]\nname = \"a\"\n", "x", "x:1: missing field `start`"),
        ("[[parameter]]\nname = \"a\"\nstart = 1\nstep = 1\n", "x", "x:4: unknown field `step`"),
        ("[[parameter]]\nname = \"a\"\n\n[[parameter]]\nname = \"b\"\nstart = nan\n", "x", "x:"),
        ("[[paramter]]\nname = \"a\"\n", "x.toml", "x.toml:1: missing field `parameter`"),
        ("[run]\nstart = = 1\n", "x.toml", "x.toml:2: "),
    ];
    for (text, name, expected) in cases {
        let error = parsed(text, name).unwrap_err();
        assert!(matches!(error, Error::Input { .. }), "{error:?}");
        let error = error.to_string();
        assert!(error.starts_with(expected) && !error.contains('\n'), "{error:?} instead of {expected:?}");
    }
    let error = parse_list(b"a,1,0,2,1,1\nb,\xff,0,2,1,1\n", Path::new("x"), None);
    assert_eq!(error.unwrap_err().to_string(), "x:2: is not UTF-8 text");
    assert!("fishtests".parse::<ListFormat>().unwrap_err().to_string().contains("fishtest, weather"));
}

#[test]
fn unused_params_are_left_out_aloud() {
    let text = "a, int, 30.0, 0.0, 60.0, 3.0, 0.002, 9, 9 // x [[NOT USED]]\n\n\
                b, float, 1e-05, 0.0, 1.0, 0.1, 0.002 // keep, this \n";
    let list = list(text, "x.params");
    assert_eq!(list.notes, ["left out, being marked as not used: a"]);
    assert_eq!((list.entries.len(), list.entries[0].integer, list.entries[0].start), (1, false, 1e-5));
    let again = written(&list.entries, ListFormat::Params).text;
    assert_eq!(again, "b, float, 1e-05, 0.0, 1.0, 0.1, 0.002 // keep, this\n");
}

#[test]
fn parameters_may_be_called_like_parts_of_lists() {
    let names =
        ["Piece  Activity", "Name", "value", "setoption name", "[run]", "x value 3", "int", "1", "#", "a\\b"];
    for format in ListFormat::ALL {
        let entries: Vec<ListEntry> = names.iter().map(|name| full(name, 30.0, (0.0, 60.0), true)).collect();
        let there = written(&entries, format).text;
        let back = parse_list(there.as_bytes(), Path::new("x"), Some(format));
        let back = back.unwrap_or_else(|error| panic!("{format}: {error}\n{there}")).entries;
        let found: Vec<&str> = back.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(found, names, "{format}: {there}");
    }
}
