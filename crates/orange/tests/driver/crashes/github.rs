//! The pull request of the workflow `github`, wherever a process dies.

use orange_config::clock::Deadline;
use orange_engine::names::TaskId;

use super::COMMITS_AND_EFFECTS;
use super::crash_marks::{reached_marks, set_crash_marks};
use crate::support::forge_stage::{ForgeStage, REPOSITORY};
use crate::support::{SOON, way};

/// Around what is sent, in addition to commits and effects.
const SENDING: [&str; 2] = ["before a post", "after a post"];

const LOG: &str = "2026-01-02T03:04:05.0000000Z error: it failed\n";

/// A change of the task performs what a dead performer left, as `orange serve` does.
fn recover(it: &ForgeStage, id: &TaskId) {
    let line = ["task", "update", id.as_str(), "--priority"];
    let priority = it.stage.task(id).queueing.priority + 1;
    it.stage
        .call(&[&line[..], &[&priority.to_string()]].concat());
}

/// Calls orange until this holds: a killed caller asks again.
fn call_until(it: &ForgeStage, id: &TaskId, line: &[&str], condition: impl Fn() -> bool) {
    let mut last = (0, String::new());
    let in_time = Deadline::after(SOON).wait_for(|| {
        if condition() {
            return true;
        }
        last = it.stage.call(line);
        if !condition() {
            recover(it, id);
        }
        condition()
    });
    assert!(
        in_time,
        "{line:?}: {last:?}: {:?}",
        reached_marks(&it.stage)
    );
}

fn is_in(it: &ForgeStage, id: &TaskId, status: &str) -> bool {
    let task = it.stage.task(id);
    task.status.as_str() == status && task.pending.is_empty()
}

/// Passes the review, opens the draft, runs its failed checks again, makes it ready and merges it,
/// with a death at this mark; returns how many marks were reached.
fn play(death: Option<usize>) -> usize {
    let it = ForgeStage::new("github");
    it.forge.workflow(REPOSITORY, "CI", &["test"]);
    it.stage.script(
        "reviewer-1",
        "printf 'Verdict: PASS\\nfine\\n' | section Review",
    );
    let (id, issue) = it.task_for_issue("agent-review");
    it.stage.wait_for_turn("reviewer-1");
    it.stage.wait_until_idle(&id);
    let deaths: Vec<usize> = death.into_iter().collect();
    let marks: Vec<&str> = COMMITS_AND_EFFECTS.into_iter().chain(SENDING).collect();
    set_crash_marks(&it.stage, &marks, &deaths);
    let task = id.as_str();
    let look = ["forge", "look", task];
    let number = || it.stage.task(&id).pull_request.map(|it| it.number);
    call_until(
        &it,
        &id,
        &["task", "update", task, "--status", "checking"],
        || it.stage.task(&id).status.as_str() == "checking",
    );
    call_until(&it, &id, &look, || {
        is_in(&it, &id, "checking") && number().is_some()
    });
    let pull = number().unwrap();
    assert!(it.forge.get(REPOSITORY, pull).pull.unwrap().draft);
    it.forge
        .finish_job(REPOSITORY, pull, "test", "failure", LOG);
    let reruns = || {
        let writes = it.forge.writes();
        let reruns = writes.iter();
        reruns.filter(|it| it.operation.contains("re-run")).count()
    };
    call_until(&it, &id, &look, || {
        reruns() > 0 && is_in(&it, &id, "checking")
    });
    it.forge.finish_job(REPOSITORY, pull, "test", "success", "");
    call_until(&it, &id, &look, || is_in(&it, &id, "reviewing"));
    call_until(&it, &id, &["task", "merge", task, "--yes"], || {
        it.stage.task(&id).status.as_str() == "done"
    });
    call_until(&it, &id, &look, || {
        is_in(&it, &id, "done") && !it.forge.get(REPOSITORY, issue).is_open
    });
    let reached = reached_marks(&it.stage);
    let case = format!("{death:?}: {reached:?}");
    assert_eq!(
        way(&it.stage, &id),
        ["checking", "reviewing", "done"],
        "{case}"
    );
    assert_eq!(it.pull_count(), 1, "{case}");
    assert_eq!(reruns(), 1, "{case}");
    for operation in ["markPullRequestReadyForReview", "pulls/merge"] {
        assert_eq!(it.write_count(operation), 1, "{case}: {operation}");
    }
    it.post_all(&id);
    assert_eq!(it.comments(issue).len(), 1, "{case}");
    let merge = it.forge.get(REPOSITORY, pull).pull.unwrap().merge.unwrap();
    assert_eq!(
        it.stage.git_output("repo", "rev-parse main"),
        merge.sha,
        "{case}"
    );
    assert_eq!(it.forge.tip(REPOSITORY, "main"), Some(merge.sha), "{case}");
    assert_eq!(it.forge.tip(REPOSITORY, "work"), None, "{case}");
    reached.len()
}

const PARTS: usize = 12;

fn die_at(part: usize) {
    let marks = play(None);
    assert!(marks >= 30, "{marks}");
    for death in (0..marks).filter(|death| death % PARTS == part) {
        play(Some(death));
    }
}

macro_rules! parts {
    ($($number:literal $name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                die_at($number);
            }
        )*
    };
}

parts! {
    0 every_death_around_a_request_0,
    1 every_death_around_a_request_1,
    2 every_death_around_a_request_2,
    3 every_death_around_a_request_3,
    4 every_death_around_a_request_4,
    5 every_death_around_a_request_5,
    6 every_death_around_a_request_6,
    7 every_death_around_a_request_7,
    8 every_death_around_a_request_8,
    9 every_death_around_a_request_9,
    10 every_death_around_a_request_10,
    11 every_death_around_a_request_11,
}
