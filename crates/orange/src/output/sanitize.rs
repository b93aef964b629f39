//! Makes the output of other programs harmless for a terminal.

use std::fmt::Write as _;

use super::text::is_direction;

/// Replaces control characters (except line ends, tabs and colours) and characters that change the
/// text direction with `�`.
pub(super) fn sanitize(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(character) = rest.chars().next() {
        let length = colour_length(rest).unwrap_or(character.len_utf8());
        let (part, later) = rest.split_at(length);
        let is_newline_or_tab = matches!(character, '\n' | '\t');
        let is_plain = is_newline_or_tab || !(character.is_control() || is_direction(character));
        if is_plain || colour_length(rest).is_some() {
            shown.push_str(part);
        } else {
            shown.push('\u{fffd}');
        }
        rest = later;
    }
    shown
}

/// JSON in which characters that a terminal obeys are written as escapes; the meaning is the same.
pub fn escape_json(json: String) -> String {
    // All others are already escaped, or break the lines of the JSON itself.
    let is_obeyed = |it: char| (it.is_control() && it != '\n') || is_direction(it);
    if json.is_ascii() || !json.contains(is_obeyed) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if is_obeyed(character) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// The length of the escape sequence at the start of the text, if it only sets a colour.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let is_parameter = |it: char| it.is_ascii_digit() || it == ';';
    let end = parameters.find(|it| !is_parameter(it))?;
    (parameters.as_bytes().get(end) == Some(&b'm')).then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_means_the_same_and_moves_no_cursor() {
        let value = serde_json::json!({ "a": "x\u{9b}2J\u{202e}y\u{7f}ä\u{1b}[2J" });
        let escaped = escape_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(!escaped.contains(|it: char| (it.is_control() && it != '\n') || is_direction(it)));
        assert!(escaped.contains("x\\u009b2J\\u202ey"), "{escaped}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped).unwrap(),
            value
        );
    }

    #[test]
    fn only_colour_sequences_are_kept() {
        let written = b"\x1b[1;31ma\x1b[m\tb\x1b[2Jc\x1b]0;t\x07d\r\n\x1b[31";
        let shown =
            "\u{1b}[1;31ma\u{1b}[m\tb\u{fffd}[2Jc\u{fffd}]0;t\u{fffd}d\u{fffd}\n\u{fffd}[31";
        assert_eq!(sanitize(written), shown);
        assert_eq!(sanitize("ä🦀\u{9b}2J".as_bytes()), "ä🦀\u{fffd}2J");
        assert_eq!(sanitize(b"\xff"), "\u{fffd}");
        assert_eq!(
            sanitize("a\u{202e}b\u{2066}".as_bytes()),
            "a\u{fffd}b\u{fffd}"
        );
    }
}
