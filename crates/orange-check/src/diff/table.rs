//! A workflow as a table: one row per status, event and target.
//!
//! A row says what an event requires and what follows, each as a text that does not depend on names
//! of gates and limits, nor on an order without meaning. No gate and no role can stop a pull
//! request that is already merged or closed, so the row of such an event has neither.

use std::collections::BTreeSet;

use orange_engine::language::Workflow;
use orange_engine::language::exit_rules::{CrashRule, ExitOutcome, ExitRule, OnCrash};
use orange_engine::language::when::When;
use orange_engine::language::workflow::{Edge, State, Trigger};
use orange_engine::role::Role;
use orange_engine::wording::requirements;
use orange_engine::wording::{duration, join_and, with_article};

use super::change::{ChangeKind, Route};
use super::steps::{resolved_text, respawn, steps};

/// A row: what can happen, and everything known about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Distinguishes the row from the others of its status; absent for the row about the status
    /// itself and for the row about the whole workflow.
    pub(super) route: Option<Route>,
    pub(super) facts: Vec<Fact>,
}

/// One known thing about a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) change: ChangeKind,
    /// Distinguishes facts of the same kind.
    pub(super) subject: String,
    /// Values by name; a fact that is a single value has it under an empty name.
    pub(super) parts: Vec<(&'static str, String)>,
}

impl Fact {
    pub(super) fn new(change: ChangeKind, subject: impl Into<String>, value: String) -> Fact {
        Fact {
            change,
            subject: subject.into(),
            parts: vec![("", value)],
        }
    }
}

impl Row {
    fn new(route: Route, facts: Vec<Fact>) -> Row {
        let route = Some(route);
        Row { route, facts }
    }
}

/// Every row of a status, for these roles; the status itself is the first.
pub(super) fn rows(workflow: &Workflow, state: &State, roles: &BTreeSet<Role>) -> Vec<Row> {
    let on_enter = steps(workflow, &[], &state.on_enter);
    let mut rows = vec![
        about_state(workflow, state),
        Row::new(Route::Arrival, on_enter),
    ];
    let entries = workflow.entries.iter();
    for entry in entries.filter(|entry| entry.status == state.name) {
        let mut facts: Vec<Fact> = guard(entry.when.as_ref()).into_iter().collect();
        facts.extend(steps(workflow, &entry.set, &entry.hooks));
        rows.push(Row::new(Route::Creation, facts));
    }
    let edges = workflow.edges_from(&state.name);
    rows.extend(edges.map(|edge| about_edge(workflow, edge, roles)));
    rows
}

/// What concerns no single status.
pub(super) fn global_row(workflow: &Workflow) -> Row {
    let verbs = workflow.verbs.iter().filter(|(_, to)| !to.is_empty());
    let verbs = verbs.map(|(verb, targets)| {
        let targets: Vec<String> = targets.iter().map(|to| format!("`{to}`")).collect();
        let mut text = format!("to {}", targets.join(", else "));
        if let Some(places) = workflow.verb_sources.get(verb) {
            let mut places: Vec<String> = places.iter().map(|it| format!("`{it}`")).collect();
            places.sort();
            text = format!("{text}, only in {}", join_and(places));
        }
        Fact::new(ChangeKind::Verb, format!("the verb `{verb}`"), text)
    });
    // A field that is not declared also has the value 0.
    let fields = workflow.fields.iter().filter(|(_, value)| **value != 0);
    let fields = fields.map(|(field, value)| {
        let subject = format!("the field `{field}`");
        Fact::new(ChangeKind::InitialValue, subject, value.to_string())
    });
    let prompts = workflow.prompts.iter().map(|(name, prompt)| {
        let text = resolved_text(workflow, prompt);
        Fact::new(ChangeKind::Prompt, format!("the prompt `{name}`"), text)
    });
    let sandbox = workflow.sandbox.map(|level| {
        let text = format!("a sandbox of level {}", level.as_str());
        Fact::new(ChangeKind::Sandbox, "every agent", text)
    });
    Row {
        route: None,
        facts: verbs.chain(fields).chain(prompts).chain(sandbox).collect(),
    }
}

fn about_state(workflow: &Workflow, state: &State) -> Row {
    let kind = state.kind.as_str().to_owned();
    let mut facts = vec![Fact::new(ChangeKind::State, "", kind)];
    if !state.expects.is_empty() {
        let expects = join_and(state.expects.iter().map(with_article));
        facts.push(Fact::new(ChangeKind::Expects, "", expects));
    }
    if let Some(timeout) = &state.timeout {
        let text = format!("after {} to `{}`", duration(timeout.after), timeout.then);
        facts.push(Fact::new(ChangeKind::Timeout, "", text));
    }
    let respawns = state.respawn.iter();
    facts.extend(respawns.map(|(role, how)| respawn(workflow, role, how)));
    let rules = workflow.exit_rules.iter();
    let rules = rules.filter(|rule| rule.status == state.name);
    facts.extend(rules.map(exit_rule));
    Row { route: None, facts }
}

fn about_edge(workflow: &Workflow, edge: &Edge, roles: &BTreeSet<Role>) -> Row {
    let mut by = edge.by.clone();
    by.sort();
    by.dedup();
    let mut facts: Vec<Fact> = guard(edge.when.as_ref()).into_iter().collect();
    if !matches!(edge.trigger, Trigger::PrMerged | Trigger::PrClosed) {
        let open = roles.iter().filter(|role| edge.is_open_to(role));
        facts.extend(open.map(|role| Fact::new(ChangeKind::By, role.as_str(), with_article(role))));
        let needs = requirements(&edge.gates).into_iter();
        facts.extend(needs.map(|need| Fact::new(ChangeKind::Gate, need.subject, need.text)));
        let question = edge.confirm.iter();
        let question = question.map(|it| format!("the human to confirm {it:?}"));
        facts.extend(question.map(|text| Fact::new(ChangeKind::Gate, "confirm", text)));
    }
    facts.extend(steps(workflow, &edge.set, &edge.hooks));
    let route = Route::Transition {
        to: edge.to.clone(),
        trigger: edge.trigger,
        by,
        when: edge.when.as_ref().map(guard_text),
    };
    Row::new(route, facts)
}

fn guard(when: Option<&When>) -> Option<Fact> {
    when.map(|when| Fact::new(ChangeKind::Guard, "", guard_text(when)))
}

/// A guard with its limits filled in; the order of its comparisons has no meaning.
fn guard_text(when: &When) -> String {
    let comparisons = when.comparisons().iter();
    let mut texts: Vec<String> = comparisons.map(ToString::to_string).collect();
    texts.sort();
    texts.dedup();
    texts.join(" and ")
}

fn exit_rule(rule: &ExitRule) -> Fact {
    let needs = requirements(&rule.has_artifact).into_iter();
    let mut needs: Vec<String> = needs.map(|need| need.text).collect();
    needs.sort();
    let agent = rule
        .role
        .as_ref()
        .map_or(String::from("an agent"), with_article);
    let condition = if needs.is_empty() {
        format!("any other exit of {agent}")
    } else {
        format!("an exit of {agent} with {}", join_and(needs))
    };
    let outcome = match &rule.outcome {
        ExitOutcome::Advance(cases) => {
            let cases = cases.iter().map(|case| match &case.when {
                Some(when) => format!("`{}` if {}", case.then, guard_text(when)),
                None => format!("`{}`", case.then),
            });
            cases.collect::<Vec<_>>().join(", else ")
        }
        ExitOutcome::Crash(crash) => crash_text(crash),
        ExitOutcome::MarkDead => String::from("no change of status"),
    };
    Fact::new(ChangeKind::ExitRule, condition, outcome)
}

fn crash_text(crash: &CrashRule) -> String {
    let below = match (crash.on_crash, crash.backoff) {
        (OnCrash::Mark, _) => String::from("left to the human"),
        (OnCrash::Respawn, 0) => String::from("respawned"),
        (OnCrash::Respawn, wait) => format!("respawned after {}", duration(wait)),
    };
    let then = match &crash.then {
        Some(then) => format!("to `{then}`"),
        None => String::from("left to the human"),
    };
    match crash.stuck_after {
        None => format!("a crash, {below}"),
        Some(limit) => format!("a crash, {below}, after {limit} crashes {then}"),
    }
}
