//! `orange completions`.
//!
//! Candidates are chosen by an argument's name, so a new command completes like the others.

use std::ffi::OsString;

use clap::ValueEnum;
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use orange_config::{Catalog, Environment, Harnesses, Home, PinnedPolicy, Policy, Projects};
use orange_driver::{Driver, ListFilter};

use super::help;
use super::request::requests::driver;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Generate shell completions.
///
/// Task ids with their summaries, statuses, branches, projects, workflows and harnesses are looked
/// up each time you press Tab. Load the completions when your shell starts:
///
/// bash: `source <(orange completions bash)` in ~/.bashrc
///
/// zsh: `source <(orange completions zsh)` in ~/.zshrc, after `compinit`
///
/// fish: `orange completions fish | source` in ~/.config/fish/config.fish
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// A supported shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub fn run(args: &Args, output: &mut Output) -> Result<Exit, Error> {
    let name = match args.shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
    };
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(name) {
        // The name alone: a package is built on another machine, and a shell that completes
        // `orange` finds the program.
        shell.write_registration(VARIABLE, "orange", "orange", "orange", &mut script)?;
    }
    output.answer_exactly(&script)?;
    Ok(Exit::Ok)
}

/// The variable that the shell's completion script sets.
pub const VARIABLE: &str = "COMPLETE";

/// Answers a completion request of the shell; returns `false` if the shell made none.
pub fn try_complete(typed: &[OsString], environment: &Environment) -> bool {
    if environment.variable(VARIABLE).is_none() {
        return false;
    }
    let request = CompletionRequest {
        environment: environment.clone(),
        typed: typed.to_vec(),
    };
    let factory = move || with_candidates(help::command(None), &request);
    let here = Environment::current_directory();
    let complete = CompleteEnv::with_factory(factory).var(VARIABLE);
    // No error is reported: it would appear in the middle of the user's typing.
    complete
        .try_complete(typed, here.as_deref())
        .unwrap_or(true)
}

/// The environment and the command line of a completion request.
#[derive(Clone, Debug)]
struct CompletionRequest {
    environment: Environment,
    typed: Vec<OsString>,
}

fn with_candidates(command: Command, request: &CompletionRequest) -> Command {
    let command = command.mut_args(|argument| candidates_for(argument, request));
    command.mut_subcommands(|inner| with_candidates(inner, request))
}

fn candidates_for(argument: Arg, request: &CompletionRequest) -> Arg {
    let name = argument
        .get_value_names()
        .and_then(|it| it.first().cloned());
    let find: fn(&CompletionRequest) -> Option<Vec<CompletionCandidate>> =
        match (name.as_deref(), argument.get_id().as_str()) {
            (Some("TASK"), _) => tasks,
            (Some("BRANCH"), _) => branches,
            (Some("STATUS"), "until") => wait_targets,
            (Some("STATUS"), _) => statuses,
            (_, "project") => projects,
            (_, "workflow") => workflows,
            (_, "harness" | "review_harness") => harnesses,
            _ => return argument,
        };
    let request = request.clone();
    argument.add(ArgValueCandidates::new(move || {
        find(&request).unwrap_or_default()
    }))
}

impl CompletionRequest {
    /// Whether the command is useful for a finished task.
    fn reads_finished_tasks(&self) -> bool {
        const READERS: [&str; 8] = [
            "diff", "history", "logs", "restore", "reopen", "show", "why", "delete",
        ];
        let mut words = self.typed.iter().filter_map(|word| word.to_str());
        words.any(|word| READERS.contains(&word))
    }

    fn driver(&self) -> Option<Driver> {
        driver(&self.environment).ok()
    }

    fn home(&self) -> Option<Home> {
        Home::resolve(&self.environment).ok()
    }
}

/// Tasks by id. Their branches are added only after the user has typed a character: for an empty
/// word, every task would be listed twice.
fn tasks(request: &CompletionRequest) -> Option<Vec<CompletionCandidate>> {
    let filter = ListFilter {
        include_finished: request.reads_finished_tasks(),
        ..ListFilter::default()
    };
    let overview = request.driver()?.views.list(&filter).ok()?;
    let is_word_started = request.typed.last().is_some_and(|word| !word.is_empty());
    let mut candidates = Vec::new();
    for row in &overview.tasks {
        let branch = is_word_started.then_some(row.branch.as_str());
        for name in [row.id.as_str()].into_iter().chain(branch) {
            let help = Some(row.summary.clone().into());
            candidates.push(CompletionCandidate::new(name).help(help));
        }
    }
    Some(candidates)
}

fn branches(request: &CompletionRequest) -> Option<Vec<CompletionCandidate>> {
    let overview = request.driver()?.views.list(&ListFilter::default()).ok()?;
    let mut branches: Vec<_> = overview.tasks.into_iter().map(|row| row.branch).collect();
    branches.sort();
    branches.dedup();
    Some(branches.into_iter().map(CompletionCandidate::new).collect())
}

/// The statuses in the workflow of the task on the command line; if it names no task, the statuses
/// of every workflow.
fn statuses(request: &CompletionRequest) -> Option<Vec<CompletionCandidate>> {
    let driver = request.driver()?;
    let filter = ListFilter {
        include_finished: true,
        ..ListFilter::default()
    };
    let overview = driver.views.list(&filter).ok()?;
    let is_typed = |name: &str| request.typed.iter().any(|it| it == name);
    let mut rows = overview.tasks.iter();
    let named_task = rows.find(|row| is_typed(row.id.as_str()) || is_typed(row.branch.as_str()));
    let names = match named_task {
        Some(row) => {
            let workflow = driver.views.workflow_of(&row.id).ok()?;
            let states = workflow.states.iter();
            states.map(|state| state.name.clone()).collect()
        }
        None => driver.views.statuses().ok()?,
    };
    let names = names.into_iter().map(|status| status.to_string());
    Some(names.map(CompletionCandidate::new).collect())
}

/// What `orange task wait --until` takes: a status, or any status of a kind.
fn wait_targets(request: &CompletionRequest) -> Option<Vec<CompletionCandidate>> {
    let kinds = [
        ("human", "any status that waits for you"),
        ("terminal", "any final status"),
    ];
    let kinds = kinds.map(|(name, help)| CompletionCandidate::new(name).help(Some(help.into())));
    Some(kinds.into_iter().chain(statuses(request)?).collect())
}

fn projects(request: &CompletionRequest) -> Option<Vec<CompletionCandidate>> {
    let projects = Projects::load(&request.home()?).ok()?;
    let candidate = |it: &orange_config::Project| {
        CompletionCandidate::new(it.name.as_str()).help(Some(it.path.display().to_string().into()))
    };
    Some(projects.projects.iter().map(candidate).collect())
}

fn workflows(request: &CompletionRequest) -> Option<Vec<CompletionCandidate>> {
    let home = request.home()?;
    let mut names = Catalog::load(&home).ok()?.names();
    let projects = Projects::load(&home).map(|it| it.names());
    for project in projects.unwrap_or_default() {
        // A completion reports no error.
        let pinned = PinnedPolicy::load(&home, &project).ok().flatten();
        let policy = pinned.and_then(|pinned| pinned.policy(&home).ok());
        let own = policy.iter().flat_map(Policy::workflows);
        names.extend(own.map(|it| it.name.clone()));
    }
    names.sort();
    names.dedup();
    Some(names.into_iter().map(CompletionCandidate::new).collect())
}

fn harnesses(request: &CompletionRequest) -> Option<Vec<CompletionCandidate>> {
    let harnesses = Harnesses::load(&request.home()?).ok()?;
    let names = harnesses.names().map(str::to_owned);
    Some(names.map(CompletionCandidate::new).collect())
}
