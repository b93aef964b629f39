//! Failures of other projects, around pull requests of tasks.

use orange_engine::names::TaskId;
use scripted_forge::world::pull::Draft;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::wait_for;

/// A started task whose worker ran these lines, with the exit codes in the file `codes`.
fn after_worker(it: &ForgeStage, lines: &str) -> TaskId {
    it.stage
        .script("worker-1", &format!("{lines}\ntouch \"$SCRIPTS/over\"\n"));
    let id = it.stage.create(&["Add a line"]);
    it.stage.run_ok(&["task", "spawn", id.as_str()]);
    wait_for("the worker", || it.stage.path("scripts/over").exists());
    id
}

#[test]
fn lesson_52_commands_of_agents_use_no_quota() {
    let it = ForgeStage::new("minimal");
    let lines = "\
for try in 1 2 3 4 5; do
  orange forge look; orange forge status; orange task show; orange task why; orange task list
done >/dev/null 2>&1
";
    after_worker(&it, lines);
    let calls = it.forge.calls();
    assert!(calls.is_empty(), "{calls:?}");
}

#[test]
fn lesson_100_an_agent_that_tries_the_write_tool_leaves_nothing() {
    let it = ForgeStage::new("minimal");
    let lines = "\
commit one
for try in 1 2 3; do
  orange task pr; orange task pr --ready; orange task pr --draft; orange task merge --yes
  orange new --pr 1
done >/dev/null 2>&1
";
    let id = after_worker(&it, lines);
    it.stage.wait_until_idle(&id);
    let (calls, writes) = (it.forge.calls(), it.forge.writes());
    assert!(calls.is_empty() && writes.is_empty(), "{calls:?}");
    assert_eq!(
        it.forge.tip(REPOSITORY, &format!("orange-tasks/{id}")),
        None
    );
}

#[test]
fn lesson_73_a_request_closed_with_its_base_asks_the_user() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let branch = format!("orange-tasks/{id}");
    it.stage
        .git_output("repo", &format!("push -q origin {branch} main:stack"));
    let number = it.forge.change(|world| {
        let repository = world.repository("ada", "app").unwrap().id;
        let draft = Draft {
            author: "ada",
            title: "Stacked",
            body: "",
            head_repository: repository,
            head: &branch,
            base: "stack",
            draft: false,
        };
        world.open_pull(repository, &draft).unwrap()
    });
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    assert_eq!(it.stage.task(&id).pull_request.unwrap().number, number);
    it.forge.delete_branch(REPOSITORY, "stack");
    // GitHub closes it with its base.
    it.forge.close(REPOSITORY, number, "ada");
    it.look(&id);
    let task = it.stage.task(&id);
    assert_eq!(task.status.as_str(), "reviewing", "not cancelled");
    let attention = task.attention.join("\n");
    assert!(attention.contains("closed without a merge"), "{attention}");
    it.stage.git_output("repo", &format!("rev-parse {branch}"));
    assert!(
        it.forge.tip(REPOSITORY, &branch).is_some(),
        "its branch stays"
    );
}

#[test]
fn lesson_74_orange_posts_no_check_that_it_could_wait_for() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    it.stage.run_ok(&["task", "pr", id.as_str()]);
    it.look(&id);
    it.stage.run_ok(&["task", "pr", id.as_str(), "--ready"]);
    it.stage.run_ok(&["task", "merge", id.as_str(), "--yes"]);
    it.stage.wait_for_status(&id, "done");
    let writes = it.forge.writes();
    let names: Vec<&str> = writes.iter().map(|it| it.operation.as_str()).collect();
    let posted = names
        .iter()
        .filter(|it| it.contains("check") || it.contains("status"));
    assert_eq!(posted.count(), 0, "{names:?}");
    assert!(names.contains(&"pulls/create"), "{names:?}");
}
