//! The test's repository, its remote and its entry in `projects.json`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Stage;

impl Stage {
    pub fn git_output(&self, directory: &str, arguments: &str) -> String {
        let output = self.git_in(&self.path(directory), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments}: {stderr}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Sets a key of the project in `projects.json`, as a user would.
    pub fn configure(&self, key: &str, value: &Value) {
        let path = self.home().projects();
        let text = fs::read_to_string(&path).unwrap();
        let mut projects: Value = serde_json::from_str(&text).unwrap();
        projects["projects"][0][key] = value.clone();
        fs::write(path, projects.to_string()).unwrap();
    }

    /// A bare remote with the same content as the repository, to which merges are pushed first.
    pub fn add_remote(&self) -> PathBuf {
        let root = self.path("");
        let clone = self.git_in(&root, "clone -q --bare repo remote.git");
        assert!(clone.status.success());
        let remote = self.path("remote.git");
        self.git_output("repo", &format!("remote add origin {}", remote.display()));
        self.git_output("repo", "fetch -q origin");
        self.configure("push", &json!(true));
        self.configure("remote", &json!(remote.display().to_string()));
        remote
    }
}
