//! `orange task show`.

use orange_config::Environment;
use orange_config::clock;
use orange_driver::{Observation, ResultOfRun, Seen, Shown, Why};
use orange_engine::Task;
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::task::Run;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::answer::results::told_results;
use crate::cli::answer::words::{
    ToldActivity, ToldWait, ago, doing, told_activities, told_waits, undelivered,
};
use crate::cli::request::driving::TaskArg;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.show/1");

/// Show where a task is, and why.
///
/// Also who works on it, as a look at its agents shows, what they seem to be doing, what is still
/// to be done, what came of headless runs by their own word, and which messages are undelivered: no
/// agent has read them with `orange inbox` yet, nor shown that it was told of them.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a Task,
    directory: String,
    as_of: u64,
    workspace: Option<Value>,
    effects: Vec<Value>,
    /// Whether effects are due and no process performs them; `orange task retry` does.
    unperformed: bool,
    runs: Value,
    seen: Vec<Value>,
    /// What its live agents seem to be doing, by what they told.
    activities: Vec<ToldActivity<'a>>,
    /// What came of its headless runs, as far as they printed it.
    results: &'a [ResultOfRun],
    inbox: Value,
    why: Option<&'a Why>,
    /// What its start waits for, if it is in a queue.
    waits: Vec<ToldWait<'a>>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let shown = driver.views.show(&task)?;
    let why = driver.views.why(&task)?;
    let results = driver.agents.results(&task)?;
    if output.is_json() {
        SHAPE.print(&body(&shown, &results, why.as_ref())?, output)?;
    } else {
        let width = output.answer_width();
        output.answer(&text(&shown, &results, why.as_ref(), width))?;
    }
    Ok(Exit::Ok)
}

fn body<'a>(
    shown: &'a Shown,
    results: &'a [ResultOfRun],
    why: Option<&'a Why>,
) -> Result<Body<'a>, Error> {
    let workspace = shown
        .workspace
        .as_ref()
        .map(|it| json!({ "name": it.name, "path": it.path.to_string_lossy() }));
    let effects = shown.pending.iter().map(|it| {
        json!({
            "effect": it.planned,
            "attempts": it.attempts,
            "next_try_at": it.next_try_at,
            "error": it.error,
        })
    });
    Ok(Body {
        task: &shown.stored.task,
        directory: shown.stored.directory.display().to_string(),
        as_of: shown.stored.sequence,
        workspace,
        effects: effects.collect(),
        unperformed: shown.is_unperformed,
        runs: serde_json::to_value(&shown.runs)?,
        seen: shown.seen.iter().map(seen).collect(),
        activities: told_activities(&shown.activities),
        results,
        inbox: inbox(shown)?,
        why,
        waits: told_waits(&shown.waits),
    })
}

/// The progress of effects that have not failed.
pub(super) fn progress(shown: &Shown) -> &'static str {
    if shown.is_unperformed {
        "nothing is performing this"
    } else {
        "on its way"
    }
}

/// The command to run when no process performs a task's effects.
pub(super) fn perform_hint(task: &TaskId) -> String {
    format!("run: orange task retry {task}")
}

fn seen(it: &Seen) -> Value {
    let (role, run) = (&it.role, &it.run);
    match &it.observation {
        Observation::Alive => json!({ "role": role, "run": run, "seen": "alive" }),
        Observation::Dead(evidence) => {
            json!({ "role": role, "run": run, "seen": "dead", "evidence": evidence })
        }
        Observation::Unknown(reason) => {
            json!({ "role": role, "run": run, "seen": "unknown", "reason": reason })
        }
    }
}

/// What is known of an agent: its recorded state, and what an observation, if any, has shown.
fn told_of(role: &Role, run: &Run, seen: &[Seen]) -> String {
    let seen = seen.iter().find(|it| it.run == run.id);
    let state = match seen.map(|it| &it.observation) {
        Some(Observation::Dead(evidence)) => {
            return format!(
                "{role} dead ({evidence}), not judged yet: the next command that changes the task \
                 does; run {}",
                run.id
            );
        }
        Some(Observation::Unknown(reason)) => {
            return format!(
                "{role} unknown ({reason}), so taken for alive; run {}",
                run.id
            );
        }
        Some(Observation::Alive) | None => serde_json::to_value(&run.state).unwrap_or_default(),
    };
    let state = state.get("state").and_then(Value::as_str);
    format!("{role} {}, run {}", state.unwrap_or_default(), run.id)
}

/// The messages, each with whether it has been delivered, and if not, why.
fn inbox(shown: &Shown) -> Result<Value, Error> {
    let mut inbox = serde_json::to_value(&shown.inbox)?;
    let values = inbox.as_array_mut().into_iter().flatten();
    for (value, message) in values.zip(&shown.inbox) {
        if let Some(value) = value.as_object_mut() {
            let reason = undelivered(message);
            value.insert("undelivered".to_owned(), reason.is_some().into());
            value.insert("reason".to_owned(), reason.into());
        }
    }
    Ok(inbox)
}

fn text(shown: &Shown, results: &[ResultOfRun], why: Option<&Why>, width: Option<usize>) -> Text {
    let task = &shown.stored.task;
    let now = clock::now();
    let mut text = Text::new();
    let mut line = |name: &str, value: &str| {
        let name = format!("{name:<12}");
        let parts = [(Style::Bold, name.as_str()), (Style::Plain, value)];
        text.push_line(&parts, name.len(), width);
    };
    line("task", &format!("{} ({})", task.id, task.project));
    line("summary", &task.summary);
    line("status", task.status.as_str());
    line("since", &ago(now, task.entered.at));
    for told in why.map(ToString::to_string).unwrap_or_default().lines() {
        line("", told);
    }
    for wait in &shown.waits {
        line("waits", &wait.to_string());
    }
    for (name, told) in shown.family() {
        line(name, &told);
    }
    line("branch", task.branch.as_str());
    if let Some(submission) = &task.submission {
        line("commit", &submission.to_string());
    }
    if let Some(workspace) = &shown.workspace {
        line("workspace", &workspace.path.display().to_string());
    }
    for (role, run) in &task.runs {
        line("agent", &told_of(role, run, &shown.seen));
        if let Some(doing) = doing(&shown.activities, &run.id, now) {
            line("", &doing);
        }
    }
    for (at, told) in told_results(results).iter().enumerate() {
        line(if at == 0 { "result" } else { "" }, told);
    }
    let progress = progress(shown);
    for pending in &shown.pending {
        let label = pending.planned.effect.label();
        let error = pending.error.as_deref().unwrap_or(progress);
        line("effect", &format!("{label}: {error}"));
    }
    if shown.is_unperformed {
        line("", &perform_hint(&task.id));
    }
    for reason in &task.attention {
        line("attention", reason);
    }
    for message in &shown.inbox {
        if let Some(reason) = undelivered(message) {
            let when = ago(now, message.written_at);
            let told = format!("to the {}, {when}: {reason}", message.to);
            line("undelivered", &told);
        }
    }
    text
}
