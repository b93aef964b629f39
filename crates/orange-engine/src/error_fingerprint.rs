//! Whether two errors are the same, apart from their details.

/// The words of an error without what changes from one attempt to the next: numbers, times, ids and
/// paths. An exit code or a signal stays, because it says what went wrong. Two errors with the same
/// fingerprint count as one error that was repeated.
pub(crate) fn fingerprint(error: &str) -> String {
    let words = error.split(|it: char| it.is_whitespace() || is_quote(it));
    let mut simple: Vec<String> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let before = simple.last().map(String::as_str);
        let is_code = matches!(before, Some("code" | "signal"));
        simple.push(if is_code {
            word.to_owned()
        } else {
            simplify(word)
        });
    }
    simple.join(" ")
}

fn is_quote(it: char) -> bool {
    matches!(it, '`' | '"' | '\'' | '(' | ')' | '[' | ']' | '<' | '>')
}

/// One word: `/` for a path, `#` for an id, else the word in lower case with `#` for each number.
fn simplify(word: &str) -> String {
    if word.contains(['/', '\\']) {
        return String::from("/");
    }
    let core = word.trim_matches(|it: char| it.is_ascii_punctuation());
    if is_id(core) {
        return String::from("#");
    }
    let mut simple = String::new();
    let mut rest = core.chars().flat_map(char::to_lowercase).peekable();
    while let Some(it) = rest.next() {
        let is_inside_number = matches!(it, '.' | ':' | ',')
            && simple.ends_with('#')
            && rest.peek().is_some_and(|next| next.is_numeric());
        if !it.is_numeric() && !is_inside_number {
            simple.push(it);
        } else if !simple.ends_with('#') {
            simple.push('#');
        }
    }
    simple
}

/// The shortest hexadecimal text that counts as an id.
const SHORTEST_ID: usize = 7;

/// Whether the word is a commit, a UUID or an address: hexadecimal, with at least one digit.
fn is_id(word: &str) -> bool {
    let hex = word.strip_prefix("0x").unwrap_or(word);
    hex.len() >= SHORTEST_ID
        && hex.chars().all(|it| it.is_ascii_hexdigit() || it == '-')
        && hex.chars().any(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_do_not_make_another_error() {
        for (one, other) in [
            ("blocked: 3 tests fail", "blocked: 12 tests fail"),
            ("cannot read /a/b.rs:17:3", "cannot read src/c.rs:4"),
            ("commit 1a2b3c4d is missing", "commit deadbeef01 is missing"),
            (
                "request 0b7c3f62-0f5e-4a53-9e0e-6d1a2b3c4d5e failed at 10:01:07",
                "Request 5d1f0a10-aaaa-4bbb-8ccc-0123456789ab failed at 23:59:00",
            ),
            ("timeout after 1.5s", "timeout after 20s"),
            ("port  `8080` is taken\n", "port 9090 is taken"),
            ("at 0x7ffd11a0", "at 0x55aa0001"),
        ] {
            assert_eq!(fingerprint(one), fingerprint(other), "{one} | {other}");
        }
    }

    #[test]
    fn other_words_are_another_error() {
        for (one, other) in [
            ("blocked: no key", "blocked: no network"),
            ("blocked: no key", "needs_review: no key"),
            (
                "the worker exited with code 1",
                "the worker was killed by signal 9",
            ),
            (
                "the worker exited with code 1",
                "the worker exited with code 2",
            ),
            ("no such table", "no such column"),
            ("", "x"),
        ] {
            assert_ne!(fingerprint(one), fingerprint(other), "{one} | {other}");
        }
    }

    #[test]
    fn words_that_look_hexadecimal_stay() {
        assert_eq!(fingerprint("effaced facade"), "effaced facade");
    }
}
