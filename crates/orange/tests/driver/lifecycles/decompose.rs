//! A task that the router suggests to split.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use orange_engine::delegation::ChildMerge;
use orange_engine::names::TaskId;
use orange_engine::routing::Split;

use crate::support::{RunningSupervisor, Stage, wait_for};

/// Plans two parts, as a run without a worktree.
const PLAN: &str = r#"
pwd > $SCRIPTS/directory
give prompt < $prompt_file
cat > "$ORANGE_REPORT" <<'JSON'
{"status":"in_progress","summary":"two parts","delegations":["One","Two"]}
JSON
exit 0
"#;

const WORK: &str = r#"
part=$(git branch --show-current | sed 's/.*-//')
echo "$part" > "part-$part.txt"
git add .
git commit -qm "part $part"
echo '{"status":"done","files_changed":["x"]}' > "$ORANGE_REPORT"
exit 0
"#;

/// A stage whose router suggests a split of every task but children.
fn staged(decompose: &str) -> Stage {
    let stage = Stage::new("autopilot");
    let path = stage.path("home/harnesses/script.toml");
    let headless = "[args.headless]\nfull = [\"--prompt-file\", \"{prompt_file}\", \"-p\"]\n";
    let script = fs::read_to_string(&path).unwrap() + headless;
    fs::write(&path, script).unwrap();
    let program = stage.path("router");
    let answer = r#"{"executor": "script", "decompose": true, "reason": "It has two parts."}"#;
    fs::write(&program, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let definition = format!(
        "name = \"router\"\nbinary = \"{}\"\n[args]\nfull = []\n[args.headless]\nreduced = []\n",
        program.display()
    );
    fs::write(stage.path("home/harnesses/router.toml"), definition).unwrap();
    let settings = format!(
        "[router]\nharness = \"router\"\nchoices = [\"script\"]\ndecompose = \"{decompose}\"\n"
    );
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    stage
}

fn why(stage: &Stage, id: &TaskId) -> String {
    stage.run_ok(&["task", "why", id.as_str()])
}

/// Seed 004, lines 36, 40 and 119: split before execution, planned without a worktree.
#[test]
fn a_planned_split_creates_the_parts_and_merges_them() {
    let stage = staged("auto");
    stage.script("worker-1", PLAN);
    stage.script("worker-2", WORK);
    stage.script("worker-3", WORK);
    stage.script(
        "worker-4",
        "pwd > $SCRIPTS/worktree\nls > $SCRIPTS/files\nhang",
    );
    let serving = RunningSupervisor::start(&stage);
    let id = stage.create(&["The whole"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the last run", || stage.path("scripts/hangs").exists());
    let directory = fs::read_to_string(stage.path("scripts/directory")).unwrap();
    assert!(
        directory.trim().ends_with(&format!("{id}/work")),
        "{directory}"
    );
    let prompt = fs::read_to_string(stage.path("scripts/prompt")).unwrap();
    assert!(
        prompt.contains("Plan the parts of a task: The whole"),
        "{prompt}"
    );
    let task = stage.task(&id);
    assert_eq!(task.routing.split, Split::Planned);
    assert_eq!(task.children.len(), 2, "{}", stage.diagnostics(&id));
    let merges: Vec<&ChildMerge> = task.child_merges.values().collect();
    assert_eq!(merges, [&ChildMerge::Merged, &ChildMerge::Merged]);
    let worktree = fs::read_to_string(stage.path("scripts/worktree")).unwrap();
    assert!(worktree.contains("/workspaces/"), "{worktree}");
    let files = fs::read_to_string(stage.path("scripts/files")).unwrap();
    assert!(files.contains("part-1.txt\npart-2.txt\n"), "{files}");
    // A child is routed by its parent, so the router is not asked to split it again.
    for child in task.children.keys() {
        assert_eq!(stage.task(child).routing.split, Split::No);
    }
    drop(serving);
}

#[test]
fn a_suggested_split_waits_for_the_user() {
    let stage = staged("ask");
    stage.script("worker-1", PLAN);
    let serving = RunningSupervisor::start(&stage);
    let id = stage.create(&["The whole"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the question", || {
        stage.task(&id).routing.split == Split::Suggested
    });
    let command = format!("orange task spawn {id} --plan");
    assert!(stage.run_ok(&["attention"]).contains(&command));
    assert!(why(&stage, &id).contains(&command), "{}", why(&stage, &id));
    assert!(why(&stage, &id).contains("It has two parts.; it suggests splitting the task"));
    // The supervisor does not start it.
    let other = stage.create(&["--branch", "b", "--harness", "script", "Another"]);
    stage.script("worker-2", "hang");
    stage.script("worker-1", "hang");
    stage.run_ok(&["task", "spawn", other.as_str()]);
    stage.wait_for_status(&other, "in_progress");
    assert_eq!(stage.task(&id).status.as_str(), "routed");
    stage.script("worker-2", PLAN);
    stage.run_ok(&["task", "spawn", id.as_str(), "--plan"]);
    wait_for("the parts", || stage.task(&id).children.len() == 2);
    drop(serving);
}

#[test]
fn a_suggestion_can_be_declined() {
    let stage = staged("ask");
    stage.script("worker-1", "pwd > $SCRIPTS/worktree\nhang");
    let id = stage.create(&["The whole"]);
    let (_, output) = stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    assert_eq!(stage.task(&id).status.as_str(), "routed", "{output}");
    assert!(
        output.contains(&format!("orange task spawn {id} --plan")),
        "{output}"
    );
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the run", || stage.path("scripts/hangs").exists());
    let worktree = fs::read_to_string(stage.path("scripts/worktree")).unwrap();
    assert!(worktree.contains("/workspaces/"), "{worktree}");
    let task = stage.task(&id);
    assert_eq!(task.routing.split, Split::Ignored);
    assert!(task.attention.is_empty(), "{:?}", task.attention);
}

#[test]
fn a_suggestion_is_ignored_if_the_settings_say_so() {
    let stage = staged("off");
    stage.script("worker-1", "hang");
    let id = stage.create(&["The whole"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    assert_eq!(stage.task(&id).status.as_str(), "in_progress");
    let expected =
        "It has two parts. It suggests splitting the task, but `router.decompose` is `off`.";
    assert!(why(&stage, &id).contains(expected), "{}", why(&stage, &id));
}

/// A planning run that finds nothing to split hands the task to an ordinary run.
#[test]
fn a_plan_without_parts_leads_to_an_ordinary_run() {
    let stage = staged("auto");
    stage.script(
        "worker-1",
        "echo '{\"status\":\"in_progress\",\"summary\":\"one piece\"}' > \"$ORANGE_REPORT\"\nexit 0",
    );
    stage.script("worker-2", "pwd > $SCRIPTS/worktree\nhang");
    let id = stage.create(&["The whole"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("its end", || stage.panes() == ["worker:1"]);
    stage.call(&["task", "update", id.as_str(), "--summary", "All"]);
    stage.wait_for_status(&id, "new");
    assert_eq!(stage.task(&id).routing.split, Split::Planned);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the run", || stage.path("scripts/hangs").exists());
    let worktree = fs::read_to_string(stage.path("scripts/worktree")).unwrap();
    assert!(worktree.contains("/workspaces/"), "{worktree}");
}

/// Only a queued task can be planned, and only by the user.
#[test]
fn a_running_task_is_not_planned() {
    let stage = staged("off");
    stage.script("worker-1", "ask task spawn --plan\nhang");
    let id = stage.create(&["The whole"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the run", || stage.path("scripts/hangs").exists());
    assert!(
        stage.calls().contains("task spawn --plan -> 3"),
        "{}",
        stage.calls()
    );
    let (code, output) = stage.call(&["task", "spawn", id.as_str(), "--plan"]);
    assert_eq!(code, 3, "{output}");
    assert_eq!(stage.task(&id).routing.split, Split::Ignored);
}
