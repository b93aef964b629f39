//! The dialog about a merge.

use orange_driver::{MergeForecast, MergeObstacle};
use orange_engine::effect::MergeStrategy;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{CommitId, TaskId};

use crate::tui::model::Model;
use crate::tui::model::command::Action;
use crate::tui::model::entry::Entry;
use crate::tui::model::mode::{Choice, Mode, Question};
use crate::tui::model::review::Comment;

/// What a merge would do, or why that is unknown.
type Forecast<'a> = Result<&'a MergeForecast, &'a str>;

/// Completes the dialog with what a merge would do, if the dialog is still open.
pub(super) fn show_forecast(model: &mut Model, task: &TaskId, forecast: Forecast<'_>) {
    let Mode::Confirm(dialog) = &model.mode else {
        return;
    };
    let is_this_merge = |choice: &Choice| {
        matches!(&choice.action, Action::Ask { task: other, ask: RequestKind::Merge { .. }, .. }
            if other == task)
    };
    if dialog.choices.iter().any(is_this_merge)
        && let Some(entry) = model.list.selected()
        && entry.row.id == *task
    {
        let comments = model.drafts.review(task).into_owned().comments;
        model.mode = Mode::Confirm(question(entry, &comments, Some(forecast)));
    }
}

/// Asks whether to merge a task, and how. If the merge would conflict, asks whether the agent
/// should resolve the conflicts. `comments` are the unsent comments on the task's diff.
pub(super) fn question(
    entry: &Entry,
    comments: &[Comment],
    forecast: Option<Forecast<'_>>,
) -> Question {
    let mut question = merge_question(entry, forecast);
    if comments.is_empty() {
        return question;
    }
    let mut line = unsent(comments.len());
    if entry.way(Verb::RequestChanges).is_some() {
        line += " `f` sends them to the agent and merges nothing.";
        let ask = RequestKind::Verb(Verb::RequestChanges);
        question.choices.push(Choice {
            key: 'f',
            label: "send comments",
            action: Action::ask(&entry.row.id, ask).with_comments(comments),
        });
    }
    question.consequences.insert(1, line);
    question
}

/// Says that comments on the diff are not sent.
pub(super) fn unsent(count: usize) -> String {
    match count {
        1 => String::from("1 comment on the diff is not sent."),
        count => format!("{count} comments on the diff are not sent."),
    }
}

fn merge_question(entry: &Entry, forecast: Option<Forecast<'_>>) -> Question {
    let row = &entry.row;
    if let Some(Ok(forecast)) = forecast
        && let Some(obstacle @ MergeObstacle::Conflicts(_)) = &forecast.preview.obstacle
        && entry.way(Verb::RequestChanges).is_some()
    {
        let into = &forecast.into;
        return Question {
            text: format!("`{}` conflicts with `{into}`.", row.branch),
            consequences: vec![
                task_line(entry),
                format!("{}: {obstacle}.", movement_text(forecast)),
                format!(
                    "The agent can merge `{into}` and resolve the conflicts; the task comes back \
                     through review."
                ),
            ],
            choices: vec![Choice {
                key: 'a',
                label: "send to the agent",
                action: Action::SendMergeFailure(row.id.clone()),
            }],
        };
    }
    let question = entry.way(Verb::Merge).and_then(|way| way.question());
    let into = match forecast {
        Some(Ok(forecast)) => format!("`{}`", forecast.into),
        _ => String::from("the default branch"),
    };
    let merge = format!("Merge `{}` into {into}", row.branch);
    let mut consequences = consequences(entry, forecast);
    let text = match question {
        Some(question) => {
            consequences.insert(0, format!("{merge}."));
            question.to_owned()
        }
        None => format!("{merge}?"),
    };
    Question {
        text,
        consequences,
        choices: choices(entry, forecast),
    }
}

fn task_line(entry: &Entry) -> String {
    let size = entry.extent.as_ref().map(|it| {
        let commits = if it.commits == 1 { "commit" } else { "commits" };
        format!(", {} {commits}, +{} -{}", it.commits, it.added, it.removed)
    });
    let (id, summary) = (&entry.row.id, entry.summary());
    format!("{id}: {summary}{}", size.unwrap_or_default())
}

fn movement_text(forecast: &MergeForecast) -> String {
    let into = &forecast.into;
    match forecast.preview.behind {
        0 => format!("`{into}` has not moved"),
        1 => format!("`{into}` has moved by 1 commit"),
        more => format!("`{into}` has moved by {more} commits"),
    }
}

fn consequences(entry: &Entry, forecast: Option<Forecast<'_>>) -> Vec<String> {
    let submission = entry.glance.as_ref().and_then(|it| it.submission.as_ref());
    let head = entry.extent.as_ref().and_then(|it| it.head.as_ref());
    let mut lines = vec![
        task_line(entry),
        match (submission, head) {
            (Some(submission), _) => format!("The commit: {submission}."),
            (None, Some(head)) => format!("The commit: {}, without a handoff.", head.short()),
            (None, None) => String::from("The branch as it is, without a handoff."),
        },
    ];
    match forecast {
        None => lines.push(String::from("Checking for conflicts …")),
        Some(Err(reason)) => lines.push(format!("What would happen is unknown: {reason}")),
        Some(Ok(forecast)) => {
            lines.extend(refusal(entry, forecast));
            lines.extend(uncommitted(forecast));
            lines.extend(outcome(forecast));
        }
    }
    let is_refused = matches!(forecast, Some(Ok(it))
        if it.new_head.is_some() || uncommitted(it).is_some());
    lines.push(String::from(
        "A checkout on the default branch is fast-forwarded; if it has uncommitted changes, \
             nothing is merged.",
    ));
    if !is_refused {
        let sentence = "Nothing is merged if the branch has later commits or uncommitted files.";
        lines.push(String::from(sentence));
    }
    lines.push(String::from(
        "Then the agents are stopped and the worktree is released.",
    ));
    lines
}

/// Says that a merge of the submitted commit would be refused, and what can be merged instead.
fn refusal(entry: &Entry, forecast: &MergeForecast) -> Option<String> {
    let head = forecast.new_head.as_ref()?.short();
    let why = match forecast.new_commits {
        Some(1) => String::from("the branch has 1 commit after it"),
        Some(count) => format!("the branch has {count} commits after it"),
        None => String::from("the branch does not contain it any more"),
    };
    let instead = if can_merge_as_configured(forecast) {
        format!("`h` merges the branch as it is now, at {head}:")
    } else {
        let id = &entry.row.id;
        format!("Run `orange merge {id} --head {head} --strategy merge` to merge the branch:")
    };
    Some(format!("A merge would be refused: {why}. {instead}"))
}

/// Names the files that a merge would not contain, if there is something to merge.
fn uncommitted(forecast: &MergeForecast) -> Option<String> {
    let files = &forecast.uncommitted;
    if files.is_empty() || forecast.preview.is_merged {
        return None;
    }
    let shown: Vec<String> = files.iter().take(3).map(|it| format!("`{it}`")).collect();
    let more = match files.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "The worktree has uncommitted files: {}{more}. `h` merges without them and keeps them as \
         saved work.",
        shown.join(", ")
    ))
}

fn can_merge_as_configured(forecast: &MergeForecast) -> bool {
    forecast.preview.obstacle != Some(MergeObstacle::NotFastForward)
}

/// What the configured strategy would do.
fn outcome(forecast: &MergeForecast) -> Vec<String> {
    let preview = &forecast.preview;
    let moved = movement_text(forecast);
    let mut lines = vec![match (&preview.obstacle, forecast.strategy) {
        _ if preview.is_merged => format!("`{}` contains it already.", forecast.into),
        (Some(MergeObstacle::NotFastForward), _) => {
            format!("{moved}, so it cannot be fast-forwarded.")
        }
        (Some(obstacle), _) => format!("{moved}. A merge would fail: {obstacle}."),
        (None, _) if preview.is_fast_forward => format!("{moved}: it is fast-forwarded."),
        (None, MergeStrategy::Rebase) => {
            format!("{moved}; conflicts: none. The commits are replayed on it.")
        }
        (None, MergeStrategy::Squash) => {
            format!("{moved}; conflicts: none. One commit with all changes is added.")
        }
        (None, _) => format!("{moved}; conflicts: none. A merge commit is added."),
    }];
    if let Some(command) = &forecast.verify {
        lines.push(format!(
            "`{command}` must succeed on the result before anything moves."
        ));
    }
    lines
}

/// The possible ways to merge, the most suitable first.
fn choices(entry: &Entry, forecast: Option<Forecast<'_>>) -> Vec<Choice> {
    let forecast = forecast.and_then(Result::ok);
    let can_use_default = forecast.is_none_or(can_merge_as_configured);
    let new_head = forecast.and_then(|forecast| forecast.new_head.as_ref());
    let is_dirty = forecast.is_some_and(|forecast| uncommitted(forecast).is_some());
    // Commits that were not submitted are merged only by a key of their own.
    let by_head = match (new_head, is_dirty) {
        (Some(_), _) => Some((HEAD_KEY, "merge the new head", None)),
        (None, true) => Some((HEAD_KEY, "merge without them", None)),
        (None, false) => None,
    };
    let others = WAYS.into_iter().filter(|_| new_head.is_none());
    let ways = by_head
        .into_iter()
        .chain(others)
        .filter(|(_, _, strategy)| strategy.is_some() || can_use_default);
    let question = entry.way(Verb::Merge).and_then(|way| way.question());
    let choice = |(key, label, strategy)| {
        let action = if key == HEAD_KEY {
            request_head(entry, new_head)
        } else {
            request(entry, strategy)
        };
        // A yes confirms the workflow's question only if this dialog shows that question: the task
        // may have just entered another status, in which the workflow asks a different one.
        let action = match question {
            Some(_) => action.with_confirmation(),
            None => action,
        };
        Choice { key, label, action }
    };
    ways.map(choice).collect()
}

/// The key that merges one commit and leaves out the task's other work.
const HEAD_KEY: char = 'h';

/// The keys of the ways to merge, the configured one first.
pub(super) const WAYS: [(char, &str, Option<MergeStrategy>); 4] = [
    ('y', "merge", None),
    ('c', "merge commit", Some(MergeStrategy::Merge)),
    ('r', "rebase", Some(MergeStrategy::Rebase)),
    ('s', "squash", Some(MergeStrategy::Squash)),
];

/// The request to merge one commit and to leave out everything else: the new head, else the
/// submitted commit, else the head that is shown.
fn request_head(entry: &Entry, new_head: Option<&CommitId>) -> Action {
    let submission = entry.glance.as_ref().and_then(|it| it.submission.as_ref());
    let submitted = submission.map(|it| &it.commit);
    let shown = entry.extent.as_ref().and_then(|it| it.head.as_ref());
    let ask = RequestKind::Merge {
        strategy: None,
        local: false,
        only_head: true,
    };
    Action::ask(&entry.row.id, ask).for_commit(new_head.or(submitted).or(shown))
}

/// The request to merge a task as it is shown.
pub(super) fn request(entry: &Entry, strategy: Option<MergeStrategy>) -> Action {
    let submission = entry.glance.as_ref().and_then(|it| it.submission.as_ref());
    // Without a handoff, a yes applies only to the commit that the dialog shows.
    let head = entry.extent.as_ref().and_then(|it| it.head.as_ref());
    let head = head.filter(|_| submission.is_none());
    let ask = RequestKind::Merge {
        strategy,
        local: false,
        only_head: false,
    };
    Action::ask(&entry.row.id, ask).for_commit(head)
}
