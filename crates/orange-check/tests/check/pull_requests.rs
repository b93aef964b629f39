//! What `check` proves about pull requests.

use orange_check::check::{FindingCode, check};
use orange_check::explore::{Occurrence, explore, situation_limit};
use orange_engine::language::Workflow;

use crate::fixtures::{load_clean, shipped_workflow};
use crate::witness;

/// A workflow that merges its pull request by itself, and raises no finding.
const MERGES_ITSELF: &str = include_str!("clean_workflows/merges-itself.yml");

/// The messages of one kind of finding; every story is true.
fn messages(workflow: &Workflow, code: FindingCode) -> Vec<String> {
    let checked = check(workflow);
    for finding in &checked.findings {
        witness::is_true(workflow, finding);
    }
    let found = checked.findings.into_iter().filter(|it| it.code == code);
    found.map(|finding| finding.message).collect()
}

fn edited(edits: &[(&str, &str)]) -> Workflow {
    let mut text = MERGES_ITSELF.to_owned();
    for (old, new) in edits {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        text = text.replacen(old, new, 1);
    }
    load_clean(&text)
}

#[test]
fn a_cycle_through_a_pull_request_needs_a_counter() {
    for trigger in ["pr_failing", "pr_conflicting", "pr_feedback"] {
        let unbounded =
            format!("    to: working\n    trigger: {trigger}\n    set: {{ rounds: increment }}\n");
        let workflow = edited(&[
            (
                "    to: working\n    trigger: pr_failing\n    when: rounds < max_rounds\n    set: \
                 { rounds: increment }\n",
                &unbounded,
            ),
            (
                "  - from: checking\n    to: stuck\n    trigger: pr_failing\n    when: rounds >= \
                 max_rounds\n",
                "  - { from: checking, to: stuck, by: human }\n",
            ),
        ]);
        assert_eq!(
            messages(&workflow, FindingCode::EndlessLoop),
            ["the cycle `working` → `checking` → `working` needs no human, and no counter ends it"],
            "{trigger}"
        );
    }
}

#[test]
fn a_cycle_through_a_ready_pull_request_needs_a_counter() {
    let workflow = edited(&[(
        "  - from: merging\n    to: done\n",
        "  - { from: merging, to: checking, trigger: pr_ready }\n  - from: merging\n    to: done\n",
    )]);
    assert_eq!(
        messages(&workflow, FindingCode::EndlessLoop),
        ["the cycle `checking` → `merging` → `checking` needs no human, and no counter ends it"]
    );
}

#[test]
fn a_merge_needs_passing_checks_or_the_human() {
    let expected = "the transition from `checking` to `merging` merges a pull request, but requires \
                    neither passing checks nor the human";
    for gate in [
        "{ pr: { mergeable: true, threads: resolved } }",
        "{ pr: { checks: pending, mergeable: true, threads: resolved } }",
    ] {
        let settled = "{ pr: { checks: passing, mergeable: true, threads: resolved } }";
        let workflow = edited(&[(settled, gate)]);
        let found = messages(&workflow, FindingCode::MergeUnchecked);
        assert_eq!(found, [expected], "{gate}");
    }
    let by_human = edited(&[
        (
            "    trigger: pr_ready\n    gate: settled\n",
            "    by: human\n",
        ),
        (
            "  settled: { pr: { checks: passing, mergeable: true, threads: resolved } }\n",
            "",
        ),
    ]);
    assert_eq!(
        messages(&by_human, FindingCode::MergeUnchecked),
        Vec::<String>::new()
    );
    // The same hook where the target is entered.
    let on_enter = edited(&[
        ("    hooks: [merge_pr]\n", ""),
        (
            "  merging: { kind: waiting }\n",
            "  merging: { kind: waiting, on_enter: [merge_pr] }\n",
        ),
        ("    gate: settled\n", ""),
        (
            "  settled: { pr: { checks: passing, mergeable: true, threads: resolved } }\n",
            "",
        ),
    ]);
    assert_eq!(messages(&on_enter, FindingCode::MergeUnchecked), [expected]);
}

#[test]
fn a_task_ends_as_merged_only_when_the_merge_was_observed() {
    let requested = edited(&[
        ("    to: merging\n", "    to: done\n"),
        (
            "    hooks: [merge_pr]\n",
            "    hooks: [merge_pr, release_workspace]\n",
        ),
    ]);
    let found = messages(&requested, FindingCode::MergeUnobserved);
    assert_eq!(
        found,
        ["the task ends in `done` as soon as the merge of its pull request is requested"]
    );
    let ready = edited(&[
        ("    to: merging\n", "    to: done\n"),
        (
            "    hooks: [merge_pr]\n",
            "    hooks: [release_workspace]\n",
        ),
    ]);
    assert_eq!(
        messages(&ready, FindingCode::MergeUnobserved),
        ["the task ends in `done` although its pull request is only ready, not merged"]
    );
    let unseen = edited(&[("    trigger: pr_merged\n", "    by: human\n")]);
    assert_eq!(
        messages(&unseen, FindingCode::MergeUnobserved),
        ["the pull request is merged in `merging`, but no transition follows from that"]
    );
}

#[test]
fn a_new_task_has_no_pull_request_to_merge() {
    let workflow = edited(&[(
        "states:\n",
        "entry:\n  pending: {}\n  merging:\n    hooks: [acquire_workspace, merge_pr]\nstates:\n",
    )]);
    assert_eq!(
        messages(&workflow, FindingCode::MergeUnchecked),
        ["a task that begins in `merging` merges a pull request that it cannot have"]
    );
}

#[test]
fn a_transition_of_a_pull_request_needs_one() {
    let workflow = load_clean(
        "name: early\nversion: 1\nstates: { new: { kind: queued }, over: { kind: terminal } }\n\
         transitions:\n  - { from: new, to: over, by: human }\n  - { from: new, to: over, trigger: \
         pr_closed }\n",
    );
    assert_eq!(
        messages(&workflow, FindingCode::EdgeDead),
        [
            "the transition from `new` to `over` on `pr_closed` can never be taken: no pull request \
          can be there before it, its guard is never true, or a transition above it is always \
          taken first"
        ]
    );
}

/// Without `create_pr`, a pull request can only come from the user.
#[test]
fn the_user_can_open_a_pull_request_wherever_there_is_work() {
    let workflow = edited(&[(
        "    hooks: [kill_session, create_pr]\n",
        "    hooks: [kill_session]\n",
    )]);
    let explored = explore(&workflow, situation_limit(&workflow), &mut |_| {});
    let mut steps = explored.steps.iter();
    assert!(steps.any(|step| step.occurrence == Occurrence::OpenPullRequest));
    assert_eq!(
        messages(&workflow, FindingCode::EdgeDead),
        Vec::<String>::new()
    );
}

/// The proof of `github` tries every event of its pull request.
#[test]
fn the_proof_of_github_covers_its_pull_request() {
    let workflow = shipped_workflow("github");
    let explored = explore(&workflow, situation_limit(&workflow), &mut |_| {});
    assert!(explored.is_complete, "{}", explored.nodes.len());
    let steps = explored.steps.iter();
    let events = steps.filter(|it| matches!(it.occurrence, Occurrence::PullRequest(_)));
    let mut events: Vec<String> = events.map(|it| it.occurrence.to_string()).collect();
    events.sort();
    events.dedup();
    assert_eq!(
        events,
        [
            "checks of the pull request fail",
            "reviewers comment on the pull request",
            "the pull request conflicts with its base",
            "the pull request is merged",
            "the pull request leaves nothing to fix",
        ]
    );
}
