//! Changes one value at a time; schema and reader must agree.

use std::collections::BTreeSet;

use orange_engine::language::{Problem, ProblemCode};
use serde_json::{Value, json};

use crate::fixtures::{EVERYTHING, is_valid, json as read, pointers, problems, schema_errors};

/// Problems the reader sees and a schema cannot: how parts of a file fit together.
const ONLY_THE_READER: [&str; 14] = [
    "`entry` names no state",
    "`stuck_after` must be a whole number of at least 0, not `",
    "is neither an integer nor declared under `limits`",
    "a `{` begins a variable",
    "needs at least one terminal state",
    "is terminal, so",
    "but has another `kind`",
    "but has `kind: terminal`",
    "has no `timeout` to trigger this transition",
    "so `confirm` is never asked",
    "is cut off at ` #`",
    "appears twice in `from`",
    "has the same name as a limit",
    "a case is `when` with `then`; the last may be `else` alone",
];

/// Whether a problem is about shape, so that the schema must report it too.
fn is_shape(problem: &Problem) -> bool {
    let codes = [
        ProblemCode::UnknownKey,
        ProblemCode::MissingKey,
        ProblemCode::WrongType,
        ProblemCode::InvalidValue,
        ProblemCode::UnknownVersion,
        ProblemCode::ActionUnknown,
        ProblemCode::WhenInvalid,
    ];
    let mut fits = ONLY_THE_READER.iter();
    codes.contains(&problem.code) && !fits.any(|words| problem.message.contains(words))
}

fn judge(what: &str, document: &Value) {
    let found = problems(document);
    let is_taken = is_valid(document);
    assert!(
        is_taken || !found.is_empty(),
        "the reader takes {what}: {:?}",
        schema_errors(document)
    );
    let of_shape = found.iter().find(|it| is_shape(it));
    if let Some(problem) = of_shape.filter(|_| is_taken) {
        panic!("the schema takes {what}: {problem}");
    }
}

/// Every place in a document, but only the first of those that differ just in their list index.
fn one_of_each(document: &Value) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut places = pointers(document);
    places.retain(|place| {
        let keys = place.split('/').filter(|key| key.parse::<usize>().is_err());
        let is_list = document.pointer(place).is_some_and(Value::is_array);
        seen.insert((keys.collect::<Vec<_>>().join("/"), is_list))
    });
    places
}

#[test]
fn a_value_of_another_kind() {
    let values = [
        json!(null),
        json!(true),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("qqqqqq"),
        json!([]),
        json!(["qqqqqq"]),
        json!({}),
        json!({ "qqqqqq": 1 }),
    ];
    let document = read(EVERYTHING);
    for place in one_of_each(&document) {
        for value in &values {
            // A workflow may be called `true`, but the name should be in quotes.
            if place == "/name" && value.is_boolean() {
                continue;
            }
            let mut mutant = document.clone();
            *mutant.pointer_mut(&place).unwrap() = value.clone();
            judge(&format!("{value} at {place}"), &mutant);
        }
        let mut mutant = document.clone();
        let at = mutant.pointer_mut(&place).unwrap();
        *at = Value::Array(vec![at.take()]);
        judge(&format!("a list around {place}"), &mutant);
    }
}

#[test]
fn a_key_more_or_less() {
    let document = read(EVERYTHING);
    for place in pointers(&document) {
        let Some(Value::Object(entries)) = document.pointer(&place) else {
            continue;
        };
        let change = |what: String, change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            let mut mutant = document.clone();
            change(mutant.pointer_mut(&place).unwrap().as_object_mut().unwrap());
            judge(&format!("{place} {what}"), &mutant);
        };
        change("with another key".to_owned(), &|it| {
            it.insert("qqqqqq".to_owned(), json!(1));
        });
        for key in entries.keys() {
            change(format!("without {key}"), &|it| {
                it.remove(key);
            });
            change(format!("with {key} misspelt"), &|it| {
                let value = it.remove(key).unwrap_or_default();
                it.insert(format!("{key}q"), value);
            });
            change(format!("with {key} in capitals"), &|it| {
                let value = it.remove(key).unwrap_or_default();
                it.insert(key.to_uppercase(), value);
            });
        }
    }
}
