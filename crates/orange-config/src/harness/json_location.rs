//! Where a datum is in an agent's JSON output.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The key that matches every key.
const EVERY: &str = "*";

/// Which JSON values contain a datum, and where in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonLocation {
    /// What a value must contain to be considered.
    #[serde(default)]
    with: Map<String, Value>,
    /// The keys that lead to the datum; `*` matches every key.
    #[serde(default)]
    keys: Vec<String>,
}

impl JsonLocation {
    /// Whether a value contains everything in `with`.
    pub fn matches(&self, value: &Value) -> bool {
        let mut with = self.with.iter();
        with.all(|(key, expected)| value.get(key).is_some_and(|found| has(found, expected)))
    }

    /// What the keys lead to in a matching value.
    pub fn values<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        if !self.matches(value) {
            return Vec::new();
        }
        let start = vec![value];
        self.keys.iter().fold(start, |values, key| {
            let below = values.into_iter().map(|value| below(value, key));
            below.flatten().collect()
        })
    }

    /// The texts that the keys lead to, joined.
    pub fn text(&self, value: &Value) -> Option<String> {
        let found = self.values(value);
        let texts: Vec<&str> = found.into_iter().filter_map(Value::as_str).collect();
        (!texts.is_empty()).then(|| texts.concat())
    }
}

/// Whether `found` contains everything in `expected`; it may contain more.
fn has(found: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(expected) => {
            let mut expected = expected.iter();
            expected.all(|(key, expected)| found.get(key).is_some_and(|found| has(found, expected)))
        }
        expected => found == expected,
    }
}

fn below<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    match value {
        Value::Array(values) if key == EVERY => values.iter().collect(),
        Value::Object(values) if key == EVERY => values.values().collect(),
        value => value.get(key).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn place(text: &str) -> JsonLocation {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn every_expected_value_must_be_present_and_extras_are_allowed() {
        let place = place("with = { type = \"end\", is_error = false, by = { role = \"a\" } }");
        let fits = |value: Value| place.matches(&value);
        assert!(fits(
            json!({"type": "end", "is_error": false, "by": {"role": "a", "x": 1}, "y": 2})
        ));
        assert!(!fits(
            json!({"type": "end", "is_error": true, "by": {"role": "a"}})
        ));
        assert!(!fits(
            json!({"type": "end", "is_error": "false", "by": {"role": "a"}})
        ));
        assert!(!fits(json!({"type": "end", "is_error": false, "by": "a"})));
        assert!(!fits(json!(["type"])));
    }

    #[test]
    fn keys_select_a_child_and_a_star_selects_all_children() {
        let value =
            json!({"a": [{"t": "x"}, {"u": "-"}, {"t": "y"}], "m": {"p": {"n": 1}, "q": {"n": 2}}});
        assert_eq!(
            place("keys = [\"a\", \"*\", \"t\"]")
                .text(&value)
                .as_deref(),
            Some("xy")
        );
        let numbers = place("keys = [\"m\", \"*\", \"n\"]");
        assert_eq!(numbers.values(&value), [&json!(1), &json!(2)]);
        assert_eq!(numbers.text(&value), None);
        assert_eq!(place("keys = [\"a\", \"b\"]").text(&value), None);
        let other = place("with = { a = 1 }\nkeys = [\"m\", \"*\", \"n\"]");
        assert!(other.values(&value).is_empty());
    }
}
