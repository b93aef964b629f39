//! A command in a comment is obeyed once, wherever a process dies.

use orange_engine::names::TaskId;
use orange_store::ChatState;

use super::chat::Service;
use super::crash_marks::{reached_marks, set_crash_marks};
use crate::chat::github::{answers, records, sent_back, stage, wait_until_read};
use crate::support::RunningSupervisor;
use crate::support::forge_stage::{ForgeStage, REPOSITORY};

/// Around what is recorded, and around what is sent.
const MARKS: [&str; 4] = [
    "before a commit",
    "after a commit",
    "before a post",
    "after a post",
];

fn all_ended(it: &ForgeStage, count: usize) -> bool {
    let all = records(it);
    all.len() == count && all.iter().all(|it| it.state == ChatState::Ended)
}

/// Creates a task and sends work back, with a death at this mark; returns the marks that were
/// reached.
fn play(death: Option<usize>) -> Vec<String> {
    let it = stage("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    for script in ["worker-1", "worker-2"] {
        it.stage.script(script, "sleep 60");
    }
    it.stage.wait_until_idle(&id);
    let supervisor = RunningSupervisor::start(&it.stage);
    wait_until_read(&it);
    drop(supervisor);
    let deaths: Vec<usize> = death.into_iter().collect();
    set_crash_marks(&it.stage, &MARKS, &deaths);
    it.forge
        .comment(REPOSITORY, number, "grace", "/orange new Fix the door");
    it.forge.comment(
        REPOSITORY,
        number,
        "grace",
        "/orange request-changes use oil",
    );
    let mut service = Service::start(&it.stage);
    let is_working = |id: &TaskId| {
        let task = it.stage.task(id);
        task.status.as_str() == "working" && task.pending.is_empty()
    };
    service.wait_for("the end of both", || {
        all_ended(&it, 2) && it.all_tasks().iter().all(is_working)
    });
    drop(service);
    let reached = reached_marks(&it.stage);
    let case = format!("{death:?}: {reached:?}");
    let tasks = it.all_tasks();
    assert_eq!(tasks.len(), 2, "{case}");
    assert_eq!(sent_back(&it, &id).len(), 1, "{case}");
    for task in &tasks {
        assert_eq!(it.stage.store().runs(task).unwrap().len(), 1, "{case}");
    }
    let answers = answers(&it, number);
    assert_eq!(answers.len(), 2, "{case}: {answers:?}");
    assert_eq!(it.write_count("issues/create-comment"), 2, "{case}");
    reached
}

const PARTS: usize = 8;

fn die_at(part: usize) {
    let reached = play(None);
    assert!(reached.len() >= 20, "{reached:?}");
    for death in (0..reached.len()).filter(|death| death % PARTS == part) {
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
    0 every_death_around_a_comment_0,
    1 every_death_around_a_comment_1,
    2 every_death_around_a_comment_2,
    3 every_death_around_a_comment_3,
    4 every_death_around_a_comment_4,
    5 every_death_around_a_comment_5,
    6 every_death_around_a_comment_6,
    7 every_death_around_a_comment_7,
}
