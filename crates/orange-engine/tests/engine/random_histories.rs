//! Histories for property tests: anything that may happen to a task.

use orange_engine::evidence::Evidence;
use orange_engine::forge::pull_request::ConcernKind;
use orange_engine::input::{Cause, CommandResult, Observation, Request, RequestKind};
use orange_engine::language::gates::{GitCondition, PullRequestState};
use orange_engine::language::verbs::Verb;
use orange_engine::names::{BranchName, CommitId, RunId, TaskId};
use orange_engine::report::{Delegation, Report};
use orange_engine::role::Role;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::fixtures::{
    World, concern, failing, feedback, git_facts, in_state, pull_request_facts, status,
};

pub(crate) fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Something that may happen to a task; its details are chosen only when it happens.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    Write(&'static str),
    WriteAnything(String),
    Move(Role, Index, bool),
    Verb(Role, Verb, bool),
    Respawn(Role, Option<Role>),
    Stop(Role, Option<Role>),
    Restart(Role, Option<Role>),
    Reopen(Role),
    /// A hand edit; the version is off by this much.
    HandEdit(Role, Index, u64),
    Amend(Role, String),
    Retry(Role, bool),
    /// Delete the task, or restore it.
    PutAway(Role, bool),
    /// The same workflow, worded differently.
    Adopt(Role),
    Import(Role, bool),
    Done(Index),
    GivenUp(Index),
    Ends(Role, Evidence),
    StrangeEnd,
    Merged,
    PullRequest(PullRequestState),
    /// What comes first about a head of the pull request, and what distinguishes it.
    Concern(ConcernKind, &'static str, &'static str),
    OpenPullRequest(Role, Option<bool>),
    Later,
    Noticed,
    Report(Report),
    ChildAdded(u8),
    ChildEnded(u8),
    Moved,
    Facts(bool),
}

const FILES: [&str; 9] = [
    "",
    "## Plan\n\nAPPROACH: steps\n",
    "## Plan\n\nAPPROACH: steps\n\n## Handoff\n\nDONE: a\n",
    "## Handoff\n\nDONE: b\n",
    "## Handoff\n\nDONE:\n",
    "## Handoff\n\nDONE: b\n\n## Review\n\nVerdict: PASS\n",
    "## Handoff\n\nDONE: b\n\n## Review\n\nVerdict: FAIL\n\nno\n",
    "## Review\n\n**Verdict: PASS**\n",
    "## Review\n\nVerdict: PASS or FAIL\n",
];

fn any_role() -> impl Strategy<Value = Role> {
    select(vec![
        Role::Worker,
        Role::Reviewer,
        Role::Human,
        Role::Engine,
    ])
}

fn agent() -> impl Strategy<Value = Role> {
    select(vec![Role::Worker, Role::Reviewer])
}

fn any_evidence() -> impl Strategy<Value = Evidence> {
    select(vec![
        Evidence::Exit { code: 0 },
        Evidence::Exit { code: 1 },
        Evidence::Signal { signal: 9 },
        Evidence::OutOfMemory,
        Evidence::Closed,
        Evidence::NoExit,
        Evidence::Environment,
        Evidence::Quota { until: None },
        Evidence::Login,
        Evidence::Overloaded,
        Evidence::MissingProgram,
    ])
}

fn any_report() -> impl Strategy<Value = Report> {
    let status = select(vec![
        None,
        Some("done"),
        Some("in_progress"),
        Some("blocked"),
        Some("needs_review"),
        Some("?"),
    ]);
    (status, any::<bool>(), any::<bool>(), any::<bool>(), 0..3u8).prop_map(
        |(status, remaining, files, delegates, reason)| Report {
            status: status.map(str::to_owned),
            remaining: remaining.then(|| String::from("r")).into_iter().collect(),
            files_changed: files.then(|| String::from("f")).into_iter().collect(),
            delegations: delegates.then(Delegation::default).into_iter().collect(),
            reason: format!("reason {reason}"),
            ..Report::default()
        },
    )
}

fn any_verb() -> impl Strategy<Value = Verb> {
    select(Verb::ALL.map(|(_, verb)| verb).to_vec())
}

/// What agents and the outside world can do: everything except user actions.
pub(crate) fn any_step_without_user() -> BoxedStrategy<Happening> {
    let asker = || select(vec![Role::Worker, Role::Reviewer, Role::Engine]);
    prop_oneof![
        4 => select(FILES.to_vec()).prop_map(Happening::Write),
        8 => (asker(), any::<Index>()).prop_map(|(role, to)| Happening::Move(role, to, true)),
        3 => (asker(), any_verb()).prop_map(|(role, verb)| Happening::Verb(role, verb, true)),
        2 => (agent(), any::<Index>(), 0..3u64).prop_map(|(role, to, off)| Happening::HandEdit(role, to, off)),
        1 => (asker(), any::<bool>()).prop_map(|(role, asked)| Happening::Import(role, asked)),
        8 => any::<Index>().prop_map(Happening::Done),
        1 => any::<Index>().prop_map(Happening::GivenUp),
        3 => (agent(), any_evidence()).prop_map(|(role, evidence)| Happening::Ends(role, evidence)),
        1 => Just(Happening::StrangeEnd),
        1 => Just(Happening::Later),
        1 => Just(Happening::Noticed),
        3 => any_report().prop_map(Happening::Report),
        2 => (0..3u8).prop_map(Happening::ChildAdded),
        2 => (0..3u8).prop_map(Happening::ChildEnded),
        1 => Just(Happening::Moved),
        1 => any::<bool>().prop_map(Happening::Facts),
        3 => any_concern(),
    ]
    .boxed()
}

pub(crate) fn any_step() -> BoxedStrategy<Happening> {
    prop_oneof![
        12 => any_step_without_user(),
        4 => (any_role(), any::<Index>(), any::<bool>()).prop_map(|(role, to, yes)| Happening::Move(role, to, yes)),
        3 => (any_role(), any_verb(), any::<bool>()).prop_map(|(role, verb, yes)| Happening::Verb(role, verb, yes)),
        1 => (any_role(), proptest::option::of(agent())).prop_map(|(by, role)| Happening::Respawn(by, role)),
        1 => (any_role(), proptest::option::of(agent())).prop_map(|(by, role)| Happening::Stop(by, role)),
        1 => (any_role(), proptest::option::of(agent())).prop_map(|(by, role)| Happening::Restart(by, role)),
        2 => any_role().prop_map(Happening::Reopen),
        1 => (any_role(), ".{0,12}").prop_map(|(role, text)| Happening::Amend(role, text)),
        1 => (any_role(), any::<bool>()).prop_map(|(by, all)| Happening::Retry(by, all)),
        1 => (any_role(), any::<bool>()).prop_map(|(by, away)| Happening::PutAway(by, away)),
        1 => any_role().prop_map(Happening::Adopt),
        1 => "(?s).{0,80}".prop_map(Happening::WriteAnything),
        1 => Just(Happening::Merged),
        1 => select(vec![PullRequestState::Open, PullRequestState::Merged, PullRequestState::Closed]).prop_map(Happening::PullRequest),
        1 => (any_role(), proptest::option::of(any::<bool>())).prop_map(|(by, draft)| Happening::OpenPullRequest(by, draft)),
    ]
    .boxed()
}

/// Something that comes first about the pull request.
pub(crate) fn any_concern() -> BoxedStrategy<Happening> {
    let kinds = vec![
        ConcernKind::Conflicting,
        failing(true),
        failing(false),
        feedback(),
        ConcernKind::Settled,
    ];
    (
        select(kinds),
        select(vec!["head", "older"]),
        select(vec!["a", "b"]),
    )
        .prop_map(|(kind, head, detail)| Happening::Concern(kind, head, detail))
        .boxed()
}

/// Turns a happening into an input for the current task; `None` if it does not apply.
pub(crate) fn cause(world: &mut World<'_>, happening: &Happening) -> Option<Cause> {
    let workflow = world.workflow;
    let target = |index: &Index| index.get(&workflow.states).name.clone();
    let pending = |index: &Index| {
        let pending = &world.task.pending;
        (!pending.is_empty()).then(|| index.get(pending).planned.clone())
    };
    let observed = |observation| Some(Cause::Observation(observation));
    let request = |by: &Role, ask, confirmed| {
        Some(Cause::Request(Request {
            by: by.clone(),
            kind: ask,
            is_confirmed: confirmed,
            message: Some(String::from("please")),
            head: None,
            if_version: None,
        }))
    };
    match happening {
        Happening::Write(text) => {
            world.file = Some((*text).to_owned());
            None
        }
        Happening::WriteAnything(text) => {
            world.file = Some(text.clone());
            None
        }
        Happening::Move(by, to, yes) => request(by, RequestKind::Move { to: target(to) }, *yes),
        Happening::Verb(by, verb, yes) => request(by, RequestKind::Verb(*verb), *yes),
        Happening::Respawn(by, role) => {
            request(by, RequestKind::Respawn { role: role.clone() }, false)
        }
        Happening::Stop(by, role) => request(by, RequestKind::Stop { role: role.clone() }, false),
        Happening::Restart(by, role) => {
            request(by, RequestKind::Restart { role: role.clone() }, false)
        }
        Happening::Reopen(by) => request(by, RequestKind::Reopen, false),
        Happening::HandEdit(by, to, off) => {
            let version = world.task.version.saturating_sub(*off);
            request(
                by,
                RequestKind::HandEdit {
                    to: target(to),
                    version,
                },
                false,
            )
        }
        Happening::Amend(by, text) => {
            let summary = Some(text.clone());
            let branch = Some(BranchName::new(text));
            let priority = None;
            request(
                by,
                RequestKind::Amend {
                    summary,
                    branch,
                    priority,
                    to: None,
                },
                false,
            )
        }
        Happening::Retry(by, true) => request(by, RequestKind::RetryEffects, false),
        Happening::Retry(by, false) => request(by, RequestKind::RetryReleases, false),
        Happening::PutAway(by, true) => request(by, RequestKind::Delete, true),
        Happening::PutAway(by, false) => request(by, RequestKind::Restore, false),
        Happening::Adopt(by) => {
            let mut other = workflow.clone();
            other.description = Some(String::from("In other words."));
            let ask = RequestKind::ChangeWorkflow {
                workflow: Box::new(other),
                text: String::new(),
            };
            request(by, ask, false)
        }
        Happening::Import(by, request) => observed(Observation::DocumentRead {
            by: by.clone(),
            is_request: *request,
        }),
        Happening::Done(index) => {
            let planned = pending(index)?;
            let outcome = world.outcome_of(&planned.effect);
            observed(Observation::EffectDone {
                effect: planned.id,
                outcome,
            })
        }
        Happening::GivenUp(index) => {
            let effect = pending(index)?.id;
            let error = String::from("it broke");
            observed(Observation::EffectFailed {
                effect,
                error,
                feedback: None,
            })
        }
        Happening::Ends(role, evidence) => {
            let run = world.task.runs.get(role)?.id.clone();
            let evidence = evidence.clone();
            observed(Observation::RunEnded {
                run,
                evidence,
                output_line: None,
            })
        }
        Happening::StrangeEnd => observed(Observation::RunEnded {
            run: RunId::new("nobody"),
            evidence: Evidence::Exit { code: 0 },
            output_line: None,
        }),
        Happening::Merged => observed(Observation::Merged {
            commit: CommitId::new("abc"),
        }),
        Happening::PullRequest(state) => observed(in_state(*state)),
        Happening::Concern(kind, head, detail) => observed(concern(kind.clone(), head, &[detail])),
        Happening::OpenPullRequest(by, draft) => {
            let draft = *draft;
            request(by, RequestKind::OpenPullRequest { draft }, false)
        }
        Happening::Later => observed(Observation::TimedOut),
        Happening::Noticed => observed(Observation::AttentionNeeded {
            reason: String::from("the remote does not answer"),
        }),
        Happening::Report(report) => {
            let run = world.task.runs.get(&Role::Worker)?.id.clone();
            let report = report.clone();
            observed(Observation::ReportArrived { run, report })
        }
        Happening::ChildAdded(child) => {
            let child = TaskId::new(format!("child{child}"));
            observed(Observation::ChildAdded { child })
        }
        Happening::ChildEnded(child) => {
            let child = TaskId::new(format!("child{child}"));
            observed(Observation::ChildEnded {
                child,
                status: status("done"),
            })
        }
        Happening::Moved => observed(Observation::Moved),
        Happening::Facts(good) => {
            let holds = GitCondition::ALL.map(|(_, condition)| condition);
            world.facts.git = Some(git_facts(if *good { &holds } else { &[] }));
            world.facts.pull_request = Some(good.then(pull_request_facts));
            let code = i32::from(!*good);
            world
                .facts
                .commands
                .insert(vec![String::from("true")], CommandResult::Exited(code));
            None
        }
    }
}

/// What a worker can try while its work is under review, and what may happen to the reviewer then.
pub(crate) fn any_worker_step() -> BoxedStrategy<Happening> {
    prop_oneof![
        4 => select(FILES.to_vec()).prop_map(Happening::Write),
        1 => "(?s).{0,60}".prop_map(Happening::WriteAnything),
        4 => any::<Index>().prop_map(|to| Happening::Move(Role::Worker, to, true)),
        2 => any_verb().prop_map(|verb| Happening::Verb(Role::Worker, verb, true)),
        3 => (any::<Index>(), 0..3u64).prop_map(|(to, off)| Happening::HandEdit(Role::Worker, to, off)),
        2 => any::<bool>().prop_map(|asked| Happening::Import(Role::Worker, asked)),
        // Any role may read the file while it contains the worker's text.
        2 => any_role().prop_map(|role| Happening::Import(role, false)),
        2 => any_evidence().prop_map(|evidence| Happening::Ends(Role::Worker, evidence)),
        1 => any_evidence().prop_map(|evidence| Happening::Ends(Role::Reviewer, evidence)),
        3 => any::<Index>().prop_map(Happening::Done),
        1 => Just(Happening::Respawn(Role::Worker, None)),
        1 => Just(Happening::Stop(Role::Worker, None)),
        1 => Just(Happening::Restart(Role::Worker, None)),
        1 => Just(Happening::Reopen(Role::Worker)),
        1 => Just(Happening::Retry(Role::Worker, true)),
        1 => any_report().prop_map(Happening::Report),
        1 => Just(Happening::Later),
        1 => Just(Happening::Noticed),
        1 => Just(Happening::Moved),
        1 => any::<bool>().prop_map(Happening::Facts),
    ]
    .boxed()
}
