//! `orange task merge`.

use clap::ValueEnum;
use orange_config::Environment;
use orange_driver::{Answer, ChangeReport};
use orange_engine::Task;
use orange_engine::effect::{Effect, EffectOutcome, MergeStrategy};
use orange_engine::event::{Event, Fact};
use orange_engine::input::RequestKind;
use orange_engine::merge_result::MergeResult;
use orange_engine::names::{CommitId, TaskId};
use orange_engine::refusal::{Blocker, GateFailure, Refusal};
use orange_engine::task::PendingState;
use serde_json::json;

use super::merge_all;
use crate::cli::answer::words::count_noun;
use crate::cli::request::requests::{
    Extras, RequestDraft, Seen, Target, driver, print, print_with, request_with_confirmation,
    request_without_confirmation, resolve_head,
};
use crate::cli::request::several::{Targets, TaskResult, for_each};
use crate::cli::{Error, Exit, narrate_hint};
use crate::output::Output;

/// Merge the reviewed commit.
///
/// Merges exactly the submitted commit into the default branch: the reviewed one, if the workflow
/// has an agent review. The shipped workflows ask for confirmation if the task is not in
/// `reviewing`: `--yes` confirms without a question, for example in a script; with `--force` orange
/// asks you at the terminal; without either, such a merge is refused. If the worktree has
/// uncommitted files, or the branch has commits after the reviewed one, nothing is merged; the
/// error names the files or counts the commits. If the project has `"push": true`, orange pushes
/// the merge to the remote before it moves your local branch; if the push is rejected, nothing is
/// merged.
///
/// A checkout on the default branch is fast-forwarded; if it has uncommitted changes, nothing is
/// merged. Checkouts on other branches are not touched.
///
/// The status changes after the merge. The output names the merged commit and says whether it was
/// pushed and which commits were not merged.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub targets: Targets,
    /// How to merge [default: `merge.strategy` of the settings, which is `auto`].
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub strategy: Option<Strategy>,
    /// Merge this commit of the branch instead of the reviewed one; the rest of the task's work is
    /// not merged, but kept.
    #[arg(long, value_name = "COMMIT")]
    pub head: Option<String>,
    /// Merge nothing unless this is the commit that would be merged; the full hash.
    #[arg(long, value_name = "COMMIT", requires = "if_version", conflicts_with_all = ["head", "all"])]
    pub if_head: Option<String>,
    #[command(flatten)]
    pub seen: Seen,
    /// Merge every task of this project that you could merge now, one after the other.
    #[arg(long, conflicts_with_all = ["tasks", "head", "force", "yes"])]
    pub all: bool,
    /// Do not push, even if the project has `"push": true`.
    #[arg(long)]
    pub local: bool,
    /// If the workflow wants a confirmation, for example because the review is missing, ask for it
    /// at the terminal; `--yes` confirms without a question.
    #[arg(long)]
    pub force: bool,
}

/// How a branch is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Fast-forward if possible, else add a merge commit.
    Auto,
    /// Fast-forward only; fails if the default branch has moved.
    Ff,
    /// Add a merge commit.
    Merge,
    /// Replay the branch's commits one by one.
    Rebase,
    /// Add one commit with all changes of the branch.
    Squash,
}

impl From<Strategy> for MergeStrategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Auto => MergeStrategy::Auto,
            Strategy::Ff => MergeStrategy::Ff,
            Strategy::Merge => MergeStrategy::Merge,
            Strategy::Rebase => MergeStrategy::Rebase,
            Strategy::Squash => MergeStrategy::Squash,
        }
    }
}

/// Requests the merge; returns an error if it failed.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if args.all {
        return merge_all::run(args, environment, output);
    }
    let Some(target) = args.targets.only() else {
        return merge_each(args, environment, output);
    };
    let draft = RequestDraft {
        kind: RequestKind::Merge {
            strategy: args.strategy.map(Into::into),
            local: args.local,
            only_head: args.head.is_some(),
        },
        message: None,
        head: match &args.if_head {
            Some(shown) => Some(require_shown(&target, shown, args.seen, environment)?),
            None => resolve_head(&target, args.head.as_deref(), environment)?,
        },
        if_version: args.seen.if_version,
    };
    let result = if args.force {
        request_with_confirmation(&target, draft, environment, output)?
    } else {
        request_without_confirmation(&target, draft, environment, output)?
    };
    if let (Answer::Refused(refusal), Some(shown)) = (&result, &args.if_head)
        && let Some(now) = moved_to(refusal)
    {
        return Err(head_changed(&refusal.task, shown, &now));
    }
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
    if let Answer::Done(changed) = &result {
        require_not_overtaken(changed, &events)?;
    }
    let extras = Extras {
        merged: last_merge(&events),
        ..Extras::default()
    };
    let unsent = unsent_comments(&task.id, environment)?;
    let exit = print_with(result, &extras, output)?;
    if let Some(unsent) = unsent.filter(|_| !output.is_json()) {
        narrate_hint(&unsent, output);
    }
    Ok(exit)
}

/// The commit that the caller saw. Fails if another commit was submitted for the merge. The version
/// that the caller saw is compared too, so no other commit can be submitted afterwards.
fn require_shown(
    target: &Target,
    shown: &str,
    seen: Seen,
    environment: &Environment,
) -> Result<CommitId, Error> {
    let is_hash = shown.len() >= 40 && shown.bytes().all(|it| it.is_ascii_hexdigit());
    if !is_hash {
        let message = format!("cannot use `{shown}` as a commit: it is not a full hash");
        return Err(Error::usage(message).hint("`orange task why TASK` names the commit"));
    }
    let driver = driver(environment)?;
    let id = driver.callers.resolve_task(target.task.as_deref())?;
    let task = driver.views.show(&id)?.stored.task;
    // If it has changed, the request says so, or that it is merged already.
    let is_current = seen.if_version == Some(task.version);
    let submitted = task.submission.map(|it| it.commit);
    match submitted.filter(|it| is_current && it.as_str() != shown) {
        Some(submitted) => Err(head_changed(&id, shown, &submitted)),
        None => Ok(CommitId::new(shown)),
    }
}

/// Where the branch has moved to, if that prevents the merge.
fn moved_to(refusal: &Refusal) -> Option<CommitId> {
    refusal.missing.iter().find_map(|missing| match missing {
        Blocker::GateFailed {
            failure: GateFailure::BranchMoved { to, .. },
        } => Some(to.clone()),
        _ => None,
    })
}

fn head_changed(task: &TaskId, shown: &str, now: &CommitId) -> Error {
    let message = format!(
        "cannot merge task `{task}`: the commit to merge is {} now",
        now.short()
    );
    Error::new(Exit::Refused, "head-changed", message)
        .hint(format!("read it with `orange task diff {task}`"))
        .details(json!({ "task": task, "seen": shown, "head": now }))
}

/// Says how many comments the user wrote on a merged task and never sent.
fn unsent_comments(task: &TaskId, environment: &Environment) -> Result<Option<String>, Error> {
    let count = driver(environment)?.requests.unsent_comments(task);
    let comments = count_noun(count, "unsent comment");
    let text = format!("you have {comments} on {task}; its diff in the dashboard shows them");
    Ok((count > 0).then_some(text))
}

/// Merges the tasks in the given order, each on top of the previous result.
fn merge_each(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if args.head.is_some() || args.if_head.is_some() {
        return Err(Error::usage("`--head` and `--if-head` are for one task")
            .hint("run `orange task merge TASK --head COMMIT` for each task"));
    }
    let kind = RequestKind::Merge {
        strategy: args.strategy.map(Into::into),
        local: args.local,
        only_head: false,
    };
    let draft = RequestDraft {
        if_version: args.seen.if_version,
        ..RequestDraft::plain(kind)
    };
    for_each(&args.targets.tasks, output, |name, output| {
        let mut target = args.targets.target(Some(name));
        target
            .wait_options
            .wait
            .get_or_insert(merge_all::DEFAULT_WAIT);
        let answer = if args.force {
            request_with_confirmation(&target, draft.clone(), environment, output)?
        } else {
            request_without_confirmation(&target, draft.clone(), environment, output)?
        };
        let mut events = None;
        if let Answer::Done(changed) = &answer {
            require_merged(&changed.task)?;
            // The merge has happened, even if its event cannot be read now.
            let history = driver(environment)?.views.history(&changed.task.id, 0);
            let history = history.unwrap_or_default();
            require_not_overtaken(changed, &history)?;
            events = Some(history);
        }
        let mut result = TaskResult::of(answer)?;
        if let Some(events) = events {
            if let Some(merged) = last_merge(&events) {
                result.text = format!("{merged}; {}", result.text);
            }
            if let Some(unsent) = unsent_comments(&result.task, environment)? {
                result.text = format!("{}; {unsent}", result.text);
            }
        }
        Ok(result)
    })
}

/// The result of the last merge.
pub(super) fn last_merge<'a>(
    events: impl IntoIterator<Item = &'a Event, IntoIter: DoubleEndedIterator>,
) -> Option<&'a MergeResult> {
    events
        .into_iter()
        .rev()
        .find_map(|event| match &event.fact {
            Fact::EffectDone {
                outcome: EffectOutcome::Merged(merged),
                ..
            } => Some(merged),
            _ => None,
        })
}

/// Returns an error if another request, such as a cancel, ended the merge that this one planned.
pub(super) fn require_not_overtaken(
    changed: &ChangeReport,
    history: &[Event],
) -> Result<(), Error> {
    let is_planned = |event: &&Event| matches!(&event.fact, Fact::EffectPlanned(planned) if matches!(planned.effect, Effect::Merge(_)));
    let planned_at = changed.events.iter().find(is_planned);
    let is_merged = |planned_at: &Event| {
        let since = history.iter().filter(|it| it.version > planned_at.version);
        last_merge(since).is_some()
    };
    let task = &changed.task;
    if history.is_empty() || planned_at.is_none_or(is_merged) {
        return Ok(());
    }
    let message = format!(
        "task `{}` went to `{}` while it was being merged",
        task.id, task.status
    );
    let hint = format!(
        "run `orange task history {}` to see why, and whether it was merged all the same",
        task.id
    );
    Err(Error::new(Exit::Refused, "merge-failed", message)
        .hint(hint)
        .details(json!({ "task": task.id })))
}

/// Returns an error if the merge of a task failed.
pub(super) fn require_merged(task: &Task) -> Result<(), Error> {
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
