//! Workflows with gates and hooks that a test controls.

use std::fs;

use orange_engine::names::TaskId;

use crate::support::Stage;

/// `$OUT` stands for a directory of the test.
pub const HOOKED: &str = r#"
name: hooked
version: 1
states:
  open: { kind: queued }
  held: { kind: human, expects: [] }
  closed: { kind: terminal }
gates:
  asked: { command: [sh, "OUT/gate.sh"], timeout: 60s }
transitions:
  - from: open
    to: held
    when: spawn_failures < 3
    hooks:
      - { action: acquire_workspace }
      - { action: run_command, command: [sh, "OUT/hook.sh"] }
  - from: held
    to: open
    trigger: spawn_failed
    set: { spawn_failures: increment }
  - from: held
    to: closed
    gate: asked
    hooks:
      - { action: release_workspace }
  - from: open
    to: closed
verbs:
  spawn: held
  merge: []
  cancel: closed
"#;

pub fn start_with_gate(hook: &str, gate: &str) -> (Stage, TaskId) {
    start_with_workflow(hook, gate, |text| text)
}

/// The same with a modified workflow text.
pub fn start_with_workflow(
    hook: &str,
    gate: &str,
    change: impl FnOnce(String) -> String,
) -> (Stage, TaskId) {
    let stage = Stage::new("default");
    let out = stage.path("scripts").display().to_string();
    fs::create_dir_all(stage.path("home/workflows")).unwrap();
    let text = change(HOOKED.replace("OUT", &out));
    fs::write(stage.path("home/workflows/hooked.yml"), text).unwrap();
    stage.script("hook.sh", &format!("OUT={out}\n{hook}"));
    stage.script("gate.sh", &format!("OUT={out}\n{gate}"));
    let id = stage.create(&["Add a line", "--workflow", "hooked"]);
    (stage, id)
}

/// A gate that counts its calls, and answers once the test says so.
pub const COUNTED: &str = "echo asked >> $OUT/asked\nuntil [ -e $OUT/answer ]; do sleep 0.02; done\n\
                       exit $(cat $OUT/answer)";

pub fn gate_calls(stage: &Stage) -> usize {
    let asked = fs::read_to_string(stage.path("scripts/asked"));
    asked.unwrap_or_default().lines().count()
}

/// Two statuses that the user moves between, with no hooks on the way.
pub const SIDES: &str = r#"
name: sides
version: 1
states:
  open: { kind: queued }
  left: { kind: human, expects: [] }
  right: { kind: human, expects: [] }
  closed: { kind: terminal }
transitions:
  - from: open
    to: left
    by: human
    hooks:
      - { action: acquire_workspace }
  - { from: left, to: right, by: human }
  - { from: right, to: left, by: human }
  - { from: open, to: right, by: human }
  - from: "*active"
    to: closed
    by: human
    hooks:
      - { action: release_workspace }
verbs: { spawn: left, merge: [], cancel: closed }
"#;
