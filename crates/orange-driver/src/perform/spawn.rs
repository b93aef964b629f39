//! Starts an agent in its own pane.

use std::fs;
use std::path::Path;

use orange_config::clock;
use orange_config::{ORANGE_PORT_OFFSET, ORANGE_REPORT, StartMode};
use orange_effects::git::Git;
use orange_effects::private_file;
use orange_effects::run::{Launch, RawText, RunFile};
use orange_effects::tmux::{StartRequest, StartResult, TmuxError};
use orange_engine::Task;
use orange_engine::activity::AgentEventKind;
use orange_engine::effect::{EffectOutcome, Spawn};
use orange_engine::role::Role;
use orange_engine::schedule::Wait;
use orange_store::{
    Delivery, RunSetup, Store, WorkspaceRecord, WorkspaceState, expect_agent_events,
    restart_event_clock,
};

use super::deliver::NUDGE;
use super::own_directory::name_repository;
use crate::context::ids;
use crate::context::run_location::{self, report_file, report_folder};
use crate::failure::Failure;
use crate::perform::Performer;
use crate::perform::context_file::names_context_file;
use crate::schedule::budget::start_of;

impl Performer {
    /// Starts the next task of the project, unless a supervisor runs, which checks the queue after
    /// every commit anyway.
    pub(crate) fn spawn_next(
        &self,
        store: &mut Store,
        task: &Task,
    ) -> Result<EffectOutcome, Failure> {
        if !self.context.is_supervised() {
            let started = self.scheduler.start_next(store, &task.project);
            started.map_err(Failure::temporary)?;
        }
        Ok(EffectOutcome::Done)
    }

    /// Makes sure that the run has a pane; an existing one is kept.
    pub(crate) fn spawn(
        &self,
        store: &mut Store,
        task: &Task,
        spawn: &Spawn,
    ) -> Result<EffectOutcome, Failure> {
        let workspace = bound_workspace(store, task, spawn)?;
        let folder = self
            .context
            .launch_directory(&task.project, &task.id, &spawn.run);
        let folder = folder.map_err(Failure::permanent)?;
        let run_file = run_location::run_file(&folder);
        let runs = store.runs(&task.id).map_err(Failure::temporary)?;
        let is_only_run = runs.len() == 1;
        let record = runs.into_iter().find(|run| run.id == spawn.run);
        let known_setup = record.and_then(|record| record.setup);
        let start = StartRequest {
            run: &spawn.run,
            task: &task.id,
            role: &spawn.role,
            project: &task.project,
            branch: &task.branch,
            window: &spawn.window,
            orange: &self.context.orange,
            run_file: &run_file,
            is_first: is_only_run && known_setup.is_none(),
        };
        let started = if let Some(started) = self.already_started(&start, known_setup.is_some())? {
            started
        } else {
            self.require_budget(store, task, spawn)?;
            self.prepare(
                store,
                task,
                spawn,
                workspace.as_ref(),
                known_setup.as_ref(),
                &folder,
            )?;
            let directory = self
                .context
                .run_directory(&task.project, &task.id, &spawn.run);
            let directory = directory.map_err(Failure::permanent)?;
            // The run may have been prepared long ago, so count its silence from now.
            restart_event_clock(&directory).map_err(Failure::temporary)?;
            self.context
                .tmux
                .start(&start)
                .map_err(Failure::temporary)?
        };
        store
            .set_run_place(&task.id, &spawn.run, &run_location::place_of(&started.pane))
            .map_err(Failure::temporary)?;
        drop_old_obstacles(store, task, spawn)?;
        Ok(EffectOutcome::Done)
    }

    /// Defers a start while a budget is used up: the agents of a task that works already start
    /// without a queue.
    fn require_budget(&self, store: &Store, task: &Task, spawn: &Spawn) -> Result<(), Failure> {
        let limits = self.steps.current_limits(store);
        let limits = limits.map_err(Failure::temporary)?;
        let waits = Wait::from_budget(&limits.budget, &start_of(task, spawn));
        match waits.first() {
            Some(wait) => Err(Failure::over_budget(wait)),
            None => Ok(()),
        }
    }

    /// The run in its pane, if an earlier attempt started it: a running agent already has its
    /// secret and must not get another.
    fn already_started(
        &self,
        start: &StartRequest<'_>,
        was_prepared: bool,
    ) -> Result<Option<StartResult>, Failure> {
        let in_pane = |listing| {
            self.context
                .tmux
                .find_started(start, listing)
                .map_err(Failure::temporary)
        };
        if let Some(listing) = self.listing.as_deref()
            && let Some(started) = in_pane(listing)?
        {
            return Ok(Some(started));
        }
        // A pane removes the run file when it starts the agent, so an existing file means that no
        // agent was started.
        if !was_prepared || start.run_file.exists() {
            return Ok(None);
        }
        match self.context.tmux.list() {
            Ok(listing) => in_pane(&listing),
            Err(TmuxError::NoServer(_)) => Ok(None),
            Err(error) => Err(Failure::temporary(error)),
        }
    }

    /// Writes the run's launch files. Leaves existing ones alone, because a pane may be about to
    /// read them.
    fn prepare(
        &self,
        store: &mut Store,
        task: &Task,
        spawn: &Spawn,
        workspace: Option<&WorkspaceRecord>,
        known_setup: Option<&RunSetup>,
        folder: &Path,
    ) -> Result<(), Failure> {
        let run_file = run_location::run_file(folder);
        if let (Some(known_setup), Ok(file)) = (known_setup, RunFile::read(&run_file))
            && file
                .proof()
                .is_some_and(|proof| ids::hash(proof) == known_setup.secret_hash)
        {
            return Ok(());
        }
        let harnesses = self.context.harnesses().map_err(Failure::permanent)?;
        let harness = harnesses.require(&spawn.harness);
        let mut harness = harness.map_err(Failure::permanent)?.clone();
        let directory = if let Some(workspace) = workspace {
            let offset = self.workspaces.require_port_offset(&workspace.name);
            let offset = offset.map_err(Failure::temporary)?.to_string();
            harness.set.insert(ORANGE_PORT_OFFSET.to_owned(), offset);
            workspace.path.clone()
        } else {
            self.prepare_own_directory(task, spawn)?
        };
        let directory = directory.as_path();
        let run_directory = folder.parent().unwrap_or(folder);
        fs::create_dir_all(report_folder(run_directory)).map_err(Failure::temporary)?;
        if spawn.headless {
            let report = report_file(run_directory);
            let report = report.to_string_lossy().into_owned();
            harness.set.insert(ORANGE_REPORT.to_owned(), report);
        }
        let has_agent_files = if harness.files.is_empty() {
            true
        } else if workspace.is_none() {
            false
        } else {
            let git = Git::open_checkout("git", directory, &self.context.environment);
            let written = git.and_then(|git| git.write_agent_files(directory, &harness.files));
            written.map_err(Failure::temporary)?
        };
        let prompt = self.prompt(store, task, spawn)?;
        let conversation = self.conversation(store, task, spawn, &harness, directory)?;
        let mode = start_mode(spawn.headless);
        let output = harness.result.is_some() && mode == StartMode::Headless;
        let output = output.then(|| run_location::result_file(folder));
        let secret = ids::secret().map_err(Failure::temporary)?;
        let environment = self.context.with_orange_on_path();
        let sandbox = self.describe_sandbox(task, spawn, &harness, workspace, &environment)?;
        Launch {
            run: &spawn.run,
            task: &task.id,
            role: &spawn.role,
            proof: &secret,
            harness: &harness,
            start_mode: mode,
            output: output.as_deref(),
            permissions: spawn.permissions,
            prompt: &prompt,
            model: spawn.model.as_deref(),
            effort: spawn.effort.as_deref(),
            session_id: conversation.new_id(),
            resumed_id: conversation.resumed_id(),
            directory,
            home: &self.context.home,
            environment: &environment,
            // Marking this effect as started was a write.
            freezable: store.was_joined(),
            sandbox: sandbox.as_ref(),
        }
        .write(folder)
        .map_err(Failure::permanent)?;
        let hash = ids::hash(&secret);
        let result =
            private_file::write_unsynced(&run_location::proof_file(folder), hash.as_bytes());
        result.map_err(Failure::temporary)?;
        conversation.save(folder).map_err(Failure::temporary)?;
        self.agents
            .begin_usage(
                &task.project,
                &task.id,
                spawn,
                conversation.resumed_id().is_some(),
            )
            .map_err(Failure::temporary)?;
        let has_terminal = mode == StartMode::Interactive || !harness.can_be_headless();
        // The agent reports nothing if the file with its hooks could not be written, because
        // another file was in its place.
        let reports_start =
            has_agent_files && harness.events.contains(&AgentEventKind::SessionStart);
        if has_terminal && reports_start {
            let directory = self
                .context
                .run_directory(&task.project, &task.id, &spawn.run);
            let directory = directory.map_err(Failure::permanent)?;
            expect_agent_events(&directory).map_err(Failure::temporary)?;
        }
        let file = RunFile::read(&run_file).map_err(Failure::temporary)?;
        let setup = setup(&file, directory, &secret);
        store
            .set_run_setup(&task.id, &spawn.run, &setup)
            .map_err(Failure::temporary)?;
        Ok(())
    }

    /// The prompt of a run, with the skills that were chosen for the task, or with the file that has
    /// them. It also mentions waiting messages, because nothing else announces them.
    fn prompt(&self, store: &Store, task: &Task, spawn: &Spawn) -> Result<String, Failure> {
        let mut prompt = spawn.prompt.clone();
        if let Some(route) = task
            .routing
            .route
            .as_ref()
            .filter(|_| spawn.role == Role::Worker)
        {
            prompt.push_str(&route.profile.to_string());
            // The context file has the skills, if there is one.
            let skills = route.skills.iter();
            let skills = skills.filter(|_| !names_context_file(spawn));
            for text in skills.filter_map(|name| self.context.skill_text(task, name)) {
                prompt = format!("{}\n\n{}\n", prompt.trim_end(), text.trim());
            }
        }
        let projects = self.context.projects().map_err(Failure::temporary)?;
        let project = projects
            .require(&task.project)
            .map_err(Failure::temporary)?;
        if project.task_file != TASK_FILE {
            prompt = name_task_file(&prompt, &project.task_file);
        }
        if spawn.without_worktree {
            prompt = name_repository(&prompt, project);
        }
        orange_store::write_issue(store, task).map_err(Failure::temporary)?;
        let prompt = self.with_context_file(store, task, project, spawn, &prompt)?;
        let inbox = store.inbox(&task.id).map_err(Failure::temporary)?;
        let mut waiting = inbox.iter().filter(|it| it.read_at.is_none());
        Ok(if waiting.any(|it| it.to == spawn.role) {
            format!("{}\n\n{NUDGE}\n", prompt.trim_end())
        } else {
            prompt
        })
    }
}

/// The workspace that a run starts in; `None` for a run without a worktree.
fn bound_workspace(
    store: &Store,
    task: &Task,
    spawn: &Spawn,
) -> Result<Option<WorkspaceRecord>, Failure> {
    if spawn.without_worktree {
        return Ok(None);
    }
    let workspace = store.workspace_of(&task.id).map_err(Failure::temporary)?;
    let workspace = workspace.filter(|it| matches!(it.state, WorkspaceState::Bound(_)));
    let missing = || Failure::permanent("no workspace is bound to the task");
    workspace.ok_or_else(missing).map(Some)
}

/// The usual name of a task's file, which workflows and messages use.
const TASK_FILE: &str = "TASK.md";

/// The prompt for a project whose tasks have another file, because the repository has a TASK.md of
/// its own.
fn name_task_file(prompt: &str, file: &str) -> String {
    format!(
        "{}\n\nYour task file is {file}. When orange says {TASK_FILE}, it means this file; the \
         repository's own {TASK_FILE} is something else.\n",
        prompt.replace(TASK_FILE, file).trim_end()
    )
}

pub(crate) fn start_mode(is_headless: bool) -> StartMode {
    if is_headless {
        StartMode::Headless
    } else {
        StartMode::Interactive
    }
}

/// Drops what prevented the delivery of messages to an earlier run: the prompt of this run mentions
/// them.
fn drop_old_obstacles(store: &mut Store, task: &Task, spawn: &Spawn) -> Result<(), Failure> {
    let runs = store.runs(&task.id).map_err(Failure::temporary)?;
    let run = runs.iter().find(|run| run.id == spawn.run);
    let prepared_at = run.and_then(|run| Some(run.setup.as_ref()?.at));
    let inbox = store.inbox(&task.id).map_err(Failure::temporary)?;
    let mentioned = inbox.iter().filter(|it| {
        let is_unread = it.to == spawn.role && it.read_at.is_none();
        is_unread && prepared_at.is_some_and(|at| it.written_at <= at)
    });
    for entry in mentioned.filter(|it| it.delivery.problem.is_some()) {
        let delivery = Delivery {
            sent_at: prepared_at,
            ..Delivery::default()
        };
        let noted = store.set_delivery(entry.id, &delivery);
        noted.map_err(Failure::temporary)?;
    }
    Ok(())
}

/// What is stored about a start; the values of variables are left out, because they may be secrets.
fn setup(file: &RunFile, directory: &Path, secret: &str) -> RunSetup {
    let to_text = |text: &RawText| text.as_os_str().to_string_lossy().into_owned();
    let program = std::iter::once(&file.program);
    RunSetup {
        argv: program.chain(&file.arguments).map(to_text).collect(),
        environment: file.environment.keys().cloned().collect(),
        directory: directory.to_owned(),
        secret_hash: ids::hash(secret),
        at: clock::now(),
    }
}
