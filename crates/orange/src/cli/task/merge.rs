//! `orange task merge`.

use clap::ValueEnum;
use orange_config::Environment;
use orange_driver::Answer;
use orange_engine::Task;
use orange_engine::effect::{Effect, EffectOutcome, MergeStrategy};
use orange_engine::event::{Event, Fact};
use orange_engine::input::RequestKind;
use orange_engine::merge_result::MergeResult;
use orange_engine::task::PendingState;
use serde_json::json;

use crate::cli::request::requests::{
    Extras, RequestDraft, Target, driver, print, print_with, request_with_confirmation,
    request_without_confirmation, resolve_head,
};
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Merge the reviewed commit.
///
/// Merges exactly the commit that was handed over and reviewed into the default branch. If nothing
/// was reviewed, you have to confirm the merge with `--force` or `--yes`. If the branch has later
/// commits, or the worktree has uncommitted files, nothing is merged and the error names them. If the project has `"push": true`, orange pushes the merge to the remote before it
/// moves your local branch; if the push is rejected, nothing is merged.
///
/// A checkout on the default branch is fast-forwarded; if it has uncommitted changes, nothing is
/// merged. Checkouts on other branches are not touched.
///
/// The status changes after the merge. The output names the merged commit and says whether it was
/// pushed and what was left out.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// How to merge: fast-forward, merge commit or squash.
    #[arg(long, value_enum, value_name = "STRATEGY", default_value = "ff")]
    pub strategy: Strategy,
    /// Merge this commit of the branch instead of the reviewed one; the rest of the task's work is
    /// not merged, but kept.
    #[arg(long, value_name = "COMMIT")]
    pub head: Option<String>,
    /// Do not push, even if the project has `"push": true`.
    #[arg(long)]
    pub local: bool,
    /// If the workflow wants a confirmation, for example because the review is missing, ask for it
    /// at the terminal. Without `--force` or `--yes` such a merge is refused.
    #[arg(long)]
    pub force: bool,
}

/// How a branch is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Fast-forward only; fails if the default branch has moved.
    Ff,
    /// Add a merge commit.
    Merge,
    /// Add one commit with all changes of the branch.
    Squash,
}

impl From<Strategy> for MergeStrategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Ff => MergeStrategy::Ff,
            Strategy::Merge => MergeStrategy::Merge,
            Strategy::Squash => MergeStrategy::Squash,
        }
    }
}

/// Requests the merge; returns an error if it failed.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let draft = RequestDraft {
        ask: RequestKind::Merge {
            strategy: args.strategy.into(),
            local: args.local,
            only_head: args.head.is_some(),
        },
        message: None,
        head: resolve_head(&args.target, args.head.as_deref(), environment)?,
    };
    let result = if args.force {
        request_with_confirmation(&args.target, draft, environment, output)?
    } else {
        request_without_confirmation(&args.target, draft, environment, output)?
    };
    let task = match &result {
        Answer::Done(changed) => &changed.task,
        Answer::AlreadyDone(task) => task,
        Answer::StillRunning(_) | Answer::Refused(_) => {
            return print(result, output);
        }
    };
    require_merged(task)?;
    // The merge has happened, even if its event cannot be read now.
    let events = driver(environment)?.views.history(&task.id, 0);
    let events = events.unwrap_or_default();
    let besides = Extras {
        merged: merged(&events),
        ..Extras::default()
    };
    print_with(result, &besides, output)
}

fn merged(events: &[Event]) -> Option<&MergeResult> {
    events.iter().rev().find_map(|event| match &event.fact {
        Fact::EffectDone {
            outcome: EffectOutcome::Merged(merged),
            ..
        } => Some(merged),
        _ => None,
    })
}

fn require_merged(task: &Task) -> Result<(), Error> {
    for pending in &task.pending {
        if let (Effect::Merge(_), PendingState::Failed { error }) =
            (&pending.planned.effect, &pending.state)
        {
            // The error has the reason first, then the hint.
            let (reason, hint) = match error.rsplit_once("; ") {
                Some((reason, hint)) => (reason, Some(hint.to_owned())),
                None => (error.as_str(), None),
            };
            return Err(Error::new(Exit::Refused, "merge-failed", reason)
                .hints(hint)
                .details(json!({ "task": task.id })));
        }
    }
    Ok(())
}
