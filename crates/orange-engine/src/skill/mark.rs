//! A last line that marks a text as written by orange.
//!
//! The line contains a hash of everything above it. If the hash matches, orange wrote the text and
//! it has not been changed since, so it may be replaced or removed.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

const MARK_PREFIX: &str = "<!-- written by `orange install`, which keeps it true while you do not \
                      change it; sha256 of what is above: ";
const MARK_SUFFIX: &str = " -->\n";

/// The author of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorship {
    /// Orange wrote it, and it is unchanged.
    Own,
    /// Orange wrote it, but it was changed since.
    Changed,
    /// Orange did not write it.
    Foreign,
}

/// The text with its mark.
pub fn add_mark(text: &str) -> String {
    format!(
        "{text}\n{MARK_PREFIX}{}{MARK_SUFFIX}",
        hash(&format!("{text}\n"))
    )
}

pub fn authorship(text: &[u8]) -> Authorship {
    let Ok(text) = std::str::from_utf8(text) else {
        return Authorship::Foreign;
    };
    let Some((above, mark)) = text.rsplit_once(MARK_PREFIX) else {
        return Authorship::Foreign;
    };
    match mark.strip_suffix(MARK_SUFFIX) {
        Some(recorded) if recorded == hash(above) => Authorship::Own,
        _ => Authorship::Changed,
    }
}

fn hash(text: &str) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_text_is_not_our_own() {
        let text = add_mark("one\ntwo\n");
        assert_eq!(authorship(text.as_bytes()), Authorship::Own);
        for changed in [
            text.replace("one", "eins"),
            format!("{text}more\n"),
            text.trim_end().to_owned(),
            text.replace('\n', "\r\n"),
            format!(" {text}"),
        ] {
            let found = authorship(changed.as_bytes());
            assert_eq!(found, Authorship::Changed, "{changed}");
        }
        assert_eq!(authorship(b"one\ntwo\n"), Authorship::Foreign);
        assert_eq!(authorship(b""), Authorship::Foreign);
        assert_eq!(authorship(b"\xff\xfe"), Authorship::Foreign);
    }

    #[test]
    fn only_the_mark_in_the_last_line_counts() {
        let quoting = add_mark(&add_mark("one\n"));
        assert_eq!(authorship(quoting.as_bytes()), Authorship::Own);
        let torn = &quoting[..quoting.len() / 2];
        assert_eq!(authorship(torn.as_bytes()), Authorship::Changed);
    }
}
