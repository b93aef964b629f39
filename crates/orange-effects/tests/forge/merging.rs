//! Lessons about merging: an answer is no proof.

use orange_effects::forge::github::pull_requests::MergeMethod;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::CommitId;
use scripted_forge::Fault;

use crate::stage::{PULL, REPOSITORY, Stage};

fn state(stage: &mut Stage) -> PullRequestState {
    let found = stage.repository().fetch_pull_request(PULL);
    found.unwrap().1.state
}

#[test]
fn lesson_70_whether_it_is_merged_is_read_and_not_believed() {
    let mut stage = Stage::new();
    let head = stage.head();
    let merge = |stage: &mut Stage| {
        let mut repository = stage.repository();
        repository.merge_pull_request(PULL, &head, MergeMethod::Squash, None)
    };
    // Not done, and not certain: only a look tells the two apart.
    stage.forge.fault("pulls/merge", 1, Fault::CutBefore);
    assert!(merge(&mut stage).unwrap_err().may_have_taken_effect());
    assert_eq!(state(&mut stage), PullRequestState::Open);
    stage.forge.fault("pulls/merge", 1, Fault::CutAfter);
    assert!(merge(&mut stage).unwrap_err().may_have_taken_effect());
    assert_eq!(state(&mut stage), PullRequestState::Merged);
    assert_eq!(stage.forge.writes().len(), 1);
    // A second merge is refused, and is no proof of anything either.
    assert!(!merge(&mut stage).unwrap_err().may_have_taken_effect());
    stage.forge.finish();
}

#[test]
fn lesson_70_a_pull_request_closed_by_its_deleted_branch_is_not_merged() {
    let mut stage = Stage::new();
    stage.forge.delete_branch(REPOSITORY, "feature");
    assert_eq!(state(&mut stage), PullRequestState::Closed);
    stage.forge.finish();
}

#[test]
fn lesson_71_a_merge_names_the_commit_to_look_for() {
    for method in [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase] {
        let mut stage = Stage::new();
        let head = stage.head();
        // The base moves meanwhile, so that its new tip alone proves nothing.
        stage
            .forge
            .commit(REPOSITORY, "main", &[("other.txt", "x\n")]);
        let mut repository = stage.repository();
        let answer = repository.merge_pull_request(PULL, &head, method, None);
        let commit = answer.unwrap().commit;
        let tip = stage.forge.tip(REPOSITORY, "main").map(CommitId::new);
        assert_eq!(commit, tip, "{method:?}");
        assert_ne!(commit.as_ref(), Some(&head), "{method:?}");
        // The head stays what it was, for the search for its patches.
        let (_, found) = stage.repository().fetch_pull_request(PULL).unwrap();
        assert_eq!((found.head, found.state), (head, PullRequestState::Merged));
        stage.forge.finish();
    }
}
