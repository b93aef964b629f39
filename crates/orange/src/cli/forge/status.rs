//! `orange forge status`.

use orange_config::Environment;
use orange_driver::ForgeStatus;
use orange_engine::names::ProjectName;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, local_time};

pub const SHAPE: Shape = Shape::of::<Body>("orange.forge.status/1");

/// Check the connection to GitHub.
///
/// Shows the repository, where the token comes from and what it allows, the quota that is left, and
/// whether your clock is right. The token itself is never shown. Exits with 3 if orange cannot work
/// with the repository.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Check this project [default: that of this directory, or all].
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    projects: Vec<ForgeStatus>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let requested = args.project.as_deref().map(ProjectName::new);
    let projects = match driver.callers.project_here(requested.as_ref())? {
        Some(project) => vec![project],
        None => driver.context.all_projects()?,
    };
    let mut statuses = Vec::new();
    for project in &projects {
        statuses.push(driver.forge.status(project)?);
    }
    let is_broken = statuses.iter().any(|it| it.problem.is_some());
    let exit = if is_broken { Exit::Refused } else { Exit::Ok };
    if output.is_json() {
        SHAPE.print(&Body { projects: statuses }, output)?;
        return Ok(exit);
    }
    let mut text = Text::new();
    for status in &statuses {
        push_status(&mut text, status, output.answer_width());
    }
    if statuses.is_empty() {
        text.push(Style::Plain, "no project is registered");
        text.end_line();
    }
    output.answer(&text)?;
    Ok(exit)
}

fn push_status(text: &mut Text, status: &ForgeStatus, width: Option<usize>) {
    let mut line = |name: &str, style: Style, value: &str| {
        let name = format!("{name:<12}");
        let parts = [(Style::Bold, name.as_str()), (style, value)];
        text.push_line(&parts, name.len(), width);
    };
    line("project", Style::Plain, status.project.as_str());
    let (Some(host), Some(repository)) = (&status.host, &status.repository) else {
        line("repository", Style::Plain, "none on GitHub");
        return;
    };
    line("host", Style::Plain, host);
    line("repository", Style::Plain, repository);
    let token = match (&status.token, &status.account) {
        (Some(token), Some(account)) => format!("{token}, account {account}"),
        (Some(token), None) => token.clone(),
        (None, _) => String::from("none"),
    };
    line("token", Style::Plain, &token);
    let permission = match status.may_push {
        Some(true) => "may push",
        Some(false) => "may not push",
        None => "unknown",
    };
    line("permission", Style::Plain, permission);
    match status.scopes.as_deref() {
        Some([]) => line("scopes", Style::Plain, "none"),
        Some(scopes) => line("scopes", Style::Plain, &scopes.join(", ")),
        None => {}
    }
    for quota in &status.quotas {
        let value = format!(
            "{} of {} {} requests left until {}",
            quota.remaining,
            quota.limit,
            quota.kind,
            local_time(quota.resets)
        );
        line("quota", Style::Plain, &value);
    }
    if let Some(skew) = status.clock_skew {
        line("clock", Style::Plain, &format!("{skew}s from the forge's"));
    }
    let look = status.last_look.map(local_time);
    line("last look", Style::Plain, look.as_deref().unwrap_or("none"));
    let news = status.last_news.map(local_time);
    line("last news", Style::Plain, news.as_deref().unwrap_or("none"));
    if let Some(problem) = &status.problem {
        line("problem", Style::Bad, problem);
    }
}
