//! An agent that only knows what refusals tell it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use orange_driver::{TaskRequest, WaitPolicy};
use orange_engine::input::{Request, RequestKind};
use orange_engine::language::verbs::Verb;
use orange_engine::refusal::Blocker;
use orange_engine::role::Role;

use crate::support::{PLAN_AND_WORK, Stage, wait_for, way};

/// Does everything in the wrong order, and then follows the hint literally: it edits TASK.md where
/// the hint says so, and runs the command in the hint, or the one with the word if there are
/// several.
const WRONG: &str = r#"
obey() {
    flat=$(printf '%s' "$said" | tr '\n' ' ' | tr -s ' ')
    hint=${flat#*hint: }
    edit=$(printf '%s' "$hint" |
        sed -n 's/.*\(add to\|write in\) TASK.md: `\(## [A-Za-z]*\)` with at least one of the lines `\([A-Z]*\): .*/\2|\3/p')
    if [ -n "$edit" ]; then
        heading=${edit%|*} field=${edit#*|}
        if grep -q "^$heading" TASK.md; then
            sed "s/^$heading.*/$heading\n\n$field: as the hint says/" TASK.md > .edited
            cat .edited > TASK.md
            rm .edited
        else
            printf '\n%s\n\n%s: as the hint says\n' "$heading" "$field" >> TASK.md
        fi
    fi
    commands=$(printf '%s' "$hint" | grep -o '`orange [^`]*`' | tr -d '`')
    command=$(printf '%s\n' "$commands" | grep -- "$1" | head -n 1)
    [ -n "$command" ] || command=$(printf '%s\n' "$commands" | head -n 1)
    echo "${command:-nothing to run in: $hint}" >> "$SCRIPTS/obeyed"
    [ -n "$command" ] || return 1
    set -- $command
    shift
    ask "$@"
}
wrong() {
    if ask "$@"; then echo "$*" >> "$SCRIPTS/let-through"; fi
}
# In planning: a word that leads nowhere, then the review, without a plan.
wrong task complete
obey why
wrong task update --status agent-review
obey working || obey working
# A status that the workflow does not have.
wrong task update --status review
echo "$said" >> "$SCRIPTS/unknown"
# What only others may ask for.
wrong task update --status reviewing
wrong task merge
wrong task update --status done --yes
# The handoff is forgotten, then empty, then in a code block.
wrong task update --status agent-review
printf '\n## Handoff\n\nDONE:\n' >> TASK.md
# Nothing is committed yet, and then only a part of it.
wrong task update --status agent-review
commit "The work"
echo more > more.txt
wrong task update --status agent-review
git add more.txt
git commit -qm more
wrong task update --status agent-review
obey agent-review
"#;

#[test]
fn a_worker_that_follows_the_hints_reaches_the_review() {
    let stage = Stage::new("default");
    stage.script("worker-1", WRONG);
    stage.script("reviewer-1", "hang");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert_eq!(stage.task(&id).status.as_str(), "agent-review", "{calls}");
    assert_eq!(way(&stage, &id), ["planning", "working", "agent-review"]);
    assert!(!stage.path("scripts/let-through").exists(), "{calls}");
    let obeyed = fs::read_to_string(stage.path("scripts/obeyed")).unwrap();
    assert!(
        obeyed.lines().all(|line| line.starts_with("orange ")),
        "{obeyed}"
    );
    assert!(
        !calls.contains("-> 2\n"),
        "a hint names a command that is used wrongly: {calls}"
    );
    // Only the unknown status.
    assert_eq!(calls.matches("-> 4\n").count(), 1, "{calls}");
    // Every refusal came with a hint.
    let refused = calls.split("worker 1: ").filter(|it| it.contains("-> 3\n"));
    let mut count = 0;
    for call in refused {
        assert!(call.contains("\nhint: "), "{call}");
        count += 1;
    }
    assert!(count >= 8, "{calls}");
    let unknown = fs::read_to_string(stage.path("scripts/unknown")).unwrap();
    let unknown = unknown.replace("\n      ", " ");
    assert!(
        unknown.contains("`orange task update --status agent-review`"),
        "{unknown}"
    );
}

#[test]
fn only_the_user_can_confirm() {
    let stage = Stage::new("default");
    let asking = "\
name: asking
version: 1
states:
  open: { kind: queued }
  busy: { kind: agent, expects: [worker], respawn: { worker: { prompt: worker } } }
  shut: { kind: terminal }
transitions:
  - from: open
    to: busy
    by: human
    hooks:
      - action: acquire_workspace
      - { action: spawn_agent, prompt: worker }
  - from: busy
    to: shut
    confirm: Really?
    hooks:
      - action: kill_session
      - action: release_workspace
  - from: busy
    to: open
    trigger: spawn_failed
verbs:
  spawn: busy
exit_monitoring:
  rules:
    - { status: busy, action: mark_dead }
prompts:
  worker: Work.
";
    fs::create_dir_all(stage.home().workflows()).unwrap();
    fs::write(stage.home().workflows().join("asking.yml"), asking).unwrap();
    stage.script("worker-1", "ask task update --status shut --yes");
    let id = stage.create(&["fix", "Fix it", "--workflow", "asking"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls().replace("\n      ", " ");
    assert!(calls.contains("-> 3"), "{calls}");
    assert!(
        calls.contains("the user must confirm: \"Really?\""),
        "{calls}"
    );
    let person = format!("ask the user to run `orange task update {id} --status shut`");
    assert!(calls.contains(&person), "{calls}");
    assert_eq!(stage.task(&id).status.as_str(), "busy");
    let (code, answer) = stage.json(&["task", "update", "fix", "--status", "shut", "--json"]);
    assert_eq!(code, 3);
    let question = Blocker::ConfirmationNeeded {
        question: String::from("Really?"),
    };
    let refusal = &answer["error"]["details"]["refusal"];
    assert_eq!(refusal["missing"][0]["code"], question.code());
    stage.run_ok(&[
        "task", "update", "fix", "--status", "shut", "--yes", "--wait", "60",
    ]);
}

#[test]
fn a_dead_reviewer_respawns_and_the_answer_says_so() {
    let stage = Stage::new("default");
    stage.script("worker-1", PLAN_AND_WORK);
    stage.script("reviewer-1", "exit 3");
    stage.script("reviewer-2", "hang");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "agent-review");
    wait_for("the death", || stage.panes() == ["reviewer:1", "worker:0"]);
    let (code, output) = stage.call(&["task", "respawn", "fix", "--wait", "60"]);
    assert_eq!(code, 0, "{output}\n{}", stage.diagnostics(&id));
    let (code, output) = stage.call(&["task", "respawn", "fix", "--role", "reviewer"]);
    assert_eq!(code, 0, "{output}");
    wait_for("the reviewer", || {
        stage.panes().contains(&String::from("reviewer:0"))
    });
    stage.wait_until_idle(&id);
    let (code, output) = stage.call(&["task", "respawn", "fix", "--role", "reviewer"]);
    assert_eq!(code, 3, "a running agent is not respawned: {output}");
}

#[test]
fn an_unwritable_projection_does_not_block_effects() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    let request = TaskRequest {
        task: id.clone(),
        request: Request::new(Role::Human, RequestKind::Verb(Verb::Spawn)),
        waiting: WaitPolicy::Skip,
    };
    stage.driver().requests.ask(&request).unwrap();
    let history = stage.home().tasks().join(format!("app/{id}/history.jsonl"));
    let aside = history.with_extension("aside");
    fs::rename(&history, &aside).unwrap();
    fs::create_dir(&history).unwrap();
    // The first tmux call fails, so that an effect is pending while the copies cannot be written.
    let programs = stage.path("programs");
    fs::create_dir(&programs).unwrap();
    let once = stage.path("tmux-failed").display().to_string();
    let real = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nPATH={real}\n[ -e {once} ] || {{ touch {once}; exit 1; }}\nexec tmux \"$@\"\n"
    );
    fs::write(programs.join("tmux"), script).unwrap();
    let mode = fs::Permissions::from_mode(0o700);
    fs::set_permissions(programs.join("tmux"), mode).unwrap();
    let path = format!("{}:{real}", programs.display());
    let mut perform = stage.orange(&["perform", id.as_str()]);
    let output = perform.env("PATH", path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(stage.path("tmux-failed").exists());
    assert!(
        stage.task(&id).pending.is_empty(),
        "{}",
        stage.diagnostics(&id)
    );
    assert_eq!(stage.panes(), ["worker:0"], "{}", stage.diagnostics(&id));
    assert_eq!(output.status.code(), Some(1), "reported at the end: {text}");
    fs::remove_dir(&history).unwrap();
    fs::rename(&aside, &history).unwrap();
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.rebuild(&id);
}
