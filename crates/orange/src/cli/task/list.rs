//! `orange task list`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use orange_config::Environment;
use orange_config::clock;
use orange_driver::{
    AgentState, DriverError, ListFilter, Overview, PullRequestHeadline, PullRequestSnapshot,
    TaskRow,
};
use orange_engine::activity::ActivityState;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{ProjectName, Status, TaskId};
use orange_engine::time::Timestamp;
use orange_engine::usage::Usage;
use serde::Serialize;

use crate::cli::answer::words::age;
use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Column, Grid, Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.task.list/1");

type Usages = BTreeMap<TaskId, Usage>;

/// On a narrower terminal the branch column is left out, and a reason for attention replaces the
/// summary.
const WIDE: usize = 100;

/// How much wider than `WIDE` the terminal must be for the columns of `--cost`.
const COST_WIDTH: usize = 24;

/// How much wider than `WIDE` the terminal must be for the column with the project.
const PROJECT_WIDTH: usize = 10;

/// List the tasks.
///
/// Tasks that need you come first, then those that agents work on, then those that wait; within
/// each group, the longest wait comes first. A sign shows whether the agent is running: ● running,
/// ✗ exited, ○ none or stopped by you, ? unknown. DOING is what the agent reports; `silent` means
/// that the agent was started but has reported nothing, `stalled` that it is idle although its
/// status waits for its work. AGE is the time since the task entered its status.
///
/// Inside a project only its tasks are listed. Finished tasks are left out unless they need your
/// attention.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Args {
    /// List only the tasks of this project.
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub project: Option<String>,
    /// List the tasks of all projects.
    #[arg(long)]
    pub all: bool,
    /// List only the tasks in this status, even a final one.
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// Include finished tasks.
    #[arg(long)]
    pub all_statuses: bool,
    /// List deleted tasks instead; `orange task delete --undo` restores one.
    #[arg(long, conflicts_with_all = ["status", "all_statuses", "cost"])]
    pub deleted: bool,
    /// List child tasks below their parents.
    #[arg(long)]
    pub tree: bool,
    /// Show tokens, cost and run time, as the agents report them.
    #[arg(long)]
    pub cost: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    as_of: u64,
    project: Option<ProjectName>,
    tasks: Vec<TaskBody<'a>>,
    /// What the agents of all listed tasks used, with `--cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "TaskRow")]
struct TaskBody<'a> {
    id: &'a str,
    project: &'a str,
    status: &'a str,
    kind: Option<Kind>,
    branch: &'a str,
    summary: &'a str,
    round: i64,
    entered_at: Option<Timestamp>,
    agent: &'static str,
    /// What its agents report that they are doing.
    activity: ActivityState,
    attention: &'a [String],
    /// The task that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    /// How many listed ancestors it has, with `--tree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
    /// What was last seen of its pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<&'a PullRequestSnapshot>,
    /// What its agents used, as they reported it, with `--cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let name = args.project.as_deref().map(ProjectName::new);
    let project = if args.all {
        None
    } else {
        driver
            .callers
            .project_here(name.as_ref())?
            .map(|it| it.name)
    };
    let mut overview = if args.deleted {
        driver.views.deleted(project.as_ref())?
    } else {
        driver.views.list(&ListFilter {
            project: project.clone(),
            status: args.status.as_deref().map(Status::new),
            include_finished: args.all_statuses,
        })?
    };
    if let Some(status) = args.status.as_deref().map(Status::new)
        && overview.tasks.is_empty()
    {
        let statuses = driver.views.statuses()?;
        if !statuses.contains(&status) {
            return Err(DriverError::NoSuchStatus { status, statuses }.into());
        }
    }
    let depths = if args.tree {
        Some(overview.order_as_tree())
    } else {
        None
    };
    let usages = if args.cost {
        Some(driver.views.usage(&overview.tasks)?)
    } else {
        None
    };
    let total = usages.as_ref().map(|usages| {
        let mut total = Usage::default();
        for usage in usages.values() {
            total.add(usage);
        }
        total
    });
    let requests = driver.views.pull_requests()?;
    if output.is_json() {
        let body = Body {
            as_of: overview.sequence,
            project,
            tasks: overview
                .tasks
                .iter()
                .map(|row| TaskBody {
                    pull_request: requests.get(&row.id),
                    depth: depths.as_ref().and_then(|it| it.get(&row.id).copied()),
                    ..task_body(row, &overview, usages.as_ref())
                })
                .collect(),
            usage: total,
        };
        return SHAPE.print(&body, output);
    }
    let mut wide = WIDE;
    if args.cost {
        wide += COST_WIDTH;
    }
    if project.is_none() {
        wide += PROJECT_WIDTH;
    }
    let is_narrow = output.answer_width().is_some_and(|width| width < wide);
    let columns = Columns {
        usages: usages.as_ref(),
        requests: &requests,
        depths: depths.unwrap_or_default(),
        in_one_project: project.is_some(),
        is_narrow,
    };
    let grid = grid(&overview, &columns);
    if overview.tasks.is_empty() {
        let width = output.narration_width();
        output.narrate(&empty_text(project.as_ref(), args, width));
        return Ok(Exit::Ok);
    }
    output.answer_grid(&grid)?;
    if let Some(total) = total {
        let mut text = Text::new();
        let line = format!("total: {}", total.sentence());
        text.push_line(&[(Style::Plain, &line)], 7, output.answer_width());
        output.answer(&text)?;
    }
    Ok(Exit::Ok)
}

fn task_body<'a>(row: &'a TaskRow, overview: &Overview, usages: Option<&Usages>) -> TaskBody<'a> {
    TaskBody {
        usage: usages.map(|it| it.get(&row.id).cloned().unwrap_or_default()),
        id: row.id.as_str(),
        project: row.project.as_str(),
        status: row.status.as_str(),
        kind: row.kind,
        branch: &row.branch,
        summary: &row.summary,
        round: row.round,
        entered_at: row.entered_at,
        activity: overview.activity_state(row),
        agent: match overview.agent(row) {
            AgentState::None => "none",
            AgentState::Alive => "alive",
            AgentState::Unknown => "unknown",
            AgentState::Dead => "dead",
        },
        attention: &row.attention,
        parent: row.parent.as_ref().map(TaskId::as_str),
        depth: None,
        pull_request: None,
    }
}

/// The number of a pull request and its most important state.
fn request_cell(seen: Option<&PullRequestSnapshot>) -> (Style, Cow<'static, str>) {
    let Some(seen) = seen else {
        return (Style::Plain, Cow::from(""));
    };
    let (style, word) = match seen.headline() {
        PullRequestHeadline::Merged => (Style::Good, "merged"),
        PullRequestHeadline::Closed => (Style::Warn, "closed"),
        PullRequestHeadline::Conflicting => (Style::Bad, "conflict"),
        PullRequestHeadline::Failing => (Style::Bad, "failed"),
        PullRequestHeadline::Changes => (Style::Warn, "changes"),
        PullRequestHeadline::Queued => (Style::Plain, "queued"),
        PullRequestHeadline::Running => (Style::Plain, "running"),
        PullRequestHeadline::Passing => (Style::Good, "passed"),
        PullRequestHeadline::Open => (Style::Plain, "open"),
    };
    (style, Cow::from(format!("#{} {word}", seen.number)))
}

/// What the columns show beside the rows themselves.
struct Columns<'a> {
    usages: Option<&'a Usages>,
    requests: &'a BTreeMap<TaskId, PullRequestSnapshot>,
    /// How deep each task stands in the tree; empty without `--tree`.
    depths: BTreeMap<TaskId, usize>,
    in_one_project: bool,
    is_narrow: bool,
}

/// The id of a task, indented below its parent.
fn id_cell<'a>(row: &'a TaskRow, depths: &BTreeMap<TaskId, usize>) -> Cow<'a, str> {
    match depths.get(&row.id) {
        None | Some(0) => Cow::from(row.id.as_str()),
        Some(depth) => Cow::from(format!("{}└ {}", "  ".repeat(depth - 1), row.id)),
    }
}

fn grid<'a>(overview: &'a Overview, columns: &Columns<'_>) -> Grid<'a, 14> {
    let Columns {
        usages,
        requests,
        depths,
        in_one_project,
        is_narrow,
    } = columns;
    let now = clock::now();
    let (column, number) = (Column::text, Column::number);
    let mut grid = Grid::new([
        column("", None),
        column("TASK", None),
        column("STATUS", None),
        column("DOING", None),
        number("ROUND"),
        column("REQUEST", None),
        number("AGE"),
        number("TOKENS"),
        number("COST"),
        number("RAN"),
        column("PROJECT", Some(4)),
        column("BRANCH", Some(12)),
        column("SUMMARY", Some(12)),
        column("ATTENTION", Some(24)),
    ]);
    for row in &overview.tasks {
        let reasons: Cow<'_, str> = match row.attention.as_slice() {
            [] => Cow::from(""),
            [reason] => Cow::from(reason.as_str()),
            reasons => Cow::from(reasons.join("; ")),
        };
        let project = if *in_one_project {
            ""
        } else {
            row.project.as_str()
        };
        let branch = if *is_narrow { "" } else { row.branch.as_str() };
        let (summary, attention) = if *is_narrow && !reasons.is_empty() {
            let reason = Cow::from(format!("! {reasons}"));
            ((Style::Bad, reason), Cow::from(""))
        } else {
            ((Style::Plain, Cow::from(row.summary.as_str())), reasons)
        };
        let usage = usages.and_then(|it| it.get(&row.id));
        let usage_cell = |cell: fn(&Usage) -> String| {
            let cell = usage.map(cell).unwrap_or_default();
            (Style::Plain, Cow::from(cell))
        };
        grid.push([
            sign(overview.agent(row)),
            (Style::Bold, id_cell(row, depths)),
            (status_style(row), Cow::from(row.status_text())),
            activity_cell(overview.activity_state(row)),
            (Style::Plain, round(row.round)),
            request_cell(requests.get(&row.id)),
            (Style::Dim, since(now, row.entered_at)),
            usage_cell(Usage::tokens_cell),
            usage_cell(Usage::cost_cell),
            usage_cell(Usage::time_cell),
            (Style::Plain, Cow::from(project)),
            (Style::Dim, Cow::from(branch)),
            summary,
            (Style::Bad, attention),
        ]);
    }
    grid
}

fn sign(agent: AgentState) -> (Style, Cow<'static, str>) {
    let (style, sign) = match agent {
        AgentState::None => (Style::Dim, "○"),
        AgentState::Alive => (Style::Good, "●"),
        AgentState::Unknown => (Style::Warn, "?"),
        AgentState::Dead => (Style::Bad, "✗"),
    };
    (style, Cow::from(sign))
}

/// What agents report that they are doing, in a word; empty if they report nothing.
fn activity_cell(state: ActivityState) -> (Style, Cow<'static, str>) {
    let style = match state {
        ActivityState::Working => Style::Good,
        ActivityState::WaitingForPermission
        | ActivityState::WaitingForInput
        | ActivityState::Failed
        | ActivityState::Silent
        | ActivityState::Stalled => Style::Warn,
        ActivityState::Idle | ActivityState::Unknown => Style::Dim,
    };
    (style, Cow::from(state.label()))
}

fn status_style(row: &TaskRow) -> Style {
    match row.kind {
        _ if !row.attention.is_empty() => Style::Bad,
        Some(Kind::Human) => Style::Warn,
        Some(Kind::Agent) => Style::Good,
        Some(Kind::Terminal) => Style::Dim,
        Some(Kind::Waiting | Kind::Queued) | None => Style::Plain,
    }
}

fn round(round: i64) -> Cow<'static, str> {
    match round {
        0 => Cow::from(""),
        round => Cow::from(round.to_string()),
    }
}

fn since(now: Timestamp, entered_at: Option<Timestamp>) -> Cow<'static, str> {
    entered_at.map_or(Cow::from(""), |then| Cow::from(age(now, then)))
}

/// The text for an empty list.
fn empty_text(project: Option<&ProjectName>, args: &Args, width: Option<usize>) -> Text {
    let mut place = project.map_or(String::new(), |name| format!(" in project `{name}`"));
    let mut hints = Vec::new();
    if args.deleted {
        hints.push("`orange ls` lists the others");
    } else if let Some(status) = &args.status {
        place = format!(" in `{status}`{place}");
        hints.push("without `--status`, `orange ls` lists all open tasks");
    } else {
        hints.push("`orange new BRANCH \"SUMMARY\"` creates one");
        if !args.all_statuses {
            hints.push("`--all-statuses` includes finished tasks");
        }
    }
    if project.is_some() {
        hints.push("`--all` includes other projects");
    }
    let mut text = Text::new();
    let what = if args.deleted {
        "deleted tasks"
    } else {
        "tasks"
    };
    let message = format!("no {what}{place}; {}", hints.join(", "));
    text.push_line(&[(Style::Plain, &message)], 4, width);
    text
}
