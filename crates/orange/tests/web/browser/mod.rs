//! The page in a real browser of a phone's size.

mod changes;
mod hostile;
mod pairing;
mod permissions;
mod pictures;
mod reach;
mod speed;
mod story;
mod webdriver;

use serde_json::{Value, json};

use crate::client::Api;
use crate::support::Stage;
use webdriver::Browser;

/// A server, and a browser that shows its page as a paired device.
struct Scene {
    stage: Stage,
    api: Api,
    browser: Browser,
}

impl Scene {
    fn new(stage: Stage) -> Scene {
        let scene = Scene {
            api: Api::start(&stage),
            browser: Browser::start(),
            stage,
        };
        scene.browser.open(&scene.pairing_url("phone", "act"));
        scene.browser.wait_for("Needs you");
        scene
    }

    /// A URL that pairs a device, from the real command.
    fn pairing_url(&self, name: &str, scope: &str) -> String {
        let port = self.api.port.to_string();
        let words = [
            "web", "pair", name, "--scope", scope, "--port", &port, "--json",
        ];
        let (exit, answer) = self.stage.json(&words);
        assert_eq!(exit, 0, "{answer}");
        answer["url"].as_str().unwrap().to_owned()
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.api.port)
    }

    /// From now on, counts the answers to requests of the page, by path and status.
    fn count_requests(&self) {
        self.browser.run(
            "const send = window.fetch;
            window.answers = [];
            window.fetch = async (path, options) => {
                const answer = await send(path, options);
                answers.push(`${answer.status} ${path}`);
                return answer;
            };",
            &[],
        );
    }

    fn answers(&self) -> Vec<String> {
        let answers = self.browser.value("window.answers");
        let answers = answers.as_array().unwrap().iter();
        answers.map(|it| it.as_str().unwrap().to_owned()).collect()
    }

    /// Holds every read of the page until they are released, as a slow network does.
    fn hold_reads(&self) {
        self.browser.run(
            "const send = window.fetch;
            const held = new Promise((release) => (window.releaseReads = release));
            window.fetch = async (path, options) => {
                if (options.method !== 'POST') await held;
                return send(path, options);
            };",
            &[],
        );
    }

    fn release_reads(&self) {
        self.browser.run("window.releaseReads()", &[]);
    }

    /// Tells the page that its tab is hidden, or visible again.
    fn set_hidden(&self, is_hidden: bool) {
        self.browser.run(
            "Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true });
            document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));",
            &[json!(is_hidden)],
        );
    }

    /// Presses the first line of the diff with this text.
    fn tap_line(&self, text: &str) {
        let lines = "[...document.querySelectorAll('[role=option]')]";
        let found = format!(
            "{lines}.find((it) => it.innerText.includes({}))",
            json!(text)
        );
        self.browser.wait_until(&format!("Boolean({found})"));
        self.browser.value(&format!("{found}.click()"));
    }

    /// The page did nothing that its policy forbids, and nothing went wrong but these answers.
    fn assert_quiet(&self, expected: &[&str]) {
        let complaints = self.browser.complaints();
        let is_expected = |it: &&String| !expected.iter().any(|status| it.contains(status));
        let rest: Vec<&String> = complaints.iter().filter(is_expected).collect();
        assert!(rest.is_empty(), "{rest:?}");
    }
}

/// A script for a worker that asks for permission as Claude Code does, and keeps the answer.
pub fn asking(command: &str, name: &str) -> String {
    let payload = payload(command);
    format!("printf '%s' '{payload}' | orange agent-ask | give {name}\n")
}

/// What Claude Code's hook is given when it asks for permission.
pub fn payload(command: &str) -> Value {
    json!({
        "cwd": "/tmp",
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": { "command": command },
    })
}

/// The texts of an array.
fn texts(value: &Value) -> Vec<&str> {
    let values = value.as_array().unwrap().iter();
    values.map(|it| it.as_str().unwrap()).collect()
}
