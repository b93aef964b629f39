//! `orange task spawn`.

use orange_config::{Environment, Project};
use orange_driver::{Answer, Driver, Start};
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;

use crate::cli::request::missing_sandbox::settle_missing_sandbox;
use crate::cli::request::requests::{
    Extras, RequestDraft, Target, driver, print, print_with, request_with_confirmation,
};
use crate::cli::task::create::waiting_hint;
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::Output;

/// Start the work on a task.
///
/// Takes the transition that the workflow names under `verbs: spawn`, which usually binds a
/// worktree and starts an agent in it. If the task then waits in another queue, takes the next such
/// transition too.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,

    /// Plan first how to split the task
    #[arg(long)]
    pub plan: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let Target { wait_options, .. } = &args.target;
    let driver = driver(environment)?;
    let task = args.target.task.as_deref();
    settle_missing_sandbox(&driver, || project_of(&driver, task), output)?;
    if args.plan {
        let draft = RequestDraft::plain(RequestKind::Split);
        let planned = request_with_confirmation(&args.target, draft, environment, output)?;
        if let Answer::Refused(_) = planned {
            return print(planned, output);
        }
    }
    let draft = RequestDraft::plain(RequestKind::Verb(Verb::Spawn));
    let first = request_with_confirmation(&args.target, draft, environment, output)?;
    let (first, start) = driver
        .requests
        .continue_start(first, wait_options.wait_policy(&driver))?;
    let task = match &first {
        Answer::Done(changed) | Answer::StillRunning(changed) => changed.task.id.clone(),
        Answer::AlreadyDone(_) | Answer::Refused(_) => return print(first, output),
    };
    match start {
        Start::NotRequested | Start::UserOnly => print(first, output),
        Start::Requested(later) => print(first.followed_by(later?), output),
        Start::Waits(waits) => {
            let extras = Extras {
                waits: &waits,
                ..Extras::default()
            };
            let exit = print_with(first, &extras, output)?;
            if !output.is_json() {
                let hint = waiting_hint(&task);
                narrate_hint(&hint, output);
            }
            Ok(exit)
        }
    }
}

fn project_of(driver: &Driver, task: Option<&str>) -> Result<Option<Project>, Error> {
    let task = driver.callers.resolve_task(task)?;
    let name = driver.views.show(&task)?.stored.task.project;
    Ok(driver.callers.project_here(Some(&name))?)
}
