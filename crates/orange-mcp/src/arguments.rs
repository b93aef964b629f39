//! Turns the arguments of a tool into the words of its command.
//!
//! Invariant: no argument becomes an option, a path that the command reads, or a second command.
//! A value is joined with its option or stands behind `--`, and only a text may have any characters.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::backend::Audience;
use crate::limits::{MAX_ID, MAX_NAME, MAX_NAMES, MAX_SUMMARY, MAX_TEXT, MAX_WAIT};
use crate::tools::{Kind, Parameter, TASK, Tool};

/// One agent adds this argument to the schema of every tool, and passes it on.
const OF_CLIENT: &str = "wait_for_previous";

impl Tool {
    /// The words of the command, or what is wrong with the arguments.
    pub(crate) fn words(
        &self,
        audience: &Audience,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<OsString>, String> {
        let parameters = self.parameters_for(audience);
        if let Some(name) = arguments
            .keys()
            .filter(|name| *name != OF_CLIENT)
            .find(|name| !parameters.iter().any(|it| it.name == name.as_str()))
        {
            let name: String = name.chars().take(MAX_NAME).collect();
            return Err(match audience {
                Audience::Run { .. } if name == TASK.name && self.takes_task => String::from(
                    "`task` is not an argument here: the tools are about your own task",
                ),
                _ => format!("`{}` is not an argument of this tool", name.escape_debug()),
            });
        }
        let mut options = vec![String::from("--json")];
        options.extend(self.fixed.iter().map(|it| (*it).to_owned()));
        let mut positionals = Vec::new();
        if let (Audience::Run { task: Some(task) }, true) = (audience, self.takes_task) {
            positionals.push(task.clone());
        }
        for parameter in parameters {
            let given = arguments.get(parameter.name).filter(|it| !it.is_null());
            let Some(given) = given else {
                if parameter.is_required {
                    return Err(format!("`{}` is missing", parameter.name));
                }
                options.extend(default_word(&parameter));
                continue;
            };
            let value = read(parameter.kind, given).ok_or_else(|| {
                format!(
                    "`{}` must be {}",
                    parameter.name,
                    expectation(parameter.kind)
                )
            })?;
            match (value, parameter.option) {
                (Read::Set(true), Some(option)) => options.push(option.to_owned()),
                (Read::Set(_), _) => {}
                (Read::Text(text), Some(option)) => options.push(format!("{option}={text}")),
                (Read::Text(text), None) => positionals.push(text),
            }
        }
        let command = self.command.split(' ').map(str::to_owned);
        let words = [String::from("orange")].into_iter().chain(command);
        let words = words.chain(options).chain([String::from("--")]);
        Ok(words.chain(positionals).map(OsString::from).collect())
    }

    fn parameters_for(&self, audience: &Audience) -> Vec<Parameter> {
        let needs_task = self.takes_task && *audience == Audience::Assistant;
        let task = needs_task.then_some(TASK);
        let own = self.parameters.iter().copied();
        task.into_iter().chain(own).collect()
    }

    /// The JSON schema of the arguments.
    pub fn input_schema(&self, audience: &Audience) -> Map<String, Value> {
        let parameters = self.parameters_for(audience);
        let properties = parameters.iter().map(|it| {
            let mut schema = schema_of(it.kind);
            if let Some(schema) = schema.as_object_mut() {
                schema.insert(String::from("description"), it.description.into());
            }
            (it.name.to_owned(), schema)
        });
        let properties: Map<String, Value> = properties.collect();
        let required = parameters.iter().filter(|it| it.is_required);
        let required: Vec<&str> = required.map(|it| it.name).collect();
        let mut schema = Map::new();
        schema.insert(String::from("type"), "object".into());
        schema.insert(String::from("properties"), properties.into());
        schema.insert(String::from("required"), required.into());
        schema.insert(String::from("additionalProperties"), false.into());
        schema
    }
}

/// An argument as the command needs it.
enum Read {
    Text(String),
    /// Whether the option is set.
    Set(bool),
}

fn read(kind: Kind, given: &Value) -> Option<Read> {
    let text = match (kind, given) {
        (Kind::Flag, Value::Bool(is_set)) => return Some(Read::Set(*is_set)),
        (Kind::Unless, Value::Bool(is_set)) => return Some(Read::Set(!is_set)),
        (Kind::Wait, Value::Number(number)) => {
            let seconds = number.as_u64().filter(|it| *it <= MAX_WAIT)?;
            seconds.to_string()
        }
        (Kind::Names, Value::Array(items)) if (1..=MAX_NAMES).contains(&items.len()) => {
            let names = items.iter().map(|it| it.as_str().filter(|it| is_name(it)));
            names.collect::<Option<Vec<&str>>>()?.join(",")
        }
        (Kind::Task | Kind::Name | Kind::Summary | Kind::Text | Kind::PlainText, given) => {
            given.as_str().filter(|it| fits(kind, it))?.to_owned()
        }
        _ => return None,
    };
    Some(Read::Text(text))
}

fn fits(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Task => {
            let is_part = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
            (1..=MAX_ID).contains(&text.len()) && text.bytes().all(is_part)
        }
        Kind::Name => is_name(text),
        Kind::Summary => {
            text.chars().count() <= MAX_SUMMARY
                && text.split_whitespace().nth(1).is_some()
                && !text.contains(char::is_control)
        }
        Kind::Text => is_text(text),
        Kind::PlainText => is_text(text) && text != "-" && !text.starts_with('@'),
        Kind::Names | Kind::Wait | Kind::Flag | Kind::Unless => false,
    }
}

/// Whether a text can be a name: it can be no option, no path, no list and no variable.
fn is_name(text: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_alphanumeric() || b"._-".contains(&it);
    let first = text.bytes().next();
    (1..=MAX_NAME).contains(&text.len())
        && text.bytes().all(is_part)
        && first.is_some_and(|it| it.is_ascii_alphanumeric())
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= MAX_TEXT && !text.contains('\0')
}

/// The words for an argument that was left out.
fn default_word(parameter: &Parameter) -> Option<String> {
    let default = parameter.default?;
    Some(match parameter.option {
        Some(option) if !default.starts_with("--") => format!("{option}={default}"),
        _ => default.to_owned(),
    })
}

fn schema_of(kind: Kind) -> Value {
    match kind {
        Kind::Task => json!({ "type": "string", "pattern": "^[a-z0-9]{1,32}$" }),
        Kind::Name => json!({ "type": "string", "minLength": 1, "maxLength": MAX_NAME }),
        Kind::Names => json!({
            "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MAX_NAMES,
        }),
        Kind::Wait => json!({ "type": "integer", "minimum": 0, "maximum": MAX_WAIT }),
        Kind::Summary => json!({ "type": "string", "maxLength": MAX_SUMMARY }),
        Kind::Text | Kind::PlainText => json!({ "type": "string", "maxLength": MAX_TEXT }),
        Kind::Flag | Kind::Unless => json!({ "type": "boolean" }),
    }
}

fn expectation(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "the id of a task",
        Kind::Name => "a name",
        Kind::Names => "a list of 1 to 20 names",
        Kind::Wait => "a whole number of seconds, at most 50",
        Kind::Summary => "one line of at least two words, at most 500 characters",
        Kind::Text => "a text without NUL, at most 64 KiB",
        Kind::PlainText => "a text without NUL, at most 64 KiB, not `-`, not beginning with `@`",
        Kind::Flag | Kind::Unless => "true or false",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|it| it.name == name).unwrap()
    }

    fn words(name: &str, audience: &Audience, arguments: &Value) -> Result<String, String> {
        let words = tool(name).words(audience, arguments.as_object().unwrap())?;
        let words: Vec<&str> = words.iter().map(|it| it.to_str().unwrap()).collect();
        Ok(words.join(" "))
    }

    fn own_task() -> Audience {
        Audience::Run {
            task: Some(String::from("k3f9")),
        }
    }

    #[test]
    fn a_call_becomes_the_words_of_its_command() {
        let assistant = Audience::Assistant;
        for (name, arguments, expected) in [
            ("attention", json!({}), "attention --json --all --"),
            ("tasks", json!({}), "task list --json --all --"),
            (
                "tasks",
                json!({ "project": "app", "all_statuses": true, "status": null }),
                "task list --json --project=app --all-statuses --",
            ),
            (
                "task_wait",
                json!({ "task": "k3f9", "until": ["done", "human"] }),
                "task wait --json --until=done,human --timeout=30 -- k3f9",
            ),
            (
                "task_create",
                json!({ "summary": "--no-spawn --branch=x", "context": "--yes", "start": false }),
                "task create --json --wait=5 --context=--yes --no-spawn -- --no-spawn --branch=x",
            ),
            (
                "task_tell",
                json!({ "task": "k3f9", "message": "--role=x\n@f" }),
                "task tell --json --wait=5 --message=--role=x\n@f -- k3f9",
            ),
        ] {
            let words = words(name, &assistant, &arguments).unwrap();
            assert_eq!(words, format!("orange {expected}"));
        }
    }

    #[test]
    fn a_run_cannot_name_a_task() {
        let outside = own_task();
        let inside = Audience::Run { task: None };
        let no_arguments = json!({});
        assert_eq!(
            words("task_show", &outside, &no_arguments).unwrap(),
            "orange task show --json -- k3f9"
        );
        assert_eq!(
            words("task_show", &inside, &no_arguments).unwrap(),
            "orange task show --json --"
        );
        for tool in TOOLS {
            for audience in [&outside, &inside] {
                let arguments = json!({ "task": "aaaa" });
                let refused = tool.words(audience, arguments.as_object().unwrap());
                assert!(refused.is_err(), "{}", tool.name);
                assert!(tool.input_schema(audience)["properties"]["task"].is_null());
            }
        }
    }

    /// Values that mean more than their text, or are of the wrong type.
    fn hostile() -> Vec<Value> {
        let texts = [
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
            "$(id)",
            "",
            " ",
            "\n",
            "a,b",
        ];
        let mut values: Vec<Value> = texts.iter().map(|it| json!(it)).collect();
        values.extend([
            json!(-1),
            json!(1.5),
            json!(1_000_000),
            json!([]),
            json!({}),
            json!([["a"]]),
            json!(["--yes"]),
            json!("x".repeat(MAX_TEXT + 1)),
            json!(vec!["a"; MAX_NAMES + 1]),
        ]);
        values
    }

    #[test]
    fn no_value_becomes_an_option_or_a_path() {
        for tool in TOOLS {
            for parameter in tool.parameters_for(&Audience::Assistant) {
                for value in hostile() {
                    let is_free =
                        matches!(parameter.kind, Kind::Text | Kind::PlainText | Kind::Summary);
                    match read(parameter.kind, &value) {
                        None => {}
                        // It stays a value: of its option, or behind `--`.
                        Some(Read::Text(text)) => assert!(is_free, "{}: {text}", parameter.name),
                        Some(Read::Set(_)) => panic!("{}: {value}", parameter.name),
                    }
                }
            }
        }
        for read_from_elsewhere in ["-", "@/etc/passwd"] {
            assert!(!fits(Kind::PlainText, read_from_elsewhere));
        }
        for taken_for_a_branch in ["main", " main ", "fix/it", "\u{a0}main"] {
            assert!(!fits(Kind::Summary, taken_for_a_branch));
        }
    }

    #[test]
    fn a_positional_text_stands_behind_the_dashes() {
        for tool in TOOLS {
            let free = tool.parameters.iter().filter(|it| it.option.is_none());
            for parameter in free {
                assert!(parameter.is_required && parameter.kind == Kind::Summary);
            }
            for parameter in tool.parameters {
                let option = parameter.option.unwrap_or("--");
                assert!(option.starts_with("--"), "{}", parameter.name);
            }
        }
    }

    #[test]
    fn unknown_and_missing_arguments_are_named() {
        let refused = |name, arguments| words(name, &Audience::Assistant, &arguments).unwrap_err();
        let unknown = json!({ "task": "a", "yes": true });
        assert!(refused("task_show", unknown).contains("`yes`"));
        assert_eq!(
            refused("task_tell", json!({ "task": "a" })),
            "`message` is missing"
        );
        let of_client = json!({ OF_CLIENT: true });
        assert!(words("tasks", &Audience::Assistant, &of_client).is_ok());
        let null = json!({ "task": null });
        assert_eq!(refused("task_why", null), "`task` is missing");
    }
}
