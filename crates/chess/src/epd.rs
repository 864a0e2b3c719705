//! Operations after the position of an EPD line: a name and its value, up to a semicolon.

use std::num::NonZeroU32;

use shakmaty::Setup;

use super::fen::{FenError, parse_fen};

pub(super) fn operations(mut rest: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let mut quoted = false;
            let end = rest
                .iter()
                .position(|byte| {
                    quoted ^= *byte == b'"';
                    *byte == b';' && !quoted
                })
                .unwrap_or(rest.len());
            let operation = rest[..end].trim_ascii();
            rest = rest.get(end + 1..).unwrap_or_default();
            if !operation.is_empty() {
                let name = operation.iter().position(u8::is_ascii_whitespace).unwrap_or(operation.len());
                return Some((&operation[..name], operation[name..].trim_ascii()));
            }
        }
        None
    })
}

/// Parses as [`parse_fen`], with the counters of the operations `hmvc` and `fmvn`, if the line has them.
pub fn parse_epd(text: &[u8]) -> Result<(Setup, usize), FenError> {
    let (mut setup, used) = parse_fen(text)?;
    take_counters(&mut setup, &text[used..])?;
    Ok((setup, used))
}

pub(super) fn take_counters(setup: &mut Setup, rest: &[u8]) -> Result<(), FenError> {
    let number = |value: &[u8]| {
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let digits = std::str::from_utf8(value).ok().filter(|_| digits);
        digits.and_then(|text| text.parse::<u32>().ok()).ok_or(FenError::Counters)
    };
    for (name, value) in operations(rest) {
        match name {
            b"hmvc" => setup.halfmoves = number(value)?,
            b"fmvn" => setup.fullmoves = NonZeroU32::new(number(value)?).unwrap_or(NonZeroU32::MIN),
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn is_no_score(name: &[u8]) -> bool {
    matches!(
        name,
        b"acd"
            | b"acn"
            | b"acs"
            | b"am"
            | b"bm"
            | b"eco"
            | b"id"
            | b"nic"
            | b"noop"
            | b"pm"
            | b"pv"
            | b"rc"
            | b"sm"
    ) || matches!(name, [b'v', digit] if digit.is_ascii_digit())
        || name.starts_with(b"tc")
        || name.starts_with(b"draw_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_cut_at_semicolons_outside_of_quotes() {
        let all: Vec<_> = operations(b" bm e4; id \"a;b\";; hmvc 3").collect();
        assert_eq!(all, [(&b"bm"[..], &b"e4"[..]), (b"id", b"\"a;b\""), (b"hmvc", b"3")]);
        assert_eq!(operations(b" ; ").count(), 0);
        assert_eq!(operations(b"noop").collect::<Vec<_>>(), [(&b"noop"[..], &b""[..])]);
    }

    #[test]
    fn counters_of_operations_are_those_of_the_position() {
        let counters = |rest: &str| {
            let text = format!("4k3/8/8/8/8/8/8/4K3 w - -{rest}");
            parse_epd(text.as_bytes()).map(|(setup, _)| (setup.halfmoves, setup.fullmoves.get()))
        };
        assert_eq!(counters(" hmvc 98; fmvn 80;"), Ok((98, 80)));
        assert_eq!(counters(" c9 \"1-0\"; fmvn 12; id \"hmvc 7;\"; hmvc 3"), Ok((3, 12)));
        assert_eq!(counters(" hmvc 40;"), Ok((40, 1)));
        assert_eq!(counters(" 3 17 c9 \"1-0\";"), Ok((3, 17)));
        assert_eq!(counters(" 0 1 hmvc 5; fmvn 9;"), Ok((5, 9)));
        assert_eq!(counters(" fmvn 0;"), Ok((0, 1)));
        for bad in [" hmvc x;", " hmvc;", " hmvc -1;", " fmvn 99999999999;", " hmvc 0 fmvn 1;"] {
            assert_eq!(counters(bad), Err(FenError::Counters), "{bad}");
        }
    }
}
