//! One pull request and one merge, wherever a process dies.

use super::COMMITS_AND_EFFECTS;
use super::crash_marks::{reached_marks, set_crash_marks};
use crate::support::forge_stage::{ForgeStage, REPOSITORY};

/// Opens a pull request and merges it, with a death at this mark; returns how many were reached.
fn open_and_merge(death: Option<usize>) -> usize {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let deaths: Vec<usize> = death.into_iter().collect();
    set_crash_marks(&it.stage, &COMMITS_AND_EFFECTS, &deaths);
    let open = ["task", "pr", id.as_str()];
    let merge = ["task", "merge", id.as_str(), "--yes"];
    for command in [&open[..], &merge[..]] {
        // A killed caller asks again, and the next call performs what a dead performer left.
        for _ in 0..=deaths.len() {
            let (code, _) = it.stage.call(command);
            if code == 0 {
                break;
            }
        }
        it.stage.wait_until_idle(&id);
    }
    it.stage.wait_for_status(&id, "done");
    let reached = reached_marks(&it.stage);
    assert_eq!(it.pull_count(), 1, "{death:?}: {reached:?}");
    let merges = it.forge.writes();
    let merges = merges.iter().filter(|it| it.operation == "pulls/merge");
    assert_eq!(merges.count(), 1, "{death:?}: {reached:?}");
    let merge = it.forge.get(REPOSITORY, 1).pull.unwrap().merge.unwrap();
    assert_eq!(it.stage.git_output("repo", "rev-parse main"), merge.sha);
    reached.len()
}

const PARTS: usize = 8;

fn die_at(part: usize) {
    let marks = open_and_merge(None);
    assert!(marks >= 12, "{marks}");
    for death in (0..marks).filter(|death| death % PARTS == part) {
        open_and_merge(Some(death));
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
    0 one_request_and_one_merge_first_part,
    1 one_request_and_one_merge_second_part,
    2 one_request_and_one_merge_third_part,
    3 one_request_and_one_merge_fourth_part,
    4 one_request_and_one_merge_fifth_part,
    5 one_request_and_one_merge_sixth_part,
    6 one_request_and_one_merge_seventh_part,
    7 one_request_and_one_merge_eighth_part,
}
