//! Edits the text of `projects.json` in place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Top<'a> {
    #[serde(borrow, default)]
    projects: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Keys<'a>(#[serde(borrow)] BTreeMap<Cow<'a, str>, &'a RawValue>);

/// The text with one key of one project changed, or added after the others.
pub fn with_key(
    text: &str,
    index: usize,
    key: &str,
    value: &Value,
) -> Result<String, serde_json::Error> {
    let top: Top<'_> = serde_json::from_str(text)?;
    let Some(project) = top.projects.get(index) else {
        return Ok(text.to_owned());
    };
    let keys: Keys<'_> = serde_json::from_str(project.get())?;
    let value = serde_json::to_string(value)?;
    let mut edited = text.to_owned();
    if let Some(old) = keys.0.get(key) {
        edited.replace_range(range_of(text, old), &value);
        return Ok(edited);
    }
    let last = keys.0.values().map(|it| range_of(text, it).end).max();
    let last = last.unwrap_or_else(|| range_of(text, project).start + 1);
    let name = serde_json::to_string(key)?;
    edited.insert_str(last, &format!(",{}{name}: {value}", lead(project.get())));
    Ok(edited)
}

/// The text with one more project, added after the others in the same layout.
pub fn with_project(text: &str, project: &Value) -> Result<String, serde_json::Error> {
    let top: Top<'_> = serde_json::from_str(text)?;
    let keys: Keys<'_> = serde_json::from_str(text)?;
    let mut edited = text.to_owned();
    if let Some(last) = top.projects.last() {
        let range = range_of(text, last);
        let margin = margin(text, range.start);
        let addition = match margin {
            Some(margin) => format!(",\n{margin}{}", format_indented(project, margin)?),
            None => format!(", {}", serde_json::to_string(project)?),
        };
        edited.insert_str(range.end, &addition);
        return Ok(edited);
    }
    // There are no projects yet: the list is empty or missing.
    let list = format!("[\n    {}\n  ]", format_indented(project, "    ")?);
    if let Some(old) = keys.0.get("projects") {
        edited.replace_range(range_of(text, old), &list);
        return Ok(edited);
    }
    let last = keys.0.values().map(|it| range_of(text, it).end).max();
    match (last, text.find('{')) {
        (Some(last), _) => {
            edited.insert_str(last, &format!(",{}\"projects\": {list}", lead(text.trim())));
        }
        (None, Some(brace)) => edited.insert_str(brace + 1, &format!("\n  \"projects\": {list}\n")),
        (None, None) => {}
    }
    Ok(edited)
}

/// The indentation of what begins at `start`; `None` when something else precedes it on its line.
fn margin(text: &str, start: usize) -> Option<&str> {
    let before = text.get(..start)?;
    let line = before.get(before.rfind('\n')? + 1..)?;
    line.trim().is_empty().then_some(line)
}

/// A value with one line per key, all lines but the first indented by the margin.
fn format_indented(value: &Value, margin: &str) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(text.replace('\n', &format!("\n{margin}")))
}

/// The text without one project.
pub fn without(text: &str, index: usize) -> Result<String, serde_json::Error> {
    let top: Top<'_> = serde_json::from_str(text)?;
    let ranges: Vec<Range<usize>> = top.projects.iter().map(|it| range_of(text, it)).collect();
    let Some(removed) = ranges.get(index) else {
        return Ok(text.to_owned());
    };
    let before = index.checked_sub(1).and_then(|it| ranges.get(it));
    let range = match (ranges.get(index + 1), before) {
        (Some(next), _) => removed.start..next.start,
        (None, Some(before)) => before.end..removed.end,
        (None, None) => removed.clone(),
    };
    let mut edited = text.to_owned();
    edited.replace_range(range, "");
    Ok(edited)
}

/// The position of a value that was read from the text.
fn range_of(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}

/// The white space to put before a new key: the same as before the first key.
fn lead(object: &str) -> &str {
    let inside = object.get(1..).unwrap_or_default();
    let end = inside.find(|it: char| !it.is_whitespace()).unwrap_or(0);
    match inside.get(..end) {
        Some("") | None => " ",
        Some(lead) => lead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = r#"{
  "note": [1,   2],
  "projects": [
    { "name": "tea",   "colour": "gr\u00fcn", "pool_size":   3 },
    {
        "name": "coffee",
        "push": false,
        "inner": {"push": 1}
    }
  ]
}
"#;

    #[test]
    fn changing_a_value_changes_nothing_else() {
        let edited = with_key(TEXT, 0, "pool_size", &json!(5)).unwrap();
        assert_eq!(
            edited,
            TEXT.replace("\"pool_size\":   3", "\"pool_size\":   5")
        );
        let edited = with_key(TEXT, 1, "push", &json!(true)).unwrap();
        assert_eq!(edited, TEXT.replace("\"push\": false", "\"push\": true"));
    }

    #[test]
    fn a_new_key_is_indented_like_the_others() {
        let edited = with_key(TEXT, 1, "setup", &json!(["make", "it"])).unwrap();
        let added = "\"inner\": {\"push\": 1},\n        \"setup\": [\"make\",\"it\"]\n";
        assert_eq!(edited, TEXT.replace("\"inner\": {\"push\": 1}\n", added));
        let edited = with_key(TEXT, 0, "push", &json!(true)).unwrap();
        let added = "\"pool_size\":   3, \"push\": true }";
        assert_eq!(edited, TEXT.replace("\"pool_size\":   3 }", added));
        let short = r#"{"projects":[{"name":"a"}]}"#;
        let edited = with_key(short, 0, "push", &json!(true)).unwrap();
        assert_eq!(edited, r#"{"projects":[{"name":"a", "push": true}]}"#);
    }

    #[test]
    fn a_new_entry_is_appended() {
        let tea = json!({ "name": "milk", "push": true });
        let added = with_project(TEXT, &tea).unwrap();
        let expected = "    },\n    {\n      \"name\": \"milk\",\n      \"push\": true\n    }\n  ]";
        assert_eq!(added, TEXT.replace("    }\n  ]", expected));
        let short = r#"{"projects":[{"name":"a"}], "note": 1}"#;
        assert_eq!(
            with_project(short, &tea).unwrap(),
            r#"{"projects":[{"name":"a"}, {"name":"milk","push":true}], "note": 1}"#
        );
        let list = "[\n    {\n      \"name\": \"milk\",\n      \"push\": true\n    }\n  ]";
        for (before, after) in [
            ("{}", format!("{{\n  \"projects\": {list}\n}}")),
            (
                "{\n  \"projects\": [ ]\n}\n",
                format!("{{\n  \"projects\": {list}\n}}\n"),
            ),
            (
                "{\n  \"note\":   1\n}\n",
                format!("{{\n  \"note\":   1,\n  \"projects\": {list}\n}}\n"),
            ),
        ] {
            assert_eq!(with_project(before, &tea).unwrap(), after);
        }
    }

    #[test]
    fn removing_an_entry_keeps_the_others() {
        let names = |text: &str| {
            let read: Value = serde_json::from_str(text).unwrap();
            let names = read["projects"].as_array().unwrap().clone();
            names
                .into_iter()
                .map(|it| it["name"].clone())
                .collect::<Vec<_>>()
        };
        let first = without(TEXT, 0).unwrap();
        assert_eq!(names(&first), ["coffee"]);
        assert!(first.contains("\"note\": [1,   2]"));
        let second = without(TEXT, 1).unwrap();
        assert_eq!(names(&second), ["tea"]);
        assert!(second.contains("gr\\u00fcn"));
        assert_eq!(names(&without(&first, 0).unwrap()), [] as [Value; 0]);
    }
}
