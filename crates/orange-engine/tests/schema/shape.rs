//! The schema itself: well formed, portable, and documented.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fixtures::{EVERYTHING, SCHEMA, json, pointers};

/// Keywords that both current editors and draft 2020-12 interpret the same way.
const KEYWORDS: [&str; 29] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "default",
    "description",
    "else",
    "enum",
    "examples",
    "if",
    "items",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minProperties",
    "minimum",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    // A message instead of a pattern, for editors that support it; others ignore it.
    "patternErrorMessage",
];

/// Every subschema, by its place.
fn subschemas() -> Vec<(String, &'static Value)> {
    let mut found = vec![(String::new(), &*SCHEMA)];
    let mut next = 0;
    while let Some((place, schema)) = found.get(next).cloned() {
        next += 1;
        let Some(entries) = schema.as_object() else {
            continue;
        };
        for (keyword, value) in entries {
            let below = |key: &str| format!("{place}/{keyword}/{key}");
            match keyword.as_str() {
                "properties" | "$defs" => {
                    let named = value.as_object().unwrap();
                    found.extend(named.iter().map(|(key, schema)| (below(key), schema)));
                }
                "allOf" | "anyOf" | "oneOf" => {
                    let listed = value.as_array().unwrap().iter().enumerate();
                    found.extend(
                        listed.map(|(number, schema)| (below(&number.to_string()), schema)),
                    );
                }
                "items"
                | "additionalProperties"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else" => {
                    found.push((format!("{place}/{keyword}"), value));
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn it_is_a_schema() {
    let draft = "https://json-schema.org/draft/2020-12/schema";
    assert_eq!(SCHEMA["$schema"], draft);
    assert!(jsonschema::meta::is_valid(&SCHEMA));
}

#[test]
fn editors_know_every_keyword() {
    for (place, schema) in subschemas() {
        for keyword in schema.as_object().into_iter().flat_map(|it| it.keys()) {
            assert!(KEYWORDS.contains(&keyword.as_str()), "{place}: {keyword}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_definition_is_used() {
    let references: BTreeSet<&str> = subschemas()
        .iter()
        .filter_map(|(_, schema)| schema.get("$ref")?.as_str())
        .collect();
    let definitions: BTreeSet<String> = SCHEMA["$defs"]
        .as_object()
        .unwrap()
        .keys()
        .map(|name| format!("#/$defs/{name}"))
        .collect();
    let definitions: BTreeSet<&str> = definitions.iter().map(String::as_str).collect();
    assert_eq!(references, definitions);
}

/// The text an editor shows for a place: its own description, or that of the `$ref` target.
fn description(schema: &Value) -> Option<&str> {
    if let Some(own) = schema.get("description") {
        return own.as_str();
    }
    let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    description(&SCHEMA["$defs"][name])
}

#[test]
fn every_key_is_described() {
    let mut count = 0;
    for (place, schema) in subschemas() {
        let Some((_, key)) = place.rsplit_once("/properties/") else {
            continue;
        };
        // A condition repeats a key that is described where it is defined.
        if key.contains('/') || place.contains("/oneOf/") || place.contains("/allOf/") {
            continue;
        }
        let text = description(schema).unwrap_or_default();
        assert!(text.ends_with('.'), "{place}: {text}");
        count += 1;
    }
    assert!(count > 80, "the keys were not found");
}

#[test]
fn words_that_do_not_explain_themselves_are_explained() {
    for place in [
        "/$defs/state/properties/kind",
        "/$defs/transition/properties/trigger",
        "/$defs/written_gate/properties/verdict_mode",
        "/$defs/git_condition",
        "/$defs/written_hook/properties/action",
        "/$defs/exit_rule/properties/action",
        "/$defs/exit_rule/properties/on_crash",
    ] {
        let schema = SCHEMA.pointer(place).unwrap();
        for word in schema["enum"].as_array().unwrap() {
            let word = format!("`{}`", word.as_str().unwrap());
            let text = description(schema).unwrap();
            assert!(text.contains(&word), "{place}: {word}");
        }
    }
}

#[test]
fn every_default_is_a_value_the_place_takes() {
    let mut count = 0;
    for (place, schema) in subschemas() {
        let Some(default) = schema.get("default") else {
            continue;
        };
        // On its own, the subschema has no definitions to refer to.
        let mut alone = schema.clone();
        alone["$defs"] = SCHEMA["$defs"].clone();
        let validator = jsonschema::draft202012::new(&alone).unwrap();
        assert!(validator.is_valid(default), "{place}: {default}");
        count += 1;
    }
    assert!(count > 10, "the defaults were not found");
}

#[test]
fn the_workflow_that_uses_everything_uses_every_key() {
    let document = json(EVERYTHING);
    let used: BTreeSet<String> = pointers(&document)
        .iter()
        .filter_map(|pointer| pointer.rsplit('/').next().map(str::to_owned))
        .collect();
    for (place, _) in subschemas() {
        if let Some((_, key)) = place.rsplit_once("/properties/")
            && !key.contains('/')
        {
            assert!(used.contains(key), "{place}");
        }
    }
}
