use super::*;

fn find(body: &str, text: &str) -> Vec<Vec<String>> {
    let template = Template::parse(body, "p").unwrap();
    let found = Pattern::new(&template).find_all(text);
    found.iter().map(|f| f.marks.iter().map(|m| text[m.clone()].to_string()).collect()).collect()
}

#[test]
fn words_stay_whole() {
    let numbers = |body, text| find(body, text).concat();
    for (body, text) in [
        ("int m = 1@;", "intm = 1;"),
        ("a = 1@;", "alpha_a = 1;"),
        ("alpha = 1@;", "al pha = 1;"),
        ("x = 1@", "x = 10u"),
        ("x = 1@", "x = 1.5e3"),
        ("x = 1@", "x = 1'000"),
        ("f(1@", "f(.5"),
        ("x * y1@z y", "x"),
    ] {
        if let Ok(template) = Template::parse(body, "p") {
            let pattern = Pattern::new(&template);
            assert_eq!(pattern.find_all(text), [], "{body} in {text}");
        }
    }
    assert_eq!(
        numbers("int m=100@*d-25@;return m+7@*b;", "int  m = 1 * d - 2;\n return m + 3 * b;"),
        ["1", "2", "3"]
    );
    assert_eq!(numbers("return 5@ ;", "return -3;"), ["-3"]);
    assert_eq!(numbers("x = 1@", "x = 10"), ["10"]);
    assert_eq!(numbers("case 1@: x", "case\u{3000}12 :x"), ["12"]);
}

#[test]
fn hostile_bodies_take_no_time() {
    let body = "1@ ".repeat(40) + "x";
    let text = "1".repeat(60); // all ways to part the digits would take 60 to the power of 40 steps
    assert!(find(&body, &text).is_empty());
}
