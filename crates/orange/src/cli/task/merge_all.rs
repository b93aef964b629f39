//! Merges every task that can be merged now.

use orange_config::{Environment, Projects};
use orange_driver::{Answer, Driver, ListFilter, TaskRow};
use orange_engine::attention::Need;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::merge_result::MergeResult;
use orange_engine::next_step::NextStep;
use serde::Serialize;
use serde_json::json;

use super::merge::{Args, last_merge, require_merged, require_not_overtaken};
use super::why::is_moved_branch;
use crate::cli::answer::words::count_noun;
use crate::cli::request::requests::{
    RequestDraft, Target, WaitArgs, driver, request_without_confirmation,
};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.task.merge.all/1");

/// How many seconds each merge may take if `--wait` is not given; a verification may be slow.
pub(super) const DEFAULT_WAIT: u64 = 24 * 60 * 60;

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    tasks: Vec<Line>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "MergedLine")]
struct Line {
    task: String,
    summary: String,
    /// The result of the merge, if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<MergeResult>,
    /// Why the task is not merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

impl Line {
    /// The line of a task whose merge has no result yet.
    fn of(row: &TaskRow) -> Line {
        Line {
            task: row.id.to_string(),
            summary: row.summary.clone(),
            merged: None,
            problem: None,
            hints: Vec::new(),
        }
    }
}

/// Merges every task that can be merged, one after the other, and reports on each.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let mut lines = Vec::new();
    for row in mergeable_tasks(&driver)? {
        let alternative = find_alternative(&driver, &row)?;
        if let Some(line) = alternative.or_else(|| find_unsent_comments(&driver, &row)) {
            lines.push(line);
            continue;
        }
        lines.push(match merge(args, &driver, &row, environment, output) {
            Ok(line) => line,
            // The user wants to stop, not to continue with the next task.
            Err(error) if error.is_interruption() => return Err(error),
            Err(error) => Line {
                problem: Some(error.message.clone()),
                hints: error.hints_given().to_vec(),
                ..Line::of(&row)
            },
        });
    }
    let has_failed = lines.iter().any(|line| line.problem.is_some());
    let exit = if has_failed { Exit::Refused } else { Exit::Ok };
    if output.is_json() {
        SHAPE.print(&Body { tasks: lines }, output)?;
    } else {
        output.answer(&text(&lines, output.answer_width()))?;
    }
    Ok(exit)
}

/// The tasks of this project that the user could merge now without a confirmation. The task that
/// has waited longest is first.
fn mergeable_tasks(driver: &Driver) -> Result<Vec<TaskRow>, Error> {
    let Some(project) = driver.callers.project_here(None)? else {
        let names = Projects::load(driver.context.home()).map(|it| it.names());
        let message = "cannot merge all tasks: the current directory belongs to no project";
        return Err(Error::new(Exit::Usage, "project-unclear", message)
            .hint("run `orange merge --all` in a directory of the project")
            .details(json!({ "names": names.unwrap_or_default() })));
    };
    let filter = ListFilter {
        project: Some(project.name),
        ..ListFilter::default()
    };
    let mut rows = driver.views.list(&filter)?.tasks;
    rows.retain(|row| row.need == Some(Need::Review));
    rows.sort_by_key(|row| row.entered_at);
    let mut mergeable = Vec::new();
    for row in rows {
        let outlook = driver.views.outlook(&row.id)?;
        // A branch that has moved on since its commit was submitted is tried too, so that the
        // refusal is reported.
        let can_merge = |way: &NextStep| {
            way.verbs.contains(&Verb::Merge) && way.missing.iter().all(is_moved_branch)
        };
        if outlook.ways.iter().any(can_merge) {
            mergeable.push(row);
        }
    }
    Ok(mergeable)
}

/// The line of a task that is not merged because another task does the same work, so that the user
/// has to choose; `None` if there is no other task.
fn find_alternative(driver: &Driver, row: &TaskRow) -> Result<Option<Line>, Error> {
    let mut members = driver.views.group_of(&row.id)?;
    members.retain(|it| it.task.id != row.id && (it.is_merged || !it.is_finished));
    let merged = members.iter().find(|it| it.is_merged);
    let Some(other) = merged.or(members.first()) else {
        return Ok(None);
    };
    let id = &row.id;
    let problem = format!("{} does the same work", other.task.id);
    let (problem, hint) = if other.is_merged {
        (
            format!("{problem} and was merged"),
            format!("run `orange task cancel {id}`, or `orange task merge {id}` to merge both"),
        )
    } else {
        (
            problem,
            format!(
                "`orange task compare {id}` shows them side by side; choose one with \
                 `orange task keep TASK`"
            ),
        )
    };
    Ok(Some(Line {
        problem: Some(problem),
        hints: vec![hint],
        ..Line::of(row)
    }))
}

/// The line of a task that is not merged because the user wrote comments on it and did not send
/// them; `None` if there are none.
fn find_unsent_comments(driver: &Driver, row: &TaskRow) -> Option<Line> {
    let count = driver.requests.unsent_comments(&row.id);
    let id = &row.id;
    (count > 0).then(|| Line {
        problem: Some(format!(
            "you have {} on it",
            count_noun(count, "unsent comment")
        )),
        hints: vec![format!(
            "its diff in the dashboard shows them; `orange task merge {id}` merges it all the same"
        )],
        ..Line::of(row)
    })
}

fn merge(
    args: &Args,
    driver: &Driver,
    row: &TaskRow,
    environment: &Environment,
    output: &mut Output,
) -> Result<Line, Error> {
    let target = Target {
        task: Some(row.id.to_string()),
        yes: false,
        wait_options: WaitArgs {
            wait: Some(args.targets.wait_options.wait.unwrap_or(DEFAULT_WAIT)),
        },
    };
    let draft = RequestDraft::plain(RequestKind::Merge {
        strategy: args.strategy.map(Into::into),
        local: args.local,
        only_head: false,
    });
    let answer = request_without_confirmation(&target, draft, environment, output)?;
    match &answer {
        Answer::Done(changed) => {
            require_merged(&changed.task)?;
            require_not_overtaken(changed, &driver.views.history(&row.id, 0)?)?;
        }
        Answer::AlreadyDone(_) => {}
        Answer::StillRunning(changed) => {
            let id = &changed.task.id;
            return Ok(Line {
                problem: Some(String::from("the merge is still in progress")),
                hints: vec![format!("`orange task show {id}` shows how far it is")],
                ..Line::of(row)
            });
        }
        Answer::Refused(refusal) => return Err(refusal.clone().into()),
    }
    Ok(Line {
        merged: last_merge(&driver.views.history(&row.id, 0)?).cloned(),
        ..Line::of(row)
    })
}

fn text(lines: &[Line], width: Option<usize>) -> Text {
    let mut text = Text::new();
    if lines.is_empty() {
        text.push(Style::Plain, "no task can be merged now");
        text.end_line();
    }
    for line in lines {
        let (style, message) = match (&line.merged, &line.problem) {
            (_, Some(problem)) => (Style::Bad, format!(": not merged: {problem}")),
            (Some(merged), None) => (Style::Good, format!(": {merged}")),
            (None, None) => (Style::Good, String::from(": merged")),
        };
        let parts = [(Style::Bold, line.task.as_str()), (style, &message)];
        text.push_line(&parts, 4, width);
        for hint in &line.hints {
            text.push_line(&[(Style::Plain, &format!("  hint: {hint}"))], 4, width);
        }
    }
    text
}
