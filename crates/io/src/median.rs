//! Median, for reports of runs and of devices.

/// Returns the middle value, or the mean of the two in the middle; `None` without values. Sorts them.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some(f64::midpoint(values[n / 2 - 1], values[n / 2])),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians_are_of_odd_and_even_numbers() {
        let of = |values: &[f64]| median(&mut values.to_vec());
        assert_eq!([of(&[3.0, 1.0, 2.0]), of(&[4.0, 1.0, 2.0, 3.0]), of(&[])], [Some(2.0), Some(2.5), None]);
    }
}
