//! Checks, statuses, workflow runs, jobs and logs.

use serde_json::{Value, json};

use super::context::{Context, Outcome};
use crate::http::Answer;
use crate::world::check::{Check, Run};
use crate::world::commit::resolve;
use crate::world::repository::Permission;

/// The commit that the path names.
fn commit(context: &Context) -> Result<String, Answer> {
    let repository = context.repository()?;
    let name = context.part("ref");
    let found = resolve(&repository.path, name);
    found.ok_or_else(|| Answer::error(422, &format!("No commit found for SHA: {name}")))
}

pub fn checks(context: &mut Context) -> Outcome {
    let sha = commit(context)?;
    let repository = context.repository()?;
    let name = context.asked("check_name");
    let found: Vec<&Check> = match context.asked("filter") {
        Some("all") => repository
            .checks
            .iter()
            .filter(|it| it.sha == sha)
            .collect(),
        _ => repository.latest_checks(&sha),
    };
    let found: Vec<&Check> = found
        .into_iter()
        .filter(|it| name.is_none_or(|name| name == it.name))
        .collect();
    let render = context.render();
    let (shown, answer) = context.page(&found, |it| render.check(repository, it));
    let body = json!({ "total_count": found.len(), "check_runs": shown });
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, body)
    })
}

pub fn status(context: &mut Context) -> Outcome {
    let sha = commit(context)?;
    let repository = context.repository()?;
    Ok(Answer::json(
        200,
        context.render().combined_status(repository, &sha),
    ))
}

pub fn runs(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let sha = context.asked("head_sha");
    let found = repository.runs.iter().rev();
    let found: Vec<&Run> = found
        .filter(|it| sha.is_none_or(|sha| sha == it.sha))
        .collect();
    let render = context.render();
    let (shown, answer) = context.page(&found, |it| render.run(repository, it));
    let body = json!({ "total_count": found.len(), "workflow_runs": shown });
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, body)
    })
}

pub fn jobs(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let id = context.number("run_id");
    let run = repository.runs.iter().find(|it| it.id == id);
    let run = run.ok_or_else(|| Answer::error(404, "Not Found"))?;
    let found: Vec<&Check> = match context.asked("filter") {
        Some("all") => repository
            .checks
            .iter()
            .filter(|it| it.run == Some(id))
            .collect(),
        _ => repository.jobs(run),
    };
    let render = context.render();
    let (shown, answer) = context.page(&found, |it| render.job(repository, run, it));
    let body = json!({ "total_count": found.len(), "jobs": shown });
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, body)
    })
}

/// Redirects to where the log is stored; a job that has not ended has none yet.
pub fn logs(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let id = context.number("job_id");
    let job = repository
        .checks
        .iter()
        .find(|it| it.id == id && it.run.is_some());
    let job = job.filter(|it| it.conclusion.is_some());
    let job = job.ok_or_else(|| Answer::error(404, "Not Found"))?;
    let target = format!(
        "{}/logs/{}/{}?signature=scripted",
        context.storage, repository.id, job.id
    );
    Ok(Answer::empty(302).with("Location", target))
}

pub fn rerun(context: &mut Context) -> Outcome {
    let id = context.allowed(Permission::Write)?;
    let run = context.number("run_id");
    if !context.repository()?.runs.iter().any(|it| it.id == run) {
        return Err(Answer::error(404, "Not Found"));
    }
    if !context.world.rerun_failed(id, run) {
        return Err(Answer::error(
            403,
            "This workflow run has no failed jobs to rerun",
        ));
    }
    Ok(Answer::json(201, Value::Object(serde_json::Map::new())))
}
