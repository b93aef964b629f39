//! Commands that only look: history, why, logs, wait.

use std::fs;
use std::process::Stdio;

use orange_engine::names::TaskId;

use crate::stage::{Stage, wait_for};
use crate::stories::PLAN_AND_WORK;

impl Stage {
    /// Everything a look could have changed: the task, and every file of its directory.
    fn everything(&self, id: &TaskId) -> (u64, Vec<(String, Vec<u8>)>) {
        let directory = self.home().tasks().join("app").join(id.as_str());
        let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        (self.task(id).version, files)
    }
}

#[test]
fn history_tells_in_words_what_happened_and_why() {
    let stage = Stage::new("default");
    stage.script("worker-1", &format!("{PLAN_AND_WORK}exit 0"));
    stage.script("reviewer-1", "hang");
    let id = stage.create(&["fix", "Mend it"]);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "agent-review");
    stage.wait_for_rest(&id);
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    insta::assert_snapshot!(stage.transcript(&["task", "history", "fix"]));
    let all = stage.must(&["task", "history", "fix", "--all"]);
    assert!(all.contains("acquire_workspace was planned"), "{all}");
    assert!(all.contains("acquire_workspace was done"), "{all}");
    let (code, answer) = stage.json(&["task", "history", "fix", "--json"]);
    assert_eq!(code, 0);
    let events = answer["events"].as_array().unwrap();
    assert_eq!(events.len() as u64, stage.task(&id).version);
    assert!(
        events
            .iter()
            .all(|it| !it["told"].as_str().unwrap().is_empty())
    );
    assert_eq!(events[0]["type"], "task.created");
    let (code, _) = stage.call(&["task", "history", "nothing"]);
    assert_eq!(code, 4);
}

#[test]
fn what_was_said_with_stuck_is_shown() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'APPROACH: a\\n' | section Plan
ask task update --status working
ask task stuck -m 'The key is missing'",
    );
    let id = stage.create(&["fix", "Mend it"]);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_status(&id, "stuck");
    for command in ["show", "history", "why"] {
        let said = stage.must(&["task", command, "fix"]);
        assert!(
            said.contains("saying: The key is missing"),
            "{command}: {said}"
        );
    }
    let (_, shown) = stage.json(&["task", "show", "fix", "--json"]);
    assert_eq!(shown["why"]["message"], "The key is missing");
}

#[test]
fn why_says_what_every_step_still_needs_and_changes_nothing() {
    let stage = Stage::new("default");
    let waiting = stage.transcript(&["task", "create", "fix", "Mend it", "--no-spawn"]);
    assert!(waiting.contains("[exit 0]"), "{waiting}");
    let id = stage.driver().callers.meant(Some("fix")).unwrap();
    insta::assert_snapshot!("why_in_a_queue", stage.transcript(&["task", "why", "fix"]));
    stage.script(
        "worker-1",
        "pause plan
printf 'APPROACH: a\\n' | section Plan
touch $SCRIPTS/planned",
    );
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the worker", || stage.panes() == ["worker:0"]);
    stage.wait_for_rest(&id);
    let before = stage.everything(&id);
    insta::assert_snapshot!("why_in_planning", stage.transcript(&["task", "why", "fix"]));
    assert_eq!(stage.everything(&id), before, "reads never write");
    stage.script("plan", "");
    wait_for("the plan", || stage.path("scripts/planned").exists());
    let said = stage.must(&["task", "why", "fix"]);
    assert!(said.contains("shown: `## Plan` has APPROACH"), "{said}");
    assert!(!said.contains("`## Plan` is missing"), "{said}");
    let (code, answer) = stage.json(&["task", "why", "fix", "--json"]);
    assert_eq!((code, &answer["status"]), (0, &"planning".into()));
    let ways = answer["ways"].as_array().unwrap();
    let working = ways.iter().find(|it| it["to"] == "working").unwrap();
    assert_eq!(working["missing"].as_array().unwrap().len(), 0, "{working}");
    let command = format!("orange task update {id} --status working");
    assert_eq!(working["command"], command.as_str());
    // What it names can be run as it stands.
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    stage.must(&words);
    // Nothing leads out of an end, and the merge asks about git.
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    insta::assert_snapshot!("why_at_an_end", stage.transcript(&["task", "why", "fix"]));
}

#[test]
fn why_says_how_it_knows_that_an_agent_is_dead() {
    let stage = Stage::new("default");
    stage.script("worker-1", "exit 3");
    let id = stage.create(&["fix", "Mend it"]);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    let why = || stage.must(&["task", "why", "fix"]);
    wait_for("the death", || {
        why().contains("exited with code 3; not judged yet")
    });
    stage.must(&["task", "update", "fix", "--summary", "Mend all"]);
    let said = why();
    assert!(
        said.contains("exited with code 3; that was judged"),
        "{said}"
    );
    assert!(said.contains("that was crash 1 of the worker"), "{said}");
    assert_eq!(stage.task(&id).status.as_str(), "planning");
}

#[test]
fn logs_show_the_pane_and_what_was_kept_of_it() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "printf 'one\\ntwo\\n\\033[31mred\\033[0m\\n'; touch $SCRIPTS/shown",
    );
    let id = stage.create(&["fix", "Mend it"]);
    let (code, answer) = stage.json(&["task", "logs", "fix", "--json"]);
    assert_eq!((code, &answer["error"]["code"]), (4, &"no-output".into()));
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    wait_for("the lines", || {
        stage.must(&["task", "logs", "fix"]).contains("red")
    });
    let live = stage.must(&["task", "logs", "fix"]);
    assert!(live.contains("one\ntwo\nred\n"), "{live:?}");
    let (_, answer) = stage.json(&["task", "logs", "fix", "--role", "worker", "--json"]);
    assert_eq!(answer["is_running"], true);
    let (code, said) = stage.call(&["task", "logs", "fix", "--role", "reviewer"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("it never had a reviewer"), "{said}");
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    stage.wait_for_rest(&id);
    assert_eq!(stage.panes(), [] as [&str; 0]);
    assert_eq!(stage.must(&["task", "logs", "fix"]), live, "kept as it was");
    let run = stage.store().runs(&id).unwrap()[0].id.clone();
    let file = stage
        .home()
        .tasks()
        .join(format!("app/{id}/runs/{run}/output.txt"));
    assert!(fs::read_to_string(&file).unwrap().contains("two"));
    // What nobody kept is said to be gone.
    fs::remove_file(file).unwrap();
    let (code, said) = stage.call(&["task", "logs", "fix"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("nothing of it was kept"), "{said}");
}

#[test]
fn logs_follow_an_agent_to_its_end() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "echo begun; pause more; echo more; pause last; echo last; exit 0",
    );
    let _id = stage.create(&["fix", "Mend it"]);
    stage.must(&["task", "spawn", "fix", "--wait", "60"]);
    let followed = stage.path("followed");
    let file = fs::File::create(&followed).unwrap();
    let mut orange = stage.orange(&["task", "logs", "fix", "--follow"]);
    let mut child = orange.stdout(file).stderr(Stdio::null()).spawn().unwrap();
    let text = || fs::read_to_string(&followed).unwrap();
    stage.script("more", "");
    wait_for("the first line", || text().contains("begun"));
    assert!(child.try_wait().unwrap().is_none(), "it goes on");
    stage.script("last", "");
    assert!(child.wait().unwrap().success());
    let text = text();
    for line in ["begun", "more", "last"] {
        assert_eq!(text.lines().filter(|it| *it == line).count(), 1, "{text}");
    }
}

#[test]
fn waiting_ends_when_it_is_reached_or_never_will_be() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Mend it"]);
    let wait = |until: &str, timeout: &str| {
        stage.transcript(&[
            "task",
            "wait",
            "fix",
            "--until",
            until,
            "--timeout",
            timeout,
        ])
    };
    let mut said = wait("pending,working", "60");
    said.push_str(&wait("human", "0"));
    said.push_str(&wait("nothing", "60"));
    // The one who waits hears of what another does.
    let mut orange = stage.orange(&["task", "wait", "fix", "--until", "clarification,terminal"]);
    let child = orange
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    stage.must(&["task", "cancel", "fix", "--wait", "60"]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    said.push_str(&wait("terminal", "60"));
    said.push_str(&wait("human,working", "60"));
    insta::assert_snapshot!(said);
    let (code, answer) = stage.json(&["task", "wait", "fix", "--until", "cancelled", "--json"]);
    assert_eq!((code, &answer["outcome"]), (0, &"reached".into()));
    assert_eq!(answer["task"]["id"], id.as_str());
    let usage = stage.transcript(&["task", "wait", "fix"]);
    assert!(usage.contains("[exit 2]"), "{usage}");
}
