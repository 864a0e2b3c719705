//! Command lines as users write them.

const OPERATORS: [&str; 7] = ["|", "||", "&&", ";", ">", ">>", "<"];

/// Splits a command line into program and arguments, with the quotes of a POSIX shell.
///
/// # Errors
/// The reason why the text is not a command line.
pub fn split_command(text: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(text).ok_or("a quote is not closed")?;
    let is_operator = |word: &&str| {
        let before = &text[..word.as_ptr() as usize - text.as_ptr() as usize];
        // Within quotes, a quote is still open in the text before.
        OPERATORS.contains(word) && shlex::split(before).is_some()
    };
    match text.split_ascii_whitespace().find(is_operator) {
        None => Ok(words),
        Some(word) => Err(match shlex::try_quote(text) {
            Ok(quoted) => {
                format!("no shell runs it, so '{word}' would be an argument; write: sh -c {quoted}")
            }
            Err(_) => format!("no shell runs it, so '{word}' would be an argument"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_a_shell_are_refused_unless_quoted() {
        for operator in OPERATORS {
            let error = split_command(&format!("my engine' trace' {operator} b")).unwrap_err();
            assert!(error.contains(&format!("'{operator}' would be an argument; write: sh -c ")), "{error}");
        }
        assert!(split_command("a | b").unwrap_err().ends_with("write: sh -c 'a | b'"));
        assert_eq!(split_command("sh -c 'a | b'").unwrap(), ["sh", "-c", "a | b"]);
        assert_eq!(split_command("a '|' \"; b\" c>d").unwrap(), ["a", "|", "; b", "c>d"]);
        assert_eq!(split_command("a 'b").unwrap_err(), "a quote is not closed");
    }
}
