//! `orange task stop`.

use orange_config::Environment;
use orange_driver::Answer;
use orange_engine::input::RequestKind;
use orange_engine::names::TaskId;
use orange_engine::role::Role;

use crate::cli::request::requests::{Extras, RequestDraft, print_with, request_with_confirmation};
use crate::cli::request::several::{Targets, ask_each};
use crate::cli::{Error, Exit, hint_paragraph};
use crate::output::{Output, Text};

/// Stop agents, but not their tasks.
///
/// Ends the running agents of each task, with every process they started. The status and the
/// worktree stay as they are, the exit rules of the workflow do not apply, and nothing starts the
/// agents again until you run `orange task restart` or move the task.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub targets: Targets,
    /// The agent's role: `worker`, `reviewer` or a role of the workflow [default: all agents].
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let role = args.role.as_deref().map(Role::from_name);
    let draft = RequestDraft::plain(RequestKind::Stop { role });
    let Some(target) = args.targets.only() else {
        return ask_each(&args.targets, &draft, environment, output);
    };
    let answer = request_with_confirmation(&target, draft, environment, output)?;
    let task = match &answer {
        Answer::Done(changed) => Some(changed.task.id.clone()),
        _ => None,
    };
    let extras = Extras {
        already: Some("its agent is already stopped"),
        ..Extras::default()
    };
    let exit = print_with(answer, &extras, output)?;
    if let Some(task) = task.filter(|_| !output.is_json()) {
        output.narrate(&restart_hint(&task, output.narration_width()));
    }
    Ok(exit)
}

fn restart_hint(task: &TaskId, width: Option<usize>) -> Text {
    let hint = format!("start it again with `orange task restart {task}`");
    let mut text = Text::new();
    text.push_paragraph(&hint_paragraph(&hint, 0), width);
    text
}
