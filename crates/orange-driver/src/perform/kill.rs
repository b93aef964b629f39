//! Ends agents and whatever they left running.

use std::collections::BTreeSet;

use orange_effects::tmux::TmuxError;
use orange_engine::Task;
use orange_engine::effect::{Effect, EffectOutcome, Kill, KillScope};
use orange_engine::names::RunId;
use orange_store::Store;

use crate::failure::Failure;
use crate::perform::Performer;

impl Performer {
    /// Ends every run in scope; returns only when nothing of them is left.
    pub(crate) fn kill(
        &self,
        store: &mut Store,
        task: &Task,
        kill: &Kill,
    ) -> Result<EffectOutcome, Failure> {
        let mut runs: BTreeSet<RunId> = kill.runs.iter().cloned().collect();
        runs.extend(self.unrecorded_runs(task, &kill.scope)?);
        for run in &runs {
            self.agents.end_run(store, task, run)?;
        }
        Ok(EffectOutcome::Done)
    }

    /// The runs in scope that have a pane and that the task does not need any more, recorded or
    /// not.
    fn unrecorded_runs(&self, task: &Task, scope: &KillScope) -> Result<Vec<RunId>, Failure> {
        if *scope == KillScope::Runs {
            return Ok(Vec::new());
        }
        let listing = match self.context.tmux.list() {
            Ok(listing) => listing,
            Err(TmuxError::NoServer(_)) => return Ok(Vec::new()),
            Err(error) => return Err(Failure::temporary(error)),
        };
        let required: BTreeSet<&RunId> = needed_runs(task).collect();
        let in_scope = listing.panes.iter().filter(|pane| {
            let has_role = match scope {
                KillScope::Role(role) => pane.role.as_ref() == Some(role),
                KillScope::Session | KillScope::Runs => true,
            };
            pane.task.as_ref() == Some(&task.id) && has_role
        });
        let runs = in_scope.filter_map(|pane| pane.run.clone());
        Ok(runs.filter(|run| !required.contains(run)).collect())
    }
}

/// The runs that are live or about to start, by the current state of the task.
fn needed_runs(task: &Task) -> impl Iterator<Item = &RunId> {
    let live = task.runs.values().filter(|run| run.state.is_live());
    let starting = task
        .pending
        .iter()
        .filter_map(|pending| match &pending.planned.effect {
            Effect::Spawn(spawn) => Some(&spawn.run),
            Effect::NotifyRole(notify) => notify.spawn_if_absent.as_ref().map(|spawn| &spawn.run),
            _ => None,
        });
    live.map(|run| &run.id).chain(starting)
}
