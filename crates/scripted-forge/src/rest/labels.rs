//! Labels of a repository and of an issue.

use serde_json::Value;

use super::context::{Context, Outcome};
use crate::http::Answer;
use crate::world::repository::Permission;

pub fn create(context: &mut Context) -> Outcome {
    let id = context.allowed(Permission::Write)?;
    let name = context.text("name").unwrap_or_default().to_owned();
    if context.repository()?.label(&name).is_some() {
        return Err(Answer::invalid("Label", "name", "already_exists", ""));
    }
    let color = context
        .text("color")
        .unwrap_or("ededed")
        .trim_start_matches('#')
        .to_owned();
    let about = context.text("description").map(str::to_owned);
    context.world.add_label(id, &name, &color, about.as_deref());
    let answer = get_named(context, &name)?;
    Ok(Answer {
        status: 201,
        ..answer
    })
}

pub fn get(context: &mut Context) -> Outcome {
    let name = context.part("name").to_owned();
    get_named(context, &name)
}

fn get_named(context: &Context, name: &str) -> Outcome {
    let repository = context.repository()?;
    let label = repository
        .label(name)
        .ok_or_else(|| Answer::error(404, "Not Found"))?;
    Ok(Answer::json(200, context.render().label(repository, label)))
}

/// Adds labels to an issue. Creates those that the repository lacks, as GitHub does.
pub fn add(context: &mut Context) -> Outcome {
    context.issue()?;
    let id = context.allowed(Permission::Triage)?;
    let given = if context.body.is_array() {
        &context.body
    } else {
        &context.body["labels"]
    };
    let given: Vec<String> = given
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it.as_str().or(it["name"].as_str()).map(str::to_owned))
        .collect();
    let number = context.number("issue_number");
    let viewer = context.viewer.clone();
    for name in given {
        context.world.add_label(id, &name, "ededed", None);
        context.world.change_issue(id, number, |issue, at, event| {
            issue.add_label(&viewer, &name, at, event);
        });
    }
    shown(context)
}

pub fn remove(context: &mut Context) -> Outcome {
    context.issue()?;
    let id = context.allowed(Permission::Triage)?;
    let (number, name) = (
        context.number("issue_number"),
        context.part("name").to_owned(),
    );
    let viewer = context.viewer.clone();
    let mut was_there = false;
    context.world.change_issue(id, number, |issue, at, event| {
        was_there = issue.remove_label(&viewer, &name, at, event);
    });
    if !was_there {
        return Err(Answer::error(404, "Label does not exist"));
    }
    shown(context)
}

fn shown(context: &Context) -> Outcome {
    let (repository, issue) = context.issue()?;
    let labels = context.render().labels(repository, issue);
    Ok(Answer::json(200, Value::Array(labels)))
}
