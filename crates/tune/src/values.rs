//! Lists of numbers as typed by the user: `0.2:3:1024`, `1e-6:1e-2:9:log` or `0.5,1,2`.

use serde::{Deserialize, Serialize};

use gputexel_io::{Error, Result};

const MOST: usize = 1_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Values {
    pub numbers: Vec<f64>,
    /// True if ratios, not differences, of consecutive numbers are equal.
    pub logarithmic: bool,
}

impl std::str::FromStr for Values {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let usage = |why: String| Err(Error::Usage(format!("'{text}': {why}")));
        let number = |part: &str| match part.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(Error::Usage(format!("'{text}': '{part}' is not a finite number"))),
        };
        if text.trim().is_empty() {
            return usage("the list is empty".to_string());
        }
        let fields: Vec<&str> = text.split(':').collect();
        let (first, last, count, logarithmic) = match fields[..] {
            [list] => {
                let numbers = list.split(',').map(number).collect::<Result<Vec<f64>>>()?;
                return Ok(Self { numbers, logarithmic: false });
            }
            [first, last, count] => (first, last, count, false),
            [first, last, count, "log"] => (first, last, count, true),
            _ => return usage("expected FROM:TO:N, FROM:TO:N:log, or a list such as 0.5,1,2".to_string()),
        };
        let (first, last) = (number(first)?, number(last)?);
        let count = match count.trim().parse::<usize>() {
            Ok(0) => return usage("0 values; N must be at least 1".to_string()),
            Ok(count) if count <= MOST => count,
            _ => return usage(format!("'{count}' is not a number of values from 1 to {MOST}")),
        };
        if count == 1 && first != last {
            return usage("one value cannot be both ends; N must be at least 2".to_string());
        }
        if count > 1 && first == last {
            return usage(format!("{count} values between two equal ends"));
        }
        if logarithmic && !(first > 0.0 && last > 0.0) {
            return usage("the ends of a logarithmic range must be positive".to_string());
        }
        let at = |i: usize| match i {
            0 => first,
            i if i == count - 1 => last,
            i => {
                let share = i as f64 / (count - 1) as f64;
                match logarithmic {
                    true => (first.ln() + share * (last.ln() - first.ln())).exp(),
                    false => first + share * (last - first),
                }
            }
        };
        Ok(Self { numbers: (0..count).map(at).collect(), logarithmic })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_are_read() {
        let read = |text: &str| text.parse::<Values>().unwrap();
        assert_eq!(read("0.5,1,-2").numbers, [0.5, 1.0, -2.0]);
        assert_eq!(read("1:3:5").numbers, [1.0, 1.5, 2.0, 2.5, 3.0]);
        assert_eq!(read("3:1:3").numbers, [3.0, 2.0, 1.0]);
        assert_eq!(read("2:2:1").numbers, [2.0]);
        let log = read("1e-4:1:5:log");
        assert!(log.logarithmic && log.numbers[0] == 1e-4 && log.numbers[4] == 1.0);
        assert!((log.numbers[1] - 1e-3).abs() < 1e-15 && (log.numbers[3] - 0.1).abs() < 1e-12);
    }

    #[test]
    fn bad_lists_are_refused() {
        let message = |text: &str| text.parse::<Values>().unwrap_err().to_string();
        assert_eq!(message("1:2:0"), "'1:2:0': 0 values; N must be at least 1");
        let bad = "1,,2 1,x nan 1:inf:3 1:2 1:2:3:lin 1:2:3:log:4 0:1:3:log 1:2:1 1:1:2 1:2:-3 1:2:2.5 1:2:99999999999";
        for text in bad.split(' ').chain(["", " "]) {
            assert!(matches!(text.parse::<Values>(), Err(Error::Usage(_))), "{text}");
        }
    }
}
