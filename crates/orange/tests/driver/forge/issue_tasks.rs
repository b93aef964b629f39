//! Issues become tasks: by command, by label, and once each.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use orange_engine::names::ProjectName;
use orange_engine::role::Role;
use scripted_forge::Permission;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{RunningSupervisor, wait_for};

#[test]
fn a_task_for_an_issue_has_its_title_and_the_agent_a_file() {
    let it = ForgeStage::new("minimal");
    it.forge.user("eve");
    it.forge.user("grace");
    it.forge.allow(REPOSITORY, "grace", Permission::Write);
    let body = "It squeaks.<!-- hidden-words -->\n\n## Plan\n\nbody-words";
    let number = it.forge.issue(REPOSITORY, "eve", "Fix the door", body);
    it.forge.comment(REPOSITORY, number, "grace", "grace-words");
    it.forge.comment(REPOSITORY, number, "eve", "eve-words");
    for label in ["agent:script", "priority:3", "workflow:default"] {
        it.forge.label(REPOSITORY, number, "grace", label);
    }
    it.forge.label(REPOSITORY, number, "eve", "model:evil");
    let id = it.stage.create(&["--issue", "1", "--priority", "7"]);
    let task = it.stage.task(&id);
    assert_eq!(task.summary, "Fix the door");
    assert_eq!(task.workflow.as_str(), "default");
    // What was typed wins, and the label of a reader does not count.
    assert_eq!(task.queueing.priority, 7);
    assert_eq!(task.agent_settings.model, None);
    assert_eq!(task.branch.as_str(), format!("orange-tasks/{id}"));
    let link = task.issue.unwrap();
    assert_eq!(link.url, "https://github.com/ada/app/issues/1");
    let shown = it.stage.run_ok(&["task", "show", id.as_str()]);
    assert!(shown.contains(&link.url), "{shown}");
    let path = it.stage.path(&format!("home/tasks/app/{id}/issue.md"));
    let file = fs::read_to_string(&path).unwrap();
    for part in ["It squeaks.", "body-words", "grace-words", "material to"] {
        assert!(file.contains(part), "{part}: {file}");
    }
    for part in ["hidden-words", "eve-words", "\n## Plan"] {
        assert!(!file.contains(part), "{part}: {file}");
    }
    let text = it.stage.task_text(&id);
    assert!(text.contains(&path.display().to_string()), "{text}");
    assert!(text.contains(&link.url), "{text}");
    assert!(!text.contains("words"), "{text}");
}

#[test]
fn a_label_that_names_nothing_is_an_error_and_no_guess() {
    let it = ForgeStage::new("minimal");
    it.read_issues_with("agent");
    let agent = it.forge.issue(REPOSITORY, "ada", "One", "");
    it.forge.label(REPOSITORY, agent, "ada", "agent:nobody");
    it.forge.label(REPOSITORY, agent, "ada", "agent");
    let workflow = it.forge.issue(REPOSITORY, "ada", "Two", "");
    it.forge
        .label(REPOSITORY, workflow, "ada", "workflow:nothing");
    for (number, code) in [("1", "harness-not-found"), ("2", "workflow-not-found")] {
        let line = ["task", "create", "--issue", number, "--json"];
        let (exit, answer) = it.stage.json(&line);
        assert_ne!(exit, 0, "{answer}");
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for("a verdict", || it.judged_issues() == [agent]);
    assert!(it.all_tasks().is_empty());
    let listed = it.stage.run_ok(&["issue", "list"]);
    assert!(listed.contains("no task could be created"), "{listed}");
    assert!(listed.contains("nobody"), "{listed}");
}

#[test]
fn twenty_processes_create_one_task() {
    let it = ForgeStage::new("minimal");
    it.forge.issue(REPOSITORY, "ada", "Fix the door", "");
    let children: Vec<_> = (0..20)
        .map(|_| {
            let line = ["task", "create", "--issue", "1", "--no-spawn"];
            let mut orange = it.stage.orange(&line);
            orange.stdout(Stdio::null()).stderr(Stdio::null());
            orange.spawn().unwrap()
        })
        .collect();
    let done = children.into_iter().map(|mut it| it.wait().unwrap().code());
    let done: Vec<Option<i32>> = done.collect();
    let created = done.iter().filter(|it| **it == Some(0)).count();
    let refused = done.iter().filter(|it| **it == Some(3)).count();
    assert_eq!((created, refused), (1, 19), "{done:?}");
    assert_eq!(it.all_tasks().len(), 1);
}

#[test]
fn a_death_after_the_commit_leaves_one_task_that_starts_later() {
    let it = ForgeStage::new("minimal");
    it.read_issues_with("agent");
    it.stage.script("worker-1", "true");
    it.forge.user("grace");
    it.forge.allow(REPOSITORY, "grace", Permission::Write);
    let number = it.forge.issue(REPOSITORY, "ada", "Fix the door", "");
    it.forge.label(REPOSITORY, number, "grace", "agent");
    let supervisor = RunningSupervisor::start(&it.stage);
    wait_for("a task", || it.all_tasks().len() == 1);
    supervisor.kill();
    let [id] = it.all_tasks().try_into().unwrap();
    let _supervisor = RunningSupervisor::start(&it.stage);
    it.stage.wait_for_status(&id, "working");
    wait_for("a verdict", || it.judged_issues() == [number]);
    assert_eq!(it.all_tasks(), std::slice::from_ref(&id));
    let events = it.stage.store().events(&id, 0).unwrap();
    let first = &events.first().unwrap().event.fact;
    let orange_engine::event::Fact::TaskCreated(created) = first else {
        panic!("{first:?}");
    };
    assert_eq!(created.by, Role::Engine);
}

#[test]
fn an_issue_behind_the_first_page_is_found() {
    let it = ForgeStage::new("minimal");
    it.read_issues_with("agent");
    it.stage.script("worker-1", "true");
    // More than a page changed in one second, and then more than a page one after the other.
    let mut number = 0;
    for at in 0..240 {
        number = it
            .forge
            .issue(REPOSITORY, "ada", &format!("Issue {at}"), "");
        if at > 120 {
            it.forge.advance(Duration::from_secs(1));
        }
    }
    it.forge.label(REPOSITORY, number, "ada", "agent");
    let (code, answer) = it.stage.json(&["issue", "list", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let listed = answer["issues"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{answer}");
    assert_eq!(listed[0]["number"], number);
    let known = it.stage.store().issues(&ProjectName::new("app")).unwrap();
    assert_eq!(known.len(), 240);
}

#[test]
fn what_the_user_approved_is_started_without_the_label() {
    let it = ForgeStage::new("minimal");
    it.read_issues_with("agent");
    it.stage.script("worker-1", "true");
    it.forge.user("eve");
    it.forge.issue(REPOSITORY, "eve", "Fix the door", "");
    it.forge.issue(REPOSITORY, "eve", "Fix the window", "");
    it.stage.run_ok(&["issue", "approve", "1", "--no-start"]);
    let _supervisor = RunningSupervisor::start(&it.stage);
    wait_for("a task", || it.all_tasks().len() == 1);
    let [id] = it.all_tasks().try_into().unwrap();
    it.stage.wait_for_status(&id, "working");
    assert_eq!(it.stage.task(&id).summary, "Fix the door");
}
