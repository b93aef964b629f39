//! `orange task spawn`.

use orange_config::Environment;
use orange_driver::{Answer, Start};
use orange_engine::input::Ask;
use orange_engine::language::verbs::Verb;

use crate::cli::request::driving::{Besides, Target, Wanted, answer, driver, print, print_with};
use crate::cli::task::create::waiting_hint;
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::Output;

/// Start the work of a task.
///
/// Takes the edge that the workflow names under `verbs: spawn`: a worktree is bound, and an agent
/// starts in it. An edge that leads into another queue is followed by the next one.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let wanted = Wanted::plain(Ask::Verb(Verb::Spawn));
    let Target { patience, .. } = &args.target;
    let first = answer(&args.target, wanted, environment, output)?;
    let (first, start) = driver(environment)?
        .requests
        .spawn_on(first, patience.waiting())?;
    let task = match &first {
        Answer::Done(changed) | Answer::StillRunning(changed) => changed.task.id.clone(),
        Answer::Already(_) | Answer::Refused(_) => return print(first, output),
    };
    match start {
        Start::NotWanted | Start::ForAPerson => print(first, output),
        Start::Asked(later) => print(first.followed_by(later?), output),
        Start::Waits(waits) => {
            let besides = Besides {
                waits: &waits,
                ..Besides::default()
            };
            let exit = print_with(first, &besides, output)?;
            if !output.is_json() {
                let hint = waiting_hint(&task);
                narrate_hint(&hint, output);
            }
            Ok(exit)
        }
    }
}
