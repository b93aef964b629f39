//! What must hold after the chaos.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use orange_engine::Task;
use orange_engine::apply::replay;
use orange_engine::event::Fact;
use orange_engine::role::Role;
use orange_store::WorkspaceState;

use super::World;

/// Statuses in which a task waits for the user.
const FOR_A_PERSON: [&str; 3] = ["clarification", "reviewing", "stuck"];

fn has_ended(task: &Task) -> bool {
    matches!(task.status.as_str(), "done" | "cancelled")
}

impl World {
    /// Whether every task has ended, and nothing is pending.
    pub fn has_ended(&self) -> bool {
        let mut tasks = self.tasks().into_iter();
        tasks.all(|task| has_ended(&task) && task.pending.is_empty())
    }
}

/// Checks everything; `rest` says whether all tasks ended.
pub fn check_invariants(world: &World, rest: bool) {
    let tasks = world.tasks();
    let mut wrong = String::new();
    let mut note = |line: String| writeln!(wrong, "{line}").unwrap();
    for task in &tasks {
        let waits = FOR_A_PERSON.contains(&task.status.as_str());
        if !(has_ended(task) || waits && task.pending.is_empty()) {
            note(format!("{} is in {}", task.id, task.status));
            note(world.stage.diagnostics(&task.id));
            note(world.command_output(task));
        }
        replays(world, task, &mut note);
        check_reports(world, task, &mut note);
    }
    orphans(world, &tasks, &mut note);
    worktrees(world, &tasks, &mut note);
    check_nothing_lost(world, &mut note);
    let done = tasks.iter().filter(|task| task.status.as_str() == "done");
    println!(
        "{} tasks: {} done, all ended: {rest}",
        tasks.len(),
        done.count()
    );
    if !wrong.is_empty() {
        let log = fs::read_to_string(world.stage.path("home/orange.log")).unwrap_or_default();
        let troubles = log.lines().filter(|line| line.contains("error"));
        let troubles: Vec<&str> = troubles.collect();
        let last = troubles.len().saturating_sub(40);
        writeln!(wrong, "{}", troubles[last..].join("\n")).unwrap();
    }
    let seed = world.seed;
    assert!(wrong.is_empty(), "seed {seed}:\n{wrong}");
    assert_eq!(tasks.len(), usize::try_from(world.tasks).unwrap());
}

/// The events of a task produce the task, also from its directory alone.
fn replays(world: &World, task: &Task, note: &mut impl FnMut(String)) {
    let events = world.stage.store().events(&task.id, 0).unwrap();
    let replayed = replay(events.iter().map(|it| &it.event));
    match replayed {
        Ok(replayed) if replayed == *task => {}
        Ok(_) => note(format!("{} is not what its events make", task.id)),
        Err(error) => note(format!("{} does not replay: {error}", task.id)),
    }
}

/// No worker has passed its own review or ended its own task.
fn check_reports(world: &World, task: &Task, note: &mut impl FnMut(String)) {
    for recorded in world.stage.store().events(&task.id, 0).unwrap() {
        if let Fact::StatusChanged(changed) = &recorded.event.fact {
            let is_judged = matches!(changed.to.as_str(), "reviewing" | "done");
            if is_judged && changed.by == Role::Worker {
                note(format!(
                    "{}: the worker itself reached {}",
                    task.id, changed.to
                ));
            }
        }
    }
}

/// No process and no pane belongs to a run that is over.
fn orphans(world: &World, tasks: &[Task], note: &mut impl FnMut(String)) {
    let live: BTreeSet<&str> = tasks
        .iter()
        .flat_map(|task| task.runs.values())
        .filter(|run| run.state.is_live())
        .map(|run| run.id.as_str())
        .collect();
    let home = format!("ORANGE_HOME={}", world.stage.home().path().display());
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        let environ = String::from_utf8_lossy(&environ).into_owned();
        let mut variables = environ.split('\0');
        let run = variables
            .clone()
            .find_map(|it| it.strip_prefix("ORANGE_RUN_ID="));
        let is_ours = variables.any(|it| it == home);
        if let Some(run) = run
            && is_ours
            && !live.contains(run)
        {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            note(format!("process {command} of run {run} is left"));
        }
    }
    let panes = world
        .stage
        .tmux(&["list-panes", "-a", "-F", "#{@orange_run}"]);
    for run in panes.lines() {
        if !live.contains(run) {
            note(format!("a pane of run {run} is left"));
        }
    }
}

/// Every worktree belongs to the pool, and none is kept for an ended task.
fn worktrees(world: &World, tasks: &[Task], note: &mut impl FnMut(String)) {
    let store = world.stage.store();
    let workspaces = store.workspaces(&tasks[0].project).unwrap();
    for workspace in &workspaces {
        let (WorkspaceState::Bound(holder) | WorkspaceState::Reserved(holder)) = &workspace.state
        else {
            continue;
        };
        let holder = tasks.iter().find(|task| task.id == *holder);
        if holder.is_none_or(has_ended) {
            note(format!("{workspace:?} is kept for what has ended"));
        }
    }
    let listed = world.stage.git("worktree list --porcelain");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let listed = listed
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    let repository = world.stage.path("repo");
    for path in listed {
        let is_known = workspaces.iter().any(|it| it.path.to_str() == Some(path));
        if !is_known && repository.to_str() != Some(path) {
            note(format!("the worktree {path} belongs to no task"));
        }
    }
}

/// Every byte that an agent wrote still exists somewhere.
fn check_nothing_lost(world: &World, note: &mut impl FnMut(String)) {
    let git = |call: &str| String::from_utf8(world.stage.git(call).stdout).unwrap();
    let commits = git("rev-list --all");
    let commits: BTreeSet<&str> = commits.lines().collect();
    let mut files: BTreeSet<String> = git("log --all -m --root --format= --name-only")
        .lines()
        .map(str::to_owned)
        .collect();
    let store = world.stage.store();
    for workspace in store.workspaces(&world.tasks()[0].project).unwrap() {
        // A slot whose first task was called off has no worktree yet.
        let entries = fs::read_dir(&workspace.path)
            .into_iter()
            .flatten()
            .flatten();
        files.extend(entries.map(|it| it.file_name().to_string_lossy().into_owned()));
    }
    let said: String = world
        .tasks()
        .iter()
        .flat_map(|task| {
            let imports = store.imports(&task.id).unwrap();
            let texts = imports.into_iter().map(|it| it.text);
            texts.chain([world.stage.task_text(&task.id)])
        })
        .collect();
    let words: BTreeSet<&str> = said.split_whitespace().collect();
    let owed = fs::read_to_string(world.stage.path("world/owed")).unwrap_or_default();
    let mut count = 0;
    for line in owed.lines() {
        let [kind, _, what] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        count += 1;
        let is_there = match kind {
            "commit" => commits.contains(what),
            "file" => files.contains(what),
            "line" => words.contains(what),
            _ => panic!("{line}"),
        };
        if !is_there {
            note(format!("lost: {line}"));
        }
    }
    println!("{count} things were owed");
    assert!(count > world.tasks, "agents did nothing");
}
