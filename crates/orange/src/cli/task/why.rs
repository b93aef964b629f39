//! `orange task why`.

use std::iter;

use orange_config::Environment;
use orange_driver::{Explanation, Observation, Outlook, RunObservation, TaskDetails};
use orange_engine::Task;
use orange_engine::delegation::{ChildMerge, DelegationLink};
use orange_engine::names::TaskId;
use orange_engine::next_step::NextStep;
use orange_engine::refusal::{Blocker, GateFailure};
use orange_engine::role::Role;
use orange_engine::routing::Route;
use orange_engine::schedule::SchedulePlace;
use orange_engine::task::{Run, RunState};
use orange_engine::wording::actor;
use serde::Serialize;
use serde_json::{Value, json};

use super::cancel::saved_work;
use crate::cli::answer::words::{
    ActivityBody, WaitBody, activity_bodies, activity_text, undelivered_reason, wait_bodies,
};
use crate::cli::request::requests::TaskArg;
use crate::cli::task::show::{perform_hint, progress};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, with_local_times};

/// The prefix of a command to run.
const RUN: &str = "run: ";

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.why/1");

/// Explain the status and next steps.
///
/// For every next step, shows what it still needs, which roles may request it, and with which
/// command.
///
/// Changes nothing: reads TASK.md and the branch and checks the agents, but does not run the
/// check commands that a workflow may define.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a str,
    status: &'a str,
    /// Its version; `--if-version` refuses a step that was chosen from an older one.
    version: u64,
    /// The submitted commit, which a merge takes; `null` if nothing was submitted.
    commit: Option<&'a str>,
    why: Option<&'a Explanation>,
    /// Why it has its harness; `null` until that is decided.
    route: Option<&'a Route>,
    /// Its parent and children.
    family: Family<'a>,
    /// What its start waits for, if it is queued.
    waits: Vec<WaitBody<'a>>,
    agents: Vec<Value>,
    /// What the live agents report that they are doing; it decides nothing.
    activities: Vec<ActivityBody<'a>>,
    next_steps: Vec<Value>,
    unknown: &'a [String],
    effects: Vec<Value>,
    /// Whether effects are due and no process performs them; `orange task retry` performs them.
    unperformed: bool,
    undelivered: Vec<Value>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Family<'a> {
    parent: Option<&'a str>,
    /// The request of the parent's report that it was created for.
    delegation: Option<&'a DelegationLink>,
    children: Vec<ChildBody<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct ChildBody<'a> {
    task: &'a str,
    status: &'a str,
    ended: bool,
    /// What became of its branch.
    merge: Option<&'a ChildMerge>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let details = driver.views.show(&task)?;
    let why = driver.views.why(&task)?;
    let outlook = driver.views.outlook(&task)?;
    if output.is_json() {
        SHAPE.print(&body(&details, why.as_ref(), &outlook)?, output)?;
    } else {
        let width = output.answer_width();
        let mut text = text(&details, why.as_ref(), &outlook, width);
        if let Some(saved) = saved_work(&driver, &task) {
            text.push_line(&[(Style::Plain, &saved)], 4, width);
        }
        output.answer(&text)?;
    }
    Ok(Exit::Ok)
}

fn body<'a>(
    details: &'a TaskDetails,
    why: Option<&'a Explanation>,
    outlook: &'a Outlook,
) -> Result<Body<'a>, Error> {
    let task = &details.stored.task;
    let agents = task.runs.iter().map(|(role, run)| {
        let text = agent(&task.id, role, run, &details.seen);
        json!({ "role": role, "run": run.id, "text": text })
    });
    let mut ways = Vec::new();
    for way in &outlook.ways {
        let mut value = serde_json::to_value(way)?;
        let text: Vec<String> = way.missing.iter().map(ToString::to_string).collect();
        value["missing_text"] = json!(text);
        value["is_open_to_user"] = json!(way.is_open_to_user());
        ways.push(value);
    }
    let effects = details.pending.iter().map(|it| {
        let label = it.planned.effect.label();
        json!({ "effect": label, "attempts": it.attempts, "error": it.error })
    });
    let undelivered = details.inbox.iter().filter_map(|it| {
        let reason = undelivered_reason(it)?;
        Some(json!({ "to": it.to, "written_at": it.written_at, "reason": reason }))
    });
    Ok(Body {
        task: task.id.as_str(),
        status: task.status.as_str(),
        version: task.version,
        commit: task.submission.as_ref().map(|it| it.commit.as_str()),
        why,
        route: task.routing.route.as_ref(),
        family: family(details),
        waits: wait_bodies(&details.waits),
        agents: agents.collect(),
        activities: activity_bodies(&details.activities),
        next_steps: ways,
        unknown: &outlook.unknown,
        effects: effects.collect(),
        unperformed: details.is_unperformed,
        undelivered: undelivered.collect(),
    })
}

fn family(details: &TaskDetails) -> Family<'_> {
    let task = &details.stored.task;
    let children = details.children.iter().map(|child| ChildBody {
        task: child.task.as_str(),
        status: child.status.as_str(),
        ended: matches!(child.place, SchedulePlace::Ended { .. }),
        merge: task.child_merges.get(&child.task),
    });
    Family {
        parent: task.queueing.parent.as_ref().map(TaskId::as_str),
        delegation: task.queueing.delegation.as_ref(),
        children: children.collect(),
    }
}

fn text(
    details: &TaskDetails,
    why: Option<&Explanation>,
    outlook: &Outlook,
    width: Option<usize>,
) -> Text {
    let task = &details.stored.task;
    let mut text = Text::new();
    let mut line = |style: Style, sentence: &str| {
        let sentence = with_local_times(sentence);
        let margin = sentence.len() - sentence.trim_start().len();
        // A wrapped command cannot be copied.
        let width = width.filter(|_| {
            !sentence
                .trim_start()
                .trim_start_matches("then ")
                .starts_with(RUN)
        });
        text.push_line(&[(style, &sentence)], margin + 4, width);
    };
    let sentence = why.map(ToString::to_string).unwrap_or_default();
    let styles = iter::once(Style::Bold).chain(iter::repeat(Style::Plain));
    for (style, sentence) in styles.zip(sentence.lines()) {
        line(style, sentence);
    }
    if let Some(submission) = &task.submission {
        line(Style::Plain, &format!("  commit: {submission}"));
    }
    if let Some(choice) = task.choice() {
        line(Style::Plain, &format!("  agent: {choice}"));
    }
    for (name, sentence) in details.family() {
        line(Style::Plain, &format!("  {name}: {sentence}"));
    }
    if !details.waits.is_empty() {
        line(Style::Bold, "waits");
    }
    for wait in &details.waits {
        line(Style::Plain, &format!("  {wait}"));
        if let Some(hint) = wait.hint() {
            line(Style::Plain, &format!("    {hint}"));
        }
    }
    if !task.runs.is_empty() {
        line(Style::Bold, "agents");
    }
    for (role, run) in &task.runs {
        line(
            Style::Plain,
            &format!("  {}", agent(&task.id, role, run, &details.seen)),
        );
        if let Some(doing) = activity_text(&details.activities, task, &run.id) {
            line(Style::Plain, &format!("    {doing}"));
        }
    }
    if has_dead_agent(details) {
        line(
            Style::Plain,
            &format!("    {RUN}orange task respawn {}", task.id),
        );
    }
    if !details.pending.is_empty() {
        line(Style::Bold, "effects");
    }
    let progress = progress(details);
    for pending in &details.pending {
        let label = pending.planned.effect.label();
        let error = pending.error.as_deref().unwrap_or(progress);
        line(Style::Plain, &format!("  {label}: {error}"));
    }
    if details.is_unperformed {
        line(Style::Plain, &format!("    {}", perform_hint(&task.id)));
    }
    for message in &details.inbox {
        if let Some(reason) = undelivered_reason(message) {
            let (to, at) = (&message.to, message.written_at);
            let sentence = format!("undelivered: message to the {to}, {at}: {reason}");
            line(Style::Bad, &sentence);
        }
    }
    for kept in &details.kept_worktrees {
        line(Style::Bad, &kept.notice());
        let fix = "  save it elsewhere, then run `orange workspace gc`; until then, the task cannot \
                   be reopened";
        line(Style::Plain, fix);
    }
    match end_sentence(task, outlook) {
        Some(sentence) => line(Style::Plain, &sentence),
        None => line(Style::Bold, "next"),
    }
    for way in &outlook.ways {
        push_next_step(way, &mut line);
    }
    if outlook.omits_pull_requests {
        let sentence = "  without steps about pull requests: the project has no repository on \
                        GitHub, see `orange forge status`";
        line(Style::Dim, sentence);
    }
    for unknown in &outlook.unknown {
        line(Style::Warn, &format!("unknown: {unknown}"));
    }
    text
}

/// What is left to do with a task that has ended; `None` if it has not.
fn end_sentence(task: &Task, outlook: &Outlook) -> Option<String> {
    let Task { id, branch, .. } = task;
    if outlook.is_cancelled {
        return Some(format!(
            "it was cancelled; `orange task reopen {id}` continues it"
        ));
    }
    if outlook.leaves_merging_to_user {
        return Some(format!(
            "it is finished; its workflow leaves merging to you: `git merge {branch}` in your \
             checkout"
        ));
    }
    let has_ended = outlook.ways.is_empty();
    has_ended.then(|| String::from("it is finished; there is no next step"))
}

fn push_next_step(way: &NextStep, line: &mut impl FnMut(Style, &str)) {
    let to = way.to.as_ref().map(|to| format!("to `{to}`"));
    let to = to.unwrap_or_else(|| String::from("back, but there is no previous status"));
    let when = way.happens_when.as_ref();
    let when = when
        .map(|when| format!(", when {when}"))
        .unwrap_or_default();
    let who: Vec<String> = way.by.iter().map(actor).collect();
    let who = match who.as_slice() {
        [] => String::new(),
        who => format!(", by {}", who.join(" or ")),
    };
    line(Style::Plain, &format!("  {to}{when}{who}"));
    for passed in &way.passed {
        line(Style::Good, &format!("    ok: {passed}"));
    }
    for missing in &way.missing {
        line(Style::Plain, &format!("    not yet: {missing}"));
    }
    for unchecked in &way.unchecked {
        line(Style::Plain, &format!("    not checked here: {unchecked}"));
    }
    if let Some(command) = &way.command {
        let is_in_command = |missing: &Blocker| {
            matches!(missing, Blocker::ConfirmationNeeded { .. }) || is_moved_branch(missing)
        };
        // The command includes the confirmation and names the new commit; everything else that is
        // missing must be fixed first.
        let then = if way.missing.iter().all(is_in_command) {
            ""
        } else {
            "then "
        };
        line(Style::Plain, &format!("    {then}{RUN}{command}"));
    }
}

/// Whether an agent that can be respawned in this status is dead.
fn has_dead_agent(details: &TaskDetails) -> bool {
    let mut roles = details.respawnable.iter();
    roles.any(|role| {
        details.stored.task.runs.get(role).is_some_and(|run| {
            let is_found_dead = |it: &RunObservation| it.run == run.id && it.is_dead();
            let has_ended = run.state.has_ended();
            (has_ended && !run.state.is_stopped()) || details.seen.iter().any(is_found_dead)
        })
    })
}

/// Whether the blocker is that the branch is not at the submitted, reviewed or named commit.
pub(super) fn is_moved_branch(missing: &Blocker) -> bool {
    matches!(
        missing,
        Blocker::GateFailed {
            failure: GateFailure::BranchMoved { .. }
        }
    )
}

/// Why an agent counts as running, gone or unknown.
fn agent(task: &TaskId, role: &Role, run: &Run, seen: &[RunObservation]) -> String {
    let seen = seen.iter().find(|it| it.run == run.id);
    let text = match (&run.state, seen.map(|it| &it.observation)) {
        (RunState::Starting, _) => String::from("is starting"),
        (RunState::Ending, _) => {
            String::from("is being stopped by orange, so its exit changes nothing")
        }
        (RunState::Ended { evidence }, _) if run.state.is_stopped() => {
            format!("{evidence}; `orange task restart {task}` starts it again")
        }
        (RunState::Ended { evidence }, _) => {
            format!("{evidence}; that was handled")
        }
        (RunState::Alive, Some(Observation::Alive)) => String::from("is running in its pane"),
        (RunState::Alive, Some(Observation::Dead(evidence))) => format!(
            "{evidence}; not handled yet, the next command that changes the task \
             handles it"
        ),
        (RunState::Alive, Some(Observation::Unknown(reason))) => {
            format!("may be running, and counts as running: {reason}")
        }
        (RunState::Alive, None) => String::from("counts as running: not checked"),
    };
    format!("the {role} {text} (run {})", run.id)
}
