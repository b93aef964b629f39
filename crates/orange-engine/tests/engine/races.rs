//! Events that arrive in the wrong order, twice, or partly.

use orange_engine::decision::{Decision, Plan};
use orange_engine::effect::{Effect, EffectId, EffectOutcome, KillScope};
use orange_engine::evidence::Evidence;
use orange_engine::input::{Cause, GitFacts, Observation, Request, RequestKind, UncommittedWork};
use orange_engine::language::gates::GitCondition;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, CommitId, RunId, TaskId};
use orange_engine::report::{Delegation, Report};
use orange_engine::role::Role;
use orange_engine::task::{PendingState, RunState, Workspace};

use crate::fixtures::{
    ALL_HOLD, World, git_facts, new_task, shipped_workflow, shown, status, task_file,
};

const PASS: [(&str, &str); 2] = [("## Handoff", "DONE: x"), ("## Review", "Verdict: PASS")];

fn effect(world: &World<'_>, label: &str) -> EffectId {
    let pending = world.task.pending.iter();
    let mut labelled = pending.filter(|pending| pending.planned.effect.label() == label);
    labelled.next().unwrap().planned.id
}

fn fail_effect(world: &mut World<'_>, label: &str) {
    let effect = effect(world, label);
    let error = String::from("broken");
    world.observe(Observation::EffectFailed {
        effect,
        error,
        feedback: None,
    });
}

fn complete_effect(world: &mut World<'_>, label: &str) {
    let effect = effect(world, label);
    let planned = world.task.pending_effect(effect).unwrap().planned.clone();
    let outcome = world.outcome_of(&planned.effect);
    world.observe(Observation::EffectDone { effect, outcome });
}

fn kill_run(world: &World<'_>) -> Vec<(KillScope, Vec<RunId>)> {
    let pending = world.task.pending.iter();
    pending
        .filter_map(|pending| match &pending.planned.effect {
            Effect::Kill(kill) => Some((kill.scope.clone(), kill.runs.clone())),
            _ => None,
        })
        .collect()
}

#[test]
fn reading_the_file_vouches_for_nothing() {
    let workflow = shipped_workflow("default");
    for by in [Role::Reviewer, Role::Human] {
        let mut world = World::placed(&workflow, "agent-review");
        world.write(&PASS);
        world.observe(Observation::DocumentRead {
            by: by.clone(),
            is_request: false,
        });
        world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
        assert_eq!(world.task.status, status("agent-review"), "{by}");
        // A request made with it counts, even a refused one.
        let mut world = World::placed(&workflow, "agent-review");
        world.write(&PASS);
        assert!(matches!(
            world.move_to(by.clone(), "working"),
            Decision::Refusal(_)
        ));
        world.observe(Observation::DocumentRead {
            by,
            is_request: true,
        });
        world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
        assert_eq!(world.task.status, status("reviewing"));
    }
}

#[test]
fn content_from_before_the_task_is_not_fresh() {
    let workflow = shipped_workflow("default");
    let mut new = new_task("x", Some("agent-review"));
    new.by = Role::Human;
    let mut world = World::create_with(&workflow, &new, Some(&task_file(&PASS))).unwrap();
    assert_eq!(
        world.refused(Role::Reviewer, "reviewing").code(),
        "gate-failed"
    );
    world.write(&[("## Review", "Verdict: PASS\nand now I have read it")]);
    world.settle();
    world.expect_move(Role::Reviewer, "reviewing");
}

#[test]
fn a_gate_on_freshness_waits_for_the_document() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "reviewing");
    let file = world.file.take();
    assert_eq!(
        shown(&world.move_to(Role::Human, "working")),
        "needs document"
    );
    world.file = file;
    world.write(&[("## Handoff", "DONE: reworded while the person looked")]);
    world.expect_move(Role::Human, "working");
    world.ends(&Role::Worker, Evidence::Signal { signal: 9 });
    assert_eq!(
        world.task.status,
        status("working"),
        "the handoff is older than the request"
    );
    let seed = crate::fixtures::load_clean(include_str!("seeds/large.yml"));
    let mut world = World::placed(&seed, "stuck");
    world.file = None;
    assert!(shown(&world.move_to(Role::Human, "working")).starts_with("-> working"));
}

#[test]
fn an_agent_can_only_amend_its_own_task() {
    let workflow = shipped_workflow("default");
    let amend = || RequestKind::Amend {
        summary: Some(String::from("ignore all faults")),
        branch: Some(BranchName::new("main")),
        priority: None,
        to: None,
    };
    for name in ["agent-review", "reviewing"] {
        let mut world = World::placed(&workflow, name);
        world.facts.git = Some(git_facts(&[GitCondition::BranchNotDefault]));
        assert_eq!(
            shown(&world.ask(Role::Worker, amend())),
            "refused not-allowed (only human)"
        );
        assert!(matches!(world.ask(Role::Human, amend()), Decision::Plan(_)));
    }
}

#[test]
fn a_release_that_failed_is_not_repeated_on_a_workspace_in_use() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    complete_effect(&mut world, "acquire_workspace");
    fail_effect(&mut world, "spawn_agent");
    assert_eq!(world.task.status, status("pending"));
    complete_effect(&mut world, "kill_session");
    fail_effect(&mut world, "release_workspace");
    world.verb(Role::Human, Verb::Spawn);
    assert_eq!(world.effects(), ["acquire_workspace", "spawn_agent"]);
    world.settle();
    assert_eq!(
        shown(&world.ask(Role::Engine, RequestKind::RetryEffects)),
        "refused nothing-to-do"
    );
    assert!(matches!(world.task.workspace, Workspace::Bound(_)));
    assert!(world.task.is_live(&Role::Worker));
}

#[test]
fn the_next_kill_includes_the_runs_of_a_failed_kill() {
    let workflow = shipped_workflow("minimal");
    let mut world = World::placed(&workflow, "working");
    let worker = world.task.runs[&Role::Worker].id.clone();
    world.write(&[("## Handoff", "all")]);
    world.move_to(Role::Worker, "reviewing");
    fail_effect(&mut world, "kill_session");
    world.verb(Role::Human, Verb::Cancel);
    assert_eq!(kill_run(&world), [(KillScope::Session, vec![worker])]);
    assert_eq!(world.effects(), ["kill_session", "release_workspace"]);
    world.settle();
    assert!(world.task.runs.is_empty());
    assert_eq!(world.task.workspace, Workspace::None);
}

#[test]
fn a_run_that_was_replaced_after_a_failed_kill_is_not_forgotten() {
    let workflow = shipped_workflow("respawn");
    let mut world = World::placed(&workflow, "stuck");
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    world.settle();
    let old = world.task.runs[&Role::Worker].id.clone();
    world.move_to(Role::Human, "working");
    fail_effect(&mut world, "kill_session");
    world.verb(Role::Human, Verb::Cancel);
    let (scope, runs) = kill_run(&world).pop().unwrap();
    assert_eq!(scope, KillScope::Session);
    assert!(runs.contains(&old), "{runs:?}");
}

#[test]
fn a_kill_includes_a_dead_agent() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "agent-review");
    let reviewer = world.task.runs[&Role::Reviewer].id.clone();
    world.write(&PASS);
    world.import_as(Role::Reviewer);
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("reviewing"));
    assert_eq!(
        kill_run(&world),
        [(KillScope::Role(Role::Reviewer), vec![reviewer])]
    );
}

#[test]
fn processes_of_a_dead_agent_are_killed_before_the_next_start() {
    let workflow = shipped_workflow("default");
    // By respawn, by the exit rule, by a message that becomes a start, by an edge of its own.
    let mut world = World::placed(&workflow, "working");
    let dead = world.task.runs[&Role::Worker].id.clone();
    world.ends(&Role::Worker, Evidence::Signal { signal: 9 });
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    assert_eq!(kill_run(&world), [(KillScope::Runs, vec![dead.clone()])]);
    assert_eq!(world.effects(), ["kill_agent", "spawn_agent"]);
    let mut world = World::placed(&workflow, "agent-review");
    let reviewer = world.task.runs[&Role::Reviewer].id.clone();
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    assert_eq!(world.effects(), ["kill_agent", "spawn_reviewer"]);
    assert_eq!(kill_run(&world), [(KillScope::Runs, vec![reviewer])]);
    let mut world = World::placed(&workflow, "working");
    world.set("crash_count", 1);
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    assert_eq!(world.effects(), ["kill_agent", "notify_worker"]);
    assert_eq!(kill_run(&world), [(KillScope::Runs, vec![dead.clone()])]);
    let mut world = World::placed(&workflow, "planning");
    world.write(&[("## Plan", "APPROACH: x")]);
    world.ends(&Role::Worker, Evidence::Exit { code: 0 });
    assert_eq!(world.effects(), ["kill_agent", "spawn_agent"]);
    assert_eq!(kill_run(&world), [(KillScope::Runs, vec![dead])]);
    world.settle();
    assert!(world.task.is_live(&Role::Worker));
}

#[test]
fn a_starting_worker_is_not_spawned_twice() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "agent-review");
    world.set("review_round", 1);
    world.write(&[("## Review", "Verdict: FAIL")]);
    world.move_to(Role::Reviewer, "working");
    let respawn = || RequestKind::Respawn {
        role: Some(Role::Worker),
    };
    assert_eq!(
        shown(&world.ask(Role::Human, respawn())),
        "refused already-starting"
    );
    world.settle();
    assert_eq!(
        shown(&world.ask(Role::Human, respawn())),
        "refused still-running"
    );
}

#[test]
fn a_call_proves_that_its_caller_runs() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "resuming");
    world.verb(Role::Human, Verb::Spawn);
    complete_effect(&mut world, "acquire_workspace");
    let worker = world.task.runs[&Role::Worker].id.clone();
    assert_eq!(world.task.runs[&Role::Worker].state, RunState::Starting);
    world.write(&[("## Handoff", "DONE: x")]);
    world.move_to(Role::Worker, "agent-review");
    assert_eq!(world.task.runs[&Role::Worker].state, RunState::Alive);
    world.verb(Role::Human, Verb::Cancel);
    let (_, runs) = kill_run(&world).pop().unwrap();
    assert!(runs.contains(&worker), "{runs:?}");
}

#[test]
fn a_cancelled_start_may_have_partly_happened() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "agent-review");
    world.ask(
        Role::Human,
        RequestKind::Respawn {
            role: Some(Role::Worker),
        },
    );
    let worker = world.task.runs[&Role::Worker].id.clone();
    world.write(&PASS);
    world.move_to(Role::Reviewer, "reviewing");
    let kills = kill_run(&world);
    assert_eq!(kills[0], (KillScope::Runs, vec![worker]));
    assert!(!world.task.is_live(&Role::Worker));
    // So may a message that would have become a start.
    let mut world = World::placed(&workflow, "reviewing");
    world.move_to(Role::Human, "working");
    let Effect::NotifyRole(notify) = &world.task.pending[0].planned.effect else {
        panic!()
    };
    let run = notify.spawn_if_absent.as_ref().unwrap().run.clone();
    world.verb(Role::Human, Verb::Cancel);
    let (scope, runs) = kill_run(&world).pop().unwrap();
    assert_eq!((scope, runs), (KillScope::Session, vec![run]));
}

#[test]
fn killing_a_role_covers_its_partly_started_run() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.write(&[("## Handoff", "DONE: x")]);
    world.move_to(Role::Worker, "agent-review");
    let reviewer = world.task.runs[&Role::Reviewer].id.clone();
    world.write(&PASS);
    world.move_to(Role::Human, "reviewing");
    assert_eq!(world.effects(), ["archive_section", "kill_reviewer"]);
    assert_eq!(
        kill_run(&world),
        [(KillScope::Role(Role::Reviewer), vec![reviewer])]
    );
}

#[test]
fn our_own_merge_reports_itself() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "reviewing");
    world.facts.git = Some(git_facts(&ALL_HOLD));
    world.verb(Role::Human, Verb::Merge);
    let commit = CommitId::new("head");
    assert_eq!(world.observe(Observation::Merged { commit }).events, []);
    assert_eq!(world.effects(), ["merge"]);
    complete_effect(&mut world, "merge");
    assert_eq!(world.task.status, status("done"));
}

#[test]
fn no_agent_request_is_accepted_during_a_merge() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.facts.git = Some(git_facts(&ALL_HOLD));
    let Cause::Request(mut asked) =
        crate::fixtures::request(Role::Human, RequestKind::Verb(Verb::Merge))
    else {
        panic!()
    };
    asked.is_confirmed = true;
    world.step(Cause::Request(asked));
    assert_eq!(
        shown(&world.move_to(Role::Worker, "clarification")),
        "refused merging"
    );
    assert_eq!(
        shown(&world.verb(Role::Worker, Verb::Stuck)),
        "refused merging"
    );
    // A status change by an exit rule calls off the merge and reports that.
    world.set("crash_count", 1);
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("stuck"));
    assert_eq!(
        world.task.attention,
        ["the merge was cancelled: the task changed its status"]
    );
    assert_eq!(world.task.pending_merge(), None);
}

#[test]
fn an_expected_agent_that_is_missing_raises_attention() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "clarification");
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    world.expect_move(Role::Human, "planning");
    assert_eq!(
        world.task.attention,
        ["`planning` expects the worker, but none is running"]
    );
    world.ask(Role::Human, RequestKind::Respawn { role: None });
    assert_eq!(world.task.attention, [""; 0]);
}

#[test]
fn children_are_counted_in_any_order() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    world.set("attempts", 1);
    let run = world.task.runs[&Role::Worker].id.clone();
    let report = Report {
        status: Some(String::from("in_progress")),
        delegations: vec![Delegation::default(), Delegation::default()],
        ..Report::default()
    };
    world.observe(Observation::ReportArrived { run, report });
    assert_eq!(
        world.task.status,
        status("delegated"),
        "an unnamed child is a child"
    );
    let ended = |name: &str| Observation::ChildEnded {
        child: TaskId::new(name),
        status: status("done"),
    };
    // One child ends before the creation of both is recorded.
    world.observe(ended("child0"));
    assert_eq!(world.task.status, status("delegated"));
    world.settle();
    assert_eq!(world.task.status, status("delegated"));
    world.observe(ended("child1"));
    assert_eq!(world.task.status, status("new"));
    // Both children may have ended before.
    let mut world = World::placed(&workflow, "in_progress");
    let run = world.task.runs[&Role::Worker].id.clone();
    let report = Report {
        delegations: vec![Delegation::default()],
        ..Report::default()
    };
    world.observe(Observation::ReportArrived { run, report });
    world.observe(ended("child0"));
    world.settle();
    assert_eq!(world.task.status, status("new"));
}

#[test]
fn a_delegation_without_a_child_is_reported() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    let run = world.task.runs[&Role::Worker].id.clone();
    let report = Report {
        delegations: vec![Delegation::default()],
        ..Report::default()
    };
    world.observe(Observation::ReportArrived { run, report });
    complete_effect(&mut world, "kill_session");
    let effect = effect(&world, "create_children");
    let outcome = EffectOutcome::Children(Vec::new());
    world.observe(Observation::EffectDone { effect, outcome });
    assert_eq!(world.task.attention, ["no child task was created"]);
}

#[test]
fn the_end_of_a_headless_run_reads_the_report_first() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    let run = world.task.runs[&Role::Worker].id.clone();
    let evidence = Evidence::Exit { code: 0 };
    let ended = || Observation::RunEnded {
        run: run.clone(),
        evidence: evidence.clone(),
        output_line: None,
    };
    assert!(matches!(
        world.step(Cause::Observation(ended())),
        Decision::Needs(_)
    ));
    let report = Report {
        status: Some(String::from("done")),
        ..Report::default()
    };
    world.facts.reports.insert(run.clone(), Some(report));
    world.commit();
    world.observe(ended());
    assert_eq!(world.task.status, status("done"));
    // If a report matches no edge, the exit rules handle the death.
    let everything = crate::fixtures::load_clean(include_str!("everything.yml"));
    let mut world = World::placed(&everything, "busy");
    world.task.runs.get_mut(&Role::Worker).unwrap().headless = true;
    let run = world.task.runs[&Role::Worker].id.clone();
    world
        .facts
        .reports
        .insert(run.clone(), Some(Report::default()));
    let evidence = Evidence::Exit { code: 1 };
    world.observe(Observation::RunEnded {
        run,
        evidence,
        output_line: None,
    });
    assert_eq!(world.task.crash_count, 1);
}

#[test]
fn crashes_belong_to_the_status_they_happened_in() {
    let workflow = shipped_workflow("default");
    // Early: the death comes before the start is recorded; the count does not change.
    let mut world = World::placed(&workflow, "working");
    world.write(&[("## Handoff", "DONE: x")]);
    world.move_to(Role::Worker, "agent-review");
    complete_effect(&mut world, "archive_section");
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    assert_eq!(world.task.crash_count, 1);
    world.settle();
    assert_eq!(world.task.crash_count, 1);
    world.ends(&Role::Reviewer, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("stuck"));
    // Late: a crash in the previous status does not count in the next, settled or not.
    let mut world = World::placed(&workflow, "agent-review");
    world.set("review_round", 1);
    world.set("crash_count", 1);
    world.task.runs.insert(
        Role::Worker,
        orange_engine::task::Run {
            id: RunId::new("run-worker"),
            headless: false,
            plans: false,
            state: RunState::Alive,
        },
    );
    world.write(&[("## Review", "Verdict: FAIL")]);
    world.move_to(Role::Reviewer, "working");
    assert_eq!(
        world.task.crash_count, 1,
        "not before the hooks have finished"
    );
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    assert_eq!(world.task.status, status("working"));
    assert_eq!(world.task.crash_count, 1);
}

#[test]
fn a_start_waits_for_the_effects_of_entering_its_queue() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::begin(&workflow);
    world.verb(Role::Engine, Verb::Spawn);
    assert_eq!(shown(&world.verb(Role::Engine, Verb::Spawn)), "already");
    assert_eq!(
        shown(&world.verb(Role::Human, Verb::Spawn)),
        "refused effects-running"
    );
    world.settle();
    world.verb(Role::Human, Verb::Spawn);
    assert_eq!(world.task.status, status("in_progress"));
}

#[test]
fn an_unreachable_remote_holds_no_workspace_and_is_retried() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    let run = world.task.runs[&Role::Worker].id.clone();
    let report = Report {
        status: Some(String::from("done")),
        ..Report::default()
    };
    world.commit();
    world.observe(Observation::ReportArrived { run, report });
    fail_effect(&mut world, "push_branch");
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
    assert_eq!(world.effects(), ["push_branch"]);
    assert_eq!(world.task.unfinished_plan, None);
    assert_eq!(world.task.attention.len(), 1);
    let ask = |world: &mut World<'_>, ask: RequestKind| {
        world.step(Cause::Request(Request::new(Role::Human, ask)))
    };
    ask(&mut world, RequestKind::RetryEffects);
    assert_eq!(world.task.attention, [] as [&str; 0]);
    fail_effect(&mut world, "push_branch");
    assert_eq!(world.task.attention.len(), 1);
    ask(&mut world, RequestKind::RetryEffects);
    world.settle();
    assert_eq!(world.task.attention, [] as [&str; 0]);
    assert_eq!(world.effects(), [] as [&str; 0]);
}

#[test]
fn failed_effects_of_a_finished_task_can_be_cleared() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    let clear = |world: &mut World<'_>, by: Role| {
        shown(&world.step(Cause::Request(Request::new(
            by,
            RequestKind::ClearAttention,
        ))))
    };
    assert_eq!(clear(&mut world, Role::Human), "refused not-ended");
    let run = world.task.runs[&Role::Worker].id.clone();
    let report = Report {
        status: Some(String::from("done")),
        ..Report::default()
    };
    world.commit();
    world.observe(Observation::ReportArrived { run, report });
    fail_effect(&mut world, "push_branch");
    fail_effect(&mut world, "release_workspace");
    world.settle();
    assert!(clear(&mut world, Role::Worker).starts_with("refused not-allowed"));
    clear(&mut world, Role::Human);
    // A workspace that is still held must not be hidden.
    assert_eq!(world.task.attention, ["release_workspace: broken"]);
    assert_eq!(world.effects(), ["release_workspace"]);
}

/// A report that says `done` while a git fact keeps it from counting.
fn reports_done(world: &mut World<'_>, git: GitFacts) -> Plan {
    let run = world.task.runs[&Role::Worker].id.clone();
    world.facts.git = Some(git);
    world.facts.reports.insert(
        run.clone(),
        Some(Report {
            status: Some(String::from("done")),
            ..Report::default()
        }),
    );
    world.observe(Observation::RunEnded {
        run,
        evidence: Evidence::Exit { code: 0 },
        output_line: None,
    })
}

#[test]
fn a_done_report_counts_only_for_committed_work() {
    let workflow = shipped_workflow("autopilot");
    let files: Vec<String> = (1..=7).map(|number| format!("file-{number}")).collect();
    let mut world = World::placed(&workflow, "in_progress");
    reports_done(
        &mut world,
        GitFacts {
            uncommitted: UncommittedWork {
                files,
                ..UncommittedWork::default()
            },
            ..git_facts(&[GitCondition::CommitsAhead])
        },
    );
    assert_eq!(world.task.status, status("needs_review"));
    let text = "the run reported `done`, but 7 files are not committed: `file-1`, `file-2`, \
                `file-3`, `file-4`, `file-5` and 2 more";
    assert_eq!(world.task.attention, [text]);
    assert_eq!(world.task.last_error.as_ref().unwrap().error, text);
    // An agent may have renamed or deleted the branch; the end of its run is still judged.
    let mut world = World::placed(&workflow, "in_progress");
    reports_done(
        &mut world,
        GitFacts {
            uncommitted: UncommittedWork {
                others: vec![String::from("there is no branch `work`")],
                ..UncommittedWork::default()
            },
            ..git_facts(&[])
        },
    );
    assert_eq!(world.task.status, status("needs_review"));
    let text = "the run reported `done`, but there is no branch `work`, and the branch has no \
                commit of its own";
    assert_eq!(world.task.attention, [text]);
}

#[test]
fn a_report_that_is_not_done_needs_no_commits() {
    let workflow = shipped_workflow("autopilot");
    let mut world = World::placed(&workflow, "in_progress");
    let run = world.task.runs[&Role::Worker].id.clone();
    let report = Report::unreadable("expected value at line 1 column 3");
    world.observe(Observation::ReportArrived { run, report });
    assert_eq!(world.task.status, status("needs_review"));
    let text = "the report could not be read: expected value at line 1 column 3";
    assert_eq!(world.task.attention, [text]);
}

#[test]
fn a_failed_start_needs_attention_until_it_is_retried() {
    for (workflow, queue) in [("default", "pending"), ("autopilot", "new")] {
        let workflow = shipped_workflow(workflow);
        let mut world = World::begin(&workflow);
        while world.task.status == status(queue) || world.task.status == status("routed") {
            world.verb(Role::Engine, Verb::Spawn);
            if world.task.status == status("routed") {
                world.settle();
            }
        }
        fail_effect(&mut world, "acquire_workspace");
        world.settle();
        assert_eq!(world.task.status, status(queue));
        assert_eq!(world.task.attention, ["acquire_workspace: broken"]);
        world.verb(Role::Human, Verb::Spawn);
        assert_eq!(world.task.attention, [] as [&str; 0]);
    }
}

#[test]
fn a_report_that_asks_for_help_needs_attention() {
    let report = Report {
        status: Some(String::from("done")),
        needs_help: true,
        ..Report::default()
    };
    assert_eq!(report.outcome().as_str(), "needs_review");
}

#[test]
fn a_failed_kill_is_continued_by_run() {
    let workflow = shipped_workflow("minimal");
    let mut world = World::placed(&workflow, "working");
    let first = world.task.runs[&Role::Worker].id.clone();
    world.write(&[("## Handoff", "all")]);
    world.move_to(Role::Worker, "reviewing");
    fail_effect(&mut world, "kill_session");
    world.move_to(Role::Human, "working");
    // The old worker is killed before the new one starts, and only the old one.
    assert_eq!(world.effects(), ["kill_agent", "spawn_agent"]);
    assert_eq!(kill_run(&world), [(KillScope::Runs, vec![first])]);
    world.settle();
    assert!(world.task.is_live(&Role::Worker));
    assert_eq!(world.task.runs.len(), 1);
}

#[test]
fn a_failed_release_waits_for_a_retry() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.observe(Observation::ChildAdded {
        child: TaskId::new("c"),
    });
    world.move_to(Role::Worker, "delegated");
    complete_effect(&mut world, "kill_session");
    fail_effect(&mut world, "release_workspace");
    world.move_to(Role::Human, "resuming");
    assert_eq!(world.effects(), ["release_workspace"]);
    assert!(matches!(
        world.ask(Role::Engine, RequestKind::RetryEffects),
        Decision::Plan(_)
    ));
    world.settle();
    assert_eq!(world.task.workspace, Workspace::None);
}

#[test]
fn a_pending_release_is_not_cancelled() {
    let workflow = shipped_workflow("default");
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    complete_effect(&mut world, "acquire_workspace");
    fail_effect(&mut world, "spawn_agent");
    assert_eq!(world.effects(), ["kill_session", "release_workspace"]);
    world.move_to(Role::Human, "planning");
    assert_eq!(
        world.effects(),
        [
            "kill_session",
            "release_workspace",
            "acquire_workspace",
            "spawn_agent"
        ]
    );
    world.settle();
    assert!(matches!(world.task.workspace, Workspace::Bound(_)));
}

#[test]
fn a_failed_archive_does_not_archive_a_later_section() {
    let workflow = shipped_workflow("default");
    let mut world = World::placed(&workflow, "working");
    world.write(&[("## Handoff", "DONE: x")]);
    world.move_to(Role::Worker, "agent-review");
    fail_effect(&mut world, "archive_section");
    world.write(&[("## Review", "Verdict: FAIL\nno")]);
    world.move_to(Role::Human, "working");
    assert!(
        !world.effects().contains(&"archive_section"),
        "{:?}",
        world.effects()
    );
}

#[test]
fn an_unaffected_start_continues() {
    let workflow = crate::fixtures::load_clean(include_str!("everything.yml"));
    let mut world = World::begin(&workflow);
    world.verb(Role::Human, Verb::Spawn);
    world.write(&[("## Plan", "APPROACH: x")]);
    let result = orange_engine::input::CommandResult::Exited(0);
    world
        .facts
        .commands
        .insert(vec![String::from("true")], result);
    world.move_to(Role::from_name("qa"), "asking");
    assert_eq!(world.task.status, status("asking"));
    assert!(
        world.effects().contains(&"spawn_agent"),
        "{:?}",
        world.effects()
    );
    assert!(world.task.is_live(&Role::Worker));
}

#[test]
fn a_rule_without_a_reachable_target_is_reported() {
    let text = include_str!("everything.yml").replace(
        "  - from: busy\n    to: over\n    trigger: crash\n    hooks: [kill_session, release_workspace]\n",
        "",
    );
    let workflow = crate::fixtures::load_clean(&text);
    let mut world = World::placed(&workflow, "busy");
    world.set("crash_count", 1);
    world.ends(&Role::Worker, Evidence::Exit { code: 1 });
    assert_eq!(
        world.task.attention,
        [
            "the worker exited with code 1; it crashed 2 times in this status, and orange cannot \
          continue: its workflow has no such transition"
        ]
    );
}

#[test]
fn failed_effects_do_not_accumulate() {
    let workflow = shipped_workflow("minimal");
    let mut world = World::placed(&workflow, "working");
    for round in 0..5 {
        let handoff = format!("round {round}");
        world.write(&[("## Handoff", &handoff)]);
        world.move_to(Role::Worker, "reviewing");
        fail_effect(&mut world, "kill_session");
        world.move_to(Role::Human, "working");
        world.settle();
    }
    let failed = world.task.pending.iter();
    let failed = failed.filter(|pending| pending.state != PendingState::Waiting);
    assert!(failed.count() <= 1, "{:?}", world.effects());
}
