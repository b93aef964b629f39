//! `orange project show`.

use orange_config::{Environment, Project};
use orange_driver::{DriverError, PolicyState, ProjectUsage};
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use serde::Serialize;
use serde_json::Value;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.project.show/1");

/// Show a registered repository.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project [default: that of this directory, else the only registered one].
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    project: &'a Project,
    open_tasks: Vec<&'a str>,
    ended_tasks: usize,
    held_workspaces: Vec<&'a str>,
    policy: PolicyBody,
}

/// The policy of the repository.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "ProjectPolicy")]
struct PolicyBody {
    state: &'static str,
    /// The state in words.
    text: String,
    /// The hash of the policy that is used.
    hash: Option<String>,
    /// The command that shows what to do about it.
    command: Option<String>,
}

impl PolicyBody {
    fn new(project: &Project, found: Result<PolicyState, DriverError>) -> PolicyBody {
        let state = match found {
            Ok(state) => state,
            Err(error) => {
                return PolicyBody {
                    state: "unknown",
                    text: format!("unknown: {error}"),
                    hash: None,
                    command: None,
                };
            }
        };
        let (name, pinned) = match &state {
            PolicyState::None => ("none", None),
            PolicyState::NotAllowed { .. } => ("not_allowed", None),
            PolicyState::Allowed { pinned } => ("allowed", Some(pinned)),
            PolicyState::Changed { pinned, .. } => ("changed", Some(pinned)),
        };
        PolicyBody {
            state: name,
            text: state.to_string(),
            hash: pinned.map(|it| it.hash.clone()),
            command: state.command(&project.name),
        }
    }
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let name = args.name.as_deref().map(ProjectName::new);
    let project = driver.callers.project_for(name.as_ref())?;
    let usage = driver.admin.project_usage(&project.name)?;
    let policy = PolicyBody::new(&project, driver.workspaces.policy_state(&project));
    if output.is_json() {
        let body = Body {
            project: &project,
            open_tasks: usage.open_tasks.iter().map(TaskId::as_str).collect(),
            ended_tasks: usage.finished_tasks,
            held_workspaces: usage
                .used_workspaces
                .iter()
                .map(WorkspaceName::as_str)
                .collect(),
            policy,
        };
        return SHAPE.print(&body, output);
    }
    let width = output.answer_width();
    output.answer(&text(&project, &usage, &policy, width)?)?;
    Ok(Exit::Ok)
}

/// Shows each setting under its key in `projects.json`, because the user needs that key to edit the
/// file.
fn text(
    project: &Project,
    usage: &ProjectUsage,
    policy: &PolicyBody,
    width: Option<usize>,
) -> Result<Text, Error> {
    let mut text = Text::new();
    let mut line = |name: &str, value: &str| {
        let name = format!("{name:<18}");
        let parts = [(Style::Bold, name.as_str()), (Style::Plain, value)];
        text.push_line(&parts, name.len(), width);
    };
    let keys = serde_json::to_value(project)?;
    let first = ["name", "path", "default_branch", "workflow"];
    let rest = keys.as_object().into_iter().flatten();
    let rest = rest.map(|(key, _)| key.as_str());
    let rest = rest.filter(|key| !first.contains(key));
    for key in first.into_iter().chain(rest) {
        let value_text = match keys.get(key) {
            Some(Value::String(text)) if text.is_empty() => String::from("none"),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => continue,
        };
        line(key, &value_text);
    }
    let command = policy.command.as_ref().map(|it| format!(": `{it}`"));
    line(
        "policy",
        &format!("{}{}", policy.text, command.unwrap_or_default()),
    );
    let open: Vec<&str> = usage.open_tasks.iter().map(TaskId::as_str).collect();
    let open = match open.as_slice() {
        [] => String::from("none open"),
        open => format!("{} open: {}", open.len(), open.join(", ")),
    };
    line(
        "tasks",
        &format!("{open}, {} finished", usage.finished_tasks),
    );
    for workspace in &usage.used_workspaces {
        line("workspace", workspace.as_str());
    }
    Ok(text)
}
