use proptest::prelude::*;

use super::*;

fn find(body: &str, text: &str) -> Vec<Vec<String>> {
    let found = find_all(&items(&template(body, "p")), text);
    found.iter().map(|f| f.marks.iter().map(|m| text[m.clone()].to_string()).collect()).collect()
}

/// Matches with the expression of `tune.py` in the regex crate, whose classes are equally wide.
fn reference(body: &str, text: &str) -> Vec<Vec<String>> {
    let template = template(body, "p");
    let mut parts: Vec<String> = Vec::new();
    for segment in &template.segments {
        match segment {
            Segment::Text(text) => {
                parts.extend(text.chars().filter(|c| !is_space(*c)).map(|c| regex::escape(&c.to_string())));
            }
            Segment::Number { .. } => parts.push(r"(-?\d+(?:\.\d+)?)".to_string()),
            Segment::Name(_) => panic!("no bare names here"),
        }
    }
    let expression = regex::Regex::new(&parts.join(r"\s*")).unwrap();
    let groups = |c: regex::Captures<'_>| (1..c.len()).map(|i| c[i].to_string()).collect();
    expression.captures_iter(text).map(groups).collect()
}

#[test]
fn matches_are_those_of_the_expression() {
    for (body, text) in [
        ("int m = 100@ * d - 25@;", "intm=7*d- -2.50 ; int\tm\n=\n1*d-2;"),
        ("a = 1@;", "beta = 10; a=1.5;a = x;"),
        ("1@ 2@", "12345 6"),
        ("1@ 2@ 3@ x", "1234567890.12 x 1 2 3 x"),
        ("5@", "1 -2 3.5 -4.x5"),
        ("5@ * x", "-1.5*x 2 * x 1.2.3*x --4*x"),
        ("(x)5@)", "(x)\u{3000}-１２.３ )"),
        ("é5@ü", "é1ü é 2 ü e3ü"),
        ("a a 1@", "a a a a 1 aa2"),
    ] {
        let expected = reference(body, text);
        assert!(!expected.is_empty(), "{body}");
        assert_eq!(find(body, text), expected, "{body} in {text}");
    }
}

/// Bodies and texts of few different characters, which nearly match in many places.
fn alike() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("1"),
        Just("1@"),
        Just("-1@"),
        Just("1.5@"),
        Just("-"),
        Just("."),
        Just(" "),
        Just("a"),
        Just("a "),
        Just("("),
        Just("12"),
        Just("-1.1"),
        Just("é"),
        Just("\u{3000}"),
        Just("１"),
    ];
    proptest::collection::vec(part, 1..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_matches_are_those_of_the_expression(body in alike(), more in alike()) {
        // Most of a body is in the text.
        let text = format!("{more} {} {} {more}", body.replace('@', ""), body.replace("1@", "5.25"));
        let template = template(&body, "p");
        prop_assume!(!template.has_bare_names() && !body.trim_matches(is_space).is_empty());
        prop_assert_eq!(find(&body, &text), reference(&body, &text), "{} in {}", body, text);
    }
}

#[test]
fn a_match_may_leave_the_digits_to_the_next() {
    // The previous match takes the sign, or half of the digits.
    for (body, text, numbers) in [("1@-", "12 -1-", ["12", "1"]), ("1@ 1", "111 1 51", ["111", "5"])] {
        assert_eq!(find(body, text), numbers.map(|number| vec![number.to_string()]));
        assert_eq!(find(body, text), reference(body, text));
    }
}

#[test]
fn hostile_bodies_take_no_time() {
    let body = "1@ ".repeat(40) + "x";
    let text = "1".repeat(60); // the expression itself would take 60 to the power of 40 steps
    assert!(find(&body, &text).is_empty());
}

#[test]
fn lines_below_a_remark_go_to_the_next_block() {
    let text = "#set file a.cpp\n#context x\nA\n# old name\nB\n#context\nC\n#include \"x\"\nD\n#add\nE\n";
    let seen: Vec<_> = sections(text).into_iter().map(|section| (section.kind, section.body.text)).collect();
    let expected =
        [("set", ""), ("context", "A\n"), ("context", "B\nC\n"), ("include", "D\n"), ("add", "E\n")];
    assert_eq!(seen, expected.map(|(kind, body)| (kind.to_string(), body.to_string())));
    let shown = |body: &str| -> Vec<String> { template(body, "p").names().map(str::to_string).collect() };
    assert_eq!(shown("a 100@ * 2@mul_x - 0.5@ @"), ["p_1", "p_mul", "p_2", "p_3"]);
    let Segment::Number { text, .. } = &template("d-25@", "p").segments[1] else { panic!() };
    assert_eq!(text, "-25");
}
