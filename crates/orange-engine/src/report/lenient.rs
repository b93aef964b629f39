//! Reads a field of a report whatever its JSON type.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::names::HarnessName;
use crate::report::Delegation;

/// A JSON value reduced to texts.
enum LenientValue {
    Nothing,
    Text(String),
    List(Vec<LenientValue>),
    Object(Vec<(String, LenientValue)>),
}

impl LenientValue {
    /// The items as texts, without null and blank ones.
    fn items(self) -> Vec<String> {
        match self {
            LenientValue::List(items) => items.into_iter().filter_map(LenientValue::text).collect(),
            other => other.text().into_iter().collect(),
        }
    }

    fn text(self) -> Option<String> {
        let text = match self {
            LenientValue::Nothing => return None,
            LenientValue::Text(text) => text,
            LenientValue::List(_) => self.items().join("; "),
            LenientValue::Object(entries) => {
                let entries = entries.into_iter().map(|(key, value)| match value.text() {
                    Some(value) => format!("{key}: {value}"),
                    None => key,
                });
                entries.collect::<Vec<String>>().join("; ")
            }
        };
        (!text.trim().is_empty()).then_some(text)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = LenientValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<LenientValue, E> {
        Ok(LenientValue::Nothing)
    }

    fn visit_none<E>(self) -> Result<LenientValue, E> {
        Ok(LenientValue::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<LenientValue, D::Error> {
        LenientValue::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<LenientValue, E> {
        Ok(LenientValue::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<LenientValue, E> {
        Ok(LenientValue::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<LenientValue, E> {
        Ok(LenientValue::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<LenientValue, E> {
        Ok(LenientValue::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<LenientValue, E> {
        Ok(LenientValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<LenientValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(LenientValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<LenientValue, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(LenientValue::Object(object))
    }
}

impl<'de> Deserialize<'de> for LenientValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LenientValue, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

/// `null` becomes an empty text; a list becomes its items on one line.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(optional_text(deserializer)?.unwrap_or_default())
}

pub(crate) fn optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    LenientValue::deserialize(deserializer).map(LenientValue::text)
}

/// `null` is an empty list; a text is a list of one.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    LenientValue::deserialize(deserializer).map(LenientValue::items)
}

/// The keys of an object, each with its texts; anything else has none.
pub(crate) fn entries<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, Vec<String>)>, D::Error> {
    Ok(match LenientValue::deserialize(deserializer)? {
        LenientValue::Object(entries) => {
            let entries = entries.into_iter();
            entries.map(|(key, value)| (key, value.items())).collect()
        }
        _ => Vec::new(),
    })
}

/// Any text counts as yes, except `no` and words like it. The field says whether the agent needs
/// an answer, and some agents write their question there instead of `true`.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let text = optional_text(deserializer)?.unwrap_or_default();
    let text = text.trim().to_ascii_lowercase();
    Ok(!["", "false", "no", "none", "null", "0"].contains(&text.as_str()))
}

pub(crate) fn harness<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<HarnessName>, D::Error> {
    let text = optional_text(deserializer)?;
    Ok(text.map(|text| HarnessName::new(text.trim())))
}

/// A text is a child task with that title; a single child needs no list.
pub(crate) fn delegations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Delegation>, D::Error> {
    let children = match LenientValue::deserialize(deserializer)? {
        LenientValue::List(children) => children,
        one => vec![one],
    };
    Ok(children.into_iter().filter_map(delegation).collect())
}

fn delegation(child: LenientValue) -> Option<Delegation> {
    let entries = match child {
        LenientValue::Object(entries) => entries,
        other => {
            let title = other.text()?;
            return Some(Delegation {
                title,
                ..Delegation::default()
            });
        }
    };
    let mut found = Delegation::default();
    for (key, value) in entries {
        match key.as_str() {
            "title" => found.title = value.text().unwrap_or_default(),
            "body" => found.body = value.text().unwrap_or_default(),
            "labels" => found.labels = value.items(),
            "after" => found.after = value.items(),
            "suggested_agent" => {
                let name = value.text();
                found.suggested_agent = name.map(|name| HarnessName::new(name.trim()));
            }
            _ => {}
        }
    }
    Some(found)
}
