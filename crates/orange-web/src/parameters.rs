//! Turns the values of a request into the words of a command.

use std::collections::BTreeMap;
use std::ffi::OsString;

use axum::http::StatusCode;
use serde_json::{Map, Value};

use crate::answer::Refusal;
use crate::limits::{MAX_VALUE, MAX_WAIT};
use crate::operations::{Kind, Operation, Parameter, Place, Word};

/// The most values of one parameter.
const MAX_VALUES: usize = 20;

/// The longest name, and the longest id.
const MAX_NAME: usize = 64;
const MAX_ID: usize = 32;

/// The values of a request.
#[derive(Debug, Default)]
pub struct Values {
    pub path: BTreeMap<String, String>,
    pub query: BTreeMap<String, String>,
    pub body: Map<String, Value>,
    /// The version of the task that the caller saw.
    pub version: Option<u64>,
}

impl Values {
    /// Reads the part of an address behind `?`.
    pub fn read_query(&mut self, query: &str) -> Result<(), Refusal> {
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let earlier = self.query.insert(name.to_string(), value.to_string());
            if earlier.is_some() {
                return Err(invalid(&name, "it occurs twice"));
            }
        }
        Ok(())
    }

    /// Reads a body, which must be a JSON object.
    pub fn read_body(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let parsed = serde_json::from_slice(body);
        self.body = parsed.map_err(|error| {
            let message = format!("cannot read the body as a JSON object: {error}");
            Refusal::new(StatusCode::BAD_REQUEST, "body-invalid", message)
        })?;
        Ok(())
    }

    /// The words of the operation's command.
    pub fn words(&self, operation: &Operation) -> Result<Vec<OsString>, Refusal> {
        self.refuse_unknown(operation)?;
        let mut options: Vec<String> = vec![String::from("--json")];
        options.extend(operation.fixed.iter().map(|it| (*it).to_owned()));
        if let Some(version) = self.version {
            options.push(format!("--if-version={version}"));
        }
        let mut positionals = Vec::new();
        for parameter in operation.parameters {
            let values = self.values_of(parameter)?;
            if values.is_empty() {
                options.extend(default_word(parameter));
            }
            for value in values {
                match (parameter.word, parameter.kind) {
                    (Word::Option(option), Kind::Flag) => options.push(option.to_owned()),
                    (Word::Option(option), _) => options.push(format!("{option}={value}")),
                    (Word::Positional, _) => positionals.push(value),
                }
            }
        }
        let command = operation.command.split(' ').map(str::to_owned);
        let words = [String::from("orange")].into_iter().chain(command);
        let words = words.chain(options).chain([String::from("--")]);
        Ok(words.chain(positionals).map(OsString::from).collect())
    }

    fn refuse_unknown(&self, operation: &Operation) -> Result<(), Refusal> {
        let known = |place: Place, name: &str| {
            let mut parameters = operation.parameters.iter();
            parameters.any(|it| it.place == place && it.name == name)
        };
        let query = self.query.keys().map(|name| (Place::Query, name));
        let body = self.body.keys().map(|name| (Place::Body, name));
        match query.chain(body).find(|(place, name)| !known(*place, name)) {
            Some((_, name)) => Err(invalid(name, "this operation has no such parameter")),
            None => Ok(()),
        }
    }

    /// The values of a parameter, each as it must look.
    fn values_of(&self, parameter: &Parameter) -> Result<Vec<String>, Refusal> {
        let name = parameter.name;
        let given = match parameter.place {
            Place::Path => self.path.get(name).cloned().map(Value::String),
            Place::Query => self.query.get(name).map(|text| of_text(parameter, text)),
            Place::Body => self.body.get(name).filter(|it| !it.is_null()).cloned(),
        };
        let Some(given) = given else {
            if parameter.is_required {
                return Err(invalid(name, "it is required"));
            }
            return Ok(Vec::new());
        };
        let found = match (parameter.kind, &given) {
            (Kind::Flag, Value::Bool(is_set)) => {
                if parameter.is_required && !is_set {
                    return Err(invalid(name, "it must be true"));
                }
                return Ok(is_set.then(String::new).into_iter().collect());
            }
            (Kind::Names, Value::Array(items)) if items.len() <= MAX_VALUES => items
                .iter()
                .map(|item| item.as_str().filter(|it| is_name(it)).map(str::to_owned))
                .collect::<Option<Vec<String>>>(),
            (Kind::Names | Kind::Flag, _) => None,
            (kind, given) => text_of(kind, given)
                .filter(|text| fits(kind, text))
                .map(|text| vec![text]),
        };
        let found = found.ok_or_else(|| match parameter.place {
            // What cannot be a name names nothing.
            Place::Path => not_found(),
            Place::Query | Place::Body => invalid(name, expectation(parameter.kind)),
        })?;
        if parameter.is_required && found.is_empty() {
            return Err(invalid(name, "it is empty"));
        }
        Ok(found)
    }
}

/// The answer for what does not exist.
pub fn not_found() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "route-not-found",
        "there is nothing at this address",
    )
}

fn invalid(name: &str, reason: &str) -> Refusal {
    let name: String = name.chars().take(MAX_NAME).collect();
    let message = format!("cannot use the parameter `{name}`: {reason}");
    Refusal::new(StatusCode::BAD_REQUEST, "parameter-invalid", message)
}

/// The word for a parameter that was left out.
fn default_word(parameter: &Parameter) -> Option<String> {
    let default = parameter.default?;
    Some(match parameter.word {
        Word::Option(option) if !default.starts_with("--") => format!("{option}={default}"),
        _ => default.to_owned(),
    })
}

/// A value in an address, as JSON would have it.
fn of_text(parameter: &Parameter, text: &str) -> Value {
    match (parameter.kind, text) {
        (Kind::Flag, "true") => Value::Bool(true),
        (Kind::Flag, "false") => Value::Bool(false),
        (Kind::Names, _) => text.split(',').map(Value::from).collect(),
        _ => Value::from(text),
    }
}

/// A value as a text; numbers may be numbers or, in an address, texts.
fn text_of(kind: Kind, given: &Value) -> Option<String> {
    match (kind, given) {
        (Kind::Number | Kind::Integer | Kind::Wait, Value::Number(number)) => {
            Some(number.to_string())
        }
        (_, Value::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Whether a text is what the kind of its parameter allows.
fn fits(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Task => {
            let is_part = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
            is_short(text, MAX_ID) && text.bytes().all(is_part)
        }
        Kind::Name => is_name(text),
        Kind::Workflow => is_name(text) && !text.contains('.'),
        Kind::Shape => text.split_once('/').is_some_and(|(name, version)| {
            name.bytes().all(|it| it.is_ascii_lowercase() || it == b'.')
                && is_short(name, MAX_NAME)
                && version.bytes().all(|it| it.is_ascii_digit())
                && is_short(version, 4)
        }),
        Kind::Number => text.bytes().all(|it| it.is_ascii_digit()) && text.parse::<u64>().is_ok(),
        Kind::Wait => text.parse().is_ok_and(|wait: u64| wait <= MAX_WAIT),
        Kind::Integer => text.parse::<i64>().is_ok(),
        Kind::Commit => {
            [40, 64].contains(&text.len())
                && text
                    .bytes()
                    .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
        }
        Kind::Period => {
            let (count, unit) = text
                .split_at_checked(text.len().wrapping_sub(1))
                .unwrap_or(("", ""));
            is_short(count, 6)
                && count.bytes().all(|it| it.is_ascii_digit())
                && ["m", "h", "d", "w"].contains(&unit)
        }
        Kind::Text => is_text(text),
        Kind::Summary => is_text(text) && text.split_whitespace().nth(1).is_some(),
        Kind::PlainText => is_text(text) && text != "-" && !text.starts_with('@'),
        Kind::Choice(choices) => choices.contains(&text),
        Kind::Names | Kind::Flag => false,
    }
}

fn is_short(text: &str, limit: usize) -> bool {
    (1..=limit).contains(&text.len())
}

/// Whether a text can be a name: it can be no option, no path and no variable.
fn is_name(text: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"._-".contains(&it);
    is_short(text, MAX_NAME)
        && text.bytes().all(is_part)
        && text
            .bytes()
            .next()
            .is_some_and(|it| it.is_ascii_alphanumeric())
}

fn is_text(text: &str) -> bool {
    text.len() <= MAX_VALUE && !text.contains('\0')
}

fn expectation(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "it must be an id",
        Kind::Name | Kind::Workflow => "it must be a name",
        Kind::Names => "it must be a list of names, at most 20",
        Kind::Shape => "it must be the name of a schema",
        Kind::Number | Kind::Integer => "it must be a number",
        Kind::Wait => "it must be a number of seconds, at most 30",
        Kind::Commit => "it must be the full hash of a commit",
        Kind::Period => "it must be a duration such as `24h` or `7d`",
        Kind::Text => "it must be a text without NUL, at most 64 KiB",
        Kind::Summary => "it must be a text of at least two words without NUL, at most 64 KiB",
        Kind::PlainText => {
            "it must be a text without NUL, at most 64 KiB, not `-`, and not begin with `@`"
        }
        Kind::Flag => "it must be true or false",
        Kind::Choice(_) => "it must be one of the allowed words",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::OPERATIONS;

    fn operation(path: &str, is_read: bool) -> &'static Operation {
        let mut all = OPERATIONS.iter();
        all.find(|it| it.path == path && it.is_read() == is_read)
            .unwrap()
    }

    fn words(values: &Values, operation: &Operation) -> String {
        let words = values.words(operation).unwrap();
        let words: Vec<&str> = words.iter().map(|it| it.to_str().unwrap()).collect();
        words.join(" ")
    }

    fn values(path: &[(&str, &str)], query: &str, body: &str) -> Values {
        let path = path.iter();
        let mut values = Values {
            path: path
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect(),
            ..Values::default()
        };
        values.read_query(query).unwrap();
        values.read_body(body.as_bytes()).unwrap();
        values
    }

    #[test]
    fn a_request_becomes_the_words_of_its_command() {
        let list = operation("/api/v1/tasks", true);
        assert_eq!(
            words(&values(&[], "", "{}"), list),
            "orange task list --json --all --"
        );
        let filtered = values(&[], "project=app&all_statuses=true", "{}");
        assert_eq!(
            words(&filtered, list),
            "orange task list --json --project=app --all-statuses --"
        );
        let step = operation("/api/v1/tasks/{task}/steps", false);
        let mut moved = values(
            &[("task", "k3f9")],
            "",
            r#"{"to":"working","message":"--yes","wait":2}"#,
        );
        moved.version = Some(7);
        assert_eq!(
            words(&moved, step),
            "orange task update --json --if-version=7 --status=working --message=--yes --wait=2 \
             -- k3f9"
        );
    }

    /// Values that begin with a dash, and other values that mean more than their text.
    const HOSTILE: [&str; 14] = [
        "-",
        "--",
        "--help",
        "-q",
        "--yes",
        "--json=x",
        "../x",
        "/etc/passwd",
        "x/y.yml",
        "@file",
        "a\0b",
        "a b",
        "$(id)",
        "",
    ];

    #[test]
    fn no_value_becomes_an_option_or_a_path() {
        for operation in OPERATIONS {
            for parameter in operation.parameters {
                for hostile in HOSTILE {
                    let mut given = Values::default();
                    // The other parameters do not matter: each is checked on its own.
                    let value = hostile.to_owned();
                    match parameter.place {
                        Place::Path => drop(given.path.insert(parameter.name.to_owned(), value)),
                        Place::Query => drop(given.query.insert(parameter.name.to_owned(), value)),
                        Place::Body => {
                            drop(given.body.insert(parameter.name.to_owned(), value.into()));
                        }
                    }
                    let is_text =
                        matches!(parameter.kind, Kind::Text | Kind::Summary | Kind::PlainText);
                    match given.values_of(parameter) {
                        Err(_) => {}
                        Ok(values) => assert!(is_text, "{}: {values:?}", parameter.name),
                    }
                }
            }
        }
    }

    #[test]
    fn a_text_stays_a_value_of_its_option() {
        for operation in OPERATIONS {
            for parameter in operation.parameters {
                if !matches!(parameter.kind, Kind::Text | Kind::Summary) {
                    continue;
                }
                let is_joined = parameter.word != Word::Positional;
                let is_behind = parameter.place == Place::Body;
                assert!(is_joined || is_behind, "{}", operation.path);
            }
        }
        let create = operation("/api/v1/tasks", false);
        let hostile = values(&[], "", r#"{"summary":"--no-spawn it","branch":"--all"}"#);
        assert_eq!(
            words(&hostile, create),
            "orange task create --json --branch=--all --wait=5 -- --no-spawn it"
        );
        let branch = values(&[], "", r#"{"summary":"branch"}"#);
        assert!(branch.words(create).is_err(), "one word would be a branch");
    }

    #[test]
    fn what_the_operation_does_not_know_is_refused() {
        let list = operation("/api/v1/tasks", true);
        let code = |query: &str| {
            let mut values = Values::default();
            let read = values.read_query(query).map(|()| values);
            read.and_then(|it| it.words(list)).unwrap_err().code
        };
        for bad in [
            "x=1",
            "project=a&project=b",
            "tree=yes",
            "status=--all",
            "project=",
        ] {
            assert_eq!(code(bad), "parameter-invalid", "{bad}");
        }
        let show = operation("/api/v1/tasks/{task}", true);
        for bad in ["..%2f", "K3F9", "k3/f9", "k3f9;id", "-k"] {
            let refused = values(&[("task", bad)], "", "{}").words(show).unwrap_err();
            assert_eq!(refused.status, 404, "{bad}");
        }
        let mut values = Values::default();
        for bad in ["", "[]", "1", "{", "null", "{\"a\":1}x"] {
            assert!(values.read_body(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
