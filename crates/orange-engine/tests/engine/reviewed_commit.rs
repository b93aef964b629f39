//! A merge takes exactly the commit that was reviewed.

use orange_engine::decision::Decision;
use orange_engine::effect::{Effect, Merge, MergeStrategy};
use orange_engine::input::{Cause, NamedCommit, RequestKind};
use orange_engine::names::CommitId;
use orange_engine::role::Role;
use orange_engine::task::Submission;
use orange_engine::{Workflow, replay};

use crate::fixtures::{World, refusal_of, request, shipped_workflow, shown, status};

const HANDOFF: (&str, &str) = ("## Handoff", "DONE: it");
const PASS: (&str, &str) = ("## Review", "Verdict: PASS");
const FAIL: (&str, &str) = ("## Review", "Verdict: FAIL");

fn id(name: &str) -> CommitId {
    CommitId::new(name)
}

/// Adds a commit to the branch; `named` and `since` are what git would report about the named one.
fn commit(world: &mut World<'_>, head: &str, name: &str, since: Option<u64>) {
    let git = world.facts.git.as_mut().unwrap();
    git.head = id(head);
    git.named = Some(NamedCommit {
        commit: id(name),
        commits_since: since,
        is_in_base: false,
    });
}

fn in_review(workflow: &Workflow) -> World<'_> {
    let mut world = World::placed(workflow, "working");
    world.write(&[HANDOFF]);
    world.expect_move(Role::Worker, "agent-review");
    world
}

fn submission(commit: &str, passed_by: Option<Role>) -> Submission {
    let commit = id(commit);
    Submission {
        commit,
        passed_by,
        failed_by: None,
    }
}

fn merge(head: Option<&str>) -> Cause {
    let ask = RequestKind::Merge {
        strategy: Some(MergeStrategy::Ff),
        local: false,
        only_head: head.is_some(),
    };
    let Cause::Request(mut asked) = request(Role::Human, ask) else {
        panic!()
    };
    asked.head = head.map(id);
    Cause::Request(asked)
}

fn planned(world: &World<'_>) -> Merge {
    let effects = world.task.pending.iter().map(|it| &it.planned.effect);
    let mut merges = effects.filter_map(|effect| match effect {
        Effect::Merge(merge) => Some(merge.clone()),
        _ => None,
    });
    merges.next().unwrap()
}

#[test]
fn a_verdict_applies_to_the_submitted_commit() {
    let workflow = shipped_workflow("default");
    let mut world = in_review(&workflow);
    assert_eq!(world.task.submission, Some(submission("head", None)));
    world.write(&[HANDOFF, PASS]);
    commit(&mut world, "later", "head", Some(2));
    let refusal = world.refused(Role::Reviewer, "reviewing");
    assert_eq!(
        refusal.to_string(),
        "cannot move task `k3f9` from `agent-review` to `reviewing`: `fix-it` has 2 commits after \
         head, the submitted commit; it is at later"
            .replace("fix-it", world.task.branch.as_str())
    );
    assert!(refusal.hints[0].contains("--head later"), "{refusal:?}");
    // The reviewer names the commit it read.
    let to = status("reviewing");
    let Cause::Request(mut asked) = request(Role::Reviewer, RequestKind::Move { to }) else {
        panic!()
    };
    asked.head = Some(id("head"));
    let decision = world.step(Cause::Request(asked.clone()));
    assert!(matches!(decision, Decision::Refusal(_)), "{decision:?}");
    asked.head = Some(id("later"));
    world.step(Cause::Request(asked));
    assert_eq!(
        world.task.submission,
        Some(submission("later", Some(Role::Reviewer)))
    );
}

#[test]
fn a_commit_that_failed_its_last_review_says_so() {
    let workflow = shipped_workflow("default");
    let mut world = in_review(&workflow);
    let submitted = world.task.submission.clone().unwrap().to_string();
    assert_eq!(submitted, "head, submitted; no agent has reviewed it");
    for round in 1..=5 {
        let text = format!("Verdict: FAIL\n\nProblem {round}.");
        world.write(&[HANDOFF, ("## Review", &text)]);
        if let Decision::Plan(_) = world.step(request(
            Role::Reviewer,
            RequestKind::Move {
                to: status("stuck"),
            },
        )) {
            break;
        }
        world.expect_move(Role::Reviewer, "working");
        assert_eq!(world.task.submission, None);
        let handoff = format!("DONE: it, again {round}");
        world.write(&[("## Handoff", &handoff)]);
        world.expect_move(Role::Worker, "agent-review");
    }
    assert_eq!(world.task.status, status("stuck"));
    let failed = world.task.submission.clone().unwrap();
    assert_eq!(
        failed.to_string(),
        "head, submitted; failed by the reviewer"
    );
    let replayed = replay(&world.events).unwrap();
    assert_eq!(replayed.submission, world.task.submission);
}

#[test]
fn a_merge_takes_the_reviewed_commit_and_no_other() {
    let workflow = shipped_workflow("default");
    let mut world = in_review(&workflow);
    world.write(&[HANDOFF, PASS]);
    world.expect_move(Role::Reviewer, "reviewing");
    assert_eq!(
        world.task.submission,
        Some(submission("head", Some(Role::Reviewer)))
    );
    commit(&mut world, "later", "head", Some(3));
    let refusal = refusal_of(world.step(merge(None)));
    let text = refusal.to_string();
    assert!(text.contains("3 commits after head"), "{text}");
    assert_eq!(
        refusal.hints,
        [
            "check what is new with `git log -p head..later`, then run `orange task merge k3f9 \
             --strategy ff --head later`",
            "or have the agent submit the new commits: `orange task request-changes k3f9 \
             --message TEXT`",
        ]
    );
    // If the user names either commit, that one is merged, and the left-out commits are reported.
    world.step(merge(Some("head")));
    let planned = planned(&world);
    assert_eq!((planned.head, planned.tip), (id("head"), Some(id("later"))));
    assert_eq!(planned.left_out.commits, 3);
    world.settle();
    assert_eq!(world.task.status, status("done"));
    assert_eq!(replay(&world.events).unwrap(), world.task);
}

#[test]
fn a_commit_that_is_not_part_of_the_branch_is_not_merged() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "reviewing");
    commit(&mut world, "head", "elsewhere", None);
    assert_eq!(
        shown(&world.step(merge(Some("elsewhere")))),
        "refused not-in-branch"
    );
}

#[test]
fn without_a_review_the_merge_takes_the_submitted_commit() {
    let workflow = shipped_workflow("minimal");
    let mut world = World::placed(&workflow, "working");
    world.write(&[HANDOFF]);
    world.expect_move(Role::Worker, "reviewing");
    commit(&mut world, "later", "head", Some(1));
    let refusal = refusal_of(world.step(merge(None)));
    let text = refusal.to_string();
    assert!(text.contains("1 commit after head"), "{text}");
}

#[test]
fn continued_work_discards_the_passed_commit() {
    let workflow = shipped_workflow("default");
    let mut world = in_review(&workflow);
    world.write(&[HANDOFF, PASS]);
    world.expect_move(Role::Reviewer, "reviewing");
    world.expect_move(Role::Human, "working");
    assert_eq!(world.task.submission, None);
    commit(&mut world, "fixed", "head", Some(1));
    world.write(&[("## Handoff", "DONE: more"), PASS]);
    world.expect_move(Role::Worker, "agent-review");
    world.write(&[("## Handoff", "DONE: more"), FAIL]);
    world.expect_move(Role::Reviewer, "working");
    assert_eq!(world.task.submission, None);
}

#[test]
fn uncommitted_work_is_listed_and_cannot_be_submitted() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.write(&[HANDOFF]);
    let git = world.facts.git.as_mut().unwrap();
    git.met_conditions.remove(0);
    git.uncommitted.files = vec![String::from("a.txt"), String::from("b.txt")];
    let refusal = world.refused(Role::Worker, "agent-review");
    let text = refusal.to_string();
    assert!(
        text.ends_with("2 files are not committed: `a.txt` and `b.txt`"),
        "{text}"
    );
    assert!(refusal.hints[0].contains(".gitignore"), "{refusal:?}");
}

#[test]
fn a_branch_without_commits_has_nothing_to_merge() {
    let workflow = crate::fixtures::load_clean(include_str!("seeds/minimal.yml"));
    let mut world = World::placed(&workflow, "reviewing");
    let git = world.facts.git.as_mut().unwrap();
    git.met_conditions.clear();
    assert_eq!(shown(&world.step(merge(None))), "refused nothing-to-merge");
    // A dashboard names the commit that it showed, which does not mean that it must be merged.
    let Cause::Request(mut shown_commit) = merge(None) else {
        panic!()
    };
    shown_commit.head = Some(id("head"));
    let git = world.facts.git.as_mut().unwrap();
    git.named = Some(NamedCommit {
        commit: id("head"),
        commits_since: Some(0),
        is_in_base: true,
    });
    let answer = world.step(Cause::Request(shown_commit));
    assert_eq!(shown(&answer), "refused nothing-to-merge");
}

#[test]
fn a_reviewed_commit_that_the_default_branch_has_counts_as_merged() {
    let workflow = shipped_workflow("default");
    let mut world = in_review(&workflow);
    world.write(&[HANDOFF, PASS]);
    world.expect_move(Role::Reviewer, "reviewing");
    let git = world.facts.git.as_mut().unwrap();
    git.met_conditions.remove(1);
    git.named = Some(NamedCommit {
        commit: id("head"),
        commits_since: Some(0),
        is_in_base: true,
    });
    world.step(merge(None));
    assert!(planned(&world).was_in_base);
    world.settle();
    assert_eq!(world.task.status, status("done"));
}
