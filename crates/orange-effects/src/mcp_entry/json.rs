//! Changes one entry of a JSON file, and no other byte.
//!
//! Some agents allow comments and commas before a closing bracket in their settings. Both are
//! replaced by blanks of the same length, so that positions in what is then strict JSON are
//! positions in the file.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::TextError;

/// The indentation in a file that has none yet.
const INDENT: &str = "  ";

/// The value at these keys.
pub(super) fn find(text: &str, keys: &[&str]) -> Result<Option<Value>, TextError> {
    let strict = Strict::of(text)?;
    let mut at = strict.root()?;
    for (depth, key) in keys.iter().enumerate() {
        match strict.member(&at, key)? {
            None => return Ok(None),
            Some(member) if depth + 1 == keys.len() => {
                let value = strict.text.get(member.value).unwrap_or_default();
                return serde_json::from_str(value)
                    .map(Some)
                    .map_err(|error| broken(&error));
            }
            Some(member) => at = strict.object(member.value, key)?,
        }
    }
    Ok(None)
}

/// The text with a value at these keys, where there is none yet.
pub(super) fn insert(text: &str, keys: &[&str], value: &Value) -> Result<String, TextError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let strict = Strict::of(text)?;
    let mut at = strict.root()?;
    let mut rest = keys;
    while let [key, later @ ..] = rest {
        let Some(member) = strict.member(&at, key)? else {
            break;
        };
        at = strict.object(member.value, key)?;
        rest = later;
    }
    let [key, later @ ..] = rest else {
        return Err(TextError::NotAnObject(keys.join(".")));
    };
    let mut value = value.clone();
    for name in later.iter().rev() {
        value = serde_json::json!({ *name: value });
    }
    Ok(strict.with_member(text, &at, key, &value))
}

/// The text without the value at these keys, and without the objects that are then empty.
pub(super) fn remove(text: &str, keys: &[&str]) -> Result<String, TextError> {
    let strict = Strict::of(text)?;
    let mut at = strict.root()?;
    let [parents @ .., name] = keys else {
        return Ok(text.to_owned());
    };
    for key in parents {
        let Some(member) = strict.member(&at, key)? else {
            return Ok(text.to_owned());
        };
        at = strict.object(member.value, key)?;
    }
    let Some(removed) = strict.without_member(text, &at, name)? else {
        return Ok(text.to_owned());
    };
    let rest = Strict::of(&removed)?;
    let mut at = rest.root()?;
    for key in parents {
        let Some(member) = rest.member(&at, key)? else {
            return Ok(removed);
        };
        at = rest.object(member.value, key)?;
    }
    let inside = removed.get(at.start + 1..at.end.saturating_sub(1));
    let inside = inside.unwrap_or_default();
    if !inside.trim().is_empty() {
        return Ok(removed);
    }
    if parents.is_empty() {
        return Ok(spliced(&removed, at, "{}"));
    }
    remove(&removed, parents)
}

/// A text as strict JSON.
struct Strict {
    /// Without comments.
    commas: String,
    /// Without comments, and without commas before a closing bracket.
    text: String,
}

/// A key of an object, and where its value is.
struct Member {
    key: String,
    value: Range<usize>,
}

impl Strict {
    fn of(text: &str) -> Result<Strict, TextError> {
        let commas = without_comments(text);
        let strict = without_last_commas(&commas);
        if strict.trim().is_empty() {
            return Ok(Strict {
                commas: String::from("{}"),
                text: String::from("{}"),
            });
        }
        serde_json::from_str::<Value>(&strict).map_err(|error| broken(&error))?;
        Ok(Strict {
            commas,
            text: strict,
        })
    }

    fn root(&self) -> Result<Range<usize>, TextError> {
        let start = self.text.len() - self.text.trim_start().len();
        self.object(start..self.text.trim_end().len(), "the file")
    }

    fn object(&self, range: Range<usize>, name: &str) -> Result<Range<usize>, TextError> {
        let found = self.text.get(range.clone()).unwrap_or_default();
        if found.starts_with('{') {
            return Ok(range);
        }
        Err(TextError::NotAnObject(name.to_owned()))
    }

    fn members(&self, object: &Range<usize>) -> Result<Vec<Member>, TextError> {
        let text = self.text.get(object.clone()).unwrap_or_default();
        let members: Members<'_> = serde_json::from_str(text).map_err(|error| broken(&error))?;
        let start = self.text.as_ptr() as usize;
        let members = members.0.into_iter().map(|(key, value)| {
            let begin = value.get().as_ptr() as usize - start;
            let value = begin..begin + value.get().len();
            Member { key, value }
        });
        Ok(members.collect())
    }

    /// The member with this key; it must be the only one.
    fn member(&self, object: &Range<usize>, key: &str) -> Result<Option<Member>, TextError> {
        let members = self.members(object)?.into_iter();
        let mut found = members.filter(|it| it.key == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(TextError::Twice(key.to_owned())),
            (member, None) => Ok(member),
        }
    }

    fn with_member(&self, text: &str, object: &Range<usize>, key: &str, value: &Value) -> String {
        let unit = self.indentation();
        let base = line_indentation(text, object.start);
        let whole = text.get(object.clone()).unwrap_or_default();
        let last = self.members(object).ok().and_then(|mut it| it.pop());
        let Some(last) = last else {
            let member = member_text(key, value, &format!("{base}{unit}"), unit);
            let rest = text.get(object.start + 1..object.end - 1);
            let rest = rest.unwrap_or_default();
            let end = if rest.contains('\n') {
                String::new()
            } else {
                format!("\n{base}")
            };
            let added = format!("\n{member}{end}");
            return spliced(text, object.start + 1..object.start + 1, &added);
        };
        let end = last.value.end;
        if !whole.contains('\n') {
            let added = format!(", {}: {value}", Value::from(key));
            return spliced(text, end..end, &added);
        }
        let indentation = line_indentation(text, last.value.start);
        let member = member_text(key, value, indentation, unit);
        // What follows in the line belongs to the last member, such as a comment.
        let rest = self.commas.get(end..object.end).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (own, has_comma) = match line.trim() {
            "" => (line.len(), false),
            "," => (line.len(), true),
            _ => (0, false),
        };
        let at = end + own;
        if has_comma {
            return spliced(text, at..at, &format!("\n{member},"));
        }
        let added = spliced(text, at..at, &format!("\n{member}"));
        spliced(&added, end..end, ",")
    }

    fn without_member(
        &self,
        text: &str,
        object: &Range<usize>,
        key: &str,
    ) -> Result<Option<String>, TextError> {
        let members = self.members(object)?;
        let Some(index) = members.iter().position(|it| it.key == key) else {
            return Ok(None);
        };
        let value = &members[index].value;
        let before = self.text.get(..value.start).unwrap_or_default().trim_end();
        let before = before.strip_suffix(':').unwrap_or_default().trim_end();
        let quoted = Value::from(key).to_string();
        let Some(before) = before.strip_suffix(&quoted) else {
            return Err(TextError::Escaped(key.to_owned()));
        };
        // Only blanks of the file itself, not those that stand for a comment.
        let blank = |it: &str| it.len() - it.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let start = before.len() - blank(text.get(..before.len()).unwrap_or_default());
        let rest = self.commas.get(value.end..).unwrap_or_default();
        let gap = rest.len() - rest.trim_start().len();
        if rest[gap..].starts_with(',') {
            return Ok(Some(spliced(text, start..value.end + gap + 1, "")));
        }
        let removed = spliced(text, start..value.end, "");
        let Some(previous) = index.checked_sub(1).and_then(|it| members.get(it)) else {
            return Ok(Some(removed));
        };
        let from = previous.value.end;
        let comma = self.commas.get(from..).and_then(|it| it.find(','));
        Ok(Some(comma.map_or(removed.clone(), |at| {
            spliced(&removed, from + at..from + at + 1, "")
        })))
    }

    /// How the file indents.
    fn indentation(&self) -> &str {
        let members = self.root().and_then(|root| self.members(&root));
        let first = members.ok().and_then(|it| it.into_iter().next());
        let first = first.map(|it| line_indentation(&self.text, it.value.start));
        first.filter(|it| !it.is_empty()).unwrap_or(INDENT)
    }
}

/// A member in lines of their own.
fn member_text(key: &str, value: &Value, indentation: &str, unit: &str) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut text = format!("{indentation}{}: ", Value::from(key));
    for (number, line) in pretty.lines().enumerate() {
        if number == 0 {
            text.push_str(line);
            continue;
        }
        let content = line.trim_start();
        let depth = (line.len() - content.len()) / INDENT.len();
        text.push('\n');
        text.push_str(indentation);
        text.push_str(&unit.repeat(depth));
        text.push_str(content);
    }
    text
}

/// The blanks at the beginning of the line that this position is in.
fn line_indentation(text: &str, position: usize) -> &str {
    let before = text.get(..position).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(line..).unwrap_or_default();
    let end = line.find(|it| !matches!(it, ' ' | '\t'));
    line.get(..end.unwrap_or(0)).unwrap_or_default()
}

fn spliced(text: &str, range: Range<usize>, with: &str) -> String {
    let mut text = text.to_owned();
    text.replace_range(range, with);
    text
}

/// The text with blanks instead of comments.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let blank = |out: &mut String, part: &str| {
        for byte in part.bytes() {
            out.push(if byte == b'\n' { '\n' } else { ' ' });
        }
    };
    while let Some(character) = rest.chars().next() {
        let length = if character == '"' {
            string_length(rest)
        } else if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let (comment, later) = rest.split_at(end);
            blank(&mut out, comment);
            rest = later;
            continue;
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            let (comment, later) = rest.split_at(end);
            blank(&mut out, comment);
            rest = later;
            continue;
        } else {
            character.len_utf8()
        };
        let (part, later) = rest.split_at(length);
        out.push_str(part);
        rest = later;
    }
    out
}

/// The length of the string that a text begins with.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// A text without comments, with blanks instead of commas before a closing bracket.
fn without_last_commas(text: &str) -> String {
    let mut commas = Vec::new();
    let (mut last_comma, mut previous) = (None, '[');
    let mut index = 0;
    while let Some(rest) = text.get(index..).filter(|it| !it.is_empty()) {
        let character = rest.chars().next().unwrap_or_default();
        let length = if character == '"' {
            string_length(rest)
        } else {
            character.len_utf8()
        };
        if !character.is_whitespace() {
            match character {
                // A comma needs a value before it.
                ',' => last_comma = (!matches!(previous, '{' | '[' | ',')).then_some(index),
                '}' | ']' => commas.extend(last_comma.take()),
                _ => last_comma = None,
            }
            previous = character;
        }
        index += length;
    }
    let mut text = text.to_owned();
    for comma in commas {
        text.replace_range(comma..=comma, " ");
    }
    text
}

fn broken(error: &serde_json::Error) -> TextError {
    TextError::Broken(error.to_string())
}

/// The members of an object in their order, doubled ones too.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Members)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEYS: [&str; 2] = ["mcpServers", "orange"];

    fn entry() -> Value {
        json!({ "command": "orange", "args": ["mcp"] })
    }

    /// Files as agents and people write them.
    const FILES: [&str; 14] = [
        "{}",
        "{}\n",
        "{\n}\n",
        "{ \"a\": 1 }",
        "{\n  \"a\": 1\n}\n",
        "{\n\t\"a\": { \"b\": [1, 2] },\n\t\"mcpServers\": {\n\t\t\"x\": { \"command\": \"x\" }\n\t}\n}",
        "{\"mcpServers\":{\"x\":{\"command\":\"x\"}},\"b\":2}",
        "// settings, {\n{\n  // \"mcpServers\": {\n  \"a\": \"// no /* comment\", // yes\n}\n// end",
        "{\n  \"a\": [1, 2,],\n  \"mcpServers\": {\n    \"x\": {}, // mine\n  },\n}\n",
        "{\n  \"mcpServers\": {\n    \"x\": {} /* a, b */\n  }\n}\n",
        "{\r\n  \"a\": 1\r\n}\r\n",
        "{\n  \"\u{e4}\\\"}\": \"\u{1f980}\", \"b\": {}\n}\n",
        "  {\"a\":1}  ",
        "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
    ];

    #[test]
    fn an_entry_is_added_and_removed_and_the_rest_stays() {
        for text in FILES {
            let added = insert(text, &KEYS, &entry()).unwrap();
            assert_eq!(find(&added, &KEYS).unwrap(), Some(entry()), "{added}");
            // What was there is still there, in its order.
            let kept = |it: &str| {
                let strict = Strict::of(it).unwrap().text;
                let mut value: Value = serde_json::from_str(&strict).unwrap();
                if let Some(servers) = value["mcpServers"].as_object_mut() {
                    servers.remove("orange");
                }
                if value["mcpServers"] == json!({}) || value["mcpServers"].is_null() {
                    value.as_object_mut().unwrap().remove("mcpServers");
                }
                value
            };
            assert_eq!(kept(&added), kept(text), "{added}");
            let comments = |it: &str| it.matches("//").count() + it.matches("/*").count();
            assert_eq!(comments(&added), comments(text), "{added}");
            let removed = remove(&added, &KEYS).unwrap();
            assert_eq!(find(&removed, &KEYS).unwrap(), None, "{removed}");
            assert_eq!(kept(&removed), kept(text), "{removed}");
            assert_eq!(comments(&removed), comments(text), "{removed}");
            if text != "{\n}\n" && !text.contains("none yet") {
                assert_eq!(removed, text, "from {added}");
            }
        }
    }

    #[test]
    fn the_entry_looks_like_the_rest_of_the_file() {
        let text = "{\n\t\"a\": 1\n}\n";
        let added = "{\n\t\"a\": 1,\n\t\"mcpServers\": {\n\t\t\"orange\": {\n\t\t\t\"args\": \
                     [\n\t\t\t\t\"mcp\"\n\t\t\t],\n\t\t\t\"command\": \"orange\"\n\t\t}\n\t}\n}\n";
        assert_eq!(insert(text, &KEYS, &entry()).unwrap(), added);
        let created = insert("", &KEYS, &entry()).unwrap();
        assert!(
            created.starts_with("{\n  \"mcpServers\": {\n    \"orange\": {\n"),
            "{created}"
        );
    }

    #[test]
    fn a_comment_stays_behind_its_member() {
        for comma in ["", ","] {
            let text = format!("{{\n  \"a\": 1{comma} // one\n}}\n");
            let added = insert(&text, &KEYS, &entry()).unwrap();
            assert!(
                added.starts_with("{\n  \"a\": 1, // one\n  \"mcpServers\": {\n"),
                "{added}"
            );
            assert!(added.ends_with(&format!("  }}{comma}\n}}\n")), "{added}");
            assert_eq!(remove(&added, &KEYS).unwrap(), text);
        }
    }

    #[test]
    fn an_entry_between_others_is_removed() {
        let text = "{\n  \"mcpServers\": {\n    \"a\": {}, // first\n    \"orange\": {},\n    \
                    \"b\": {} // last\n  }\n}\n";
        let removed = remove(text, &KEYS).unwrap();
        let expected = "{\n  \"mcpServers\": {\n    \"a\": {}, // first\n    \"b\": {} // last\n  \
                        }\n}\n";
        assert_eq!(removed, expected);
        let last = "{\"mcpServers\":{\"a\":{} /*,*/ , /* x */ \"orange\":{}}}";
        let removed = remove(last, &KEYS).unwrap();
        assert_eq!(removed, "{\"mcpServers\":{\"a\":{} /*,*/  /* x */}}");
    }

    #[test]
    fn what_is_no_settings_file_is_refused() {
        for broken in [
            "{",
            "{\"a\":}",
            "{\"a\":1}}",
            "[,]",
            "{,}",
            "[1,,]",
            "a",
            "{\"a\" 1}",
            "{'a': 1}",
            "\u{feff}{}",
        ] {
            for result in [insert(broken, &KEYS, &entry()), remove(broken, &KEYS)] {
                assert!(matches!(result, Err(TextError::Broken(_))), "{broken}");
            }
        }
        for other in [
            "[]",
            "1",
            "null",
            "{\"mcpServers\":[]}",
            "{\"mcpServers\":null}",
        ] {
            let refused = insert(other, &KEYS, &entry());
            assert!(matches!(refused, Err(TextError::NotAnObject(_))), "{other}");
        }
        let twice = "{\"mcpServers\":{},\"mcpServers\":{}}";
        assert!(matches!(
            insert(twice, &KEYS, &entry()),
            Err(TextError::Twice(_))
        ));
        let escaped = "{\"mcpServers\":{\"\\u006frange\":{}}}";
        assert!(matches!(remove(escaped, &KEYS), Err(TextError::Escaped(_))));
    }
}
