//! Workflow commands: gates and hooks, and calls from inside them.

use std::process::{Command, Stdio};
use std::{fs, thread};

use orange_engine::event::Fact;

use crate::support::gates::{HOOKED, gate_calls};
use crate::support::{COUNTED, Stage, start_with_gate, wait_for};

fn orange() -> &'static str {
    env!("CARGO_BIN_EXE_orange")
}

#[test]
fn a_hook_runs_once_in_the_workspace_and_has_read_only_access() {
    let hook = format!(
        "pwd > $OUT/where\n{0} task show $ORANGE_TASK_ID > $OUT/shown 2>&1; echo $? >> $OUT/shown\n\
         {0} task cancel $ORANGE_TASK_ID > $OUT/asked 2>&1; echo $? >> $OUT/asked\n",
        orange()
    );
    let (stage, id) = start_with_gate(&hook, "exit 0");
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let output = |name: &str| fs::read_to_string(stage.path("scripts").join(name)).unwrap();
    assert_eq!(
        output("where").trim(),
        stage.worktree(&id).display().to_string()
    );
    assert!(output("shown").ends_with("0\n"), "{}", output("shown"));
    assert!(output("asked").ends_with("3\n"), "{}", output("asked"));
    assert!(
        output("asked").contains("runs for it"),
        "{}",
        output("asked")
    );
    assert_eq!(stage.task(&id).status.as_str(), "held");
}

#[test]
fn a_hook_whose_performer_died_is_shown_and_not_repeated() {
    let (stage, id) = start_with_gate("echo once >> $OUT/ran\nsleep 600", "exit 0");
    let mut asker = stage.orange(&["task", "spawn", id.as_str(), "--wait", "1"]);
    let output = asker.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert_eq!(output.unwrap().code(), Some(5), "busy while the hook runs");
    wait_for("the hook", || stage.path("scripts/ran").exists());
    let pending = stage.store().pending(&id).unwrap();
    let pending = format!("{:?}", pending[0].mark);
    let pid = pending.split("process ").nth(1).unwrap();
    let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
    let mut kill = Command::new("kill");
    assert!(kill.args(["-9", &pid]).status().unwrap().success());
    stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
    let task = stage.task(&id);
    assert!(
        task.attention[0].contains("not repeated"),
        "{}",
        stage.diagnostics(&id)
    );
    let ran = fs::read_to_string(stage.path("scripts/ran")).unwrap();
    assert_eq!(ran, "once\n");
}

#[test]
fn a_gate_command_does_not_block_other_requests() {
    let gate =
        "touch $OUT/asking\nuntil [ -e $OUT/answer ]; do sleep 0.02; done\nexit $(cat $OUT/answer)";
    let (stage, id) = start_with_gate("exit 0", gate);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let asking = thread::scope(|scope| {
        let asking =
            scope.spawn(|| stage.call(&["task", "update", id.as_str(), "--status", "closed"]));
        wait_for("the gate", || stage.path("scripts/asking").exists());
        // Nothing is locked while the gate runs, and changes made meanwhile are not lost.
        stage.run_ok(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
        stage.script("answer", "1");
        asking.join().unwrap()
    });
    assert_eq!(asking.0, 3, "{}", asking.1);
    assert!(asking.1.contains("gate.sh"), "{}", asking.1);
    assert_eq!(stage.task(&id).summary, "Add two lines");
    stage.script("answer", "0");
    stage.run_ok(&["task", "update", id.as_str(), "--status", "closed"]);
    assert_eq!(stage.task(&id).status.as_str(), "closed");
    assert!(stage.store().workspace_of(&id).unwrap().is_none());
}

#[test]
fn a_slow_gate_is_answered_by_repeating_the_command() {
    let (stage, id) = start_with_gate("exit 0", COUNTED);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let close = [
        "task",
        "update",
        id.as_str(),
        "--status",
        "closed",
        "--wait",
        "1",
    ];
    let (code, output) = stage.call(&close);
    assert_eq!(code, 5, "{output}");
    assert!(output.contains("gate.sh` is still running"), "{output}");
    assert!(output.contains("to get the result"), "{output}");
    // Repeating the request too early starts nothing new.
    let (code, output) = stage.call(&close);
    assert_eq!((code, gate_calls(&stage)), (5, 1), "{output}");
    stage.script("answer", "0");
    wait_for("the gate", || {
        let commands = stage.store().gate_commands(&id).unwrap();
        commands.iter().all(|it| it.answer.is_some())
    });
    stage.run_ok(&close);
    assert_eq!(stage.task(&id).status.as_str(), "closed");
    assert_eq!(gate_calls(&stage), 1);
}

#[test]
fn a_gate_result_counts_only_for_the_checked_content() {
    let (stage, id) = start_with_gate("exit 0", COUNTED);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let close = [
        "task",
        "update",
        id.as_str(),
        "--status",
        "closed",
        "--wait",
        "1",
    ];
    assert_eq!(stage.call(&close).0, 5);
    stage.script("answer", "0");
    wait_for("the gate", || {
        let commands = stage.store().gate_commands(&id).unwrap();
        commands.iter().all(|it| it.answer.is_some())
    });
    // The current files are not the tested ones.
    fs::write(stage.worktree(&id).join("new.txt"), "not tested").unwrap();
    stage.script("answer", "1");
    let (code, output) = stage.call(&["task", "update", id.as_str(), "--status", "closed"]);
    assert_eq!(code, 3, "{output}");
    assert_eq!(gate_calls(&stage), 2);
    assert_eq!(stage.task(&id).status.as_str(), "held");
}

#[test]
fn two_slow_gates_each_run_once() {
    let (stage, id) = start_with_gate("exit 0", COUNTED);
    let out = stage.path("scripts").display().to_string();
    let text = HOOKED.replace("name: hooked", "name: twice");
    let text = text.replace(
        "gates:\n",
        "gates:\n  again: { command: [sh, \"OUT/gate.sh\", again], timeout: 60s }\n",
    );
    let text = text.replace("gate: asked", "gate: [asked, again]");
    let path = stage.path("home/workflows/twice.yml");
    fs::write(path, text.replace("OUT", &out)).unwrap();
    stage.run_ok(&["task", "cancel", id.as_str()]);
    let id = stage.create(&["Add a line", "--workflow", "twice"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let close = [
        "task",
        "update",
        id.as_str(),
        "--status",
        "closed",
        "--wait",
        "1",
    ];
    assert_eq!(stage.call(&close).0, 5);
    stage.script("answer", "0");
    wait_for("both gates", || {
        let commands = stage.store().gate_commands(&id).unwrap();
        commands.len() == 2 && commands.iter().all(|it| it.answer.is_some())
    });
    let mut close = close;
    close[6] = "60";
    stage.run_ok(&close);
    assert_eq!(gate_calls(&stage), 2);
    assert_eq!(stage.task(&id).status.as_str(), "closed");
}

#[test]
fn a_gate_that_cannot_run_is_a_result() {
    let (stage, id) = start_with_gate("exit 0", "exit 0");
    let out = stage.path("scripts").display().to_string();
    let text = HOOKED.replace("name: hooked", "name: barred");
    let text = text.replace("[sh, \"OUT/gate.sh\"]", "[\"OUT/gate.sh\"]");
    let path = stage.path("home/workflows/barred.yml");
    fs::write(path, text.replace("OUT", &out)).unwrap();
    stage.run_ok(&["task", "cancel", id.as_str()]);
    let id = stage.create(&["Add a line", "--workflow", "barred"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let (code, output) = stage.call(&["task", "update", id.as_str(), "--status", "closed"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("126"), "{output}");
}

#[test]
fn a_gate_outlives_its_caller() {
    let (stage, id) = start_with_gate("exit 0", COUNTED);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    let close = ["task", "update", id.as_str(), "--status", "closed"];
    let mut asking = stage.orange(&close);
    let mut asking = asking.stderr(Stdio::null()).spawn().unwrap();
    wait_for("the gate", || gate_calls(&stage) == 1);
    asking.kill().unwrap();
    asking.wait().unwrap();
    stage.script("answer", "0");
    stage.run_ok(&close);
    assert_eq!(gate_calls(&stage), 1);
    assert_eq!(stage.task(&id).status.as_str(), "closed");
}

#[test]
fn concurrent_requests_are_all_answered() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    thread::scope(|scope| {
        let calls: Vec<_> = (0..6)
            .map(|number| {
                let (stage, id) = (&stage, &id);
                scope.spawn(move || {
                    let summary = format!("Add {number} lines");
                    if number == 0 {
                        stage.call(&["task", "spawn", id.as_str()])
                    } else {
                        stage.call(&["task", "update", id.as_str(), "--summary", &summary])
                    }
                })
            })
            .collect();
        for call in calls {
            let (code, output) = call.join().unwrap();
            assert!(code == 0 || code == 5, "{code}: {output}");
        }
    });
    stage.wait_until_idle(&id);
    assert_eq!(stage.task(&id).status.as_str(), "planning");
    assert_eq!(stage.panes(), ["worker:0"]);
    let events = stage.store().events(&id, 0).unwrap();
    let amended = events
        .iter()
        .filter(|it| matches!(it.event.fact, Fact::TaskAmended { .. }));
    assert_eq!(amended.count(), 5);
}
