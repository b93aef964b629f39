//! Percent-encoding and query strings.

use std::fmt::Write as _;

/// Decodes `%20` and the like; `None` when the result is not text.
pub fn decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let digits = text.get(at + 1..at + 3)?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

/// Encodes every character that could have a meaning in a query.
pub fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _written = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The parameters of a query string, in their order.
pub fn query(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split('&').filter(|it| !it.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((
                decode(&name.replace('+', " "))?,
                decode(&value.replace('+', " "))?,
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let text = "a b/ü&=+%";
        assert_eq!(decode(&encode(text)).unwrap(), text);
        assert_eq!(
            query("a=1+2&b=%2B").unwrap()[1],
            ("b".to_owned(), "+".to_owned())
        );
        assert_eq!(decode("%zz"), None);
        assert_eq!(decode("%ff"), None);
    }
}
