//! Marks the texts that orange writes, so that orange finds them again.

use super::account::Account;

/// The opening of a marker, which renders as nothing.
const OPENING: &str = "<!-- orange:";
const CLOSING: &str = " -->";

/// How the key of an answer to a comment begins.
pub const ANSWER: &str = "answer/";

/// The marker of a text, by a key that is unique within the repository.
pub fn marker(key: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | ':' | '-');
    let mut plain: String = key.chars().filter(is_plain).collect();
    // Two hyphens would end the comment early.
    while plain.contains("--") {
        plain = plain.replace("--", "-");
    }
    format!("{OPENING}{plain}{CLOSING}")
}

/// Whether orange wrote this text: the marker alone proves nothing, since anyone can copy it.
pub fn is_ours(body: &str, author: Option<&Account>, own: &Account) -> bool {
    author == Some(own) && body.contains(OPENING)
}

/// Whether orange wrote this text under this key.
pub fn has_key(body: &str, author: Option<&Account>, own: &Account, key: &str) -> bool {
    author == Some(own) && body.contains(&marker(key))
}

/// The keys of the markers in a text.
pub fn keys(body: &str) -> impl Iterator<Item = &str> {
    let parts = body.split(OPENING).skip(1);
    parts.filter_map(|it| it.split_once(CLOSING).map(|(key, _)| key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesson_84_a_text_is_found_by_its_key_and_its_author() {
        let own = Account::new("ada", false);
        let other = Account::new("eve", false);
        let body = format!("Status\n\n{}", marker("t1/status"));
        assert!(has_key(&body, Some(&own), &own, "t1/status"));
        assert!(!has_key(&body, Some(&own), &own, "t1/stat"));
        assert!(!has_key(&body, Some(&other), &own, "t1/status"));
        assert!(!has_key(&body, None, &own, "t1/status"));
        assert!(is_ours(&body, Some(&own), &own));
        assert!(!is_ours("mine", Some(&own), &own));
        let two = format!("{body}{}<!-- orange:open", marker("t2/a"));
        assert_eq!(keys(&two).collect::<Vec<_>>(), ["t1/status", "t2/a"]);
    }

    #[test]
    fn a_key_cannot_end_the_comment() {
        assert_eq!(marker("a--> b\n---c"), "<!-- orange:a-b-c -->");
    }
}
