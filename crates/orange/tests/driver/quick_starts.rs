//! Starts that the user's own command performs.

use std::fs;
use std::process::{Child, Command, Stdio};

use orange_engine::names::TaskId;
use orange_store::{PendingProgress, TaskFilter};

use crate::support::{Stage, wait_for};

/// Makes git run a filter of the user when it writes a file: it runs this script, and then holds the
/// checkout until the file `go` exists.
fn hold_checkout(stage: &Stage, script: &str) {
    let program = stage.path("filter");
    let (began, go) = (stage.path("began"), stage.path("go"));
    let (began, go) = (began.display(), go.display());
    let text =
        format!("{script}\ntouch '{began}'\nuntil [ -e '{go}' ]; do sleep 0.05; done\nexec cat\n");
    fs::write(&program, text).unwrap();
    let setting = format!(
        "[filter \"held\"]\n\tsmudge = sh {0}\n\tclean = cat\n",
        program.display()
    );
    fs::write(stage.path(".gitconfig"), setting).unwrap();
    fs::write(stage.path("repo/.gitattributes"), "*.txt filter=held\n").unwrap();
    fs::write(stage.path("repo/held.txt"), "held\n").unwrap();
    for call in ["add -A", "commit -q -m held"] {
        assert!(stage.git(call).status.success(), "git {call}");
    }
}

fn begin(stage: &Stage, arguments: &[&str]) -> Child {
    let mut orange = stage.orange(arguments);
    orange.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = orange.spawn().unwrap();
    wait_for("the checkout", || stage.path("began").exists());
    child
}

fn only_task(stage: &Stage) -> TaskId {
    let (_, listed) = stage.json(&["task", "list", "--json"]);
    TaskId::new(listed["tasks"][0]["id"].as_str().unwrap())
}

/// The process that performs the first effect of a task.
fn performer(stage: &Stage, id: &TaskId) -> u32 {
    let pending = stage.store().pending(id).unwrap();
    match &pending[0].mark {
        PendingProgress::Started { by, .. } => by.trim_start_matches("process ").parse().unwrap(),
        other => panic!("nothing is performed: {other:?}"),
    }
}

fn require_started(stage: &Stage, id: &TaskId) {
    fs::write(stage.path("go"), "").unwrap();
    stage.wait_until_idle(id);
    assert_eq!(stage.panes(), ["worker:0"]);
    let worktree = stage.worktree(id);
    assert_eq!(
        fs::read_to_string(worktree.join("held.txt")).unwrap(),
        "held\n"
    );
}

fn send(signal: &str, child: &Child) {
    let mut kill = Command::new("kill");
    let kill = kill.args(["-s", signal, &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
}

#[test]
fn an_interrupted_start_is_completed_by_another_process() {
    for (signal, code) in [("INT", Some(130)), ("KILL", None)] {
        let stage = Stage::new("default");
        hold_checkout(&stage, "");
        let mut child = begin(
            &stage,
            &["task", "create", "fix", "Fix it", "--wait", "600"],
        );
        let id = only_task(&stage);
        assert_eq!(performer(&stage, &id), child.id());
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), code);
        if signal == "KILL" {
            // The next command for the task continues.
            stage
                .orange(&["task", "spawn", "fix", "--wait", "0"])
                .output()
                .unwrap();
        }
        require_started(&stage, &id);
    }
}

#[test]
fn a_start_that_takes_longer_than_the_caller_waits_is_completed_by_another_process() {
    let stage = Stage::new("default");
    hold_checkout(&stage, "");
    let mut child = begin(&stage, &["task", "create", "fix", "Fix it", "--wait", "1"]);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let id = only_task(&stage);
    require_started(&stage, &id);
}

#[test]
fn a_second_command_does_not_perform_what_another_one_performs() {
    let stage = Stage::new("default");
    hold_checkout(&stage, "");
    let mut child = begin(
        &stage,
        &["task", "create", "fix", "Fix it", "--wait", "600"],
    );
    let id = only_task(&stage);
    let second = stage
        .orange(&["task", "tell", "fix", "Hello", "--wait", "1"])
        .output();
    assert_ne!(second.unwrap().status.code(), None);
    assert_eq!(performer(&stage, &id), child.id());
    require_started(&stage, &id);
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_agents_call_never_performs_in_its_own_process() {
    let stage = Stage::new("default");
    stage.configure("pool_size", &4.into());
    stage.script(
        "worker-1",
        "pause ready\nask task create --branch sub 'A part' --wait 600",
    );
    let parent = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", parent.as_str()]);
    hold_checkout(&stage, "");
    fs::write(stage.path("scripts/ready"), "").unwrap();
    wait_for("the checkout", || stage.path("began").exists());
    let tasks = stage.store().list(&TaskFilter::default()).unwrap().tasks;
    let ids = tasks.into_iter().map(|it| it.task.id);
    let part = ids.into_iter().find(|id| *id != parent).unwrap();
    let pid = performer(&stage, &part);
    let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert_eq!(words.split('\0').nth(1), Some("perform"), "{words}");
    fs::write(stage.path("go"), "").unwrap();
    stage.wait_until_idle(&part);
}

#[test]
fn a_filter_of_the_user_is_not_the_user() {
    let stage = Stage::new("default");
    let other = stage.create(&["other", "Another task"]);
    let script = format!(
        "cd /\nORANGE_HOME='{}' '{}' task cancel {other} --yes > '{}' 2>&1",
        stage.path("home").display(),
        env!("CARGO_BIN_EXE_orange"),
        stage.path("said").display(),
    );
    hold_checkout(&stage, &script);
    let mut child = begin(
        &stage,
        &["task", "create", "fix", "Fix it", "--wait", "600"],
    );
    fs::write(stage.path("go"), "").unwrap();
    assert!(child.wait().unwrap().success());
    let said = fs::read_to_string(stage.path("said")).unwrap();
    assert!(said.contains("belongs to no agent"), "{said}");
    assert_eq!(stage.task(&other).status.as_str(), "pending");
}
