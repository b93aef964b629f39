//! A client that knows the description of the API, and nothing else.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::client::Api;
use crate::support::{PASS, PLAN_AND_WORK, Stage, wait_for};

/// A client that is made from the description.
struct Client<'a> {
    api: &'a Api,
    document: Value,
    token: String,
}

/// An operation of the description.
struct Described<'a> {
    path: &'a str,
    method: &'a str,
    operation: &'a Value,
}

impl Client<'_> {
    fn find(&self, id: &str) -> Described<'_> {
        let paths = self.document["paths"].as_object().unwrap().iter();
        let all = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| Described {
                path,
                method,
                operation,
            })
        });
        let mut all = all.filter(|it| it.operation["operationId"] == id);
        all.next().unwrap_or_else(|| panic!("no operation {id}"))
    }

    /// Fails unless a value is what a schema of the description says.
    fn judge(&self, schema: &Value, value: &Value) {
        let mut root = schema.clone();
        root["components"] = self.document["components"].clone();
        let validator = jsonschema::draft202012::new(&root).unwrap();
        let problems = validator.iter_errors(value).map(|it| it.to_string());
        let problems: Vec<String> = problems.collect();
        assert!(problems.is_empty(), "{problems:#?}\n{value:#}");
    }

    /// Calls an operation with values by name; the description says where each belongs. Returns the
    /// status and the answer, which must be what the description promises.
    fn call(&self, id: &str, values: &Value) -> (u16, Value) {
        let described = self.find(id);
        let operation = described.operation;
        let mut values = values.as_object().unwrap().clone();
        let (mut path, mut query) = (described.path.to_owned(), String::new());
        let mut headers = Vec::new();
        let parameters = operation["parameters"].as_array();
        for parameter in parameters.into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            let Some(value) = values.remove(name) else {
                assert_ne!(parameter["required"], true, "{id} needs {name}");
                continue;
            };
            self.judge(&parameter["schema"], &value);
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            match parameter["in"].as_str().unwrap() {
                "path" => path = path.replace(&format!("{{{name}}}"), &text),
                "header" => headers.push((name, text)),
                _ => {
                    let mark = if query.is_empty() { '?' } else { '&' };
                    write!(query, "{mark}{name}={text}").unwrap();
                }
            }
        }
        let body = self.body(operation, values);
        let bearer = format!("Bearer {}", self.token);
        if operation["security"] != json!([]) {
            headers.push(("Authorization", bearer));
        }
        if !body.is_empty() {
            headers.push(("Content-Type", String::from("application/json")));
        }
        let headers: Vec<(&str, &str)> = headers.iter().map(|it| (it.0, it.1.as_str())).collect();
        let line = format!("{} {path}{query}", described.method.to_uppercase());
        let answer = self.api.send(&line, &headers, &body);
        let responses = &operation["responses"];
        let status = answer.status.to_string();
        let response = responses.get(&status).unwrap_or(&responses["default"]);
        let value = answer.json();
        self.judge(&response["content"]["application/json"]["schema"], &value);
        (answer.status, value)
    }

    /// The body with all values that are left; empty if the operation has none.
    fn body(&self, operation: &Value, values: Map<String, Value>) -> String {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            assert!(values.is_empty(), "not described: {values:?}");
            return String::new();
        }
        let body = Value::Object(values);
        self.judge(schema, &body);
        body.to_string()
    }

    /// The same for a call that must succeed.
    fn done(&self, id: &str, values: &Value) -> Value {
        let (status, answer) = self.call(id, values);
        assert!([200, 202].contains(&status), "{id} {status}: {answer:#}");
        answer
    }
}

#[test]
fn a_client_made_from_the_description_takes_a_task_from_creation_to_merge() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("reviewer-1", PASS);
    let api = Api::start(&stage);
    let mut client = Client {
        api: &api,
        document: serde_json::from_str(&stage.run_ok(&["web", "openapi"])).unwrap(),
        token: String::new(),
    };
    let (_, code) = stage.json(&["web", "pair", "client", "--scope", "act", "--json"]);
    let paired = client.done("pair", &json!({ "code": code["code"] }));
    paired["token"]
        .as_str()
        .unwrap()
        .clone_into(&mut client.token);

    let created = client.done("post_tasks", &json!({ "summary": "Add a line" }));
    let task = &created["task"]["id"];
    let named = json!({ "task": task });
    wait_for("the user's review", || {
        let shown = client.done("get_tasks_task", &named);
        shown["task"]["status"] == "reviewing" && shown["task"]["pending"] == json!([])
    });
    let needs = client.done("get_attention", &json!({}));
    let mut items = needs["items"].as_array().unwrap().iter();
    assert!(items.any(|it| it["task"] == *task), "{needs}");
    let diff = client.done("get_tasks_task_diff", &named);
    let why = client.done("get_tasks_task_why", &named);
    assert_eq!(why["commit"], diff["head"], "what was shown is merged");
    let version = format!("\"{}\"", why["version"]);
    let step = json!({ "task": task, "If-Match": version, "head": why["commit"], "wait": 30 });
    let (status, refused) = client.call(
        "post_tasks_task_merge",
        &json!({ "task": task, "If-Match": "\"1\"", "head": why["commit"] }),
    );
    assert_eq!(
        (status, &refused["error"]["code"]),
        (412, &json!("task-changed"))
    );
    client.done("post_tasks_task_merge", &step);
    wait_for("the merge", || {
        client.done("get_tasks_task", &named)["task"]["status"] == "done"
    });
    let history = client.done("get_tasks_task_history", &named);
    assert!(history.to_string().contains("done"), "{history}");
    let log = String::from_utf8(stage.git("log --format=%s main").stdout).unwrap();
    assert_eq!(log.matches("one").count(), 1, "{log}");
}
