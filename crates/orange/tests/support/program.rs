//! The real program, called by a user and by agents.

use std::process::Output;

use orange_engine::names::TaskId;
use serde_json::Value;

use crate::schema_check::judge;
use crate::support::Stage;

impl Stage {
    /// Calls the program as a user; returns its exit code and its output.
    pub fn call(&self, arguments: &[&str]) -> (i32, String) {
        code_and_text(&self.orange(arguments).output().unwrap())
    }

    /// The same, for a call that must succeed.
    pub fn run_ok(&self, arguments: &[&str]) -> String {
        let (code, output) = self.call(arguments);
        assert_eq!(code, 0, "orange {arguments:?}: {output}\n{}", self.calls());
        output
    }

    /// Creates a task without starting it.
    pub fn create(&self, arguments: &[&str]) -> TaskId {
        let typed = ["task", "create", "--no-spawn", "--json"]
            .iter()
            .chain(arguments);
        let typed: Vec<&str> = typed.copied().collect();
        let output = self.orange(&typed).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        judge(&answer);
        TaskId::new(answer["task"]["id"].as_str().unwrap())
    }

    /// The exit code and answer of a call with `--json`.
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.orange(arguments).output().unwrap();
        let answer = serde_json::from_slice(&output.stdout);
        let answer = answer.unwrap_or_else(|error| panic!("{error}: {}", code_and_text(&output).1));
        judge(&answer);
        (output.status.code().unwrap(), answer)
    }
}

fn code_and_text(output: &Output) -> (i32, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let body = text(&output.stdout) + &text(&output.stderr);
    (output.status.code().unwrap_or(-1), body)
}
