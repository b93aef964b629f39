//! Issues, their comments and events.

use serde_json::Value;

use super::context::{Context, Outcome, forbidden};
use super::judge_length;
use crate::http::Answer;
use crate::world::issue::{Comment, Issue};
use crate::world::repository::{Permission, Repository};
use crate::world::stamp;

/// Lists issues and, as GitHub does, pull requests among them.
pub fn list(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    if !repository.has_issues {
        return Err(Answer::error(
            410,
            "Issues has been disabled in this repository.",
        ));
    }
    let state = context.asked("state").unwrap_or("open");
    let labels: Vec<&str> = context
        .asked("labels")
        .unwrap_or_default()
        .split(',')
        .collect();
    let labels: Vec<&str> = labels.into_iter().filter(|it| !it.is_empty()).collect();
    let since = context.asked("since").unwrap_or_default();
    let mut found: Vec<&Issue> = repository
        .issues
        .iter()
        .filter(|it| state == "all" || (state == "open") == it.is_open)
        .filter(|it| {
            labels
                .iter()
                .all(|label| it.labels.iter().any(|own| own == label))
        })
        .filter(|it| stamp(it.updated_at).as_str() >= since)
        .collect();
    match context.asked("sort").unwrap_or("created") {
        "updated" => found.sort_by_key(|it| (it.updated_at, it.number)),
        "comments" => found.sort_by_key(|it| (it.comments.len(), it.number)),
        _ => found.sort_by_key(|it| (it.created_at, it.number)),
    }
    if context.asked("direction") != Some("asc") {
        found.reverse();
    }
    let render = context.render();
    let (shown, answer) = context.page(&found, |it| render.issue(repository, it));
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, Value::Array(shown))
    })
}

pub fn get(context: &mut Context) -> Outcome {
    let (repository, issue) = context.issue()?;
    Ok(Answer::json(200, context.render().issue(repository, issue)))
}

pub fn update(context: &mut Context) -> Outcome {
    let (repository, issue) = context.issue()?;
    let permission = context.permission(repository);
    let is_author = issue.author == context.viewer;
    if permission < Permission::Triage && !is_author {
        return Err(forbidden());
    }
    if context.body.get("labels").is_some() && permission < Permission::Triage {
        return Err(forbidden());
    }
    judge_length("Issue", context.text("body"))?;
    let (id, number, viewer) = (repository.id, issue.number, context.viewer.clone());
    let body = context.body.clone();
    let text = |name: &str| body[name].as_str();
    context.world.change_issue(id, number, |issue, at, event| {
        issue.edit(&viewer, text("title"), text("body"), at, event);
    });
    context
        .world
        .change_issue(id, number, |issue, at, event| match text("state") {
            Some("closed") => {
                let reason = text("state_reason").unwrap_or("completed");
                issue.close(&viewer, Some(reason), at, event);
            }
            Some("open") => issue.reopen(&viewer, at, event),
            _ => {}
        });
    if let Some(wanted) = body["labels"].as_array() {
        let name = |it: &Value| {
            it.as_str()
                .or(it["name"].as_str())
                .unwrap_or_default()
                .to_owned()
        };
        set_labels(
            context,
            id,
            number,
            &wanted.iter().map(name).collect::<Vec<_>>(),
        );
    }
    get(context)
}

/// Makes these the labels of the issue, with an event for each change.
fn set_labels(context: &mut Context, repository: u64, number: u64, wanted: &[String]) {
    let viewer = context.viewer.clone();
    let found = context
        .world
        .repository_by_id(repository)
        .and_then(|it| it.issue(number));
    let old = found.map(|it| it.labels.clone()).unwrap_or_default();
    for label in old.iter().filter(|it| !wanted.contains(it)) {
        context
            .world
            .change_issue(repository, number, |issue, at, event| {
                issue.remove_label(&viewer, label, at, event);
            });
    }
    for label in wanted {
        context.world.add_label(repository, label, "ededed", None);
        context
            .world
            .change_issue(repository, number, |issue, at, event| {
                issue.add_label(&viewer, label, at, event);
            });
    }
}

pub fn comments(context: &mut Context) -> Outcome {
    let (repository, issue) = context.issue()?;
    let since = context.asked("since").unwrap_or_default();
    let found: Vec<&Comment> = issue
        .comments
        .iter()
        .filter(|it| stamp(it.updated_at).as_str() >= since)
        .collect();
    let render = context.render();
    let (shown, answer) = context.page(&found, |it| render.comment(repository, issue, it));
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, Value::Array(shown))
    })
}

/// The comments on all issues and pull requests.
pub fn all_comments(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let since = context.asked("since").unwrap_or_default();
    let issues = repository.issues.iter();
    let comments = issues.flat_map(|issue| issue.comments.iter().map(move |it| (issue, it)));
    let mut found: Vec<(&Issue, &Comment)> = comments
        .filter(|(_, it)| stamp(it.updated_at).as_str() >= since)
        .collect();
    // GitHub ignores the direction unless the order is named.
    match context.asked("sort") {
        Some("updated") => found.sort_by_key(|(_, it)| (it.updated_at, it.id)),
        _ => found.sort_by_key(|(_, it)| (it.created_at, it.id)),
    }
    if context.asked("sort").is_some() && context.asked("direction") != Some("asc") {
        found.reverse();
    }
    let render = context.render();
    let (shown, answer) = context.page(&found, |(issue, comment)| {
        render.comment(repository, issue, comment)
    });
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, Value::Array(shown))
    })
}

pub fn create_comment(context: &mut Context) -> Outcome {
    let (repository, issue) = context.issue()?;
    let (id, number, viewer) = (repository.id, issue.number, context.viewer.clone());
    if repository.archived {
        return Err(Answer::error(
            403,
            "Repository was archived so is read-only.",
        ));
    }
    if issue.locked && context.permission(repository) < Permission::Write {
        return Err(Answer::error(
            403,
            "Unable to create comment because issue is locked.",
        ));
    }
    judge_length("IssueComment", context.text("body"))?;
    let body = context.text("body").unwrap_or_default().to_owned();
    let comment = context.world.add_comment(id, number, &viewer, &body);
    let (repository, issue) = context.issue()?;
    let comment = issue.comments.iter().find(|it| it.id == comment);
    let shown = comment.map(|it| context.render().comment(repository, issue, it));
    Ok(Answer::json(201, shown.unwrap_or_default()))
}

/// The comment that the path names, if the caller may change it.
fn own_comment<'a>(
    context: &'a Context,
) -> Result<(&'a Repository, &'a Issue, &'a Comment), Answer> {
    let repository = context.repository()?;
    let id = context.number("comment_id");
    let found = repository.issues.iter().find_map(|issue| {
        let comment = issue.comments.iter().find(|it| it.id == id)?;
        Some((repository, issue, comment))
    });
    let found = found.ok_or_else(|| Answer::error(404, "Not Found"))?;
    if found.2.author != context.viewer && context.permission(repository) < Permission::Write {
        return Err(forbidden());
    }
    Ok(found)
}

pub fn update_comment(context: &mut Context) -> Outcome {
    let (repository, issue, comment) = own_comment(context)?;
    let (id, number, comment) = (repository.id, issue.number, comment.id);
    judge_length("IssueComment", context.text("body"))?;
    let body = context.text("body").unwrap_or_default().to_owned();
    let viewer = context.viewer.clone();
    context.world.change_issue(id, number, |issue, at, _| {
        issue.updated_at = at;
        if let Some(comment) = issue.comments.iter_mut().find(|it| it.id == comment) {
            comment.body = body;
            comment.updated_at = at;
            comment.editor = Some(viewer);
        }
    });
    let (repository, issue, comment) = own_comment(context)?;
    Ok(Answer::json(
        200,
        context.render().comment(repository, issue, comment),
    ))
}

pub fn delete_comment(context: &mut Context) -> Outcome {
    let (repository, issue, comment) = own_comment(context)?;
    let (id, number, comment) = (repository.id, issue.number, comment.id);
    context.world.change_issue(id, number, |issue, at, _| {
        issue.updated_at = at;
        issue.comments.retain(|it| it.id != comment);
    });
    Ok(Answer::empty(204))
}

pub fn events(context: &mut Context) -> Outcome {
    let (repository, issue) = context.issue()?;
    let render = context.render();
    let (shown, answer) = context.page(&issue.events, |it| render.event(repository, it));
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, Value::Array(shown))
    })
}
