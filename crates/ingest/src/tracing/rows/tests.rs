use proptest::prelude::*;

use super::*;

/// A pair, a pair, a number without phases; taper, relu, relu2, product, scale factor, sign, sigmoid.
const TABLE: &str = r#"{"format": "gputexel-tape", "version": 1, "numbers": [
    {"at": "e.hpp:1:1", "prior": [80, 90]}, {"at": "e.hpp:2:1", "prior": [5, -7]}, {"at": "e.hpp:3:1", "prior": 4}],
"verbs": [
    {"op": "taper", "at": "e.cpp:1:1", "constants": [0, 0, 0], "knots": []},
    {"op": "relu", "at": "e.cpp:2:1", "constants": [0, 0, 0], "knots": []},
    {"op": "relu2", "at": "e.cpp:3:1", "constants": [9, 0, 0], "knots": []},
    {"op": "product", "at": "e.cpp:4:1", "constants": [0, 0, 0], "knots": []},
    {"op": "scale_eg", "at": "e.cpp:5:1", "constants": [0, 1073741824, 64], "knots": []},
    {"op": "sign", "at": "e.cpp:6:1", "constants": [0, 0, 0], "knots": []},
    {"op": "bounded_eg", "at": "e.cpp:7:1", "constants": [1073741824, 0, 0], "knots": []}
]}"#;

/// The rows of tapes, without results and positions, and the schema.
fn rows(tapes: &[&str]) -> Result<(Vec<String>, serde_json::Value), String> {
    let table: Table = serde_json::from_str(TABLE).unwrap();
    let mut known = Apart::default();
    loop {
        let mut rows = Rows::new(&table, known);
        let row = |tape: &&str| rows.add(&format!("1 qid:0 eval:5 {tape} # fen"), None);
        let out = tapes.iter().map(row).collect::<Result<Vec<_>, _>>()?;
        match rows.finish()? {
            Finished::Again(found) => known = found,
            Finished::Schema(text) => {
                let bare =
                    |row: String| row.trim_start_matches("1 qid:0 ").trim_end_matches(" # fen\n").to_string();
                return Ok((out.into_iter().map(bare).collect(), serde_json::from_str(&text).unwrap()));
            }
        }
    }
}

#[test]
fn what_is_linear_becomes_a_row() {
    let (out, schema) = rows(&["v0:1 2:-1 c:10 |0:12,24 1:3 0:1", "v0:1 2:-1 |0:24,24 0:-2 2:1"]).unwrap();
    assert_eq!(out, ["1:12 2:5 3:10 7:1 8:3 9:-1", "1:24 2:5 7:-2"]);
    assert_eq!(schema["columns"]["offset"], 3);
    assert_eq!(schema["phase"]["middlegame"], 24.0);
    let numbers: Vec<_> = schema["parameters"].as_array().unwrap().iter().map(|own| &own["phases"]).collect();
    assert_eq!(numbers, ["both", "both", "untapered"]);
    // Others than tapes are kept.
    let table: Table = serde_json::from_str(TABLE).unwrap();
    let line = Rows::new(&table, Apart::default()).add("# skipped: no FEN", None).unwrap();
    assert_eq!(line, "# skipped: no FEN\n");
    let played = Rows::new(&table, Apart::default()).add("1 qid:7 eval:5 2:1 # fen", Some(-3.0)).unwrap();
    assert_eq!(played, "1 qid:7 2:-3 9:1 # fen\n");
}

#[test]
fn numbers_may_count_differently_in_the_phases() {
    // In the second position alone, so that the first is read again.
    let (out, schema) = rows(&["v0:1 |0:12,24 0:1", "v0:1 |0:12,24 0:1,3 1m:0,2"]).unwrap();
    let sums = schema["accumulators"].as_array().unwrap();
    let named = |name: &str| sums.iter().find(|own| own["name"] == name).unwrap();
    assert_eq!(named("mg_values")["mg"][0]["value"], "mg");
    assert_eq!(named("mg_values_in_eg")["eg"][0]["value"], "mg");
    let index = |name: &str, own: u64| named(name)["index"].as_u64().unwrap() + 3 + own;
    let [m, e, across] =
        [("mg_values", 0), ("eg_values", 0), ("mg_values_in_eg", 1)].map(|(a, b)| index(a, b));
    assert_eq!(out[0], format!("1:12 2:5 {m}:1 {e}:1"));
    let mut entries: Vec<&str> = out[1].split(' ').skip(2).collect();
    entries.sort_unstable();
    let mut expected = [format!("{m}:1"), format!("{e}:3"), format!("{across}:2")];
    expected.sort_unstable();
    assert_eq!(entries, expected);
}

#[test]
fn functions_of_one_sum_share_it() {
    let both = "v0:1 |0:12,24 v1:1,0 v2:0,1 |1 0m:2 c:-9 |2 0e:2 c:-9";
    let (out, schema) = rows(&[both]).unwrap();
    let sums = schema["accumulators"].as_array().unwrap();
    assert_eq!(sums.len(), 1, "{schema}");
    assert_eq!((&sums[0]["mg"][0]["op"], &sums[0]["eg"][0]["op"]), (&"relu".into(), &"relu2".into()));
    assert_eq!(sums[0]["eg"][0]["over"], 9.0);
    assert_eq!(out[0].split(' ').count(), 5, "{out:?}");
    // But not if they are of different ones elsewhere.
    let (_, schema) = rows(&[both, "v0:1 |0:12,24 v1:1,0 v2:0,1 |1 0m:2 c:-9 |2 1e:2 c:-9"]).unwrap();
    assert_eq!(schema["accumulators"].as_array().unwrap().len(), 2);
    // A factor that changes is another sum.
    let (_, schema) = rows(&["v0:3 |1 2:1", "v0:-7 |1 2:1"]).unwrap();
    let factor = &schema["accumulators"][1]["name"];
    assert_eq!(schema["accumulators"][0]["mg"][0]["times"], format!("{}.mg", factor.as_str().unwrap()));
}

#[test]
fn functions_go_into_sums() {
    // Of a function; and a product of three.
    let (_, schema) = rows(&["v0:-3 |1 v1:2 2:1 |2 2:5 c:-8", "v0:3 |1 v1:2 2:2 |2 2:7"]).unwrap();
    let sums = schema["accumulators"].as_array().unwrap();
    let [inner, outer] = &sums[..] else { panic!("{schema}") };
    assert_eq!((&inner["mg"][0]["into"], &inner["mg"][0]["scale"]), (&outer["name"], &2.0.into()));
    assert!(outer["mg"][0]["into"].is_null() && outer["sides"].is_object() && inner["sides"].is_object());
    let (_, schema) = rows(&["v0:1 |3 v1:1 / 2:3 |3 2:1 / 2:2"]).unwrap();
    let sums = schema["accumulators"].as_array().unwrap();
    assert_eq!(sums.len(), 4);
    assert_eq!(sums[0]["mg"][0]["into"], sums[2]["name"]);
}

#[test]
fn what_the_schema_cannot_say_is_refused() {
    for (tapes, refusal) in [
        (vec!["v0:1 |1 v0:1"], "e.cpp:2:1: functions of functions of functions"),
        (vec!["v0:1 |1 v1:1 |0:12,24 0:1"], "e.cpp:2:1: a function of a taper"),
        (vec!["v0:1 |0:12,24 v1:1 |4 0:1 / v2:1 |1 2:1"], "e.cpp:5:1: a function in a bound"),
        (vec!["v0:1 |1 0m:1 1e:1"], "e.cpp:2:1: middlegame and endgame values are mixed"),
        (vec!["v0:1 2:1 |0:12,24 v1:1 |4 0:1 / c:32"], "e.cpp:5:1: e.hpp:3:1 is added after this"),
        (vec!["v0:1 |0:12,24 v1:2 |4 0:1 / c:32"], "e.cpp:5:1: tuned numbers are added after this"),
        (vec!["v0:1 |0:25,24 0:1"], "e.cpp:1:1: the phase is 25, of 24"),
        (vec!["v0:1 v1:1 |0:12,24 0:1 |0:11,24 1:1"], "e.cpp:1:1: a second taper"),
        (vec!["v0:1 |0:12,24 v0:1"], "e.cpp:1:1: a second taper"),
        (
            vec!["v0:1 |0:12,24 v1:1 |6 v2:1 / 2:1 |6 0:1 / 2:1", "v0:1 |0:12,24 v0:1"],
            "e.cpp:1:1: a second taper",
        ),
        (vec!["0m:1"], "e.hpp:1:1: a value of one phase counts"),
        (
            vec!["v0:1 |0:12,24 0:1 ?5+ || v0:1 |0:12,24 0:2"],
            "e.cpp:6:1: a branch on the sign of a score changes more",
        ),
        (
            vec!["v0:1 |0:12,24 v1:1 |4 0:1 / 2:1 ?5+,1 || = |0:12,24 = |4 = / 2:2"],
            "e.cpp:6:1: a scale factor depends on the sign of another score",
        ),
        (vec!["9:1"], "prints what is not a tape"),
        (vec!["v1:1 |1 2:1"], "prints what is not a tape"),
        (vec!["v0:1 |9 2:1"], "prints what is not a tape"),
    ] {
        let said = rows(&tapes).unwrap_err();
        assert!(said.starts_with(refusal), "{tapes:?}: {said}");
    }
    // Of the score that it multiplies.
    let tape = "v0:1 |0:12,24 v1:1 |4 0:1 / 2:1 ?5-,2 || = |0:12,24 = |4 = / 2:2";
    let (out, schema) = rows(&[tape]).unwrap();
    assert_eq!(schema["factor"]["target"], "eg");
    // Black is stronger: its factor is that of the first tape.
    let sides = &schema["accumulators"][0]["sides"];
    let index = |side: &str| sides[side].as_u64().unwrap();
    let (white, black) = (index("white"), index("black"));
    let entries = format!("{white}:1 {}:2 {black}:1 {}:1", white + 5, black + 5);
    assert_eq!(out[0], format!("1:12 2:5 7:1 {entries}"));
}

proptest! {
    #[test]
    fn no_tape_panics(words in prop::collection::vec("[|?=/]?[|v]?[0-9]{1,2}[me+-]?[:,]?-?[0-9]{0,2}(,[0-9])?|=|/|\\|\\|", 0..24)) {
        let text = words.join(" ");
        let (done, whole) = (rows(&[&text]), rows(&[&format!("v0:1 |0:12,24 {text}")]));
        let schemas = [done, whole].into_iter().flatten();
        prop_assert!(schemas.into_iter().all(|(rows, schema)| rows.len() == 1 && schema.is_object()));
    }
}
