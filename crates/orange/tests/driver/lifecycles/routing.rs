//! Which agent a task gets, and why.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use orange_engine::names::TaskId;
use orange_engine::routing::RoutedBy;
use orange_engine::task::Task;

use crate::support::{Stage, wait_for};

/// How the scripted agent starts headless; without quota it says so.
const HEADLESS: &str = r#"
[args.headless]
full = ["--prompt-file", "{prompt_file}", "--headless", ["{model}"]]
"#;

/// A stage with two agents, `script` and `other`, and these settings.
pub fn staged(settings: &str) -> Stage {
    let stage = Stage::new("autopilot");
    let path = stage.path("home/harnesses/script.toml");
    let script = fs::read_to_string(&path).unwrap() + HEADLESS;
    let other = script.replacen("name = \"script\"", "name = \"other\"", 1);
    fs::write(&path, script).unwrap();
    fs::write(stage.path("home/harnesses/other.toml"), other).unwrap();
    fs::write(stage.path("home/config.toml"), settings).unwrap();
    for turn in 1..=9 {
        stage.script(
            &format!("worker-{turn}"),
            "give prompt < $prompt_file\nhang",
        );
    }
    stage
}

impl Stage {
    /// Installs a router that does this.
    pub fn add_router(&self, does: &str) {
        let program = self.path("router");
        let calls = self.path("calls");
        let text = format!(
            "#!/bin/sh\necho call >> {}\ncp \"$1\" {}\n{does}\n",
            calls.display(),
            self.path("asked").display()
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let definition = format!(
            "name = \"router\"\nbinary = \"{}\"\n[args]\nfull = []\n[args.headless]\nreduced = \
             [\"{{prompt_file}}\"]\n",
            program.display()
        );
        fs::write(self.path("home/harnesses/router.toml"), definition).unwrap();
    }

    pub fn router_calls(&self) -> usize {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        calls.lines().count()
    }

    /// A task after its agent was chosen and started.
    fn routed(&self, arguments: &[&str]) -> (TaskId, Task) {
        let id = self.create(arguments);
        self.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
        let task = self.task(&id);
        assert_eq!(
            task.status.as_str(),
            "in_progress",
            "{}",
            self.diagnostics(&id)
        );
        (id, task)
    }
}

/// What chose the agent, and which.
pub fn chosen(task: &Task) -> (RoutedBy, &str) {
    (
        task.routing.route.as_ref().unwrap().by,
        task.harness.as_str(),
    )
}

#[test]
fn rules_choose_the_agent_unless_the_user_did() {
    let rules = "[[route]]\nlabels = [\"docs\"]\nharness = \"other\"\n\
                 [[route]]\nwords = [\"slow\"]\nharness = \"other\"\nmodel = \"big\"\n\
                 [[route]]\nwords = [\"none\"]\nharness = \"claude\"\n";
    let stage = staged(rules);
    let (id, by_label) = stage.routed(&["--label", "Docs", "Explain it"]);
    assert_eq!(chosen(&by_label), (RoutedBy::Rule, "other"));
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    assert!(
        why.contains("`other` was chosen by a rule: `[[route]]` number 1 of `config.toml` matches"),
        "{why}"
    );
    let (_, by_word) = stage.routed(&["--branch", "b", "Fix the slow test"]);
    assert_eq!(chosen(&by_word), (RoutedBy::Rule, "other"));
    assert_eq!(by_word.agent_settings.model.as_deref(), Some("big"));
    let (_, explicit) = stage.routed(&[
        "--branch",
        "c",
        "--harness",
        "script",
        "--label",
        "docs",
        "Do it",
    ]);
    assert_eq!(chosen(&explicit), (RoutedBy::Creator, "script"));
    // The agent of the third rule is not installed.
    let (_, default) = stage.routed(&["--branch", "d", "There is none"]);
    assert_eq!(chosen(&default), (RoutedBy::Default, "script"));
}

#[test]
fn the_router_chooses_among_what_is_installed() {
    let stage = staged(
        "[router]\nharness = \"router\"\nchoices = [\"other:small\", \"other:big\", \"claude\"]\n",
    );
    stage.add_router(
        "echo 'I choose:'\necho '{\"executor\": \"other\", \"model\": \"big\", \"reason\": \"It is \
         hard.\", \"profile\": {\"role\": \"Engineer\"}, \"selected_skills\": [\"testing\", \
         \"secret\"]}'",
    );
    let skill = stage.path("home/skills/testing");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "Test before you report.\n").unwrap();
    let (id, task) = stage.routed(&["Fix it", "--context", "It is broken."]);
    assert_eq!(chosen(&task), (RoutedBy::Router, "other"));
    assert_eq!(task.agent_settings.model.as_deref(), Some("big"));
    let asked = fs::read_to_string(stage.path("asked")).unwrap();
    assert!(
        asked.contains("- executor `other`, model `small`\n"),
        "{asked}"
    );
    assert!(!asked.contains("claude"), "it is not installed: {asked}");
    assert!(asked.contains("Skills: testing\n"), "{asked}");
    assert!(asked.contains("Summary: Fix it\n"), "{asked}");
    assert!(asked.contains("It is broken."), "{asked}");
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    let expected = "`other` with the model `big` was chosen by the router: It is hard.";
    assert!(why.contains(expected), "{why}");
    wait_for("its prompt", || stage.path("scripts/prompt").exists());
    let prompt = fs::read_to_string(stage.path("scripts/prompt")).unwrap();
    assert!(prompt.contains("- your role: Engineer\n"), "{prompt}");
    // The skill is in the file that the prompt names, and not in the prompt as well.
    let skill = "Test before you report.\n";
    assert!(!prompt.contains(skill), "{prompt}");
    let run = stage.store().runs(&id).unwrap().remove(0).id;
    let path = format!("home/tasks/app/{id}/runs/{run}/CONTEXT.md");
    let file = fs::read_to_string(stage.path(&path)).unwrap();
    assert!(
        file.contains(skill) && file.contains("### testing"),
        "{file}"
    );
    // Only the user's own restart asks again.
    assert_eq!(stage.router_calls(), 1);
    let again = ["task", "update", id.as_str(), "--status", "new"];
    stage.run_ok(&[&again[..], &["--wait", "60"]].concat());
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the next choice", || stage.router_calls() == 2);
}

#[test]
fn lesson_101_a_router_that_hangs_delays_only_its_own_task() {
    let stage = staged("[router]\nharness = \"router\"\ntimeout = \"3s\"\n");
    stage.add_router("sleep 60");
    let serving = crate::support::RunningSupervisor::start(&stage);
    let id = stage.create(&["Do it"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    // Meanwhile, a task whose agent is known is started.
    wait_for("the router", || stage.router_calls() >= 1);
    let other = stage.create(&["--branch", "b", "--harness", "script", "Do it"]);
    stage.run_ok(&["task", "spawn", other.as_str()]);
    stage.wait_for_status(&other, "in_progress");
    stage.wait_for_status(&id, "in_progress");
    let task = stage.task(&id);
    assert_eq!(chosen(&task), (RoutedBy::Default, "script"));
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    assert!(why.contains("it did not answer within 3 seconds"), "{why}");
    // Nothing is held against the agent that runs.
    assert_eq!((task.crash_count, task.last_error), (0, None));
    assert_eq!(
        stage.store().parkings(orange_config::clock::now()).unwrap(),
        []
    );
    assert_eq!(
        stage.router_calls(),
        2,
        "it is asked once more, then no more"
    );
    drop(serving);
}

#[test]
fn lesson_102_a_parked_harness_is_not_offered_and_a_failed_router_rests() {
    let stage = staged("[router]\nharness = \"router\"\n");
    stage.add_router("echo '{\"executor\": \"other\"}'");
    let path = stage.path("home/harnesses/other.toml");
    let definition = fs::read_to_string(&path).unwrap();
    let rule = "[[death]]\nsays = [\"hit your limit\"]\nmeans = \"quota\"\n";
    fs::write(&path, format!("{definition}{rule}")).unwrap();
    stage.script(
        "worker-1",
        "echo 'You have hit your limit'\nsleep 0.3\nexit 1",
    );
    let serving = crate::support::RunningSupervisor::start(&stage);
    let first = stage.create(&["--harness", "other", "Do it"]);
    stage.run_ok(&["task", "spawn", first.as_str()]);
    let parked = || {
        stage
            .store()
            .parkings(orange_config::clock::now())
            .unwrap()
            .len()
    };
    wait_for("the parking", || parked() == 1);
    for branch in ["b", "c"] {
        let id = stage.create(&["--branch", branch, "Do it"]);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        stage.wait_for_status(&id, "in_progress");
        assert_eq!(chosen(&stage.task(&id)), (RoutedBy::Default, "script"));
    }
    let asked = fs::read_to_string(stage.path("asked")).unwrap();
    assert!(!asked.contains("- executor `other`"), "{asked}");
    assert!(
        asked.contains("which was not offered"),
        "it is told: {asked}"
    );
    assert_eq!(stage.router_calls(), 2, "the second task asks nothing");
    drop(serving);
}
