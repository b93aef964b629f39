//! `orange task logs`.

use std::fs;
use std::process::Stdio;

use crate::support::scripts::FAIL;
use crate::support::{PLAN_AND_WORK, RunningSupervisor, Stage, wait_for, way};

#[test]
fn logs_show_the_pane_and_its_saved_scrollback() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'one\\ntwo\\n\\033[31mred\\033[0m\\n'; touch $SCRIPTS/shown",
    );
    let id = stage.create(&["fix", "Fix it"]);
    let (code, answer) = stage.json(&["task", "logs", "fix", "--json"]);
    assert_eq!((code, &answer["error"]["code"]), (4, &"no-output".into()));
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the lines", || {
        stage.run_ok(&["task", "logs", "fix"]).contains("red")
    });
    let live = stage.run_ok(&["task", "logs", "fix"]);
    assert!(live.contains("one\ntwo\nred\n"), "{live:?}");
    let (_, answer) = stage.json(&["task", "logs", "fix", "--role", "worker", "--json"]);
    assert_eq!(answer["is_running"], true);
    let (code, output) = stage.call(&["task", "logs", "fix", "--role", "reviewer"]);
    assert_eq!(code, 4, "{output}");
    assert!(output.contains("the task never had a reviewer"), "{output}");
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert_eq!(
        stage.run_ok(&["task", "logs", "fix"]),
        live,
        "kept unchanged"
    );
    let run = stage.store().runs(&id).unwrap()[0].id.clone();
    let file = stage
        .home()
        .tasks()
        .join(format!("app/{id}/runs/{run}/output.txt"));
    assert!(fs::read_to_string(&file).unwrap().contains("two"));
    // If nothing was kept, the answer says so.
    fs::remove_file(file).unwrap();
    let (code, output) = stage.call(&["task", "logs", "fix"]);
    assert_eq!(code, 4, "{output}");
    assert!(output.contains("its output was not saved"), "{output}");
}

#[test]
fn logs_follow_an_agent_until_it_exits() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "echo begun; pause more; echo more; pause last; echo last; exit 0",
    );
    let _id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    let followed = stage.path("followed");
    let file = fs::File::create(&followed).unwrap();
    let mut orange = stage.orange(&["task", "logs", "fix", "--follow"]);
    let mut child = orange.stdout(file).stderr(Stdio::null()).spawn().unwrap();
    let text = || fs::read_to_string(&followed).unwrap();
    stage.script("more", "");
    wait_for("the first line", || text().contains("begun"));
    assert!(child.try_wait().unwrap().is_none(), "it is still following");
    stage.script("last", "");
    assert!(child.wait().unwrap().success());
    let text = text();
    for line in ["begun", "more", "last"] {
        assert_eq!(text.lines().filter(|it| *it == line).count(), 1, "{text}");
    }
}

#[test]
fn the_output_of_a_dead_agent_ends_with_its_own_last_line() {
    let stage = Stage::new("default");
    stage.script("worker-1", "clear; echo last words; exit 7");
    stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the death", || {
        let (_, answer) = stage.json(&["task", "logs", "fix", "--json"]);
        answer["is_running"] == false
    });
    let (_, answer) = stage.json(&["task", "logs", "fix", "--json"]);
    let text = answer["text"].as_str().unwrap();
    assert!(text.ends_with("last words\n"), "{text:?}");
}

#[test]
fn logs_show_the_agent_that_runs_rather_than_one_that_has_exited() {
    let stage = Stage::new("default");
    stage.script("worker-1", &format!("{PLAN_AND_WORK}echo the worker waits"));
    stage.script("reviewer-1", &format!("echo the reviewer speaks\n{FAIL}"));
    let _serving = RunningSupervisor::start(&stage);
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the review", || way(&stage, &id).len() == 4);
    stage.wait_until_idle(&id);
    wait_for("the worker's output", || {
        stage.run_ok(&["logs", "fix"]).contains("the worker waits")
    });
    let reviewer = stage.run_ok(&["logs", "fix", "--role", "reviewer"]);
    assert!(reviewer.contains("the reviewer speaks"), "{reviewer}");
}

#[test]
fn the_output_of_an_agent_that_exited_outlives_the_tmux_server() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "echo FATAL: the reason of the crash; exit 3");
    let _serving = RunningSupervisor::start(&stage);
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the exit to be recorded", || {
        stage.store().runs(&id).unwrap()[0].ended_at.is_some()
    });
    let run = stage.store().runs(&id).unwrap()[0].id.clone();
    stage.tmux(&["kill-server"]);
    // While the server exits, tmux fails in other ways.
    let driver = stage.driver();
    wait_for("the end of the server", || {
        driver.agents.logs_of(&id, &run).is_ok()
    });
    assert_eq!(stage.panes(), [] as [&str; 0]);
    let logs = driver.agents.logs_of(&id, &run).unwrap();
    assert!(!logs.is_running);
    assert!(
        logs.text.ends_with("FATAL: the reason of the crash\n"),
        "{}",
        logs.text
    );
}
