//! Behaviour tables: one snapshot per shipped workflow.
//!
//! Every status × target × role × what gates and guards read, so that a workflow change shows its
//! whole effect on behaviour.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use orange_engine::Workflow;
use orange_engine::evidence::Evidence;
use orange_engine::forge::pull_request::ConcernKind;
use orange_engine::input::{Cause, Observation, RequestKind};
use orange_engine::language::gates::{GateKind, PullRequestState};
use orange_engine::language::verbs::Verb;
use orange_engine::language::when::{Operator, When};
use orange_engine::language::workflow::{Edge, Kind, Target, Trigger};
use orange_engine::names::{CommitId, FieldName, Status, TaskId};
use orange_engine::report::{Delegation, Outcome, Report};
use orange_engine::role::Role;

use crate::fixtures::{
    ALL_HOLD, World, concern, failing, feedback, git_facts, in_state, pull_request_facts, request,
    shipped_workflow, shown, status,
};

const ROLES: [Role; 4] = [Role::Worker, Role::Reviewer, Role::Human, Role::Engine];

#[test]
fn default_behaves_like_this() {
    snapshot("default");
}

#[test]
fn respawn_behaves_like_this() {
    snapshot("respawn");
}

#[test]
fn minimal_behaves_like_this() {
    snapshot("minimal");
}

#[test]
fn session_behaves_like_this() {
    snapshot("session");
}

#[test]
fn github_behaves_like_this() {
    snapshot("github");
}

#[test]
fn autopilot_behaves_like_this() {
    snapshot("autopilot");
}

fn snapshot(name: &str) {
    let workflow = shipped_workflow(name);
    let mut text = String::new();
    for state in &workflow.states {
        if state.kind == Kind::Terminal {
            continue;
        }
        let _ = writeln!(text, "== {} ({:?})", state.name, state.kind);
        requests(&workflow, &state.name, &mut text);
        verbs(&workflow, &state.name, &mut text);
        respawns(&workflow, &state.name, &mut text);
        deaths(&workflow, &state.name, &mut text);
        write_observations(&workflow, &state.name, &mut text);
        reports(&workflow, &state.name, &mut text);
        text.push('\n');
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("table_{name}"), text);
    });
}

/// A section of TASK.md, and the role that submitted it.
#[derive(Clone, Copy)]
struct Artifact {
    label: &'static str,
    section: &'static str,
    content: &'static str,
    /// Whether the section was already there when the status was entered.
    stale: bool,
    /// Whether the reviewer made a request with it before.
    by_reviewer: bool,
}

static ARTIFACTS: [Artifact; 10] = [
    artifact("plan", "## Plan", "APPROACH: small steps"),
    artifact("plan without a field", "## Plan", "some words"),
    artifact("handoff", "## Handoff", "DONE: all of it"),
    artifact("handoff with empty DONE", "## Handoff", "DONE:\nall of it"),
    Artifact {
        stale: true,
        ..artifact("old handoff", "## Handoff", "DONE: all of it")
    },
    Artifact {
        by_reviewer: true,
        ..artifact("PASS by the reviewer", "## Review", "Verdict: PASS")
    },
    Artifact {
        by_reviewer: true,
        ..artifact(
            "FAIL by the reviewer",
            "## Review",
            "Verdict: FAIL\nno tests",
        )
    },
    artifact("PASS, unknown author", "## Review", "Verdict: PASS"),
    artifact("FAIL, unknown author", "## Review", "Verdict: FAIL"),
    Artifact {
        stale: true,
        by_reviewer: true,
        ..artifact("old PASS", "## Review", "Verdict: PASS")
    },
];

const fn artifact(label: &'static str, section: &'static str, content: &'static str) -> Artifact {
    Artifact {
        label,
        section,
        content,
        stale: false,
        by_reviewer: false,
    }
}

/// The table's label for a world, and the world.
type Case<'a> = (String, World<'a>);

/// Every combination of what the gates and guards of these edges read.
fn cases<'a>(workflow: &'a Workflow, from: &Status, edges: &[&Edge]) -> Vec<Case<'a>> {
    let gates = edges.iter().flat_map(|edge| &edge.gates);
    let sections: Vec<String> = gates
        .clone()
        .filter_map(|gate| match &gate.kind {
            GateKind::Section(gate) => Some(gate.section.to_string()),
            _ => None,
        })
        .collect();
    let mut cases: Vec<Case<'a>> = vec![(String::new(), World::placed(workflow, from.as_str()))];
    if !sections.is_empty() {
        let artifacts = ARTIFACTS
            .iter()
            .filter(|artifact| sections.iter().any(|name| name == artifact.section));
        let placed = World::placed(workflow, from.as_str());
        cases[0].0 = String::from("nothing written");
        for artifact in artifacts {
            cases.push((artifact.label.to_owned(), with_artifact(&placed, artifact)));
        }
    }
    for (field, values) in constants(edges) {
        let mut varied = Vec::new();
        for (label, world) in &cases {
            for value in &values {
                let mut world = world.clone();
                let separator = if label.is_empty() { "" } else { ", " };
                put(&mut world, &field, *value);
                varied.push((format!("{label}{separator}{field}={value}"), world));
            }
        }
        cases = varied;
    }
    cases
}

fn with_artifact<'a>(placed: &World<'a>, artifact: &Artifact) -> World<'a> {
    let mut world = placed.clone();
    world.write(&[(artifact.section, artifact.content)]);
    if artifact.by_reviewer {
        world.import_as(Role::Reviewer);
    }
    if artifact.stale {
        world.import_as(Role::Engine);
        for memory in world.task.sections.values_mut() {
            memory.at_entry = memory.hash;
        }
    }
    world
}

fn put(world: &mut World<'_>, field: &FieldName, value: i64) {
    match field.as_str() {
        "summary_chars" => world.task.summary = "x".repeat(usize::try_from(value).unwrap()),
        "children_open" => {
            for child in 0..value {
                let id = TaskId::new(format!("child{child}"));
                world.task.children.insert(id, None);
            }
        }
        "same_errors" => {
            world.task.last_error = Some(orange_engine::task::LastError {
                error: String::from("the worker exited with code 1"),
                times: value,
                unchanged_at: None,
            });
        }
        name => world.set(name, value),
    }
}

/// The values on both sides of every constant that the guards compare with.
fn constants(edges: &[&Edge]) -> BTreeMap<FieldName, Vec<i64>> {
    let mut values: BTreeMap<FieldName, Vec<i64>> = BTreeMap::new();
    let guards = edges.iter().filter_map(|edge| edge.when.as_ref());
    for comparison in guards.flat_map(When::comparisons) {
        let known = values.entry(comparison.field.clone()).or_default();
        let just_past = matches!(
            comparison.operator,
            Operator::Greater | Operator::LessOrEqual | Operator::Equal | Operator::NotEqual
        );
        let low = comparison.value - i64::from(!just_past);
        for value in [low, low + 1] {
            if value >= 0 && !known.contains(&value) {
                known.push(value);
            }
        }
        known.sort_unstable();
    }
    values
}

fn leads_to(edge: &Edge, to: &Status) -> bool {
    matches!(&edge.to, Target::Status(target) if target == to)
}

fn requests(workflow: &Workflow, from: &Status, text: &mut String) {
    let mut nowhere = Vec::new();
    for to in &workflow.states {
        let edges: Vec<&Edge> = workflow
            .edges_from(from)
            .filter(|edge| edge.trigger == Trigger::Request && leads_to(edge, &to.name))
            .collect();
        if edges.is_empty() {
            nowhere.push(&to.name);
            continue;
        }
        let _ = writeln!(text, "{from} -> {}", to.name);
        for (label, world) in cases(workflow, from, &edges) {
            by_role(text, &label, |role| {
                let mut world = world.clone();
                shown(&world.move_to(role.clone(), to.name.as_str()))
            });
        }
    }
    for to in nowhere {
        let mut line = String::new();
        by_role(&mut line, "", |role| {
            let mut world = World::placed(workflow, from.as_str());
            shown(&world.move_to(role.clone(), to.as_str()))
        });
        let answers: Vec<&str> = line.lines().map(str::trim).collect();
        let _ = writeln!(text, "{from} -> {to}: {}", answers.join(" | "));
    }
}

/// One line per distinct answer, naming the roles that get it.
fn by_role(text: &mut String, label: &str, answer: impl Fn(&Role) -> String) {
    let mut answers: Vec<(String, Vec<&str>)> = Vec::new();
    for role in &ROLES {
        let given = answer(role);
        match answers.iter_mut().find(|(known, _)| *known == given) {
            Some((_, roles)) => roles.push(role.as_str()),
            None => answers.push((given, vec![role.as_str()])),
        }
    }
    for (given, roles) in answers {
        let roles = if roles.len() == ROLES.len() {
            String::from("anyone")
        } else {
            roles.join(", ")
        };
        let label = if label.is_empty() {
            String::new()
        } else {
            format!("[{label}] ")
        };
        let _ = writeln!(text, "    {label}{roles}: {given}");
    }
}

fn verbs(workflow: &Workflow, from: &Status, text: &mut String) {
    for (name, verb) in Verb::ALL {
        let mut world = World::placed(workflow, from.as_str());
        world.facts.git = Some(git_facts(&ALL_HOLD));
        let human = shown(&world.clone().verb(Role::Human, verb));
        let worker = shown(&world.clone().verb(Role::Worker, verb));
        let both = if human == worker {
            human
        } else {
            format!("human: {human} | worker: {worker}")
        };
        let _ = writeln!(text, "{from} verb {name}: {both}");
    }
}

fn respawns(workflow: &Workflow, from: &Status, text: &mut String) {
    let alive = World::placed(workflow, from.as_str());
    let mut gone = alive.clone();
    gone.task.runs.clear();
    for (label, world) in [("as expected", alive), ("no agent alive", gone)] {
        let ask = || RequestKind::Respawn { role: None };
        let human = shown(&world.clone().ask(Role::Human, ask()));
        let worker = shown(&world.clone().ask(Role::Worker, ask()));
        let _ = writeln!(
            text,
            "{from} respawn [{label}]: human: {human} | worker: {worker}"
        );
    }
}

fn deaths(workflow: &Workflow, from: &Status, text: &mut String) {
    for role in [&Role::Worker, &Role::Reviewer] {
        let mut placed = World::placed(workflow, from.as_str());
        if !placed.task.is_live(role) {
            placed.task.runs.insert(
                role.clone(),
                orange_engine::task::Run {
                    id: orange_engine::names::RunId::new(format!("run-{role}")),
                    headless: false,
                    plans: false,
                    state: orange_engine::task::RunState::Alive,
                },
            );
        }
        let rules = workflow
            .exit_rules
            .iter()
            .filter(|rule| rule.status == *from);
        let reads_sections = rules.clone().any(|rule| !rule.has_artifact.is_empty());
        let mut worlds = vec![(String::from("nothing written"), placed.clone())];
        if reads_sections {
            for artifact in &ARTIFACTS {
                let section = rules.clone().flat_map(|rule| &rule.has_artifact).any(|gate| {
                    matches!(&gate.kind, GateKind::Section(gate) if gate.section.to_string() == artifact.section)
                });
                if section {
                    worlds.push((artifact.label.to_owned(), with_artifact(&placed, artifact)));
                }
            }
        }
        for (label, world) in worlds {
            for (counter, values) in [
                ("crash_count", vec![0, 1]),
                ("review_round", vec![1, 2]),
                ("attempts", vec![1, 5]),
            ] {
                let mut answers: Vec<(i64, String)> = Vec::new();
                for value in values {
                    let mut world = world.clone();
                    world.set(counter, value);
                    let plan = world.ends(role, Evidence::Exit { code: 1 });
                    answers.push((value, shown(&orange_engine::Decision::Plan(plan))));
                }
                let matters = answers.windows(2).any(|pair| pair[0].1 != pair[1].1);
                if matters {
                    for (value, answer) in answers {
                        let _ = writeln!(
                            text,
                            "{from} {role} dies [{label}, {counter}={value}]: {answer}"
                        );
                    }
                } else if counter == "crash_count" {
                    let _ = writeln!(text, "{from} {role} dies [{label}]: {}", answers[0].1);
                }
            }
        }
        for evidence in [
            Evidence::Environment,
            Evidence::Quota { until: None },
            Evidence::Login,
        ] {
            let mut world = placed.clone();
            let name = format!("{evidence:?}");
            let plan = world.ends(role, evidence);
            let answer = shown(&orange_engine::Decision::Plan(plan));
            let _ = writeln!(text, "{from} {role} dies of {name}: {answer}");
        }
    }
}

fn write_observations(workflow: &Workflow, from: &Status, text: &mut String) {
    let commit = || CommitId::new("abc");
    let observations = [
        ("merged", Observation::Merged { commit: commit() }),
        ("pull request merged", in_state(PullRequestState::Merged)),
        ("pull request closed", in_state(PullRequestState::Closed)),
        ("timeout", Observation::TimedOut),
        ("moved", Observation::Moved),
    ];
    let reads_forge = workflow.edges.iter().any(|edge| edge.trigger.is_forge());
    let concerns = [
        ("pull request failing", failing(true)),
        ("pull request failing again", failing(false)),
        ("pull request conflicting", ConcernKind::Conflicting),
        ("pull request with feedback", feedback()),
        ("pull request settled", ConcernKind::Settled),
    ];
    let concerns = concerns.map(|(label, kind)| (label, concern(kind, "head", &["a"])));
    let concerns = concerns.into_iter().filter(|_| reads_forge);
    for (label, observation) in observations.into_iter().chain(concerns) {
        let mut world = World::placed(workflow, from.as_str());
        world.facts.pull_request = Some(Some(pull_request_facts()));
        let answer = shown(&world.step(Cause::Observation(observation)));
        let _ = writeln!(text, "{from} {label}: {answer}");
    }
    let counts_attempts = workflow.name.as_str() == "autopilot";
    for attempts in if counts_attempts { vec![1, 5] } else { vec![1] } {
        let mut world = World::placed(workflow, from.as_str());
        world.set("attempts", attempts);
        let child = TaskId::new("child");
        world.task.children.insert(child.clone(), None);
        let status = status("done");
        let ended = Observation::ChildEnded { child, status };
        let answer = shown(&world.step(Cause::Observation(ended)));
        let _ = writeln!(
            text,
            "{from} last child ends [attempts={attempts}]: {answer}"
        );
    }
    let confirmed = |strategy| {
        let mut world = World::placed(workflow, from.as_str());
        world.facts.git = Some(git_facts(&ALL_HOLD));
        let Cause::Request(mut asked) = request(
            Role::Human,
            RequestKind::Merge {
                strategy,
                local: false,
                only_head: false,
            },
        ) else {
            return String::new();
        };
        asked.is_confirmed = true;
        shown(&world.step(Cause::Request(asked)))
    };
    let _ = writeln!(
        text,
        "{from} merge, confirmed: {}",
        confirmed(Some(orange_engine::effect::MergeStrategy::Ff))
    );
}

fn reports(workflow: &Workflow, from: &Status, text: &mut String) {
    if workflow
        .edges_from(from)
        .all(|edge| edge.trigger != Trigger::Report)
    {
        return;
    }
    let said = |status: &str| Report {
        status: Some(status.to_owned()),
        reason: String::from("the worker exited with code 1"),
        ..Report::default()
    };
    let reports = [
        ("done", said("done")),
        (
            "done, files changed, something left",
            Report {
                files_changed: vec![String::from("a.rs")],
                remaining: vec![String::from("tests")],
                ..said("done")
            },
        ),
        (
            "done, nothing changed, something left",
            Report {
                remaining: vec![String::from("tests")],
                ..said("done")
            },
        ),
        ("in_progress", said("in_progress")),
        ("blocked", said("blocked")),
        ("needs_review", said("needs_review")),
        ("an unknown status", said("finished")),
        ("no status", Report::default()),
        (
            "in_progress with delegations",
            Report {
                delegations: vec![Delegation {
                    title: String::from("Write the tests"),
                    ..Delegation::default()
                }],
                ..said("in_progress")
            },
        ),
    ];
    let worlds = reports.iter().flat_map(|it| [(it, true), (it, false)]);
    for ((label, report), is_committed) in worlds {
        // Commits matter only for reports that count as done.
        if !is_committed && report.outcome() != Outcome::Done {
            continue;
        }
        let label = if is_committed {
            (*label).to_owned()
        } else {
            format!("{label}, not committed")
        };
        for attempts in [1, 5] {
            for repeated in [0, 2] {
                let mut world = World::placed(workflow, from.as_str());
                world.facts.git = Some(git_facts(&[]));
                if is_committed {
                    world.commit();
                }
                world.set("attempts", attempts);
                let is_unfinished =
                    matches!(report.outcome(), Outcome::InProgress | Outcome::Unfinished);
                if let Some(error) = report.error()
                    && repeated > 0
                {
                    world.task.last_error = Some(orange_engine::task::LastError {
                        error,
                        times: repeated,
                        unchanged_at: is_unfinished.then(|| git_facts(&[]).head),
                    });
                }
                let run = world.task.runs[&Role::Worker].id.clone();
                let report = report.clone();
                let arrived = Observation::ReportArrived { run, report };
                let answer = shown(&world.step(Cause::Observation(arrived)));
                let _ = writeln!(
                    text,
                    "{from} report [{label}, attempts={attempts}, same error before {repeated} times]: {answer}"
                );
            }
        }
    }
}
