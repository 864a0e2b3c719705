//! Readable JSON: long lists of numbers, with many on each line.

const WIDTH: usize = 120;

pub(crate) fn wrap_numbers(pretty: &str) -> String {
    let is_number = |line: &str| {
        let number = line.trim_start().trim_end_matches(',');
        number == "null" || number.starts_with(|c: char| c == '-' || c.is_ascii_digit())
    };
    let mut out = String::with_capacity(pretty.len());
    // Beginning of the line of numbers that is being filled.
    let mut filling: Option<usize> = None;
    for line in pretty.lines() {
        match filling {
            Some(begin) if is_number(line) && out.len() - begin + line.trim_start().len() < WIDTH => {
                out.push(' ');
                out += line.trim_start();
                continue;
            }
            _ if !out.is_empty() => out.push('\n'),
            _ => {}
        }
        filling = is_number(line).then_some(out.len());
        out += line;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_numbers_are_short_and_mean_the_same() {
        let numbers: Vec<f64> = (0..1000).map(|n| f64::from(n) * 0.125 - 0.25).collect();
        let value = json!({
            "a": numbers, "b": [[1, 2], [], ["x", "-1\n2", 3]], "c": null, "d": [null, -1e-9], "e": {"f": 7, "g": [0]},
        });
        let text = wrap_numbers(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().count() < 120 && text.contains("\n    -0.25, -0.125, 0.0,"), "{text}");
        assert!(text.contains("\n      1, 2\n    ],"), "{text}");
        assert_eq!(wrap_numbers("{}"), "{}");
    }
}
