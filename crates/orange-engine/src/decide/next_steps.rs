//! What `decide` would answer to every possible step; changes nothing.

use super::edges::{self, Caller};
use super::plan_builder::PlanBuilder;
use super::request::checks::running_agent;
use super::submission;
use crate::input::{DecisionContext, FactNeeded};
use crate::language::Workflow;
use crate::language::hooks::Action;
use crate::language::prompt::Prompt;
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Kind, Target, Trigger};
use crate::names::{CommitId, Status};
use crate::next_step::NextStep;
use crate::refusal::{Blocker, describe_trigger};
use crate::role::Role;
use crate::task::Task;

/// Every edge out of the current status, in file order.
///
/// TASK.md is judged as if a role that may request the edge requested it now.
pub fn next_steps(workflow: &Workflow, task: &Task, context: &DecisionContext) -> Vec<NextStep> {
    let steps = PlanBuilder::new(workflow, task, context, None);
    let edges = workflow.edges_from(&task.status);
    edges.map(|edge| next_step(edge, &steps)).collect()
}

fn next_step(edge: &Edge, steps: &PlanBuilder<'_>) -> NextStep {
    let to = edges::target(edge, steps);
    let role = match edge.trigger {
        Trigger::Request => edge.by.first().cloned().unwrap_or(Role::Human),
        Trigger::Merged => Role::Human,
        _ => Role::Engine,
    };
    let mut trial = steps.clone();
    trial.import_for_request(&role);
    let caller = Caller {
        role: &role,
        confirmed: role == Role::Engine,
    };
    let found = edges::survey(edge, caller, &trial);
    let mut missing: Vec<Blocker> = found.guard.into_iter().chain(found.missing).collect();
    let commands = found.commands.iter().map(edges::command_text);
    let mut needs = found.needs;
    let mut new_head = None;
    if edge.trigger == Trigger::Merged && steps.task.submission.is_some() {
        match steps.facts().and_then(|facts| facts.git.as_ref()) {
            None => needs.push(FactNeeded::Git),
            Some(git) => {
                if let Some(failure) = submission::check_moved(steps, git) {
                    new_head = Some(&git.head);
                    let moved = Blocker::GateFailed { failure };
                    if !missing.contains(&moved) {
                        missing.push(moved);
                    }
                }
            }
        }
    }
    needs.sort();
    needs.dedup();
    let facts = needs.iter().map(describe_fact);
    let is_event = edge.trigger != Trigger::Request;
    NextStep {
        happens_when: is_event.then(|| describe_trigger(edge.trigger.as_str())),
        trigger: edge.trigger,
        by: edge.by.clone(),
        passed: found.evidence,
        missing,
        unchecked: facts.chain(commands).collect(),
        command: to
            .as_ref()
            .and_then(|to| command(edge, to, new_head, steps)),
        verbs: to.as_ref().map_or(Vec::new(), |to| verbs(edge, to, steps)),
        accepts_message: edge
            .hooks
            .iter()
            .any(|hook| passes_message(&hook.action, steps.workflow)),
        to,
    }
}

/// Whether a hook passes on the caller's message.
fn passes_message(action: &Action, workflow: &Workflow) -> bool {
    let uses_message = |text: &Prompt| text.variables().any(|variable| variable == "message");
    match action {
        Action::NotifyWorker { message } | Action::Notify { message, .. } => uses_message(message),
        Action::SpawnAgent(spawn) => workflow
            .prompts
            .get(&spawn.prompt)
            .is_some_and(uses_message),
        _ => false,
    }
}

/// The verbs that take this edge and can be used here.
fn verbs(edge: &Edge, to: &Status, steps: &PlanBuilder<'_>) -> Vec<Verb> {
    let workflow = steps.workflow;
    let is_usable = |verb: &Verb| match edge.trigger {
        Trigger::Merged => *verb == Verb::Merge,
        Trigger::Request if *verb == Verb::Merge => false,
        Trigger::Request if *verb == Verb::Retry && running_agent(steps).is_some() => false,
        Trigger::Request => workflow.is_verb_available(*verb, &steps.task.status),
        _ => false,
    };
    let leads_there = |verb: &Verb| {
        let mut targets = workflow.verbs.get(verb).into_iter().flatten();
        targets.any(|target| match target {
            Target::Status(status) => status == to,
            Target::Previous => edge.to == Target::Previous,
        })
    };
    let all = Verb::ALL.iter().map(|(_, verb)| *verb);
    all.filter(|verb| is_usable(verb) && leads_there(verb))
        .collect()
}

fn describe_fact(fact: &FactNeeded) -> String {
    String::from(match fact {
        FactNeeded::Document => "TASK.md",
        FactNeeded::Git => "branch and worktree",
        FactNeeded::PullRequest => "the pull request",
        FactNeeded::Report { .. } => "the report of the run",
        FactNeeded::Command { .. } => "a command",
        FactNeeded::Origin => "the history of the task",
    })
}

/// The command that requests the edge, with a verb such as `merge` where one fits. If the branch
/// has moved since the submission, the command names the new head: without that, the merge would be
/// refused.
fn command(
    edge: &Edge,
    to: &Status,
    new_head: Option<&CommitId>,
    steps: &PlanBuilder<'_>,
) -> Option<String> {
    if edge.by.iter().all(|role| *role == Role::Engine) && !edge.by.is_empty() {
        return None;
    }
    let task = &steps.task.id;
    let workflow = steps.workflow;
    let kind = workflow.state(&steps.task.status).map(|state| state.kind);
    let leads_there = |verb: Verb| {
        let mut targets = workflow.verbs.get(&verb).into_iter().flatten();
        targets.any(|target| *target == Target::Status(to.clone()))
    };
    let needs_confirmation = edge.confirm.is_some() && edge.is_open_to(&Role::Human);
    let yes = if needs_confirmation { " --yes" } else { "" };
    match edge.trigger {
        Trigger::Merged if leads_there(Verb::Merge) => {
            let head = new_head.map(|head| format!(" --head {}", head.short()));
            let head = head.unwrap_or_default();
            Some(format!("orange task merge {task}{head}{yes}"))
        }
        Trigger::Request if kind == Some(Kind::Queued) && leads_there(Verb::Spawn) => {
            Some(format!("orange task spawn {task}{yes}"))
        }
        Trigger::Request if leads_there(Verb::Cancel) => {
            Some(format!("orange task cancel {task}{yes}"))
        }
        // The agent needs to know what to do now.
        Trigger::Request
            if leads_there(Verb::RequestChanges)
                && workflow.is_verb_available(Verb::RequestChanges, &steps.task.status) =>
        {
            Some(format!("orange task request-changes {task} -m TEXT{yes}"))
        }
        Trigger::Request => Some(format!("orange task update {task} --status {to}{yes}")),
        _ => None,
    }
}
