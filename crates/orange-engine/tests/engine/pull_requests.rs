//! What a task does with its pull request.

use orange_engine::effect::{CreatePr, Effect, EffectOutcome, MergeStrategy};
use orange_engine::event::{Event, Fact};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{
    ConcernKind, PullRequestLink, PullRequestReading, ReviewDecision,
};
use orange_engine::forge::reaction::Reaction;
use orange_engine::history::describe;
use orange_engine::input::{FactNeeded, Observation, PullRequestFacts, RequestKind};
use orange_engine::language::gates::{ChecksState, GitCondition, PullRequestState};
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::Trigger;
use orange_engine::names::CommitId;
use orange_engine::role::Role;
use orange_engine::{Plan, Workflow, replay};

use crate::fixtures::{
    ALL_HOLD, World, concern, failing, feedback, git_facts, in_state, load_clean, plan_of,
    pull_request_facts, pull_request_link, refusal_of, shipped_workflow, shown,
};

fn github() -> Workflow {
    shipped_workflow("github")
}

/// A task of the workflow `github` whose reviewer has just passed it.
fn checking(workflow: &Workflow) -> World<'_> {
    let mut world = World::begin(workflow);
    world.verb(Role::Human, Verb::Spawn);
    world.settle();
    world.write(&[("## Plan", "APPROACH: a\nTOUCHING: b")]);
    world.expect_move(Role::Worker, "working");
    pass_review(&mut world, 1);
    world
}

/// The worker hands over, and the reviewer passes it.
fn pass_review(world: &mut World<'_>, round: u8) {
    let handoff = format!("DONE: round {round}");
    let plan = ("## Plan", "APPROACH: a\nTOUCHING: b");
    world.write(&[plan, ("## Handoff", &handoff)]);
    world.expect_move(Role::Worker, "agent-review");
    let review = format!("Verdict: PASS\n\nround {round}");
    world.write(&[plan, ("## Handoff", &handoff), ("## Review", &review)]);
    world.expect_move(Role::Reviewer, "checking");
}

fn planned(plan: &Plan) -> Vec<Effect> {
    let facts = plan.events.iter().map(|event| &event.fact);
    let effects = facts.filter_map(|fact| match fact {
        Fact::EffectPlanned(planned) => Some(planned.effect.clone()),
        _ => None,
    });
    effects.collect()
}

/// The message that the plan sends to the worker.
fn message(plan: &Plan) -> String {
    let mut effects = planned(plan).into_iter();
    effects
        .find_map(|effect| match effect {
            Effect::NotifyRole(notify) => Some(notify.message),
            _ => None,
        })
        .unwrap()
}

#[test]
fn a_passed_review_opens_a_draft_for_the_reviewed_commit() {
    let workflow = github();
    let mut world = checking(&workflow);
    let created = world.events.iter().find_map(|event| match &event.fact {
        Fact::EffectPlanned(planned) => match &planned.effect {
            Effect::CreatePr(create) => Some(create.clone()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(
        created.unwrap(),
        CreatePr {
            branch: world.task.branch.clone(),
            head: Some(CommitId::new("head")),
            title: String::from("Add a thing"),
            draft: Some(true),
            labels: Vec::new(),
        }
    );
    assert_eq!(world.task.pull_request, Some(pull_request_link()));
    world.facts.pull_request = Some(Some(PullRequestFacts {
        is_draft: true,
        ..pull_request_facts()
    }));
    let plan = world.observe(concern(ConcernKind::Settled, "head", &[]));
    assert_eq!(world.task.status.as_str(), "reviewing");
    assert_eq!(planned(&plan), [Effect::ReadyPr]);
    world.settle();
    // It is merged at the forge.
    world.observe(in_state(PullRequestState::Merged));
    assert_eq!(world.task.status.as_str(), "done");
    assert_eq!(world.task.entered.trigger, Some(Trigger::Merged));
    assert_eq!(replay(&world.events).unwrap(), world.task);
}

#[test]
fn lesson_76_a_flake_costs_no_round() {
    let workflow = github();
    let mut world = checking(&workflow);
    let plan = world.observe(concern(failing(true), "head", &["attempt 1"]));
    let head = CommitId::new("head");
    assert_eq!(planned(&plan), [Effect::RerunChecks { head }]);
    // The checks fail as long as they have not run again.
    let plan = world.observe(concern(failing(true), "head", &["attempt 1"]));
    assert_eq!(plan.events, []);
    world.settle();
    assert_eq!(world.task.status.as_str(), "checking");
    let plan = world.observe(concern(failing(true), "head", &["attempt 2"]));
    assert_eq!(world.task.status.as_str(), "working");
    assert_eq!(world.task.fields["pr_rounds"], 1);
    let message = message(&plan);
    assert!(message.contains("feedback/head.md"), "{message}");
    assert!(message.contains("round 1 of 3"), "{message}");
}

#[test]
fn checks_that_cannot_run_again_go_to_the_agent_at_once() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.observe(concern(failing(false), "head", &["status"]));
    assert_eq!(world.task.status.as_str(), "working");
    let because = orange_engine::why::explain(&world.events).unwrap().evidence;
    assert_eq!(because, ["checks of pull request #12 fail: build and lint"]);
}

#[test]
fn lesson_66_a_conflict_that_never_moves_reaches_the_user() {
    let workflow = github();
    let mut world = checking(&workflow);
    let conflict = || concern(ConcernKind::Conflicting, "head", &["base1"]);
    world.observe(conflict());
    world.settle();
    assert_eq!(world.task.status.as_str(), "working");
    // The agent hands over the same commit.
    pass_review(&mut world, 2);
    world.observe(conflict());
    assert_eq!(world.task.status.as_str(), "checking");
    assert_eq!(
        world.task.attention,
        [
            "pull request #12 conflicts with its base; an agent's last round changed nothing \
          about it"
        ]
    );
    // Clearing the list does not make every look raise it again.
    world.ask(Role::Human, RequestKind::ClearAttention);
    assert_eq!(world.observe(conflict()).events, []);
    // A decision of the user allows it once more.
    world.expect_move(Role::Human, "working");
    pass_review(&mut world, 3);
    world.observe(conflict());
    assert_eq!(world.task.status.as_str(), "working");
}

#[test]
fn lesson_81_rounds_end_with_the_open_points() {
    let workflow = github();
    let mut world = checking(&workflow);
    for round in 1..=3_u8 {
        world.observe(concern(feedback(), "head", &[&format!("point {round}")]));
        world.settle();
        assert_eq!(world.task.status.as_str(), "working", "round {round}");
        pass_review(&mut world, round + 1);
    }
    world.observe(concern(feedback(), "head", &["point 4"]));
    assert_eq!(world.task.status.as_str(), "stuck");
    assert!(
        world.task.attention.contains(&String::from(
            "pull request #12 has open points: ada on src/lib.rs:3"
        )),
        "{:?}",
        world.task.attention
    );
    let file = world.task.reactions.feedback_file();
    assert_eq!(file, Some("feedback/head.md"));
}

#[test]
fn lesson_66_the_counter_is_checked_before_the_fingerprint() {
    let workflow = github();
    let mut world = checking(&workflow);
    let conflict = || concern(ConcernKind::Conflicting, "head", &["base1"]);
    world.observe(conflict());
    world.settle();
    pass_review(&mut world, 2);
    // The same conflict: answered, but no round is left, so the task does not stay in silence.
    world.set("pr_rounds", 3);
    world.observe(conflict());
    assert_eq!(world.task.status.as_str(), "stuck");
}

#[test]
fn lesson_83_a_round_does_not_reset_the_counter_that_bounds_it() {
    let workflow = github();
    let mut world = checking(&workflow);
    for round in 1..=2_u8 {
        world.observe(concern(feedback(), "head", &[&format!("point {round}")]));
        world.settle();
        pass_review(&mut world, round + 1);
        assert_eq!(world.task.fields["pr_rounds"], i64::from(round));
    }
    world.expect_move(Role::Human, "working");
    assert_eq!(world.task.fields["pr_rounds"], 0);
}

#[test]
fn lesson_82_an_agent_that_dies_in_a_round_is_counted() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.observe(concern(feedback(), "head", &["point"]));
    world.settle();
    for _ in 0..2 {
        let evidence = orange_engine::evidence::Evidence::Exit { code: 1 };
        world.ends(&Role::Worker, evidence);
        if world.task.status.as_str() == "working" {
            let role = Some(Role::Worker);
            world.ask(Role::Human, RequestKind::Respawn { role });
            world.settle();
        }
    }
    assert_eq!(world.task.status.as_str(), "stuck");
    // Whatever the pull request says, an agent is not started from here.
    let plan = world.observe(concern(feedback(), "head", &["another point"]));
    assert_eq!(plan.events, []);
}

#[test]
fn an_agent_at_work_is_not_disturbed() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.observe(concern(feedback(), "head", &["1"]));
    world.settle();
    for kind in [ConcernKind::Conflicting, failing(true), feedback()] {
        assert_eq!(world.observe(concern(kind, "head", &["2"])).events, []);
    }
}

/// A task that waits for its pull request, which a workflow merges by itself.
fn waiting(workflow: &Workflow) -> World<'_> {
    let mut world = World::begin(workflow);
    world.expect_move(Role::Human, "waiting");
    world.facts.pull_request = Some(Some(pull_request_facts()));
    world
}

#[test]
fn lesson_68_a_merge_names_the_commit_that_was_judged() {
    let workflow = merging();
    let mut world = waiting(&workflow);
    let plan = world.observe(concern(ConcernKind::Settled, "head", &[]));
    let [Effect::MergePr { head, strategy }] = &planned(&plan)[..] else {
        panic!("{plan:#?}");
    };
    assert_eq!((head.as_str(), *strategy), ("head", MergeStrategy::Squash));
    // The forge may only queue it: the request is no merge.
    world.settle();
    assert_eq!(world.task.status.as_str(), "merging");
    world.observe(in_state(PullRequestState::Merged));
    assert_eq!(world.task.status.as_str(), "done");
    assert_eq!(world.task.entered.trigger, Some(Trigger::PrMerged));
}

#[test]
fn lesson_67_a_merge_that_fails_at_the_forge_changes_no_status() {
    let workflow = merging();
    let mut world = waiting(&workflow);
    world.observe(concern(ConcernKind::Settled, "head", &[]));
    let effect = world.task.pending[0].planned.id;
    world.observe(Observation::EffectFailed {
        effect,
        error: String::from("the head has moved"),
        feedback: None,
    });
    assert_eq!(world.task.status.as_str(), "merging");
    assert_eq!(world.task.attention, ["merge_pr: the head has moved"]);
    let again = world.observe(concern(ConcernKind::Settled, "head", &[]));
    assert_eq!(again.events, []);
}

#[test]
fn a_transition_cancels_what_was_planned_for_the_commit_before_it() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.observe(concern(failing(true), "head", &["1"]));
    assert_eq!(world.effects(), ["rerun_checks"]);
    world.move_to(Role::Human, "working");
    assert!(!world.effects().contains(&"rerun_checks"));
}

/// A workflow that merges by itself.
fn merging() -> Workflow {
    load_clean(
        r"
name: merging
version: 1
states:
  pending: { kind: queued }
  waiting: { kind: waiting }
  merging: { kind: waiting }
  done: { kind: terminal }
transitions:
  - { from: pending, to: waiting, by: human, hooks: [create_pr] }
  - from: waiting
    to: merging
    trigger: pr_ready
    gate: { pr: { checks: passing } }
    hooks:
      - { action: merge_pr, strategy: squash }
  - { from: merging, to: done, trigger: pr_merged }
",
    )
}

/// What the gate of `merging` says about these facts.
fn judge(gate: &str, facts: PullRequestFacts) -> String {
    let text = format!(
        "name: gated\nversion: 1\nstates: {{ a: {{ kind: queued }}, b: {{ kind: terminal }} }}\n\
         transitions:\n  - {{ from: a, to: b, by: human, gate: {{ pr: {gate} }} }}\n"
    );
    let workflow = load_clean(&text);
    let mut world = World::begin(&workflow);
    world.facts.pull_request = Some(Some(facts));
    shown(&world.move_to(Role::Human, "b"))
}

#[test]
fn pull_request_gates_name_what_differs() {
    let good = pull_request_facts;
    for (gate, facts, failure) in [
        (
            "{ state: merged }",
            good(),
            "the pull request is open, but must be merged",
        ),
        (
            "{ draft: false }",
            PullRequestFacts {
                is_draft: true,
                ..good()
            },
            "the pull request is a draft",
        ),
        ("{ draft: true }", good(), "the pull request is not a draft"),
        (
            "{ checks: passing }",
            PullRequestFacts {
                checks: Knowledge::Known(ChecksState::Failing),
                ..good()
            },
            "the checks of the pull request are failing, but must be passing",
        ),
        (
            "{ review: approved }",
            good(),
            "the pull request is not approved",
        ),
        (
            "{ review: none_required }",
            PullRequestFacts {
                review: Knowledge::Known(ReviewDecision::ChangesRequested),
                ..good()
            },
            "a reviewer requests changes of the pull request",
        ),
        (
            "{ review: none_required }",
            PullRequestFacts {
                review: Knowledge::Known(ReviewDecision::Required),
                ..good()
            },
            "the pull request is not approved",
        ),
        (
            "{ mergeable: true }",
            PullRequestFacts {
                mergeable: Some(false),
                ..good()
            },
            "the pull request conflicts with its base",
        ),
        (
            "{ mergeable: false }",
            good(),
            "the pull request has no conflict with its base",
        ),
        (
            "{ threads: resolved }",
            PullRequestFacts {
                open_threads: Some(1),
                ..good()
            },
            "1 point of a reviewer is open",
        ),
        (
            "{ threads: resolved }",
            PullRequestFacts {
                open_threads: Some(2),
                ..good()
            },
            "2 points of reviewers are open",
        ),
    ] {
        let expected = format!("refused gate-failed ({failure})");
        assert_eq!(judge(gate, facts), expected, "{gate}");
    }
    for gate in [
        "{ state: open }",
        "{ draft: false }",
        "{ checks: passing }",
        "{ review: none_required }",
        "{ mergeable: true }",
        "{ threads: resolved }",
    ] {
        assert_eq!(judge(gate, good()), "-> b", "{gate}");
    }
}

#[test]
fn lesson_59_what_is_unknown_passes_no_gate() {
    let unknown = PullRequestFacts {
        checks: Knowledge::Unknown,
        review: Knowledge::Unknown,
        mergeable: None,
        open_threads: None,
        ..pull_request_facts()
    };
    for gate in [
        "{ checks: passing, allow_none: true }",
        "{ review: none_required }",
        "{ mergeable: true }",
        "{ mergeable: false }",
        "{ threads: resolved }",
    ] {
        let answer = judge(gate, unknown.clone());
        assert!(answer.contains("not known yet"), "{gate}: {answer}");
    }
}

#[test]
fn lesson_64_no_checks_pass_only_where_the_workflow_says_so() {
    let bare = PullRequestFacts {
        checks: Knowledge::None,
        ..pull_request_facts()
    };
    assert_eq!(
        judge("{ checks: passing }", bare.clone()),
        "refused gate-failed (the checks of the pull request are absent, but must be passing)"
    );
    assert_eq!(judge("{ checks: passing, allow_none: true }", bare), "-> b");
    let pending = PullRequestFacts {
        checks: Knowledge::Known(ChecksState::Pending),
        ..pull_request_facts()
    };
    let answer = judge("{ checks: passing, allow_none: true }", pending);
    assert!(answer.contains("are pending"), "{answer}");
}

#[test]
fn lesson_69_an_approval_of_another_commit_passes_no_gate() {
    let approved = PullRequestFacts {
        head: CommitId::new("older"),
        review: Knowledge::Known(ReviewDecision::Approved),
        ..pull_request_facts()
    };
    assert_eq!(
        judge("{ review: approved }", approved.clone()),
        "refused gate-failed (the pull request is at older, but the branch is at head)"
    );
    let now = PullRequestFacts {
        head: CommitId::new("head"),
        ..approved
    };
    assert_eq!(judge("{ review: approved }", now), "-> b");
}

#[test]
fn lesson_60_a_draft_without_conflicts_is_mergeable() {
    let draft = PullRequestFacts {
        is_draft: true,
        review: Knowledge::Known(ReviewDecision::Required),
        ..pull_request_facts()
    };
    assert_eq!(judge("{ mergeable: true }", draft), "-> b");
}

#[test]
fn lesson_65_a_conflict_is_reacted_to_while_checks_are_missing() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.facts.pull_request = Some(Some(PullRequestFacts {
        checks: Knowledge::Known(ChecksState::Pending),
        mergeable: Some(false),
        ..pull_request_facts()
    }));
    world.observe(concern(ConcernKind::Conflicting, "head", &["base"]));
    assert_eq!(world.task.status.as_str(), "working");
}

#[test]
fn a_gate_that_does_not_hold_leaves_no_trace() {
    let workflow = github();
    let mut world = checking(&workflow);
    let settled = || concern(ConcernKind::Settled, "head", &[]);
    let decision = world.decide(orange_engine::input::Cause::Observation(settled()));
    assert_eq!(shown(&decision), "needs pullrequest");
    world.facts.pull_request = Some(Some(PullRequestFacts {
        open_threads: Some(1),
        ..pull_request_facts()
    }));
    assert_eq!(world.observe(settled()).events, []);
    world.facts.pull_request = Some(Some(pull_request_facts()));
    world.observe(settled());
    assert_eq!(world.task.status.as_str(), "reviewing");
}

#[test]
fn a_closed_pull_request_is_reported_once() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.observe(in_state(PullRequestState::Closed));
    assert_eq!(world.task.status.as_str(), "checking");
    assert_eq!(
        world.task.attention,
        [
            "pull request #12 was closed without a merge; open another one with `orange task pr \
          k3f9`, or cancel the task with `orange task cancel k3f9`"
        ]
    );
    world.ask(Role::Human, RequestKind::ClearAttention);
    assert_eq!(world.observe(in_state(PullRequestState::Closed)).events, []);
}

#[test]
fn a_merged_pull_request_ends_tasks_of_every_workflow() {
    for name in ["default", "respawn", "minimal", "session", "github"] {
        let workflow = shipped_workflow(name);
        let mut world = World::placed(&workflow, "reviewing");
        world.observe(in_state(PullRequestState::Merged));
        assert!(workflow.is_terminal(&world.task.status), "{name}");
        assert_eq!(world.task.pull_request, Some(pull_request_link()));
    }
}

#[test]
fn a_branch_that_is_gone_keeps_no_task_from_ending_with_its_pull_request() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.facts.git = None;
    let Observation::PullRequest(reading) = in_state(PullRequestState::Merged) else {
        panic!("no reading");
    };
    world.observe(Observation::PullRequest(PullRequestReading {
        is_branch_gone: true,
        ..reading
    }));
    assert!(workflow.is_terminal(&world.task.status));
}

#[test]
fn later_commits_keep_a_task_from_ending_with_its_pull_request() {
    let workflow = github();
    let mut world = checking(&workflow);
    let mut git = git_facts(&ALL_HOLD);
    git.head = CommitId::new("later");
    world.facts.git = Some(git.clone());
    world.observe(in_state(PullRequestState::Merged));
    assert_eq!(world.task.status.as_str(), "checking");
    assert_eq!(
        world.task.attention,
        [
            "pull request #12 was merged at head, but `orange-tasks/k3f9` has other commits; see \
          them with `orange task diff k3f9`"
        ]
    );
    assert_eq!(world.observe(in_state(PullRequestState::Merged)).events, []);
    // Once the default branch has all of it, the task ends.
    git.met_conditions = vec![GitCondition::Clean];
    world.facts.git = Some(git);
    world.observe(in_state(PullRequestState::Merged));
    assert_eq!(world.task.status.as_str(), "done");
    let mut world = checking(&workflow);
    world.facts.git = None;
    let merged = in_state(PullRequestState::Merged);
    let decision = world.decide(orange_engine::input::Cause::Observation(merged));
    assert_eq!(shown(&decision), "needs git");
}

#[test]
fn while_a_merge_is_running_its_effect_reports_the_result() {
    let workflow = github();
    let mut world = World::placed(&workflow, "reviewing");
    world.commit();
    world.observe(in_state(PullRequestState::Open));
    let merge = RequestKind::Merge {
        strategy: None,
        local: false,
        only_head: false,
    };
    let plan = plan_of(world.ask(Role::Human, merge));
    let [Effect::Merge(merge)] = &planned(&plan)[..] else {
        panic!("{plan:#?}");
    };
    assert_eq!(merge.pull_request, Some(pull_request_link()));
    assert_eq!(world.observe(in_state(PullRequestState::Merged)).events, []);
    let local = RequestKind::Merge {
        strategy: None,
        local: true,
        only_head: false,
    };
    let mut world = World::placed(&workflow, "reviewing");
    world.commit();
    world.observe(in_state(PullRequestState::Open));
    let plan = plan_of(world.ask(Role::Human, local));
    let [Effect::Merge(merge)] = &planned(&plan)[..] else {
        panic!("{plan:#?}");
    };
    assert_eq!(merge.pull_request, None);
}

#[test]
fn another_pull_request_than_the_tasks_own_is_ignored() {
    let workflow = github();
    let mut world = checking(&workflow);
    let other = Observation::PullRequest(PullRequestReading {
        link: PullRequestLink {
            number: 13,
            id: String::from("PR_13"),
            url: String::from("https://github.com/coffee/shop/pull/13"),
            is_outside: false,
        },
        head: CommitId::new("head"),
        state: PullRequestState::Merged,
        is_branch_gone: false,
        concern: None,
    });
    assert_eq!(world.observe(other).events, []);
    // A renamed repository keeps the id.
    let link = PullRequestLink {
        url: String::from("https://github.com/tea/shop/pull/12"),
        is_outside: false,
        ..pull_request_link()
    };
    world.observe(Observation::PullRequest(PullRequestReading {
        link: link.clone(),
        head: CommitId::new("head"),
        state: PullRequestState::Open,
        is_branch_gone: false,
        concern: None,
    }));
    assert_eq!(world.task.pull_request, Some(link));
}

#[test]
fn the_user_opens_a_pull_request_in_any_status_with_commits() {
    let workflow = shipped_workflow("default");
    let open = |draft| RequestKind::OpenPullRequest { draft };
    let mut world = World::placed(&workflow, "working");
    let status = world.task.status.clone();
    let plan = plan_of(world.ask(Role::Human, open(None)));
    let [Effect::CreatePr(create)] = &planned(&plan)[..] else {
        panic!("{plan:#?}");
    };
    assert_eq!(create.head, Some(CommitId::new("head")));
    assert_eq!(create.draft, None);
    // Asking again replaces what has not happened yet.
    world.ask(Role::Human, open(Some(false)));
    assert_eq!(world.effects(), ["create_pr", "ready_pr"]);
    world.settle();
    assert_eq!(world.task.status, status);
    assert_eq!(world.task.pull_request, Some(pull_request_link()));

    let by_agent = refusal_of(world.ask(Role::Worker, open(None)));
    assert_eq!(by_agent.code(), "not-allowed");
    world.facts.git = None;
    assert_eq!(shown(&world.ask(Role::Human, open(None))), "needs git");
    world.facts.git = Some(git_facts(&[GitCondition::BranchNotDefault]));
    let empty = refusal_of(world.ask(Role::Human, open(None)));
    assert_eq!(empty.code(), "nothing-to-push");
    assert_eq!(
        empty.hints,
        ["commit the work in the task's worktree, then run `orange task pr k3f9`"]
    );
    world.facts.git = Some(git_facts(&[
        GitCondition::CommitsAhead,
        GitCondition::BranchNotDefault,
    ]));
    let task_file = refusal_of(world.ask(Role::Human, open(None)));
    let text = task_file.to_string();
    assert!(
        text.contains("TASK.md was committed to the branch"),
        "{text}"
    );
    let mut ended = World::placed(&workflow, "done");
    let refusal = refusal_of(ended.ask(Role::Human, open(None)));
    assert_eq!(refusal.code(), "terminal");
}

#[test]
fn a_transition_that_opens_a_pull_request_needs_to_know_the_commit() {
    let workflow = merging();
    let mut world = World::begin(&workflow);
    world.facts.git = None;
    assert_eq!(
        shown(&world.move_to(Role::Human, "waiting")),
        format!("needs {:?}", FactNeeded::Git).to_lowercase()
    );
}

#[test]
fn events_of_earlier_versions_are_still_read() {
    let planned = r#"{"type":"effect.planned","id":7,"plan":6,
        "effect":{"action":"create_pr","branch":"work","title":"Add"},"on_error":"stop"}"#;
    let observed = r#"{"type":"pull_request.observed","state":"closed"}"#;
    for (text, expected) in [
        (planned, "create_pr was planned"),
        (observed, "the pull request is closed"),
    ] {
        let fact: Fact = serde_json::from_str(text).unwrap();
        assert_eq!(describe(&fact, &[]), expected);
    }
}

#[test]
fn the_history_says_what_was_done_about_the_pull_request() {
    let workflow = github();
    let mut world = checking(&workflow);
    world.observe(concern(failing(true), "head", &["1"]));
    world.settle();
    world.observe(concern(failing(true), "head", &["2"]));
    let is_reaction = |event: &&Event| matches!(event.fact, Fact::PullRequestReaction { .. });
    let reactions = world.events.iter().filter(is_reaction);
    let lines: Vec<String> = reactions
        .map(|event| describe(&event.fact, &world.events))
        .collect();
    assert_eq!(
        lines,
        [
            "the pull request has failing checks at head; the failed checks run again",
            "the pull request has failing checks at head; the workflow has a transition for that",
        ]
    );
    let text = serde_json::to_string(&world.task).unwrap();
    let read: orange_engine::task::Task = serde_json::from_str(&text).unwrap();
    assert_eq!(read, world.task);
    assert!(text.contains(r#""reaction""#) || text.contains(r#""reactions""#));
    assert_eq!(
        serde_json::to_string(&Reaction::Rerun).unwrap(),
        r#""rerun""#
    );
    let outcome = EffectOutcome::PullRequest(pull_request_link());
    let text = serde_json::to_string(&outcome).unwrap();
    assert!(text.contains(r#""pull_request":{"number":12"#), "{text}");
}

/// How often the plan sends the task back to its worker.
fn sent_back(plan: &Plan) -> usize {
    let facts = plan.events.iter().map(|event| &event.fact);
    let back =
        facts.filter(|fact| matches!(fact, Fact::StatusChanged(it) if it.to.as_str() == "working"));
    back.count()
}

#[test]
fn lesson_81_ten_rounds_of_every_kind_start_three_agents_and_then_tell_the_user() {
    let workflow = github();
    let kinds = [
        ("red", failing(false)),
        ("conflicting", ConcernKind::Conflicting),
        ("feedback", feedback()),
    ];
    for (name, kind) in kinds {
        let mut world = checking(&workflow);
        let mut started = 0;
        for round in 1..=10_u8 {
            let details = format!("{name} {round}");
            let look = || concern(kind.clone(), "head", &[&details]);
            let first = world.observe(look());
            started += sent_back(&first);
            world.settle();
            if world.task.status.as_str() == "working" {
                // While the agent works, the same is seen again and again.
                assert_eq!(sent_back(&world.observe(look())), 0, "{name} {round}");
                pass_review(&mut world, round + 1);
                // The agent has changed nothing about it: the same fingerprint starts none.
                let again = world.observe(look());
                assert_eq!(sent_back(&again), 0, "{name} {round}");
                world.settle();
            }
        }
        assert!(started <= 3, "{name}: {started} agents");
        assert!(started >= 1, "{name}");
        assert_ne!(world.task.status.as_str(), "working", "{name}");
        let told = world.task.attention.join("\n");
        assert!(told.contains("pull request #12"), "{name}: {told}");
        assert_eq!(replay(&world.events).unwrap(), world.task);
    }
}

#[test]
fn lesson_76_ten_looks_at_a_flake_start_no_agent() {
    let workflow = github();
    let mut world = checking(&workflow);
    let mut reruns = 0;
    for _ in 0..10 {
        let plan = world.observe(concern(failing(true), "head", &["attempt 1"]));
        assert_eq!(sent_back(&plan), 0);
        let effects = planned(&plan);
        reruns += effects
            .iter()
            .filter(|it| matches!(it, Effect::RerunChecks { .. }))
            .count();
    }
    assert_eq!(reruns, 1);
    world.settle();
    world.facts.pull_request = Some(Some(pull_request_facts()));
    world.observe(concern(ConcernKind::Settled, "head", &[]));
    assert_eq!(world.task.status.as_str(), "reviewing");
    assert_eq!(world.task.fields["pr_rounds"], 0);
}
