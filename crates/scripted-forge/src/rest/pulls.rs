//! Pull requests: list, open, change, merge, answer reviews.

use serde_json::{Value, json};

use super::context::{Context, Outcome, forbidden};
use super::judge_length;
use crate::http::Answer;
use crate::world::issue::Issue;
use crate::world::merge::{MergeState, Method, Request};
use crate::world::pull::{Draft, OpenError};
use crate::world::repository::{Permission, Repository};

pub fn list(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let state = context.asked("state").unwrap_or("open");
    let matches = |it: &&Issue| {
        let Some(pull) = &it.pull else { return false };
        let head = context.world.repository_by_id(pull.head_repository);
        let label = format!(
            "{}:{}",
            head.map_or("unknown", |it| &it.owner),
            pull.head_ref
        );
        (state == "all" || (state == "open") == it.is_open)
            && context.asked("base").is_none_or(|it| it == pull.base_ref)
            && context.asked("head").is_none_or(|it| it == label)
    };
    let mut found: Vec<&Issue> = repository.issues.iter().filter(matches).collect();
    let sort = context.asked("sort").unwrap_or("created");
    if sort == "updated" {
        found.sort_by_key(|it| (it.updated_at, it.number));
    }
    let ascends = match context.asked("direction") {
        Some(direction) => direction == "asc",
        None => sort != "created",
    };
    if !ascends {
        found.reverse();
    }
    let render = context.render();
    let (shown, answer) = context.page(&found, |it| render.pull_simple(repository, it));
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, Value::Array(shown))
    })
}

pub fn create(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let id = repository.id;
    judge_length("PullRequest", context.text("body"))?;
    let body = context.body.clone();
    let head = body["head"].as_str().unwrap_or_default();
    let (owner, head) = head.split_once(':').unwrap_or((&repository.owner, head));
    let source = if owner == repository.owner {
        Some(repository)
    } else {
        let forks = context.world.repositories.iter();
        forks
            .filter(|it| !it.deleted && it.parent == Some(id))
            .find(|it| it.owner == owner)
    };
    let Some(source) = source else {
        return Err(Answer::invalid("PullRequest", "head", "invalid", ""));
    };
    let draft = Draft {
        author: &context.viewer.clone(),
        title: body["title"].as_str().unwrap_or_default(),
        body: body["body"].as_str().unwrap_or_default(),
        head_repository: source.id,
        head,
        base: body["base"].as_str().unwrap_or_default(),
        draft: body["draft"] == true,
    };
    let number = context
        .world
        .open_pull(id, &draft)
        .map_err(|error| refuse(&error))?;
    context
        .path
        .push(("pull_number".to_owned(), number.to_string()));
    Ok(Answer {
        status: 201,
        ..get(context)?
    })
}

fn refuse(error: &OpenError) -> Answer {
    let invalid = |field| Answer::invalid("PullRequest", field, "invalid", "");
    let custom = |message: String| Answer::invalid("PullRequest", "head", "custom", &message);
    match error {
        OpenError::NotAllowed => forbidden(),
        OpenError::NoHead => invalid("head"),
        OpenError::NoBase => invalid("base"),
        OpenError::NoCommits { base, head } => {
            custom(format!("No commits between {base} and {head}"))
        }
        OpenError::Exists { label } => {
            custom(format!("A pull request already exists for {label}."))
        }
    }
}

pub fn get(context: &mut Context) -> Outcome {
    let (repository, issue) = context.pull()?;
    Ok(Answer::json(200, context.render().pull(repository, issue)))
}

pub fn update(context: &mut Context) -> Outcome {
    let (repository, issue) = context.pull()?;
    let is_author = issue.author == context.viewer;
    if context.permission(repository) < Permission::Write && !is_author {
        return Err(forbidden());
    }
    judge_length("PullRequest", context.text("body"))?;
    let (id, number, viewer) = (repository.id, issue.number, context.viewer.clone());
    let is_merged = issue.pull.as_ref().is_some_and(|it| it.merge.is_some());
    let body = context.body.clone();
    let text = |name: &str| body[name].as_str();
    if let Some(base) = text("base") {
        let Some(tip) = repository.branches.get(base).cloned() else {
            return Err(Answer::invalid("PullRequest", "base", "invalid", ""));
        };
        let unknown = context.world.unknown_reads;
        context.world.change_issue(id, number, |issue, at, event| {
            if let Some(pull) = issue.pull.as_mut().filter(|it| it.base_ref != base) {
                base.clone_into(&mut pull.base_ref);
                pull.base_sha = tip;
                pull.unknown_reads.set(unknown);
                issue.record(crate::world::issue::event(
                    event,
                    "base_ref_changed",
                    &viewer,
                    at,
                ));
            }
        });
    }
    if text("state") == Some("open") && is_merged {
        return Err(Answer::invalid(
            "PullRequest",
            "state",
            "invalid",
            "state cannot be changed.",
        ));
    }
    context.world.change_issue(id, number, |issue, at, event| {
        issue.edit(&viewer, text("title"), text("body"), at, event);
    });
    context
        .world
        .change_issue(id, number, |issue, at, event| match text("state") {
            Some("closed") => issue.close(&viewer, None, at, event),
            Some("open") => issue.reopen(&viewer, at, event),
            _ => {}
        });
    get(context)
}

pub fn merge(context: &mut Context) -> Outcome {
    let (repository, issue) = context.pull()?;
    let (id, number, viewer) = (repository.id, issue.number, context.viewer.clone());
    context.allowed(Permission::Write)?;
    judge_merge(context, repository, issue)?;
    let body = context.body.clone();
    let request = Request {
        method: match body["merge_method"].as_str() {
            Some("squash") => Method::Squash,
            Some("rebase") => Method::Rebase,
            _ => Method::Merge,
        },
        title: body["commit_title"].as_str(),
        message: body["commit_message"].as_str(),
        by: &viewer,
    };
    let Some(sha) = context.world.merge(id, number, &request) else {
        return Err(Answer::error(405, "Pull Request is not mergeable"));
    };
    Ok(Answer::json(
        200,
        json!({
            "sha": sha, "merged": true, "message": "Pull Request successfully merged",
        }),
    ))
}

/// Refuses a merge that GitHub would refuse, with GitHub's message.
fn judge_merge(context: &Context, repository: &Repository, issue: &Issue) -> Result<(), Answer> {
    let Some(pull) = &issue.pull else {
        return Err(Answer::error(404, "Not Found"));
    };
    if !issue.is_open {
        return Err(Answer::error(405, "Pull Request is not mergeable"));
    }
    if pull.queued.is_some() {
        return Err(Answer::error(405, "Pull Request is in the merge queue"));
    }
    if context.text("sha").is_some_and(|it| it != pull.head_sha) {
        let message = "Head branch was modified. Review and try the merge again.";
        return Err(Answer::error(409, message));
    }
    if repository.protection(&pull.base_ref).queue {
        return Err(Answer::error(
            405,
            "Changes must be made through the merge queue.",
        ));
    }
    // A merge computes mergeability itself, whatever earlier reads answered.
    let tree = crate::world::merge::merged_tree(&repository.path, &pull.base_sha, &pull.head_sha);
    match context
        .world
        .merge_state(repository, issue, Some(tree.is_some()))
    {
        MergeState::Clean | MergeState::Unstable => Ok(()),
        MergeState::Draft => Err(Answer::error(405, "Pull Request is still a draft")),
        MergeState::Behind => Err(Answer::error(405, "Head branch is out of date")),
        MergeState::Blocked => Err(Answer::error(405, &missing(context, repository, issue))),
        MergeState::Dirty | MergeState::Unknown => {
            Err(Answer::error(405, "Pull Request is not mergeable"))
        }
    }
}

fn missing(context: &Context, repository: &Repository, issue: &Issue) -> String {
    let Some(pull) = &issue.pull else {
        return String::new();
    };
    let protection = repository.protection(&pull.base_ref);
    for name in protection.all_checks() {
        match repository.required_result(&pull.head_sha, name) {
            Some(true) => {}
            Some(false) => return format!("Required status check \"{name}\" is failing."),
            None => return format!("Required status check \"{name}\" is expected."),
        }
    }
    let decision = context
        .world
        .review_decision(repository, pull)
        .unwrap_or_default();
    format!("At least 1 approving review is required ({decision}).")
}

pub fn reply(context: &mut Context) -> Outcome {
    let (repository, issue) = context.pull()?;
    let (id, number, viewer) = (repository.id, issue.number, context.viewer.clone());
    judge_length("PullRequestReviewComment", context.text("body"))?;
    let body = context.text("body").unwrap_or_default().to_owned();
    let to = context.number("comment_id");
    let comment = context.world.reply(id, number, to, &viewer, &body);
    let comment = comment.ok_or_else(|| Answer::error(404, "Not Found"))?;
    let (repository, issue) = context.pull()?;
    let threads = issue.pull.iter().flat_map(|it| &it.threads);
    let shown = threads.flat_map(|it| it.comments.iter().map(move |comment| (it, comment)));
    let shown = shown
        .filter(|(_, it)| it.id == comment)
        .map(|(thread, comment)| {
            context
                .render()
                .review_comment(repository, issue, thread, comment)
        });
    Ok(Answer::json(201, shown.last().unwrap_or_default()))
}
