//! Findings that are visible in the file alone.

use std::collections::BTreeSet;

use orange_engine::language::declarations::NameKind;
use orange_engine::language::verbs::Verb;
use orange_engine::language::workflow::{Edge, Kind, State, Target, Trigger};
use orange_engine::language::{Position, Workflow};
use orange_engine::role::Role;

use super::finding::{Finding, FindingCode};

pub(super) fn find(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = unused_names(workflow);
    findings.extend(verbs(workflow));
    findings.extend(ignored_settings(workflow));
    findings.extend(manual_starts(workflow));
    findings.extend(kinds(workflow));
    findings
}

fn unused_names(workflow: &Workflow) -> Vec<Finding> {
    let declared = workflow.declared.iter().filter(|it| !it.is_used);
    declared
        .map(|declared| {
            let what = declared.what;
            let name = &declared.name;
            Finding::new(
                FindingCode::Unused,
                Some(declared.at),
                format!("{what} `{name}` is not used"),
                "use it, or remove it",
            )
        })
        .collect()
}

/// A verb must have an edge from some status in which it may be used.
fn verbs(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (verb, targets) in &workflow.verbs {
        let declared = workflow
            .declared
            .iter()
            .find(|it| it.what == NameKind::Verb && it.name == verb.as_str());
        let Some(declared) = declared else { continue };
        for target in targets {
            let found = workflow
                .edges
                .iter()
                .any(|edge| edge.to == *target && can_use(workflow, *verb, edge));
            if !found {
                findings.push(missing_verb_target(*verb, target, declared.at));
            }
        }
    }
    findings
}

fn can_use(workflow: &Workflow, verb: Verb, edge: &Edge) -> bool {
    let can_be_requested =
        edge.trigger == Trigger::Request || verb == Verb::Merge && edge.trigger == Trigger::Merged;
    can_be_requested && workflow.is_verb_available(verb, &edge.from)
}

fn missing_verb_target(verb: Verb, target: &Target, at: Position) -> Finding {
    let place = match verb {
        Verb::Spawn => "no queued state has a transition to it that can be requested",
        Verb::RequestChanges | Verb::Unblock => {
            "no human state has a transition to it that can be requested"
        }
        Verb::Merge => "no transition on `merged`, and none that can be requested, leads there",
        _ => {
            "no status in which the verb is available has a transition to it that can be requested"
        }
    };
    Finding::new(
        FindingCode::VerbTargetMissing,
        Some(at),
        format!("the verb `{verb}` leads to `{target}`, but {place}"),
        format!("add such a transition, or remove `{target}` from `{verb}`"),
    )
}

/// Settings without effect, which are accepted only so that workflows that contain them still load.
fn ignored_settings(workflow: &Workflow) -> impl Iterator<Item = Finding> {
    let declared = workflow.declared.iter();
    let intervals = declared.filter(|it| it.what == NameKind::PollInterval);
    intervals.map(|it| {
        Finding::new(
            FindingCode::SettingIgnored,
            Some(it.at),
            "`poll_interval` has no effect: orange sees at once when an agent exits",
            "leave it out",
        )
    })
}

/// A queue that the scheduler cannot empty, because the user has to start each task.
fn manual_starts(workflow: &Workflow) -> impl Iterator<Item = Finding> {
    let is_start = |edge: &Edge| edge.trigger == Trigger::Request && !edge.is_from_active;
    let is_automatic = move |edge: &Edge| is_start(edge) && edge.by.contains(&Role::Engine);
    let queues = workflow.states.iter().filter(|it| it.kind == Kind::Queued);
    let queues = queues.filter(move |state| {
        let mut edges = workflow.edges_from(&state.name);
        !edges.any(is_automatic)
    });
    queues.map(|state| {
        Finding::new(
            FindingCode::ManualStart,
            Some(state.at),
            format!(
                "no task in `{}` starts automatically: you start each one",
                state.name
            ),
            "to let the scheduler start them, add a transition with `by: engine`",
        )
    })
}

/// Orange handles a state by its kind, so the kind must fit what the state expects and where it
/// leads.
fn kinds(workflow: &Workflow) -> Vec<Finding> {
    let states = workflow.states.iter();
    let mismatched = states.filter_map(|state| Some((state, mismatch(workflow, state)?)));
    mismatched
        .map(|(state, (what, hint))| {
            let (name, kind) = (&state.name, kind_word(state.kind));
            Finding::new(
                FindingCode::KindMismatch,
                Some(state.at),
                format!("`{name}` is of kind `{kind}` but {what}"),
                hint,
            )
        })
        .collect()
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Queued => "queued",
        Kind::Agent => "agent",
        Kind::Human => "human",
        Kind::Waiting => "waiting",
        Kind::Terminal => "terminal",
    }
}

/// What does not fit the kind of a state, and how to fix it.
fn mismatch(workflow: &Workflow, state: &State) -> Option<(String, String)> {
    let edges = || workflow.edges_from(&state.name);
    let hint = |text: &str| String::from(text);
    let expected = state.expects.first();
    match (state.kind, expected) {
        (Kind::Queued | Kind::Waiting, Some(role)) => Some((
            format!("expects the {role}"),
            hint("make it `kind: agent`, or `kind: human` if the human decides, or `expects: []`"),
        )),
        (Kind::Agent, None) => Some((
            String::from("expects no agent"),
            hint("say which agent it expects (`expects: [worker]`), or change its `kind`"),
        )),
        (Kind::Waiting, None) => {
            let by_itself = |edge: &Edge| edge.trigger != Trigger::Request && !edge.is_from_active;
            let mut edges = edges();
            (!edges.any(by_itself)).then(|| {
                (
                    String::from("has no transition that happens by itself"),
                    hint(
                        "add a transition for what it waits for (`trigger: children_done`, \
                         `timeout` …), or make it `kind: human`",
                    ),
                )
            })
        }
        (Kind::Human, _) => {
            let open = |edge: &Edge| {
                let is_requested = matches!(edge.trigger, Trigger::Request | Trigger::Merged);
                is_requested && edge.is_open_to(&Role::Human)
            };
            let mut edges = edges();
            (!edges.any(open)).then(|| {
                (
                    String::from("has no transition that the human may request"),
                    hint("add one with `by: human`, or make it `kind: waiting`"),
                )
            })
        }
        (Kind::Queued | Kind::Agent | Kind::Terminal, _) => None,
    }
}

/// The agent roles that something starts or expects.
pub(super) fn every_agent(workflow: &Workflow) -> Vec<Role> {
    let spawned = workflow.every_hook().filter_map(|hook| hook.action.spawn());
    let spawned = spawned.map(|spawn| spawn.role.clone());
    let states = workflow.states.iter();
    let expected = states.flat_map(|state| state.expects.iter().chain(state.respawn.keys()));
    let all: BTreeSet<Role> = spawned.chain(expected.cloned()).collect();
    all.into_iter().collect()
}
