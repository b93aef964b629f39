//! Stages whose agents work in a sandbox.

use std::fs;

use serde_json::Value;

use crate::support::Stage;

/// Whether an agent runs in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    Sandbox,
    /// One without namespaces.
    Partial,
    Nothing,
    /// No sandbox, but the agent can be frozen.
    Freezable,
}

impl Stage {
    /// A stage whose agents are in a sandbox; they share the folder with their scripts.
    pub fn sandboxed(workflow: &str) -> Stage {
        let stage = Stage::new(workflow);
        stage.require_sandbox(&["~/scripts"]);
        fs::write(stage.path("secret"), "canary").unwrap();
        stage
    }

    /// Leaves it to the settings whether agents are in a sandbox.
    pub fn sandbox_by_settings(self) -> Stage {
        self.configure("sandbox_mode", &Value::Null);
        self
    }

    /// Puts agents in a sandbox that shares these folders.
    pub fn require_sandbox(&self, shared: &[&str]) {
        let path = self.path("home/harnesses/script.toml");
        let definition = fs::read_to_string(&path).unwrap();
        let table = format!("[sandbox]\nshare = {shared:?}\n");
        fs::write(&path, format!("{definition}{table}")).unwrap();
        self.configure("sandbox_mode", &Value::Null);
        let settings = "[sandbox]\nmode = \"required\"\n";
        fs::write(self.home().settings(), settings).unwrap();
    }
}
