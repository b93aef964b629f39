//! `orange task create`.

mod answer;
pub mod each;
mod editor;
pub mod from;
mod line;

use std::collections::BTreeSet;
use std::path::Path;

pub use answer::waiting_hint;
use orange_config::{Environment, Project, read_script};
use orange_driver::{
    Answer, CreatedTask, Driver, IssueTaskRequest, NewTaskOutlook, NewTaskRequest, Start,
    can_be_branch,
};
use orange_engine::names::{BranchName, HarnessName, ProjectName, Status, TaskId};
use orange_engine::task::{AgentSettings, Queueing};
use serde_json::json;

use self::answer::print_created;
use self::editor::{describe_in_editor, split_summary};
use crate::cli::request::interruption::WaitSubject;
use crate::cli::request::issue_number::issue_number;
use crate::cli::request::missing_sandbox::settle_missing_sandbox;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::registration::narrate_registration;
use crate::cli::request::requests::{WaitArgs, driver};
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::{Output, Style, Text};

/// Create a task and start its work.
///
/// The task begins in an entry status of its workflow, usually a queue. Then orange starts its
/// work, as `orange task spawn` does, unless you pass `--no-spawn`. The task stays in its queue
/// until the limits in config.toml allow it and the tasks in `--after` are done. The task keeps its
/// workflow as it is now, even if you edit the file later.
///
/// If you give no branch, no summary and no context, your editor opens to describe the task.
///
/// If this git repository is not a project yet, it is registered first, as with `orange project
/// add`. Its coding agent is the one from `--harness`, else `harness` in config.toml, else the
/// first installed one in alphabetical order.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The branch [default: the words of the summary]. A single argument is the branch if it is a
    /// valid branch name, otherwise the summary.
    #[arg(value_name = "BRANCH")]
    pub branch_or_summary: Option<String>,
    /// What to do, in one sentence; without it, the agent asks you.
    #[arg(value_name = "SUMMARY")]
    pub summary: Option<String>,
    /// Words that should have been quoted.
    #[arg(hide = true)]
    pub unquoted_words: Vec<String>,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// More context: a text, `@FILE` to read a file, or `-` for the standard input. It is written
    /// below `## Context` in TASK.md; its headings become subheadings.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub context: Option<String>,
    /// The branch, if your only argument is the summary.
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The workflow [default: the project's].
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// The coding agent [default: the project's].
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// Start the same task once with each of these coding agents, separated by commas; the agent's
    /// name is added to the branch. `orange task keep` keeps one of them.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "harness"
    )]
    pub each: Vec<String>,
    /// The coding agent that reviews [default: the project's, else that of `--harness`].
    #[arg(long, value_name = "NAME")]
    pub review_harness: Option<String>,
    /// The model, as the coding agent names it; the reviewer gets it too if it uses the same
    /// agent.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The effort, as the coding agent names it; the reviewer gets it too if it uses the same
    /// agent.
    #[arg(long, value_name = "WORD")]
    pub effort: Option<String>,
    /// The reviewer's effort, as its coding agent names it.
    #[arg(long, value_name = "WORD")]
    pub review_effort: Option<String>,
    /// A label, for the rules that choose the coding agent; repeatable.
    #[arg(long = "label", value_name = "NAME")]
    pub labels: Vec<String>,
    /// The status to begin in [default: the first status of the workflow in which a task can
    /// start].
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// Start the work only after these tasks, separated by commas, are done; a cancelled task is
    /// not done.
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    pub after: Vec<String>,
    /// The parent task [default: none; if a worker runs this, its own task]. A parent that waits
    /// for its children continues once all of them have finished.
    #[arg(long, value_name = "TASK")]
    pub parent: Option<String>,
    /// Tasks with a higher number start sooner [default: the parent's, else 0].
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        default_value_t = 0,
        hide_default_value = true
    )]
    pub priority: i64,
    /// The number of the issue that the task is for: its title is the summary, and the agent gets
    /// its text as a file. Labels such as `agent:NAME` count if an account that may write set them.
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = issue_number,
        conflicts_with = "each"
    )]
    pub issue: Option<u64>,
    /// Review this pull request of others: fetches its commits into a branch, and begins where the
    /// workflow starts a reviewer. Nothing is pushed or posted.
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u64).range(1..),
        conflicts_with_all = ["branch_or_summary", "branch", "each", "issue"]
    )]
    pub pr: Option<u64>,
    /// Create one task for each item of this Markdown file, or `-` for the standard input: for each
    /// section below a `## ` heading, else for each entry of a list. The other options apply to
    /// every task. An item whose summary a task of the project already has is skipped, unless that
    /// task was cancelled; so are entries that are checked off.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["branch_or_summary", "branch", "each", "issue", "pr"]
    )]
    pub from: Option<String>,
    /// Accept that the pull request changes files that configure coding agents.
    #[arg(long, requires = "pr")]
    pub trust: bool,
    /// Do not start the work; start it later with `orange task spawn`.
    #[arg(long)]
    pub no_spawn: bool,
    #[command(flatten)]
    pub wait_options: WaitArgs,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let mut written = None;
    let result = create_described(args, &driver, &mut written, output);
    let Some(text) = written else {
        return result;
    };
    let path = driver.requests.keep_text(&text)?;
    let hint = format!("your text is in `{}`", path.display());
    if result.is_ok() {
        narrate_hint(&hint, output);
    }
    result.map_err(|error| error.hint(hint))
}

/// Creates what the arguments or the editor describe. `written` receives the text that the user
/// wrote in the editor, and is `None` again once a task has that text.
fn create_described(
    args: &Args,
    driver: &Driver,
    written: &mut Option<String>,
    output: &mut Output,
) -> Result<Exit, Error> {
    if args.from.as_deref() == Some("-") && args.context.as_deref() == Some("-") {
        let message = "the standard input cannot hold both the items and the context";
        return Err(usage_error(message));
    }
    let mut new = new_task(args, driver, written, output)?;
    if !args.no_spawn {
        settle_missing_sandbox(driver, || project_of(args, driver, &new), output)?;
    }
    if let Some(path) = &args.from {
        return from::run(path, args, driver, &new, output);
    }
    if !args.each.is_empty() {
        let exit = each::run(args, driver, &new, output)?;
        written.take_if(|_| exit != Exit::Refused);
        return Ok(exit);
    }
    if let Some(number) = args.pr {
        new = driver.requests.for_pull_request(&new, number, args.trust)?;
    }
    if let Some(number) = args.issue {
        let request = driver.requests.for_issue(&new, number)?;
        narrate_problems(&request, output);
        new = request.new;
    }
    let (exit, task) = create(driver, &new, !args.no_spawn, &args.wait_options, output)?;
    if let Some(task) = task {
        *written = None;
        narrate_missing_summary(args, &new, task.as_str(), output);
    }
    Ok(exit)
}

/// The project of a new task, if it is registered; fails if the task could not be created. Several
/// tasks, and those with a text from elsewhere, are checked when they are created.
fn project_of(
    args: &Args,
    driver: &Driver,
    new: &NewTaskRequest,
) -> Result<Option<Project>, Error> {
    let has_own_text = args.from.is_none() && args.issue.is_none() && args.pr.is_none();
    if has_own_text && args.each.is_empty() {
        match driver.requests.preview(std::slice::from_ref(new))?.pop() {
            Some(NewTaskOutlook::Refused(refusal)) => return Err(refusal.into()),
            Some(NewTaskOutlook::Unnamed(message)) => return Err(usage_error(&message)),
            Some(NewTaskOutlook::Possible | NewTaskOutlook::Exists(_)) | None => {}
        }
    }
    Ok(driver.callers.project_here(new.project.as_ref())?)
}

/// Says which labels of an issue were left out.
pub fn narrate_problems(request: &IssueTaskRequest, output: &mut Output) {
    if !output.is_json() {
        for problem in &request.problems {
            narrate_hint(problem, output);
        }
    }
}

/// Creates a task, starts its work if `starts` is set, and prints the result. Also returns the id
/// of the task, if one was created.
pub fn create(
    driver: &Driver,
    new: &NewTaskRequest,
    starts: bool,
    wait_options: &WaitArgs,
    output: &mut Output,
) -> Result<(Exit, Option<TaskId>), Error> {
    let mode = WaitMode::for_wait(output);
    let (created, signal) = run_with_progress(driver.context.progress(), mode, || {
        let waiting = wait_options.wait_policy(driver);
        driver.requests.create_and_start(new, starts, waiting)
    });
    if let Some(signal) = signal {
        let subject = match &created {
            Ok(created) => pending_wait(created),
            Err(_) => Some(WaitSubject::Creation),
        };
        if let Some(subject) = subject {
            return Err(signal.interruption_error(&subject));
        }
    }
    let created = created?;
    narrate_project(driver, new, &created, output)?;
    let task = match &created.created {
        Answer::Done(changed) | Answer::StillRunning(changed) => Some(changed.task.id.clone()),
        Answer::AlreadyDone(_) | Answer::Refused(_) => None,
    };
    let exit = print_created(created, output)?;
    Ok((exit, task))
}

/// Tells the user which project was registered, or which one was chosen.
fn narrate_project(
    driver: &Driver,
    new: &NewTaskRequest,
    created: &CreatedTask,
    output: &mut Output,
) -> Result<(), Error> {
    if let Some(registration) = &created.registered {
        narrate_registration(driver, registration, output);
    } else if let Answer::Done(changed) | Answer::StillRunning(changed) = &created.created
        && new.project.is_none()
        && driver.callers.project_here(None)?.is_none()
    {
        let mut text = Text::new();
        let project = &changed.task.project;
        let line = format!("using project `{project}`, the only one that is registered");
        text.push_line(&[(Style::Plain, &line)], 4, output.narration_width());
        output.narrate(&text);
    }
    Ok(())
}

/// Tells the user if the only argument was taken as the branch: it may have been meant as the
/// summary.
pub fn narrate_missing_summary(args: &Args, new: &NewTaskRequest, task: &str, output: &mut Output) {
    let is_described = !new.summary.is_empty() || new.context.is_some();
    if let Some(branch) = args.branch_or_summary.as_deref()
        && !is_described
        && !output.is_json()
    {
        let hint = format!(
            "`{branch}` is the branch, and there is no summary; to give one, run `orange task \
             update {task} --summary TEXT`"
        );
        narrate_hint(&hint, output);
    }
}

/// The task that the arguments describe.
fn new_task(
    args: &Args,
    driver: &Driver,
    written: &mut Option<String>,
    output: &Output,
) -> Result<NewTaskRequest, Error> {
    let (branch, mut summary) = branch_and_summary(args)?;
    let mut context = args.context.as_deref().map(context).transpose()?;
    let has_source = args.issue.is_some() || args.pr.is_some() || args.from.is_some();
    let is_described = !summary.is_empty() || context.is_some() || has_source;
    if branch.is_none() && !is_described {
        let text = describe_in_editor(driver, output)?;
        (summary, context) = split_summary(&text);
        *written = Some(text);
    }
    let caller = driver.callers.identify()?;
    let after = args
        .after
        .iter()
        .map(|it| driver.callers.resolve_task(Some(it)));
    let after: Result<BTreeSet<TaskId>, _> = after.collect();
    Ok(NewTaskRequest {
        project: args.project.as_deref().map(ProjectName::new),
        by: caller.role.clone(),
        summary,
        context,
        branch: branch.map(BranchName::new),
        workflow: args.workflow.clone(),
        harness: args.harness.as_deref().map(HarnessName::new),
        review_harness: args.review_harness.as_deref().map(HarnessName::new),
        status: args.status.as_deref().map(Status::new),
        agent_settings: AgentSettings {
            model: args.model.clone(),
            effort: args.effort.clone(),
            review_effort: args.review_effort.clone(),
        },
        labels: args.labels.clone(),
        queueing: Queueing {
            priority: args.priority,
            after: after?,
            parent: driver
                .callers
                .resolve_parent(args.parent.as_deref(), &caller)?,
            ..Queueing::default()
        },
        issue: None,
        job: None,
        pull_request: None,
    })
}

fn pending_wait(created: &CreatedTask) -> Option<WaitSubject> {
    let is_started = match &created.start {
        Start::Requested(result) => matches!(result, Ok(Answer::Done(_) | Answer::Refused(_))),
        Start::NotRequested | Start::UserOnly | Start::Waits(_) => true,
    };
    match &created.created {
        Answer::StillRunning(changed) => Some(WaitSubject::Effects(changed.task.id.clone())),
        Answer::Done(changed) if !is_started => Some(WaitSubject::Effects(changed.task.id.clone())),
        Answer::Done(_) | Answer::AlreadyDone(_) | Answer::Refused(_) => None,
    }
}

/// Which argument is the branch, and which the summary.
fn branch_and_summary(args: &Args) -> Result<(Option<&str>, String), Error> {
    if !args.unquoted_words.is_empty() {
        return Err(usage_error("too many arguments"));
    }
    let option = args.branch.as_deref();
    // An empty argument counts as absent. One that has only blanks is most likely a mistake in a
    // script.
    let is_blank = |it: &String| !it.is_empty() && it.trim().is_empty();
    let mut given = args.branch_or_summary.iter().chain(&args.summary);
    if given.any(is_blank) {
        return Err(usage_error("the branch or the summary is blank"));
    }
    match (&args.branch_or_summary, &args.summary, option) {
        (None, _, branch) => Ok((branch, String::new())),
        (Some(word), None, None) if can_be_branch(word) => Ok((Some(word), String::new())),
        (Some(summary), None, branch) => Ok((branch, summary.clone())),
        (Some(branch), Some(summary), None) => Ok((Some(branch), summary.clone())),
        (Some(_), Some(_), Some(_)) => Err(usage_error(
            "the branch is given twice, as an argument and with `--branch`",
        )),
    }
}

fn usage_error(message: &str) -> Error {
    let usage = "usage: `orange new [BRANCH] \"SUMMARY\"`; quote the summary";
    Error::usage(format!("cannot create a task: {message}")).hint(usage)
}

fn context(text: &str) -> Result<String, Error> {
    let path = match text.strip_prefix('@') {
        Some(path) => path,
        None if text == "-" => text,
        None => return Ok(text.to_owned()),
    };
    read_script(Path::new(path)).map_err(|reason| {
        let message = format!("cannot read the context `{path}`: {reason}");
        Error::new(Exit::Usage, "context-unreadable", message)
            .hint("pass a text file: `orange task create --context @FILE`")
            .details(json!({ "name": path, "reason": reason.to_string() }))
    })
}
