//! `orange task keep`: of several agents' tasks, one is kept.

use std::fs;

use orange_engine::names::TaskId;
use serde_json::{Value, json};

use crate::support::{Stage, wait_for};

impl Stage {
    /// Another name for the scripted agent.
    fn add_agent(&self, name: &str) {
        let script = fs::read_to_string(self.path("home/harnesses/script.toml")).unwrap();
        let other = script.replace("name = \"script\"", &format!("name = \"{name}\""));
        fs::write(self.path(&format!("home/harnesses/{name}.toml")), other).unwrap();
    }

    fn create_each(&self, names: &str, more: &[&str]) -> (i32, Vec<Value>) {
        let words = ["new", "--each", names, "--wait", "60", "--json"];
        let (code, created) = self.json(&[&words, more].concat());
        (code, created["tasks"].as_array().unwrap().clone())
    }
}

fn id(line: &Value) -> TaskId {
    TaskId::new(line["task"].as_str().unwrap())
}

#[test]
fn one_task_is_kept_and_the_work_of_the_others_is_saved() {
    let stage = Stage::new("default");
    stage.add_agent("other");
    stage.run_ok(&["workspace", "init", "2"]);
    let (code, tasks) = stage.create_each("script,other", &["greet", "Greet in French"]);
    assert_eq!(code, 0, "{tasks:?}");
    let [first, second] = [id(&tasks[0]), id(&tasks[1])];
    assert_eq!(tasks[0]["branch"], "greet-script");
    assert_eq!(stage.task(&second).harness.as_str(), "other");
    assert_eq!(stage.task(&second).summary, "Greet in French");
    let alone = stage.create(&["alone", "Something else"]);
    let (_, compared) = stage.json(&["task", "compare", first.as_str(), "--json"]);
    let compared = compared["tasks"].as_array().unwrap();
    assert_eq!(compared.len(), 2, "{compared:?}");
    wait_for("both worktrees", || {
        let has = |id: &TaskId| stage.call(&["task", "path", id.as_str()]).0 == 0;
        has(&first) && has(&second)
    });
    fs::write(stage.worktree(&second).join("unsaved.txt"), "work").unwrap();
    // Without a terminal, orange cannot ask.
    let unconfirmed = ["task", "keep", first.as_str(), "--wait", "60", "--json"];
    let (code, refused) = stage.json(&unconfirmed);
    let expected = (3, &"not-confirmed".into());
    assert_eq!((code, &refused["error"]["code"]), expected, "{refused}");
    assert_ne!(stage.task(&second).status.as_str(), "cancelled");
    let keep = [&unconfirmed[..], &["--yes"]].concat();
    let (code, kept) = stage.json(&keep);
    assert_eq!(code, 0, "{kept}");
    assert_eq!(kept["others"][0]["task"], second.as_str());
    assert_eq!(kept["others"].as_array().unwrap().len(), 1);
    let work = kept["others"][0]["work"].as_str().unwrap();
    let restore = format!("orange task restore {second} 1 --branch NAME");
    assert!(work.contains("saved as number 1"), "{work}");
    assert!(work.contains(&restore), "{work}");
    assert!(!work.contains("stay"), "it has no commits: {work}");
    stage.wait_for_status(&second, "cancelled");
    stage.wait_until_idle(&second);
    let (_, saved) = stage.json(&["task", "restore", second.as_str(), "--json"]);
    assert_eq!(saved["rescues"][0]["paths"][0], "unsaved.txt", "{saved}");
    assert_ne!(stage.task(&first).status.as_str(), "cancelled");
    assert_ne!(stage.task(&alone).status.as_str(), "cancelled");
    // Repeating it changes nothing.
    let (code, again) = stage.json(&keep);
    assert_eq!((code, again["others"].as_array().unwrap().len()), (0, 0));
    // A cancelled task cannot be kept in place of the open one.
    let (code, refused) = stage.json(&["task", "keep", second.as_str(), "--json"]);
    let expected = (3, &"kept-task-ended".into());
    assert_eq!((code, &refused["error"]["code"]), expected);
    assert_ne!(stage.task(&first).status.as_str(), "cancelled");
    let (code, refused) = stage.json(&["task", "keep", "alone", "--json"]);
    assert_eq!((code, &refused["error"]["code"]), (3, &"no-group".into()));
}

#[test]
fn none_of_several_is_merged_with_all_until_one_is_chosen() {
    let stage = Stage::new("minimal");
    stage.add_agent("other");
    for turn in ["worker-1", "worker-2"] {
        let script = "echo $ORANGE_TASK_ID > $ORANGE_TASK_ID.txt; git add -A; git commit -qm work\n\
             echo 'DONE: work' | section Handoff\nask task update --status reviewing\n";
        stage.script(turn, script);
    }
    let (_, tasks) = stage.create_each("script,other", &["greet", "Greet in French"]);
    let [first, second] = [id(&tasks[0]), id(&tasks[1])];
    for id in [&first, &second] {
        stage.wait_for_status(id, "reviewing");
        stage.wait_until_idle(id);
    }
    let before = stage.git_output("repo", "rev-parse main");
    let (code, text) = stage.call(&["merge", "--all"]);
    assert_eq!(code, 3, "{text}");
    let problem = format!("{first}: not merged: {second} does the same work");
    assert!(text.contains(&problem), "{text}");
    assert!(text.contains("orange task keep TASK"), "{text}");
    assert_eq!(stage.git_output("repo", "rev-parse main"), before);
    // One is merged by name; the other still needs a choice.
    stage.must_merge(&first, &[]);
    let (code, text) = stage.call(&["merge", "--all"]);
    assert_eq!(code, 3, "{text}");
    let problem = format!("{second}: not merged: {first} does the same work and was merged");
    assert!(text.contains(&problem), "{text}");
    assert_eq!(stage.task(&second).status.as_str(), "reviewing");
}

#[test]
fn a_repeated_command_completes_its_group() {
    let stage = Stage::new("default");
    for name in ["third", "other"] {
        stage.add_agent(name);
    }
    let words = ["greet", "Greet in French", "--no-spawn"];
    let (code, created) = stage.create_each("script,third", &words);
    assert_eq!(code, 0, "{created:?}");
    let (_, completed) = stage.create_each("script,other", &words);
    assert!(
        completed[0]["problem"].is_string(),
        "its branch is taken: {completed:?}"
    );
    let group = |line: &Value| stage.task(&id(line)).queueing.group;
    assert_eq!(group(&created[0]), group(&completed[1]));
    for wrong in ["script", "script,script"] {
        let (code, _) = stage.call(&["new", "--each", wrong, "Greet in French"]);
        assert_eq!(code, 2, "{wrong}");
    }
}

#[test]
fn a_worktree_that_must_stay_is_reported() {
    let stage = Stage::new("default");
    stage.add_agent("other");
    stage.run_ok(&["workspace", "init", "2"]);
    let (code, tasks) = stage.create_each("script,other", &["greet", "Greet in French"]);
    assert_eq!(code, 0, "{tasks:?}");
    let [first, second] = [id(&tasks[0]), id(&tasks[1])];
    stage.wait_until_idle(&second);
    let worktree = stage.worktree(&second);
    stage.git_in(&worktree, "init -q nested");
    fs::write(worktree.join("nested/work"), "only here\n").unwrap();
    let keep = ["task", "keep", first.as_str(), "--wait", "60", "--yes"];
    let (code, kept) = stage.json(&[&keep[..], &["--json"]].concat());
    assert_eq!(code, 3, "{kept}");
    let problem = kept["others"][0]["problem"].as_str().unwrap();
    assert!(problem.starts_with("cancelled, but "), "{problem}");
    assert!(
        problem.contains(&worktree.display().to_string()),
        "{problem}"
    );
    assert_eq!(stage.task(&second).status.as_str(), "cancelled");
    assert_eq!(
        fs::read_to_string(worktree.join("nested/work")).unwrap(),
        "only here\n"
    );
}

#[test]
fn a_failed_start_is_repeated_with_the_right_command() {
    let stage = Stage::new("default");
    stage.add_agent("other");
    stage.configure("setup", &json!(["sh", "-c", "exit 7"]));
    for (branch, status, command) in [("one", None, "spawn"), ("two", Some("reviewing"), "retry")] {
        let words = [
            "new",
            "--each",
            "script,other",
            "--wait",
            "60",
            branch,
            "Greet",
        ];
        let more = status.map(|it| ["--status", it]);
        let words = [&words[..], more.as_ref().map_or(&[], |it| &it[..])].concat();
        let (code, output) = stage.call(&words);
        assert_eq!(code, 3, "{output}");
        let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            output.matches(&format!("`orange task {command} ")).count(),
            2,
            "{output}"
        );
    }
}

#[test]
fn an_agent_may_not_choose() {
    let stage = Stage::new("default");
    stage.add_agent("other");
    let words = ["greet", "Greet in French", "--no-spawn"];
    let (_, tasks) = stage.create_each("script,other", &words);
    let first = id(&tasks[0]);
    stage.script(
        "worker-1",
        "ask task keep greet-script\nask new --each script,other more 'More of it'\n",
    );
    stage.run_ok(&["task", "spawn", first.as_str(), "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    wait_for("both answers", || stage.calls().matches("-> ").count() >= 2);
    let calls = stage.calls();
    assert_eq!(calls.matches("only the user").count(), 2, "{calls}");
    assert_ne!(stage.task(&id(&tasks[1])).status.as_str(), "cancelled");
}

#[test]
fn every_agent_has_its_own_branch_and_problem() {
    let stage = Stage::new("default");
    stage.add_agent("other");
    let words = ["Greet in French", "--no-spawn"];
    let (code, created) = stage.create_each("script, other", &words);
    assert_eq!(code, 0, "{created:?}");
    for (line, ending) in created.iter().zip(["-script", "-other"]) {
        let branch = line["branch"].as_str().unwrap();
        assert!(branch.ends_with(ending), "{created:?}");
    }
    let (code, text) = stage.call(&[
        "new",
        "--each",
        "script,nope",
        "greet",
        "Greet",
        "--no-spawn",
    ]);
    // No task is created if one of the agents does not exist.
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("`nope`"), "{text}");
    let (_, listed) = stage.json(&["ls", "--json"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2, "{listed}");
    // A start that fails is a problem of that agent, and the task is kept.
    stage.configure("setup", &json!(["sh", "-c", "exit 7"]));
    let (code, created) = stage.create_each("script,other", &["again", "Greet again"]);
    assert_eq!(code, 3, "{created:?}");
    for line in &created {
        let problem = line["problem"].as_str().unwrap_or_default();
        assert!(problem.contains("failed"), "{created:?}");
        assert!(line["task"].is_string(), "{created:?}");
    }
}

#[test]
fn keeping_one_says_where_the_work_of_the_others_is() {
    let stage = Stage::new("default");
    stage.add_agent("other");
    stage.run_ok(&["workspace", "init", "2"]);
    let words = ["greet", "Greet in French", "--no-spawn"];
    let (_, tasks) = stage.create_each("script,other", &words);
    let [first, second] = [id(&tasks[0]), id(&tasks[1])];
    let text = stage.run_ok(&["task", "keep", first.as_str(), "--yes"]);
    let expected = format!("{second}: cancelled; it had not started\n");
    assert!(text.contains(&expected), "{text}");
    let (_, tasks) = stage.create_each("script,other", &["again", "Greet in Greek"]);
    let [first, second] = [id(&tasks[0]), id(&tasks[1])];
    wait_for("the worktree", || {
        stage.call(&["task", "path", second.as_str()]).0 == 0
    });
    let worktree = stage.worktree(&second);
    fs::write(worktree.join("work.txt"), "work\n").unwrap();
    for arguments in ["add work.txt", "commit -qm work"] {
        assert!(stage.git_in(&worktree, arguments).status.success());
    }
    let text = stage.run_ok(&["task", "keep", first.as_str(), "--yes", "--wait", "60"]);
    let expected = format!("{second}: cancelled; its commits stay on `again-other`\n");
    assert!(text.contains(&expected), "{text}");
}
