//! `orange task show`.

use orange_config::Environment;
use orange_config::clock;
use orange_driver::{
    AgentSandbox, Explanation, KeptWorktree, Observation, PullRequestSnapshot, ResultOfRun,
    RunObservation, TaskDetails,
};
use orange_engine::Task;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::task::{Run, RunState};
use orange_engine::usage::Usage;
use serde::Serialize;
use serde_json::{Value, json};

use super::cancel::saved_work;
use crate::cli::answer::results::result_lines;
use crate::cli::answer::words::{
    ActivityBody, WaitBody, activity_bodies, activity_text, ago, pull_request_text,
    undelivered_reason, wait_bodies,
};
use crate::cli::request::requests::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, with_local_times};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.show/1");

/// Show a task's status, and why.
///
/// Also shows its agents and what they report, what they used, the effects in progress, the results
/// of headless runs, and undelivered messages: those that no agent has read or confirmed yet.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
    /// Also show TASK.md.
    #[arg(long)]
    pub document: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a Task,
    directory: String,
    as_of: u64,
    workspace: Option<Value>,
    /// The worktrees that it could not release without losing work, and why.
    kept_worktrees: &'a [KeptWorktree],
    effects: Vec<Value>,
    /// Whether effects are due and no process performs them; `orange task retry` performs them.
    unperformed: bool,
    runs: Value,
    observations: Vec<Value>,
    /// The sandboxes of its live agents.
    sandboxes: &'a [AgentSandbox],
    /// What its live agents report that they are doing.
    activities: Vec<ActivityBody<'a>>,
    /// The results of its headless runs, as far as they printed them.
    results: &'a [ResultOfRun],
    /// What its agents used, as they reported it.
    usage: &'a Usage,
    inbox: Value,
    why: Option<&'a Explanation>,
    /// What was last seen of its pull request.
    pull_request: Option<&'a PullRequestSnapshot>,
    /// What its start waits for, if it is queued.
    waits: Vec<WaitBody<'a>>,
    /// The text of TASK.md, with `--document`; absent if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let details = driver.views.show(&task)?;
    let why = driver.views.why(&task)?;
    let results = driver.agents.results(&task)?;
    let usage = driver.views.usage_of(&task)?;
    let document = if args.document {
        driver.requests.task_text(&task)?
    } else {
        None
    };
    if output.is_json() {
        let mut body = body(&details, &results, &usage, why.as_ref())?;
        body.document = document;
        SHAPE.print(&body, output)?;
    } else {
        let width = output.answer_width();
        let mut text = text(&details, &results, &usage, why.as_ref(), width);
        if let Some(saved) = saved_work(&driver, &task) {
            let name = format!("{:<12}", "saved");
            let parts = [(Style::Bold, name.as_str()), (Style::Plain, &*saved)];
            text.push_line(&parts, name.len(), width);
        }
        if let Some(document) = &document {
            text.end_line();
            for line in document.lines() {
                text.push(Style::Plain, line);
                text.end_line();
            }
        }
        output.answer(&text)?;
    }
    Ok(Exit::Ok)
}

fn body<'a>(
    details: &'a TaskDetails,
    results: &'a [ResultOfRun],
    usage: &'a Usage,
    why: Option<&'a Explanation>,
) -> Result<Body<'a>, Error> {
    let workspace = details
        .workspace
        .as_ref()
        .map(|it| json!({ "name": it.name, "path": it.path.to_string_lossy() }));
    let effects = details.pending.iter().map(|it| {
        json!({
            "effect": it.planned,
            "attempts": it.attempts,
            "next_try_at": it.next_attempt_at,
            "error": it.error,
        })
    });
    Ok(Body {
        task: &details.stored.task,
        directory: details.stored.directory.display().to_string(),
        as_of: details.stored.sequence,
        workspace,
        kept_worktrees: &details.kept_worktrees,
        effects: effects.collect(),
        unperformed: details.is_unperformed,
        runs: serde_json::to_value(&details.runs)?,
        observations: details.seen.iter().map(observation_json).collect(),
        sandboxes: &details.sandboxes,
        activities: activity_bodies(&details.activities),
        results,
        usage,
        inbox: inbox(details)?,
        why,
        pull_request: details.pull_request.as_ref(),
        waits: wait_bodies(&details.waits),
        document: None,
    })
}

/// The progress of effects that have not failed.
pub(super) fn progress(details: &TaskDetails) -> &'static str {
    if details.is_unperformed {
        "no process is performing this"
    } else {
        "in progress"
    }
}

/// The command to run when no process performs a task's effects.
pub(super) fn perform_hint(task: &TaskId) -> String {
    format!("run: orange task retry {task}")
}

fn observation_json(it: &RunObservation) -> Value {
    let (role, run) = (&it.role, &it.run);
    match &it.observation {
        Observation::Alive => json!({ "role": role, "run": run, "state": "alive" }),
        Observation::Dead(evidence) => {
            json!({ "role": role, "run": run, "state": "dead", "evidence": evidence })
        }
        Observation::Unknown(reason) => {
            json!({ "role": role, "run": run, "state": "unknown", "reason": reason })
        }
    }
}

/// The recorded state of an agent, and the latest observation of it, if there is one.
fn agent_text(task: &TaskId, role: &Role, run: &Run, seen: &[RunObservation]) -> String {
    if let RunState::Ended { evidence } = &run.state
        && run.state.is_stopped()
    {
        return format!(
            "{role} {evidence}; `orange task restart {task}` starts it again; run {}",
            run.id
        );
    }
    let seen = seen.iter().find(|it| it.run == run.id);
    let state = match seen.map(|it| &it.observation) {
        Some(Observation::Dead(evidence)) => {
            return format!(
                "{role} {evidence}; not handled yet: the next command that changes the task \
                 handles it (run id {})",
                run.id
            );
        }
        Some(Observation::Unknown(reason)) => {
            return format!(
                "{role} unknown ({reason}), assumed to be running (run id {})",
                run.id
            );
        }
        Some(Observation::Alive) | None => match &run.state {
            RunState::Starting => "starting",
            RunState::Alive => "running",
            RunState::Ending => "stopping",
            RunState::Ended { .. } => "exited",
        },
    };
    format!("{role} {state} (run id {})", run.id)
}

/// The messages, each with whether it has been delivered, and if not, why.
fn inbox(details: &TaskDetails) -> Result<Value, Error> {
    let mut inbox = serde_json::to_value(&details.inbox)?;
    let values = inbox.as_array_mut().into_iter().flatten();
    for (value, message) in values.zip(&details.inbox) {
        if let Some(value) = value.as_object_mut() {
            let reason = undelivered_reason(message);
            value.insert("undelivered".to_owned(), reason.is_some().into());
            value.insert("reason".to_owned(), reason.into());
        }
    }
    Ok(inbox)
}

fn text(
    details: &TaskDetails,
    results: &[ResultOfRun],
    usage: &Usage,
    why: Option<&Explanation>,
    width: Option<usize>,
) -> Text {
    let task = &details.stored.task;
    let now = clock::now();
    let mut text = Text::new();
    let mut line = |name: &str, value: &str| {
        let name = format!("{name:<12}");
        let value = with_local_times(value);
        let parts = [(Style::Bold, name.as_str()), (Style::Plain, &*value)];
        text.push_line(&parts, name.len(), width);
    };
    line("task", &format!("{} ({})", task.id, task.project));
    line("summary", &task.summary);
    line("status", task.status.as_str());
    line("since", &ago(now, task.entered.at));
    for text_line in why.map(ToString::to_string).unwrap_or_default().lines() {
        line("", text_line);
    }
    for wait in &details.waits {
        line("waits", &wait.to_string());
    }
    for (name, text_line) in details.family() {
        line(name, &text_line);
    }
    line("branch", task.branch.as_str());
    if let Some(submission) = &task.submission {
        line("commit", &submission.to_string());
    }
    if let Some(link) = &task.issue {
        line("issue", &format!("#{} {}", link.number, link.url));
    }
    if let Some(link) = &task.pull_request {
        let seen = details.pull_request.as_ref().map(pull_request_text);
        line("request", &seen.unwrap_or_else(|| link.to_string()));
        line("", &link.url);
    }
    if let Some(workspace) = &details.workspace {
        line("workspace", &workspace.path.display().to_string());
    }
    for kept in &details.kept_worktrees {
        line("kept", &kept.to_string());
    }
    for (role, run) in &task.runs {
        line("agent", &agent_text(&task.id, role, run, &details.seen));
        if let Some(doing) = activity_text(&details.activities, task, &run.id) {
            line("", &doing);
        }
    }
    for sandbox in &details.sandboxes {
        line("sandbox", &sandbox.to_string());
    }
    for (at, text_line) in result_lines(results).iter().enumerate() {
        line(if at == 0 { "result" } else { "" }, text_line);
    }
    if usage.runs > 0 {
        line("used", &usage.sentence());
    }
    let progress = progress(details);
    for pending in &details.pending {
        let label = pending.planned.effect.label();
        let error = pending.error.as_deref().unwrap_or(progress);
        line("effect", &format!("{label}: {error}"));
    }
    if details.is_unperformed {
        line("", &perform_hint(&task.id));
    }
    for reason in &task.attention {
        line("attention", reason);
    }
    for message in &details.inbox {
        if let Some(reason) = undelivered_reason(message) {
            let when = ago(now, message.written_at);
            let text_line = format!("to the {}, {when}: {reason}", message.to);
            line("undelivered", &text_line);
        }
    }
    text
}
