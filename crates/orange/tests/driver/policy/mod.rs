//! The policy of a repository: shown, allowed, used, attacked.

mod allow;
mod hostile;
mod in_use;
mod trust;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Stage;

/// A workflow that the proofs accept.
pub const TEAM: &str = "name: team\nversion: 1\nstates:\n  pending: { kind: queued }\n  \
                        asked: { kind: human }\n  done: { kind: terminal }\ntransitions:\n  \
                        - { from: pending, to: asked, by: human }\n  \
                        - { from: asked, to: done, by: human }\n  \
                        - { from: pending, to: done, by: human }\n\
                        verbs: { spawn: asked, complete: done, merge: [], unblock: [], retry: [] }\n";

pub const SETTINGS: &str = "workflow = \"team\"\nsetup = [\"sh\", \"-c\", \"echo ready > made-by-setup\"]\n\
                            [merge]\nverify = \"make test\"\n";

/// The files of a policy.
pub const POLICY: &[(&str, &str)] = &[
    (".orange/policy.toml", SETTINGS),
    (".orange/workflows/team.yml", TEAM),
];

pub fn write_files(checkout: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = checkout.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Stage {
    /// A project that sets no workflow, so that a policy can.
    pub fn with_policy(files: &[(&str, &str)]) -> Stage {
        let stage = Stage::new("default");
        stage.configure("workflow", &Value::Null);
        stage.commit_files(&stage.path("repo"), files);
        stage
    }

    /// Commits files on the branch that is checked out there.
    pub fn commit_files(&self, checkout: &Path, files: &[(&str, &str)]) {
        write_files(checkout, files);
        for call in ["add -f .orange", "commit -qm policy"] {
            let done = self.git_in(checkout, call);
            assert!(done.status.success(), "git {call}: {done:?}");
        }
    }

    /// The error code of a call with `--json`.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let (code, answer) = self.json(&[arguments, &["--json"]].concat());
        assert_ne!(code, 0, "{answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }

    pub fn policy_state(&self) -> String {
        let (_, shown) = self.json(&["project", "show", "app", "--json"]);
        shown["policy"]["state"].as_str().unwrap().to_owned()
    }

    /// The value of a setting of the project, and the kind of its source.
    pub fn setting(&self, key: &str) -> (Value, String) {
        let (_, shown) = self.json(&["config", "show", "--project", "app", "--json"]);
        let settings = shown["settings"].as_array().unwrap().iter();
        let found = settings.clone().find(|it| it["key"] == key);
        let found = found
            .cloned()
            .unwrap_or_else(|| json!({ "origin": { "kind": "" } }));
        let kind = found["origin"]["kind"].as_str().unwrap().to_owned();
        (found["value"].clone(), kind)
    }
}
