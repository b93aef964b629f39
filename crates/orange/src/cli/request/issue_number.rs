//! The number of an issue, as it is typed.

/// Parses the number of an issue, such as `7` or `#7`.
pub fn issue_number(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix('#').unwrap_or(text).parse();
    let number = number.ok().filter(|it| *it > 0);
    number.ok_or_else(|| String::from("it is not the number of an issue, such as 7"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_has_a_number() {
        assert_eq!(issue_number("7"), Ok(7));
        assert_eq!(issue_number("#7"), Ok(7));
        for bad in ["", "#", "0", "-1", "seven", "##7"] {
            assert!(issue_number(bad).is_err(), "{bad}");
        }
    }
}
