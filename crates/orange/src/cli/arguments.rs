//! Parses the command line.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches as _, Parser, Subcommand};
use orange_config::Environment;

use super::hidden::{
    agent_ask, background, detach, exec_run, freeze_agents, sandbox_attempts, sandbox_confine,
    sandbox_init, status_line, tether,
};
#[cfg(feature = "server")]
use super::server;
use super::{
    Dashboard, agent_event, allow, attention, budget, chat, completions, config, demo, deny,
    doctor, forge, harness, help, inbox, install, issue, job, log, man, note, project, rebuild,
    report, runner, sandbox, sandbox_call, schema, serve, task, uninstall, usage, workflow,
    workspace,
};
#[cfg(feature = "mcp")]
use super::{captured_call, mcp};
#[cfg(feature = "web")]
use super::{web, web_call, web_description};
use crate::cli::{Error, Exit};
use crate::output::{Output, Text};

/// Run coding agents in parallel: agents report, the engine decides the status.
///
/// A workflow is a YAML file. It defines the statuses of a task, such as plan, work, agent review,
/// human review and merge, and the evidence that each transition needs. Use a shipped workflow, or
/// write your own.
///
/// Register a repository as a project, create tasks in it, and start agents on them. Without a
/// command, at a terminal, the dashboard opens: it shows what needs you, and every step is one key.
#[derive(Debug, Parser)]
#[command(name = "orange", version, args_override_self = true)]
pub struct Arguments {
    /// Print only results and errors: no hints, no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Print JSON; before or after a command that supports it.
    #[arg(long)]
    pub json: bool,
    /// Open the dashboard with the tasks of all projects.
    #[arg(long)]
    pub all: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands of orange.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Short(task::Short),
    #[command(subcommand, disable_help_subcommand = true)]
    Project(project::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Task(task::Command),
    Attention(attention::Args),
    Allow(allow::Args),
    Deny(deny::Args),
    Inbox(inbox::Args),
    AgentEvent(agent_event::Args),
    #[command(subcommand, disable_help_subcommand = true)]
    Workspace(workspace::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Workflow(workflow::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Forge(forge::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Issue(issue::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Job(job::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Note(note::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Harness(harness::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Sandbox(sandbox::Command),
    Budget(budget::Args),
    Report(report::Args),
    Chat(chat::Args),
    Serve(serve::Args),
    #[cfg(feature = "server")]
    #[command(subcommand, disable_help_subcommand = true)]
    Server(server::Command),
    #[command(subcommand, disable_help_subcommand = true)]
    Runner(runner::Command),
    #[cfg(feature = "web")]
    Web(web::Args),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Args),
    Demo(demo::Args),
    #[command(subcommand, disable_help_subcommand = true)]
    Config(config::Command),
    Log(log::Args),
    Install(install::Args),
    Uninstall(uninstall::Args),
    Doctor(doctor::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
    Rebuild(rebuild::Args),
    #[command(hide = true)]
    AgentAsk(agent_ask::Args),
    #[command(hide = true)]
    Perform(background::Perform),
    #[command(hide = true)]
    Gather(background::Gather),
    #[command(hide = true)]
    RunJob(background::RunJob),
    #[command(hide = true)]
    ExecRun(exec_run::Args),
    #[command(hide = true)]
    FreezeAgents(freeze_agents::Args),
    #[command(hide = true)]
    SandboxAttempts(sandbox_attempts::Args),
    #[command(hide = true)]
    SandboxInit(sandbox_init::Args),
    #[command(hide = true)]
    SandboxConfine(sandbox_confine::Args),
    #[command(hide = true)]
    Detach(detach::Args),
    #[command(hide = true)]
    Tether(tether::Args),
    #[command(hide = true)]
    StatusLine(status_line::Args),
}

/// Why no command is run.
#[derive(Debug)]
pub enum EarlyExit {
    /// The user asked for help or the version.
    Help(Text),
    Usage(Error),
}

impl Command {
    /// Runs the command; `dashboard` is for commands that open one.
    pub fn run(
        &self,
        dashboard: Dashboard,
        environment: &Environment,
        output: &mut Output,
    ) -> Result<Exit, Error> {
        match self {
            Command::Short(command) => command.run(environment, output),
            Command::Workflow(command) => command.run(environment, output),
            Command::Project(command) => command.run(environment, output),
            Command::Task(command) => command.run(environment, output),
            Command::Attention(args) => attention::run(args, environment, output),
            Command::Allow(args) => allow::run(args, environment, output),
            Command::Deny(args) => deny::run(args, environment, output),
            Command::Inbox(args) => inbox::run(args, environment, output),
            Command::AgentEvent(args) => Ok(agent_event::run(args, environment)),
            Command::Workspace(command) => command.run(environment, output),
            Command::Forge(command) => command.run(environment, output),
            Command::Issue(command) => command.run(environment, output),
            Command::Job(command) => command.run(environment, output),
            Command::Note(command) => command.run(environment, output),
            Command::Harness(command) => command.run(environment, output),
            Command::Sandbox(command) => command.run(environment, output),
            Command::Config(command) => command.run(environment, output),
            Command::Log(args) => log::run(args, environment, output),
            Command::Install(args) => install::run(args, environment, output),
            Command::Uninstall(args) => uninstall::run(args, environment, output),
            Command::Doctor(_) => doctor::run(environment, output),
            Command::Completions(args) => completions::run(args, output),
            Command::Man(args) => man::run(args, output),
            Command::Schema(args) => schema::run(args, output),
            Command::Rebuild(args) => rebuild::run(args, environment, output),
            Command::Budget(_) => budget::run(environment, output),
            Command::Report(args) => report::run(args, environment, output),
            Command::Chat(args) => chat::run(args, environment),
            Command::Serve(args) => serve::run(args, environment, output),
            #[cfg(feature = "server")]
            Command::Server(command) => command.run(environment, output),
            Command::Runner(command) => command.run(environment, output),
            Command::FreezeAgents(_) => freeze_agents::run(environment),
            #[cfg(feature = "web")]
            Command::Web(args) => {
                let program = web::Program {
                    run: web_call::run,
                    describe: web_description::text,
                };
                web::run(args, program, environment, output)
            }
            #[cfg(feature = "mcp")]
            Command::Mcp(_) => mcp::run(captured_call::run, environment, output),
            Command::Demo(args) => demo::run(args, dashboard, environment, output),
            Command::AgentAsk(args) => Ok(agent_ask::run(args, environment, output)),
            Command::Perform(args) => background::perform(args, environment),
            Command::Gather(args) => background::gather(args, environment),
            Command::RunJob(args) => background::run_job(args, environment),
            Command::ExecRun(args) => {
                exec_run::run(args, environment, output, sandbox_call::permit)
            }
            Command::SandboxAttempts(args) => sandbox_attempts::run(args, environment, output),
            Command::SandboxInit(args) => sandbox_init::run(args, environment),
            Command::SandboxConfine(args) => sandbox_confine::run(args, environment),
            Command::Detach(args) => detach::run(args, environment, output),
            Command::Tether(args) => tether::run(args, environment),
            Command::StatusLine(args) => status_line::run(args, environment, output),
        }
    }
}

impl Arguments {
    /// Parses a command line that starts with the program's own name; `width` is that of the help.
    pub fn parse(typed: &[OsString], width: Option<usize>) -> Result<Self, EarlyExit> {
        // A closure that builds clap's definition anew: a clone for the rare second use would slow
        // down every command.
        let command = || help::command(width);
        let typed = &move_json_behind_command(typed, command);
        let matches = command().try_get_matches_from(typed);
        let parsed = matches.and_then(|matches| {
            let arguments = Self::from_arg_matches(&matches)?;
            if arguments.json && arguments.command.is_none() {
                return Err(usage::unknown_argument("--json", &mut command()));
            }
            let json = arguments.json || is_json(&matches);
            Ok(Self { json, ..arguments })
        });
        parsed.map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                EarlyExit::Help(render_help(&error))
            }
            // A group without one of its commands, such as `orange task`, shows the group's help.
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let with_help = typed.iter().cloned().chain([OsString::from("--help")]);
                let help = command()
                    .try_get_matches_from(with_help)
                    .err()
                    .unwrap_or(error);
                EarlyExit::Help(render_help(&help))
            }
            _ => EarlyExit::Usage(usage::error(&error, typed, command())),
        })
    }
}

/// Moves a `--json` from before the command to after it, where the command itself accepts or
/// rejects it.
fn move_json_behind_command(
    typed: &[OsString],
    program: impl Fn() -> clap::Command,
) -> Vec<OsString> {
    let is_flag = |it: &&OsString| it.to_string_lossy().starts_with('-') && *it != "--";
    let flags = typed.iter().skip(1).take_while(is_flag).count();
    let (before, rest) = typed.split_at((flags + 1).min(typed.len()));
    if !before.iter().any(|it| it == "--json") {
        return typed.to_vec();
    }
    let program = program();
    let mut command = &program;
    let words = rest.iter().take_while(|word| {
        let found = command.find_subcommand(word);
        command = found.unwrap_or(command);
        found.is_some()
    });
    let (name, rest) = rest.split_at(words.count());
    let before = before.iter().filter(|it| *it != "--json");
    let json = OsString::from("--json");
    let parts = before.chain(name).chain([&json]).chain(rest);
    parts.cloned().collect()
}

/// Whether the command was given `--json`.
fn is_json(matches: &ArgMatches) -> bool {
    let here = matches.try_get_one("json").ok().flatten();
    let inner = || matches.subcommand().is_some_and(|(_, it)| is_json(it));
    here == Some(&true) || inner()
}

fn render_help(help: &clap::Error) -> Text {
    let rendered = help.render().ansi().to_string();
    // clap leaves trailing spaces on the empty lines between paragraphs.
    let lines: Vec<&str> = rendered.trim_end().lines().map(str::trim_end).collect();
    Text::styled(lines.join("\n") + "\n")
}

/// Whether an invalid command line asks for JSON, so that its error is JSON too.
pub fn asks_for_json(typed: &[OsString]) -> bool {
    typed
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        help::command(None).debug_assert();
    }

    #[test]
    fn json_is_an_option_before_the_double_dash() {
        let typed = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(asks_for_json(&typed("orange --json nonsense")));
        assert!(!asks_for_json(&typed("orange nonsense -- --json")));
    }

    #[test]
    fn json_before_a_command_is_accepted() {
        let moved = |text: &str| {
            let typed: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            let moved = move_json_behind_command(&typed, || help::command(None));
            let words: Vec<&str> = moved.iter().map(|it| it.to_str().unwrap()).collect();
            words.join(" ")
        };
        let behind = "orange -q task stuck --json a -m";
        assert_eq!(moved("orange --json -q task stuck a -m"), behind);
        assert_eq!(moved("orange --json man -- b"), "orange man --json -- b");
        assert_eq!(moved("orange --json nonsense"), "orange --json nonsense");
        for unmoved in [
            "orange -- --json",
            "orange task list --json b",
            "orange --json",
        ] {
            assert_eq!(moved(unmoved), unmoved);
        }
        assert_eq!(moved("orange"), "orange");
    }
}
