//! Parses a program's version.

/// The first `MAJOR.MINOR` in a program's output.
pub fn parse_version(output: &str) -> Option<(u32, u32)> {
    let text = output.trim_start_matches(|it: char| !it.is_ascii_digit());
    let (major, rest) = text.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse_version("3.3a"), Some((3, 3)));
        assert_eq!(parse_version("next-3.10"), Some((3, 10)));
        assert_eq!(parse_version("openbsd-7.4"), Some((7, 4)));
        assert_eq!(parse_version("master"), None);
        assert!(parse_version("3.10") > parse_version("3.3"));
        assert_eq!(parse_version("git version 2.45.1"), Some((2, 45)));
        assert_eq!(parse_version("tmux 3.3a"), Some((3, 3)));
        assert!(parse_version("git version 2.9.0") < Some((2, 38)));
        assert_eq!(parse_version("tmux master"), None);
    }
}
