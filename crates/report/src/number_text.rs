//! Formats numbers for pictures.

pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if value.abs() < 1e12 { format!("{value:.decimals$}") } else { short(value) }
}

pub(super) fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        "0".to_string()
    } else if (0.999e-3..1e5).contains(&magnitude) {
        let digits = (3 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{value:.digits$}");
        trimmed(&text)
    } else {
        let text = format!("{value:.2e}");
        text.replace(".00e", "e").replace("0e", "e")
    }
}

/// Decimal without trailing zeros, and 0 without a sign.
pub(super) fn trimmed(text: &str) -> String {
    let is_decimal = text.contains('.') && !text.contains('e');
    let text = if is_decimal { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        let short = [0.0, 0.001, 0.25, 1.0, 2.5, 100.0, 12345.0, 1e-7, 1.5e-6].map(short);
        assert_eq!(short, ["0", "0.001", "0.25", "1", "2.5", "100", "12345", "1e-7", "1.5e-6"]);
    }
}
