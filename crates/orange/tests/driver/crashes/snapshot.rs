//! What is visible of a task and equal after equal runs.

use std::collections::BTreeMap;
use std::fs;

use orange_effects::process::processes_of_run;
use orange_engine::event::Fact;
use orange_engine::names::ProjectName;
use orange_store::WorkspaceState;

use super::scene_run::SceneRun;
use crate::support::way;

#[derive(Debug, PartialEq, Eq)]
pub struct TaskSnapshot {
    /// The statuses the task went through.
    pub way: Vec<String>,
    counters: BTreeMap<String, i64>,
    crashes: (i64, usize),
    attention: Vec<String>,
    workspace: String,
    runs: Vec<String>,
    panes: Vec<String>,
    /// Whether processes of each run are left.
    processes: Vec<bool>,
    messages: Vec<String>,
    text: String,
    /// Files that should not be left behind.
    leftovers: Vec<String>,
    slots: Vec<String>,
    worktrees: usize,
    branches: String,
    unsaved: String,
}

impl TaskSnapshot {
    pub fn of(scene_run: &SceneRun) -> TaskSnapshot {
        let (stage, id) = (&scene_run.stage, &scene_run.id);
        let task = stage.task(id);
        let store = stage.store();
        let events = store.events(id, 0).unwrap();
        let crashes = events
            .iter()
            .filter(|it| matches!(it.event.fact, Fact::AgentCrashed { .. }));
        let runs = store.runs(id).unwrap();
        // Not everywhere: a short id may be part of a word.
        let plain = |text: &str| {
            let home = stage.home().path().display().to_string();
            let named = text.replace(&home, "<home>");
            let named = named.replace(&format!("id: {id}"), "id: <id>");
            named.replace(&format!("orange-tasks/{id}"), "orange-tasks/<id>")
        };
        let slots = store.workspaces(&ProjectName::new("app")).unwrap();
        let slots = slots.iter().map(|slot| match &slot.state {
            WorkspaceState::Bound(_) => format!("{} bound", slot.name),
            state => format!("{} {state:?}", slot.name),
        });
        let live = |run: &orange_engine::names::RunId| !processes_of_run(run).unwrap().is_empty();
        let text = stage.task_text(id);
        let text: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("version:") && !line.starts_with("updated"))
            .collect();
        let worktrees = stage.git("worktree list --porcelain");
        let worktrees = String::from_utf8(worktrees.stdout).unwrap();
        let branches = stage.git("for-each-ref --format=%(refname)=%(contents:subject)");
        let unsaved = store.workspace_of(id).unwrap().map(|held| {
            let status = stage.git_in(&held.path, "status --porcelain --branch");
            String::from_utf8(status.stdout).unwrap()
        });
        TaskSnapshot {
            way: way(stage, id),
            counters: task
                .fields
                .iter()
                .map(|(name, value)| (name.to_string(), *value))
                .collect(),
            crashes: (task.crash_count, crashes.count()),
            attention: task.attention.iter().map(|it| plain(it)).collect(),
            workspace: format!("{:?}", task.workspace),
            runs: runs
                .iter()
                .map(|run| {
                    let end = (run.ended_at.is_some(), &run.evidence);
                    format!("{} {end:?}", run.role)
                })
                .collect(),
            panes: stage.panes(),
            processes: runs.iter().map(|run| live(&run.id)).collect(),
            messages: store
                .inbox(id)
                .unwrap()
                .iter()
                .map(|entry| format!("{}: {}", entry.to, entry.text))
                .collect(),
            text: plain(&text.join("\n")),
            leftovers: leftovers(scene_run),
            slots: slots.collect(),
            worktrees: worktrees.matches("worktree ").count(),
            branches: plain(&String::from_utf8(branches.stdout).unwrap()),
            unsaved: plain(&unsaved.unwrap_or_default()),
        }
    }
}

/// Hidden and half-written files next to TASK.md, in the task's directory and its worktree.
fn leftovers(run: &SceneRun) -> Vec<String> {
    let (stage, id) = (&run.stage, &run.id);
    let own = stage.home().tasks().join("app").join(id.as_str());
    let workspace = stage.store().workspace_of(id).unwrap();
    let folders = [Some(own), workspace.map(|workspace| workspace.path)];
    let mut found = Vec::new();
    for folder in folders.into_iter().flatten() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.contains(".orange-") {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}
