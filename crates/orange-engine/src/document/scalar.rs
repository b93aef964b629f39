//! Frontmatter values, and how YAML writes them.

use std::borrow::Cow;

use granit_parser::{ScalarStyle, Tag};

/// The value of one frontmatter key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// Any text, including a number that does not fit an integer.
    Text(String),
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// Nothing: an empty value, `null` or `~`.
    Null,
}

impl FieldValue {
    /// The YAML that reads back as exactly this value, on one line.
    pub(super) fn to_yaml(&self) -> Cow<'_, str> {
        match self {
            FieldValue::Text(text) => text_to_yaml(text),
            FieldValue::Integer(integer) => integer.to_string().into(),
            FieldValue::Boolean(boolean) => boolean.to_string().into(),
            FieldValue::Null => "null".into(),
        }
    }

    /// The meaning of a YAML scalar in the core schema of YAML 1.2.
    pub(super) fn from_scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> FieldValue {
        let typed = match tag.map(Tag::core_suffix) {
            Some(suffix) => matches!(suffix, Some("int" | "bool" | "null")),
            None => style == ScalarStyle::Plain,
        };
        if typed {
            plain(text)
        } else {
            FieldValue::Text(text.to_owned())
        }
    }
}

fn plain(text: &str) -> FieldValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => FieldValue::Null,
        "true" | "True" | "TRUE" => FieldValue::Boolean(true),
        "false" | "False" | "FALSE" => FieldValue::Boolean(false),
        _ => integer(text).map_or_else(|| FieldValue::Text(text.to_owned()), FieldValue::Integer),
    }
}

fn integer(text: &str) -> Option<i64> {
    // Without the check for a sign, `0x+1` would count as a number.
    let parse_digits = |digits: &str, radix| {
        (!digits.starts_with(['+', '-'])).then(|| i64::from_str_radix(digits, radix).ok())?
    };
    if let Some(octal) = text.strip_prefix("0o") {
        parse_digits(octal, 8)
    } else if let Some(hexadecimal) = text.strip_prefix("0x") {
        parse_digits(hexadecimal, 16)
    } else {
        text.parse().ok()
    }
}

/// The text as a plain scalar where that is obviously safe, else double-quoted.
pub(super) fn text_to_yaml(text: &str) -> Cow<'_, str> {
    if is_plain_safe(text) {
        return text.into();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if is_printable(character) => quoted.push(character),
            _ => quoted.push_str(&escape(character.into())),
        }
    }
    quoted.push('"');
    quoted.into()
}

fn escape(code: u32) -> String {
    match code {
        0..=0xff => format!("\\x{code:02x}"),
        0x100..=0xffff => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    }
}

/// Words of letters and digits with a few harmless characters that no YAML 1.1 or 1.2 parser takes
/// for a number, a date, a boolean or null.
fn is_plain_safe(text: &str) -> bool {
    let has_plain_words = text.split(' ').all(|word| {
        !word.is_empty()
            && word
                .chars()
                .all(|character| character.is_alphanumeric() || "_-./@+".contains(character))
    });
    let special = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    has_plain_words
        && text.starts_with(|first: char| first.is_alphabetic() || first == '/')
        && !special.iter().any(|word| text.eq_ignore_ascii_case(word))
        && text.split(' ').all(|word| !word.starts_with('-'))
}

/// Whether every YAML parser accepts the character unescaped between double quotes.
fn is_printable(character: char) -> bool {
    match character {
        // Line separators fold, and a byte order mark is rejected inside a document.
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        ' '..='~' | '\u{a0}'..='\u{fffd}' => true,
        _ => character >= '\u{10000}',
    }
}
