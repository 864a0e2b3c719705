//! Numbers for people.

/// `123.5`, `0.002070`, `3.20e-9`.
pub fn four_digits(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        "0".to_string()
    } else if (1e-4..1e7).contains(&magnitude) {
        let digits = (3 - magnitude.log10().floor() as i32).clamp(0, 7) as usize;
        format!("{value:.digits$}")
    } else {
        format!("{value:.2e}")
    }
}

/// A number in four digits without zeros at its end:
pub fn shortest_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts = [0.0, 1.0, 123.456, 98765.4, 0.00207, 3.2e-9, -5.25].map(four_digits);
        assert_eq!(texts, ["0", "1.000", "123.5", "98765", "0.002070", "3.20e-9", "-5.250"]);
        assert_eq!([0.0, 0.6, 200.0, 7.3e-5].map(shortest_digits), ["0", "0.6", "200", "0.000073"]);
    }
}
