//! `orange task create`.

use std::collections::BTreeSet;
use std::path::Path;

use orange_config::{Environment, Project, read_script};
use orange_driver::{Answer, Begun, NewWork, Start, can_be_branch};
use orange_engine::names::{BranchName, HarnessName, ProjectName, Status, TaskId};
use orange_engine::task::{Queueing, Tuning};
use serde_json::json;

use crate::cli::request::attending::{Manner, attend};
use crate::cli::request::driving::{Besides, Patience, driver, print, print_with};
use crate::cli::request::interrupted::Waited;
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::{Output, Style, Text};

/// Create a task and start its work.
///
/// It begins where the workflow lets tasks begin, usually in a queue; then its work is started as
/// `orange task spawn` does it, unless `--no-spawn` is given. While a limit of config.toml or a task
/// of `--after` stands in the way, it waits in its queue. The task keeps the workflow as it is
/// now, whatever becomes of the file.
///
/// The first task in a git repository that is no project yet registers it, as `orange project add`
/// does, with the harness of `--harness`, else the first one, in the order of their names, whose
/// program is installed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The branch; one named after the task when left out. A single text that has white space in
    /// it, or could be no branch, is the summary.
    #[arg(value_name = "BRANCH")]
    pub first: Option<String>,
    /// What is to be done, in a sentence; when left out, the agent asks.
    #[arg(value_name = "SUMMARY")]
    pub second: Option<String>,
    /// What was meant to be in quotes.
    #[arg(hide = true)]
    pub rest: Vec<String>,
    /// The project; the one this directory belongs to when left out.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// What else should be known: a text, `@FILE` for what is in a file, or `-` for the standard
    /// input. Its headings are moved below `## Context` of TASK.md.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub context: Option<String>,
    /// The branch, where a single text is what is to be done.
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The workflow; the project's when left out.
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// The coding agent; the project's when left out.
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// The coding agent that reviews; the project's, else the same as `--harness`.
    #[arg(long, value_name = "NAME")]
    pub review_harness: Option<String>,
    /// The model of the coding agent, in its own words; also that of the reviewer, if it is the
    /// same agent.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// How hard the coding agent thinks, in its own words; also the reviewer, if it is the same
    /// agent.
    #[arg(long, value_name = "WORD")]
    pub effort: Option<String>,
    /// How hard the reviewer thinks, in its own words.
    #[arg(long, value_name = "WORD")]
    pub review_effort: Option<String>,
    /// Where it begins; the first entry of the workflow that is open when left out.
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,
    /// Start it only after these tasks are done: ended, and not cancelled.
    #[arg(long, value_name = "TASK", num_args = 1..)]
    pub after: Vec<String>,
    /// The task that it is a part of; a worker's own when left out. A task that waits for its parts
    /// goes on once they have all ended.
    #[arg(long, value_name = "TASK")]
    pub parent: Option<String>,
    /// The larger, the sooner it is started; that of the parent, else 0, when left out.
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        default_value_t = 0,
        hide_default_value = true
    )]
    pub priority: i64,
    /// Leave it where it begins; `orange task spawn` starts the work.
    #[arg(long)]
    pub no_spawn: bool,
    #[command(flatten)]
    pub patience: Patience,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let (branch, summary) = named(args)?;
    let asker = driver.callers.identify()?;
    let after = args.after.iter().map(|it| driver.callers.meant(Some(it)));
    let after: Result<BTreeSet<TaskId>, _> = after.collect();
    let new = NewWork {
        project: args.project.as_deref().map(ProjectName::new),
        by: asker.role.clone(),
        summary,
        context: args.context.as_deref().map(context).transpose()?,
        branch: branch.map(BranchName::new),
        workflow: args.workflow.clone(),
        harness: args.harness.as_deref().map(HarnessName::new),
        review_harness: args.review_harness.as_deref().map(HarnessName::new),
        status: args.status.as_deref().map(Status::new),
        tuning: Tuning {
            model: args.model.clone(),
            effort: args.effort.clone(),
            review_effort: args.review_effort.clone(),
        },
        queueing: Queueing {
            priority: args.priority,
            after: after?,
            parent: driver
                .callers
                .parent_meant(args.parent.as_deref(), &asker)?,
            starts_itself: false,
        },
    };
    let manner = Manner::waiting(output);
    let (begun, signal) = attend(driver.context.meanwhile(), manner, || {
        driver
            .requests
            .begin(&new, !args.no_spawn, args.patience.waiting())
    });
    if let Some(signal) = signal {
        let waited = match &begun {
            Ok(begun) => unfinished(begun),
            Err(_) => Some(Waited::Creation),
        };
        if let Some(waited) = waited {
            return Err(signal.during(&waited));
        }
    }
    let begun = begun?;
    if let Some(project) = &begun.registered {
        output.narrate(&registered(project, output.narration_width()));
    }
    tell(begun, output)
}

fn unfinished(begun: &Begun) -> Option<Waited> {
    let is_started = match &begun.start {
        Start::Asked(came) => matches!(came, Ok(Answer::Done(_) | Answer::Refused(_))),
        Start::NotWanted | Start::ForAPerson | Start::Waits(_) => true,
    };
    match &begun.created {
        Answer::StillRunning(changed) => Some(Waited::Effects(changed.task.id.clone())),
        Answer::Done(changed) if !is_started => Some(Waited::Effects(changed.task.id.clone())),
        Answer::Done(_) | Answer::Already(_) | Answer::Refused(_) => None,
    }
}

/// Which argument is the branch, and which the summary.
fn named(args: &Args) -> Result<(Option<&str>, String), Error> {
    if !args.rest.is_empty() {
        return Err(wrong("there are more words than a branch and a summary"));
    }
    let option = args.branch.as_deref();
    match (&args.first, &args.second, option) {
        (None, _, branch) => Ok((branch, String::new())),
        (Some(word), None, None) if can_be_branch(word) => Ok((Some(word), String::new())),
        (Some(summary), None, branch) => Ok((branch, summary.clone())),
        (Some(branch), Some(summary), None) => Ok((Some(branch), summary.clone())),
        (Some(_), Some(_), Some(_)) => Err(wrong(
            "the branch is named twice, by a word and by `--branch`",
        )),
    }
}

fn wrong(message: &str) -> Error {
    let usage = "it is used as `orange task create [BRANCH] \"SUMMARY\"`; quote the summary";
    Error::usage(format!("cannot create a task: {message}")).hint(usage)
}

fn context(given: &str) -> Result<String, Error> {
    let path = match given.strip_prefix('@') {
        Some(path) => path,
        None if given == "-" => given,
        None => return Ok(given.to_owned()),
    };
    read_script(Path::new(path)).map_err(|reason| {
        let message = format!("cannot create a task with the context `{path}`: {reason}");
        Error::new(Exit::Usage, "context-unreadable", message)
            .hint("name a text file: `orange task create --context @FILE`")
            .details(json!({ "name": path, "reason": reason.to_string() }))
    })
}

fn registered(project: &Project, width: Option<usize>) -> Text {
    let (name, path) = (&project.name, project.path.display());
    let harness = project.harness.as_ref().map(ToString::to_string);
    let harness = harness.unwrap_or_default();
    let mut text = Text::new();
    let told = format!(
        "registered `{path}` as project `{name}` with the harness `{harness}`; `orange project \
         update {name}` changes that"
    );
    text.push_line(&[(Style::Plain, &told)], 4, width);
    text
}

/// The task exists even if its start failed; the answer reports both.
fn tell(begun: Begun, output: &mut Output) -> Result<Exit, Error> {
    let task = match &begun.created {
        Answer::Done(changed) | Answer::StillRunning(changed) => changed.task.id.clone(),
        Answer::Already(_) | Answer::Refused(_) => {
            return print(begun.created, output);
        }
    };
    let again = format!("`orange task spawn {task}` starts the work");
    let stays = format!("the task stays; when that is mended, {again}");
    let (exit, hint) = match begun.start {
        Start::NotWanted => return print(begun.created, output),
        Start::ForAPerson => {
            let exit = print(begun.created, output)?;
            (exit, Some(format!("only a person may start it: {again}")))
        }
        Start::Waits(waits) => {
            let besides = Besides {
                waits: &waits,
                ..Besides::default()
            };
            let exit = print_with(begun.created, &besides, output)?;
            (exit, Some(waiting_hint(&task)))
        }
        Start::Asked(Err(error)) => {
            let error = Error::from(error);
            let exit = print_with(begun.created, &not_started(&error), output)?;
            (exit, Some(stays))
        }
        Start::Asked(Ok(Answer::Refused(refusal))) => {
            let error = Error::from(refusal);
            let exit = print_with(begun.created, &not_started(&error), output)?;
            (exit, Some(stays))
        }
        Start::Asked(Ok(started)) => {
            let exit = print(begun.created.followed_by(started), output)?;
            (exit, (exit == Exit::OutsideFailed).then_some(stays))
        }
    };
    if let Some(hint) = hint.filter(|_| !output.is_json()) {
        narrate_hint(&hint, output);
    }
    Ok(exit)
}

/// A hint for a task whose start has to wait.
pub fn waiting_hint(task: &TaskId) -> String {
    format!(
        "it starts by itself once that is gone, if `orange serve` runs; `orange task why {task}` \
         tells what it waits for"
    )
}

fn not_started(error: &Error) -> Besides<'_> {
    Besides {
        not_started: Some(error),
        ..Besides::default()
    }
}
