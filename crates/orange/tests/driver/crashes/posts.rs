//! One comment, label, closing and linked branch, wherever a process dies.

use orange_config::clock::Deadline;
use serde_json::json;

use super::crash_marks::{reached_marks, set_crash_marks};
use crate::support::SOON;
use crate::support::forge_stage::{ForgeStage, REPOSITORY};

/// Around what is sent, and around what is recorded about it.
const MARKS: [&str; 4] = [
    "before a post",
    "after a post",
    "before a post is recorded",
    "after a post is recorded",
];

/// Links a branch, posts, merges and posts again, with a death at this mark; returns how many marks
/// were reached.
fn post_and_merge(death: Option<usize>) -> usize {
    let it = ForgeStage::new("minimal");
    let (id, number) = it.task_for_issue("reviewing");
    // The pull request must not close the issue before orange does.
    it.stage.configure("forge_issues_close", &json!(false));
    let deaths: Vec<usize> = death.into_iter().collect();
    set_crash_marks(&it.stage, &MARKS, &deaths);
    let post = ["forge", "look", id.as_str()];
    for command in [
        &["task", "pr", id.as_str()][..],
        &post[..],
        &["task", "merge", id.as_str(), "--yes"][..],
        &post[..],
    ] {
        // A killed caller asks again. What was sent may have to be waited for.
        let mut last = (0, String::new());
        let in_time = Deadline::after(SOON).wait_for(|| {
            last = it.stage.call(command);
            last.0 == 0
        });
        assert!(in_time, "{death:?}: {command:?}: {last:?}");
        it.stage.wait_until_idle(&id);
        it.stage.configure("forge_issues_close", &json!(true));
    }
    it.stage.wait_for_status(&id, "done");
    let reached = reached_marks(&it.stage);
    let case = format!("{death:?}: {reached:?}");
    let issue = it.forge.get(REPOSITORY, number);
    assert_eq!(issue.comments.len(), 1, "{case}");
    let text = &issue.comments[0].body;
    assert!(text.contains("| Result | merged"), "{case}: {text}");
    assert!(issue.labels.is_empty(), "{case}: {:?}", issue.labels);
    let events = |name: &str| issue.events.iter().filter(|it| it.name == name).count();
    for name in ["labeled", "unlabeled", "closed"] {
        assert_eq!(events(name), 1, "{case}: {name}");
    }
    assert_eq!(it.pull_count(), 1, "{case}");
    assert_eq!(issue.linked_branches.len(), 1, "{case}");
    reached.len()
}

const PARTS: usize = 8;

fn die_at(part: usize) {
    let marks = post_and_merge(None);
    assert!(marks >= 20, "{marks}");
    for death in (0..marks).filter(|death| death % PARTS == part) {
        post_and_merge(Some(death));
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
    0 one_of_everything_first_part,
    1 one_of_everything_second_part,
    2 one_of_everything_third_part,
    3 one_of_everything_fourth_part,
    4 one_of_everything_fifth_part,
    5 one_of_everything_sixth_part,
    6 one_of_everything_seventh_part,
    7 one_of_everything_eighth_part,
}
