//! `orange task why`.

use orange_config::Environment;
use orange_config::clock;
use orange_driver::{Observation, Outlook, Seen, Shown, Why};
use orange_engine::role::Role;
use orange_engine::task::{Run, RunState};
use orange_engine::way::Way;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::answer::words::{
    ToldActivity, ToldWait, doing, told_activities, told_waits, undelivered,
};
use crate::cli::request::driving::TaskArg;
use crate::cli::task::show::{perform_hint, progress};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

/// The prefix of a command to run.
const RUN: &str = "run: ";

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.why/1");

/// Say why it is there, and what next.
///
/// Also what every next step still needs, who may ask for it, and with which command.
///
/// Nothing is changed: TASK.md, the branch and the agents are looked at, as far as that can be done
/// by looking. Commands of gates are not run.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub task: TaskArg,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a str,
    status: &'a str,
    why: Option<&'a Why>,
    /// What its start waits for, if it is in a queue.
    waits: Vec<ToldWait<'a>>,
    agents: Vec<Value>,
    /// What the live agents seem to be doing, by what they told; it decides nothing.
    activities: Vec<ToldActivity<'a>>,
    ways: Vec<Value>,
    unknown: &'a [String],
    effects: Vec<Value>,
    /// Whether effects are due and no process performs them; `orange task retry` does.
    unperformed: bool,
    undelivered: Vec<Value>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (driver, task) = args.task.find(environment)?;
    let shown = driver.views.show(&task)?;
    let why = driver.views.why(&task)?;
    let outlook = driver.views.outlook(&task)?;
    if output.is_json() {
        SHAPE.print(&body(&shown, why.as_ref(), &outlook)?, output)?;
    } else {
        let width = output.answer_width();
        output.answer(&text(&shown, why.as_ref(), &outlook, width))?;
    }
    Ok(Exit::Ok)
}

fn body<'a>(
    shown: &'a Shown,
    why: Option<&'a Why>,
    outlook: &'a Outlook,
) -> Result<Body<'a>, Error> {
    let task = &shown.stored.task;
    let agents = task.runs.iter().map(|(role, run)| {
        let told = agent(role, run, &shown.seen);
        json!({ "role": role, "run": run.id, "told": told })
    });
    let mut ways = Vec::new();
    for way in &outlook.ways {
        let mut value = serde_json::to_value(way)?;
        let told: Vec<String> = way.missing.iter().map(ToString::to_string).collect();
        value["told"] = json!(told);
        ways.push(value);
    }
    let effects = shown.pending.iter().map(|it| {
        let label = it.planned.effect.label();
        json!({ "effect": label, "attempts": it.attempts, "error": it.error })
    });
    let undelivered = shown.inbox.iter().filter_map(|it| {
        let reason = undelivered(it)?;
        Some(json!({ "to": it.to, "written_at": it.written_at, "reason": reason }))
    });
    Ok(Body {
        task: task.id.as_str(),
        status: task.status.as_str(),
        why,
        waits: told_waits(&shown.waits),
        agents: agents.collect(),
        activities: told_activities(&shown.activities),
        ways,
        unknown: &outlook.unknown,
        effects: effects.collect(),
        unperformed: shown.is_unperformed,
        undelivered: undelivered.collect(),
    })
}

fn text(shown: &Shown, why: Option<&Why>, outlook: &Outlook, width: Option<usize>) -> Text {
    let task = &shown.stored.task;
    let mut text = Text::new();
    let mut line = |style: Style, told: &str| {
        let margin = told.len() - told.trim_start().len();
        // A wrapped command cannot be copied.
        let width = width.filter(|_| !told.trim_start().starts_with(RUN));
        text.push_line(&[(style, told)], margin + 4, width);
    };
    let told = why.map(ToString::to_string).unwrap_or_default();
    for (number, told) in told.lines().enumerate() {
        let style = if number == 0 {
            Style::Bold
        } else {
            Style::Plain
        };
        line(style, told);
    }
    if let Some(submission) = &task.submission {
        line(Style::Plain, &format!("  commit: {submission}"));
    }
    for (name, told) in shown.family() {
        line(Style::Plain, &format!("  {name}: {told}"));
    }
    if !shown.waits.is_empty() {
        line(Style::Bold, "waits");
    }
    for wait in &shown.waits {
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
            &format!("  {}", agent(role, run, &shown.seen)),
        );
        if let Some(doing) = doing(&shown.activities, &run.id, clock::now()) {
            line(Style::Plain, &format!("    {doing}"));
        }
    }
    if !shown.pending.is_empty() {
        line(Style::Bold, "effects");
    }
    let progress = progress(shown);
    for pending in &shown.pending {
        let label = pending.planned.effect.label();
        let error = pending.error.as_deref().unwrap_or(progress);
        line(Style::Plain, &format!("  {label}: {error}"));
    }
    if shown.is_unperformed {
        line(Style::Plain, &format!("    {}", perform_hint(&task.id)));
    }
    for message in &shown.inbox {
        if let Some(reason) = undelivered(message) {
            let (to, at) = (&message.to, message.written_at);
            let told = format!("undelivered: a message to the {to} of {at}: {reason}");
            line(Style::Bad, &told);
        }
    }
    if outlook.ways.is_empty() {
        line(Style::Plain, "it has ended; nothing leads further");
    } else {
        line(Style::Bold, "next");
    }
    for way in &outlook.ways {
        push_way(way, &mut line);
    }
    for unknown in &outlook.unknown {
        line(Style::Warn, &format!("unknown: {unknown}"));
    }
    text
}

fn push_way(way: &Way, line: &mut impl FnMut(Style, &str)) {
    let to = way.to.as_ref().map(|to| format!("to `{to}`"));
    let to = to.unwrap_or_else(|| String::from("back, but there is nothing to go back to"));
    let when = way.happens_when.as_ref();
    let when = when
        .map(|when| format!(", when {when}"))
        .unwrap_or_default();
    let who: Vec<String> = way.by.iter().map(|role| format!("the {role}")).collect();
    let who = match who.as_slice() {
        [] => String::new(),
        who => format!(", by {}", who.join(" or ")),
    };
    line(Style::Plain, &format!("  {to}{when}{who}"));
    for held in &way.holds {
        line(Style::Good, &format!("    shown: {held}"));
    }
    for missing in &way.missing {
        line(Style::Plain, &format!("    needs: {missing}"));
    }
    for unchecked in &way.unchecked {
        line(
            Style::Plain,
            &format!("    looked at only when asked for: {unchecked}"),
        );
    }
    if let Some(command) = &way.command {
        line(Style::Plain, &format!("    {RUN}{command}"));
    }
}

/// Why an agent counts as alive, dead or unknown.
fn agent(role: &Role, run: &Run, seen: &[Seen]) -> String {
    let seen = seen.iter().find(|it| it.run == run.id);
    let told = match (&run.state, seen.map(|it| &it.observation)) {
        (RunState::Starting, _) => String::from("is being started"),
        (RunState::Ending, _) => {
            String::from("is being ended by orange, so its death means nothing")
        }
        (RunState::Ended { evidence }, _) => {
            format!("is dead, because it {evidence}; that was judged")
        }
        (RunState::Alive, Some(Observation::Alive)) => {
            String::from("is alive: its process runs in its pane")
        }
        (RunState::Alive, Some(Observation::Dead(evidence))) => format!(
            "is dead, because it {evidence}; not judged yet, the next command that changes the \
             task does"
        ),
        (RunState::Alive, Some(Observation::Unknown(reason))) => {
            format!("is unknown, so it counts as alive: {reason}")
        }
        (RunState::Alive, None) => String::from("counts as alive: nobody looked"),
    };
    format!("the {role} {told} (run {})", run.id)
}
