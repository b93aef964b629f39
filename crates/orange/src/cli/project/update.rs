//! `orange project update`.

use std::path::PathBuf;

use orange_config::{Environment, HostPort, Project};
use orange_driver::ProjectSettings;
use orange_engine::names::{BranchName, HarnessName, ProjectName};
use serde::Serialize;

use crate::cli::answer::words::parse_seconds;
use crate::cli::request::requests::driver;
use crate::cli::task::Strategy;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.project.update/1");

/// Change a registered repository.
///
/// Changes only the given keys in `projects.json`, and no other byte of that file. Existing tasks
/// keep their workflow and their agents. Write a script as a program and its arguments, separated
/// by white space, or as a JSON array if an argument contains white space. An empty text removes
/// the script.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The project [default: that of this directory, else the only registered one].
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// The directory that the repository was moved to; repairs its worktrees.
    #[arg(long, value_name = "DIRECTORY")]
    pub path: Option<PathBuf>,
    /// The workflow of new tasks.
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// The coding agent of new tasks.
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// The coding agent that reviews new tasks.
    #[arg(long, value_name = "NAME")]
    pub review_harness: Option<String>,
    /// How many tasks can have a worktree at once.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub pool_size: Option<u32>,
    /// The default merge strategy.
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub merge_strategy: Option<Strategy>,
    /// Shell command that must succeed on the merged result; empty for none.
    #[arg(long, value_name = "COMMAND")]
    pub merge_verify: Option<String>,
    /// Push to the remote before merging locally.
    #[arg(long, value_name = "true|false")]
    pub push: Option<bool>,
    /// The URL of the remote that orange may use; empty for none.
    #[arg(long, value_name = "URL")]
    pub remote: Option<String>,
    /// The remote's URL for pushes, if it is different.
    #[arg(long, value_name = "URL")]
    pub push_remote: Option<String>,
    /// Delete the branch after merging.
    #[arg(long, value_name = "true|false")]
    pub delete_branch: Option<bool>,
    /// The branch that work starts from and is merged into.
    #[arg(long, value_name = "BRANCH")]
    pub default_branch: Option<String>,
    /// Script to run in a worktree after a task's branch is checked out.
    #[arg(long, value_name = "SCRIPT", allow_hyphen_values = true)]
    pub setup: Option<String>,
    /// Timeout of the setup script.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub setup_timeout: Option<u64>,
    /// Script to run in a worktree before it is released.
    #[arg(long, value_name = "SCRIPT", allow_hyphen_values = true)]
    pub teardown: Option<String>,
    /// Timeout of the teardown script.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub teardown_timeout: Option<u64>,
    /// Whether agents run in a sandbox; `default` for the setting.
    #[arg(long, value_name = "MODE", value_parser = ["off", "auto", "required", "default"])]
    pub sandbox_mode: Option<String>,
    /// What agents in a sandbox reach; `default` for the setting.
    #[arg(long, value_name = "NETWORK", value_parser = ["open", "list", "none", "default"])]
    pub sandbox_network: Option<String>,
    /// Hosts that agents in a sandbox reach, with commas between; empty for the setting.
    #[arg(long, value_name = "HOSTS")]
    pub sandbox_hosts: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    project: &'a Project,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let name = args.name.as_deref().map(ProjectName::new);
    let name = driver.callers.project_for(name.as_ref())?.name;
    let script = |option: &str, text: &Option<String>| {
        let text = text.as_deref();
        text.map(|text| script(option, text)).transpose()
    };
    let settings = ProjectSettings {
        path: args.path.clone(),
        default_branch: args.default_branch.as_deref().map(BranchName::new),
        workflow: args.workflow.clone(),
        harness: args.harness.as_deref().map(HarnessName::new),
        review_harness: args.review_harness.as_deref().map(HarnessName::new),
        pool_size: args.pool_size,
        merge_strategy: args.merge_strategy.map(Into::into),
        merge_verify: args.merge_verify.clone(),
        push: args.push,
        remote: args.remote.clone(),
        push_remote: args.push_remote.clone(),
        delete_branch: args.delete_branch,
        setup: script("--setup", &args.setup)?,
        setup_timeout: args.setup_timeout,
        teardown: script("--teardown", &args.teardown)?,
        teardown_timeout: args.teardown_timeout,
        sandbox_mode: args.sandbox_mode.clone(),
        sandbox_network: args.sandbox_network.clone(),
        sandbox_hosts: args.sandbox_hosts.as_deref().map(hosts).transpose()?,
    };
    if settings == ProjectSettings::default() {
        return Err(Error::usage(format!(
            "cannot change project `{name}`: no change was given"
        ))
        .hint(format!(
            "pass an option, such as `orange project update {name} --workflow NAME`"
        ))
        .hint("`orange project update --help` lists the options"));
    }
    let project = driver.admin.update_project(&name, &settings)?;
    if output.is_json() {
        return SHAPE.print(&Body { project: &project }, output);
    }
    let mut text = Text::new();
    text.push(Style::Bold, project.name.as_str());
    text.push(Style::Plain, ": changed");
    text.end_line();
    output.answer(&text)?;
    Ok(Exit::Ok)
}

fn hosts(text: &str) -> Result<Vec<HostPort>, Error> {
    let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let hosts = parts.map(|part| {
        part.parse().map_err(|error| {
            Error::usage(format!("cannot change `--sandbox-hosts`: {error}"))
                .hint("write hosts as `registry.example.org,api.example.org:8443`")
        })
    });
    hosts.collect()
}

fn script(option: &str, text: &str) -> Result<Vec<String>, Error> {
    if !text.trim_start().starts_with('[') {
        return Ok(text.split_whitespace().map(str::to_owned).collect());
    }
    serde_json::from_str(text).map_err(|error| {
        Error::usage(format!("cannot read the script of `{option}`: {error}")).hint(format!(
            "write it as `{option} '[\"sh\", \"-c\", \"make all\"]'`, or as plain words"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_words_or_a_json_array() {
        let read = |text: &str| script("--setup", text).ok();
        let words = |words: &[&str]| Some(words.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(read("npm  ci"), words(&["npm", "ci"]));
        assert_eq!(read(r#"["sh", "-c", "a b"]"#), words(&["sh", "-c", "a b"]));
        assert_eq!(read(""), words(&[]));
        assert_eq!(read("[1]"), None);
        assert_eq!(read("[\"a\""), None);
    }
}
