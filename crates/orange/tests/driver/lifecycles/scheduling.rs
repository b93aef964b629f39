//! Limits, dependencies, children: what starts when, and what starts it.

use std::fs;
use std::process::Stdio;

use orange_config::clock::Deadline;
use orange_engine::effect::Effect;
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_engine::task::Workspace;
use serde_json::Value;

use crate::support::{RunningSupervisor, SOON, Stage, way};

/// Creates two parts of its own task, and waits for them.
const DELEGATE: &str = "\
printf 'APPROACH: in two parts\\nTOUCHING: work.txt\\n' | section Plan
ask task update --status working
ask task create part-one 'The first part'
ask task create part-two 'The second part'
ask task update --status delegated
";

const COMMIT: &str = "commit one\n";

impl Stage {
    fn set(&self, text: &str) {
        fs::write(self.path("home/config.toml"), text).unwrap();
    }

    /// Creates a task that starts automatically; returns the exit code and the answer.
    fn create_json(&self, arguments: &[&str]) -> (i32, Value) {
        let typed = ["task", "create", "--json", "--wait", "60"].iter();
        let typed: Vec<&str> = typed.chain(arguments).copied().collect();
        self.json(&typed)
    }

    fn create_started(&self, arguments: &[&str]) -> TaskId {
        let (code, answer) = self.create_json(arguments);
        assert_eq!(code, 0, "{answer}");
        id(&answer)
    }

    fn status(&self, id: &TaskId) -> String {
        self.task(id).status.to_string()
    }

    fn finish(&self, id: &TaskId) {
        self.run_ok(&["task", "merge", id.as_str(), "--yes", "--wait", "60"]);
        self.wait_for_status(id, "done");
        self.wait_until_idle(id);
    }

    fn cancel(&self, id: &TaskId) {
        self.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
        self.wait_until_idle(id);
    }

    /// The prompt of a task's latest agent.
    fn prompt_of(&self, id: &TaskId) -> String {
        let events = self.store().events(id, 0).unwrap();
        let mut events = events.into_iter().rev();
        let prompt = events.find_map(|it| match it.event.fact {
            Fact::EffectPlanned(planned) => match planned.effect {
                Effect::Spawn(spawn) => Some(spawn.prompt),
                _ => None,
            },
            _ => None,
        });
        prompt.unwrap()
    }

    fn on_branch(&self, branch: &str) -> TaskId {
        let (code, answer) = self.json(&["task", "show", branch, "--json"]);
        assert_eq!(code, 0, "{answer}");
        id(&answer)
    }
}

fn id(answer: &Value) -> TaskId {
    TaskId::new(answer["task"]["id"].as_str().unwrap())
}

#[test]
fn nothing_is_started_while_the_disk_is_almost_full() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", COMMIT);
    stage.set("[limits]\ndisk = \"900000GB\"\n");
    let (code, answer) = stage.create_json(&["Add a line"]);
    assert_eq!(code, 0, "{answer}");
    let id = id(&answer);
    assert_eq!(stage.status(&id), "pending");
    let waits = stage.run_ok(&["why", id.as_str()]);
    assert!(waits.contains("free on the worktrees' disk"), "{waits}");
    assert!(waits.contains("orange workspace list --size"), "{waits}");
    stage.set("[limits]\ndisk = \"1KB\"\n");
    let _serving = RunningSupervisor::start(&stage);
    stage.wait_for_status(&id, "working");
}

#[test]
fn twenty_concurrent_starts_respect_the_limit() {
    let stage = Stage::new("default");
    stage.set("[limits]\nagents = 3\n");
    let tasks: Vec<TaskId> = (0..20).map(|_| stage.create(&["Add a line"])).collect();
    let started: Vec<_> = tasks
        .iter()
        .map(|task| {
            let mut spawn = stage.orange(&["task", "spawn", task.as_str(), "--json"]);
            let spawn = spawn.stdout(Stdio::piped()).stderr(Stdio::piped());
            spawn.spawn().unwrap()
        })
        .collect();
    let mut refused = 0;
    for child in started {
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        match output.status.code().unwrap() {
            3 => {
                let missing = &answer["error"]["details"]["refusal"]["missing"][0];
                assert_eq!(missing["code"], "held-back", "{answer}");
                let holders = missing["wait"]["held_by"].as_array().unwrap();
                assert_eq!(holders.len(), 3, "{answer}");
                let hint = answer["error"]["hints"][0].as_str().unwrap();
                assert!(hint.contains("raise `agents`"), "{hint}");
                refused += 1;
            }
            code => assert!([0, 5].contains(&code), "{answer}"),
        }
    }
    let begun = |task: &&TaskId| stage.status(task) == "planning";
    assert_eq!(tasks.iter().filter(begun).count(), 3);
    assert_eq!(refused, 17);
    for task in tasks.iter().filter(begun) {
        stage.wait_until_idle(task);
    }
    assert_eq!(stage.panes(), ["worker:0"; 3]);
}

#[test]
fn a_chain_is_started_in_order() {
    let stage = Stage::new("default");
    for turn in 1..=3 {
        stage.script(&format!("worker-{turn}"), COMMIT);
    }
    let serving = RunningSupervisor::start(&stage);
    let first = stage.create_started(&["one", "The first"]);
    let (code, answer) = stage.create_json(&["two", "The second", "--after", first.as_str()]);
    assert_eq!(code, 0, "waiting is not a failure: {answer}");
    assert_eq!(answer["waits"][0]["waits_for"], "dependency", "{answer}");
    let second = id(&answer);
    let third = stage.create_started(&["three", "The third", "--after", "two", "--priority", "9"]);
    let why = stage.run_ok(&["task", "why", third.as_str()]);
    let text = format!("task `{second}` must be done first; it is in `pending`");
    assert!(why.contains(&text), "{why}");
    let show = stage.run_ok(&["task", "show", third.as_str()]);
    assert!(show.contains(&text), "{show}");
    let (code, output) = stage.call(&["task", "spawn", third.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains(&text), "{output}");
    stage.wait_for_turn("worker-1");
    assert_eq!(stage.status(&second), "pending");
    stage.finish(&first);
    stage.wait_for_status(&second, "planning");
    stage.wait_for_turn("worker-2");
    assert_eq!(stage.status(&third), "pending");
    // Without a supervisor, the process that performs the merge starts the next task.
    serving.kill();
    stage.finish(&second);
    stage.wait_for_status(&third, "planning");
    stage.wait_for_turn("worker-3");
}

#[test]
fn a_task_that_waits_for_review_stops_the_next_start() {
    let stage = Stage::new("default");
    stage.set("[limits.status]\nreviewing = 1\n");
    let reviewed = stage.create_started(&["one", "The first", "--status", "reviewing"]);
    let (code, answer) = stage.create_json(&["two", "The second"]);
    assert_eq!(code, 0, "{answer}");
    let second = id(&answer);
    assert_eq!(answer["task"]["status"], "pending");
    assert_eq!(answer["waits"][0]["waits_for"], "status", "{answer}");
    assert_eq!(answer["waits"][0]["held_by"][0], reviewed.as_str());
    let (code, output) = stage.call(&["task", "spawn", second.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("nothing is started while 1 or more tasks are in `reviewing`"),
        "{output}"
    );
    // The other path is closed as well.
    let (code, output) = stage.call(&["task", "update", second.as_str(), "--status", "planning"]);
    assert_eq!(code, 3, "{output}");
    stage.cancel(&reviewed);
    stage.run_ok(&["task", "spawn", second.as_str(), "--wait", "60"]);
    assert_eq!(stage.status(&second), "planning");
}

#[test]
fn the_next_supervisor_starts_the_remaining_tasks() {
    let stage = Stage::new("default");
    stage.set("[limits]\nagents = 1\n");
    let serving = RunningSupervisor::start(&stage);
    let first = stage.create_started(&["one", "The first"]);
    let minor = stage.create_started(&["two", "The second"]);
    let urgent = stage.create_started(&["three", "The third"]);
    let left = stage.create(&["four", "Not wanted yet", "--priority", "9"]);
    stage.run_ok(&["task", "update", urgent.as_str(), "--priority", "5"]);
    serving.kill();
    stage.cancel(&first);
    assert_eq!(stage.status(&urgent), "pending", "no supervisor is running");
    let serving = RunningSupervisor::start(&stage);
    stage.wait_for_status(&urgent, "planning");
    stage.cancel(&urgent);
    stage.wait_for_status(&minor, "planning");
    stage.cancel(&minor);
    // A task created later starts at once: the one without a requested start does not block it.
    let last = stage.create_started(&["five", "The last"]);
    stage.wait_for_status(&last, "planning");
    assert_eq!(stage.status(&left), "pending");
    drop(serving);
}

fn delegating(stage: &Stage) -> (TaskId, TaskId, TaskId) {
    stage.script("worker-1", DELEGATE);
    stage.script("worker-2", COMMIT);
    stage.script("worker-3", COMMIT);
    let parent = stage.create_started(&["whole", "The whole"]);
    stage.wait_for_status(&parent, "delegated");
    stage.wait_until_idle(&parent);
    let task = stage.task(&parent);
    assert_eq!(task.workspace, Workspace::None, "it holds nothing");
    assert!(task.runs.is_empty(), "{task:?}");
    let (one, two) = (stage.on_branch("part-one"), stage.on_branch("part-two"));
    let children: Vec<&TaskId> = task.children.keys().collect();
    let mut expected = [&one, &two];
    expected.sort();
    assert_eq!(children, expected, "{}", stage.diagnostics(&parent));
    assert_eq!(stage.task(&one).queueing.parent, Some(parent.clone()));
    (parent, one, two)
}

#[test]
fn a_parent_waits_for_its_children_and_continues() {
    let stage = Stage::new("default");
    stage.set("[limits]\nagents = 2\n");
    let serving = RunningSupervisor::start(&stage);
    let (parent, one, two) = delegating(&stage);
    stage.wait_for_status(&one, "planning");
    stage.wait_for_status(&two, "planning");
    stage.wait_for_turn("worker-2");
    stage.wait_for_turn("worker-3");
    let task_output = |words: &[&str]| stage.run_ok(&[&["task"], words].concat());
    assert!(task_output(&["list"]).contains("delegated (0/2 done)"));
    stage.cancel(&one);
    assert_eq!(stage.status(&parent), "delegated", "one is left");
    assert!(task_output(&["list"]).contains("delegated (1/2 done)"));
    for words in [["show", "whole"], ["why", "whole"]] {
        let output = task_output(&words);
        assert!(output.contains("1 of 2 finished"), "{output}");
        assert!(
            output.contains(&format!("{one} in `cancelled`")),
            "{output}"
        );
        assert!(output.contains(two.as_str()), "{output}");
    }
    let output = task_output(&["show", "part-two"]);
    assert!(
        output.contains(&format!("parent      {parent}")),
        "{output}"
    );
    let text = stage.task_text(&two);
    assert!(text.contains(&format!("parent: {parent}")), "{text}");
    assert!(
        stage
            .prompt_of(&two)
            .contains(&format!("part of task {parent}"))
    );
    stage.finish(&two);
    stage.wait_for_status(&parent, "working");
    stage.wait_for_turn("worker-4");
    let prompt = stage.prompt_of(&parent);
    let (done, given_up) = (format!("{two} (done)"), format!("{one} (cancelled)"));
    assert!(
        prompt.contains(&done) && prompt.contains(&given_up),
        "{prompt}"
    );
    let passed = ["planning", "working", "delegated", "resuming", "working"];
    assert_eq!(way(&stage, &parent), passed);
    drop(serving);
    stage.rebuild(&parent);
}

#[test]
fn a_parent_continues_without_a_supervisor() {
    let stage = Stage::new("default");
    let (parent, one, two) = delegating(&stage);
    stage.wait_for_turn("worker-2");
    stage.wait_for_turn("worker-3");
    stage.cancel(&one);
    stage.finish(&two);
    stage.wait_for_status(&parent, "working");
    stage.wait_for_turn("worker-4");
}

#[test]
fn a_task_that_can_never_start_is_refused_or_reported() {
    let stage = Stage::new("default");
    let (code, output) = stage.create_json(&["Add a line", "--after", "nobody"]);
    assert_eq!(code, 4, "{output}");
    let parent = stage.create(&["one", "The whole"]);
    let mut call = vec!["task", "create", "two", "A part", "--json"];
    call.extend(["--parent", "one", "--after", "one"]);
    let (code, output) = stage.json(&call);
    assert_eq!(
        (code, &output["error"]["code"]),
        (3, &"waits-for-itself".into())
    );
    let later = stage.create_started(&["three", "Later", "--after", "one"]);
    stage.cancel(&parent);
    let reason = format!("task `{parent}` had to be done first, but was cancelled (`cancelled`)");
    let in_time =
        Deadline::after(SOON).wait_for(|| stage.task(&later).attention == [reason.as_str()]);
    assert!(in_time, "{}", stage.diagnostics(&later));
    assert_eq!(stage.status(&later), "pending");
    let (code, output) = stage.json(&[
        "task", "create", "four", "A part", "--parent", "one", "--json",
    ]);
    assert_eq!(
        (code, &output["error"]["code"]),
        (3, &"parent-ended".into())
    );
    let (code, output) = stage.call(&["task", "spawn", later.as_str()]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains(&reason), "{output}");
    assert!(output.contains("orange task reopen"), "{output}");
    stage.run_ok(&["task", "reopen", parent.as_str()]);
    assert_eq!(stage.task(&later).attention, Vec::<String>::new());
}
